//! Fields: what a pattern asks for, as HTML whose pairs [`passable::Pattern::read_form`] reads.
//!
//! A field is drawn from its [`passable::Control`] and from what was typed into it ([`typed`]), which is what a page
//! that was refused is drawn from again. What is typed is read and checked by the same code early and late
//! ([`check`]), so a page never says something else than a submission does.

pub mod check;
pub mod draw;
pub mod early;
pub mod files;
pub mod insert;
mod list;
pub mod pick;
mod place;
mod slider;
pub mod summary;
pub mod tally;
mod told;
pub mod typed;

pub use place::{control_at, id};
pub use told::told;
