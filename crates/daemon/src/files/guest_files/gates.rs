//! The gates' judgement of a call on a directory. It is judged as calls of the methods that worker files know:
//! `list`, `read` and `write` of a directory. Every change of a file is a `write` of it.

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
use policy::{Context, Facts, PathFact, Rules, RunBudget, Subject};
use resource::{Kind, Resource};

use control::exit::{Exit, Failure};

/// The name in policies of an agent that uses a directory without a run.
pub const CALLER: &str = "@agent";

/// The rules for judging a call, with the grant, the agent and the directory that it is about.
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
    /// Returns the gates before the target of `grant`.
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
            // A directory that is gone has no other name.
            let real =
                std::fs::canonicalize(path).ok().and_then(|real| real.into_os_string().into_string().ok());
            names.extend(real.filter(|real| Path::new(real) != Path::new(path)));
        }
        // Whether the grant lets it be called was asked before, in the words of Endo's methods.
        let grant = Grant { methods: BTreeSet::from(["list", "read", "write"].map(str::to_owned)), ..grant };
        let directory = Kind::Dir { write: false }.row().label.to_owned();
        Gates { rules, grant, subject: Subject { kind: directory, names }, agent, now_ms }
    }

    /// Returns the verdict of the gates on a call that is made at `place`, with the bytes that it brings. `leads`
    /// resolves names and follows links. `is_directory` tells whether a directory is there.
    pub fn judge(
        &self,
        place: &[String],
        op: &FileOp,
        bytes: Option<&[u8]>,
        leads: &dyn Fn(&[String]) -> Option<Vec<String>>,
        is_directory: &dyn Fn(&[String]) -> bool,
    ) -> Verdict {
        let at = |way: &[String]| -> String {
            let all: Vec<&str> = place.iter().chain(way).map(String::as_str).collect();
            all.join("/")
        };
        // A harmless name may be a link to another file. A name that is refused is not resolved.
        let looks = |method: &str, way: &[String]| {
            let verdict = self.ask(method, at(way), None);
            if verdict.decision == Decision::Deny {
                return verdict;
            }
            match leads(way).filter(|real| real != way) {
                Some(real) => combine_verdicts(verdict, self.ask(method, at(&real), None)),
                None => verdict,
            }
        };
        match op {
            FileOp::Has(way) | FileOp::List(way) | FileOp::Lookup(way) => looks("list", way),
            FileOp::Read { way, .. } | FileOp::ReadJson(way) | FileOp::Stream(way) | FileOp::Digest(way) => {
                looks("read", way)
            }
            FileOp::Write { way, text } | FileOp::Append { way, text } => {
                self.ask("write", at(way), Some(text))
            }
            FileOp::WriteBytes(way) => {
                self.ask("write", at(way), Some(&String::from_utf8_lossy(bytes.unwrap_or_default())))
            }
            FileOp::Remove(way) | FileOp::MakeDirectory(way) => self.ask("write", at(way), Some("")),
            FileOp::Move { from, to } => {
                let verdict = self.ask("read", at(from), None);
                let verdict = combine_verdicts(verdict, self.ask("write", at(from), Some("")));
                let mut verdict = combine_verdicts(verdict, self.ask("write", at(to), Some("")));
                // The files in it would have other names there, and be judged by those.
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
            // The files in it are judged one by one, when they are read.
            FileOp::ReadOnly | FileOp::Snapshot => self.ask("list", at(&[]), None),
        }
    }

    /// Judges a call that no journal records: on a tree that never changes, or one that only narrows a place.
    ///
    /// # Errors
    /// When a gate refuses, or would ask.
    pub fn check_unrecorded(
        &self,
        place: &[String],
        op: &FileOp,
        leads: &dyn Fn(&[String]) -> Option<Vec<String>>,
    ) -> Result<(), Failure> {
        expect_allowed(self.judge(place, op, None, leads, &|_| false))
    }

    /// Judges the reading of one file.
    ///
    /// # Errors
    /// When a gate refuses, or would ask.
    pub fn check_read(&self, place: &[String]) -> Result<(), Failure> {
        expect_allowed(self.ask("read", place.join("/"), None))
    }

    /// Returns the rules that it judges by.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    fn ask(&self, method: &str, path: String, content: Option<&str>) -> Verdict {
        let effect = if content.is_some() { Effect::Modify } else { Effect::Observe };
        let args: Vec<Value> =
            [Some(path.as_str()), content].into_iter().flatten().map(Value::string).collect();
        let proposal = Proposal {
            principal: self.agent,
            // The gates judge parts of a call here. The call itself is proposed with the combined verdict.
            run: RunNumber(0),
            grant: self.grant.id,
            slot: self.grant.slot.clone(),
            method: method.to_owned(),
            args,
            effect,
            // With a grant the host lets the agent act without a question each time.
            caller: Caller::Code,
            pins: BTreeSet::new(),
            provenance: Provenance::of(Source::Agent(Number(self.agent.number))),
            traces: vec![],
            place: None,
        };
        let facts = Facts {
            bytes: content.map(|text| text.len() as u64),
            line: format!("{method} {}", visible_line(&path)),
            paths: vec![PathFact { argument: "path".to_owned(), path, leads_to: None, bytes: None }],
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
        // A finding quotes the text that the gate found.
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

/// The help for a refused caller if the user would have to approve the call and is not asked.
pub const APPROVAL_UNAVAILABLE: &str =
    "a person would have to say yes, and is only asked about what changes something";

/// The help for a caller that a rule refuses.
pub const FORBIDDEN_BY_HOST: &str = "the host has rules against it";

/// Returns a refusal with the messages of the findings.
pub fn refusal(findings: &[Finding], help: &str) -> Failure {
    let said: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    Failure::new(Exit::Denied, said.join("; ")).help(help)
}
