//! The terminal of the person: results, notes, prompts and Ctrl-C.

pub mod diagnostics;
pub mod interrupt;
pub mod output;
pub mod piped_input;
pub mod prompt;
pub mod result_file;
pub mod waiting_notice;
