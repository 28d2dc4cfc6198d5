//! The pages, one file each.

mod answered;
mod approval;
mod grants;
mod inbox;
pub mod login;
mod message;
mod runs;
mod sessions;
mod why;

use crate::serve::Show;

/// Every address: its path, what shows it, and what takes what its form sends.
pub const ROUTES: &[(&str, Option<Show>, Option<Show>)] = &[
    ("/", Some(inbox::show), None),
    ("/m/{number}", Some(message::show), None),
    ("/m/{number}/answer", None, Some(answered::answer)),
    ("/m/{number}/dismiss", None, Some(answered::dismiss)),
    ("/runs", Some(runs::list::show), None),
    ("/r/{run}", Some(runs::page::show), None),
    ("/r/{run}/step/{step}", Some(runs::step::show), None),
    ("/r/{run}/cancel", None, Some(runs::act::cancel)),
    ("/r/{run}/resume", None, Some(runs::act::resume)),
    ("/r/{run}/undo", Some(runs::undo::show), Some(runs::undo::undo)),
    ("/r/{run}/diff", Some(runs::diff::show), Some(runs::diff::act)),
    ("/why", Some(why::show), None),
    ("/grants", Some(grants::show), None),
    ("/grants/{grant}", Some(grants::one::show), Some(grants::one::revoke)),
    ("/sessions", Some(sessions::show), Some(sessions::revoke)),
    ("/logout", None, Some(sessions::leave)),
];
