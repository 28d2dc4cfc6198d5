//! The cards that ask for something else than a yes, and those that only tell; one file for each kind of message.

pub mod around;
pub mod confirm;
pub mod definition;
pub mod evaluation;
pub mod form;
pub mod making;
pub mod narrow;
pub mod release;
pub mod said;
pub mod wish;
pub mod words;
pub mod yes;
