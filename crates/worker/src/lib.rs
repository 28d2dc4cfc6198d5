//! Workers: programs that consist of a prompt. [`definition`] reads worker files. [`drive()`] takes a run of a worker
//! from the end of its journal to the point where it must wait.
//!
//! The modules:
//!
//! - [`definition`]: the content of a worker file
//! - [`fold`]: the state of a run, from its journal
//! - `slot_binding`: the targets of the slots, and the tools that are offered to the model for them
//! - `conversation`: the request to the model
//! - `window`: the shorter form of a conversation that has become too long for the model
//! - `history`: the older turns of such a conversation, as lines
//! - `reply_limit`: the number of tokens that a model may write in one reply
//! - `stored_request`: requests as the store keeps them
//! - `token_count`: the tokens that a run pays for
//! - `answer`: the check of the model's final answer
//! - `cut`: the findings about replies that end before the model was done
//! - `call_text`: the calls that a model writes into its answer as text
//! - `negative_answers`: the findings that answer a sound call
//! - `nesting_limit`: the refusal of calls that nest too deep to be kept
//! - `judging`: the way from a call to a proposal with a verdict
//! - `item_check`: the items of a batch that fail before a model is asked
//! - `steps`: the steps that the worker file makes without a model
//! - `sample_check`: the templates that fail with sample values
//! - `workshop`: the workers that a model makes, and the slots that it may give to them
//! - `drive`: the next step of a run
//! - `expand`: the expanded form of a worker file
#![forbid(unsafe_code)]

mod alarm;
mod answer;
mod budget;
mod call_text;
mod conversation;
mod cut;
pub mod definition;
mod drive;
mod driver_port;
mod expand;
pub mod fold;
mod history;
mod item_check;
mod judging;
mod kernel_effects;
mod mail;
mod memory;
mod model_worker;
mod negative_answers;
mod nesting_limit;
mod preflight;
mod program;
mod question;
mod readings;
mod redaction;
mod reply_limit;
mod sample_check;
mod slot_binding;
mod spill;
mod steps;
mod stored_reply;
mod stored_request;
mod token_count;
mod trouble;
mod waiting;
mod window;
mod workshop;

pub use conversation::first_prompt;
pub use drive::drive;
pub use driver_port::DriverPort;
pub use expand::expand;
pub use item_check::failing_items;
pub use kernel::run::PROJECT_POLICY;
pub use memory::Memory;
pub use model_worker::model_worker;
pub use negative_answers::are_answers;
pub use sample_check::{TemplateProblem, failing_templates};
pub use slot_binding::any_worker;
pub use stored_request::{StoredRequestError, read_request, request_json, request_parts};
pub use waiting::Waiting;
pub use workshop::{CREATE, SLOT as WORKSHOP, interface as workshop, open_slots};
