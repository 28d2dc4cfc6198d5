//! Ollama's own protocol. Unlike Ollama's imitation of OpenAI's protocol, it accepts the size of the context and a
//! schema.

mod stream;
mod wire;

pub(super) use stream::Stream;
pub(super) use wire::{DEFAULT_ANSWER, body};
