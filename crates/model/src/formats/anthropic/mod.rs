//! Anthropic's Messages format, which llama.cpp and other servers speak as well.

mod stream;
mod wire;

pub(super) use stream::Stream;
pub(super) use wire::{DEFAULT_ANSWER, body};

/// The tool whose arguments are the answer, if a server can enforce a form only by a forced call.
const ANSWER: &str = "final_answer";
