//! The text form of everything that a user sees in a terminal. Foreign text is always escaped here.

pub mod approval_count;
pub mod batch;
pub mod batch_card;
pub mod budget_request;
pub mod card;
pub mod code;
pub mod difference;
pub mod document_notes;
pub mod endowment_summary;
pub mod event;
pub mod giver;
pub mod journal;
pub mod json;
pub mod lines;
pub mod live;
pub mod message_view;
pub mod money;
pub mod object_view;
pub mod outcome;
pub mod progress;
pub mod reason;
pub mod stats;
pub mod task;
pub mod timeline;
pub mod value;
pub mod waiting;
