//! The pages, one file each.

mod answered;
mod approval;
mod asks;
mod inbox;
pub mod login;
mod message;
mod sessions;

use crate::serve::Show;

/// Every address: its path, what shows it, and what takes what its form sends.
pub const ROUTES: &[(&str, Option<Show>, Option<Show>)] = &[
    ("/", Some(inbox::show), None),
    ("/m/{number}", Some(message::show), Some(message::send)),
    ("/m/{number}/answer", None, Some(answered::answer)),
    ("/m/{number}/check", None, Some(asks::form::check)),
    ("/m/{number}/dismiss", None, Some(answered::dismiss)),
    ("/sessions", Some(sessions::show), Some(sessions::revoke)),
    ("/logout", None, Some(sessions::leave)),
];
