//! Parts that several pages share.

pub mod context;
pub mod digest_field;
pub mod figures;
pub mod hunks;
pub mod kinds;
pub mod link;
pub mod parts;
pub mod passkey_form;
pub mod references;
pub mod safe_links;
pub mod sentence;
pub mod shell;
pub mod short_path;
pub mod site_map;
pub mod table;
pub mod theme;
pub mod time;
pub mod voice;
