//! The commands of the user: the command that led to an effect, and the messages that this command answers.

use kernel::message::Body;
use kernel::query::{self, MailboxEntry};
use kernel::{FormulaId, MessageNumber};
use passable::{Quoting, quoting};

use super::{cause_of_run, load_run};
use crate::queries::names::name_or_kind;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::message_view as letters;
use control::show::reason::Reason;

/// The maximum number of messages in a followed chain of answers.
const MAX_CHAIN_LEN: usize = 16;

fn load_message(
    daemon: &HostDaemon,
    agent: &FormulaId,
    number: MessageNumber,
) -> Result<Option<MailboxEntry>, Failure> {
    daemon.read(|txn| query::message(txn, agent, number))
}

/// Adds the command or the request in one of the agent's messages to the reasons. Then adds the messages that the
/// command answers, back to the proposer or asker. Returns whether anything was added.
///
/// # Errors
/// When the store cannot be read.
pub fn command_reason(
    daemon: &HostDaemon,
    agent: &FormulaId,
    number: MessageNumber,
    reasons: &mut Vec<Reason>,
) -> Result<bool, Failure> {
    let Some(letter) = load_message(daemon, agent, number)? else { return Ok(false) };
    let what = format!("message {number}");
    match letter.body() {
        Some(Body::Command { text, .. }) => {
            reasons.push(Reason::new(what, Quoting::ours("you said: ").quote(text.raw())));
            answered_messages(daemon, agent, letter, reasons)?;
        }
        Some(body @ Body::Request { by: Some(_), .. }) => {
            reasons.push(Reason::new(what, Quoting::ours("you gave it: ").then(&summary(body))));
        }
        None => reasons.push(Reason::new(what, "was dismissed since: what it said is gone")),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Returns a summary of a message in one line, with the words of others quoted.
pub fn summary(body: &Body) -> Quoting {
    let letters::Summary { ours, theirs, more } = letters::summary_parts(body);
    Quoting::ours(ours).quote(theirs).and(letters::more_bytes(more))
}

/// Adds the chain of messages that a message answers. Each is older than the one that answers it.
///
/// # Errors
/// When the store cannot be read.
pub fn answered_messages(
    daemon: &HostDaemon,
    agent: &FormulaId,
    first: MailboxEntry,
    reasons: &mut Vec<Reason>,
) -> Result<(), Failure> {
    let mut at = first;
    for _ in 0..MAX_CHAIN_LEN {
        let Some(id) = at.mail.envelope.reply_to else { return Ok(()) };
        let Some(number) = daemon.read(|txn| query::number_of_message(txn, agent, &id))? else {
            return Ok(());
        };
        // A message that is already listed ends the chain.
        let what = format!("message {number}");
        if reasons.iter().any(|reason| reason.what == what) {
            return Ok(());
        }
        let Some(next) = load_message(daemon, agent, number)? else { return Ok(()) };
        reasons.push(Reason::new(what, describe_ask(daemon, agent, &next)?));
        if let Some(Body::Definition { by: Some(draft), .. }) = next.body() {
            return cause_of_run(daemon, &load_run(daemon, draft.run)?, reasons);
        }
        at = next;
    }
    Ok(())
}

/// Returns the sender and the purpose of a definition, a request or a similar message.
///
/// # Errors
/// When the store cannot be read.
pub fn describe_ask(
    daemon: &HostDaemon,
    agent: &FormulaId,
    letter: &MailboxEntry,
) -> Result<Quoting, Failure> {
    let Some(message) = &letter.message else {
        return Ok("was dismissed since: what it said is gone".into());
    };
    let view = daemon.view(*agent);
    // The description uses only the reader's own names.
    let who = daemon.query(|txn| name_or_kind(txn, &view, &message.from))?;
    Ok(match &message.body {
        Body::Command { text, .. } => Quoting::ours("you said: ").quote(text.raw()),
        Body::Definition { by: Some(draft), .. } => Quoting::ours(format!("{} proposed it", draft.run)),
        Body::Definition { .. } => quoting!("{} proposed it", who),
        Body::EvalRequest { .. } => quoting!("{} asked to run it", who),
        body @ (Body::Request { .. } | Body::Form { .. }) if body.run().is_none() => {
            quoting!("{} ", who).then(&summary(body))
        }
        Body::Package { run: None, .. } | Body::Value { .. } => {
            quoting!("{} sent it: ", who).then(&summary(&message.body))
        }
        body => summary(body),
    })
}
