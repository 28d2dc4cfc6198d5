//! The stalled runs of a host, by the runs that a person has started.

use std::collections::BTreeMap;

use kernel::RunNumber;
use kernel::query;
use kernel::run::{Shape, State};

use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::protocol::StalledRun;

/// The maximum number of stalled runs that are looked at.
const MAX_STALLED: usize = 1_000;

/// Returns the stalled runs, oldest first. A run and everything that it has started count as one.
///
/// # Errors
/// When the store cannot be read.
pub fn stalled(daemon: &HostDaemon) -> Result<Vec<StalledRun>, Failure> {
    let listed = daemon.read(|txn| query::stalled(txn, &daemon.host.number, MAX_STALLED))?;
    // The store could not record that these have stalled.
    let blocked = daemon.all_blocked().into_iter().map(|(run, _)| run);
    let numbers: std::collections::BTreeSet<RunNumber> = listed.into_iter().chain(blocked).collect();
    let mut found: BTreeMap<RunNumber, StalledRun> = BTreeMap::new();
    for number in numbers {
        let Some(run) = runs::load_listed_run(daemon, number)? else { continue };
        let State::Stalled { trouble } = &run.state else { continue };
        let trouble = trouble.clone();
        let mut root = run;
        while let Some(parent) = root.parent {
            match runs::load_listed_run(daemon, parent.run)? {
                Some(run) => root = run,
                None => break,
            }
        }
        let row = found.entry(root.number).or_insert_with(|| StalledRun {
            run: root.number,
            name: root.name.clone(),
            is_batch: matches!(root.shape, Shape::Each { .. }),
            count: 0,
            message: trouble.message,
            help: trouble.help,
        });
        row.count += 1;
    }
    Ok(found.into_values().collect())
}

#[cfg(test)]
mod tests {
    use kernel::command::{Act, Advance, Move};
    use kernel::run::Trouble;
    use passable::Untrusted;

    use super::*;
    use crate::testing::{daemon, start_batch};

    #[test]
    fn stalled_items_of_a_batch_are_one_row() {
        let dir = tempfile::tempdir().unwrap();
        let advance = |run: u64, moves| Act::Advance(Advance { run: RunNumber(run), moves });
        let trouble = Trouble {
            code: "model/busy".to_owned(),
            message: Untrusted::new("the server is down"),
            help: "start it".to_owned(),
        };
        let stall = || vec![Move::Stall { trouble: trouble.clone() }];
        let spawn = advance(1, vec![Move::Spawn { index: 0 }, Move::Spawn { index: 1 }]);
        let daemon =
            daemon(dir.path(), vec![start_batch(1), spawn, advance(2, stall()), advance(3, stall())]);
        let rows = |daemon: &HostDaemon| stalled(daemon).unwrap();
        let found = rows(&daemon);
        assert_eq!(
            found.iter().map(|row| (row.run, row.count, row.is_batch)).collect::<Vec<_>>(),
            [(RunNumber(1), 2, true)]
        );
        assert_eq!(found[0].line(), "r1 `w` has 2 stalled items: the server is down; almoner resume r1");
        let runs = vec![RunNumber(2), RunNumber(3)];
        daemon.apply(Act::Resume { runs, named: None }).unwrap();
        assert_eq!(rows(&daemon), []);
        // A run that stalls while the store is full is listed as well.
        daemon.set_blocked(RunNumber(1), trouble);
        assert_eq!(rows(&daemon).len(), 1);
    }
}
