//! Protection from panics in foreign parsers.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `parse`, and turns a panic into an error with its message. The parser must own its data or only read it, so
/// that no half-changed data is seen afterwards.
pub(crate) fn guarded<T>(parse: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(parse)).map_err(|payload| {
        payload
            .downcast_ref::<&str>()
            .map(|message| (*message).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown fault".to_owned())
    })
}
