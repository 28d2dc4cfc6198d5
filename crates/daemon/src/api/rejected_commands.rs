//! Commands that were refused: the transcript keeps those that are about something, under that, with why.

use kernel::FormulaId;
use kernel::command::{About, Act, Cancel, MailAct, Said};
use passable::Untrusted;

use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Request};

/// A command as a person gave it.
pub struct Given {
    said: Said,
    about: About,
}

impl Given {
    /// Returns the command that a request is; `None` if it changes nothing, or says nothing for the transcript.
    pub fn of(request: &Request) -> Option<Given> {
        let given = |verb: &str, text: &Untrusted, about| {
            let said = Said { verb: verb.to_owned(), text: text.clone() };
            Some(Given { said, about })
        };
        match request {
            Request::Act { act, .. } if is_dry(act) || is_dismissal(act) => None,
            Request::Act { said: Some(said), act } => Some(Given { said: said.clone(), about: about(act) }),
            Request::Run(run) if !run.spec.dry_run => given("run", &run.text, About::default()),
            Request::Approve { text, message, .. } => given("approve", text, About::message(*message)),
            Request::Deny { text, message, .. } => given("deny", text, About::message(*message)),
            Request::Happened { text, message, .. } => given("happened", text, About::message(*message)),
            Request::Say { text, run, dry_run: false, .. } => given("chat", text, About::run(*run)),
            Request::Undo { text, run, dry_run: false, .. } => given("undo", text, About::run(*run)),
            Request::Apply { text, run, .. } => given("apply", text, About::run(*run)),
            Request::Discard { text, run, .. } => given("discard", text, About::run(*run)),
            Request::Forget { text, run } => given("forget", text, About::run(*run)),
            Request::Resume { text, run } => given("resume", text, About { run: *run, ..About::default() }),
            _ => None,
        }
    }

    /// Keeps the command in the mailbox of its agent, if it is about a message, a run or a grant. A command that
    /// begins something, does not fit or makes no sense is only reported where it was written. A failure of the store
    /// is no refusal.
    pub fn refused(self, daemon: &HostDaemon, agent: FormulaId, failure: &Failure) {
        if self.said.text.raw().is_empty()
            || self.about == About::default()
            || !matches!(failure.exit, Exit::NotFound | Exit::Denied | Exit::Conflict)
        {
            return;
        }
        let act = Act::Refused { about: self.about, why: failure.message.clone() };
        // The client hears of the refusal itself, even if the record fails.
        let _ = daemon.apply_as(agent, Some(self.said), act);
    }
}

/// Dismissals are told of nowhere, whether they are done or not.
fn is_dismissal(act: &AgentAct) -> bool {
    matches!(act, AgentAct::Mail { act } if matches!(**act, MailAct::Dismiss { .. } | MailAct::DismissAll))
}

fn is_dry(act: &AgentAct) -> bool {
    matches!(act, AgentAct::Endow { spec, .. } if spec.dry_run)
}

fn about(act: &AgentAct) -> About {
    match act {
        AgentAct::Mail { act } => About::of_mail(act),
        AgentAct::Endow { number, .. }
        | AgentAct::Submit { number, .. }
        | AgentAct::Resolve { number, .. }
        | AgentAct::Define { edit: Some(number), .. } => About::message(*number),
        AgentAct::Revoke { grant } => About::grant(*grant),
        AgentAct::Cancel { what: Cancel::Run { run }, .. } => About::run(*run),
        _ => About::default(),
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
            said: Some(Said { verb: "do".to_owned(), text: text() }),
            act: Box::new(act),
        };
        let reason = text();
        for (request, expected) in [
            (act(AgentAct::Revoke { grant }), Some(About::grant(grant))),
            (
                act(AgentAct::Cancel { what: Cancel::Run { run }, reason: reason.clone() }),
                Some(About::run(run)),
            ),
            (
                act(AgentAct::Mail {
                    act: Box::new(MailAct::Reject { number: message, reason: reason.clone() }),
                }),
                Some(About::message(message)),
            ),
            (
                act(AgentAct::Submit { number: message, values: Default::default() }),
                Some(About::message(message)),
            ),
            (act(AgentAct::Mail { act: Box::new(MailAct::DismissAll) }), None),
            (Request::Deny { text: text(), message, entries: None, reason }, Some(About::message(message))),
            (Request::Resume { text: text(), run: Some(run) }, Some(About::run(run))),
            (Request::Undo { text: text(), run, only: vec![], dry_run: false }, Some(About::run(run))),
            (Request::Undo { text: text(), run, only: vec![], dry_run: true }, None),
            (Request::Act { said: None, act: Box::new(AgentAct::Revoke { grant }) }, None),
            (Request::Status, None),
        ] {
            let given = Given::of(&request).map(|given| (given.about, given.said.text.raw().to_owned()));
            assert_eq!(given, expected.map(|about| (about, "as typed".to_owned())), "{request:?}");
        }
    }
}
