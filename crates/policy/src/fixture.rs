//! A call for tests of gates. Each test changes one thing about it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kernel::grant::{Attenuation, Grant};
use kernel::id::{BlobHash, FormulaId, MessageNumber, RunNumber};
use kernel::proposal::{Caller, Decision, Effect, Finding, Proposal, Value, Verdict};
use kernel::provenance::{Provenance, Source};
use kernel::{Interface, Method, Param, Pattern};

use crate::facts::{Context, Facts, Overwrite, RunBudget, Subject, WrittenFile};
use crate::gates::Gate;
use crate::rules::{Operator, Opinion, Rules, Stance};
use crate::ruling::Ruling;

pub(crate) const NOW: i64 = 1_000_000;

/// A call with all the data on which gates judge it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) proposal: Proposal,
    pub(crate) grant: Grant,
    pub(crate) interface: Interface,
    pub(crate) facts: Facts,
    pub(crate) written: Vec<WrittenFile>,
    pub(crate) spent: RunBudget,
    pub(crate) subject: Subject,
    pub(crate) rules: Arc<Rules>,
}

pub(crate) fn id(byte: u8) -> FormulaId {
    FormulaId { number: [byte; 32], node: [0; 32] }
}

/// Returns an interface with one method for each effect class: `look`, `change` and `send`. Each takes a path, and
/// perhaps a note.
fn interface() -> Interface {
    let method = |name: &str, effect| {
        Method::new(name, effect, "does it")
            .param(Param::required("path", Pattern::string(), "where"))
            .param(Param::optional("note", Pattern::string(), "why"))
    };
    Interface::new("Thing", "a thing")
        .with(method("look", Effect::Observe))
        .with(method("change", Effect::Modify))
        .with(method("send", Effect::Commit))
}

impl Call {
    /// Returns a call of a method that the grant has. Endowed code makes the call, on the user's words alone.
    pub(crate) fn new(method: &str) -> Call {
        let effect = match method {
            "look" => Effect::Observe,
            "change" => Effect::Modify,
            _ => Effect::Commit,
        };
        Call {
            proposal: Proposal {
                principal: id(1),
                run: RunNumber(17),
                grant: id(3),
                slot: "out".into(),
                method: method.into(),
                args: vec![Value::from("report.md")],
                effect,
                caller: Caller::Code,
                pins: BTreeSet::new(),
                provenance: Provenance::host(),
                traces: Vec::new(),
                givers: vec![],
                place: None,
            },
            grant: Grant {
                id: id(3),
                number: kernel::GrantNumber(1),
                target: id(4),
                words: String::new(),
                holder: id(5),
                owner: kernel::Number([1; 32]),
                slot: "out".into(),
                methods: ["look", "change", "send"].map(String::from).into(),
                attenuation: Attenuation::default(),
                allow: BTreeSet::new(),
                ask: BTreeSet::new(),
                source: Some(MessageNumber(0)),
                given_ms: 0,
                expires_ms: None,
                revoked_ms: None,
                revoked_by: None,
            },
            interface: interface(),
            facts: Facts::default(),
            written: Vec::new(),
            spent: RunBudget::default(),
            subject: Subject { kind: "thing".into(), names: vec!["/home/me/out".into()] },
            rules: Arc::default(),
        }
    }

    /// Returns the call with a model as its caller.
    pub(crate) fn by_model(mut self) -> Call {
        self.proposal.caller = Caller::Model;
        self
    }

    /// Returns the call after the run has read a document.
    pub(crate) fn having_read(mut self, name: &str) -> Call {
        let source = Source::Document { name: name.into(), hash: BlobHash([7; 32]) };
        self.proposal.provenance = self.proposal.provenance.join(&Provenance::of(source));
        self
    }

    /// Returns the call after a model has said something in the run.
    pub(crate) fn having_heard(mut self, model: &str) -> Call {
        let source = Source::Model(model.into());
        self.proposal.provenance = self.proposal.provenance.join(&Provenance::of(source));
        self
    }

    /// Returns the call under an endowment that allows the method without a question.
    pub(crate) fn allowed(mut self) -> Call {
        self.grant.allow.insert(self.proposal.method.clone());
        self
    }

    /// Returns the call under a worker file that requires a question about the method.
    pub(crate) fn asked_for(mut self) -> Call {
        self.grant.ask.insert(self.proposal.method.clone());
        self
    }

    /// Returns the call with a file that it would overwrite.
    pub(crate) fn overwriting(mut self) -> Call {
        self.facts.overwrites =
            Some(Overwrite { path: "report.md".into(), digest: BlobHash([8; 32]), bytes: 812 });
        self
    }

    /// Returns the call under the policies of an operator.
    pub(crate) fn under(mut self, operator: FixedOperator) -> Call {
        self.rules = Arc::new(Rules::default().with_operator(Arc::new(operator)));
        self
    }

    /// Returns the call with any other change.
    pub(crate) fn but(mut self, change: impl FnOnce(&mut Call)) -> Call {
        change(&mut self);
        self
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            proposal: &self.proposal,
            grant: &self.grant,
            interface: &self.interface,
            subject: &self.subject,
            worker: "note",
            facts: &self.facts,
            now_ms: NOW,
            written: &self.written,
            spent: &self.spent,
            rules: &self.rules,
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        crate::judge(&self.context())
    }

    pub(crate) fn ruling(&self, gate: &Gate) -> Ruling {
        (gate.judge)(&self.context())
    }
}

/// An operator that has the same opinion on every call.
#[derive(Clone, Debug)]
pub(crate) struct FixedOperator {
    opinion: Option<Opinion>,
    digest: u8,
}

impl FixedOperator {
    pub(crate) fn new(stance: Stance, findings: Vec<Finding>) -> FixedOperator {
        FixedOperator { opinion: Some(Opinion { stance, findings }), digest: 0 }
    }

    /// Returns an operator that panics.
    pub(crate) fn broken() -> FixedOperator {
        FixedOperator { opinion: None, digest: 0 }
    }

    pub(crate) fn with_digest(self, digest: u8) -> FixedOperator {
        FixedOperator { digest, ..self }
    }
}

impl Operator for FixedOperator {
    fn opinion(&self, _: &Context<'_>) -> Opinion {
        self.opinion.clone().unwrap_or_else(|| panic!("on purpose"))
    }

    fn digest(&self) -> BlobHash {
        BlobHash([self.digest; 32])
    }
}

/// Checks the ruling of one gate. `decisions` are those without and with an endowment that allows the method. `rules`
/// are the names of the rules in the findings. Each finding must have all the parts that a finding needs to teach.
#[track_caller]
pub(crate) fn check(gate: &Gate, call: &Call, decisions: (Decision, Decision), rules: &[&str]) {
    use crate::ruling::ActiveLifts;
    let ruling = call.ruling(gate);
    let bare = Call::new(&call.proposal.method);
    let method = &call.proposal.method;
    let got = (
        ruling.decision(ActiveLifts::by_endowment(&bare.grant, method)),
        ruling.decision(ActiveLifts::by_endowment(&bare.clone().allowed().grant, method)),
    );
    assert_eq!(got, decisions, "{ruling:?}");
    assert_eq!(ruling.findings().iter().map(|f| f.rule.as_str()).collect::<Vec<_>>(), rules);
    for finding in ruling.findings() {
        assert!(!finding.message.is_empty() && finding.at.is_some(), "{finding:?}");
        assert!(finding.counter_example.is_some() && finding.allowed.is_some(), "{finding:?}");
    }
}
