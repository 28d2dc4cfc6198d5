//! The one trait behind which every model stands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::reply::Reply;
use crate::request::Request;

/// A model that answers requests. Blocking; call it from a thread of its own.
///
/// A provider itself retries failures that may pass. So each error that it returns deserves a report.
pub trait Provider: Send + Sync {
    /// Returns the model reference, as the user writes it and a run stores it. Holds no secret.
    fn name(&self) -> String;

    /// Answers one request. `progress` is called from this thread, as often or rarely as the provider likes.
    ///
    /// # Errors
    /// [`ModelError`]; [`ModelError::help`] names the remedy.
    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError>;
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        (**self).complete(request, progress)
    }
}

/// The progress to show while a model works. Any of it may be lost, and after a retry text comes again from the start
/// (announced by [`Progress::Restarted`]). Only the [`AnswerCallback`] counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The local model is being loaded.
    Loading,
    /// So much of the prompt has been read.
    Prompt {
        /// Tokens read.
        done: u64,
        /// Tokens in all.
        total: u64,
    },
    /// More text of the answer.
    Text(String),
    /// The try so far failed and is repeated: forget its text.
    Restarted,
}
