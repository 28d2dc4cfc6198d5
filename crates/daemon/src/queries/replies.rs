//! The direct and indirect answers to a message.

use std::collections::BTreeSet;

use kernel::query::{self, MailboxEntry};
use kernel::{MessageNumber, Number};

use super::runs;
use crate::queries::mail;
use crate::queries::threads::Threads;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// Returns the newest direct and indirect answers to a message with a number less than `below`, oldest first. Also
/// returns the number of older answers.
///
/// # Errors
/// When there is no such message.
pub fn replies(
    daemon: &HostDaemon,
    message: MessageNumber,
    below: Option<MessageNumber>,
    limit: usize,
) -> Result<(Vec<MailboxEntry>, usize), Failure> {
    let letter = |number| daemon.read(|txn| query::message(txn, &daemon.host, number));
    let first = mail::message(daemon, daemon.host, message)?.mail.envelope.id;
    let (is_first, mut later) = daemon.extensions.get(Threads::default).after(daemon, &first, message)?;
    if !is_first {
        // In a thread that began with another message, only the replies to this one count.
        let mut ids: BTreeSet<Number> = BTreeSet::from([first]);
        let mut found = Vec::new();
        for number in later {
            let Some(mail) = letter(number)?.map(|letter| letter.mail) else { continue };
            if mail.envelope.reply_to.is_some_and(|id| ids.contains(&id)) {
                ids.insert(mail.envelope.id);
                found.push(number);
            }
        }
        later = found;
    }
    later.retain(|number| below.is_none_or(|below| *number < below));
    let mut letters = Vec::new();
    let mut earlier = later.len();
    for number in later.into_iter().rev() {
        if letters.len() == limit.min(runs::MAX_ROWS) {
            break;
        }
        earlier -= 1;
        letters.extend(letter(number)?.filter(|letter| letter.message.is_some()));
    }
    letters.reverse();
    Ok((letters, earlier))
}
