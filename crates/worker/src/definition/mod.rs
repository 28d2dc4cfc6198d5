//! Worker definitions: the content of a `NAME.worker` file, checked, and its texts filled with data.
//!
//! A definition is inert. It declares its needs and holds nothing; reading one can neither run code nor reach a file
//! outside its own directory, and rendering one is bounded ([`template`]). A file may come from anyone.
//!
//! [`Bundle`] is the file with its includes, and [`Bundle::load`] the only input from outside. [`parse`] turns a
//! bundle into a [`Definition`] and reports all of its problems at once. [`render_prompt`], [`render_with`] and
//! [`render_write`] fill its texts.

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
pub use render::{RenderError, RenderedFile, render_prompt, render_with, render_write};
pub use resource::units::{bytes as parse_bytes, count as parse_count, duration_ms as parse_duration_ms};
pub use schema::schema;
pub use suggest::nearest;

/// Returns a text in the YAML of worker files as JSON, for the settings of other programs. Returns `None` if the text
/// uses more of YAML than that.
pub fn json_of_yaml(text: &str) -> Option<serde_json::Value> {
    let mut problems = Vec::new();
    let node = yaml::read(text, 0, &mut problems)?;
    problems.is_empty().then(|| node.to_json())
}
