//! The one table that a bench prints.

/// One line of it; every cell is ready to be shown.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) what: String,
    /// The figure, with its unit: a median where there are several samples.
    pub(super) figure: String,
    /// Least and most, or empty.
    pub(super) range: String,
    /// Processor time, or empty.
    pub(super) cpu: String,
    /// Most memory held at once, or empty.
    pub(super) memory: String,
    pub(super) note: String,
    /// It could not be measured though it should have been.
    pub(super) failed: bool,
}

impl Row {
    /// Returns a row that says why there is no figure.
    pub(super) fn without(what: &str, note: impl Into<String>) -> Self {
        Self { what: what.to_owned(), figure: "–".to_owned(), note: note.into(), ..Self::default() }
    }

    /// Returns a row whose measurement failed.
    pub(super) fn failed(what: &str, note: impl Into<String>) -> Self {
        Self { figure: "FAILED".to_owned(), failed: true, ..Self::without(what, note) }
    }

    /// Adds the aim of the figure, and whether it was reached. A missed aim has its reason, if one is known.
    pub(super) fn with_aim(self, reached: bool, aim: &str, reason: &str) -> Self {
        let verdict = if reached { "aim" } else { "MISSED: aim" };
        let gap = if self.note.is_empty() { "" } else { "; " };
        let reason = if reached || reason.is_empty() { String::new() } else { format!(" ({reason})") };
        Self { note: format!("{}{gap}{verdict} {aim}{reason}", self.note), ..self }
    }

    fn cells(&self) -> [&str; 6] {
        [&self.what, &self.figure, &self.range, &self.cpu, &self.memory, &self.note]
    }
}

const HEADS: [&str; 6] = ["", "median", "min..max", "CPU", "peak RSS", "note"];

/// Returns the table in Markdown, so that it can be pasted where figures are kept. Columns that no row fills are left
/// out.
pub(super) fn render(title: &str, rows: &[Row]) -> String {
    let lines: Vec<[&str; 6]> = std::iter::once(HEADS).chain(rows.iter().map(Row::cells)).collect();
    let filled: Vec<usize> =
        (0..HEADS.len()).filter(|&column| lines[1..].iter().any(|line| !line[column].is_empty())).collect();
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let mut out = format!("{title}\n\n");
    for (number, line) in lines.iter().enumerate() {
        for &column in &filled {
            let (cell, width) = (line[column], width(column));
            // Words to the left, figures to the right.
            let cell =
                if matches!(column, 0 | 5) { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            out.push_str(&format!("| {cell} "));
        }
        out.push_str("|\n");
        if number == 0 {
            for &column in &filled {
                let dashes = "-".repeat(width(column).max(1));
                out.push_str(&if matches!(column, 0 | 5) {
                    format!("| {dashes} ")
                } else {
                    format!("| {}: ", &dashes[1..])
                });
            }
            out.push_str("|\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Row, render};

    #[test]
    fn columns_align_and_empty_ones_vanish() {
        let row = |what: &str, figure: &str, note: &str| Row {
            what: what.to_owned(),
            figure: figure.to_owned(),
            note: note.to_owned(),
            ..Row::default()
        };
        let expected = "\
T

|      |   median | note   |
| ---- | -------: | ------ |
| a    |   1.2 ms | of 3   |
| long | 120.0 ms | größer |
";
        assert_eq!(render("T", &[row("a", "1.2 ms", "of 3"), row("long", "120.0 ms", "größer")]), expected);
    }
}
