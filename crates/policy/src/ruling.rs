//! What one gate says, and how answers become one.
//!
//! Three things turn *ask* into *allow*: a permission, the endowment's own setting, and later an operator's
//! `permit`. Nothing turns *deny* into *allow*. Here that is a matter of types: a [`Lift`] is a part of an *ask*,
//! and a *deny* has none. Permissions are not known here: the kernel spends one in the transaction that begins the
//! effect, and only for a verdict that asks.

use kernel::grant::Grant;
use kernel::proposal::{Decision, Finding};

/// What can turn an *ask* into an *allow*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lift {
    /// The endowment's own setting, or a permission.
    Endowment,
    /// A permission only: a person who has seen exactly this call.
    Permission,
}

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

    /// The same, with one more finding.
    pub fn with(mut self, finding: Finding) -> Ruling {
        self.findings.push(finding);
        self
    }

    /// What the gate said.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What it comes to under an endowment.
    pub fn decision(&self, endowment: Endowment) -> Decision {
        match self.answer {
            Answer::Allow => Decision::Allow,
            Answer::Ask(Lift::Endowment) if endowment.lifts => Decision::Allow,
            Answer::Ask(_) => Decision::Ask,
            Answer::Deny => Decision::Deny,
        }
    }
}

/// What the endowment says about being asked.
#[derive(Clone, Copy, Debug)]
pub struct Endowment {
    lifts: bool,
}

impl Endowment {
    /// What the grant says about `method`. A worker file that wants to be asked about it wins over an endowment
    /// that does not.
    pub fn of(grant: &Grant, method: &str) -> Endowment {
        Endowment { lifts: grant.allow.contains(method) && !grant.ask.contains(method) }
    }
}

/// The strictest answer, and all findings in the order of the rulings.
pub fn combine(rulings: impl IntoIterator<Item = Ruling>, endowment: Endowment) -> (Decision, Vec<Finding>) {
    let mut decision = Decision::Allow;
    let mut findings = Vec::new();
    for ruling in rulings {
        decision = decision.max(ruling.decision(endowment));
        findings.extend(ruling.findings);
    }
    (decision, findings)
}
