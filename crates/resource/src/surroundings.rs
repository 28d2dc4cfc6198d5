//! The facts of a machine that the reading of a typed resource needs.

/// Answers questions about the machine on which a resource was typed.
pub trait Surroundings {
    /// Returns whether something lies at the path.
    fn exists(&self, path: &str) -> bool;

    /// Returns the path from the root, without following links.
    ///
    /// # Errors
    /// When there is none in UTF-8.
    fn absolute(&self, path: &str) -> Result<String, SpecError>;

    /// Returns the path of the program that a shell would start under this name.
    ///
    /// # Errors
    /// When there is none.
    fn program(&self, name: &str) -> Result<String, SpecError>;

    /// Returns the reference of a model, or of several, with paths from the root.
    ///
    /// # Errors
    /// When it is no reference of a model and no name that the user could have given to one.
    fn model(&self, reference: &str) -> Result<String, SpecError>;

    /// Returns whether the setting of a variable looks like a secret.
    fn looks_secret(&self, variable: &str, value: &str) -> bool;
}

/// The reason why a text is no resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// The fault of the text.
    pub message: String,
    /// The way out: the text to write.
    pub help: String,
    /// Whether it names something that is not there, and is well written.
    pub is_missing: bool,
}

impl SpecError {
    /// Returns the error for a text that is not written as it should be.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> SpecError {
        SpecError { message: message.into(), help: help.into(), is_missing: false }
    }

    /// Returns the error for a text that names something that is not there.
    pub fn missing(message: impl Into<String>, help: impl Into<String>) -> SpecError {
        SpecError { is_missing: true, ..SpecError::new(message, help) }
    }
}
