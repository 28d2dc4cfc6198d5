//! Fields: the input of a pattern as HTML, whose pairs [`passable::Pattern::read_form`] reads.
//!
//! A field is drawn from its [`passable::Control`] and its typed values ([`typed`]). A refused page is drawn again
//! from the same values. The same code ([`check`]) validates values during typing and on submission, so a page never
//! contradicts a submission.

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
