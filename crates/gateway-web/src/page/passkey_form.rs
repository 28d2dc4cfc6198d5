//! The marks of the two forms for passkeys. The script fills in the field with the browser's answer.

/// The name of the field with the browser's answer to a challenge.
pub const CREDENTIAL: &str = "credential";

/// The mark of the form that logs in.
pub const LOGIN: &str = "login";

/// The mark of the form that adds a passkey.
pub const ADD: &str = "add";
