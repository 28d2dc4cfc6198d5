//! The reach of a guest: without a grant it reaches only formulas that it made, its own parts, and addresses of
//! agents.

use std::collections::HashSet;

use kernel::FormulaId;
use kernel::formula::Formula;
use kernel::message::Body;
use kernel::table::PromiseRow;

use crate::simulation::{Fact, Simulation};

use super::snapshot::{Number, Snapshot};
use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let guests: Vec<FormulaId> =
        world.agents.iter().filter(|agent| !agent.is_host).map(|agent| agent.id).collect();
    for guest in guests {
        if snapshot.stays(&guest.number) {
            reach(world, snapshot, &guest)?;
        }
    }
    released(world, snapshot)
}

/// Walks from a guest's names, mail and settled promises, and stops at grants.
fn reach(world: &Simulation, snapshot: &Snapshot, guest: &FormulaId) -> Law {
    let Some(own) = snapshot.formulas.get(&guest.number).and_then(|formula| formula.agent()).copied() else {
        return Ok(());
    };
    let mut next: Vec<Number> = snapshot
        .names
        .iter()
        .filter(|(owner, ..)| *owner == guest.number)
        .map(|(_, _, _, id)| id.number)
        .collect();
    if let Some(letters) = snapshot.mail.get(&(guest.number, own.mailbox.number)) {
        next.extend(letters.values().filter_map(|mail| mail.message).map(|id| id.number));
    }
    for (promise, row) in &snapshot.promises {
        let asked = matches!(snapshot.formulas.get(promise),
            Some(Formula::Promise { asker, .. }) if asker.0 == guest.number);
        if let (true, PromiseRow::Fulfilled { value }) = (asked, row) {
            next.extend(value.references().into_iter().map(|id| id.number));
        }
    }
    let parts =
        [guest.number, own.handle.number, own.directory.number, own.mailbox.number, own.mail_hub.number];
    let made = |number: &Number| world.makers.get(number) == Some(guest);
    let mut seen: HashSet<Number> = next.iter().copied().collect();
    while let Some(here) = next.pop() {
        let Some(formula) = snapshot.formulas.get(&here) else { continue };
        if parts.contains(&here) {
            continue;
        }
        let inside = match formula {
            // The owner of a grant has its target anyway.
            Formula::Grant { holder, owner, .. } => {
                let fits = holder == guest || owner.0 == guest.number || made(&holder.number);
                expect(fits, "a-grant-is-used-by-its-holder", || {
                    format!("{} holds {formula:?} of {}", guest.short(), holder.short())
                })?;
                vec![]
            }
            // The holder of an address can write there, and no more.
            Formula::Handle { .. } => vec![],
            // Mail is between two agents; its content was handed over.
            Formula::Message { message } => {
                let mine = message.from == own.handle || message.to == own.handle;
                expect(mine, "a-guest-reads-its-own-mail", || format!("{:?}", message.body.kind()))?;
                match &message.body {
                    Body::EvalRequest { promise, .. } if message.from != own.handle => vec![*promise],
                    Body::Package { ids, .. } if message.from == own.handle => {
                        // The grants that it gave away are the recipient's.
                        ids.iter().filter(|id| !is_grant(snapshot, id)).copied().collect()
                    }
                    Body::Value { value } if message.from == own.handle && is_grant(snapshot, value) => {
                        vec![]
                    }
                    Body::Value { value } if message.from == own.handle && !made(&value.number) => vec![],
                    Body::Value { .. } if message.from == own.handle => vec![],
                    _ => message.references(),
                }
            }
            // The result of a promise is for its asker.
            Formula::Promise { .. } | Formula::Resolver { .. } => vec![],
            Formula::Definition { .. } => vec![],
            // A value reaches the references that it holds.
            Formula::Marshal { .. } | Formula::Blob { .. } | Formula::Tree(_) => formula.references(),
            other => {
                expect(made(&here), "a-guest-reaches-nothing-of-others-but-through-a-grant", || {
                    let maker = world.makers.get(&here).map(FormulaId::short);
                    format!("guest {} reaches a {} of {maker:?}", guest.short(), other.kind())
                })?;
                other.references()
            }
        };
        next.extend(inside.into_iter().map(|id| id.number).filter(|number| seen.insert(*number)));
    }
    Ok(())
}

fn is_grant(snapshot: &Snapshot, id: &FormulaId) -> bool {
    matches!(snapshot.formulas.get(&id.number), Some(Formula::Grant { .. }))
}

/// Returns a promise that was to get data alone holds no reference, unless a person released one.
fn released(world: &Simulation, snapshot: &Snapshot) -> Law {
    let mut may: HashSet<FormulaId> = HashSet::new();
    for fact in &world.facts {
        if let Fact::MayCarry { promise } = fact {
            may.insert(*promise);
        }
    }
    for fact in &world.facts {
        let Fact::DataOnly { promise } = fact else { continue };
        if let (Some(PromiseRow::Fulfilled { value }), false) =
            (snapshot.promises.get(&promise.number), may.contains(promise))
        {
            expect(value.references().is_empty(), "a-capability-is-released-or-withheld", || {
                format!("{value:?}")
            })?;
        }
    }
    Ok(())
}
