//! Calls that wait for a person: the client's answer comes when the call was made, refused, or has failed.

use switchboard::Ref;

use super::file_worker::TaskOutcome;
use super::object::Object;
use super::object_table::{Context, ObjectTable};
use crate::files::guest_files::WaitingCall;

/// How many calls of one client wait for a person at most.
const MAX_WAITING_CALLS: usize = 200;

/// A call that waits.
pub struct BlockedCall {
    call: WaitingCall,
    reach: Object,
    answer: Ref,
    /// The answer once the call was made.
    outcome: TaskOutcome,
}

impl ObjectTable {
    /// Answers a call once a person has, and it was made.
    pub(crate) fn wait_for(&mut self, asked: WaitingCall, reach: Object, answer: Ref, came: TaskOutcome) {
        self.waiting_calls.push(BlockedCall { call: asked, reach, answer, outcome: came });
    }

    /// Returns the call for the answer to which a person is asked, if it is one.
    pub(crate) fn waiting_call(&self, answer: Ref) -> Option<WaitingCall> {
        self.waiting_calls.iter().find(|waiting| waiting.answer == answer).map(|waiting| waiting.call)
    }

    /// Returns whether so many calls wait for a person that no more should be made.
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
