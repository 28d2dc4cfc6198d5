//! Read-only queries about runs, mail, names, grants and their history.

pub mod applied_changes;
pub mod approval_history;
pub mod asked_calls;
pub mod audit;
pub mod batch_asks;
pub mod bindings;
pub mod changes;
pub mod code_journal;
pub mod endowments;
pub mod export;
pub mod inspect;
pub mod mail;
pub mod message_line;
pub mod messages;
pub mod methods;
pub mod names;
pub mod origin;
pub mod picks;
mod program_changes;
pub mod replies;
pub mod runs;
pub mod sent_requests;
pub mod stalled;
pub mod stats;
pub mod threads;
pub mod unbound_slots;
pub mod why;
