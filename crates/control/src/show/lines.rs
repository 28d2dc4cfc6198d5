//! Lines for a screen with a known number of columns.
//!
//! A terminal breaks long lines at any place. An author of foreign text who knows the width could make the rest of a
//! line look like a line of this program. So long lines are broken here, and continued lines begin with a mark that
//! no other line has.

use std::fmt::Write as _;

use passable::{Untrusted, stored_order, visible_name};

/// The mark before a line that continues the one above.
pub const CONTINUATION_MARK: &str = "      ┆ ";

/// The mark before each line of foreign text on a card.
const FOREIGN_MARK: &str = "      │ ";

/// The mark before a line that repeats the one above in the order in which it is stored.
const ORDER_MARK: &str = "      ⇄ ";

/// The words before such a line.
pub const STORED_ORDER: &str = "in the order in which it is stored";

/// The distance between tab stops, in columns.
const TAB: usize = 8;

/// The marks before lines.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    /// The mark before the first line.
    pub first: &'a str,
    /// The mark before each other line of the text.
    pub next: &'a str,
    /// The mark before a continued line.
    pub on: &'a str,
}

impl<'a> Marks<'a> {
    /// Returns marks with the same mark for each line of the text, and the usual mark for continued lines.
    pub const fn each(mark: &'a str) -> Marks<'a> {
        Marks { first: mark, next: mark, on: CONTINUATION_MARK }
    }
}

/// Returns the maximum number of columns of a character. Characters outside ASCII take two columns on some terminals.
fn width(char: char) -> usize {
    if char.is_ascii() { 1 } else { 2 }
}

fn width_of(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Writes text that was escaped before. It takes as many lines as it needs, each with a mark in front.
pub fn write(out: &mut String, marks: Marks<'_>, text: &str, columns: usize) {
    let mut mark = marks.first;
    for line in text.split('\n') {
        let line = without_tabs(line);
        let mut rest = line.as_str();
        loop {
            // One column stays free, because some terminals move to the next line when the last column is used.
            let room = columns.saturating_sub(width_of(mark) + 1).max(2);
            let (now, later) = rest.split_at(break_at(rest, room));
            let _ = writeln!(out, "{mark}{now}");
            mark = marks.on;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        mark = marks.next;
    }
}

/// Writes foreign text with a mark before each line. Blanks at the ends of a single line are written out. A line whose
/// numbers a screen may show in another order is followed by its stored order.
pub fn write_foreign(out: &mut String, text: &Untrusted, columns: usize) {
    let raw = text.raw();
    let shown = if raw.contains('\n') { text.visible() } else { text.visible_name() };
    let shown = shown.strip_suffix('\n').unwrap_or(&shown);
    for line in shown.split('\n') {
        write(out, Marks::each(FOREIGN_MARK), line, columns);
        if let Some(order) = stored_order(line) {
            write(out, Marks::each(ORDER_MARK), &format!("{STORED_ORDER}: {order}"), columns);
        }
    }
}

/// Writes foreign text of a single line in quotation marks, behind a label that is safe to show. The text cannot end
/// the quotation.
pub fn write_labelled(out: &mut String, label: &str, text: &Untrusted, columns: usize) {
    let shown = text.raw().replace('“', "\\u{201C}").replace('”', "\\u{201D}");
    let shown = visible_name(&shown);
    write(out, Marks::each("    "), &format!("{label}: “{shown}”"), columns);
    if let Some(order) = stored_order(&shown) {
        write(out, Marks::each(ORDER_MARK), &format!("{STORED_ORDER}: {order}"), columns);
    }
}

/// Returns the position at which a line is broken. A space near the end is preferred, outside of backticks if
/// possible, since users copy text in backticks.
fn break_at(line: &str, room: usize) -> usize {
    let (mut used, mut quoted) = (0, false);
    let (mut gap, mut any_gap) = (None, None);
    for (at, char) in line.char_indices() {
        used += width(char);
        if used > room {
            let outside = gap.filter(|gap| gap * 3 > at);
            return outside.or(any_gap.filter(|gap| gap * 3 > at * 2)).unwrap_or(at);
        }
        quoted ^= char == '`';
        if char == ' ' {
            any_gap = Some(at + 1);
            if !quoted {
                gap = any_gap;
            }
        }
    }
    line.len()
}

/// Returns a line with spaces instead of tabs, because the width of a tab depends on its position.
fn without_tabs(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut column = 0;
    for char in line.chars() {
        if char == '\t' {
            let stop = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', stop));
            column += stop;
        } else {
            out.push(char);
            column += width(char);
        }
    }
    out
}

/// Returns lines of this program that contain foreign words, broken for a screen of so many columns. Without a
/// screen, the text is unchanged.
pub fn fit(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let mut out = String::new();
    write(&mut out, Marks::each(""), text.trim_end_matches('\n'), columns);
    out
}

/// Returns the beginning of a line, cut to one row of the screen.
pub fn clip(line: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return line.to_owned() };
    if width_of(line) < columns {
        return line.to_owned();
    }
    let mut used = width('…') + 1;
    let end = line.char_indices().find(|(_, char)| {
        used += width(*char);
        used > columns
    });
    format!("{}…", &line[..end.map_or(line.len(), |(at, _)| at)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks<'_> = Marks { first: "      │ ", next: "      │ ", on: CONTINUATION_MARK };

    /// Returns the rows of a simulated screen. It breaks long lines, stops tabs at every eighth column, and shows
    /// characters outside ASCII in two columns.
    fn screen(text: &str, columns: usize) -> Vec<String> {
        let mut rows = Vec::new();
        for line in text.lines() {
            let (mut row, mut column) = (String::new(), 0);
            for char in line.chars() {
                if char == '\t' {
                    column = (column / 8 * 8 + 8).min(columns - 1);
                    continue;
                }
                if column + width(char) > columns {
                    rows.push(std::mem::take(&mut row));
                    column = 0;
                }
                row.push(char);
                column += width(char);
            }
            rows.push(row);
        }
        rows
    }

    #[test]
    fn every_row_of_foreign_text_has_a_mark() {
        for text in [
            &format!("Re{}    ✓ checked by almoner", " ".repeat(78)),
            &format!("x{}✓ approved", "\t".repeat(12)),
            &format!("{}✓ approved", " \t".repeat(12)),
            "a\nb\n\nc",
            &"界".repeat(100),
            &"жук ".repeat(100),
            &"e\u{301}".repeat(100),
            "",
        ] {
            for columns in [20, 30, 40, 79, 80, 120] {
                let mut out = String::new();
                write(&mut out, MARKS, text, columns);
                for row in screen(&out, columns) {
                    assert!(
                        row.starts_with("      │ ") || row.starts_with(CONTINUATION_MARK),
                        "{columns}: {row:?} in\n{out}"
                    );
                }
                // No text is lost, and the start of each line can be recognized.
                let back = out.replace(&format!("\n{CONTINUATION_MARK}"), "").replace("      │ ", "");
                assert_eq!(
                    back.trim_end_matches('\n'),
                    text.split('\n').map(without_tabs).collect::<Vec<_>>().join("\n")
                );
            }
        }
    }

    #[test]
    fn foreign_text_shows_blanks_and_order() {
        let check = |text: &str, expected: &str| {
            let mut out = String::new();
            write_foreign(&mut out, &Untrusted::new(text), 80);
            assert_eq!(out, expected, "{text:?}");
        };
        check("x.sh ", "      │ x.sh\\u{20}\n");
        check("one\n two \n", "      │ one\n      │  two \n");
        check("", "      │ \n");
        check(
            "pay 1000 \u{5D0} to 9 \u{5D1} 5\nx",
            "      │ pay 1000 \u{5D0} to 9 \u{5D1} 5\n      ⇄ in the order in which it is stored: pay 1000 … to 9 … 5\n\
             \u{20}     │ x\n",
        );
    }

    #[test]
    fn lines_break_between_words_and_not_within_commands() {
        let check = |text: &str, columns: usize, expected: &str| {
            let mut out = String::new();
            write(&mut out, Marks { first: "! ", next: "! ", on: "+ " }, text, columns);
            assert_eq!(out, expected);
        };
        check("one two three", 13, "! one two \n+ three\n");
        check("say `almoner approve 1` now", 27, "! say `almoner approve 1` \n+ now\n");
        check("then say `almoner why 1` now", 22, "! then say \n+ `almoner why 1` now\n");
        check("abcdefghij", 8, "! abcde\n+ fghij\n");
    }

    #[test]
    fn clipped_line_fits_one_row() {
        let check = |text: &str, columns, expected: &str| assert_eq!(clip(text, columns), expected);
        check("short", Some(80), "short");
        check("123456789", None, "123456789");
        check("123456789", Some(10), "123456789");
        check("123456789", Some(9), "123456…");
        check("жжжжж", Some(9), "жжж…");
    }
}
