//! The following of a run: its progress, its questions, and the user's answers.

pub mod answer_lines;
pub mod approval_gate;
pub mod ask_mode;
pub mod conversation;
pub mod entry_list;
pub mod follow_run;
pub mod form_answers;
mod list_input;
pub mod live_tree;
pub mod pending;
pub mod question;
pub mod run_outcome;
