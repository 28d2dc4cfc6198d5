//! The event logs: chained, complete, permanent, and in agreement with the tables.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernel::audit::RecordStatus;
use kernel::event::{Change, Event};
use kernel::grant::Grant;
use kernel::message::Mail;
use kernel::run::Run;
use kernel::table::PromiseRow;
use kernel::txn::{Owner, Table, decode_row};
use kernel::{BlobHash, FormulaId, MessageNumber};

use crate::simulation::Simulation;

use super::snapshot::{Number, Snapshot, number};
use super::{Law, expect};

/// The state that the events of a store add up to.
#[derive(Default)]
struct EventSummary {
    names: HashMap<(Owner, Number, String), FormulaId>,
    messages: HashMap<Owner, BTreeMap<MessageNumber, String>>,
    needs_you: HashMap<(Owner, MessageNumber), bool>,
    dismissed: HashSet<(Owner, MessageNumber)>,
    settled: HashMap<Number, bool>,
    granted: HashMap<(Owner, u64), FormulaId>,
    revoked: HashMap<(Owner, u64), i64>,
    started: HashSet<(Owner, u64)>,
    steps: HashMap<(Owner, u64), u64>,
    finished: HashSet<(Owner, u64)>,
}

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    for (owner, (place, row)) in &world.acknowledged {
        let kept = world.store.rows_at(Table::Event, place) == Some(&row[..]);
        expect(kept, "nothing-acknowledged-is-lost", || format!("an event of {:?}", &owner[..4]))?;
    }
    let mut told = EventSummary::default();
    let mut events = Vec::new();
    let mut last: Option<(Owner, u64, BlobHash)> = None;
    for (place, row) in world.store.rows(Table::Event) {
        let owner = number(place);
        let event: Event = decode_row(Table::Event, row).unwrap();
        let (seq, prev) = match last {
            Some((who, seq, hash)) if who == owner => (seq + 1, hash),
            _ => (1, BlobHash([0; 32])),
        };
        let at = || format!("event {} of {:?}", event.seq, &owner[..4]);
        expect(event.seq == seq && place[32..] == seq.to_be_bytes(), "events-are-dense", at)?;
        expect(event.verify(prev), "the-audit-verifies", at)?;
        last = Some((owner, seq, event.hash));
        told.hear(owner, &event)?;
        events.push((owner, event));
    }
    let node = world.root().node;
    for (number, event) in events {
        let kept =
            kernel::audit::check_record(&mut world.store, &FormulaId { number, node }, &event).unwrap();
        expect(kept != RecordStatus::Altered, "what-was-recorded-stays-as-it-was", || {
            format!("event {}", event.seq)
        })?;
    }
    told.compare(world, snapshot)
}

impl EventSummary {
    fn hear(&mut self, owner: Owner, event: &Event) -> Law {
        match &event.change {
            Change::Named { directory, name, id } => {
                self.names.insert((owner, directory.number, name.clone()), *id);
            }
            Change::Unnamed { directory, name } => {
                self.names.remove(&(owner, directory.number, name.clone()));
            }
            Change::Message { number, kind, needs_you, .. } => {
                let letters = self.messages.entry(owner).or_default();
                let before = letters.last_key_value().map(|(number, _)| *number);
                expect(number.follows(before), "message-numbers-are-dense", || {
                    format!("{number} came after {before:?}")
                })?;
                letters.insert(*number, kind.clone());
                self.needs_you.insert((owner, *number), *needs_you);
            }
            Change::Answered { number, needs_you, .. } => {
                self.needs_you.insert((owner, *number), *needs_you);
            }
            Change::Dismissed { number } => {
                self.dismissed.insert((owner, *number));
                self.needs_you.insert((owner, *number), false);
            }
            Change::Settled { promise, ok } => {
                let before = self.settled.insert(promise.number, *ok);
                expect(before.is_none(), "a-promise-settles-once", || format!("{promise:?} settled again"))?;
            }
            Change::Granted { grant, number, .. } => {
                self.granted.insert((owner, number.0), *grant);
            }
            Change::Revoked { number } => {
                let before = self.revoked.insert((owner, number.0), event.at_ms);
                expect(before.is_none(), "a-grant-is-revoked-once", || format!("{number}"))?;
            }
            Change::RunStarted { run, .. } => {
                expect(self.started.insert((owner, run.0)), "a-run-starts-once", || format!("{run}"))?;
            }
            Change::Step { run, step, .. } => {
                let steps = self.steps.entry((owner, run.0)).or_default();
                *steps += 1;
                expect(*steps == *step, "a-journal-is-dense", || format!("{run}#{step}"))?;
            }
            Change::RunFinished { run, .. } => {
                expect(self.finished.insert((owner, run.0)), "a-run-ends-once", || format!("{run}"))?;
            }
            Change::Genesis { .. }
            | Change::Opened { .. }
            | Change::Cancelled { .. }
            | Change::CommandCompleted { .. }
            | Change::Relocated { .. } => {}
        }
        Ok(())
    }

    fn compare(mut self, world: &Simulation, snapshot: &Snapshot) -> Law {
        const LAW: &str = "events-tell-what-the-tables-say";
        for (owner, store, name, id) in &snapshot.names {
            let told = self.names.remove(&(*owner, *store, name.clone()));
            expect(told == Some(*id), LAW, || format!("name {name}: {told:?} or {id:?}"))?;
        }
        for (owner, store, name) in self.names.keys() {
            // The names of a directory that is gone went with it.
            expect(!snapshot.stays(store), LAW, || format!("name {name} of {:?} is lost", &owner[..4]))?;
        }
        for ((owner, mailbox), letters) in &snapshot.mail {
            if snapshot.stays(mailbox) {
                self.compare_mail(owner, letters)?;
            }
        }
        for (promise, row) in &snapshot.promises {
            let told = self.settled.get(promise).copied();
            let is = match row {
                PromiseRow::Pending => None,
                PromiseRow::Fulfilled { .. } => Some(true),
                PromiseRow::Rejected { .. } => Some(false),
            };
            expect(told == is, LAW, || format!("a promise: {told:?} or {is:?}"))?;
        }
        for (place, row) in world.store.rows(Table::Grant).filter(|(place, _)| place.len() == 64) {
            let grant: Grant = decode_row(Table::Grant, row).unwrap();
            let key = (number(place), grant.number.0);
            let told = self.granted.remove(&key);
            expect(told == Some(grant.id), LAW, || format!("{}: {told:?}", grant.number))?;
            let revoked = self.revoked.remove(&key);
            expect(revoked == grant.revoked_ms, LAW, || format!("{}: revoked {revoked:?}", grant.number))?;
        }
        expect(self.granted.is_empty() && self.revoked.is_empty(), LAW, || "a grant is lost".to_owned())?;
        for (place, row) in world.store.rows(Table::Run) {
            let run: Run = decode_row(Table::Run, row).unwrap();
            let key = (number(place), run.number.0);
            expect(self.started.remove(&key), LAW, || format!("{} never started", run.number))?;
            let steps = self.steps.remove(&key).unwrap_or(0);
            expect(steps + 1 == run.next_step, LAW, || format!("{}: {steps} steps", run.number))?;
            expect(self.finished.remove(&key) == run.is_finished(), LAW, || format!("{} ended", run.number))?;
        }
        expect(self.started.is_empty(), LAW, || "a run is lost".to_owned())
    }

    fn compare_mail(&self, owner: &Owner, letters: &BTreeMap<MessageNumber, Mail>) -> Law {
        const LAW: &str = "events-tell-what-the-tables-say";
        let told = self.messages.get(owner).map_or(0, BTreeMap::len);
        expect(told == letters.len(), LAW, || format!("{told} messages came, {} are there", letters.len()))?;
        for (n, mail) in letters {
            let kind = self.messages.get(owner).and_then(|letters| letters.get(n));
            expect(kind == Some(&mail.envelope.kind), LAW, || format!("message {n}: {kind:?}"))?;
            let dismissed = self.dismissed.contains(&(*owner, *n));
            expect(dismissed == mail.dismissed_ms.is_some(), LAW, || format!("message {n}: {dismissed}"))?;
            let needs_you = self.needs_you.get(&(*owner, *n)).copied();
            expect(needs_you == Some(mail.needs_you), LAW, || format!("message {n} waits: {needs_you:?}"))?;
        }
        Ok(())
    }
}
