//! Making something narrower before it is handed on: what is taken away, and what is left.

use std::collections::BTreeSet;

use kernel::FormulaId;
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// What is taken away of something, as a person writes it. Empty text takes nothing away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Narrowing {
    /// The methods that stay; all that it has now, if this is not said.
    pub methods: Option<BTreeSet<String>>,
    /// The endings that names of files may have: `.pdf .md`.
    pub suffixes: String,
    /// The largest file, message or answer: `10MiB`.
    pub max: String,
    /// The most that a directory may come to hold: `1GiB`.
    pub total: String,
    /// How often it may be used: `10/min`.
    pub rate: String,
    /// How long it may be used from when it is made: `30m`, `8h`, `7d`.
    pub lasts: String,
    /// Whether what is read through it is private.
    pub private: bool,
}

/// A method that something has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// What it does to the world, in a word; empty where nobody knows.
    pub effect: String,
}

/// Something, what can be taken away of it, and what would be left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowable {
    /// What the name stands for.
    pub id: FormulaId,
    /// What it is, in words.
    pub words: Untrusted,
    /// The methods that it has now.
    pub methods: Vec<Method>,
    /// Whether only its maker knows which methods it has, so that they are named by whoever narrows it.
    pub any_method: bool,
    /// The limits that its kind knows.
    pub limits: Vec<Limit>,
    /// What would be left of it, in a sentence, if it was said what is taken away.
    pub left: Option<Untrusted>,
}

/// A limit that something can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`Narrowing::suffixes`].
    Suffixes,
    /// [`Narrowing::max`].
    Max,
    /// [`Narrowing::total`].
    Total,
    /// [`Narrowing::rate`].
    Rate,
    /// [`Narrowing::private`].
    Private,
}
