//! The guard, which checks every request before it reaches a page: host name, origin, session and token.
//!
//! The checks run in this order, and the first failure ends them. Reading never changes anything, so only requests
//! that change something need the token of the session's forms.

pub mod ceremonies;
pub mod headers;
pub mod names;
pub mod passkeys;
pub mod request_guard;
pub mod sessions;
