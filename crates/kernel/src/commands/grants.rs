//! Grants: sharing by token, narrowing, revoking.

use crate::command::{Fault, GrantAct, Reply};
use crate::event::Change;
use crate::formula::Formula;
use crate::grant::{Attenuation, Grant};
use crate::id::{FormulaId, GrantNumber, Number};
use crate::name::NamePath;
use crate::name_lookup;
use crate::state::{EndedObject, Gift, State};
use crate::table::{self, TokenRow};
use crate::txn::{NO_OWNER, Table};

pub(super) fn grant(state: &mut State<'_>, act: GrantAct) -> Result<Reply, Fault> {
    match act {
        GrantAct::Share { path, token, expires_ms } => share(state, &path, token, expires_ms),
        GrantAct::Accept { token, path } => accept(state, token, &path),
        GrantAct::Revoke { grant } => revoke(state, grant),
        GrantAct::Attenuate { path, is, methods, attenuation, expires_ms, to, force } => {
            state.forced = force;
            attenuate(state, &path, is, Less { methods, attenuation, expires_ms }, &to)
        }
    }
}

fn share(state: &mut State<'_>, path: &NamePath, token: Number, expires_ms: i64) -> Result<Reply, Fault> {
    let formula = state.resolve(path)?;
    state.behind(&formula)?;
    if state.txn.get(Table::Token, &NO_OWNER, &token.0)?.is_some() {
        return Err(Fault::NoToken);
    }
    state.put_token(&token, &TokenRow { formula, giver: state.actor, expires_ms })?;
    Ok(Reply::Made { id: formula })
}

fn accept(state: &mut State<'_>, token: Number, path: &NamePath) -> Result<Reply, Fault> {
    let row: TokenRow = table::load(state.txn, Table::Token, &NO_OWNER, &token.0)?.ok_or(Fault::NoToken)?;
    let spot = state.spot(path, "storeIdentifier")?;
    if row.expires_ms <= state.env.now_ms() {
        return Err(Fault::NoToken);
    }
    if !planted!(state.env, TokenUsedTwice) {
        state.drop_token(&token, &row)?;
    }
    let (_, name) = path.split();
    // The recipient acts, but the giver makes the grant: so the giver can revoke it.
    let to = std::mem::replace(&mut state.actor, row.giver);
    let given = state.give(&row.formula, &Gift::plain(to, name));
    state.actor = to;
    let id = given?;
    let id = state.put(&spot, &id)?;
    Ok(Reply::Made { id })
}

/// Returns the actor's grant of this number, if there is one.
pub(super) fn find(state: &mut State<'_>, number: GrantNumber) -> Result<Option<Grant>, Fault> {
    let key = [b"n", &table::number_key(number.0)[..]].concat();
    let owner = state.owner();
    let id: Option<FormulaId> = table::load(state.txn, Table::Grant, &owner, &key)?;
    Ok(match id {
        Some(id) => table::load(state.txn, Table::Grant, &owner, &id.number)?,
        None => None,
    })
}

/// Ends a grant. Grants that were made of it end too, since every use follows the chain. Begun effects complete.
fn revoke(state: &mut State<'_>, number: GrantNumber) -> Result<Reply, Fault> {
    let mut grant = find(state, number)?.ok_or(Fault::NoGrant(number))?;
    if grant.revoked_ms.is_some() {
        return Ok(Reply::AlreadySettled);
    }
    grant.revoked_ms = Some(state.env.now_ms());
    state.put_grant(&grant)?;
    state.ended.push(EndedObject::Grant(grant.id));
    state.hasten(&grant.id)?;
    state.event(Change::Revoked { number })?;
    Ok(Reply::Done)
}

/// The remaining authority of a narrower grant.
struct Less {
    methods: Vec<String>,
    attenuation: Attenuation,
    expires_ms: Option<i64>,
}

/// Gives a name to a narrower grant of the formula to which the path leads. The new grant is never wider than the
/// original, since every use follows the chain.
fn attenuate(
    state: &mut State<'_>,
    path: &NamePath,
    is: Option<FormulaId>,
    less: Less,
    to: &NamePath,
) -> Result<Reply, Fault> {
    if less.attenuation.staged_from.is_some() {
        // Such a grant would claim that the directory behind it is a copy.
        return Err(Fault::NotAllowed("a staged copy belongs to a run".to_owned()));
    }
    if let Some(is) = is
        && state.find(path)? != is
    {
        return Err(Fault::NotAsSeen { path: path.to_string() });
    }
    let (target, through) = kept(state, path)?;
    let (_, formula) = state.behind(&target)?;
    match &formula {
        Formula::Promise { .. } => {
            let what = format!("nothing has come of {path}: there is nothing to take away from it");
            return Err(Fault::Misfit { what });
        }
        Formula::Marshal { .. } => return Err(is_data(path)),
        data if data.is_data() => return Err(is_data(path)),
        _ => {}
    }
    let spot = state.spot(to, "storeIdentifier")?;
    let (_, name) = to.split();
    let grant = Grant {
        id: state.fresh_id(),
        number: GrantNumber(0),
        target,
        words: crate::query::describe_with(&formula, &less.methods.iter().cloned().collect()),
        holder: state.actor,
        owner: state.me(),
        slot: name.to_owned(),
        methods: less.methods.into_iter().collect(),
        attenuation: less.attenuation,
        allow: Default::default(),
        ask: Default::default(),
        source: None,
        given_ms: state.env.now_ms(),
        expires_ms: less.expires_ms,
        revoked_ms: None,
        revoked_by: None,
    };
    let grant = state.make_grant_through(grant, None, through)?;
    state.put(&spot, &grant.id)?;
    Ok(Reply::Granted { number: grant.number })
}

fn is_data(path: &NamePath) -> Fault {
    Fault::Misfit { what: format!("{path} is data: there is nothing to take away from it") }
}

/// Returns the formula to which a path leads, and the grants through which promises on the way were kept. A name
/// often stands for a promise. Its users follow the promise to its value, so a grant of the promise would have no
/// effect on them.
fn kept(state: &mut State<'_>, path: &NamePath) -> Result<(FormulaId, Vec<FormulaId>), Fault> {
    let named = state.resolve(path)?;
    let mut passed = vec![named];
    passed.extend(name_lookup::settled_references(state.txn, &named)?);
    let target = passed.pop().unwrap_or(named);
    let mut through = Vec::new();
    for id in passed {
        if table::grant(state.txn, &id)?.is_some() {
            through.push(id);
        }
    }
    Ok((target, through))
}
