//! The powers that an object gives to its holder, and the content of a slot as a user sees it.

use std::collections::BTreeMap;

use kernel::{FormulaId, GrantNumber, NamePath};
use passable::{Untrusted, visible_line};
use serde::{Deserialize, Serialize};

use super::show::card::WorkerPreview;
use resource::Endowment;

use super::inspect::FormulaSummary;
use super::narrow::{self, Method};

/// An object and its powers, shown to the user before the object is handed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Powers {
    /// The reader's name for the object, and its description.
    pub called: FormulaSummary,
    /// The name of the interface of an object of code, recorded by the daemon when the object was made. Foreign text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The methods that can be called through all grants on the path to the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<Method>,
    /// Whether the object may have other methods, which only its maker knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others: bool,
    /// The limits of the object, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// The reason why the object cannot be used any more, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Untrusted>,
}

impl Powers {
    /// Returns the methods and limits in one line. The line is empty if no method can be called. It is not escaped
    /// for a terminal.
    pub fn can(&self) -> String {
        let mut parts = Vec::new();
        if !self.methods.is_empty() || self.others {
            parts.push(narrow::in_words(&self.methods, self.others));
        }
        parts.extend(self.limits.iter().cloned());
        parts.join("; ")
    }

    /// Returns a description of the object and its powers in one line, which is safe to show.
    pub fn in_words(&self) -> String {
        let name = self.called.name.as_ref().map(|name| format!("{}: ", visible_line(name)));
        let mut line = format!("{}{}", name.unwrap_or_default(), self.called.words.visible_line());
        if let Some(interface) = &self.interface {
            line += &format!(", recorded as {}", visible_line(interface));
        }
        let can = self.can();
        if !can.is_empty() {
            line += &format!("; it can do: {}", visible_line(&can));
        }
        match &self.ended {
            Some(why) => format!("{line}; nothing can be done with it: {}", why.visible_line()),
            None => line,
        }
    }
}

/// The present or planned content of a slot, as the user sees it before and after the approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotFill {
    /// The user's name for the content, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description of the content.
    pub words: Untrusted,
    /// The methods that can be called.
    pub methods: Vec<Method>,
    /// The limits of the content, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// The methods about which the user is asked before each call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Whether the content is a directory that does not exist yet and would be created.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// The grant, if it already exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantNumber>,
}

impl SlotFill {
    /// Returns the content in one line, which is safe to show.
    pub fn in_words(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("{}: ", visible_line(name))).unwrap_or_default();
        let mut line = format!("{name}{}", self.words.visible_line());
        if self.is_new {
            line += ", which is not there yet and is made";
        }
        if !self.methods.is_empty() {
            line += &format!("; it can do: {}", visible_line(&narrow::in_words(&self.methods, false)));
        }
        for limit in &self.limits {
            line += &format!("; {}", visible_line(limit));
        }
        if !self.asked.is_empty() {
            line += &format!("; you are asked each time before {}", visible_line(&self.asked.join(", ")));
        }
        line
    }
}

/// A user's additions when approving a worker that a run makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalExtras {
    /// The contents of slots that are not given by one of the user's names.
    #[serde(default)]
    pub endow: Vec<Endowment>,
    /// The slots that are filled with objects of the user's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, NamePath>,
    /// The formulas of these names when the user chose them, by slot. If a name has another formula by now, the
    /// daemon changes nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, FormulaId>,
    /// The methods, as `slot.method`, about which the person does not want to be asked.
    #[serde(default)]
    pub allow: Vec<String>,
    /// The text of the worker, if the user has edited it.
    #[serde(default)]
    pub edited: Option<String>,
}

/// A preview of a worker with the user's additions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtrasPreview {
    /// The worker, with the edited text.
    pub making: WorkerPreview,
    /// The slots that only the user can fill, and that are still empty.
    pub missing: Vec<String>,
    /// The contents of slots that the user chose. The slots of a worker in a slot come after that slot.
    pub grants: Vec<(String, SlotFill)>,
}
