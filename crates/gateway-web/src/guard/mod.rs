//! Who may talk to the pages, decided before anything else is: the host name, the origin, the session, its token.
//!
//! Each of them is a question of its own, in this order, and the first no ends it. Reading never changes anything, so
//! only what changes something needs the token of the session's forms.

pub mod headers;
pub mod knock;
pub mod names;
pub mod sessions;
