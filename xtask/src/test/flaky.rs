//! Tests that are known to need a second try now and then: the table of `docs/flaky.md`.

use crate::tidy::cells;

/// Where the table stands.
pub(crate) const LIST: &str = "docs/flaky.md";

/// Describes one row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FlakyRow {
    /// Counted from 1.
    pub(crate) line: usize,
    /// The test as nextest names it: `almoner::it::terminal::prompt_is_shown`.
    pub(crate) test: String,
    pub(crate) cause: String,
    /// When it was last seen, `2026-11-25`.
    pub(crate) date: String,
}

impl FlakyRow {
    /// Returns whether the row names the cause and the day: only such a row excuses a second try.
    pub(crate) fn is_explained(&self) -> bool {
        !self.cause.is_empty() && is_date(&self.date)
    }
}

/// Returns whether the text is a date such as `2026-11-25`.
pub(crate) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, count: usize| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let within = |part: &str, most: u8| part.parse::<u8>().is_ok_and(|number| (1..=most).contains(&number));
    match parts.as_slice() {
        [year, month, day] => {
            digits(year, 4) && digits(month, 2) && digits(day, 2) && within(month, 12) && within(day, 31)
        }
        _ => false,
    }
}

/// Returns the rows of the table, without its head.
pub(crate) fn rows(text: &str) -> Vec<FlakyRow> {
    let lines = text.lines().enumerate();
    let tables = lines.filter_map(|(index, line)| Some((index + 1, cells(line)?)));
    let rows = tables.filter(|(_, cells)| {
        let rule = cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
        let head = cells.first().is_some_and(|cell| cell.eq_ignore_ascii_case("test"));
        !(head || rule && cells.iter().any(|cell| !cell.is_empty()))
    });
    rows.map(|(line, cells)| {
        let cell = |at: usize| cells.get(at).cloned().unwrap_or_default();
        FlakyRow { line, test: cell(0).trim_matches('`').to_owned(), cause: cell(1), date: cell(2) }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{FlakyRow, rows};

    #[test]
    fn rows_leave_out_head_and_rule() {
        let text =
            "# Flaky\n\n| test | cause | date |\n| --- | --- | --- |\n| `a::b` | slow | 2026-11-25 |\n| |\n";
        let row = |line, test: &str, cause: &str, date: &str| FlakyRow {
            line,
            test: test.to_owned(),
            cause: cause.to_owned(),
            date: date.to_owned(),
        };
        assert_eq!(rows(text), [row(5, "a::b", "slow", "2026-11-25"), row(6, "", "", "")]);
        assert_eq!(rows("no table"), []);
    }

    #[test]
    fn row_without_cause_or_date_explains_nothing() {
        let check = |cause: &str, date: &str, expected: bool| {
            let list = format!("| `a::b` | {cause} | {date} |");
            let explained: Vec<bool> = rows(&list).iter().map(FlakyRow::is_explained).collect();
            assert_eq!(explained, [expected], "{list}");
        };
        check("slow", "2026-11-25", true);
        check("", "2026-11-25", false);
        check("slow", "", false);
        check("slow", "2026-13-25", false);
        check("slow", "last week", false);
    }
}
