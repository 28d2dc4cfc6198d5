//! The assembly of text pieces, each with a position on the page, into lines of text.
//!
//! Pieces are taken in the order in which the page draws them, which is nearly always the order of reading. Sorting a
//! page by position would interleave its columns. Consecutive pieces on one baseline become one line, so that the row
//! of a table stays together.

/// The gap, in text sizes, that counts as a blank.
const BLANK: f32 = 0.18;
/// The gap, in text sizes, that separates the columns of a table.
const COLUMN: f32 = 1.5;
/// The largest distance, in text sizes, at which two baselines count as one. An exponent thus stays on its line.
const BASELINE: f32 = 0.4;
/// The distance of baselines, in text sizes, beyond which a new paragraph begins.
const PARAGRAPH: f32 = 1.9;

/// A piece of text with its position on the page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextRun {
    pub(super) text: String,
    /// The position of the pen before the piece, on the page. `end` is the position after it.
    pub(super) start: (f32, f32),
    pub(super) end: (f32, f32),
    /// The direction of writing, as a unit vector.
    pub(super) direction: (f32, f32),
    /// The text size on the page.
    pub(super) size: f32,
}

/// The lines of a page, as they are built.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    last: Option<TextRun>,
}

impl Lines {
    /// Adds the next piece.
    pub(super) fn add(&mut self, run: TextRun) {
        if run.text.is_empty() {
            return;
        }
        if let Some(last) = self.last.take() {
            // Some programs draw the same text twice to make it bold.
            if twice(&last, &run) {
                self.last = Some(last);
                return;
            }
            match step(&last, &run) {
                Gap::None => {}
                Gap::Blank => self.blank(" "),
                Gap::Column => self.blank("  "),
                Gap::Line => self.end_line("\n"),
                Gap::Paragraph => self.end_line("\n\n"),
            }
        }
        let at_start = self.text.is_empty() || self.text.ends_with('\n');
        self.text.push_str(if at_start { run.text.trim_start() } else { &run.text });
        self.last = Some(run);
    }

    /// Returns the text of the page.
    pub(super) fn finish(mut self) -> String {
        self.end_line("\n");
        self.text
    }

    fn blank(&mut self, blank: &str) {
        let kept = self.text.trim_end_matches(' ').len();
        // The text may contain blanks of its own.
        if self.text.len() - kept < blank.len() {
            self.text.truncate(kept);
            self.text.push_str(blank);
        }
    }

    fn end_line(&mut self, end: &str) {
        let kept = self.text.trim_end().len();
        self.text.truncate(kept);
        if kept > 0 {
            self.text.push_str(end);
        }
    }
}

/// The gap between two pieces.
enum Gap {
    None,
    Blank,
    Column,
    Line,
    Paragraph,
}

fn step(last: &TextRun, next: &TextRun) -> Gap {
    let size = last.size.max(next.size);
    let (x, y) = (next.start.0 - last.end.0, next.start.1 - last.end.1);
    let (ahead, aside) = last.direction;
    let along = x * ahead + y * aside;
    let down = x * aside - y * ahead;
    let parallel = next.direction.0 * ahead + next.direction.1 * aside > 0.99;
    if !parallel {
        Gap::Paragraph
    } else if down.abs() <= BASELINE * size {
        if along > COLUMN * size {
            Gap::Column
        } else if along > BLANK * size || along < -0.5 * size {
            Gap::Blank
        } else {
            Gap::None
        }
    } else if down.abs() <= PARAGRAPH * size {
        Gap::Line
    } else {
        Gap::Paragraph
    }
}

fn twice(last: &TextRun, next: &TextRun) -> bool {
    let near = 0.1 * next.size;
    last.text == next.text
        && !next.text.trim().is_empty()
        && (last.start.0 - next.start.0).abs() < near
        && (last.start.1 - next.start.1).abs() < near
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the lines for pieces `(x, y, text)`, with letters that are 5 wide and 10 high.
    fn check(pieces: &[(f32, f32, &str)], expected: &str) {
        let mut lines = Lines::default();
        for (x, y, text) in pieces {
            lines.add(TextRun {
                text: (*text).to_owned(),
                start: (*x, *y),
                end: (x + 5.0 * text.len() as f32, *y),
                direction: (1.0, 0.0),
                size: 10.0,
            });
        }
        assert_eq!(lines.finish(), expected);
    }

    #[test]
    fn pieces_become_lines() {
        check(&[], "");
        check(&[(0.0, 100.0, "Har"), (15.0, 100.0, "bour")], "Harbour\n");
        check(&[(0.0, 100.0, "two"), (18.0, 100.0, "words")], "two words\n");
        check(&[(0.0, 100.0, "own "), (20.0, 100.0, "blank")], "own blank\n");
        check(&[(0.0, 100.0, "1"), (50.0, 100.0, "Poster"), (200.0, 100.0, "60")], "1  Poster  60\n");
        check(&[(0.0, 100.0, "one"), (0.0, 88.0, "two"), (0.0, 60.0, "three")], "one\ntwo\n\nthree\n");
        check(&[(0.0, 100.0, "left"), (300.0, 120.0, "right")], "left\n\nright\n");
        check(&[(0.0, 100.0, "m"), (5.0, 103.0, "2")], "m2\n");
        check(&[(0.0, 100.0, "bold"), (0.2, 100.0, "bold")], "bold\n");
        check(&[(0.0, 100.0, "x"), (f32::NAN, 100.0, "y")], "x\n\ny\n");
    }
}
