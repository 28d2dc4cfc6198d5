//! The way to other machines, for every HTTP client of ours.
//!
//! A [`Network`] is made from the environment and the user's settings. It knows the proxy for each server, the servers
//! that are reached without one, and the certificate authorities that may vouch for a server. It builds the agents of
//! the library ureq, so that no client decides about any of this by itself.
//!
//! Where the machine's administrator lets only some servers be reached, every agent knows these, and connects to no
//! other one.
//!
//! A setting that cannot be used is an error of each request that needs it. Nothing falls back to a direct connection,
//! or to other authorities.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "reads the files of certificate authorities that the user names"
)]

mod absolute_form;
mod authorities;
mod bypass;
mod egress;
mod error;
mod proxy;
mod route;

pub use egress::Egress;
pub use error::{NetworkError, failure_reason};
pub use route::{Configure, Environment, Network, NetworkSettings, VARIABLES};
