//! Forgetting: nothing of a run names the documents that it worked on any more, and its record stays as it was.

use std::collections::BTreeMap;

use kernel::command::{Act, Fault, Move};
use kernel::formula::Formula;
use kernel::run::{Earlier, Entry, Shape};
use kernel::txn::{NO_OWNER, Table};
use kernel::{FormulaId, RunNumber, Value, audit, table};

use crate::fixture::Fixture;
use crate::runs::{document, finish};

fn forget(run: RunNumber) -> Act {
    Act::Forget { run }
}

fn documents(w: &mut Fixture, run: RunNumber) -> Vec<FormulaId> {
    let id = w.run(run).id;
    match table::formula(&mut w.store, &id).unwrap().map(|row| row.formula) {
        Some(Formula::Run { documents, .. }) => documents,
        None => vec![],
        other => panic!("{other:?}"),
    }
}

#[test]
fn forgotten_run_releases_documents_and_keeps_its_journal() {
    let mut w = Fixture::new();
    let run = w.start_shaped(Shape::Each { jobs: 2, waiting: 100 }, vec![document("a"), document("b")]);
    w.advance(run, vec![Move::Spawn { index: 0 }, Move::Spawn { index: 1 }]);
    let children: Vec<RunNumber> = w.run(run).children.into_values().collect();
    w.advance(children[0], vec![finish("a")]);
    // Neither a run at work, nor a part of one.
    for one in [run, children[0], children[1]] {
        assert!(matches!(w.try_apply(forget(one)), Err(Fault::Misfit { .. })), "{one}");
    }
    assert!(matches!(w.try_apply(forget(RunNumber(99))), Err(Fault::NoRun(_))));
    w.advance(children[1], vec![finish("b")]);
    w.advance(run, vec![finish("all")]);
    let before = w.journal(run);
    let held = documents(&mut w, run);
    assert_eq!(held.len(), 2);
    for one in [children[1], children[0], run] {
        w.apply(forget(one));
    }
    w.collect(1000);
    assert!(documents(&mut w, run).is_empty() && held.iter().all(|id| !w.is_there(*id)));
    // Once more changes nothing.
    w.apply(forget(run));
    let after = w.journal(run);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(after.last().unwrap().entry, Entry::Forgotten);
    let host = w.host;
    for event in w.events() {
        assert_ne!(
            audit::check_record(&mut w.store, &host, &event).unwrap(),
            audit::RecordStatus::Altered,
            "{event:?}"
        );
    }
    // A sweep finds it.
    let rows = table::scan::<table::ForgottenRun>(
        &mut w.store,
        Table::Meta,
        &NO_OWNER,
        table::FORGOTTEN,
        &table::prefix_end(table::FORGOTTEN),
        10,
        false,
    );
    let rows = rows.unwrap();
    let found: Vec<_> = rows.iter().filter_map(|(key, _)| table::forgotten(key)).collect();
    let expected = [run, children[0], children[1]].map(|run| (host.number, table::number_key(run.0)));
    assert_eq!(found, expected);
    let named: Vec<usize> = rows.iter().map(|(_, row)| row.documents.len()).collect();
    assert_eq!(named, [2, 1, 1]);
}

#[test]
fn rerun_inherits_the_provenance_of_earlier_results() {
    let mut w = Fixture::new();
    let items = ["a", "b", "c"].map(document).to_vec();
    let first = w.start_shaped(Shape::Each { jobs: 3, waiting: 100 }, items.clone());
    let earlier = Earlier {
        run: first,
        results: BTreeMap::from([(0, Value::string("A")), (1, Value::string("B"))]),
        provenance: kernel::provenance::Provenance::of(kernel::provenance::Source::Model("m".to_owned())),
        unwritten: Default::default(),
    };
    let again = w.start_again(Shape::Each { jobs: 3, waiting: 100 }, items, Some(Box::new(earlier)));
    let sources = w.run(again).provenance.sources;
    for source in [kernel::provenance::Source::Run(first), kernel::provenance::Source::Model("m".to_owned())]
    {
        assert!(sources.contains(&source), "{sources:?}");
    }
    // The one that is left has all that there is to spend, and knows nothing of the others.
    w.advance(again, vec![Move::Spawn { index: 2 }]);
    let child = w.run(again).children[&2];
    let (child, limits) = (w.run(child), w.run(again).limits);
    assert_eq!(child.limits.tokens, limits.tokens);
    assert!(child.input.earlier.is_none());
    assert!(!child.provenance.sources.contains(&kernel::provenance::Source::Run(first)));
}
