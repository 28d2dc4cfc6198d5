//! Runs: their start, the contents of their slots, and the decisions of their user about them.

pub mod answer_request;
pub mod approval_extras;
pub mod bind;
pub mod card;
pub mod chat_message;
pub mod chats;
pub mod documents;
pub mod driver_port;
pub mod engine;
pub mod forget;
pub mod logins;
pub mod narrow;
pub mod native_documents;
pub mod proposal;
pub mod retry;
pub mod server_queues;
pub mod spool_warnings;
pub mod staging;
pub mod start;
pub mod start_preview;
pub mod task;
pub mod undo;
pub mod uploads;
pub mod worker_preview;
pub mod worker_slots;
