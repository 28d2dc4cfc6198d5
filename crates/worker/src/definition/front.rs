//! A worker file falls into two parts: the front matter between two `---` lines, and the body.

use std::ops::Range;

use super::diagnostic::Diagnostic;

/// How many bytes of front matter are looked at. A longer one is a mistake, and parsing costs time.
const MAX_FRONT: usize = 64 * 1024;

/// The two parts, as byte ranges of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The text between the `---` lines; `None` if the file has only a body.
    pub(crate) front: Option<Range<usize>>,
    /// The text after them.
    pub(crate) body: Range<usize>,
}

/// Finds the parts. A byte order mark and carriage returns are as good as not there.
pub(crate) fn split(source: &str, problems: &mut Vec<Diagnostic>) -> Parts {
    let begin = if source.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let rest = source.get(begin..).unwrap_or_default();
    let mut lines = rest.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Parts { front: None, body: begin..source.len() };
    };
    let front = begin + first.len();
    let mut at = front;
    for line in lines {
        if line.trim_end() == "---" {
            return Parts { front: checked(front..at, problems), body: at + line.len()..source.len() };
        }
        at += line.len();
    }
    problems.push(
        Diagnostic::error("worker/front-matter-open", "the front matter has no end", begin..begin + 3)
            .help("put a line `---` between the front matter and the text for the model"),
    );
    // The author's intended end is not known, so no problem is reported in the text.
    Parts { front: None, body: source.len()..source.len() }
}

fn checked(front: Range<usize>, problems: &mut Vec<Diagnostic>) -> Option<Range<usize>> {
    if front.len() <= MAX_FRONT {
        return Some(front);
    }
    let message = format!("the front matter is longer than {} kB", MAX_FRONT / 1024);
    let help = "move long texts into files beside the worker and name them with `template:` or `include`";
    problems
        .push(Diagnostic::error("worker/front-matter-long", message, front.start..front.start).help(help));
    None
}
