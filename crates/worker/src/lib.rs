//! Workers: programs that consist of a prompt. [`definition`] reads worker files. [`drive()`] takes a run of a worker
//! from the end of its journal to the point where it must wait.
//!
//! The modules:
//!
//! - [`definition`]: the content of a worker file
//! - [`fold`]: the state of a run, from its journal
//! - `slot_binding`: the targets of the slots, and the tools that are offered to the model for them
//! - `conversation`: the request to the model
//! - `answer`: the check of the model's final answer
//! - `nesting_limit`: the refusal of calls that nest too deep to be kept
//! - `judging`: the way from a call to a proposal with a verdict
//! - `steps`: the steps that the worker file makes without a model
//! - `workshop`: the workers that a model makes, and the slots that it may give to them
//! - `drive`: the next step of a run
//! - `expand`: the expanded form of a worker file
#![forbid(unsafe_code)]

mod alarm;
mod answer;
mod budget;
mod conversation;
pub mod definition;
mod drive;
mod driver_port;
mod expand;
pub mod fold;
mod judging;
mod kernel_effects;
mod mail;
mod memory;
mod model_worker;
mod nesting_limit;
mod preflight;
mod program;
mod question;
mod redaction;
mod slot_binding;
mod spill;
mod steps;
mod trouble;
mod workshop;

pub use conversation::first_prompt;
pub use drive::drive;
pub use driver_port::DriverPort;
pub use expand::expand;
pub use kernel::run::PROJECT_POLICY;
pub use memory::Memory;
pub use model_worker::model_worker;
pub use slot_binding::any_worker;
pub use workshop::{CREATE, SLOT as WORKSHOP, interface as workshop, open_slots};
