//! Following a run: its progress, its questions, and the answers of the person.

pub mod answer_lines;
pub mod attend;
pub mod form_answers;
pub mod live;
pub mod question;
pub mod talk;
