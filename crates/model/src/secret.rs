//! Keys, which can be used but not printed.

use std::fmt;

/// A key or token, which cannot be printed. `Debug` shows only the name of the type.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the secret of a value that was read from the environment or a vault.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value itself, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns `text` with every occurrence of the key redacted, for messages that a server wrote. A key of less than
    /// 4 bytes is not searched for.
    #[must_use]
    pub(crate) fn scrub(&self, text: &str) -> String {
        if self.0.len() < 4 { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A function that returns keys and settings by the name of an environment variable. The caller decides where they
/// really come from.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<Secret>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_secret() {
        let secret = Secret::new("sk-verysecret");
        assert_eq!(format!("{secret:?}"), "Secret");
        assert_eq!(secret.scrub("bad key sk-verysecret!"), "bad key [key]!");
    }
}
