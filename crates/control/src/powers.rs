//! The powers of an object for its holder, and the result of a user's choice for a slot.

use std::collections::BTreeMap;

use kernel::{FormulaId, GrantNumber, NamePath};
use passable::{Untrusted, visible_line};
use serde::{Deserialize, Serialize};

use super::show::card::WorkerPreview;
use resource::Endowment;

use super::inspect::FormulaSummary;
use super::narrow::{self, Method};

/// An object and its powers, as the user sees them before handing it on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Powers {
    /// The reader's name for it, and its description.
    pub called: FormulaSummary,
    /// For an object of code: the name of its interface when it was made, by the daemon's own record. Foreign text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The methods that can be called through all the grants on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<Method>,
    /// Whether it may have others, which only its maker knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others: bool,
    /// Its limits, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// Why nothing can be done with it any more, if nothing can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Untrusted>,
}

impl Powers {
    /// Returns its methods and limits, in a line. Empty if nothing can be called. Not made visible.
    pub fn can(&self) -> String {
        let mut parts = Vec::new();
        if !self.methods.is_empty() || self.others {
            parts.push(narrow::in_words(&self.methods, self.others));
        }
        parts.extend(self.limits.iter().cloned());
        parts.join("; ")
    }

    /// Returns all of it in a line. Safe to show.
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
pub struct SlotFill {
    /// The person's name for it, if it was chosen by one or has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its description.
    pub words: Untrusted,
    /// The methods that can be called.
    pub methods: Vec<Method>,
    /// Its limits, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// Those of the methods that are asked about each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Whether it is a directory that is not there, and would be made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// The grant, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantNumber>,
}

impl SlotFill {
    /// Returns all of it in a line. Safe to show.
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

/// A user's additions to a worker that a run makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApprovalExtras {
    /// The contents of slots, without a name of the user's.
    #[serde(default)]
    pub endow: Vec<Endowment>,
    /// The slots that are filled from the user's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, NamePath>,
    /// The formulas of these names when the user chose them, by slot. If a name has another formula by now, the
    /// daemon changes nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, FormulaId>,
    /// Methods, as `slot.method`, about which the person does not want to be asked.
    #[serde(default)]
    pub allow: Vec<String>,
    /// The text of that worker as the person has changed it.
    #[serde(default)]
    pub edited: Option<String>,
}

/// A preview of the worker with the user's additions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtrasPreview {
    /// The worker with the text that it would have.
    pub making: WorkerPreview,
    /// Slots that only the person can fill, and that nothing fills yet.
    pub missing: Vec<String>,
    /// The contents of slots by the user's choice; slots of workers in slots come after theirs.
    pub grants: Vec<(String, SlotFill)>,
}
