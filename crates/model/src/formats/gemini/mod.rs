//! Gemini's `generateContent` format.

mod stream;
mod wire;

pub(super) use stream::Stream;
pub(super) use wire::{body, url};
