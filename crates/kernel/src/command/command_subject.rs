//! The subject of a user's command: a message, a run or a grant. The command is recorded as an answer to the message
//! in its subject, so that both are found together.

use serde::{Deserialize, Serialize};

use crate::id::{GrantNumber, MessageNumber, RunNumber};

use super::{Act, Cancel, GrantAct, MailAct};

/// The subject of a command, by the numbers that the user sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandSubject {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageNumber>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// The grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantNumber>,
}

impl CommandSubject {
    /// Returns a subject with a message.
    pub fn message(number: MessageNumber) -> CommandSubject {
        CommandSubject { message: Some(number), ..CommandSubject::default() }
    }

    /// Returns a subject with a run.
    pub fn run(number: RunNumber) -> CommandSubject {
        CommandSubject { run: Some(number), ..CommandSubject::default() }
    }

    /// Returns a subject with a grant.
    pub fn grant(number: GrantNumber) -> CommandSubject {
        CommandSubject { grant: Some(number), ..CommandSubject::default() }
    }

    /// Returns the subject of an act. For most acts, the subject is empty.
    pub fn from_act(act: &Act) -> CommandSubject {
        match act {
            Act::Mail(act) => CommandSubject::from_mail_act(act),
            Act::Answer(answer) => CommandSubject::message(answer.message),
            Act::AnswerAll(answer) => answer
                .approvals
                .first()
                .map_or_else(CommandSubject::default, |first| CommandSubject::message(first.message)),
            Act::Grant(GrantAct::Revoke { grant }) => CommandSubject::grant(*grant),
            Act::Cancel { what: Cancel::Run { run }, .. }
            | Act::Undo { run, .. }
            | Act::Apply { run, .. }
            | Act::Discard { run, .. }
            | Act::Forget { run }
            | Act::Say { run, .. } => CommandSubject::run(*run),
            Act::Resume { named, .. } => CommandSubject { run: *named, ..CommandSubject::default() },
            Act::Refused { about, .. } => *about,
            _ => CommandSubject::default(),
        }
    }

    /// Returns the subject of a mail act.
    pub fn from_mail_act(act: &MailAct) -> CommandSubject {
        match act {
            MailAct::Reply { number, .. }
            | MailAct::SendValue { number, .. }
            | MailAct::Resolve { number, .. }
            | MailAct::Give { number, .. }
            | MailAct::Reject { number, .. }
            | MailAct::Adopt { number, .. }
            | MailAct::Dismiss { number }
            | MailAct::Edit { number, .. }
            | MailAct::Submit { number, .. }
            | MailAct::Grant { number, .. }
            | MailAct::EndowCode { number, .. }
            | MailAct::EndowWorker { number, .. } => CommandSubject::message(*number),
            MailAct::Send(send) => CommandSubject { message: send.reply_to, ..CommandSubject::default() },
            MailAct::IfUnchanged { act, .. } => CommandSubject::from_mail_act(act),
            MailAct::ResolveWith { .. }
            | MailAct::Request { .. }
            | MailAct::DismissAll
            | MailAct::Define(_)
            | MailAct::Form(_)
            | MailAct::RequestEvaluation { .. }
            | MailAct::Evaluate { .. }
            | MailAct::Make { .. } => CommandSubject::default(),
        }
    }
}
