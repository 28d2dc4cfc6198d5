//! The formulas that agents hold, and the grants by which they pass them on.

use std::collections::BTreeSet;

use crate::command::Fault;
use crate::event::Change;
use crate::formula::Formula;
use crate::grant::{Attenuation, EVERY_METHOD, Grant};
use crate::id::{FormulaId, GrantNumber, MessageNumber, Number};
use crate::name::NamePath;
use crate::name_lookup;
use crate::proposal::Value;
use crate::table::{self, PromiseRow, TokenRow};
use crate::txn::{NO_OWNER, Table};

use super::{State, code_owner, collector};

/// A formula or value that the actor passes on.
pub(crate) struct Gift<'a> {
    /// The recipient, which is an agent or code.
    pub(crate) to: FormulaId,
    /// The name under which the gift is given.
    pub(crate) name: &'a str,
    /// The actor's message that causes the gift.
    pub(crate) source: Option<MessageNumber>,
    /// The grants through which the actor reached the gift.
    pub(crate) through: Vec<FormulaId>,
    /// Whether the recipient is code that the actor both wrote and endows.
    pub(crate) own: bool,
}

impl<'a> Gift<'a> {
    /// Returns a gift that no message causes, and that the actor did not reach through grants.
    pub(crate) fn plain(to: FormulaId, name: &'a str) -> Gift<'a> {
        Gift { to, name, source: None, through: Vec::new(), own: false }
    }

    /// Returns this gift with the actor's message that causes it.
    pub(crate) fn because_of(self, source: Option<MessageNumber>) -> Gift<'a> {
        Gift { source, ..self }
    }
}

/// The key of a gift: the giver, the recipient, the name, the formula, and the grants through which it was reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GiftKey {
    from: FormulaId,
    to: FormulaId,
    name: String,
    id: FormulaId,
    through: Vec<FormulaId>,
}

/// The maximum depth of values inside of values that are passed on.
const MAX_DEPTH: usize = 64;

impl State<'_> {
    /// Records a reason for which an agent holds a formula.
    pub(crate) fn hold(
        &mut self,
        agent: &Number,
        id: &FormulaId,
        tag: &[u8],
        why: &[u8],
    ) -> Result<(), Fault> {
        let key = [&id.number[..], tag, why].concat();
        table::save(self.txn, Table::Held, &agent.0, &key, &true, None)?;
        Ok(())
    }

    /// Removes a reason for which an agent holds a formula.
    pub(crate) fn unhold(
        &mut self,
        agent: &Number,
        id: &FormulaId,
        tag: &[u8],
        why: &[u8],
    ) -> Result<(), Fault> {
        let key = [&id.number[..], tag, why].concat();
        self.txn.delete(Table::Held, &agent.0, &key)?;
        Ok(())
    }

    /// Refuses an identifier that the actor gives without holding the formula.
    pub(crate) fn expect_held(&mut self, id: &FormulaId) -> Result<(), Fault> {
        let actor = self.actor;
        if planted!(self.env, IdentifierAsAuthority) {
            return Ok(());
        }
        if crate::query::holds(self.txn, &actor, id)? { Ok(()) } else { Err(Fault::NotHeld(*id)) }
    }

    /// Refuses a result that refers to formulas that the holder does not hold.
    pub(crate) fn expect_held_by(&mut self, holder: &FormulaId, value: &Value) -> Result<(), Fault> {
        for id in value.references() {
            if !crate::query::holds(self.txn, holder, id)? {
                return Err(Fault::NotHeld(*id));
            }
        }
        Ok(())
    }

    /// Passes a formula on, and returns the formula that the recipient gets. Data is passed on as it is, and a
    /// promise as its value. Of everything else the recipient gets a grant, never the formula itself.
    pub(crate) fn give(&mut self, id: &FormulaId, gift: &Gift<'_>) -> Result<FormulaId, Fault> {
        let key = GiftKey {
            from: self.actor,
            to: gift.to,
            name: gift.name.to_owned(),
            id: *id,
            through: gift.through.clone(),
        };
        if let Some(given) = self.given.get(&key) {
            return Ok(*given);
        }
        if self.giving >= MAX_DEPTH {
            let what = format!("values lie more than {MAX_DEPTH} deep inside of values here");
            return Err(Fault::Misfit { what });
        }
        self.giving += 1;
        let given = self.give_anew(id, gift);
        self.giving -= 1;
        let given = given?;
        self.given.insert(key, given);
        Ok(given)
    }

    fn give_anew(&mut self, id: &FormulaId, gift: &Gift<'_>) -> Result<FormulaId, Fault> {
        // Nothing can be passed on through a grant that can no longer be used.
        let (end, formula) = self.behind(id)?;
        match &formula {
            formula if formula.is_data() => Ok(end),
            Formula::Marshal { value } => {
                let value = self.give_value(value, gift)?;
                let provenance = self.provenance_of(&end)?;
                self.make(Formula::Marshal { value }, provenance)
            }
            // Such a promise settles with data, or with objects of that code. These objects belong to the recipient
            // as well.
            promise if self.is_own_promise(promise, gift)? => Ok(end),
            Formula::Promise { .. } => match table::promise(self.txn, &end)? {
                Some(PromiseRow::Fulfilled { value }) => {
                    let provenance = self.provenance_of(&end)?;
                    match value.as_reference().copied() {
                        Some(inner) => self.give(&inner, gift),
                        None => {
                            let value = self.give_value(&value, gift)?;
                            self.make(Formula::Marshal { value }, provenance)
                        }
                    }
                }
                Some(PromiseRow::Rejected { reason }) => {
                    Err(Fault::Misfit { what: format!("what was asked for was refused: {reason}") })
                }
                // The value is passed on once the promise settles.
                _ => super::follow::follow(self, id, &end, gift),
            },
            other => {
                let words = crate::query::describe(other);
                self.grant_to(id, gift, words)
            }
        }
    }

    /// Returns whether a promise was made by the recipient's own code, or by code of the agent whose own code the
    /// recipient is.
    fn is_own_promise(&mut self, promise: &Formula, gift: &Gift<'_>) -> Result<bool, Fault> {
        let Formula::Promise { code: Some(code), .. } = promise else { return Ok(false) };
        let Some(owner) = code_owner::own_code_of(self, code)? else { return Ok(false) };
        if gift.own {
            return Ok(owner == self.me());
        }
        if gift.to.number == owner.0 {
            return Ok(true);
        }
        match table::formula(self.txn, &gift.to)?.map(|row| row.formula) {
            Some(Formula::Eval { .. }) => Ok(code_owner::own_code_of(self, &gift.to)? == Some(owner)),
            _ => Ok(false),
        }
    }

    /// Passes a value on, and returns the value that the recipient gets. Every capability in it becomes a grant.
    pub(crate) fn give_value(&mut self, value: &Value, gift: &Gift<'_>) -> Result<Value, Fault> {
        value.try_map_references(&mut |id: &FormulaId| self.give(id, gift))
    }

    fn grant_to(&mut self, target: &FormulaId, gift: &Gift<'_>, words: String) -> Result<FormulaId, Fault> {
        let grant = Grant {
            id: self.fresh_id(),
            number: GrantNumber(0),
            target: *target,
            words,
            holder: gift.to,
            owner: self.me(),
            slot: gift.name.to_owned(),
            methods: BTreeSet::from([EVERY_METHOD.to_owned()]),
            attenuation: Attenuation::default(),
            allow: BTreeSet::new(),
            ask: BTreeSet::new(),
            source: gift.source,
            given_ms: self.env.now_ms(),
            expires_ms: None,
            revoked_ms: None,
            revoked_by: None,
        };
        self.make_grant_through(grant, None, gift.through.clone()).map(|grant| grant.id)
    }

    /// Makes a grant with the actor's next number.
    pub(crate) fn make_grant(
        &mut self,
        grant: Grant,
        run: Option<crate::id::RunNumber>,
    ) -> Result<Grant, Fault> {
        self.make_grant_through(grant, run, Vec::new())
    }

    /// Makes a grant of something that was reached through other grants. The new grant ends with them.
    pub(crate) fn make_grant_through(
        &mut self,
        mut grant: Grant,
        run: Option<crate::id::RunNumber>,
        through: Vec<FormulaId>,
    ) -> Result<Grant, Fault> {
        grant.number = GrantNumber(self.count("next_grant")?);
        let Grant { id, target, holder, owner, .. } = grant;
        let said = self.said()?;
        self.put_formula(id, Formula::Grant { target, holder, owner, through }, said)?;
        self.put_grant(&grant)?;
        // The chain of grants must stay short enough to be followed.
        match table::reach(self.txn, &id)? {
            Some(reached) if reached.grants.len() <= table::MAX_CHAIN_LEN => {}
            _ => {
                let what = "this was passed on too often to be passed on again".to_owned();
                return Err(Fault::Misfit { what });
            }
        }
        self.hold(&Number(holder.number), &id, b"g", b"")?;
        let index = table::number_key(grant.number.0);
        let key = [b"n", &index[..]].concat();
        table::save(self.txn, Table::Grant, &owner.0, &key, &id, None)?;
        let digest = crate::audit::digest(&grant)?;
        let slot = grant.slot.clone();
        self.event(Change::Granted { grant: id, number: grant.number, slot, run, digest })?;
        Ok(grant)
    }

    pub(crate) fn put_grant(&mut self, grant: &Grant) -> Result<(), Fault> {
        table::save(self.txn, Table::Grant, &grant.owner.0, &grant.id.number, grant, None)?;
        Ok(())
    }

    /// Saves a sharing token, and keeps the formula that it gives until the token is used or expires.
    pub(crate) fn put_token(&mut self, token: &Number, row: &TokenRow) -> Result<(), Fault> {
        table::save(self.txn, Table::Token, &NO_OWNER, &token.0, row, None)?;
        let ending = table::ending_key(row.expires_ms, token);
        table::save(self.txn, Table::Collector, &NO_OWNER, &ending, token, None)?;
        let root = self.endo();
        self.tie(&root, &format!("token {token}"), &row.formula)
    }

    /// Removes a sharing token, and stops keeping its formula.
    pub(crate) fn drop_token(&mut self, token: &Number, row: &TokenRow) -> Result<(), Fault> {
        self.txn.delete(Table::Token, &NO_OWNER, &token.0)?;
        self.txn.delete(Table::Collector, &NO_OWNER, &table::ending_key(row.expires_ms, token))?;
        let root = self.endo();
        self.untie(&root, &format!("token {token}"), &row.formula)
    }

    /// Returns the formula to which the actor's path leads, for the actor to keep or to pass on. A formula that was
    /// reached through a grant becomes a grant itself. It is given by the owner of that grant, and ends with it.
    pub(crate) fn resolve(&mut self, path: &NamePath) -> Result<FormulaId, Fault> {
        self.resolve_in(None, path)
    }

    /// Returns the formula to which a path from `base` leads, for the actor to keep or to pass on.
    pub(crate) fn resolve_in(
        &mut self,
        base: Option<&FormulaId>,
        path: &NamePath,
    ) -> Result<FormulaId, Fault> {
        let id = self.find_in(base, path)?;
        let through = self.view().grants_on(self.txn, base, path)?;
        let Some(last) = through.last() else { return Ok(id) };
        let owner = match table::grant(self.txn, last)? {
            Some(grant) => self.id_of(grant.owner),
            None => return Err(Fault::Dangling(*last)),
        };
        let actor = self.actor;
        let there = table::formula(self.txn, &owner)?.is_some() && !collector::is_going(self.txn, &owner)?;
        if there {
            self.actor = owner;
        }
        let (_, name) = path.split();
        let given = self.give(&id, &Gift { to: actor, name, source: None, through, own: false });
        self.actor = actor;
        given
    }

    /// Returns the formula to which the actor's path leads, for immediate use. Data becomes a formula of its own.
    pub(crate) fn find(&mut self, path: &NamePath) -> Result<FormulaId, Fault> {
        self.find_in(None, path)
    }

    /// Returns the formula to which a path from `base` leads, for immediate use.
    pub(crate) fn find_in(&mut self, base: Option<&FormulaId>, path: &NamePath) -> Result<FormulaId, Fault> {
        match self.view().resolve_from(self.txn, base, path)? {
            name_lookup::PathTarget::Formula(id) => Ok(id),
            name_lookup::PathTarget::Data(value) => {
                let said = self.said()?;
                self.make(Formula::Marshal { value }, said)
            }
        }
    }

    /// Returns the actor's view of names.
    pub(crate) fn view(&self) -> name_lookup::View {
        name_lookup::View { agent: self.actor, now_ms: self.env.now_ms() }
    }
}
