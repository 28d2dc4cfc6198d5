//! A temporary directory tree and one capability on a part of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use caps::Capability;
use kernel::formula::Formula;
use kernel::grant::{Attenuation, Grant};
use kernel::id::{FormulaId, MessageNumber, RunNumber, StepRef};
use kernel::proposal::{Caller, Pin, Proposal, Value};
use kernel::provenance::Provenance;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use policy::Facts;
use resource::{Kind, Resource};
use tempfile::TempDir;

/// The text of the file outside, which no call may ever read or change.
pub(crate) const CANARY: &str = "canary: outside of every grant";

/// `outside/canary.md` and `root/`, the directory of the capability.
pub(crate) struct Bench {
    base: TempDir,
    pub(crate) grant: Grant,
    spool: bool,
    read_only: bool,
    host: FormulaId,
}

fn id(byte: u8) -> FormulaId {
    FormulaId { number: [byte; 32], node: [0; 32] }
}

/// Returns a step of run 17.
pub(crate) fn step(step: u64) -> StepRef {
    StepRef { run: RunNumber(17), step }
}

impl Bench {
    /// Returns a directory granted with all methods.
    pub(crate) fn dir() -> Bench {
        let all: Vec<&str> = caps::interface_of(Kind::Dir { write: true })
            .unwrap()
            .methods
            .iter()
            .map(|method| method.name.as_str())
            .collect();
        Bench::new("out", &all, false)
    }

    /// Returns a directory that is for reading only.
    pub(crate) fn read_only() -> Bench {
        Bench { read_only: true, ..Bench::dir() }
    }

    /// Returns a spool directory.
    pub(crate) fn outbox() -> Bench {
        Bench::new("outbox", &["send"], true)
    }

    fn new(slot: &str, methods: &[&str], spool: bool) -> Bench {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("root")).unwrap();
        fs::create_dir(base.path().join("outside")).unwrap();
        fs::write(base.path().join("outside/canary.md"), CANARY).unwrap();
        let grant = Grant {
            id: id(3),
            number: kernel::GrantNumber(1),
            target: id(4),
            words: String::new(),
            holder: id(5),
            owner: kernel::Number([1; 32]),
            slot: slot.into(),
            methods: methods.iter().map(ToString::to_string).collect(),
            attenuation: Attenuation::default(),
            allow: BTreeSet::new(),
            ask: BTreeSet::new(),
            source: Some(MessageNumber(0)),
            given_ms: 0,
            expires_ms: None,
            revoked_ms: None,
            revoked_by: None,
        };
        Bench { base, grant, spool, read_only: false, host: id(1) }
    }

    /// Returns the bench for a run of another host.
    pub(crate) fn of_host(self, byte: u8) -> Bench {
        Bench { host: id(byte), ..self }
    }

    /// Returns the bench with an attenuated grant.
    pub(crate) fn attenuated(mut self, suffixes: &[&str], max_bytes: Option<u64>) -> Bench {
        let suffixes = suffixes.iter().map(ToString::to_string).collect();
        self.grant.attenuation = Attenuation { suffixes, max_bytes, ..Attenuation::default() };
        self
    }

    /// Returns the bench with a limit on the total of bytes.
    pub(crate) fn holding(mut self, total: u64) -> Bench {
        self.grant.attenuation.total_bytes = Some(total);
        self
    }

    /// Returns the bench with files in the directory; a path that ends in `/` makes a directory.
    pub(crate) fn with(self, files: &[(&str, &str)]) -> Bench {
        for (path, content) in files {
            let place = self.root().join(path);
            fs::create_dir_all(if path.ends_with('/') { &place } else { place.parent().unwrap() }).unwrap();
            if !path.ends_with('/') {
                fs::write(place, content).unwrap();
            }
        }
        self
    }

    /// Returns the bench with symbolic links in the directory.
    pub(crate) fn linked(self, links: &[(&str, &str)]) -> Bench {
        for (link, target) in links {
            std::os::unix::fs::symlink(target, self.root().join(link)).unwrap();
        }
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.base.path().join("root")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.base.path().join("outside")
    }

    pub(crate) fn open(&self) -> Box<dyn Capability> {
        let path = self.root().to_str().unwrap().to_owned();
        let target = if self.spool {
            Formula::Resource(Resource::Outbox { path })
        } else {
            Formula::Resource(Resource::Directory { path, read_only: self.read_only })
        };
        caps::open(&target, &self.grant).unwrap()
    }

    /// Returns a begun call with the given pins.
    pub(crate) fn begun(
        &self,
        at: StepRef,
        method: &str,
        args: &[Value],
        pins: BTreeSet<Pin>,
        again: bool,
    ) -> StartedEffect {
        let kind = if self.spool { "outbox" } else { "dir" };
        let proposal = Proposal {
            principal: self.host,
            run: at.run,
            grant: self.grant.id,
            slot: self.grant.slot.clone(),
            method: method.into(),
            args: args.to_vec(),
            effect: caps::interface_of(Kind::of(kind).unwrap()).unwrap().method(method).unwrap().effect,
            caller: Caller::Model,
            pins,
            provenance: Provenance::host(),
            traces: Vec::new(),
            givers: vec![],
            place: None,
        };
        StartedEffect::for_test(at, proposal, self.grant.clone(), again)
    }

    /// Judges nothing: looks, then does.
    pub(crate) fn call(&self, method: &str, args: &[&str]) -> (Facts, Completion) {
        self.call_with(method, &texts(args))
    }

    /// Returns the same with arguments of any kind.
    pub(crate) fn call_with(&self, method: &str, args: &[Value]) -> (Facts, Completion) {
        let capability = self.open();
        let facts = capability.facts(method, args);
        let begun = self.begun(step(9), method, args, facts.pins.clone(), false);
        (facts, capability.perform(&begun))
    }

    /// Returns everything that lies outside of the root, with its contents.
    pub(crate) fn others(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        gather(self.base.path(), &self.root(), &mut all);
        all
    }

    /// Returns the names in the root, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.root())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }
}

fn gather(at: &Path, but: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut entries: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries.into_iter().filter(|path| path != but) {
        if path.is_dir() {
            all.push((path.clone(), Vec::new()));
            gather(&path, but, all);
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}

pub(crate) fn texts(args: &[&str]) -> Vec<Value> {
    args.iter().map(|text| Value::from(*text)).collect()
}

/// Returns the outcome of a call: the value as text, or the rule that stopped it. A finding must name the problem,
/// the place and a remedy.
pub(crate) fn outcome(completion: &Completion) -> Result<String, String> {
    let findings = match completion {
        Completion::Done { value, .. } => {
            return Ok(match value {
                Value::String(text) => text.as_str().unwrap().to_owned(),
                Value::Array(names) => {
                    names.iter().map(|n| n.as_str().unwrap()).collect::<Vec<_>>().join(" ")
                }
                other => format!("{other:?}"),
            });
        }
        Completion::Refused(findings) => findings.clone(),
        Completion::Failed(finding) => vec![finding.clone()],
    };
    let finding = findings.first().unwrap();
    assert!(finding.at.is_some() && finding.allowed.is_some() && !finding.message.is_empty(), "{finding:?}");
    Err(finding.rule.clone())
}

/// Returns whether the tests run as a user whom permissions do not stop.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the parts of an answer that is more than a list: its words, its items, and the place to go on.
pub(crate) fn parts(completion: &Completion, items: &str) -> (String, String, Option<String>) {
    let Completion::Done { value, .. } = completion else { panic!("{completion:?}") };
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let all = value.get(items).and_then(Value::as_array).unwrap_or_else(|| panic!("{value:?}"));
    let all: Vec<&str> = all.iter().map(|item| item.as_str().unwrap()).collect();
    (text("answer").unwrap(), all.join(" "), text("next"))
}

/// Sets the time of the last change of a file, in seconds since 1970.
pub(crate) fn set_time(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}
