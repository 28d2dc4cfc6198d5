//! The facts about a machine that are needed to read a typed resource.

/// A source of facts about the machine on which a resource was typed.
pub trait Surroundings {
    /// Returns whether a file or directory exists at the path.
    fn exists(&self, path: &str) -> bool;

    /// Returns the absolute path, without following links.
    ///
    /// # Errors
    /// When the absolute path is unknown or not UTF-8.
    fn absolute(&self, path: &str) -> Result<String, SpecError>;

    /// Returns the path of the program that a shell would start under a name.
    ///
    /// # Errors
    /// When there is no such program.
    fn program(&self, name: &str) -> Result<String, SpecError>;

    /// Returns the reference of one or several models, with absolute paths.
    ///
    /// # Errors
    /// When the text is neither the reference of a model nor a possible user's name for one.
    fn model(&self, reference: &str) -> Result<String, SpecError>;

    /// Returns whether the value of an environment variable looks like a secret.
    fn looks_secret(&self, variable: &str, value: &str) -> bool;
}

/// The reason why a text is no resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// The fault of the text.
    pub message: String,
    /// Advice on the text to write instead.
    pub help: String,
    /// Whether the text is well written, but names something that does not exist.
    pub is_missing: bool,
}

impl SpecError {
    /// Returns the error for a text that is not written correctly.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> SpecError {
        SpecError { message: message.into(), help: help.into(), is_missing: false }
    }

    /// Returns the error for a text that names something that does not exist.
    pub fn missing(message: impl Into<String>, help: impl Into<String>) -> SpecError {
        SpecError { is_missing: true, ..SpecError::new(message, help) }
    }
}
