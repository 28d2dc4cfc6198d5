//! Calls that wait for a person. The client gets its answer when the call was made, was refused, or has failed.

use switchboard::Ref;

use super::file_worker::TaskOutcome;
use super::object::Object;
use super::object_table::{Context, ObjectTable};
use crate::files::guest_files::WaitingCall;

/// The maximum number of calls of one client that may wait for a person.
const MAX_WAITING_CALLS: usize = 200;

/// A call that waits for a person.
pub struct BlockedCall {
    call: WaitingCall,
    reach: Object,
    answer: Ref,
    /// The outcome that answers the call once it was made.
    outcome: TaskOutcome,
}

impl ObjectTable {
    /// Notes a call that waits for a person. It is answered once it was made.
    pub(crate) fn wait_for(&mut self, asked: WaitingCall, reach: Object, answer: Ref, came: TaskOutcome) {
        self.waiting_calls.push(BlockedCall { call: asked, reach, answer, outcome: came });
    }

    /// Returns the waiting call that this promise answers, if there is one.
    pub(crate) fn waiting_call(&self, answer: Ref) -> Option<WaitingCall> {
        self.waiting_calls.iter().find(|waiting| waiting.answer == answer).map(|waiting| waiting.call)
    }

    /// Returns whether the maximum number of calls wait for a person.
    pub(crate) fn has_too_many_waiting(&self) -> bool {
        self.waiting_calls.len() >= MAX_WAITING_CALLS
    }

    /// Answers the calls that have ended.
    pub(crate) fn answer_waiting_calls(&mut self, context: &Context<'_>) {
        if self.waiting_calls.is_empty() {
            return;
        }
        for mut waiting in std::mem::take(&mut self.waiting_calls) {
            match waiting.call.poll(context.daemon) {
                Ok(None) => self.waiting_calls.push(waiting),
                Ok(Some(())) => {
                    let BlockedCall { reach, answer, outcome: came, .. } = waiting;
                    self.complete_task(context, reach, answer, Ok(came), None);
                }
                Err(failure) => {
                    self.complete_task(context, waiting.reach, waiting.answer, Err(failure), None)
                }
            }
        }
    }
}
