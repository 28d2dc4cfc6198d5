//! Grants: sharing by token, narrowing, revoking.

use crate::command::{Fault, GrantAct, Reply};
use crate::event::Change;
use crate::grant::{Attenuation, Grant};
use crate::id::{FormulaId, GrantNumber, Number};
use crate::name::NamePath;
use crate::state::{Gift, State};
use crate::table::{self, TokenRow};
use crate::txn::{NOBODY, Table};

pub(super) fn grant(state: &mut State<'_>, act: GrantAct) -> Result<Reply, Fault> {
    match act {
        GrantAct::Share { path, token, expires_ms } => share(state, &path, token, expires_ms),
        GrantAct::Accept { token, path } => accept(state, token, &path),
        GrantAct::Revoke { grant } => revoke(state, grant),
        GrantAct::Attenuate { path, methods, attenuation, to } => {
            attenuate(state, &path, methods, attenuation, &to)
        }
    }
}

fn share(state: &mut State<'_>, path: &NamePath, token: Number, expires_ms: i64) -> Result<Reply, Fault> {
    let formula = state.resolve(path)?;
    state.behind(&formula)?;
    if state.txn.get(Table::Token, &NOBODY, &token.0)?.is_some() {
        return Err(Fault::NoToken);
    }
    state.put_token(&token, &TokenRow { formula, giver: state.actor, expires_ms })?;
    Ok(Reply::Made { id: formula })
}

fn accept(state: &mut State<'_>, token: Number, path: &NamePath) -> Result<Reply, Fault> {
    let row: TokenRow = table::load(state.txn, Table::Token, &NOBODY, &token.0)?.ok_or(Fault::NoToken)?;
    let spot = state.spot(path, "storeIdentifier")?;
    if row.expires_ms <= state.env.now_ms() {
        return Err(Fault::NoToken);
    }
    if !planted!(state.env, TokenUsedTwice) {
        state.drop_token(&token, &row)?;
    }
    let (_, name) = path.split();
    // The giver gives, though the recipient acts: the grant is the giver's to revoke.
    let to = std::mem::replace(&mut state.actor, row.giver);
    let given = state.give(&row.formula, &Gift::plain(to, name));
    state.actor = to;
    let id = given?;
    let id = state.put(&spot, &id)?;
    Ok(Reply::Made { id })
}

fn numbered(state: &mut State<'_>, number: GrantNumber) -> Result<Grant, Fault> {
    let key = [b"n", &table::number_key(number.0)[..]].concat();
    let owner = state.owner();
    let id: FormulaId = table::load(state.txn, Table::Grant, &owner, &key)?.ok_or(Fault::NoGrant(number))?;
    table::load(state.txn, Table::Grant, &owner, &id.number)?.ok_or(Fault::NoGrant(number))
}

/// Ends a grant. What was made of it ends too, since every use follows the chain. What had begun completes.
fn revoke(state: &mut State<'_>, number: GrantNumber) -> Result<Reply, Fault> {
    let mut grant = numbered(state, number)?;
    if grant.revoked_ms.is_some() {
        return Ok(Reply::AlreadySettled);
    }
    grant.revoked_ms = Some(state.env.now_ms());
    state.put_grant(&grant)?;
    state.hasten(&grant.id)?;
    state.event(Change::Revoked { number })?;
    Ok(Reply::Done)
}

fn attenuate(
    state: &mut State<'_>,
    path: &NamePath,
    methods: Vec<String>,
    attenuation: Attenuation,
    to: &NamePath,
) -> Result<Reply, Fault> {
    let target = state.resolve(path)?;
    let (_, formula) = state.behind(&target)?;
    if formula.is_data() {
        return Err(Fault::Misfit { what: format!("{path} is data: there is nothing to take away from it") });
    }
    let spot = state.spot(to, "storeIdentifier")?;
    let (_, name) = to.split();
    let grant = Grant {
        id: state.fresh_id(),
        number: GrantNumber(0),
        target,
        words: crate::query::words(&formula),
        holder: state.actor,
        owner: state.me(),
        slot: name.to_owned(),
        methods: methods.into_iter().collect(),
        attenuation,
        allow: Default::default(),
        ask: Default::default(),
        source: None,
        given_ms: state.env.now_ms(),
        expires_ms: None,
        revoked_ms: None,
    };
    let grant = state.make_grant(grant, None)?;
    state.put(&spot, &grant.id)?;
    Ok(Reply::Granted { number: grant.number })
}
