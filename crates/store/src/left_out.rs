//! The rows that reads of a damaged store leave out, counted for each thread.
//!
//! A reader asks for them after its reads, and tells its user how much is missing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
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
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = || {
            let names: Vec<&str> = self.parts.iter().map(|table| table.name()).collect();
            names.join(", ")
        };
        match (self.rows.len(), self.parts.is_empty()) {
            (0, _) => write!(f, "a part of the store cannot be read ({})", tables()),
            (1, true) => f.write_str("1 row cannot be read"),
            (rows, true) => write!(f, "{rows} rows cannot be read"),
            (1, false) => write!(f, "1 row and a part of the store cannot be read ({})", tables()),
            (rows, false) => write!(f, "{rows} rows and a part of the store cannot be read ({})", tables()),
        }
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
        assert_eq!(take_left_out().to_string(), "2 rows cannot be read");
        assert!(take_left_out().is_empty(), "they are told once");
        count_row(Table::Run, b"a");
        assert_eq!(take_left_out().to_string(), "1 row cannot be read");
        count_part(Table::Event);
        assert_eq!(take_left_out().to_string(), "a part of the store cannot be read (event)");
    }
}
