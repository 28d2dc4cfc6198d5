//! The check of new names for confusable names in the same directory.
//!
//! Two names look alike if they have the same skeleton, a comparable form of the name (see [`crate::confusables`]). A
//! name that differs from its skeleton gets a row under the skeleton. So the check needs two look-ups, however large
//! the directory is. Names that are older than these rows have none. Such a name is found only if it equals its
//! skeleton, until a person names the formula again.

use crate::command::Fault;
use crate::confusables;
use crate::id::FormulaId;
use crate::table;
use crate::txn::{Owner, Table};

use super::State;
use super::names::Spot;

impl State<'_> {
    /// Refuses a name that looks like another one in the same directory, and a name with hidden characters. A person
    /// can insist on such a name.
    pub(super) fn reject_confusable(&mut self, spot: &Spot) -> Result<(), Fault> {
        if self.forced {
            return Ok(());
        }
        if confusables::has_hidden_characters(&spot.name) {
            return Err(Fault::Hides { name: confusables::quote_name(&spot.name) });
        }
        match self.look_alike(spot)? {
            None => Ok(()),
            Some(other) => Err(Fault::LooksLike {
                name: confusables::quote_name(&spot.name),
                other: confusables::quote_name(&other),
            }),
        }
    }

    fn look_alike(&mut self, spot: &Spot) -> Result<Option<String>, Fault> {
        let skeleton = confusables::skeleton(&spot.name);
        if skeleton != spot.name {
            let plain = Spot { name: skeleton.clone(), ..spot.clone() };
            if self.leaving.as_ref() != Some(&plain) && self.named(&plain)?.is_some() {
                return Ok(Some(skeleton));
            }
        }
        // The rows may include the name itself and the name that is removed. A third row can only be another name.
        let first = confusables::skeleton_prefix(&spot.store, &skeleton);
        let found = self.txn.range(Table::Meta, &spot.owner, &first, &table::prefix_end(&first), 3, false)?;
        let names =
            found.into_iter().filter_map(|(key, _)| String::from_utf8(key[first.len()..].to_vec()).ok());
        let leaving = self.leaving.as_ref().filter(|at| at.store == spot.store).map(|at| at.name.clone());
        Ok(names.into_iter().find(|name| *name != spot.name && Some(name) != leaving.as_ref()))
    }

    /// Records the skeleton of a name, for checks of later names.
    pub(super) fn record_skeleton(&mut self, spot: &Spot) -> Result<(), Fault> {
        if let Some(key) = confusables::skeleton_key(&spot.store, &spot.name) {
            table::save(self.txn, Table::Meta, &spot.owner, &key, &true, None)?;
        }
        Ok(())
    }

    /// Removes the skeleton of a name that is removed.
    pub(crate) fn forget_skeleton(
        &mut self,
        store: &FormulaId,
        owner: &Owner,
        name: &str,
    ) -> Result<(), Fault> {
        if let Some(key) = confusables::skeleton_key(store, name) {
            self.txn.delete(Table::Meta, owner, &key)?;
        }
        Ok(())
    }
}
