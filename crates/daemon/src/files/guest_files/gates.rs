//! The gates' verdict on a call on a directory. The call is judged as a call of the methods in worker files: `list`,
//! `read` and `write`. Every change of a file counts as a `write` of that file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use kernel::facet::FileOp;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::id::RunNumber;
use kernel::proposal::{Caller, Decision, Effect, Finding, Proposal, Verdict};
use kernel::provenance::{Provenance, Source};
use kernel::{FormulaId, Interface, Method, Number, Param, Pattern, Value};
use passable::{Limit, Limits, visible_line};
use policy::{Context, Facts, PathFact, PlaceFact, Rules, RunBudget, Subject};
use resource::{Kind, Resource};

use control::exit::{Exit, Failure};

/// The name in policies for an agent that uses a directory without a run.
pub const CALLER: &str = "@agent";

/// The rules for judging a call, with the grant, the agent and the directory of the call.
pub struct Gates {
    /// The present rules, including the operator's policies.
    rules: Arc<Rules>,
    /// The combination of the grants on the way to the directory.
    grant: Grant,
    subject: Subject,
    agent: FormulaId,
    now_ms: i64,
}

/// The interface of a directory in worker files. Its limits on paths and texts are loose, because the directory
/// itself checks their length.
static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
    let text = || Pattern::string_within(Limits::from_pairs([(Limit::StringLength, f64::from(1 << 30))]));
    let path = || Param::required("path", text(), "");
    Interface::new("Dir", "a directory of files")
        .with(Method::new("list", Effect::Observe, "").param(path()))
        .with(Method::new("read", Effect::Observe, "").param(path()))
        .with(Method::new("write", Effect::Modify, "").param(path()).param(Param::required(
            "content",
            text(),
            "",
        )))
});

impl Gates {
    /// Returns the gates for the target of `grant`.
    pub fn for_grant(
        rules: Arc<Rules>,
        grant: Grant,
        formula: &Formula,
        agent: FormulaId,
        now_ms: i64,
    ) -> Gates {
        let mut names = Vec::new();
        if let Formula::Resource(Resource::Directory { path, .. }) = formula {
            names.push(path.clone());
            // A directory that no longer exists has no other name.
            let real =
                std::fs::canonicalize(path).ok().and_then(|real| real.into_os_string().into_string().ok());
            names.extend(real.filter(|real| Path::new(real) != Path::new(path)));
        }
        // Whether the grant allows the call was checked before, by the names of Endo's methods. So the gates get a
        // grant with all methods of a directory.
        let grant = Grant { methods: BTreeSet::from(["list", "read", "write"].map(str::to_owned)), ..grant };
        let directory = Kind::Dir { write: false }.row().label.to_owned();
        Gates { rules, grant, subject: Subject { kind: directory, names }, agent, now_ms }
    }

    /// Returns the gates' verdict on a call at `place`. `bytes` are the bytes to write, if the call has them apart.
    /// `leads` resolves names and follows links. `is_directory` tells whether a path is a directory. `places` are the
    /// places that the call may change and that mean more than other directories.
    pub fn judge(
        &self,
        place: &[String],
        op: &FileOp,
        bytes: Option<&[u8]>,
        leads: &dyn Fn(&[String]) -> Option<Vec<String>>,
        is_directory: &dyn Fn(&[String]) -> bool,
        places: &[PlaceFact],
    ) -> Verdict {
        let at = |way: &[String]| -> String {
            let all: Vec<&str> = place.iter().chain(way).map(String::as_str).collect();
            all.join("/")
        };
        // A harmless name may be a link to another file, so the link's target is judged as well. A refused name is
        // not resolved.
        let looks = |method: &str, way: &[String]| {
            let verdict = self.ask(method, at(way), None, &[]);
            if verdict.decision == Decision::Deny {
                return verdict;
            }
            match leads(way).filter(|real| real != way) {
                Some(real) => combine_verdicts(verdict, self.ask(method, at(&real), None, &[])),
                None => verdict,
            }
        };
        match op {
            FileOp::Has(way) | FileOp::List(way) | FileOp::Lookup(way) => looks("list", way),
            FileOp::Read { way, .. } | FileOp::ReadJson(way) | FileOp::Stream(way) | FileOp::Digest(way) => {
                looks("read", way)
            }
            FileOp::Write { way, text } | FileOp::Append { way, text } => {
                self.ask("write", at(way), Some(text), places)
            }
            FileOp::WriteBytes(way) => {
                self.ask("write", at(way), Some(&String::from_utf8_lossy(bytes.unwrap_or_default())), places)
            }
            FileOp::Remove(way) | FileOp::MakeDirectory(way) => self.ask("write", at(way), Some(""), places),
            FileOp::Move { from, to } => {
                let verdict = self.ask("read", at(from), None, &[]);
                let verdict = combine_verdicts(verdict, self.ask("write", at(from), Some(""), places));
                let mut verdict = combine_verdicts(verdict, self.ask("write", at(to), Some(""), &[]));
                // Files in a moved directory would get new paths, and would have to be judged by these.
                if is_directory(from) {
                    verdict.decision = Decision::Deny;
                    verdict.findings.push(
                        Finding::new(
                            "mount/kind",
                            "a directory that was handed over is moved by its owner alone",
                        )
                        .at("from")
                        .allowed("its files, one by one"),
                    );
                }
                verdict
            }
            // The files in a snapshot are judged one by one when they are read.
            FileOp::ReadOnly | FileOp::Snapshot => self.ask("list", at(&[]), None, &[]),
        }
    }

    /// Judges a call that no journal records. Its target is a tree, which never changes, or its operation needs no
    /// access to the disk.
    ///
    /// # Errors
    /// When a gate refuses the call, or would ask the user.
    pub fn check_unrecorded(
        &self,
        place: &[String],
        op: &FileOp,
        leads: &dyn Fn(&[String]) -> Option<Vec<String>>,
    ) -> Result<(), Failure> {
        expect_allowed(self.judge(place, op, None, leads, &|_| false, &[]))
    }

    /// Judges the reading of one file.
    ///
    /// # Errors
    /// When a gate refuses the reading, or would ask the user.
    pub fn check_read(&self, place: &[String]) -> Result<(), Failure> {
        expect_allowed(self.ask("read", place.join("/"), None, &[]))
    }

    /// Returns the rules of the gates.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    fn ask(&self, method: &str, path: String, content: Option<&str>, places: &[PlaceFact]) -> Verdict {
        let effect = match content {
            None => Effect::Observe,
            Some(_) if places.iter().any(|place| place.meaning.sends()) => Effect::Commit,
            Some(_) => Effect::Modify,
        };
        let args: Vec<Value> =
            [Some(path.as_str()), content].into_iter().flatten().map(Value::string).collect();
        let proposal = Proposal {
            principal: self.agent,
            // This proposal is only a part of the call for the gates. The call itself is proposed later, with the
            // combined verdict.
            run: RunNumber(0),
            grant: self.grant.id,
            slot: self.grant.slot.clone(),
            method: method.to_owned(),
            args,
            effect,
            // With the grant, the host lets the agent act without asking each time. So the caller counts as code.
            caller: Caller::Code,
            pins: BTreeSet::new(),
            provenance: Provenance::of(Source::Agent(Number(self.agent.number))),
            traces: vec![],
            givers: vec![],
            place: None,
        };
        let facts = Facts {
            bytes: content.map(|text| text.len() as u64),
            line: format!("{method} {}", visible_line(&path)),
            paths: vec![PathFact { argument: "path".to_owned(), path, leads_to: None, bytes: None }],
            places: places.to_vec(),
            ..Facts::default()
        };
        let mut verdict = policy::judge(&Context {
            proposal: &proposal,
            grant: &self.grant,
            interface: &INTERFACE,
            subject: &self.subject,
            worker: CALLER,
            facts: &facts,
            now_ms: self.now_ms,
            written: &[],
            spent: &RunBudget::default(),
            rules: &self.rules,
        });
        // Findings quote text of the call, which may contain secrets.
        redact(&self.rules.secrets, &mut verdict.findings);
        verdict
    }
}

/// Redacts the vault's values in findings.
pub fn redact(secrets: &policy::Secrets, findings: &mut [Finding]) {
    let redact = |text: &mut String| *text = secrets.redact(text).into_owned();
    findings.iter_mut().for_each(|finding| finding.redact(&redact));
}

/// Returns the combined verdict on two parts of one call.
fn combine_verdicts(mut one: Verdict, other: Verdict) -> Verdict {
    one.decision = one.decision.max(other.decision);
    one.findings.extend(other.findings);
    one.lift = one.lift.max(other.lift);
    one
}

fn expect_allowed(verdict: Verdict) -> Result<(), Failure> {
    match verdict.decision {
        Decision::Allow => Ok(()),
        Decision::Ask => Err(refusal(&verdict.findings, APPROVAL_UNAVAILABLE)),
        Decision::Deny => Err(refusal(&verdict.findings, FORBIDDEN_BY_HOST)),
    }
}

/// The help for a caller whose call needs an approval, if the user is not asked about calls of this kind.
pub const APPROVAL_UNAVAILABLE: &str =
    "a person would have to say yes, and is only asked about what changes something";

/// The help for a caller whose call a rule refuses.
pub const FORBIDDEN_BY_HOST: &str = "the host has rules against it";

/// Returns a refusal with the messages of the findings.
pub fn refusal(findings: &[Finding], help: &str) -> Failure {
    let said: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    Failure::new(Exit::Denied, said.join("; ")).help(help)
}
