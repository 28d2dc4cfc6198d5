//! The two parts of a worker file: the front matter between two `---` lines, and the body.

use std::ops::Range;

use super::diagnostic::Diagnostic;

/// The maximum size of front matter, in bytes. Longer front matter is a mistake, and parsing it would take time.
const MAX_FRONT: usize = 64 * 1024;

/// The two parts of a worker file, as byte ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The text between the `---` lines, or `None` if the file has only a body.
    pub(crate) front: Option<Range<usize>>,
    /// The text after the front matter.
    pub(crate) body: Range<usize>,
}

/// Returns the two parts of a file. A byte order mark and carriage returns are ignored.
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
    // The intended end of the front matter is unknown, so nothing counts as body, and the body has no problems.
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
