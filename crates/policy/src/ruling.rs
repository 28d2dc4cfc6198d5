//! The answer of one gate, and how answers become one.
//!
//! Three things turn *ask* into *allow*: a permission, the endowment's own setting, and an operator's `permit`. Each
//! question says which of them lift it. Nothing turns *deny* into *allow*. The types enforce this: a [`Lift`] is a
//! part of an *ask*, and a *deny* has none. Permissions are not known here: the kernel spends one in the transaction
//! that begins the effect, and only for a verdict that asks.

use kernel::grant::Grant;
pub use kernel::proposal::Lift;
use kernel::proposal::{Decision, Finding};

/// The answer of one gate to one proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    answer: Answer,
    findings: Vec<Finding>,
}

// From the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Allow,
    /// No objection, and the operator's permit: it lifts the questions of other gates that an operator may lift.
    Permit,
    Ask(Lift),
    Deny,
}

impl Ruling {
    /// Returns a ruling without objection.
    pub fn allow() -> Ruling {
        Ruling { answer: Answer::Allow, findings: Vec::new() }
    }

    /// Returns a ruling without objection. A person who is asked for another reason sees the finding.
    pub fn note(finding: Finding) -> Ruling {
        Ruling { answer: Answer::Allow, findings: vec![finding] }
    }

    /// Returns the same with any number of things to see.
    pub fn notes(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Allow, findings }
    }

    /// Returns a ruling that permits the call for the operator. Only the gate that asks the operator's policies may
    /// use it.
    pub(crate) fn permit(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Permit, findings }
    }

    /// Returns a ruling that asks a person, unless `lift` answers the question.
    pub fn ask(lift: Lift, finding: Finding) -> Ruling {
        Ruling { answer: Answer::Ask(lift), findings: vec![finding] }
    }

    /// Returns a ruling that refuses the proposal.
    pub fn deny(finding: Finding) -> Ruling {
        Ruling { answer: Answer::Deny, findings: vec![finding] }
    }

    /// Returns a ruling that refuses the proposal if there are any findings.
    pub fn deny_any(findings: Vec<Finding>) -> Ruling {
        if findings.is_empty() { Ruling::allow() } else { Ruling { answer: Answer::Deny, findings } }
    }

    /// Returns the strictest of several answers, with the findings of all. Nothing to object if there are none.
    pub fn strictest(rulings: Vec<Ruling>) -> Ruling {
        let mut all = Ruling::allow();
        for ruling in rulings {
            all.answer = all.answer.max(ruling.answer);
            all.findings.extend(ruling.findings);
        }
        all
    }

    /// Returns a ruling that refuses the proposal, even without findings.
    pub(crate) fn deny_all(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Deny, findings }
    }

    /// Returns the same, with one more finding.
    pub fn with(mut self, finding: Finding) -> Ruling {
        self.findings.push(finding);
        self
    }

    /// Returns the findings of the gate.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the decision of this ruling alone, under the lifts in force.
    pub fn decision(&self, lifted: ActiveLifts) -> Decision {
        match self.answer {
            Answer::Allow | Answer::Permit => Decision::Allow,
            Answer::Ask(lift) if lifted.lifts(lift) => Decision::Allow,
            Answer::Ask(_) => Decision::Ask,
            Answer::Deny => Decision::Deny,
        }
    }
}

/// The lifts in force before a person is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActiveLifts {
    endowment: bool,
    operator: bool,
}

impl ActiveLifts {
    /// Returns the lifts that the grant gives for `method`. A worker file that wants questions about it wins over an
    /// endowment that does not.
    pub fn by_endowment(grant: &Grant, method: &str) -> ActiveLifts {
        ActiveLifts {
            endowment: grant.allow.contains(method) && !grant.ask.contains(method),
            operator: false,
        }
    }

    fn lifts(self, lift: Lift) -> bool {
        match lift {
            Lift::Endowment => self.endowment || self.operator,
            Lift::Operator => self.operator,
            Lift::Permission => false,
        }
    }
}

/// The combination of all rulings.
#[derive(Debug)]
pub struct CombinedRuling {
    /// The strictest answer.
    pub decision: Decision,
    /// All findings, in the order of the rulings.
    pub findings: Vec<Finding>,
    /// The lift that would have answered all remaining questions, if the decision is to ask.
    pub lift: Option<Lift>,
}

/// Returns the strictest answer, and all findings in the order of the rulings.
pub fn combine(rulings: Vec<Ruling>, lifted: ActiveLifts) -> CombinedRuling {
    // A permit counts wherever it stands among the rulings.
    let permitted = rulings.iter().any(|ruling| ruling.answer == Answer::Permit);
    let lifted = ActiveLifts { operator: lifted.operator || permitted, ..lifted };
    let mut all = CombinedRuling { decision: Decision::Allow, findings: Vec::new(), lift: None };
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
