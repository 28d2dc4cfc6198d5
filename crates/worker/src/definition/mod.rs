//! Worker definitions: the checked content of a `NAME.worker` file, and the rendering of its templates.
//!
//! A definition is inert. It declares its needs and holds no authority. Reading one cannot run code, and cannot reach
//! a file outside its directory. Rendering one is bounded ([`template`]). So a file may come from anyone.
//!
//! [`Bundle`] is the file with its includes, and only [`Bundle::load`] reads files. [`parse`] turns a bundle into a
//! [`Definition`] and reports all of its problems at once. [`render_prompt`], [`render_with`] and [`render_write`]
//! render its templates.

mod attachments;
mod bundle;
mod content;
mod diagnostic;
mod fields;
mod filters;
mod foreign;
mod form;
mod front;
mod load;
mod parse;
mod places;
mod render;
mod schema;
mod steps;
mod suggest;
pub mod template;
mod walk;
mod yaml;

pub(crate) use attachments::MEDIA_FAMILIES;
pub use attachments::{Attachments, MEDIA_TYPES};
pub use bundle::{Bundle, MAX_BYTES};
pub use content::{Definition, Piece, Slot, ThenStep, WriteScope, WriteStep};
pub use diagnostic::{Diagnostic, Report, Severity};
pub(crate) use fields::is_identifier;
pub use foreign::{ForeignError, ImportedWorker, import};
pub use form::{FormField, parse_fields};
pub use load::LoadError;
pub(crate) use parse::OWN_TOOLS;
pub use parse::parse;
pub use render::{
    RenderError, RenderedFile, is_path_known_before, is_prompt_same_for_all, is_write_known_before,
    render_path, render_prompt, render_with, render_write, template_line,
};
pub use resource::units::{bytes as parse_bytes, count as parse_count, duration_ms as parse_duration_ms};
pub use schema::schema;
pub use suggest::nearest;

/// Returns the JSON form of a YAML text, for the settings of other programs. Returns `None` if the text uses YAML
/// that worker files do not allow.
pub fn json_of_yaml(text: &str) -> Option<serde_json::Value> {
    let mut problems = Vec::new();
    let node = yaml::read(text, 0, &mut problems)?;
    problems.is_empty().then(|| node.to_json())
}
