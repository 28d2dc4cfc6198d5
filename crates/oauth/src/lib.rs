//! Logins at authorization servers after OAuth 2.1, in the form that MCP asks for.
//!
//! 1. [`discover`] finds the authorization server of a server that wants a login (RFC 9728, RFC 8414, OpenID).
//! 2. [`register`] registers Almoner there, if the user has no client of their own (RFC 7591).
//! 3. [`PendingLogin`] makes the address for the browser, and checks the address to which the browser is sent back
//!    (PKCE with S256, state, RFC 9207, RFC 8707).
//! 4. [`exchange_code`] and [`refresh`] get tokens, and [`revoke`] has them taken back (RFC 7009).
//!
//! The crate is pure: it sends requests through [`HttpClient`], and gets its randomness from the caller. So the caller
//! decides which addresses may be reached.

#![forbid(unsafe_code)]

mod authorization;
mod challenge;
mod discovery;
mod error;
mod http_client;
mod registration;
mod server_url;
mod token;

pub use authorization::PendingLogin;
pub use challenge::Challenge;
pub use discovery::{AuthorizationServer, Discovery, discover};
pub use error::OauthError;
pub use http_client::{HttpClient, HttpRequest, HttpResponse};
pub use registration::{Client, ClientAuthentication, register};
pub use server_url::ServerUrl;
pub use token::{Tokens, exchange_code, refresh, revoke};
