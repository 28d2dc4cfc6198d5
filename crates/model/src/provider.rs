//! The one trait that every model implements.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::limits::ModelLimits;
use crate::reply::Reply;
use crate::request::Request;

/// A model that answers requests. Its calls block, so they should be made from a thread of their own.
///
/// A provider itself retries failures that may pass. So each error that it returns deserves a report.
pub trait Provider: Send + Sync {
    /// Returns the model reference, as the user writes it and a run stores it. Holds no secret.
    fn name(&self) -> String;

    /// Returns the limits of the model, as far as they are known. For a request of many `bytes`, a provider may ask a
    /// server for them, once, that would not refuse the request.
    fn limits(&self, bytes: usize) -> ModelLimits {
        let _ = bytes;
        ModelLimits::default()
    }

    /// Answers one request. `progress` is called from this thread, as often or rarely as the provider likes.
    ///
    /// # Errors
    ///
    /// When the model gives no reply. [`ModelError::help`] names the remedy.
    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError>;
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn limits(&self, bytes: usize) -> ModelLimits {
        (**self).limits(bytes)
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        (**self).complete(request, progress)
    }
}

/// The progress to show while a model works. Any of it may be lost. After a retry, the text comes again from the
/// start, which [`Progress::Restarted`] announces. Only the [`Reply`] counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The local model is being loaded.
    Loading,
    /// A part of the prompt has been read.
    Prompt {
        /// The number of tokens that have been read.
        done: u64,
        /// The number of tokens in all.
        total: u64,
    },
    /// The server has asked to slow down, and the request waits.
    Waiting {
        /// The scheme, host and port of the server.
        server: String,
        /// The wait.
        wait: Duration,
    },
    /// More text of the answer.
    Text(String),
    /// The attempt failed and is repeated, so its text must be forgotten.
    Restarted,
}
