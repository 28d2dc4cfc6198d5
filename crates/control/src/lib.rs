//! The protocol between clients and the daemon, and the text form of the daemon's answers.
//!
//! Every client sends a [`protocol::Request`] on behalf of an agent. The daemon answers with a
//! [`protocol::Response`], or with an [`exit::Failure`] that has advice. `docs/control.md` describes the protocol for
//! the authors of clients. The only I/O of this crate is that of [`frame`], over the reader and writer of the caller.
#![forbid(unsafe_code)]

/// The build of this program. A client and a daemon compare their builds.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

mod agent_act;
mod answer_input;
pub mod ask;
pub mod audit_report;
pub mod backup_report;
pub mod binding;
mod blob_copy;
pub mod call;
pub mod examples;
pub mod exit;
pub mod folders;
pub mod frame;
pub mod frame_reading;
pub mod health_check;
pub mod inspect;
pub mod login;
mod look;
pub mod messages;
pub mod models;
pub mod narrow;
mod policy_report;
pub mod powers;
pub mod problem;
pub mod protocol;
pub mod run_line;
mod run_request;
#[cfg(feature = "schema")]
pub mod schema;
pub mod secret;
pub mod sent_request;
pub mod sessions;
pub mod settings_report;
pub mod show;
mod status;
pub mod talk;
pub mod threads;
pub mod title;
pub mod tools;
pub mod undo_report;
mod unknown_fields;
pub mod version;
pub mod view;
