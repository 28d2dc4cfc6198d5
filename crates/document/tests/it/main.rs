//! The crate from outside: the example inbox, documents made here, and arbitrary bytes.
#![allow(clippy::disallowed_methods, reason = "reads the example documents")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod arbitrary;
mod errors;
mod inbox;
mod made;
mod mails;
mod pages;
mod pdf_parts;
