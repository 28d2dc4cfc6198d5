//! The benches of a crate: `cargo xtask bench NAME` runs them and puts their rows into the table.
//!
//! A bench is an ordinary program (`[[bench]] harness = false`) that measures and prints one line for each figure:
//!
//! ```text
//! row <TAB> name <TAB> figure with its unit <TAB> min..max <TAB> note
//! ```
//!
//! The last two may be missing. `BENCH_SAMPLES` is the number of samples. Every other line is passed on for people to
//! read.

use anyhow::Result;

use super::table::Row;
use crate::process::{cargo, tee};
use crate::workspace::Workspace;

/// Returns the crates that have benches.
pub(super) fn names(workspace: &Workspace) -> Vec<&str> {
    workspace.crates.iter().filter(|each| !each.benches.is_empty()).map(|each| each.name.as_str()).collect()
}

pub(super) fn rows(workspace: &Workspace, name: &str, samples: usize) -> Result<Vec<Row>> {
    let mut command = cargo(&workspace.root, &["bench", "--package", name, "--benches"]);
    command.env("BENCH_SAMPLES", samples.to_string());
    let (held, lines) = tee(&mut command)?;
    let mut rows: Vec<Row> = lines.iter().filter_map(|line| row(line)).collect();
    if !held {
        rows.push(Row::failed(name, "the bench failed; its message is above"));
    }
    Ok(rows)
}

fn row(line: &str) -> Option<Row> {
    let mut cells = line.strip_prefix("row\t")?.split('\t').map(str::to_owned);
    let (what, figure) = (cells.next()?, cells.next()?);
    let (range, note) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    Some(Row { what, figure, range, note, ..Row::default() })
}

#[cfg(test)]
mod tests {
    use super::{Row, row};

    #[test]
    fn only_row_lines_become_rows() {
        assert_eq!(row("running 3 tests"), None);
        assert_eq!(row("row\tonly a name"), None);
        let found = row("row\tcheck\t1.2 M/s\t1.1..1.3\tsmall patterns").unwrap();
        let expected = Row {
            what: "check".to_owned(),
            figure: "1.2 M/s".to_owned(),
            range: "1.1..1.3".to_owned(),
            note: "small patterns".to_owned(),
            ..Row::default()
        };
        assert_eq!(found, expected);
    }
}
