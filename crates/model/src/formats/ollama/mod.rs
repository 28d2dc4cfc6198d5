//! Ollama's own protocol: unlike its imitation of OpenAI's, it takes the size of the context and a schema.

mod stream;
mod wire;

pub(super) use stream::Stream;
pub(super) use wire::body;
