//! The cards that ask for something else than a yes, and those that only tell; one file for each kind of message.

pub mod approval_context;
pub mod confirm;
pub mod definition;
pub mod evaluation;
pub mod field_spec;
pub mod form;
pub mod message_page;
pub mod narrow;
pub mod notice;
pub mod refusals;
pub mod reply;
pub mod request;
pub mod step_up;
pub mod withheld;
pub mod worker_preview;
