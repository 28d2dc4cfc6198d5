//! Confusable names, as one command checks them.
//!
//! The cost of naming does not grow with the directory. The kernel looks up the name that equals the skeleton, and
//! the rows of other names with this skeleton. Names that are older than these rows have none, so only those that are
//! their own skeleton are found. The others are found once they are given again.

use crate::command::Fault;
use crate::confusables;
use crate::id::FormulaId;
use crate::table;
use crate::txn::{Owner, Table};

use super::State;
use super::names::Spot;

impl State<'_> {
    /// Refuses a name that looks like another one in the same directory, and one that hides something, unless a person
    /// insists on it.
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
        // The name itself and one that goes may be among them, so a third says all that there is to say.
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

    /// Removes the skeleton of a name that is taken away.
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
