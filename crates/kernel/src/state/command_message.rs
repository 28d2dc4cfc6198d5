//! The message that records a user's command.

use crate::command::{Fault, UserCommand};
use crate::id::{FormulaId, GrantNumber, HostRun, MessageNumber, Number, RunNumber};
use crate::message::Body;

use super::State;

/// The subject of a command, as its message states it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageSubject {
    /// The message that the command answers.
    pub(crate) answers: Option<Number>,
    /// The run that the command is about.
    pub(crate) run: Option<RunNumber>,
    /// The grant that the command is about.
    pub(crate) grant: Option<GrantNumber>,
}

/// A grant or run that a command has ended.
pub(crate) enum EndedObject {
    /// A grant.
    Grant(FormulaId),
    /// A run.
    Run(HostRun),
}

impl State<'_> {
    /// Records a user's command as a message in the mailbox of the actor, and returns the number of the message. The
    /// outcome is added to the message when the command has been applied. `made` is the run that the command starts.
    pub(crate) fn record_command(
        &mut self,
        said: UserCommand,
        about: MessageSubject,
        made: Option<FormulaId>,
    ) -> Result<MessageNumber, Fault> {
        let MessageSubject { answers, run, grant } = about;
        let body = Body::Command { verb: said.verb, text: said.text, run, made, grant };
        let provenance = self.said()?;
        let number = self.deliver(body, answers, false, provenance)?;
        self.command_message = Some(number);
        Ok(number)
    }
}
