//! The table of verdicts: every combination of gate answers, effect, caller, endowment and operator. The expected
//! verdicts are written down here, independently of the code that is tested.
//!
//! The kernel decides about permissions, and has its own table for them.
#![cfg(test)]

use std::borrow::Cow;

use kernel::proposal::{Caller, Decision, Effect, Finding};

use crate::facts::Context;
use crate::fixture::{Call, FixedOperator};
use crate::gates::{GATES, Gate};
use crate::judge::Panel;
use crate::rules::Stance;
use crate::ruling::{Lift, Ruling};

/// The answer of one additional gate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GateAnswer {
    Nothing,
    Note,
    /// A question, and the lift that it requires.
    Ask(RequiredLift),
    Deny,
}

/// The lift that a question requires.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RequiredLift {
    Endowment,
    Operator,
    Person,
}

/// The caller.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CallerKind {
    FixedCode,
    Model,
    /// A model in a run that no user watches. The gates do not know whether a user watches, so the verdicts are the
    /// same.
    ModelInTheBackground,
}

/// The source of words on which the call may depend, in addition to the user's own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ForeignSource {
    Absent,
    Model,
    Document,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Endowment {
    SaysNothing,
    Allows,
    /// An endowment that allows the method, and a worker file that requires a question.
    AllowsButTheFileAsks,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Missing,
    Silent,
    Permits,
    Asks,
    Forbids,
    Fails,
}

const GATE_ANSWERS: [GateAnswer; 6] = [
    GateAnswer::Nothing,
    GateAnswer::Note,
    GateAnswer::Ask(RequiredLift::Endowment),
    GateAnswer::Ask(RequiredLift::Operator),
    GateAnswer::Ask(RequiredLift::Person),
    GateAnswer::Deny,
];
const EFFECTS: [Effect; 3] = [Effect::Observe, Effect::Modify, Effect::Commit];
const CALLER_KINDS: [CallerKind; 3] =
    [CallerKind::FixedCode, CallerKind::Model, CallerKind::ModelInTheBackground];
const FOREIGN_SOURCES: [ForeignSource; 3] =
    [ForeignSource::Absent, ForeignSource::Model, ForeignSource::Document];
const ENDOWMENTS: [Endowment; 3] =
    [Endowment::SaysNothing, Endowment::Allows, Endowment::AllowsButTheFileAsks];
const POLICIES: [Policy; 6] =
    [Policy::Missing, Policy::Silent, Policy::Permits, Policy::Asks, Policy::Forbids, Policy::Fails];

/// The questions that follow from the caller and the effect of the call.
#[rustfmt::skip]
const DEFAULTS: [(CallerKind, [Option<RequiredLift>; 3]); 3] = [
    // caller                     reads  changes                  sends
    (CallerKind::FixedCode,            [None, None,                    None]),
    (CallerKind::Model,                [None, Some(RequiredLift::Endowment),  Some(RequiredLift::Operator)]),
    (CallerKind::ModelInTheBackground, [None, Some(RequiredLift::Endowment),  Some(RequiredLift::Operator)]),
];

/// The questions that follow from the sources of the words that are sent. A call that sends nothing needs none of
/// them.
#[rustfmt::skip]
const PROVENANCE_QUESTIONS: [(ForeignSource, Option<RequiredLift>); 3] = [
    (ForeignSource::Absent,    None),
    (ForeignSource::Model,    Some(RequiredLift::Operator)),
    (ForeignSource::Document, Some(RequiredLift::Person)),
];

/// The lifts that apply before a person is asked: for each required lift, whether an endowment and an operator give
/// it.
#[rustfmt::skip]
const LIFTS: [(RequiredLift, bool, bool); 3] = [
    // it takes          endowment  operator
    (RequiredLift::Endowment,   true,      true),
    (RequiredLift::Operator,    false,     true),
    (RequiredLift::Person,      false,     false),
];

/// One cell of the table.
#[derive(Clone, Copy, Debug)]
struct Cell<'a> {
    gates: &'a [GateAnswer],
    effect: Effect,
    who: CallerKind,
    heard: ForeignSource,
    endowment: Endowment,
    policy: Policy,
}

impl Cell<'_> {
    /// Returns the expected verdict: the decision, and the lift that would have changed it.
    fn expected(&self) -> (Decision, Option<Lift>) {
        let refuses = self.gates.contains(&GateAnswer::Deny);
        if refuses || matches!(self.policy, Policy::Forbids | Policy::Fails) {
            return (Decision::Deny, None);
        }
        let mut questions: Vec<RequiredLift> = self
            .gates
            .iter()
            .filter_map(|says| match says {
                GateAnswer::Ask(needs) => Some(*needs),
                _ => None,
            })
            .collect();
        let (_, defaults) = DEFAULTS.iter().find(|(who, _)| *who == self.who).unwrap();
        questions.extend(defaults[self.effect as usize]);
        if self.endowment == Endowment::AllowsButTheFileAsks {
            questions.push(RequiredLift::Person);
        }
        if self.policy == Policy::Asks {
            questions.push(RequiredLift::Person);
        }
        if self.effect == Effect::Commit {
            questions.extend(PROVENANCE_QUESTIONS.iter().find(|(heard, _)| *heard == self.heard).unwrap().1);
        }
        let is_lifted = |needs: &RequiredLift| {
            let (_, endowment, operator) = LIFTS.iter().find(|(each, ..)| each == needs).unwrap();
            (*endowment && self.endowment == Endowment::Allows)
                || (*operator && self.policy == Policy::Permits)
        };
        // The lift of the hardest question lifts all questions.
        let left = questions.iter().filter(|needs| !is_lifted(needs)).map(|needs| match needs {
            RequiredLift::Endowment => Lift::Endowment,
            RequiredLift::Operator => Lift::Operator,
            RequiredLift::Person => Lift::Permission,
        });
        match left.max() {
            None => (Decision::Allow, None),
            lift => (Decision::Ask, lift),
        }
    }

    /// Returns the verdict of the gates, with its decision and lift.
    fn verdict(&self) -> (Decision, Option<Lift>) {
        let mut call = Call::new(match self.effect {
            Effect::Observe => "look",
            Effect::Modify => "change",
            Effect::Commit => "send",
        });
        call.proposal.caller = match self.who {
            CallerKind::FixedCode => Caller::Code,
            CallerKind::Model | CallerKind::ModelInTheBackground => Caller::Model,
        };
        call = match self.heard {
            ForeignSource::Absent => call,
            ForeignSource::Model => call.having_heard("m"),
            ForeignSource::Document => call.having_heard("m").having_read("mail/5"),
        };
        call = match self.endowment {
            Endowment::SaysNothing => call,
            Endowment::Allows => call.allowed(),
            Endowment::AllowsButTheFileAsks => call.allowed().asked_for(),
        };
        let says = |stance| Some(FixedOperator::new(stance, vec![finding()]));
        let operator = match self.policy {
            Policy::Missing => None,
            Policy::Silent => says(Stance::Silent),
            Policy::Permits => says(Stance::Permits),
            Policy::Asks => says(Stance::Asks),
            Policy::Forbids => says(Stance::Forbids),
            Policy::Fails => Some(FixedOperator::broken()),
        };
        if let Some(operator) = operator {
            call = call.under(operator);
        }
        // The additional gates come before and after the built-in ones. The position of a gate must not change the
        // verdict.
        let mut gates: Vec<Gate> = GATES.to_vec();
        for (at, says) in self.gates.iter().enumerate() {
            let gate = Gate { name: "extra", version: 1, about: "a test", judge: judge_of(*says) };
            if at == 0 { gates.insert(0, gate) } else { gates.push(gate) }
        }
        let verdict = Panel::new(Cow::Owned(gates)).judge(&call.context());
        (verdict.decision, verdict.lift)
    }
}

fn finding() -> Finding {
    Finding::new("extra/rule", "said so")
}

fn judge_of(says: GateAnswer) -> fn(&Context<'_>) -> Ruling {
    match says {
        GateAnswer::Nothing => |_| Ruling::allow(),
        GateAnswer::Note => |_| Ruling::note(finding()),
        GateAnswer::Ask(RequiredLift::Endowment) => |_| Ruling::ask(Lift::Endowment, finding()),
        GateAnswer::Ask(RequiredLift::Operator) => |_| Ruling::ask(Lift::Operator, finding()),
        GateAnswer::Ask(RequiredLift::Person) => |_| Ruling::ask(Lift::Permission, finding()),
        GateAnswer::Deny => |_| Ruling::deny(finding()),
    }
}

#[test]
fn every_combination_matches_the_reference() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let singles = GATE_ANSWERS.iter().map(|one| vec![*one]);
    let pairs = GATE_ANSWERS.iter().flat_map(|one| GATE_ANSWERS.iter().map(|two| vec![*one, *two]));
    let mut seen = [0; 3];
    let mut wrong = Vec::new();
    for gates in [vec![]].into_iter().chain(singles).chain(pairs) {
        for effect in EFFECTS {
            for who in CALLER_KINDS {
                for heard in FOREIGN_SOURCES {
                    for endowment in ENDOWMENTS {
                        for policy in POLICIES {
                            let cell = Cell { gates: &gates, effect, who, heard, endowment, policy };
                            let (got, expected) = (cell.verdict(), cell.expected());
                            seen[expected.0 as usize] += 1;
                            if got != expected {
                                wrong.push(format!("{cell:?}: {got:?}, not {expected:?}"));
                            }
                        }
                    }
                }
            }
        }
    }
    std::panic::set_hook(hook);
    assert_eq!(seen.iter().sum::<usize>(), 43 * 3 * 3 * 3 * 3 * POLICIES.len());
    assert!(seen.iter().all(|count| *count > 500), "each decision is there often: {seen:?}");
    assert!(wrong.is_empty(), "{} wrong, such as {}", wrong.len(), wrong[0]);
}

#[test]
fn proposal_cannot_claim_a_person_as_caller() {
    // A person's own commands are applied unchanged and pass no gate. So no proposal can name a person as its caller.
    let callers = [Caller::Model, Caller::Code];
    let words = callers.map(|caller| match caller {
        // For a new kind of caller, add its rows to the tables above.
        Caller::Model => "model",
        Caller::Code => "code",
    });
    assert_eq!(words.len(), DEFAULTS.len() - 1);
}
