//! Replacements for systems on which this crate cannot confine anything.

use crate::{Confinement, SandboxError};

/// Always fails, because this system is not supported.
///
/// # Errors
/// [`SandboxError::Unsupported`].
pub fn warden() -> Result<(), SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Always fails, because this system is not supported.
///
/// # Errors
/// [`SandboxError::Unsupported`].
pub fn confine_self(_: &Confinement) -> Result<(), SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Always fails, because this system is not supported.
///
/// # Errors
/// [`SandboxError::Unsupported`].
pub fn close_inherited_at_exec() -> Result<(), SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Always refuses.
///
/// # Errors
/// A text: there is nothing to try on this system.
pub fn attempt(_: &str, _: &[String]) -> Result<String, String> {
    Err("there is nothing to try on this system".to_owned())
}
