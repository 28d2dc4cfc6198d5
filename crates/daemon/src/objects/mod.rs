//! The objects of Endo's clients and of guest code, and the calls that they take.

pub mod batched_writes;
pub mod blob_upload;
pub mod convert;
pub mod file_calls;
pub mod file_worker;
pub mod gateway_login;
pub mod iterators;
pub mod object;
pub mod object_messages;
pub mod object_table;
pub mod perform;
pub mod promises;
pub mod timers;
pub mod tree_upload;
pub mod waiting_calls;
