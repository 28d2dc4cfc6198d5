//! References: each has its edge, each edge is a reference, and each leads somewhere.

use std::collections::{BTreeSet, HashMap, HashSet};

use kernel::FormulaId;
use kernel::code::Record;
use kernel::formula::Formula;
use kernel::run::{Delivery, Run};
use kernel::table::{self, EvalRow, PromiseRow, TokenRow, edge_key};
use kernel::txn::{NO_OWNER, Table, decode_row};

use crate::simulation::Simulation;

use super::snapshot::{Number, Snapshot, number};
use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let mut expected = BTreeSet::new();
    let node = world.root().node;
    let id = |number: &Number| FormulaId { number: *number, node };
    for (from, formula) in &snapshot.formulas {
        for (label, to) in formula.edges() {
            expected.insert(edge_key(&to, &id(from), &label));
        }
    }
    for (_, store, name, to) in &snapshot.names {
        expected.insert(edge_key(to, &id(store), &format!("name {name}")));
    }
    for ((_, mailbox), letters) in &snapshot.mail {
        for (n, mail) in letters {
            if let Some(message) = &mail.message {
                expected.insert(edge_key(message, &id(mailbox), &format!("message {n}")));
            }
            // The result of a definition stays as long as the definition lies in the mailbox.
            for one in &mail.endowed {
                expected.insert(edge_key(&one.result, &id(mailbox), &format!("endowed {n} {}", one.after)));
            }
        }
    }
    for (promise, row) in &snapshot.promises {
        if let PromiseRow::Fulfilled { value } = row {
            for (i, to) in value.references().into_iter().enumerate() {
                expected.insert(edge_key(to, &id(promise), &format!("value {i}")));
            }
        }
    }
    let root = table::endo(&mut world.store).unwrap().unwrap();
    let host = world.root();
    let mut parties = |work: &FormulaId, doer: FormulaId, delivery: Option<Delivery>| {
        let work = kernel::id::Number(work.number);
        if doer != host {
            expected.insert(edge_key(&doer, &root, &format!("doer of {work}")));
        }
        if let Some(Delivery { guest, promise, .. }) = delivery {
            expected.insert(edge_key(&guest, &root, &format!("guest of {work}")));
            expected.insert(edge_key(&promise, &root, &format!("promise of {work}")));
        }
    };
    let mut open = Vec::new();
    for (place, row) in world.store.rows(Table::Run) {
        let run: Run = decode_row(Table::Run, row).unwrap();
        if run.is_agent_journal() && !run.is_finished() {
            // The agent keeps its journal, and the journal keeps no agent.
            open.push(edge_key(&run.id, &run.worker, "journal"));
        } else if !run.is_finished() {
            parties(&run.id, id(&number(place)), run.delivery);
            open.push(edge_key(&run.id, &root, &format!("run {}", run.number)));
            for slot in run.made.union(&run.given) {
                open.push(edge_key(&run.grants[slot], &root, &format!("made by {}: {slot}", run.number)));
            }
        }
    }
    for (place, row) in world.store.rows(Table::Meta) {
        if let Some(eval) = place.strip_prefix(&[&NO_OWNER[..], b"code "].concat()[..]) {
            let record: Record = decode_row(Table::Meta, row).unwrap();
            let eval = id(&number(eval));
            for (i, to) in record.entry.needs().iter().enumerate() {
                open.push(edge_key(to, &eval, &format!("heard {}.{i}", record.number)));
            }
        }
        if let Some(eval) = place.strip_prefix(&[&NO_OWNER[..], b"eval "].concat()[..]) {
            let row: EvalRow = decode_row(Table::Meta, row).unwrap();
            let eval = id(&number(eval));
            open.push(edge_key(&eval, &root, "eval"));
            if let Some(Formula::Eval { result, .. }) = snapshot.formulas.get(&eval.number)
                && let Some(Formula::Promise { asker, .. }) = snapshot.formulas.get(&result.number)
            {
                parties(&eval, id(&asker.0), row.delivery);
            }
        }
    }
    expected.extend(open);
    expected.extend(super::ticks::edges(world, node));
    for (place, row) in world.store.rows(Table::Token) {
        let token: TokenRow = decode_row(Table::Token, row).unwrap();
        let label = format!("token {}", kernel::id::Number(number(&place[32..])));
        expected.insert(edge_key(&token.formula, &root, &label));
    }
    let edges: BTreeSet<&[u8]> = world.store.rows(Table::Edge).map(|(place, _)| &place[32..]).collect();
    let show = |key: &[u8]| {
        let short = |number: &[u8]| id(&crate::laws::snapshot::number(number)).short();
        let label = String::from_utf8_lossy(&key[64..]).into_owned();
        let kind = snapshot.formulas.get(&number(&key[32..])).map_or("nothing", |formula| formula.kind());
        format!("{kind} {} -[{label}]-> {}", short(&key[32..]), short(key))
    };
    for key in &expected {
        expect(edges.contains(&key[..]), "a-reference-has-its-edge", || show(key))?;
        let target = number(key);
        let dangles =
            !snapshot.formulas.contains_key(&target) && !snapshot.going.contains(&number(&key[32..]));
        expect(!dangles, "no-reference-dangles", || show(key))?;
    }
    for key in &edges {
        // An edge without a row would keep its target alive for ever.
        expect(expected.contains(*key), "an-edge-is-a-reference", || show(key))?;
    }
    Ok(())
}

/// Checks, after a complete collection, that every formula can be reached and that no row belongs to a removed one.
pub(crate) fn nothing_but_reachable(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let mut references: HashMap<Number, Vec<Number>> = HashMap::new();
    for (place, _) in world.store.rows(Table::Edge) {
        references.entry(number(&place[64..])).or_default().push(number(&place[32..]));
    }
    let root = table::endo(&mut world.store).unwrap().unwrap().number;
    let mut reached = HashSet::from([root]);
    let mut next = vec![root];
    while let Some(here) = next.pop() {
        for to in references.get(&here).into_iter().flatten() {
            if reached.insert(*to) {
                next.push(*to);
            }
        }
    }
    let node = world.root().node;
    let name = |number: &Number| {
        let kind = snapshot.formulas.get(number).map_or("nothing", |formula| formula.kind());
        format!("{kind} {}", FormulaId { number: *number, node }.short())
    };
    for number in snapshot.formulas.keys() {
        expect(reached.contains(number), "no-garbage-is-kept", || name(number))?;
    }
    let gone = |number: &Number| !snapshot.formulas.contains_key(number);
    for (_, store, pet_name, _) in &snapshot.names {
        expect(!gone(store), "no-row-outlives-its-formula", || {
            format!("name {pet_name} in {}", name(store))
        })?;
    }
    for (_, mailbox) in snapshot.mail.keys() {
        expect(!gone(mailbox), "no-row-outlives-its-formula", || format!("mail of {}", name(mailbox)))?;
    }
    for promise in snapshot.promises.keys() {
        expect(!gone(promise), "no-row-outlives-its-formula", || format!("promise {}", name(promise)))?;
    }
    for (place, _) in world.store.rows(Table::Mailbox) {
        let mailbox = number(&place[32..]);
        expect(!gone(&mailbox), "no-row-outlives-its-formula", || format!("index of {}", name(&mailbox)))?;
    }
    for (place, _) in world.store.rows(Table::Held) {
        let (holder, held) = (number(place), number(&place[32..]));
        let what = || format!("{} holds {}", name(&holder), name(&held));
        expect(!gone(&holder) && !gone(&held), "no-row-outlives-its-formula", what)?;
    }
    Ok(())
}
