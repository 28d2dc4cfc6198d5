//! The properties of a card's picker, for the page on which the user makes a narrower object for it.

use control::exit::{Exit, Failure};
use control::view::{Fit, PickRow};

use crate::page_request::Pairs;

/// A picker for which a narrower object is made.
pub struct FieldSpec {
    /// The label that the picked object must have.
    pub label: Option<String>,
    /// Whether any object may be picked, including data.
    pub data: bool,
    /// The name of the picker, which is safe to show.
    pub said: String,
    /// The typed values, without those that must not be shown again.
    pub filled: Pairs,
}

impl FieldSpec {
    /// Returns whether an object of the user can be picked here.
    pub fn takes(&self, row: &PickRow) -> bool {
        let fits = self.data || row.fit(self.label.as_deref(), false) != Fit::No;
        !row.data && !row.pending && fits
    }
}

/// Returns the error for a place without a picker.
pub fn no_picker() -> Failure {
    Failure::new(Exit::Usage, "nothing can be picked at this place").help("open the message again")
}

/// Returns the pairs of a form that are carried along. Hidden fields of the pages and buttons are left out.
pub fn carried(pairs: &Pairs, keep: impl Fn(&str) -> bool) -> Pairs {
    let own = |(name, _): &&(String, String)| !name.starts_with('_') && name != "do" && keep(name);
    pairs.iter().filter(own).cloned().collect()
}
