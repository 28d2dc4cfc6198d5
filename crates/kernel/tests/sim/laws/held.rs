//! Every formula that an agent holds has a reason that still exists.

use std::collections::BTreeSet;

use kernel::formula::Formula;
use kernel::message::Body;
use kernel::table::PromiseRow;
use kernel::txn::Table;

use crate::simulation::Simulation;

use super::snapshot::{Number, Snapshot, number};
use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let mut expected: BTreeSet<Vec<u8>> = BTreeSet::new();
    let key =
        |holder: &Number, held: &Number, tag: &[u8], why: &[u8]| [&holder[..], &held[..], tag, why].concat();
    for (owner, store, name, id) in &snapshot.names {
        let why = [&store[..], name.as_bytes()].concat();
        expected.insert(key(owner, &id.number, b"n", &why));
    }
    for ((owner, _), letters) in &snapshot.mail {
        let handle =
            snapshot.formulas.get(owner).and_then(|formula| formula.agent()).map(|agent| agent.handle);
        for mail in letters.values() {
            let Some(id) = mail.message else { continue };
            let Some(Formula::Message { message }) = snapshot.formulas.get(&id.number) else { continue };
            expected.insert(key(owner, &id.number, b"m", &id.number));
            let asked = message.body.asks().map(|(promise, _)| promise);
            let parties = [message.from, message.to];
            let all = match &message.body {
                // The formulas that a request for evaluation names stay the sender's.
                Body::EvalRequest { .. } if Some(message.from) != handle => vec![],
                _ if Some(message.to) == handle => message.references(),
                // The sender keeps its own formulas, not the grants that it gave.
                Body::EvalRequest { ids, .. } => ids.clone(),
                Body::Definition { definition, .. } => vec![*definition],
                _ => vec![],
            };
            // Its own mail address it has without a reason.
            let held = all.into_iter().chain(asked).chain(parties).filter(|id| Some(*id) != handle);
            for held in held {
                expected.insert(key(owner, &held.number, b"m", &id.number));
            }
        }
    }
    for (promise, row) in &snapshot.promises {
        let (Some(Formula::Promise { asker, .. }), PromiseRow::Fulfilled { value }) =
            (snapshot.formulas.get(promise), row)
        else {
            continue;
        };
        for held in value.references() {
            expected.insert(key(&asker.0, &held.number, b"r", promise));
        }
    }
    for (grant, formula) in &snapshot.formulas {
        if let Formula::Grant { holder, .. } = formula {
            expected.insert(key(&holder.number, grant, b"g", b""));
        }
        // Code holds the formulas that it made, and so does an agent that both wrote and endowed the code.
        if let Formula::Promise { asker, code: Some(eval), .. } = formula {
            expected.insert(key(&eval.number, grant, b"x", b""));
            let own = match snapshot.formulas.get(&eval.number) {
                Some(Formula::Eval { author, .. }) => *author == *asker,
                _ => false,
            };
            expected.extend(own.then(|| key(&asker.0, grant, b"x", b"")));
        }
        if let Formula::Export { eval, holder, .. } = formula {
            expected.insert(key(&eval.number, grant, b"x", b""));
            expected.extend(holder.map(|holder| key(&holder.0, grant, b"x", b"")));
        }
    }
    let held: BTreeSet<&[u8]> = world.store.rows(Table::Held).map(|(place, _)| place).collect();
    let show = |place: &[u8]| {
        let kind = |n: &[u8]| snapshot.formulas.get(&number(n)).map_or("nothing", |formula| formula.kind());
        let why = place.get(65..97).map_or("nothing", kind);
        format!(
            "{} holds {} as {:?} because of a {why}",
            kind(place),
            kind(&place[32..]),
            char::from(place[64])
        )
    };
    // Rows of an agent that is being removed go in several steps.
    let stays = |place: &[u8]| snapshot.stays(&number(place)) && snapshot.stays(&number(&place[32..]));
    for place in held.iter().filter(|place| stays(place)) {
        expect(expected.contains(*place), "who-holds-has-a-reason", || show(place))?;
    }
    for place in expected.iter().filter(|place| stays(place)) {
        expect(held.contains(&place[..]), "who-has-a-reason-holds", || show(place))?;
    }
    Ok(())
}
