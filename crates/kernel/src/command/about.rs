//! The subject of a user's command. The command's message answers the message that it is about, so that both are
//! found together.

use serde::{Deserialize, Serialize};

use crate::id::{GrantNumber, MessageNumber, RunNumber};

use super::{Act, Cancel, GrantAct, MailAct};

/// The subject of a command, by the numbers that the user sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
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

impl About {
    /// Returns a message.
    pub fn message(number: MessageNumber) -> About {
        About { message: Some(number), ..About::default() }
    }

    /// Returns a run.
    pub fn run(number: RunNumber) -> About {
        About { run: Some(number), ..About::default() }
    }

    /// Returns a grant.
    pub fn grant(number: GrantNumber) -> About {
        About { grant: Some(number), ..About::default() }
    }

    /// Returns the subject of an act; for most acts it is empty.
    pub fn of(act: &Act) -> About {
        match act {
            Act::Mail(act) => About::of_mail(act),
            Act::Answer(answer) => About::message(answer.message),
            Act::Grant(GrantAct::Revoke { grant }) => About::grant(*grant),
            Act::Cancel { what: Cancel::Run { run }, .. }
            | Act::Undo { run, .. }
            | Act::Apply { run, .. }
            | Act::Discard { run, .. }
            | Act::Forget { run }
            | Act::Say { run, .. } => About::run(*run),
            Act::Resume { named, .. } => About { run: *named, ..About::default() },
            Act::Refused { about, .. } => *about,
            _ => About::default(),
        }
    }

    /// Returns the subject of a mail act.
    pub fn of_mail(act: &MailAct) -> About {
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
            | MailAct::EndowWorker { number, .. } => About::message(*number),
            MailAct::Send(send) => About { message: send.reply_to, ..About::default() },
            MailAct::AsSeen { act, .. } => About::of_mail(act),
            MailAct::ResolveWith { .. }
            | MailAct::Request { .. }
            | MailAct::DismissAll
            | MailAct::Define(_)
            | MailAct::Form(_)
            | MailAct::RequestEvaluation { .. }
            | MailAct::Evaluate { .. }
            | MailAct::Make { .. } => About::default(),
        }
    }
}
