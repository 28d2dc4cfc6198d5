//! The terminal of the person: results, notes, prompts and Ctrl-C.

pub mod diagnostics;
pub mod interrupt;
pub mod output;
pub mod prompt;
pub mod waiting_notice;
