//! Lists of messages, for all clients: the terminal, the web pages and other programs.

use kernel::{FormulaId, MessageNumber, query};

use super::{replies, runs, threads};
use crate::queries::threads::Threads;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::messages::{MessageFilter, Order, PageBounds};
use control::protocol::Response;

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
            Response::Mailbox(daemon.read(|txn| query::inbox_page(txn, &agent, open, from, limit))?)
        }
        MessageFilter::Mailbox { open, order: Order::NewestFirst } => {
            Response::Mailbox(runs::mailbox_page(daemon, agent, open, page.after, limit)?)
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
