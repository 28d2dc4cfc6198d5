//! The answers of gates, and their combination.
//!
//! Three things turn *ask* into *allow*: a permission, the endowment's own setting, and an operator's `permit`. Each
//! question says which of them lift it. Nothing turns *deny* into *allow*. The types enforce this: a [`Lift`] is a
//! part of an *ask*, and a *deny* has none. This module does not know permissions. The kernel spends a permission in
//! the transaction that begins the effect, and only for a verdict that asks.

use kernel::grant::Grant;
pub use kernel::proposal::Lift;
use kernel::proposal::{Decision, Finding};

/// The answer of one gate to one proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    answer: Answer,
    findings: Vec<Finding>,
}

// The order is from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Allow,
    /// The operator's permit. It lifts the questions of other gates that an operator may lift.
    Permit,
    Ask(Lift),
    Deny,
}

impl Ruling {
    /// Returns a ruling without objection and without findings.
    pub fn allow() -> Ruling {
        Ruling { answer: Answer::Allow, findings: Vec::new() }
    }

    /// Returns a ruling without objection, but with a finding. A person who is asked for another reason sees the
    /// finding.
    pub fn note(finding: Finding) -> Ruling {
        Ruling { answer: Answer::Allow, findings: vec![finding] }
    }

    /// Returns a ruling without objection, but with any number of findings, as [`Ruling::note`] does.
    pub fn notes(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Allow, findings }
    }

    /// Returns a ruling with the operator's permit. Only the gate for the operator's policies may use it.
    pub(crate) fn permit(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Permit, findings }
    }

    /// Returns a ruling that asks a person, unless `lift` lifts the question.
    pub fn ask(lift: Lift, finding: Finding) -> Ruling {
        Ruling { answer: Answer::Ask(lift), findings: vec![finding] }
    }

    /// Returns a ruling that denies the proposal.
    pub fn deny(finding: Finding) -> Ruling {
        Ruling { answer: Answer::Deny, findings: vec![finding] }
    }

    /// Returns a ruling that denies the proposal if there are any findings, and has no objection otherwise.
    pub fn deny_any(findings: Vec<Finding>) -> Ruling {
        if findings.is_empty() { Ruling::allow() } else { Ruling { answer: Answer::Deny, findings } }
    }

    /// Returns the strictest of several answers, with all findings. Without any rulings, there is no objection.
    pub fn strictest(rulings: Vec<Ruling>) -> Ruling {
        let mut all = Ruling::allow();
        for ruling in rulings {
            all.answer = all.answer.max(ruling.answer);
            all.findings.extend(ruling.findings);
        }
        all
    }

    /// Returns a ruling that asks, even without findings.
    pub(crate) fn ask_all(lift: Lift, findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Ask(lift), findings }
    }

    /// Returns a ruling that denies the proposal, even without findings.
    pub(crate) fn deny_all(findings: Vec<Finding>) -> Ruling {
        Ruling { answer: Answer::Deny, findings }
    }

    /// Returns the ruling with one more finding.
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
    /// Returns the lifts that the grant gives for `method`. If the worker file requires a question about the method,
    /// an endowment cannot lift that question.
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
    /// The strictest decision.
    pub decision: Decision,
    /// All findings: first those of the rulings that deny, then the others, each in the order of the rulings.
    pub findings: Vec<Finding>,
    /// The lift that would have lifted all remaining questions, if the decision is to ask.
    pub lift: Option<Lift>,
}

/// Returns the strictest decision of all rulings under the lifts in force, with all findings.
///
/// A reader of the journal takes the first finding for the reason. So what denies comes before a question that some
/// other gate would have asked.
pub fn combine(rulings: Vec<Ruling>, lifted: ActiveLifts) -> CombinedRuling {
    // A permit counts at any position among the rulings.
    let permitted = rulings.iter().any(|ruling| ruling.answer == Answer::Permit);
    let lifted = ActiveLifts { operator: lifted.operator || permitted, ..lifted };
    let mut all = CombinedRuling { decision: Decision::Allow, findings: Vec::new(), lift: None };
    let (denials, others): (Vec<_>, Vec<_>) =
        rulings.into_iter().partition(|ruling| ruling.answer == Answer::Deny);
    for ruling in denials.into_iter().chain(others) {
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
