//! The parsed content of a worker file: its inputs, slots, limits, steps and text.

use std::collections::BTreeSet;
use std::ops::Range;

use kernel::Pattern;
use kernel::run::Limits;
use resource::Kind;

use super::attachments::Attachments;
use super::template::Template;

/// The content of a worker file.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The worker's name, from the name of its file.
    pub name: String,
    /// The worker's purpose, in one line.
    pub description: Option<String>,
    /// The pattern of the named inputs, which is a record.
    pub input: Pattern,
    /// The pattern of the result. If it is `None`, the result is text.
    pub output: Option<Pattern>,
    /// The documents that the worker accepts.
    pub attachments: Attachments,
    /// The slots for authority, in the order of the file.
    pub slots: Vec<Slot>,
    /// The methods, as pairs of slot and method, for which a person is asked even if the endowment would not require
    /// it.
    pub approve: BTreeSet<(String, String)>,
    /// The limits of a run.
    pub limits: Limits,
    /// The limit of a run's cost, in US dollars. `None` means that the worker sets no limit.
    pub usd: Option<f64>,
    /// The name of the model that the worker asks for. The caller decides which model it gets.
    pub model: Option<String>,
    /// Whether the worker's model may make workers.
    pub creates: bool,
    /// The slots whose methods are offered to the model, if the file names them. See [`Definition::offered_slots`].
    pub tools: Option<Vec<String>>,
    /// The calls of workers that are made for each item, in this order, after the model's output was checked.
    pub then: Vec<ThenStep>,
    /// The files that are written at the end of the run, all in one step.
    pub write: Vec<WriteStep>,
    /// The text for the model.
    pub body: Template,
}

impl Definition {
    /// Returns the slot with this name.
    pub fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.name == name)
    }

    /// Returns the slots whose methods are offered to the model. They are the slots in `tools`, or else every slot
    /// that no `then` and no `write` step uses. Those steps are fixed in the file, so the model is not needed for
    /// them.
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

    /// Returns whether the file requires that a person is asked before this method is called.
    pub fn asks(&self, slot: &str, method: &str) -> bool {
        self.approve.iter().any(|(known, name)| known == slot && name == method)
    }
}

/// A named place for a capability, which the host fills by endowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The name under which the worker uses the slot.
    pub name: String,
    /// The kind of capability that may fill the slot.
    pub kind: Kind,
    /// The text that a person reads when choosing a capability. This is foreign text.
    pub label: Option<String>,
    /// For a worker slot, the documents that may be passed on to the worker. `None` means all documents that the
    /// worker accepts.
    pub attachments: Option<Attachments>,
    /// The place of the declaration, as a byte range of the worker file.
    pub span: Range<usize>,
}

/// A call of a worker that the file fixes, without a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ThenStep {
    /// The name of the result in later templates.
    pub name: String,
    /// The slot of the called worker.
    pub slot: String,
    /// The inputs of the called worker.
    pub with: Vec<(String, Piece)>,
    /// Whether the called worker gets the caller's attachments.
    pub attach: bool,
    /// The place of the step, as a byte range of the worker file.
    pub span: Range<usize>,
}

/// A value whose texts may be templates.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Data without templates.
    Data(serde_json::Value),
    /// A template whose result is a text.
    Text(Template),
    /// A template that consists of one `{{ expression }}`. Its result is the value of the expression, not a text.
    Value {
        /// The template.
        template: Template,
        /// The expression between the braces.
        expression: String,
    },
    /// A list with templates in it.
    List(Vec<Piece>),
    /// A record with templates in it.
    Record(Vec<(String, Piece)>),
}

/// A file that is written at the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStep {
    /// The choice whether the file is written once for each item or once for the run.
    pub scope: WriteScope,
    /// The slot of the directory for the file.
    pub slot: String,
    /// The path of the file, relative to that directory.
    pub path: Template,
    /// The text of the file.
    pub content: Template,
    /// The place of the step, as a byte range of the worker file.
    pub span: Range<usize>,
}

/// The scope of a [`WriteStep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteScope {
    /// The file is written once for each item of the run.
    Each,
    /// The file is written once for the run.
    Once,
}
