//! Repositories of git: looked at, and committed to.
//!
//! This side runs in a process of its own, confined to the directory of one repository ([`serve`]). It reads data of
//! strangers with a library in C. An [`Order`] comes in, a [`AnswerCallback`] goes out. The library runs no program, so no
//! hook, filter, text conversion, signature or monitor that a repository names is ever started. None of its parts
//! that speak to servers is built in. A setting that leads elsewhere is refused with a message before it is followed
//! ([`open`]). If a way was overlooked, the confinement holds.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "looks at the files of a working tree")]

mod add;
mod blame;
mod branch;
mod commit;
mod diff;
mod log;
mod open;
mod order;
mod part;
mod paths;
mod refusal;
mod serve;
mod show;
mod status;
mod switch;

pub use open::ENVIRONMENT;
pub use order::{Answer, Author, Call, DiffSides, Order, Reply, StatePin};
pub use part::MAX_PART_BYTES as MOST_TEXT;
pub use refusal::Refusal;
pub use serve::{MAX_REPLY, ORDERS, REPLIES, answer, serve};
