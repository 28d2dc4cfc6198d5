//! The heading above the grants of an answer.

/// The heading above all that an answer gives away for longer than one call. Cards of every kind have it, in the terminal
/// and on pages.
pub const GRANT_HEADING: &str = "What you would grant:";
