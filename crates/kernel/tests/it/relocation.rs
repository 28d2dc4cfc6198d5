//! Directories that move: the rows that name them follow, and the audit stays intact.

use kernel::audit::{RecordStatus, check_record};
use kernel::command::{Choice, Move};
use kernel::formula::Formula;
use kernel::proposal::Decision;
use kernel::relocation::{DirectoryMove, PathMap};
use kernel::txn::{NO_OWNER, ReadTxn as _, Table, Txn as _};
use kernel::{RunNumber, query, table};

use crate::fixture::{Fixture, env};

fn map(moves: &[(&str, &str)]) -> PathMap {
    PathMap::new(moves.iter().map(|(from, to)| DirectoryMove { from: (*from).into(), to: (*to).into() }))
}

/// Returns the status of each event's record.
fn audit(fixture: &mut Fixture) -> Vec<RecordStatus> {
    let host = fixture.host;
    let events = query::events(&mut fixture.store, &host.number, 0, 1000).unwrap();
    events.iter().map(|event| check_record(&mut fixture.store, &host, event).unwrap()).collect()
}

/// Returns the paths of all resources, and the words of all grants.
fn named(fixture: &mut Fixture) -> (Vec<String>, Vec<String>) {
    let rows: Vec<(Vec<u8>, table::FormulaRow)> =
        table::scan(&mut fixture.store, Table::Formula, &NO_OWNER, &[], &[], usize::MAX, false).unwrap();
    let (mut paths, mut words) = (vec![], vec![]);
    for (key, row) in rows {
        match row.formula {
            Formula::Resource(resource) => paths.extend(resource.paths().into_iter().map(|(_, path)| path)),
            Formula::Grant { owner, .. } => {
                let grant: kernel::grant::Grant =
                    table::load(&mut fixture.store, Table::Grant, &owner.0, &key).unwrap().unwrap();
                words.push(grant.words);
            }
            _ => {}
        }
    }
    (paths, words)
}

/// Returns a store with a run that waits for an approval of its call on a directory, and the step of the call.
fn asking_run() -> (Fixture, RunNumber, u64) {
    let mut fixture = Fixture::new();
    let run = fixture.start();
    let (step, _) = fixture.propose(run, "out", "write", Decision::Ask);
    (fixture, run, step)
}

#[test]
fn grants_follow_moved_directories_and_the_audit_holds() {
    let (mut fixture, run, step) = asking_run();
    let before = audit(&mut fixture);
    assert!(!before.contains(&RecordStatus::Altered) && before.contains(&RecordStatus::Intact));
    for (round, (from, to)) in [("/out", "/new/out"), ("/new", "/other")].into_iter().enumerate() {
        kernel::relocate(&mut fixture.store, &env(9000 + round as u64), &map(&[(from, to)])).unwrap();
        let (paths, words) = named(&mut fixture);
        let path = ["/new/out", "/other/out"][round].to_owned();
        assert!(paths.contains(&path) && !paths.iter().any(|path| path.starts_with(from)), "{paths:?}");
        assert!(words.iter().any(|words| words.contains(&path)), "{words:?}");
        let after = audit(&mut fixture);
        assert!(after.starts_with(&before) && after.len() == before.len() + round + 1, "{after:?}");
        assert_eq!(after.last(), Some(&RecordStatus::Intact));
    }
    // A move that moves nothing is no move.
    let rows = fixture.store.clone();
    kernel::relocate(&mut fixture.store, &env(9100), &map(&[("/a", "/a/")])).unwrap();
    assert!(fixture.store == rows);
    // The approval that waited is for the same call.
    let message = fixture.open_mail()[0];
    fixture.answer(message, Choice::Approve { for_run: false });
    assert_eq!(fixture.advance(run, vec![Move::Begin { proposal: step }]).begun.len(), 1);
}

#[test]
fn forged_move_does_not_hide_a_changed_record() {
    let (mut fixture, _, _) = asking_run();
    kernel::relocate(&mut fixture.store, &env(9000), &map(&[("/out", "/new")])).unwrap();
    let sound = fixture.store.clone();
    // Somebody moves the grant once more by hand, and takes the event of it out of the log.
    kernel::relocate(&mut fixture.store, &env(9001), &map(&[("/new", "/etc")])).unwrap();
    let host = fixture.host;
    let last = query::events(&mut fixture.store, &host.number, 0, 1000).unwrap().pop().unwrap();
    fixture.store.delete(Table::Event, &host.number, &table::number_key(last.seq)).unwrap();
    assert!(audit(&mut fixture).contains(&RecordStatus::Altered));
    // Somebody changes what a logged move says.
    fixture.store = sound;
    let to = table::prefix_end(&table::number_key(1));
    let rows = fixture.store.range(Table::Relocation, &NO_OWNER, &[], &to, 9, false).unwrap();
    let (key, row) = &rows[1];
    let forged = String::from_utf8(row.clone()).unwrap().replace(['0', '1'], "f");
    fixture.store.put(Table::Relocation, &NO_OWNER, key, forged.as_bytes(), None).unwrap();
    assert_eq!(audit(&mut fixture).iter().filter(|status| **status == RecordStatus::Altered).count(), 2);
}
