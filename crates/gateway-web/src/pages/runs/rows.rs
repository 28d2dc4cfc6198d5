//! A journal condensed into rows: one for each request to a model, one for each call, and one for each other step.

use std::collections::BTreeMap;

use kernel::proposal::{Finding, Proposal, Verdict};
use kernel::run::{Completion, Entry, Step, Usage};
use kernel::{MessageNumber, RunNumber};

/// A row of a journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Row<'a> {
    /// A request to a model.
    Turn(Turn<'a>),
    /// A call that was proposed.
    Call(Box<Call<'a>>),
    /// Any other step.
    Other(&'a Step),
}

/// A request to a model, with its reply if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn<'a> {
    /// The step that prompted the model.
    pub asked: &'a Step,
    /// The model that replied, or else the one that was prompted.
    pub model: &'a str,
    /// The step of the reply, with its cost.
    pub replied: Option<(&'a Step, Usage)>,
    /// The rejected replies, which were neither a valid proposal nor a fitting answer. Each has its step and its
    /// findings.
    pub rejected: Vec<(&'a Step, &'a [Finding])>,
}

/// A call, and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// The step that proposed the call.
    pub proposed: &'a Step,
    /// The call.
    pub proposal: &'a Proposal,
    /// The last verdict of the gates.
    pub verdict: Option<&'a Verdict>,
    /// The message that asks the user about the call.
    pub message: Option<MessageNumber>,
    /// The user's answer: whether the call was approved.
    pub approved: Option<bool>,
    /// The message that asks whether the call happened, after a crash interrupted it.
    pub doubt: Option<MessageNumber>,
    /// Whether the user confirmed that the call happened.
    pub vouched: bool,
    /// The time at which the call began.
    pub begun_ms: Option<i64>,
    /// The time until which the call waits.
    pub until_ms: Option<i64>,
    /// The run that the call started.
    pub child: Option<RunNumber>,
    /// The step that completed the call, and the completion.
    pub completed: Option<(&'a Step, &'a Completion)>,
}

impl Call<'_> {
    /// Returns the message that waits for the user's answer, if there is one.
    pub fn asked(&self) -> Option<MessageNumber> {
        match self.doubt {
            Some(message) => (!self.vouched).then_some(message),
            None => self.message.filter(|_| self.approved.is_none()),
        }
    }

    /// Returns the duration of a completed call, in milliseconds.
    pub fn took_ms(&self) -> Option<i64> {
        self.completed.map(|(step, _)| step.at_ms - self.begun_ms.unwrap_or(self.proposed.at_ms))
    }
}

/// Returns the rows of a journal, in the order in which they began.
pub fn rows(steps: &[Step]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    // The row of each prompt and of each proposal.
    let mut at: BTreeMap<u64, usize> = BTreeMap::new();
    let mut last_turn = None;
    for step in steps {
        if let Some(of) = about(&step.entry)
            && let Some(Row::Call(call)) = at.get(&of).and_then(|row| rows.get_mut(*row))
        {
            add(call, step);
            continue;
        }
        match &step.entry {
            Entry::Prompted { model, .. } => {
                at.insert(step.number, rows.len());
                last_turn = Some(rows.len());
                rows.push(Row::Turn(Turn { asked: step, model, replied: None, rejected: vec![] }));
            }
            Entry::Replied { prompted, usage, model, .. } => {
                match at.get(prompted).and_then(|row| rows.get_mut(*row)) {
                    Some(Row::Turn(turn)) => {
                        turn.replied = Some((step, *usage));
                        turn.model = model.as_deref().unwrap_or(turn.model);
                    }
                    _ => rows.push(Row::Other(step)),
                }
            }
            Entry::Rejected { findings, .. } => match last_turn.and_then(|row: usize| rows.get_mut(row)) {
                Some(Row::Turn(turn)) => turn.rejected.push((step, findings)),
                _ => rows.push(Row::Other(step)),
            },
            Entry::Proposed { proposal, .. } => {
                at.insert(step.number, rows.len());
                rows.push(Row::Call(Box::new(Call {
                    proposed: step,
                    proposal,
                    verdict: None,
                    message: None,
                    approved: None,
                    doubt: None,
                    vouched: false,
                    begun_ms: None,
                    until_ms: None,
                    child: None,
                    completed: None,
                })));
            }
            _ => rows.push(Row::Other(step)),
        }
    }
    rows
}

/// Returns the number of the proposal that a step belongs to, if any.
fn about(entry: &Entry) -> Option<u64> {
    match entry {
        Entry::Judged { proposal, .. }
        | Entry::Answered { proposal, .. }
        | Entry::EffectStarted { proposal, .. }
        | Entry::Slept { proposal, .. }
        | Entry::Questioned { proposal, .. }
        | Entry::OutcomeUnknown { proposal, .. }
        | Entry::OutcomeConfirmed { proposal, .. }
        | Entry::Completed { proposal, .. }
        | Entry::Spilled { proposal, .. } => Some(*proposal),
        _ => None,
    }
}

fn add<'a>(call: &mut Call<'a>, step: &'a Step) {
    match &step.entry {
        Entry::Judged { verdict, message, .. } => {
            call.verdict = Some(verdict);
            call.message = message.or(call.message);
        }
        Entry::Answered { message, approved, .. } => {
            call.message = Some(*message);
            call.approved = Some(*approved);
        }
        Entry::EffectStarted { child, .. } => {
            call.begun_ms = Some(step.at_ms);
            call.child = *child;
        }
        Entry::Slept { until_ms, .. } => call.until_ms = Some(*until_ms),
        Entry::Questioned { message, .. } => call.message = Some(*message),
        Entry::OutcomeUnknown { message, .. } => {
            call.doubt = Some(*message);
            call.vouched = false;
        }
        Entry::OutcomeConfirmed { message, .. } => {
            call.doubt = Some(*message);
            call.vouched = true;
        }
        Entry::Completed { completion, .. } => call.completed = Some((step, completion)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use kernel::run::Run;

    use super::*;

    /// Returns two runs with their journals. The first called a worker, asked for a write, and waited a day for the
    /// answer; the second is the worker's.
    fn family() -> Vec<(Run, Vec<Step>)> {
        serde_json::from_str(include_str!("../../../../control/src/show/fixtures/family.json")).unwrap()
    }

    #[test]
    fn every_step_is_in_one_row() {
        for (run, steps) in family() {
            let rows = rows(&steps);
            assert!(rows.len() < steps.len(), "{}", run.number);
            let mut turns = 0;
            for row in &rows {
                match row {
                    Row::Turn(turn) => {
                        turns += 1;
                        let (replied, _) = turn.replied.expect("it was answered");
                        assert!(replied.number > turn.asked.number);
                    }
                    Row::Call(call) => {
                        assert!(call.verdict.is_some() && call.completed.is_some());
                        assert!(call.took_ms().is_some_and(|ms| ms >= 0));
                        // Every question was answered.
                        assert_eq!(call.message.is_some(), call.approved.is_some());
                    }
                    Row::Other(step) => assert_eq!(about(&step.entry), None, "{step:?}"),
                }
            }
            let asked = steps.iter().filter(|step| matches!(step.entry, Entry::Prompted { .. })).count();
            assert_eq!(turns, asked);
        }
    }

    #[test]
    fn steps_without_a_known_proposal_get_own_rows() {
        let (_, mut steps) = family().swap_remove(0);
        steps.retain(|step| !matches!(step.entry, Entry::Proposed { .. } | Entry::Prompted { .. }));
        assert!(rows(&steps).iter().all(|row| matches!(row, Row::Other(_))));
        assert_eq!(rows(&steps).len(), steps.len());
    }
}
