//! The content of a worker file, as data: its inputs, its slots, its limits, its steps and its text.

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
