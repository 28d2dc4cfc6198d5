//! Calls that wait for a person: the client's answer comes when the call was made, refused, or has failed.

use switchboard::Ref;

use super::file_worker::Came;
use super::object::Object;
use super::table::{Context, Home};
use crate::files::guest_files::Asked;

/// How many calls of one client wait for a person at most.
const MOST: usize = 200;

/// A call that waits.
pub struct Waiting {
    asked: Asked,
    reach: Object,
    answer: Ref,
    /// The answer once the call was made.
    came: Came,
}

impl Home {
    /// Answers a call once a person has, and it was made.
    pub(crate) fn wait_for(&mut self, asked: Asked, reach: Object, answer: Ref, came: Came) {
        self.asked.push(Waiting { asked, reach, answer, came });
    }

    /// Returns the call for the answer to which a person is asked, if it is one.
    pub(crate) fn waits_for_person(&self, answer: Ref) -> Option<Asked> {
        self.asked.iter().find(|waiting| waiting.answer == answer).map(|waiting| waiting.asked)
    }

    /// Returns whether so many calls wait for a person that no more should be made.
    pub(crate) fn waits_too_long(&self) -> bool {
        self.asked.len() >= MOST
    }

    /// Answers the calls that have ended.
    pub(crate) fn look_at_asked(&mut self, context: &Context<'_>) {
        if self.asked.is_empty() {
            return;
        }
        for mut waiting in std::mem::take(&mut self.asked) {
            match waiting.asked.look(context.daemon) {
                Ok(None) => self.asked.push(waiting),
                Ok(Some(())) => {
                    let Waiting { reach, answer, came, .. } = waiting;
                    self.came(context, reach, answer, Ok(came), None);
                }
                Err(failure) => self.came(context, waiting.reach, waiting.answer, Err(failure), None),
            }
        }
    }
}
