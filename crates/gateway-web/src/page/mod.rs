//! What several pages show.

pub mod parts;
pub mod shell;
