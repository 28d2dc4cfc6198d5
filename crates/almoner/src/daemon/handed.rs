//! Files that were handed over are used under the gates, also by whoever calls them over Endo's protocol.
//!
//! A client that acts as the host is the person's own hand. Whatever comes through a grant is judged here before it is
//! done, as a call of the methods that worker files know: `list`, `read` and `write` of a directory, and every change of
//! a file is a `write` of it. No run waits behind such a call, and so what would be asked about is refused.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use kernel::facet::FileOp;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::id::RunNumber;
use kernel::proposal::{Caller, Decision, Effect, Proposal};
use kernel::provenance::{Provenance, Source};
use kernel::{FormulaId, Interface, Method, Number, Param, Pattern, Value};
use passable::{Limit, Limits, visible_line};
use policy::{Context, Facts, PathFact, Rules, Spent, Subject};

use crate::exit::{Exit, Failure};

/// What policies call whoever uses a directory without a run.
pub const CALLER: &str = "@agent";

/// What is judged by, and what it is about.
pub struct Gates {
    /// The rules as they are now, with the operator's policies.
    rules: Arc<Rules>,
    /// The grants that were passed, as one.
    grant: Grant,
    subject: Subject,
    agent: FormulaId,
    now_ms: i64,
}

/// A directory as worker files know it. How long a path or a text may be is said by the directory itself.
static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
    let text = || Pattern::string_within(Limits::of([(Limit::StringLength, f64::from(1 << 30))]));
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
    /// The gates before what `grant` leads to.
    pub fn before(
        rules: Arc<Rules>,
        grant: Grant,
        formula: &Formula,
        agent: FormulaId,
        now_ms: i64,
    ) -> Gates {
        let mut names = Vec::new();
        if let Formula::Mount { path, .. } = formula {
            names.push(path.clone());
            // A directory that is gone has no other name.
            let real =
                std::fs::canonicalize(path).ok().and_then(|real| real.into_os_string().into_string().ok());
            names.extend(real.filter(|real| Path::new(real) != Path::new(path)));
        }
        // Whether the grant lets it be called was asked before, in the words of Endo's methods.
        let grant = Grant { methods: BTreeSet::from(["list", "read", "write"].map(str::to_owned)), ..grant };
        Gates { rules, grant, subject: Subject { kind: "dir".to_owned(), names }, agent, now_ms }
    }

    /// Judges a call that is made at `place`, with the bytes that it brings. `leads` says where names lead, links
    /// followed, and `is_directory` what is there.
    ///
    /// # Errors
    /// When a gate refuses, or would ask.
    pub fn pass(
        &self,
        place: &[String],
        op: &FileOp,
        bytes: Option<&[u8]>,
        leads: &dyn Fn(&[String]) -> Option<Vec<String>>,
        is_directory: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), Failure> {
        let at = |way: &[String]| -> String {
            let all: Vec<&str> = place.iter().chain(way).map(String::as_str).collect();
            all.join("/")
        };
        match op {
            FileOp::Has(way) | FileOp::List(way) | FileOp::Lookup(way) => {
                self.judge("list", at(way), None)?;
                match leads(way).filter(|real| real != way) {
                    Some(real) => self.judge("list", at(&real), None),
                    None => Ok(()),
                }
            }
            FileOp::Read { way, .. } | FileOp::ReadJson(way) | FileOp::Stream(way) | FileOp::Digest(way) => {
                self.judge("read", at(way), None)?;
                // A harmless name may be a link to something else.
                match leads(way).filter(|real| real != way) {
                    Some(real) => self.judge("read", at(&real), None),
                    None => Ok(()),
                }
            }
            FileOp::Write { way, text } => self.judge("write", at(way), Some(text)),
            FileOp::WriteBytes(way) => {
                self.judge("write", at(way), Some(&String::from_utf8_lossy(bytes.unwrap_or_default())))
            }
            FileOp::Remove(way) | FileOp::MakeDirectory(way) => self.judge("write", at(way), Some("")),
            // Whatever lies in it would have another name there, and be judged by that.
            FileOp::Move { from, .. } if is_directory(from) => Err(Failure::new(
                Exit::Denied,
                "a directory that was handed over is moved by its owner alone",
            )
            .help("move the files in it one by one")),
            FileOp::Move { from, to } => {
                self.judge("read", at(from), None)?;
                self.judge("write", at(from), Some(""))?;
                self.judge("write", at(to), Some(""))
            }
            // What is in it is judged file by file, when it is read.
            FileOp::ReadOnly | FileOp::Snapshot => self.judge("list", at(&[]), None),
        }
    }

    /// Judges the reading of one file.
    ///
    /// # Errors
    /// When a gate refuses, or would ask.
    pub fn reads(&self, place: &[String]) -> Result<(), Failure> {
        self.judge("read", place.join("/"), None)
    }

    fn judge(&self, method: &str, path: String, content: Option<&str>) -> Result<(), Failure> {
        let effect = if content.is_some() { Effect::Modify } else { Effect::Observe };
        let args: Vec<Value> =
            [Some(path.as_str()), content].into_iter().flatten().map(Value::string).collect();
        let proposal = Proposal {
            principal: self.agent,
            // No run has this number.
            run: RunNumber(0),
            grant: self.grant.id,
            slot: self.grant.slot.clone(),
            method: method.to_owned(),
            args,
            effect,
            // What was granted is what the host let somebody do, without being asked each time.
            caller: Caller::Code,
            pins: BTreeSet::new(),
            provenance: Provenance::of(Source::Agent(Number(self.agent.number))),
            traces: vec![],
        };
        let facts = Facts {
            bytes: content.map(|text| text.len() as u64),
            line: format!("{method} {}", visible_line(&path)),
            paths: vec![PathFact { argument: "path".to_owned(), path, leads_to: None, bytes: None }],
            ..Facts::default()
        };
        let verdict = policy::judge(&Context {
            proposal: &proposal,
            grant: &self.grant,
            interface: &INTERFACE,
            subject: &self.subject,
            worker: CALLER,
            facts: &facts,
            now_ms: self.now_ms,
            written: &[],
            spent: &Spent::default(),
            rules: &self.rules,
        });
        if verdict.decision == Decision::Allow {
            return Ok(());
        }
        // A gate quotes what it found.
        let secrets = &self.rules.secrets;
        let said: Vec<_> = verdict.findings.iter().map(|finding| secrets.redact(&finding.message)).collect();
        let help = match verdict.decision {
            Decision::Ask => "a person would have to say yes, and is only asked when a run does this",
            _ => "the host has rules against it",
        };
        Err(Failure::new(Exit::Denied, said.join("; ")).help(help))
    }
}
