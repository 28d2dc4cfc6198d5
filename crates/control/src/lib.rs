//! The protocol between clients and the daemon, and the text form of the daemon's answers.
//!
//! Everything goes one way in: a [`protocol::Request`] on behalf of an agent, and a [`protocol::Response`] or a
//! [`exit::Failure`] with advice. `docs/control.md` describes it for those who write clients. The crate does no I/O but
//! that of [`frame`], over the reader and writer that the caller gives it.
#![forbid(unsafe_code)]

/// The build of this program. The client and the daemon compare theirs.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

mod agent_act;
mod answer_input;
pub mod ask;
pub mod audit_report;
pub mod binding;
mod blob_copy;
pub mod call;
pub mod exit;
pub mod frame;
pub mod health_check;
pub mod inspect;
mod look;
pub mod messages;
pub mod models;
pub mod narrow;
pub mod powers;
pub mod protocol;
mod run_request;
pub mod secret;
pub mod sessions;
pub mod show;
mod status;
pub mod talk;
pub mod threads;
pub mod tools;
pub mod undo_report;
pub mod view;
