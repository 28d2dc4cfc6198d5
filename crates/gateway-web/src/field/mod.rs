//! Fields: HTML inputs for a pattern, whose pairs [`passable::Pattern::read_form`] reads.
//!
//! A field is drawn from its [`passable::Control`] and its typed values ([`form_values`]). A rejected form is drawn
//! again from the same values. The same code ([`check`]) validates values during typing and on submission, so a page
//! never contradicts a submission.

pub mod check;
pub mod counters;
pub mod draw;
pub mod files;
pub mod form_values;
pub mod insert;
mod list;
pub mod live_check;
pub mod pick;
mod place;
mod preview;
mod slider;
pub mod summary;

pub use place::{control_at, id};
pub use preview::input_preview;
