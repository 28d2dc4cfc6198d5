//! OpenAI's chat completions, which OpenAI, llama.cpp, vLLM and many others speak.

mod stream;
mod wire;

pub(super) use stream::Stream;
pub(super) use wire::body;
