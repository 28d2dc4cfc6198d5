//! Built-in capabilities on real directories.
#![allow(clippy::disallowed_methods, reason = "these tests set up and look at files from outside")]

mod bench;
mod confinement;
mod list;
mod outbox;
mod read;
mod write;
