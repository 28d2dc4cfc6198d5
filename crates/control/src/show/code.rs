//! The journals of code, as text for a terminal.

use std::fmt::Write as _;

use kernel::code::{CodeEntry, OutcomeSubject, Record};
use passable::{visible, visible_line};

use crate::view::CodePage;

/// The maximum length of an answer in a line, in characters.
const MAX_CHARS: usize = 160;

/// Returns a page of a journal as text, one line per entry.
pub fn render(page: &CodePage) -> String {
    let stands = if page.is_open { "at work, or waiting" } else { "at its end" };
    let what = page.modules.as_ref().map(|modules| {
        format!(", modules out of {} ({})", modules.packed.describe(), modules.entry.visible_line())
    });
    let mut out = format!("code {}{}: {stands}", page.eval.short(), what.unwrap_or_default());
    for record in &page.entries {
        let _ = write!(out, "\n  {} {}", record.number, line(record));
    }
    out
}

fn line(record: &Record) -> String {
    match &record.entry {
        CodeEntry::Began { engine, bound, .. } => {
            format!("began, holding {} things ({})", bound.len(), visible_line(engine))
        }
        CodeEntry::Sent { send, line, .. } => format!("sent #{send} {}", line.visible_line()),
        CodeEntry::Heard { of, outcome, .. } => {
            let of = match of {
                OutcomeSubject::Send(send) => format!("#{send}"),
                OutcomeSubject::Promise(number) => format!("of promise {number}"),
            };
            let short: String = outcome.chars().take(MAX_CHARS).collect();
            let rest = if short.len() < outcome.len() { "…" } else { "" };
            format!("heard {of} {}{rest}", visible_line(&short))
        }
        CodeEntry::Called { target, call, .. } => {
            let short: String = call.chars().take(MAX_CHARS).collect();
            let rest = if short.len() < call.len() { "…" } else { "" };
            format!("called: its object {target} {}{rest}", visible_line(&short))
        }
        CodeEntry::Logged { level, text } => format!("{} {}", visible_line(level), text.visible_line()),
    }
}

/// Returns the lines that code wrote to its console.
pub fn console(page: &CodePage) -> Vec<String> {
    let written = page.entries.iter().filter_map(|record| match &record.entry {
        CodeEntry::Logged { level, text } if level == "log" => Some(visible(text.raw()).into_owned()),
        CodeEntry::Logged { level, text } => {
            Some(format!("{}: {}", visible_line(level), visible(text.raw())))
        }
        _ => None,
    });
    written.collect()
}
