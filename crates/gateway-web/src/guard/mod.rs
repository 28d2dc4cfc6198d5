//! The guard, which decides before any page who may talk to the pages: by host name, origin, session and token.
//!
//! The checks run in this order, and the first failure ends them. Reading never changes anything, so only changes
//! need the token of the session's forms.

pub mod headers;
pub mod names;
pub mod request_guard;
pub mod sessions;
