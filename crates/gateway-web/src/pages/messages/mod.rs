//! The cards of messages, with one file for each kind, and the parts that cards share.

pub mod approval_context;
pub mod confirm;
pub mod definition;
pub mod evaluation;
pub mod field_spec;
pub mod form;
pub mod mail_quota;
pub mod message_page;
pub mod narrow;
pub mod notice;
pub mod refusals;
pub mod reply;
pub mod request;
pub mod step_up;
pub mod title;
pub mod withheld;
pub mod worker_preview;
