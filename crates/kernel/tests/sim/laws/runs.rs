//! Runs, the outbox, and the consent of persons.

use std::collections::{BTreeMap, BTreeSet};

use kernel::formula::Formula;
use kernel::message::Body;
use kernel::proposal::{Decision, Fingerprint};
use kernel::run::{Entry, Phase, Run, State, Step};
use kernel::table::{EvalRow, PermissionRow, PromiseRow, Task, permission_key};
use kernel::txn::{NO_OWNER, Owner, Table, decode_row};
use kernel::{RunNumber, StepRef};

use crate::simulation::Simulation;

use super::snapshot::{Snapshot, number};
use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let mut outbox: BTreeMap<(Owner, u64), Task> = world
        .store
        .rows(Table::Outbox)
        .map(|(place, row)| {
            let seq = u64::from_be_bytes(place[32..].try_into().unwrap());
            ((number(place), seq), decode_row(Table::Outbox, row).unwrap())
        })
        .collect();
    let mut journals: BTreeMap<(Owner, RunNumber), Vec<Step>> = BTreeMap::new();
    for (place, row) in world.store.rows(Table::Journal) {
        let run = RunNumber(u64::from_be_bytes(place[32..40].try_into().unwrap()));
        journals.entry((number(place), run)).or_default().push(decode_row(Table::Journal, row).unwrap());
    }
    let mut permissions: BTreeSet<(Owner, Vec<u8>)> = BTreeSet::new();
    for (place, row) in world.store.rows(Table::Permission) {
        let _: PermissionRow = decode_row(Table::Permission, row).unwrap();
        permissions.insert((number(place), place[32..].to_vec()));
    }
    let mut wakes = wakes(world);
    for (place, row) in world.store.rows(Table::Run) {
        let owner = number(place);
        let run: Run = decode_row(Table::Run, row).unwrap();
        let ready = run.state == State::Ready;
        expect(ready == run.drive.is_some(), "a-run-that-can-go-on-is-driven", || {
            format!("{} is {:?}, its row {:?}", run.number, run.state, run.drive)
        })?;
        if let Some(seq) = run.drive {
            let task = outbox.remove(&(owner, seq));
            expect(task == Some(Task::Drive { run: run.number }), "a-run-that-can-go-on-is-driven", || {
                format!("{}: {task:?}", run.number)
            })?;
            // The calls that an agent makes by itself end with the agent.
            expect(
                run.is_agent_journal() || snapshot.stays(&owner),
                "a-run-that-can-go-on-has-somebody-to-drive-it",
                || format!("{} has outlived its agent", run.number),
            )?;
        }
        for (step, phase) in &run.open {
            if let Phase::Sleeping { until_ms } | Phase::Paused { until_ms } = phase {
                let kept = wakes.remove(&(owner, run.number, *step));
                expect(kept == Some(*until_ms), "what-sleeps-is-woken", || {
                    format!("{}#{step}: {kept:?}", run.number)
                })?;
            }
            if let Phase::Executing { outbox: seq } = phase {
                let task = outbox.remove(&(owner, *seq));
                let at = StepRef { run: run.number, step: *step };
                expect(task == Some(Task::Effect { step: at }), "what-began-is-in-the-outbox", || {
                    format!("{at}: {task:?}")
                })?;
            }
        }
        more(world, &run, &owner)?;
        if !run.is_finished() && (!run.is_agent_journal() || snapshot.stays(&run.worker.number)) {
            for id in run.grants.values().chain([&run.worker, &run.result, &run.id]) {
                expect(snapshot.stays(&id.number), "a-run-keeps-what-it-needs", || {
                    format!("{} {id:?}", run.number)
                })?;
            }
        }
        if let Some(settled) = snapshot.promises.get(&run.result.number) {
            // Who waits may cancel the promise alone, before the run ends.
            expect(
                !run.is_finished() || *settled != PromiseRow::Pending,
                "a-run-settles-its-promise",
                || format!("{} ended, its promise waits", run.number),
            )?;
        }
        let journal = journals.remove(&(owner, run.number)).unwrap_or_default();
        raised(world, snapshot, &run, &journal, &owner)?;
        consent(&run, &journal, &owner, &mut permissions)?;
    }
    for (place, row) in world.store.rows(Table::Meta) {
        if let Some(eval) = place.strip_prefix(&[&NO_OWNER[..], b"send "].concat()[..]) {
            let formula = snapshot.formulas.get(&number(eval));
            expect(matches!(formula, Some(Formula::Eval { .. })), "what-code-sent-goes-with-it", || {
                format!("{:?} of {formula:?}", decode_row::<StepRef>(Table::Meta, row))
            })?;
        }
        if place.starts_with(&[&NO_OWNER[..], b"eval "].concat()) {
            let row: EvalRow = decode_row(Table::Meta, row).unwrap();
            let task = outbox.remove(&(world.agents[0].id.number, row.outbox));
            expect(matches!(task, Some(Task::Eval { .. })), "endowed-code-is-in-the-outbox", || {
                format!("{task:?}")
            })?;
        }
    }
    expect(wakes.is_empty(), "nobody-else-is-woken", || format!("{wakes:?}"))?;
    expect(outbox.is_empty(), "the-outbox-holds-nothing-else", || format!("{outbox:?}"))?;
    expect(permissions.is_empty(), "a-permission-is-consumed", || format!("{} are left", permissions.len()))
}

/// Returns who is to be woken, and when.
fn wakes(world: &Simulation) -> BTreeMap<(Owner, RunNumber, u64), i64> {
    let rows = world.store.rows(Table::Meta).filter(|(place, _)| place[32..].starts_with(b"wake "));
    rows.map(|(place, _)| {
        let key = &place[32 + b"wake ".len()..];
        let number_at = |at: usize| u64::from_be_bytes(key[at..at + 8].try_into().unwrap());
        let at_ms = (number_at(0) ^ (1 << 63)) as i64;
        ((number(&key[8..40]), RunNumber(number_at(72)), number_at(80)), at_ms)
    })
    .collect()
}

/// Checks that a run with an exhausted limit waits, with an open card, and that none of its effects or children is at
/// work.
fn more(world: &Simulation, run: &Run, owner: &Owner) -> Law {
    let Some(exhausted) = &run.exhausted else { return Ok(()) };
    let open = world.letters.get(owner).and_then(|all| all.get(&exhausted.message));
    expect(open.is_some_and(|mail| mail.needs_you), "a-run-that-asks-for-more-has-a-card", || {
        format!("{}: {exhausted:?}", run.number)
    })?;
    let still = run.state == State::Waiting && run.open.is_empty() && run.children.is_empty();
    expect(still, "a-run-that-asks-for-more-waits", || format!("{} is {:?}", run.number, run.state))
}

/// Returns a run gets more on a person's word alone, and each such word counts once.
fn raised(world: &Simulation, snapshot: &Snapshot, run: &Run, journal: &[Step], owner: &Owner) -> Law {
    let mut by_message = BTreeSet::new();
    for step in journal {
        let Entry::Raised { message, .. } = &step.entry else { continue };
        let mail = world.letters.get(owner).and_then(|all| all.get(message));
        let said = mail.and_then(|mail| mail.answers.get(&0));
        let yes = matches!(said, Some(kernel::message::Answer::Approved { .. }));
        expect(yes, "a-run-gets-more-on-a-word-alone", || format!("{} in {message}", run.number))?;
        expect(by_message.insert(*message), "a-word-counts-once", || format!("{}", run.number))?;
        let asker = mail.and_then(|mail| mail.message).and_then(|id| snapshot.formulas.get(&id.number));
        let Some(Formula::Message { message }) = asker else { continue };
        let Body::Budget { run: asker, .. } = message.body else {
            return Err(super::Broken::of("a-run-gets-more-that-it-asked-for", format!("{}", run.number)));
        };
        // Its own question, or that of a run below it.
        let mut at = Some(asker);
        while at.is_some_and(|number| number != run.number) {
            at = at.and_then(|number| world.runs.get(&(*owner, number.0))?.parent.map(|up| up.run));
        }
        expect(at.is_some(), "a-run-gets-more-that-it-asked-for", || format!("{} by {asker}", run.number))?;
    }
    Ok(())
}

/// Checks that the journal of one run shows the consent that each proposal needs.
fn consent(run: &Run, journal: &[Step], owner: &Owner, permissions: &mut BTreeSet<(Owner, Vec<u8>)>) -> Law {
    expect(journal.len() as u64 + 1 == run.next_step, "a-journal-is-dense", || format!("{}", run.number))?;
    let mut prints: BTreeMap<u64, Fingerprint> = BTreeMap::new();
    let mut verdicts = BTreeMap::new();
    let (mut approved, mut begun, mut over) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    // The proposals that were ever approved, including those in doubt since.
    let (mut ever, mut doubted) = (BTreeSet::new(), BTreeSet::new());
    for (i, step) in journal.iter().enumerate() {
        expect(step.number == i as u64 + 1, "a-journal-is-dense", || {
            format!("{}#{}", run.number, step.number)
        })?;
        let at = |p: &u64| format!("{}#{p}", run.number);
        match &step.entry {
            Entry::Proposed { fingerprint, .. } => {
                prints.insert(step.number, *fingerprint);
            }
            Entry::Judged { proposal, verdict, message } => {
                verdicts.insert(*proposal, (verdict.decision, *message));
            }
            Entry::Answered { proposal, approved: true, .. } => {
                approved.insert(*proposal);
                ever.insert(*proposal);
            }
            Entry::EffectStarted { proposal, .. } => {
                let may = match verdicts.get(proposal) {
                    _ if doubted.contains(proposal) => approved.contains(proposal),
                    Some((Decision::Allow, _)) => true,
                    Some((Decision::Ask, Some(_))) => approved.contains(proposal),
                    // Permitted before: the same call was approved earlier, for the whole run.
                    Some((Decision::Ask, None)) => {
                        ever.iter().any(|earlier| prints.get(earlier) == prints.get(proposal))
                    }
                    _ => false,
                };
                expect(may, "nothing-begins-without-a-yes", || at(proposal))?;
                expect(begun.insert(*proposal), "an-effect-begins-once", || at(proposal))?;
                expect(!over.contains(proposal), "an-effect-begins-once", || at(proposal))?;
            }
            Entry::OutcomeUnknown { proposal, .. } => {
                expect(begun.remove(proposal), "only-what-began-is-in-doubt", || at(proposal))?;
                // It takes a new yes to begin again.
                approved.remove(proposal);
                doubted.insert(*proposal);
            }
            Entry::Completed { proposal, .. } => {
                expect(over.insert(*proposal), "an-effect-completes-once", || at(proposal))?;
            }
            _ => {}
        }
    }
    for (proposal, print) in &prints {
        let open = run.open.contains_key(proposal);
        expect(open != over.contains(proposal), "a-proposal-is-open-or-over", || {
            format!("{}#{proposal}", run.number)
        })?;
        let at = StepRef { run: run.number, step: *proposal };
        if run.open.get(proposal) == Some(&Phase::Approved) {
            permissions.remove(&(*owner, permission_key(*print, Some(at))));
        }
        if !run.is_finished() && ever.contains(proposal) {
            permissions.remove(&(*owner, permission_key(*print, None)));
        }
    }
    Ok(())
}
