//! Parts that several pages share.

pub mod hosts;
pub mod hunks;
pub mod link;
pub mod parts;
pub mod seen;
pub mod shell;
pub mod table;
pub mod told;
