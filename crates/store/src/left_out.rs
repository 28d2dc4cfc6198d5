//! The rows that reads of a damaged store leave out, counted for each thread.
//!
//! A reader asks for them after its reads, and tells its user how much is missing.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash as _, Hasher as _};

use kernel::txn::Table;

/// The rows that were left out of reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The rows that hold no readable data, by a digest.
    rows: BTreeSet<(Table, u64)>,
    /// The tables of which some part of the file cannot be read, with an unknown number of rows.
    parts: BTreeSet<Table>,
}

impl LeftOut {
    /// Returns whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.parts.is_empty()
    }

    /// Adds the rows that other reads have left out.
    pub fn add(&mut self, other: LeftOut) {
        self.rows.extend(other.rows);
        self.parts.extend(other.parts);
    }
}

/// Names the rows in plain words: "2 runs", "some messages and 1 grant".
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The number of the rows in a part that cannot be read is unknown.
        let mut counts: BTreeMap<Table, Option<usize>> =
            self.parts.iter().map(|table| (*table, None)).collect();
        for (table, _) in &self.rows {
            if let Some(count) = counts.entry(*table).or_insert(Some(0)) {
                *count += 1;
            }
        }
        let names: Vec<String> = counts.into_iter().map(|(table, count)| phrase(table, count)).collect();
        match names.split_last() {
            Some((last, [])) => f.write_str(last),
            Some((last, others)) => write!(f, "{} and {last}", others.join(", ")),
            None => f.write_str("no rows"),
        }
    }
}

/// Returns a number of rows of a table in the words of users. `None` stands for an unknown number.
fn phrase(table: Table, count: Option<usize>) -> String {
    let noun = noun(table);
    let plural = match noun.strip_suffix('x') {
        Some(stem) => format!("{stem}xes"),
        None => format!("{noun}s"),
    };
    match count {
        Some(1) => format!("1 {noun}"),
        Some(count) => format!("{count} {plural}"),
        None => format!("some {plural}"),
    }
}

/// Returns the user's word for a row of a table.
fn noun(table: Table) -> &'static str {
    match table {
        Table::Meta => "setting",
        Table::Formula => "object",
        Table::PetName => "name",
        Table::Mailbox => "mailbox",
        Table::Message => "message",
        Table::Promise => "result",
        Table::Run => "run",
        Table::Journal => "step",
        Table::Grant => "grant",
        Table::Permission => "approval",
        Table::Outbox => "task",
        Table::Event => "event",
        Table::Blob | Table::Bytes => "kept text",
        Table::Edge => "reference",
        Table::Held => "held object",
        Table::Token => "invitation",
        Table::Collector => "mark",
        Table::Awaiting => "open message",
        Table::FileRun => "file name",
        Table::Relocation => "move",
    }
}

thread_local! {
    static LEFT_OUT: RefCell<LeftOut> = RefCell::default();
}

/// Returns the rows that reads of this thread have left out since the last call.
pub fn take_left_out() -> LeftOut {
    LEFT_OUT.with(|all| std::mem::take(&mut *all.borrow_mut()))
}

/// Counts a row that holds no readable data.
pub(crate) fn count_row(table: Table, row: &[u8]) {
    let mut hasher = DefaultHasher::new();
    row.hash(&mut hasher);
    let digest = hasher.finish();
    LEFT_OUT.with(|all| all.borrow_mut().rows.insert((table, digest)));
}

/// Counts a part of a table that cannot be read.
pub(crate) fn count_part(table: Table) {
    LEFT_OUT.with(|all| all.borrow_mut().parts.insert(table));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_left_out_are_counted_once_and_named() {
        assert!(take_left_out().is_empty());
        for row in [b"a", b"b", b"a"] {
            count_row(Table::Run, row);
        }
        let mut all = take_left_out();
        assert_eq!(all.to_string(), "2 runs");
        assert!(take_left_out().is_empty(), "they are told once");
        count_row(Table::Run, b"a");
        all.add(take_left_out());
        assert_eq!(all.to_string(), "2 runs");
        count_row(Table::Message, b"a");
        count_part(Table::Event);
        all.add(take_left_out());
        assert_eq!(all.to_string(), "1 message, 2 runs and some events");
        count_part(Table::Mailbox);
        count_row(Table::Mailbox, b"a");
        assert_eq!(take_left_out().to_string(), "some mailboxes", "there may be more of them");
    }
}
