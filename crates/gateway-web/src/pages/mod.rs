//! The pages, one file each.

mod answered;
mod approval;
mod chat;
mod inbox;
pub mod login;
mod message;
mod sessions;

use crate::serve::Show;

/// Every address: its path, what shows it, and what takes what its form sends.
pub const ROUTES: &[(&str, Option<Show>, Option<Show>)] = &[
    ("/", Some(inbox::show), None),
    ("/m/{number}", Some(message::show), None),
    ("/m/{number}/answer", None, Some(answered::answer)),
    ("/m/{number}/dismiss", None, Some(answered::dismiss)),
    ("/chat", Some(chat::list), Some(chat::begin)),
    ("/chat/{run}", Some(chat::show), Some(chat::say)),
    ("/chat/{run}/end", None, Some(chat::end)),
    ("/sessions", Some(sessions::show), Some(sessions::revoke)),
    ("/logout", None, Some(sessions::leave)),
];
