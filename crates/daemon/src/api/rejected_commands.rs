//! Commands that were refused. The transcript records each that concerns a message, a run or a grant, with the
//! reason.

use kernel::FormulaId;
use kernel::command::{Act, Cancel, CommandSubject, MailAct, UserCommand};
use passable::Untrusted;

use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Request};

/// A command of a user, with its subject.
pub struct RejectedCommand {
    command: UserCommand,
    subject: CommandSubject,
}

impl RejectedCommand {
    /// Returns the command of a request. Returns `None` if the request changes nothing, or has no text for the
    /// transcript.
    pub fn from_request(request: &Request) -> Option<RejectedCommand> {
        let given = |verb: &str, text: &Untrusted, about| {
            let said = UserCommand { verb: verb.to_owned(), text: text.clone() };
            Some(RejectedCommand { command: said, subject: about })
        };
        match request {
            Request::Act { act, .. } if is_dry_run(act) || is_dismissal(act) => None,
            Request::Act { said: Some(said), act } => {
                Some(RejectedCommand { command: said.clone(), subject: act_subject(act) })
            }
            Request::Run(run) if !run.spec.dry_run => given("run", &run.text, CommandSubject::default()),
            Request::Approve { text, message, .. } => {
                given("approve", text, CommandSubject::message(*message))
            }
            Request::Deny { text, message, .. } => given("deny", text, CommandSubject::message(*message)),
            Request::AnswerAll { text, approvals, denied } => {
                let verb = if denied.is_some() { "deny" } else { "approve" };
                let first = approvals.first()?;
                given(verb, text, CommandSubject::message(first.message))
            }
            Request::ConfirmOutcome { text, message, .. } => {
                given("outcome", text, CommandSubject::message(*message))
            }
            Request::Say { text, run, dry_run: false, .. } => given("chat", text, CommandSubject::run(*run)),
            Request::Undo { text, run, dry_run: false, .. } => given("undo", text, CommandSubject::run(*run)),
            Request::Apply { text, run, .. } => given("apply", text, CommandSubject::run(*run)),
            Request::Discard { text, run, .. } => given("discard", text, CommandSubject::run(*run)),
            Request::Forget { text, run } => given("forget", text, CommandSubject::run(*run)),
            Request::Resume { text, run } => {
                given("resume", text, CommandSubject { run: *run, ..CommandSubject::default() })
            }
            _ => None,
        }
    }

    /// Records the refused command in the mailbox of its agent, if it concerns a message, a run or a grant. A command
    /// that starts something new, or is malformed, is only reported to its sender. A failure of the store is no
    /// refusal.
    pub fn record(self, daemon: &HostDaemon, agent: FormulaId, failure: &Failure) {
        if self.command.text.raw().is_empty()
            || self.subject == CommandSubject::default()
            || !matches!(failure.exit, Exit::NotFound | Exit::Denied | Exit::Conflict)
        {
            return;
        }
        let act = Act::Refused { about: self.subject, why: failure.message.clone() };
        // The client gets the refusal as its response, even if the record fails.
        let _ = daemon.apply_as(agent, Some(self.command), act);
    }
}

/// Returns whether an act dismisses messages. Dismissals are never recorded, whether they succeed or not.
fn is_dismissal(act: &AgentAct) -> bool {
    matches!(act, AgentAct::Mail { act } if matches!(**act, MailAct::Dismiss { .. } | MailAct::DismissAll))
}

fn is_dry_run(act: &AgentAct) -> bool {
    matches!(act, AgentAct::Endow { spec, .. } if spec.dry_run)
}

fn act_subject(act: &AgentAct) -> CommandSubject {
    match act {
        AgentAct::Mail { act } => CommandSubject::from_mail_act(act),
        AgentAct::Endow { number, .. }
        | AgentAct::Submit { number, .. }
        | AgentAct::Resolve { number, .. }
        | AgentAct::Define { edit: Some(number), .. } => CommandSubject::message(*number),
        AgentAct::Revoke { grant } => CommandSubject::grant(*grant),
        AgentAct::Cancel { what: Cancel::Run { run }, .. } => CommandSubject::run(*run),
        _ => CommandSubject::default(),
    }
}

#[cfg(test)]
mod tests {
    use kernel::{GrantNumber, MessageNumber, RunNumber};

    use super::*;

    #[test]
    fn rejected_command_is_attributed_to_its_subject() {
        let (message, run, grant) = (MessageNumber(3), RunNumber(2), GrantNumber(1));
        let text = || Untrusted::new("as typed");
        let act = |act| Request::Act {
            said: Some(UserCommand { verb: "do".to_owned(), text: text() }),
            act: Box::new(act),
        };
        let reason = text();
        for (request, expected) in [
            (act(AgentAct::Revoke { grant }), Some(CommandSubject::grant(grant))),
            (
                act(AgentAct::Cancel { what: Cancel::Run { run }, reason: reason.clone() }),
                Some(CommandSubject::run(run)),
            ),
            (
                act(AgentAct::Mail {
                    act: Box::new(MailAct::Reject { number: message, reason: reason.clone() }),
                }),
                Some(CommandSubject::message(message)),
            ),
            (
                act(AgentAct::Submit { number: message, values: Default::default() }),
                Some(CommandSubject::message(message)),
            ),
            (act(AgentAct::Mail { act: Box::new(MailAct::DismissAll) }), None),
            (
                Request::Deny { text: text(), message, entries: None, reason },
                Some(CommandSubject::message(message)),
            ),
            (Request::Resume { text: text(), run: Some(run) }, Some(CommandSubject::run(run))),
            (
                Request::Undo { text: text(), run, only: vec![], dry_run: false, gives_up: false },
                Some(CommandSubject::run(run)),
            ),
            (Request::Undo { text: text(), run, only: vec![], dry_run: true, gives_up: false }, None),
            (Request::Act { said: None, act: Box::new(AgentAct::Revoke { grant }) }, None),
            (Request::Status, None),
        ] {
            let given = RejectedCommand::from_request(&request)
                .map(|given| (given.subject, given.command.text.raw().to_owned()));
            assert_eq!(given, expected.map(|about| (about, "as typed".to_owned())), "{request:?}");
        }
    }
}
