//! Worker definitions: the content of a `NAME.worker` file, checked, and its texts filled with data.
//!
//! A definition is inert. It declares its needs and holds nothing; reading one can neither run code nor reach a file
//! outside its own directory, and rendering one is bounded ([`template`]). A file may come from anyone.
//!
//! [`Bundle`] is the file with its includes, and [`Bundle::load`] the only input from outside. [`parse`] turns a
//! bundle into a [`Definition`] and reports all of its problems at once. [`render_prompt`], [`render_with`] and
//! [`render_write`] fill its texts.

mod bundle;
mod diagnostic;
mod fields;
mod filters;
mod foreign;
mod form;
mod front;
mod parse;
mod places;
mod render;
mod schema;
mod steps;
mod suggest;
pub mod template;
mod walk;
mod yaml;

use std::collections::BTreeSet;
use std::ops::Range;

use kernel::Pattern;
use kernel::run::Limits;
use resource::Kind;

pub use bundle::{Bundle, LoadError, MAX_BYTES};
pub use diagnostic::{Diagnostic, Report, Severity};
pub(crate) use fields::is_identifier;
pub use foreign::{ForeignError, ImportedWorker, import};
pub use form::{FormField, parse_fields};
pub(crate) use parse::OWN_TOOLS;
pub use parse::parse;
pub use render::{RenderError, RenderedFile, render_prompt, render_with, render_write};
pub use resource::units::{bytes as parse_bytes, count as parse_count, duration_ms as parse_duration_ms};
pub use schema::schema;
pub use suggest::nearest;
use template::Template;

/// Returns a text in the YAML of worker files as JSON, for the settings of other programs. Returns `None` if the text
/// uses more of YAML than that.
pub fn json_of_yaml(text: &str) -> Option<serde_json::Value> {
    let mut problems = Vec::new();
    let node = yaml::read(text, 0, &mut problems)?;
    problems.is_empty().then(|| node.to_json())
}

/// The content of a worker file.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The worker's name, from the name of its file.
    pub name: String,
    /// The worker's purpose, in one line.
    pub description: Option<String>,
    /// The named inputs: a record.
    pub input: Pattern,
    /// The result. `None`: the result is text.
    pub output: Option<Pattern>,
    /// Which documents it may be handed.
    pub attachments: Attachments,
    /// The named holes for authority, in the order of the file.
    pub slots: Vec<Slot>,
    /// Methods, as slot and method, for which a person is asked even where the endowment would not ask.
    pub approve: BTreeSet<(String, String)>,
    /// The limits of a run.
    pub limits: Limits,
    /// The limit of a run's cost, in US dollars. `None`: no limit of its own.
    pub usd: Option<f64>,
    /// The model that it asks for by name; whether it gets it is the caller's choice.
    pub model: Option<String>,
    /// Whether its model may make workers.
    pub creates: bool,
    /// The slots whose methods the model is offered, if the file says so; see [`Definition::offered_slots`].
    pub tools: Option<Vec<String>>,
    /// Calls of workers, made for each item in this order once the model's output was checked.
    pub then: Vec<ThenStep>,
    /// The files that are written when the run is through: all of them are one step.
    pub write: Vec<WriteStep>,
    /// The text for the model.
    pub body: Template,
}

impl Definition {
    /// Returns the slot of this name.
    pub fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.name == name)
    }

    /// Returns the slots whose methods the model is offered: those that `tools` names, or else every slot that no
    /// `then` and no `write` step uses. Steps that need no model are written down, not asked for.
    pub fn offered_slots(&self) -> Vec<&Slot> {
        match &self.tools {
            Some(tools) => self.slots.iter().filter(|slot| tools.contains(&slot.name)).collect(),
            None => {
                let used = |slot: &&Slot| {
                    !self.then.iter().any(|then| then.slot == slot.name)
                        && !self.write.iter().any(|write| write.slot == slot.name)
                };
                self.slots.iter().filter(used).collect()
            }
        }
    }

    /// Returns whether a person must be asked before this method is called, because the file says so.
    pub fn asks(&self, slot: &str, method: &str) -> bool {
        self.approve.iter().any(|(known, name)| known == slot && name == method)
    }
}

/// The documents that a worker may get. Any others are refused before the model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachments {
    /// How many there may be.
    pub max: u32,
    /// How many bytes they may have together.
    pub bytes: u64,
    /// How their names may end, in lower case with the point; empty: in any way.
    pub suffixes: Vec<String>,
    /// The types that their content may have: `application/pdf`, or `image/*` for all that begin so; empty: any type.
    pub types: Vec<String>,
}

/// The types that documents are found to be.
pub const MEDIA_TYPES: [&str; 10] = [
    "application/json",
    "application/pdf",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "message/rfc822",
    "text/csv",
    "text/markdown",
    "text/plain",
];

/// Types that stand for all that begin in the same way.
pub(crate) const MEDIA_FAMILIES: [&str; 2] = ["image/*", "text/*"];

impl Attachments {
    /// Returns the widest limits that can be stated: any number, size and kind of documents.
    pub fn any() -> Attachments {
        Attachments { max: 1_000, bytes: 1 << 40, suffixes: Vec::new(), types: Vec::new() }
    }

    /// Returns whether a document may be called so.
    pub fn takes(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        self.suffixes.is_empty() || self.suffixes.iter().any(|suffix| lower.ends_with(suffix.as_str()))
    }

    /// Returns whether a document's content may have this type. A document of unknown type fits no named type.
    pub fn takes_type(&self, media_type: &str) -> bool {
        let fits = |own: &String| match own.strip_suffix('*') {
            Some(family) => media_type.starts_with(family),
            None => own == media_type,
        };
        self.types.is_empty() || self.types.iter().any(fits)
    }
}

impl Default for Attachments {
    fn default() -> Attachments {
        Attachments { max: 4, bytes: 10 << 20, suffixes: Vec::new(), types: Vec::new() }
    }
}

/// A named hole that the host fills by endowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The name under which the worker uses the slot.
    pub name: String,
    /// The kind of thing that may fill it.
    pub kind: Kind,
    /// The text that a person reads when choosing. Foreign text.
    pub label: Option<String>,
    /// For a worker: which documents may be handed on to it. `None`: any that it takes.
    pub attachments: Option<Attachments>,
    /// Where it is declared, as bytes of the worker file.
    pub span: Range<usize>,
}

/// A call of a worker that is written down instead of asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ThenStep {
    /// The name under which later templates find the result.
    pub name: String,
    /// The slot of the worker.
    pub slot: String,
    /// Its inputs.
    pub with: Vec<(String, Piece)>,
    /// Whether it is handed the caller's attachments.
    pub attach: bool,
    /// Where it stands, as bytes of the worker file.
    pub span: Range<usize>,
}

/// A value in which texts may be templates.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Data without any template in it.
    Data(serde_json::Value),
    /// A template that becomes text.
    Text(Template),
    /// A template that is nothing but one `{{ expression }}` and hands its value on as it is.
    Value {
        /// The template.
        template: Template,
        /// The expression between the braces.
        expression: String,
    },
    /// A list in which there are templates.
    List(Vec<Piece>),
    /// A record in which there are templates.
    Record(Vec<(String, Piece)>),
}

/// A file that is written when the run is through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStep {
    /// How often.
    pub scope: WriteScope,
    /// The slot of the directory.
    pub slot: String,
    /// The file, relative to that directory.
    pub path: Template,
    /// The text of the file.
    pub content: Template,
    /// Where it stands, as bytes of the worker file.
    pub span: Range<usize>,
}

/// How often a [`WriteStep`] happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteScope {
    /// Once for each item of the run.
    Each,
    /// Once for the run.
    Once,
}
