//! Anthropic's Messages, which llama.cpp and others speak as well.

mod stream;
mod wire;

pub(super) use stream::Stream;
pub(super) use wire::body;

/// The tool whose arguments are the answer, where a server is held to a form by forcing a call.
const ANSWER: &str = "final_answer";
