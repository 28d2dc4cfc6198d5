//! The reasons why there is no login.

/// The reason why a login fails. Words of a server are foreign text, and no token or code is ever part of an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OauthError {
    /// An address cannot be used.
    #[error("the address {url} cannot be used: {reason}")]
    Address {
        /// The address.
        url: String,
        /// The fault.
        reason: &'static str,
    },
    /// A server cannot be reached.
    #[error("{host} cannot be reached: {reason}")]
    Unreachable {
        /// The server.
        host: String,
        /// The reason.
        reason: String,
    },
    /// A server publishes nothing about its logins.
    #[error("{host} publishes nothing about its logins")]
    NoMetadata {
        /// The server.
        host: String,
    },
    /// An answer of a server breaks the protocol, or contradicts another one.
    #[error("{host} gave an answer that cannot be used: {reason}")]
    Invalid {
        /// The server.
        host: String,
        /// The fault.
        reason: String,
    },
    /// The authorization server registers no clients by itself.
    #[error("{host} registers no programs by itself")]
    NoRegistration {
        /// The server.
        host: String,
    },
    /// The authorization server, or the person in the browser, refused.
    #[error("{host} refused: {code}{}", said(.description))]
    Refused {
        /// The server.
        host: String,
        /// The code of the error, such as `access_denied`.
        code: String,
        /// The server's words.
        description: Option<String>,
    },
    /// The address to which the browser was sent back does not belong to this login.
    #[error("the address does not belong to this login: {0}")]
    ForeignAnswer(&'static str),
    /// The answer of this login does not come from the server at which the login began. Somebody may have mixed up two
    /// servers, to get the code of one of them.
    #[error("{}; the login is refused", mixed_up(.named, .expected))]
    OtherServer {
        /// The server that the answer names, if it names one.
        named: Option<String>,
        /// The authorization server of this login.
        expected: String,
    },
    /// The tokens are not valid any more, and only a new login gets others.
    #[error("the login at {host} is over")]
    LoginOver {
        /// The server.
        host: String,
    },
}

fn mixed_up(named: &Option<String>, expected: &str) -> String {
    match named {
        Some(named) => {
            format!("the answer comes from another login server, {named}, and this login is at {expected}")
        }
        None => format!(
            "the answer does not say which login server it comes from, and {expected} promises to say so"
        ),
    }
}

fn said(description: &Option<String>) -> String {
    description.as_ref().map(|words| format!(" ({words})")).unwrap_or_default()
}
