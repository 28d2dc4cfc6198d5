//! Systems that this crate cannot confine anything on.

use crate::{Confinement, SandboxError};

/// Always refuses.
///
/// # Errors
/// [`SandboxError::Unsupported`].
pub fn warden() -> Result<(), SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Always refuses.
///
/// # Errors
/// [`SandboxError::Unsupported`].
pub fn confine_self(_: &Confinement) -> Result<(), SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Always refuses.
///
/// # Errors
/// [`SandboxError::Unsupported`].
pub fn close_inherited_at_exec() -> Result<(), SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Always refuses.
///
/// # Errors
/// That there is nothing to try on this system.
pub fn attempt(_: &str, _: &[String]) -> Result<String, String> {
    Err("there is nothing to try on this system".to_owned())
}
