//! Pages of runs, messages and steps. The store may hold any number of these, but an answer, and the memory for
//! making it, holds only a page.

use std::collections::BTreeSet;

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::message::Body;
use kernel::name_lookup::View;
use kernel::query::{self, MailboxEntry};
use kernel::run::{Input, Run, RunOutcome, State, Step};
use kernel::table::PromiseRow;
use kernel::txn::{ReadTxn, StoreFault, Table};
use kernel::{FormulaId, MessageNumber, Number, RunNumber, Value, table};

use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::show::waiting::MAX_ITEMS;

/// The maximum number of rows in an answer, regardless of the requested limit.
pub const MAX_ROWS: usize = 1000;

/// The number of rows that are read at a time.
const BATCH_SIZE: usize = 64;

/// The maximum size of the steps in an answer, in bytes. A single step may be larger.
const MAX_STEP_BYTES: usize = 8 << 20;

/// Calls `each` with the runs below `below`, newest first, until it returns `false`.
pub fn for_each_run(
    daemon: &HostDaemon,
    mut below: Option<RunNumber>,
    mut each: impl FnMut(Run) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    loop {
        let page = daemon.read(|txn| query::runs(txn, &daemon.host.number, below, BATCH_SIZE))?;
        let full = page.len() == BATCH_SIZE;
        for run in page {
            below = Some(run.number);
            if !each(run)? {
                return Ok(());
            }
        }
        if !full {
            return Ok(());
        }
    }
}

/// Returns summaries of runs, newest first. With `roots`, returns only runs that no other run started.
pub fn runs(
    daemon: &HostDaemon,
    limit: usize,
    below: Option<RunNumber>,
    roots: bool,
) -> Result<Vec<Run>, Failure> {
    let limit = limit.min(MAX_ROWS);
    let mut found = Vec::new();
    if limit == 0 {
        return Ok(found);
    }
    for_each_run(daemon, below, |run| {
        if !roots || run.parent.is_none() {
            found.push(summary(daemon, run));
        }
        Ok(found.len() < limit)
    })?;
    Ok(found)
}

/// Returns summaries of a run and of its unfinished descendants, oldest first.
pub fn family(daemon: &HostDaemon, root: RunNumber) -> Result<Vec<Run>, Failure> {
    let mut found = vec![summary(daemon, load_run(daemon, root)?)];
    let mut numbers = BTreeSet::from([root]);
    let mut from = root.0.saturating_add(1);
    loop {
        let start = table::number_key(from);
        let page: Vec<(Vec<u8>, Run)> = daemon
            .read(|txn| table::scan(txn, Table::Run, &daemon.host.number, &start, &[], BATCH_SIZE, false))?;
        let full = page.len() == BATCH_SIZE;
        for (_, run) in page {
            from = run.number.0.saturating_add(1);
            // A child has a higher number than its parent, and a finished run has no unfinished children.
            if !run.is_finished() && run.parent.is_some_and(|parent| numbers.contains(&parent.run)) {
                numbers.insert(run.number);
                found.push(summary(daemon, run));
            }
        }
        if !full {
            return Ok(found);
        }
    }
}

/// Returns a complete run. If a problem stalls the run but could not be recorded in the store, the returned run has
/// it nevertheless.
pub fn load_run(daemon: &HostDaemon, number: RunNumber) -> Result<Run, Failure> {
    let mut run = daemon.read(|txn| table::run(txn, &daemon.host.number, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, passable::Quoting::ours(format!("there is no run {number}")))
            .help("see `almoner runs`")
    })?;
    if let Some(trouble) = daemon.blocked_by(number) {
        run.state = State::Stalled { trouble };
    }
    run.name = name(daemon, &run)?;
    Ok(run)
}

/// Returns a complete run for a listing. Returns `None` if a damaged store has lost it, so that the rest can be listed.
///
/// # Errors
/// When the store is sound and cannot be read, or has no such run.
pub fn load_listed_run(daemon: &HostDaemon, number: RunNumber) -> Result<Option<Run>, Failure> {
    match load_run(daemon, number) {
        Err(_) if daemon.store.damage().is_some() => Ok(None),
        found => found.map(Some),
    }
}

/// Returns the name of a run, which is its worker's name. The journal of an agent or of code has the host's name for
/// that agent or code: `@fae`, `code of out`. Code whose result has no name goes by its number. If another agent is
/// its author, the author's name follows: `code 1a2b3c4d of @fae`.
///
/// # Errors
/// When the store cannot be read.
pub fn name(daemon: &HostDaemon, run: &Run) -> Result<String, Failure> {
    if !run.is_agent_journal() {
        return Ok(run.name.clone());
    }
    let view = daemon.view(daemon.host);
    let found = daemon.query(|txn| match table::formula(txn, &run.worker)?.map(|row| row.formula) {
        Some(Formula::Eval { result, author, .. }) => code_name(txn, &view, &run.worker, result, author),
        formula => {
            let handle = formula.and_then(|formula| formula.agent().map(|own| own.handle));
            agent_name(txn, &view, std::iter::once(run.worker).chain(handle))
        }
    })?;
    Ok(found.unwrap_or_else(|| run.name.clone()))
}

/// Returns the host's name for an agent. `ids` has the agent and its mail address.
fn agent_name(
    txn: &mut dyn ReadTxn,
    view: &View,
    ids: impl Iterator<Item = FormulaId>,
) -> Result<Option<String>, Fault> {
    for id in ids {
        if let Some(name) = super::names::name_of(txn, view, &id)? {
            // The special names of an agent begin with the same sign.
            return Ok(Some(format!("@{}", name.trim_start_matches('@'))));
        }
    }
    Ok(None)
}

/// Returns the name of code. It is the name of the promise for the result, or the name of the resulting object if the
/// code made that object.
pub(crate) fn code_name(
    txn: &mut dyn ReadTxn,
    view: &View,
    code: &FormulaId,
    result: FormulaId,
    author: Number,
) -> Result<Option<String>, Fault> {
    let mut came_to = match table::promise(txn, &result)? {
        Some(PromiseRow::Fulfilled { value }) => value.as_reference().copied(),
        _ => None,
    };
    if let Some(id) = came_to {
        let formula = table::formula(txn, &id)?.map(|row| row.formula);
        // The name of an object that the code has not made says nothing about the code.
        came_to = came_to.filter(|_| matches!(formula, Some(Formula::Export { eval, .. }) if eval == *code));
    }
    for id in std::iter::once(result).chain(came_to) {
        if let Some(name) = super::names::name_of(txn, view, &id)? {
            return Ok(Some(format!("code of {name}")));
        }
    }
    if author.0 == view.agent.number {
        return Ok(None);
    }
    let author = FormulaId { number: author.0, node: code.node };
    let handle = table::formula(txn, &author)?.and_then(|row| row.formula.agent().map(|own| own.handle));
    let whose = agent_name(txn, view, std::iter::once(author).chain(handle))?;
    Ok(whose.map(|whose| format!("code {} of {whose}", code.short())))
}

/// Returns the run without its input and its result, which can be large.
pub(crate) fn summary(daemon: &HostDaemon, mut run: Run) -> Run {
    if let Ok(name) = name(daemon, &run) {
        run.name = name;
    }
    run.input =
        Input { values: Value::null(), attachments: vec![], items: vec![], origins: vec![], earlier: None };
    run.provenance = Default::default();
    if let State::Finished { outcome: RunOutcome::Done(value) } = &mut run.state {
        *value = Value::null();
    }
    if let Some(trouble) = daemon.blocked_by(run.number) {
        run.state = State::Stalled { trouble };
    }
    run
}

/// Returns the messages of an agent below `below`, newest first. With `open`, returns only messages that need an
/// answer.
pub fn mailbox_page(
    daemon: &HostDaemon,
    agent: FormulaId,
    open: bool,
    below: Option<MessageNumber>,
    limit: usize,
) -> Result<Vec<MailboxEntry>, Failure> {
    let limit = limit.min(MAX_ROWS);
    let mut found = Vec::new();
    if open {
        for number in daemon.read(|txn| query::awaiting_below(txn, &agent, below, limit))? {
            found.extend(daemon.read(|txn| query::message(txn, &agent, number))?);
        }
        return Ok(found);
    }
    for_each_mail(daemon, agent, below, |number| {
        if found.len() == limit {
            return Ok(false);
        }
        found.extend(daemon.read(|txn| query::message(txn, &agent, number))?);
        Ok(true)
    })?;
    Ok(found)
}

/// The maximum number of runs that a status names as waiting for a time.
const MAX_WAITING: usize = 50;

/// Returns the runs that wait for a time, each with the reason in a short phrase.
pub fn waiting_for_a_time(daemon: &HostDaemon) -> Result<Vec<(RunNumber, String)>, Failure> {
    let found = daemon.read(|txn| kernel::timer::waiting_runs(txn, &daemon.host, MAX_WAITING))?;
    let mut numbers: Vec<RunNumber> = found.into_iter().map(|(run, _)| run).collect();
    numbers.dedup();
    numbers
        .into_iter()
        .map(|number| Ok((number, control::show::journal::state(&load_run(daemon, number)?))))
        .collect()
}

/// Returns the number of messages that need an answer.
pub fn answer_count(daemon: &HostDaemon) -> Result<usize, Failure> {
    let mut count = 0;
    for_each_awaiting(daemon, |_| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

/// Returns the number of messages that need an answer, but at most [`MAX_ITEMS`]. So the cost does not grow with the
/// mailbox.
pub fn waiting_count(daemon: &HostDaemon) -> Result<usize, Failure> {
    Ok(daemon.read(|txn| query::awaiting_below(txn, &daemon.host, None, MAX_ITEMS))?.len())
}

/// Returns the open approvals of these runs, oldest first.
pub fn open_approvals(
    daemon: &HostDaemon,
    family: &BTreeSet<RunNumber>,
) -> Result<Vec<MessageNumber>, Failure> {
    let mut found = Vec::new();
    for_each_awaiting(daemon, |number| {
        if let Some(letter) = daemon.read(|txn| query::message(txn, &daemon.host, number))?
            && let Some(run) =
                letter.body().filter(|body| !matches!(body, Body::Command { .. })).and_then(Body::run)
            && family.contains(&run)
        {
            found.push(number);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `each` with the messages that need an answer, oldest first.
///
/// # Errors
/// When the store cannot be read, or `each` fails.
pub fn for_each_awaiting(
    daemon: &HostDaemon,
    mut each: impl FnMut(MessageNumber) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut from = MessageNumber(0);
    loop {
        let page = daemon.read(|txn| query::awaiting(txn, &daemon.host, from, MAX_ROWS))?;
        let full = page.len() == MAX_ROWS;
        for number in page {
            from = number.successor();
            each(number)?;
        }
        if !full {
            return Ok(());
        }
    }
}

fn for_each_mail(
    daemon: &HostDaemon,
    agent: FormulaId,
    mut below: Option<MessageNumber>,
    mut each: impl FnMut(MessageNumber) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    loop {
        let page = daemon.read(|txn| numbers(txn, &agent, below))?;
        let full = page.len() == BATCH_SIZE;
        for number in page {
            below = Some(number);
            if !each(number)? {
                return Ok(());
            }
        }
        if !full {
            return Ok(());
        }
    }
}

fn numbers(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    below: Option<MessageNumber>,
) -> Result<Vec<MessageNumber>, StoreFault> {
    let mailbox = query::mailbox(txn, agent)?;
    let from = table::inner_key(&mailbox, &[]);
    // Nine bytes are longer than any number's key, so this key lies behind all of them.
    let to = match below {
        Some(number) => table::inner_key(&mailbox, &table::message_key(number)),
        None => table::inner_key(&mailbox, &[0xff; 9]),
    };
    let rows = txn.range(Table::Message, &agent.number, &from, &to, BATCH_SIZE, true)?;
    rows.into_iter()
        .map(|(key, _)| {
            let number = key.get(from.len()..).and_then(|number| number.try_into().ok());
            number
                .map(u64::from_be_bytes)
                .map(MessageNumber::from_order)
                .ok_or_else(|| StoreFault::Corrupt("a message lies under a bad key".to_owned()))
        })
        .collect()
}

/// Calls `each` with the steps of a run from number `from` on, until it returns `false`.
pub fn for_each_step(
    daemon: &HostDaemon,
    run: RunNumber,
    mut from: u64,
    mut each: impl FnMut(Step) -> bool,
) -> Result<(), Failure> {
    loop {
        let start = table::step_key(run, from);
        let end = table::step_key(RunNumber(run.0.saturating_add(1)), 0);
        let page: Vec<(Vec<u8>, Step)> = daemon.read(|txn| {
            table::scan(txn, Table::Journal, &daemon.host.number, &start, &end, BATCH_SIZE, false)
        })?;
        let full = page.len() == BATCH_SIZE;
        for (_, step) in page {
            from = step.number.saturating_add(1);
            if !each(step) {
                return Ok(());
            }
        }
        if !full {
            return Ok(());
        }
    }
}

/// Returns the steps of a run from number `from` on, as many as an answer may hold. At least one is returned if there
/// is one.
pub fn steps(
    daemon: &HostDaemon,
    run: RunNumber,
    from: u64,
    limit: Option<usize>,
) -> Result<Vec<Step>, Failure> {
    load_run(daemon, run)?;
    let limit = limit.map_or(MAX_ROWS, |limit| limit.min(MAX_ROWS));
    let (mut found, mut bytes) = (Vec::new(), 0);
    if limit == 0 {
        return Ok(found);
    }
    for_each_step(daemon, run, from, |step| {
        bytes += serde_json::to_vec(&step).map_or(0, |row| row.len());
        if bytes > MAX_STEP_BYTES && !found.is_empty() {
            return false;
        }
        found.push(step);
        found.len() < limit
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use kernel::command::{Act, Advance, Move};
    use kernel::run::{Shape, Trouble};
    use passable::Untrusted;

    use super::*;
    use crate::testing::{daemon, start_batch};

    fn advance(run: u64, moves: Vec<Move>) -> Act {
        Act::Advance(Advance { run: RunNumber(run), moves })
    }

    #[test]
    fn chats_are_found_among_many_other_runs() {
        let talk = |number: u64| match start_batch(number) {
            Act::Start(mut start) => {
                start.shape = Shape::Chat;
                start.input.items.clear();
                Act::Start(start)
            }
            other => other,
        };
        let dir = tempfile::tempdir().unwrap();
        let acts = [talk(1), talk(2)].into_iter().chain((3..300).map(start_batch)).chain([talk(300)]);
        let daemon = daemon(dir.path(), acts.collect());
        let chats = |below, limit| -> Vec<u64> {
            let rows = crate::runs::chats::chats(&daemon, true, below, limit).unwrap();
            rows.into_iter().map(|row| row.run.number.0).collect()
        };
        assert_eq!(chats(None, 10), [300, 2, 1]);
        assert_eq!(chats(None, 2), [300, 2]);
        assert_eq!(chats(Some(RunNumber(2)), 10), [1]);
    }

    #[test]
    fn listings_return_at_most_one_page() {
        const COUNT: u64 = 2 * MAX_ROWS as u64 + 100;
        let dir = tempfile::tempdir().unwrap();
        let daemon = daemon(dir.path(), (0..COUNT).map(start_batch).collect());
        let page = |below| runs(&daemon, usize::MAX, below, true).unwrap();
        assert_eq!(page(None).len(), MAX_ROWS);
        let mut all: Vec<RunNumber> = Vec::new();
        loop {
            let next = page(all.last().copied());
            if next.is_empty() {
                break;
            }
            all.extend(next.iter().map(|run| run.number));
        }
        assert_eq!(all, (1..=COUNT).rev().map(RunNumber).collect::<Vec<_>>(), "each once, newest first");
        assert_eq!(runs(&daemon, 3, None, false).unwrap().len(), 3);
        assert_eq!(runs(&daemon, 0, None, false).unwrap().len(), 0);

        let page = |below| mailbox_page(&daemon, daemon.host, false, below, usize::MAX).unwrap();
        let first = page(None);
        assert_eq!(first.len(), MAX_ROWS);
        let rest = page(first.last().map(|letter| letter.number));
        assert_eq!(rest.first().unwrap().number.successor(), first.last().unwrap().number);
        assert_eq!(mailbox_page(&daemon, daemon.host, true, None, usize::MAX).unwrap(), []);
        assert_eq!(answer_count(&daemon).unwrap(), 0);
    }

    #[test]
    fn family_lists_the_run_and_its_unfinished_children() {
        let dir = tempfile::tempdir().unwrap();
        let trouble = Trouble { code: "x".to_owned(), message: Untrusted::new("x"), help: String::new() };
        let failed = RunOutcome::Failed(trouble.clone());
        let mut acts = vec![start_batch(1), advance(1, vec![Move::Spawn { index: 0 }])];
        // Between the children there are more other runs than one batch holds.
        acts.extend((0..BATCH_SIZE as u64).map(start_batch));
        acts.push(advance(1, vec![Move::Spawn { index: 1 }]));
        let (last, other) = (BATCH_SIZE as u64 + 3, 3);
        acts.push(advance(last, vec![Move::Stall { trouble: trouble.clone() }]));
        acts.push(advance(other, vec![Move::Spawn { index: 0 }]));
        let daemon = daemon(dir.path(), acts);
        let numbers = |run| -> Vec<u64> {
            family(&daemon, RunNumber(run)).unwrap().iter().map(|run| run.number.0).collect()
        };
        assert_eq!(numbers(1), [1, 2, last]);
        assert_eq!(numbers(2), [2]);
        assert_eq!(numbers(other), [other, last + 1]);
        assert!(family(&daemon, RunNumber(999)).is_err_and(|failure| failure.exit == Exit::NotFound));
        // A finished run is not listed, unless it is the requested one.
        daemon.apply(advance(2, vec![Move::Finish { outcome: failed }])).unwrap();
        assert_eq!((numbers(1), numbers(2)), (vec![1, last], vec![2]));
        // A run that is blocked only in this process is shown as stalled, until it is driven again.
        let is_stalled = |run| {
            let family = family(&daemon, RunNumber(1)).unwrap();
            family.iter().any(|r| r.number == RunNumber(run) && matches!(r.state, State::Stalled { .. }))
        };
        assert!(is_stalled(last) && !is_stalled(1));
        daemon.set_blocked(RunNumber(1), trouble);
        assert!(is_stalled(1));
        daemon.clear_blocked(RunNumber(1));
        assert!(!is_stalled(1));
    }

    #[test]
    fn journal_is_paged_to_fit_a_frame() {
        let dir = tempfile::tempdir().unwrap();
        let suspend = |why: String| Move::Stall {
            trouble: Trouble { code: "x".to_owned(), message: Untrusted::new(why), help: String::new() },
        };
        let mut acts = vec![start_batch(1)];
        // The steps are short, except for three. Together these three are longer than an answer may be.
        for i in 0..200 {
            let why = if i % 80 == 7 { "x".repeat(MAX_STEP_BYTES / 2) } else { i.to_string() };
            acts.push(advance(1, vec![suspend(why)]));
            acts.push(Act::Resume { runs: vec![RunNumber(1)], named: None });
        }
        let daemon = daemon(dir.path(), acts);
        let (mut all, mut pages) = (Vec::new(), 0);
        loop {
            let page =
                steps(&daemon, RunNumber(1), all.last().map_or(1, |step: &Step| step.number + 1), None)
                    .unwrap();
            if page.is_empty() {
                break;
            }
            assert!(serde_json::to_vec(&page).unwrap().len() <= MAX_STEP_BYTES + MAX_ROWS);
            pages += 1;
            all.extend(page);
        }
        assert_eq!(all.iter().map(|step| step.number).collect::<Vec<_>>(), (1..=400).collect::<Vec<_>>());
        assert!(pages > 1, "{pages}");
        assert!(steps(&daemon, RunNumber(9), 1, None).is_err());
        let first = |limit| steps(&daemon, RunNumber(1), 1, Some(limit)).unwrap().len();
        assert_eq!((first(0), first(1), first(2)), (0, 1, 2));
    }
}
