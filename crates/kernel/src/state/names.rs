//! Pet names, as one command changes them.

use crate::command::Fault;
use crate::event::Change;
use crate::id::{FormulaId, Number};
use crate::name::NamePath;
use crate::name_lookup::NameContainer;
use crate::table;
use crate::txn::{Owner, Table};

use super::{Gift, State};

/// A place for a name: the pet store, the owner of its rows, and the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(super) store: FormulaId,
    pub(super) owner: Owner,
    pub(super) name: String,
}

impl State<'_> {
    /// Returns the spot at the end of one of the actor's paths, for a call of `method` on its directory.
    pub(crate) fn spot(&mut self, path: &NamePath, method: &str) -> Result<Spot, Fault> {
        self.spot_in(None, path, method)
    }

    /// Returns the spot at the end of a path that begins in `base`, for a call of `method` on its directory.
    pub(crate) fn spot_in(
        &mut self,
        base: Option<&FormulaId>,
        path: &NamePath,
        method: &str,
    ) -> Result<Spot, Fault> {
        let (before, name) = path.split_pet()?;
        let name = name.to_owned();
        let hub = self.view().container_from(self.txn, base, before, method)?;
        match self.writable(&hub)? {
            Some((store, owner)) => Ok(Spot { store, owner, name }),
            None => {
                Err(Fault::NotAllowed(format!("the names in {:?} are not for choosing", before.join("/"))))
            }
        }
    }

    fn writable(&mut self, hub: &NameContainer) -> Result<Option<(FormulaId, Owner)>, Fault> {
        Ok(match hub {
            NameContainer::Directory { store, owner } => Some((*store, *owner)),
            NameContainer::Agent(agent) => {
                let directory = self.agent(agent)?.directory;
                let Some(store) = self.head(&directory)?.store() else { return Ok(None) };
                self.head(&store)?.owner().map(|owner| (store, owner.0))
            }
            NameContainer::Mailbox { .. } | NameContainer::Message { .. } => None,
        })
    }

    /// Returns the formula that has the name now.
    pub(crate) fn named(&mut self, spot: &Spot) -> Result<Option<FormulaId>, Fault> {
        let key = table::inner_key(&spot.store, spot.name.as_bytes());
        Ok(table::load(self.txn, Table::PetName, &spot.owner, &key)?)
    }

    /// Gives the name to a formula, and takes it from the formula that had it.
    pub(crate) fn name(&mut self, spot: &Spot, id: &FormulaId) -> Result<(), Fault> {
        let before = self.named(spot)?;
        if before == Some(*id) {
            return Ok(());
        }
        match before {
            Some(before) => self.forget(spot, &before)?,
            // A name that exists already was checked when it was chosen.
            None => self.reject_confusable(spot)?,
        }
        self.record_skeleton(spot)?;
        let key = table::inner_key(&spot.store, spot.name.as_bytes());
        table::save(self.txn, Table::PetName, &spot.owner, &key, id, None)?;
        self.tie(&spot.store, &format!("name {}", spot.name), id)?;
        self.hold(&Number(spot.owner), id, b"n", &key)?;
        let change = Change::Named { directory: spot.store, name: spot.name.clone(), id: *id };
        self.event_for(&spot.owner, change)?;
        Ok(())
    }

    /// Gives the name to a formula of the actor's. If the directory is another agent's, that agent gets a grant, and
    /// the name is for the grant. Returns the formula that has the name now.
    pub(crate) fn put(&mut self, spot: &Spot, id: &FormulaId) -> Result<FormulaId, Fault> {
        let id = match spot.owner == self.owner() {
            true => *id,
            false => {
                let to = self.id_of(Number(spot.owner));
                self.give(id, &Gift::plain(to, &spot.name))?
            }
        };
        self.name(spot, &id)?;
        Ok(id)
    }

    /// Gives another name to the formula to which a path from `base` leads. Within the directories of one agent the
    /// formula stays the same.
    pub(crate) fn carry(
        &mut self,
        base: Option<&FormulaId>,
        from: &NamePath,
        to: &Spot,
    ) -> Result<FormulaId, Fault> {
        match self.spot_in(base, from, "lookup") {
            Ok(source) if source.owner == to.owner => {
                let id = self.find_in(base, from)?;
                self.name(to, &id)?;
                Ok(id)
            }
            _ => {
                let id = self.resolve_in(base, from)?;
                self.put(to, &id)
            }
        }
    }

    /// Returns a spot in a directory of the actor's own, for values that other agents should not find.
    pub(crate) fn own_spot(&mut self, path: &NamePath) -> Result<Spot, Fault> {
        let spot = self.spot(path, "storeIdentifier")?;
        match spot.owner == self.owner() {
            true => Ok(spot),
            false => Err(Fault::NotAllowed(format!("{path} is in somebody else's directory"))),
        }
    }

    /// Removes a name, and returns the formula that had it.
    pub(crate) fn unname(&mut self, spot: &Spot) -> Result<FormulaId, Fault> {
        let before = self.named(spot)?.ok_or_else(|| Fault::UnknownName(format!("{:?}", spot.name)))?;
        self.forget(spot, &before)?;
        let change = Change::Unnamed { directory: spot.store, name: spot.name.clone() };
        self.event_for(&spot.owner, change)?;
        Ok(before)
    }

    fn forget(&mut self, spot: &Spot, before: &FormulaId) -> Result<(), Fault> {
        let key = table::inner_key(&spot.store, spot.name.as_bytes());
        self.txn.delete(Table::PetName, &spot.owner, &key)?;
        self.forget_skeleton(&spot.store, &spot.owner, &spot.name)?;
        self.untie(&spot.store, &format!("name {}", spot.name), before)?;
        self.unhold(&Number(spot.owner), before, b"n", &key)
    }
}
