//! Troubles: the reasons why a run cannot continue, each with a way to fix the problem.

use kernel::run::Trouble;
use model::ModelError;
use passable::Untrusted;

/// Returns a trouble. The `code` is stable, and the `message` may quote foreign text.
pub(crate) fn trouble(code: &str, message: impl Into<String>, help: impl Into<String>) -> Trouble {
    Trouble { code: code.to_owned(), message: Untrusted::new(message), help: help.into() }
}

/// Returns whether the same request can never succeed, so that the run ends. After other errors, the run waits until
/// a person has fixed the problem.
pub(crate) fn is_final(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::ContextTooLong { .. }
            | ModelError::SchemaRefused { .. }
            | ModelError::TooLarge { .. }
            | ModelError::Filtered
            | ModelError::Refused { .. }
    )
}

/// Returns the trouble for a run whose model failed with this error.
pub(crate) fn of_model(error: &ModelError) -> Trouble {
    let code = if error.is_transient() { "model/busy" } else { "model/failed" };
    trouble(code, error.to_string(), format!("{}; then `almoner resume`", error.help()))
}

/// Returns the trouble for a fault of the store's content or of this program, never of the user.
pub(crate) fn internal(message: impl Into<String>) -> Trouble {
    trouble("internal/broken", message, "this is a bug; `almoner trace` shows how far the run came")
}
