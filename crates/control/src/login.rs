//! The protocol of logins at tool servers. Tokens never leave the daemon.

use serde::{Deserialize, Serialize};
use vault::Secret;

/// A client's act on logins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum LoginAct {
    /// Prepares a login, and returns the address for the browser.
    Begin {
        /// The name of a tool server, or its address.
        server: String,
        /// The address to which the browser is sent back.
        redirect: String,
        /// The identifier of a client that the user has registered, in place of one that Almoner registers.
        client: Option<String>,
        /// The name of the secret of that client in the vault.
        client_secret: Option<String>,
        /// The scopes to ask for, in place of those that the server names.
        scopes: Vec<String>,
    },
    /// Completes a login.
    Finish {
        /// The identifier of the login.
        id: String,
        /// The address to which the browser was sent back. It holds a code.
        redirected: Secret,
    },
    /// Removes the login at a server.
    Remove {
        /// The name of a tool server, or its address.
        server: String,
    },
    /// Lists the logins.
    List,
}

/// The answer to an act on logins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "login", rename_all = "snake_case")]
pub enum LoginAnswer {
    /// A login that waits for the person in the browser.
    Begun {
        /// The identifier of the login.
        id: String,
        /// The address for the browser.
        url: String,
        /// The authorization server.
        issuer: String,
    },
    /// A completed login.
    Done(LoginRow),
    /// A login that was removed.
    Removed {
        /// The address of the server.
        server: String,
        /// Whether the authorization server took the tokens back. `None` if it does not offer that.
        is_revoked: Option<bool>,
    },
    /// All logins.
    All {
        /// The logins.
        rows: Vec<LoginRow>,
    },
}

/// A login, without its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoginRow {
    /// The address of the server.
    pub server: String,
    /// The authorization server.
    pub issuer: String,
    /// The scope, if it is known.
    pub scope: Option<String>,
    /// The time of the login, in milliseconds since 1970.
    pub since_ms: i64,
    /// The time at which the present token ends, in milliseconds since 1970, if it is known.
    pub expires_ms: Option<i64>,
    /// Whether the login goes on after that time without the user.
    pub lasts: bool,
    /// The scope of a login that would allow the calls that the server refused for want of a scope.
    #[serde(default)]
    pub wider_scope: Option<String>,
    /// Whether the server wants a new login.
    pub is_over: bool,
}
