//! Language models behind one blocking trait, [`Provider`].
//!
//! | kind | module | model |
//! | --- | --- | --- |
//! | `anthropic:`, `openai:`, `openai-responses:`, `gemini:`, `ollama:`, `compat:` | [`served`] | a server, over one of five wire formats |
//! | `local` | [`local`] | an embedded model in a child process, its output held to a schema |
//! | `scripted:` | [`scripted`] | answers written down beforehand |
//! | `replay:` | [`replay`] | answers recorded earlier |
//!
//! A [`ModelRef`] names a model without any secret, an [`Opener`] turns it into a provider, and [`detect()`] finds
//! the available models. A model is asked one [`Request`] at a time and keeps nothing in between. So a run can
//! continue with the same request after any crash. A reply is only ever a proposal. The caller checks whether a call
//! names a known tool, and whether an answer has the requested form.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "files here are weights, scripts and recordings whose paths the user chose, and times are only reported"
)]

mod canonical;
mod cascade;
mod detect;
mod error;
mod formats;
mod limits;
pub mod local;
mod media;
mod opener;
mod price;
mod provider;
mod reference;
pub mod replay;
mod reply;
mod request;
mod retry;
pub mod scripted;
mod secret;
pub mod served;
mod vendor;
pub mod weights;

pub use cascade::{PenaltyBox, parse_list};
pub use detect::{DetectedModel, PORT_VARIABLE, detect, survey};
pub use error::ModelError;
pub use limits::ModelLimits;
pub use media::{Media, MediaKind, MediaSupport};
pub use opener::Opener;
pub use price::{LongContextPrice, Price};
pub use provider::{Progress, Provider};
pub use reference::{ModelRef, ReferenceError};
pub use reply::{MalformedCall, Reply, Stop, Usage};
pub use request::{Call, Cancel, MAX_ANSWER_BYTES, Message, Request, Tool};
pub use retry::Retry;
pub use secret::{Lookup, Secret};
pub use vendor::Vendor;
