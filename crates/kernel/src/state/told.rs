//! A person's command, as it is told of.

use crate::command::{Fault, Said};
use crate::id::{FormulaId, GrantNumber, HostRun, MessageNumber, Number, RunNumber};
use crate::message::Body;

use super::State;

/// What a command is about, as its message says it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subject {
    /// The message that it answers.
    pub(crate) answers: Option<Number>,
    /// The run.
    pub(crate) run: Option<RunNumber>,
    /// The grant.
    pub(crate) grant: Option<GrantNumber>,
}

/// What a command has ended.
pub(crate) enum Ended {
    /// A grant.
    Grant(FormulaId),
    /// A run.
    Run(HostRun),
}

impl State<'_> {
    /// Keeps a person's command in the mailbox of the actor for whom it was given, and returns its number. What comes of
    /// it is noted there when it has been applied. `made` is the run that it starts.
    pub(crate) fn tell(
        &mut self,
        said: Said,
        about: Subject,
        made: Option<FormulaId>,
    ) -> Result<MessageNumber, Fault> {
        let Subject { answers, run, grant } = about;
        let body = Body::Command { verb: said.verb, text: said.text, run, made, grant };
        let provenance = self.said()?;
        let number = self.deliver(body, answers, false, provenance)?;
        self.told = Some(number);
        Ok(number)
    }
}
