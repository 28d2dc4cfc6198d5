//! Rows that nothing led to: damaged, or written by another hand, they come to no effect.

use kernel::command::{Choice, Fault, Move};
use kernel::proposal::{Caller, Decision};
use kernel::run::{Entry, Phase};
use kernel::table::{self, PermissionRow, Task};
use kernel::txn::{Table, Txn as _};
use kernel::{MessageNumber, RunNumber, StepRef, Value};

use crate::fixture::Fixture;

/// How a call came to be open.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// The gates allowed it.
    Allowed,
    /// A person approved it.
    Approved,
    /// A person approved it for as long as the run lasts; this is the second of its kind.
    ForTheRun,
}

/// Returns a run with an effect that has begun, and the step that proposed it.
fn begun(way: Way) -> (Fixture, StepRef) {
    let mut w = Fixture::new();
    let run = w.start();
    let step = match way {
        Way::Allowed => w.propose(run, "out", "write", Decision::Allow).0,
        Way::Approved | Way::ForTheRun => {
            let for_run = way == Way::ForTheRun;
            let first = approved(&mut w, run, for_run);
            w.advance(run, vec![Move::Begin { proposal: first }]);
            match for_run {
                true => w.propose(run, "out", "write", Decision::Ask).0,
                false => first,
            }
        }
    };
    (w, StepRef { run, step })
}

fn approved(w: &mut Fixture, run: RunNumber, for_run: bool) -> u64 {
    let (step, _) = w.propose(run, "out", "write", Decision::Ask);
    let message = w.open_mail()[0];
    w.answer(message, Choice::Approve { for_run });
    step
}

/// Rewrites the journal from the step of a proposal on; `None` removes a step.
fn rewrite(w: &mut Fixture, at: StepRef, change: impl Fn(Entry) -> Option<Entry>) {
    let owner = w.host.number;
    for mut step in w.journal(at.run).into_iter().filter(|step| step.number >= at.step) {
        let key = table::step_key(at.run, step.number);
        match change(step.entry) {
            Some(entry) => {
                step.entry = entry;
                table::save(&mut w.store, Table::Journal, &owner, &key, &step, None).unwrap();
            }
            None => w.store.delete(Table::Journal, &owner, &key).unwrap(),
        }
    }
}

fn judged(at: StepRef, decision: Decision) -> impl Fn(Entry) -> Option<Entry> {
    move |entry| match entry {
        Entry::Judged { proposal, mut verdict, message } if proposal == at.step => {
            verdict.decision = decision;
            Some(Entry::Judged { proposal, verdict, message })
        }
        other => Some(other),
    }
}

fn without(at: StepRef, name: &'static str) -> impl Fn(Entry) -> Option<Entry> {
    move |entry| {
        let of = match &entry {
            Entry::Judged { proposal, .. }
            | Entry::Answered { proposal, .. }
            | Entry::EffectStarted { proposal, .. } => Some(*proposal),
            _ => None,
        };
        (of != Some(at.step) || entry.name() != name).then_some(entry)
    }
}

#[track_caller]
fn refused(w: &mut Fixture, at: StepRef, says: &str) {
    let host = w.host;
    match kernel::reopen(&mut w.store, &host, at) {
        Err(Fault::OutOfOrder { at: told, what }) => assert_eq!((told, what), (at, says)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn begun_effect_is_reopened_for_every_kind_of_permission() {
    for way in [Way::Allowed, Way::Approved, Way::ForTheRun] {
        let (mut w, at) = begun(way);
        let host = w.host;
        let begun = kernel::reopen(&mut w.store, &host, at).unwrap().unwrap();
        assert_eq!((begun.step(), begun.reopened()), (at, true), "{way:?}");
    }
}

#[test]
fn an_outbox_row_without_a_verdict_is_refused() {
    for way in [Way::Allowed, Way::Approved, Way::ForTheRun] {
        let (mut w, at) = begun(way);
        rewrite(&mut w, at, without(at, "judged"));
        refused(&mut w, at, "this proposal was not judged");
        let (mut w, at) = begun(way);
        rewrite(&mut w, at, judged(at, Decision::Deny));
        refused(&mut w, at, "this proposal was refused");
    }
}

#[test]
fn an_outbox_row_without_a_permission_is_refused() {
    // The verdict was to ask, and no question was asked.
    let (mut w, at) = begun(Way::Allowed);
    rewrite(&mut w, at, judged(at, Decision::Ask));
    refused(&mut w, at, "nobody has permitted this effect");
    // The question was not answered, or the answer was no.
    let (mut w, at) = begun(Way::Approved);
    rewrite(&mut w, at, without(at, "answered"));
    refused(&mut w, at, "nobody has permitted this effect");
    let (mut w, at) = begun(Way::Approved);
    rewrite(&mut w, at, |entry| match entry {
        Entry::Answered { proposal, message, .. } => {
            Some(Entry::Answered { proposal, message, approved: false })
        }
        other => Some(other),
    });
    refused(&mut w, at, "nobody has permitted this effect");
    // The permission for the run is for something else, or of another run, or gone.
    for forge in [
        |row: &mut PermissionRow, _: StepRef| row.fingerprint.0.0[0] ^= 1,
        |row: &mut PermissionRow, at: StepRef| {
            row.proposal = Some(StepRef { run: RunNumber(at.run.0 + 1), step: at.step });
        },
    ] {
        let (mut w, at) = begun(Way::ForTheRun);
        change_permission(&mut w, at, |row| forge(row, at));
        refused(&mut w, at, "nobody has permitted this effect");
    }
    let (mut w, at) = begun(Way::ForTheRun);
    let (owner, key) = (w.host.number, permission_key(&mut w, at));
    w.store.delete(Table::Permission, &owner, &key).unwrap();
    refused(&mut w, at, "nobody has permitted this effect");
}

#[test]
fn unknown_effect_is_reopened_only_after_a_persons_answer() {
    for way in [Way::Allowed, Way::Approved, Way::ForTheRun] {
        let (mut w, at) = begun(way);
        w.advance(at.run, vec![Move::OutcomeUnknown { proposal: at.step }]);
        let host = w.host;
        assert!(kernel::reopen(&mut w.store, &host, at).unwrap().is_none(), "{way:?}: it is not at work");
        let message = *w.open_mail().last().unwrap();
        w.answer(message, Choice::Repeat);
        w.advance(at.run, vec![Move::Begin { proposal: at.step }]);
        assert!(kernel::reopen(&mut w.store, &host, at).unwrap().is_some(), "{way:?}");
        // The yes from before does not count twice.
        let journal = w.journal(at.run);
        let of = |entry: &Entry| matches!(entry, Entry::Answered { proposal, .. } if *proposal == at.step);
        let again = journal.iter().rev().find(|step| of(&step.entry)).unwrap().number;
        let owner = w.host.number;
        let before = w.store.clone();
        w.store.delete(Table::Journal, &owner, &table::step_key(at.run, again)).unwrap();
        refused(&mut w, at, "nobody has permitted this effect");
        // Nor does the step that began it before.
        w.store = before;
        let of =
            |entry: &Entry| matches!(entry, Entry::EffectStarted { proposal, .. } if *proposal == at.step);
        let began = journal.iter().rev().find(|step| of(&step.entry)).unwrap().number;
        w.store.delete(Table::Journal, &owner, &table::step_key(at.run, began)).unwrap();
        refused(&mut w, at, "this effect was never begun");
    }
}

/// Checks that the journal of another call of the same run is no evidence for this call, nor against it.
#[test]
fn evidence_of_another_call_does_not_count() {
    use Decision::{Allow, Ask, Deny};
    // The later course of a second call, proposed after the first had begun.
    type Then = fn(&mut Fixture, StepRef, MessageNumber);
    let nothing: Then = |_, _, _| ();
    let no: Then = |w, _, card| drop(w.answer(card, Choice::Deny { reason: crate::fixture::text("no") }));
    let begins: Then = |w, at, card| {
        w.answer(card, Choice::Approve { for_run: false });
        w.advance(at.run, vec![Move::Begin { proposal: at.step }]);
    };
    let doubted: Then = |w, at, _| drop(w.advance(at.run, vec![Move::OutcomeUnknown { proposal: at.step }]));
    let other = |w: &mut Fixture, run: RunNumber, decision: Decision, then: Then| {
        let mut judgement = w.judgement(run, "out", "write", decision);
        judgement.proposal.args[0] = Value::string("b.md");
        let step = w.run(run).next_step;
        w.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
        let card = w.open_mail().last().copied().unwrap_or(MessageNumber(0));
        then(w, StepRef { run, step }, card);
    };
    for (way, decision, then, without_its, says) in [
        // Nothing against it.
        (Way::Allowed, Ask, nothing, None, None),
        (Way::Allowed, Deny, nothing, None, None),
        (Way::Approved, Ask, no, None, None),
        (Way::Allowed, Allow, doubted, None, None),
        // Nothing for it.
        (Way::Allowed, Allow, nothing, Some("judged"), Some("this proposal was not judged")),
        (Way::Approved, Ask, begins, Some("answered"), Some("nobody has permitted this effect")),
        (Way::Approved, Ask, begins, Some("effect_started"), Some("this effect was never begun")),
    ] {
        let (mut w, at) = begun(way);
        other(&mut w, at.run, decision, then);
        if let Some(name) = without_its {
            rewrite(&mut w, at, without(at, name));
        }
        match says {
            Some(says) => refused(&mut w, at, says),
            None => {
                let host = w.host;
                let again = kernel::reopen(&mut w.store, &host, at).unwrap();
                assert!(again.is_some_and(|begun| begun.step() == at), "{way:?}, then {decision:?}");
            }
        }
    }
}

/// Checks that an answer to a proposal that does not wait for one changes nothing, even if its card is open.
#[test]
fn answer_to_a_proposal_not_waiting_is_refused() {
    for phase in [None, Some(Phase::Approved), Some(Phase::Executing { outbox: 1 })] {
        for choice in
            [Choice::Approve { for_run: false }, Choice::Deny { reason: crate::fixture::text("no") }]
        {
            let mut w = Fixture::new();
            let run = w.start();
            let (step, _) = w.propose(run, "out", "write", Decision::Ask);
            let card = w.open_mail()[0];
            let mut row = w.run(run);
            match phase {
                Some(phase) => drop(row.open.insert(step, phase)),
                None => drop(row.open.remove(&step)),
            }
            put_run(&mut w, &row);
            let before = w.store.clone();
            let answered = w.answer_some(card, None, choice);
            let what = "this proposal does not wait for an answer";
            assert!(
                matches!(answered, Err(Fault::OutOfOrder { what: told, .. }) if told == what),
                "{answered:?}"
            );
            assert!(w.store == before, "{phase:?}");
        }
    }
    // The same of the question whether something happened.
    for choice in [Choice::Happened, Choice::Repeat] {
        let (mut w, at) = begun(Way::Allowed);
        w.advance(at.run, vec![Move::OutcomeUnknown { proposal: at.step }]);
        let card = w.open_mail()[0];
        let mut row = w.run(at.run);
        row.open.remove(&at.step);
        put_run(&mut w, &row);
        assert!(matches!(w.answer_some(card, None, choice), Err(Fault::OutOfOrder { .. })));
    }
}

fn put_run(w: &mut Fixture, row: &kernel::run::Run) {
    let (owner, key) = (w.host.number, table::number_key(row.number.0));
    table::save(&mut w.store, Table::Run, &owner, &key, row, None).unwrap();
}

/// Checks that a run has a grant only if its worker holds the grant and the run lists it. Either alone is not enough.
#[test]
fn grant_must_be_held_by_the_worker_and_listed_in_the_run() {
    type Forge = fn(&mut Fixture, &mut kernel::run::Run);
    let held: Forge = |_, _| ();
    let unlisted: Forge = |_, run| run.grants.retain(|slot, _| slot != "out");
    let listed_elsewhere: Forge = |_, run| {
        let grant = run.grants.remove("out").unwrap();
        run.grants.insert("in".to_owned(), grant);
    };
    let held_by_another: Forge = |w, run| {
        let other = w.start();
        run.worker = w.run(other).worker;
    };
    for (forge, begins) in [(held, 1), (unlisted, 0), (listed_elsewhere, 0), (held_by_another, 0)] {
        for decision in [Decision::Allow, Decision::Ask] {
            let mut w = Fixture::new();
            let run = w.start();
            let judgement = w.judgement(run, "out", "write", decision);
            let at = StepRef { run, step: w.run(run).next_step };
            // Before it is proposed, or between the yes and the effect.
            let propose = vec![Move::Propose { proposals: vec![judgement] }];
            let mut begun = Vec::new();
            if decision == Decision::Ask {
                w.advance(run, propose.clone());
                let card = w.open_mail()[0];
                w.answer(card, Choice::Approve { for_run: false });
            }
            let mut row = w.run(run);
            forge(&mut w, &mut row);
            put_run(&mut w, &row);
            let moves = match decision {
                Decision::Ask => vec![Move::Begin { proposal: at.step }],
                _ => propose,
            };
            begun.extend(w.advance(run, moves).begun);
            assert_eq!(begun.len(), begins, "{decision:?}");
            if begins == 0 {
                let refused = crate::fixture::completion(&w.journal(run), at.step);
                let Some(kernel::run::Completion::Refused(findings)) = refused else { panic!("{refused:?}") };
                assert_eq!(findings[0].rule, "grant/held");
            }
            assert_eq!(w.store.count(Table::Permission), 0, "the yes is spent");
        }
    }
}

fn permission_key(w: &mut Fixture, at: StepRef) -> Vec<u8> {
    let steps = w.journal(at.run);
    let step = steps.iter().find(|step| step.number == at.step).unwrap();
    let Entry::Proposed { fingerprint, .. } = step.entry else { panic!("{step:?}") };
    table::permission_key(fingerprint, None)
}

fn change_permission(w: &mut Fixture, at: StepRef, change: impl Fn(&mut PermissionRow)) {
    let (owner, key) = (w.host.number, permission_key(w, at));
    let mut row: PermissionRow = table::load(&mut w.store, Table::Permission, &owner, &key).unwrap().unwrap();
    change(&mut row);
    table::save(&mut w.store, Table::Permission, &owner, &key, &row, None).unwrap();
}

#[test]
fn effect_without_begun_step_or_outbox_row_is_refused() {
    let (mut w, at) = begun(Way::Approved);
    rewrite(&mut w, at, without(at, "effect_started"));
    refused(&mut w, at, "this effect was never begun");
    // The step began a worker's run, not this effect.
    let (mut w, at) = begun(Way::Approved);
    rewrite(&mut w, at, |entry| match entry {
        Entry::EffectStarted { proposal, .. } => {
            Some(Entry::EffectStarted { proposal, child: Some(RunNumber(9)) })
        }
        other => Some(other),
    });
    refused(&mut w, at, "this effect was never begun");
    // The row is for another effect, or not there at all.
    for row in [None, Some(Task::Effect { step: StepRef { run: RunNumber(1), step: 999 } })] {
        let (mut w, at) = begun(Way::Approved);
        let owner = w.host.number;
        let run = w.run(at.run);
        let Some(Phase::Executing { outbox }) = run.open.get(&at.step) else { panic!("{run:?}") };
        let key = table::number_key(*outbox);
        match row {
            None => w.store.delete(Table::Outbox, &owner, &key).unwrap(),
            Some(row) => table::save(&mut w.store, Table::Outbox, &owner, &key, &row, None).unwrap(),
        }
        refused(&mut w, at, "no row of the outbox stands for this effect");
    }
}

#[test]
fn effect_differing_from_the_judged_call_is_refused() {
    let says = "this proposal is not the one that was judged";
    let forge = |change: fn(&mut kernel::proposal::Proposal)| {
        let (mut w, at) = begun(Way::Approved);
        rewrite(&mut w, at, |entry| match entry {
            Entry::Proposed { site, mut proposal, fingerprint, replaces } => {
                change(&mut proposal);
                Some(Entry::Proposed { site, proposal, fingerprint, replaces })
            }
            other => Some(other),
        });
        (w, at)
    };
    for change in [
        (|p| p.args[0] = Value::string("b.md")) as fn(&mut kernel::proposal::Proposal),
        |p| p.method = "burn".to_owned(),
        |p| p.run = RunNumber(p.run.0 + 1),
        |p| p.principal.number[0] ^= 1,
    ] {
        let (mut w, at) = forge(change);
        refused(&mut w, at, says);
    }
    // A part that the fingerprint does not cover does not change the effect.
    let (mut w, at) = forge(|p| p.caller = Caller::Code);
    let host = w.host;
    assert!(kernel::reopen(&mut w.store, &host, at).unwrap().is_some());
}

#[test]
fn approved_phase_alone_begins_nothing() {
    // A proposal that was refused, and a row that says that it may begin.
    let forge = |permission: bool| {
        let mut w = Fixture::new();
        let run = w.start();
        let (step, _) = w.propose(run, "out", "write", Decision::Deny);
        let at = StepRef { run, step };
        let owner = w.host.number;
        if permission {
            let key = permission_key(&mut w, at);
            let steps = w.journal(run);
            let Entry::Proposed { fingerprint, .. } = steps[usize::try_from(step).unwrap() - 1].entry else {
                panic!("{steps:?}")
            };
            let row = PermissionRow { fingerprint, proposal: None, message: kernel::MessageNumber(0) };
            table::save(&mut w.store, Table::Permission, &owner, &key, &row, None).unwrap();
        }
        let mut row = w.run(run);
        row.open.insert(step, Phase::Approved);
        table::save(&mut w.store, Table::Run, &owner, &table::number_key(run.0), &row, None).unwrap();
        (w, at)
    };
    for permission in [false, true] {
        let (mut w, at) = forge(permission);
        let begun = w.try_advance(at.run, vec![Move::Begin { proposal: at.step }]);
        assert!(
            matches!(begun, Err(Fault::OutOfOrder { what: "this proposal was refused", .. })),
            "{begun:?}"
        );
        rewrite(&mut w, at, without(at, "judged"));
        let begun = w.try_advance(at.run, vec![Move::Begin { proposal: at.step }]);
        let what = "this proposal was not judged";
        assert!(matches!(begun, Err(Fault::OutOfOrder { what: told, .. }) if told == what), "{begun:?}");
    }
    // A verdict that asks is no permission.
    let (mut w, at) = forge(false);
    rewrite(&mut w, at, judged(at, Decision::Ask));
    let begun = w.try_advance(at.run, vec![Move::Begin { proposal: at.step }]);
    let what = "there is no permission for this proposal";
    assert!(matches!(begun, Err(Fault::OutOfOrder { what: told, .. }) if told == what), "{begun:?}");
}

/// Checks the result of a call for each verdict and each permission. The kernel does not look at the reasons of the
/// verdict.
#[test]
fn permission_lifts_only_an_ask_verdict() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum PriorPermission {
        Nothing,
        ForThisProposal,
        ForTheRun,
    }
    use Decision::{Allow, Ask, Deny};
    use PriorPermission::{ForTheRun, ForThisProposal, Nothing};
    #[rustfmt::skip]
    let table = [
        // verdict  permission        becomes
        (Allow,     Nothing,          "effect_started"),
        (Allow,     ForTheRun,        "effect_started"),
        (Ask,       Nothing,          "asked"),
        // For one proposal: it begins, and the next of its kind asks again.
        (Ask,       ForThisProposal,  "asked"),
        (Ask,       ForTheRun,        "effect_started"),
        (Deny,      Nothing,          "refused"),
        (Deny,      ForThisProposal,  "refused"),
        (Deny,      ForTheRun,        "refused"),
    ];
    for (decision, given, becomes) in table {
        let mut w = Fixture::new();
        let run = w.start();
        if given != Nothing {
            // The same call was asked about before, and a person said yes.
            let step = approved(&mut w, run, given == ForTheRun);
            let begun = w.advance(run, vec![Move::Begin { proposal: step }]).begun;
            assert_eq!(begun.len(), 1);
        }
        let (step, outcome) = w.propose(run, "out", "write", decision);
        let got = match w.run(run).open.get(&step) {
            Some(Phase::Executing { .. }) => "effect_started",
            Some(Phase::AwaitingApproval { .. }) => "asked",
            None => "refused",
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (got, outcome.begun.len()),
            (becomes, usize::from(becomes == "effect_started")),
            "{decision:?} {given:?}"
        );
    }
}
