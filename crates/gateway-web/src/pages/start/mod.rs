//! The ways to begin: a run or a conversation from a form, an example, and the first visit.

pub mod example;
pub mod first_visit;
pub(in crate::pages) mod folder_chooser;
pub(in crate::pages) mod form_errors;
mod limits;
pub mod new_run;
mod worker_choice;
pub(in crate::pages) mod worker_form;
