//! Parts that several pages share.

pub mod digest_field;
pub mod hunks;
pub mod link;
pub mod parts;
pub mod references;
pub mod safe_links;
pub mod sentence;
pub mod shell;
pub mod table;
