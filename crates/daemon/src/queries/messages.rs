//! Lists of messages, for all clients: the terminal, the web pages and other programs.

use kernel::query::MailboxEntry;
use kernel::{FormulaId, MessageNumber, query};

use super::{message_line, replies, runs, threads};
use crate::queries::threads::Threads;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::messages::{MessageFilter, Order, PageBounds};
use control::protocol::Response;
use control::threads::Line;

/// Lists a page of an agent's messages. Threads and answers are always those of the daemon's own host.
///
/// # Errors
/// When the store cannot be read, or a message that the filter names does not exist.
pub fn list_messages(
    daemon: &HostDaemon,
    agent: FormulaId,
    filter: MessageFilter,
    page: PageBounds,
) -> Result<Response, Failure> {
    let (daemon, limit) = (daemon, page.bounded_limit());
    Ok(match filter {
        MessageFilter::Mailbox { open, order: Order::OldestFirst } => {
            let from = page.after.map_or(MessageNumber(0), MessageNumber::successor);
            let letters = daemon.read(|txn| query::inbox_page(txn, &agent, open, from, limit))?;
            Response::Mailbox(lines(daemon, agent, letters)?)
        }
        MessageFilter::Mailbox { open, order: Order::NewestFirst } => {
            let letters = runs::mailbox_page(daemon, agent, open, page.after, limit)?;
            Response::Mailbox(lines(daemon, agent, letters)?)
        }
        MessageFilter::Threads { kind, standing, within } => {
            let only = threads::ThreadFilter { kind: kind.as_deref(), status: standing };
            Response::Threads(Box::new(
                daemon.extensions.get(Threads::default).page(daemon, only, within, page.after, limit)?,
            ))
        }
        MessageFilter::Answers { message } => {
            let (letters, earlier) = replies::replies(daemon, message, page.after, limit)?;
            Response::Answers { letters, earlier }
        }
    })
}

/// Returns the messages of an agent's mailbox as lines of a list.
fn lines(daemon: &HostDaemon, agent: FormulaId, letters: Vec<MailboxEntry>) -> Result<Vec<Line>, Failure> {
    let view = daemon.view(agent);
    letters.into_iter().map(|letter| message_line::line_for(daemon, &view, letter)).collect()
}
