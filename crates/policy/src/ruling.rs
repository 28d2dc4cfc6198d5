//! What one gate says, and how answers become one.
//!
//! Three things turn *ask* into *allow*: a permission, the endowment's own setting, and an operator's `permit`; which
//! of them lift a question is a part of the question. Nothing turns *deny* into *allow*. Here that is a matter of
//! types: a [`Lift`] is a part of an *ask*, and a *deny* has none. Permissions are not known here: the kernel spends one in the transaction that begins the
//! effect, and only for a verdict that asks.

use kernel::grant::Grant;
pub use kernel::proposal::Lift;
use kernel::proposal::{Decision, Finding};

/// What one gate says of one proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    answer: Answer,
    findings: Vec<Finding>,
}

// From the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Allow,
    /// Nothing to object, and the operator need not be asked: lifts what other gates ask, where that may be lifted so.
    Permit,
    Ask(Lift),
    Deny,
}

impl Ruling {
    /// Nothing to object.
    pub fn allow() -> Ruling {
        Ruling { answer: Answer::Allow, findings: Vec::new() }
    }

    /// Nothing to object, but something that a person who is asked for another reason should see.
    pub fn note(finding: Finding) -> Ruling {
        Ruling { answer: Answer::Allow, findings: vec![finding] }
    }

    /// The same with any number of things to see.
    pub fn notes(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Allow, findings }
    }

    /// The operator permits it. Only the gate that asks the operator's policies may say so.
    pub(crate) fn permit(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Permit, findings }
    }

    /// A person is asked, unless `lift` says otherwise.
    pub fn ask(lift: Lift, finding: Finding) -> Ruling {
        Ruling { answer: Answer::Ask(lift), findings: vec![finding] }
    }

    /// It is refused.
    pub fn deny(finding: Finding) -> Ruling {
        Ruling { answer: Answer::Deny, findings: vec![finding] }
    }

    /// It is refused if there are any findings.
    pub fn deny_any(findings: Vec<Finding>) -> Ruling {
        if findings.is_empty() { Ruling::allow() } else { Ruling { answer: Answer::Deny, findings } }
    }

    /// The strictest of several answers, with the findings of all. Nothing to object if there are none.
    pub fn strictest(rulings: Vec<Ruling>) -> Ruling {
        let mut all = Ruling::allow();
        for ruling in rulings {
            all.answer = all.answer.max(ruling.answer);
            all.findings.extend(ruling.findings);
        }
        all
    }

    /// It is refused, whatever is said of why.
    pub(crate) fn deny_all(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Deny, findings }
    }

    /// The same, with one more finding.
    pub fn with(mut self, finding: Finding) -> Ruling {
        self.findings.push(finding);
        self
    }

    /// What the gate said.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What it comes to by itself, under what lifts questions.
    pub fn decision(&self, lifted: Lifted) -> Decision {
        match self.answer {
            Answer::Allow | Answer::Permit => Decision::Allow,
            Answer::Ask(lift) if lifted.lifts(lift) => Decision::Allow,
            Answer::Ask(_) => Decision::Ask,
            Answer::Deny => Decision::Deny,
        }
    }
}

/// What lifts questions before a person is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lifted {
    endowment: bool,
    operator: bool,
}

impl Lifted {
    /// What the grant says about being asked about `method`. A worker file that wants to be asked about it wins over
    /// an endowment that does not.
    pub fn by_endowment(grant: &Grant, method: &str) -> Lifted {
        Lifted { endowment: grant.allow.contains(method) && !grant.ask.contains(method), operator: false }
    }

    fn lifts(self, lift: Lift) -> bool {
        match lift {
            Lift::Endowment => self.endowment || self.operator,
            Lift::Operator => self.operator,
            Lift::Permission => false,
        }
    }
}

/// What all rulings come to.
#[derive(Debug)]
pub struct Combined {
    /// The strictest answer.
    pub decision: Decision,
    /// All findings, in the order of the rulings.
    pub findings: Vec<Finding>,
    /// If it asks: what would have lifted all that was not lifted.
    pub lift: Option<Lift>,
}

/// The strictest answer, and all findings in the order of the rulings.
pub fn combine(rulings: Vec<Ruling>, lifted: Lifted) -> Combined {
    // A permit counts wherever it stands among the rulings.
    let permitted = rulings.iter().any(|ruling| ruling.answer == Answer::Permit);
    let lifted = Lifted { operator: lifted.operator || permitted, ..lifted };
    let mut all = Combined { decision: Decision::Allow, findings: Vec::new(), lift: None };
    for ruling in rulings {
        all.decision = all.decision.max(ruling.decision(lifted));
        if let Answer::Ask(lift) = ruling.answer
            && !lifted.lifts(lift)
        {
            all.lift = all.lift.max(Some(lift));
        }
        all.findings.extend(ruling.findings);
    }
    all.lift = all.lift.filter(|_| all.decision == Decision::Ask);
    all
}
