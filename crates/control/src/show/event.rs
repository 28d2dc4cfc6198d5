//! The events of the audit log, as text.

use kernel::event::{Change, Recorder, Surface};
use passable::{Quoting, visible_line};

/// Returns the user and the machine that record events, in one word. The text is escaped for a terminal.
pub fn recorder(by: &Recorder) -> String {
    format!("{}@{}", by.user.visible_line(), by.host.visible_line())
}

/// Returns the words for the surface of an answer.
fn surface(over: Surface) -> String {
    match over {
        Surface::Control => " at the control socket".to_owned(),
        Surface::Web { session } => format!(" in the browser, session {session}"),
    }
}

/// Returns a change in one sentence that quotes names only. For a step, it leaves out the line of the journal, which may
/// have words of others.
pub fn headline(change: &Change) -> Quoting {
    let ours = |words: String| Quoting::ours(words);
    match change {
        Change::Opened { by } => Quoting::default().quote(recorder(by)).and(" records from here on"),
        Change::RunStarted { run, name, parent } => {
            let whom = parent.map_or_else(String::new, |parent| format!(" for {parent}"));
            ours(format!("{run} began{whom}: ")).quote(name)
        }
        Change::Granted { number, slot, run, .. } => {
            let whom = run.map_or_else(String::new, |run| format!(" to {run}"));
            ours(format!("grant {number} was given{whom} as ")).quote(slot)
        }
        Change::Named { name, id, .. } => {
            Quoting::default().quote(name).and(format!(" is the name of {}", id.short()))
        }
        Change::Unnamed { name, .. } => Quoting::default().quote(name).and(" is no name any more"),
        Change::Step { run, step, entry, .. } => ours(format!("{run}#{step} {entry}")),
        other => ours(describe(other)),
    }
}

/// Returns a change in one line. Quoted text in the line is escaped for a terminal.
pub fn describe(change: &Change) -> String {
    match change {
        Change::Genesis { host } => format!("the store was made for host {}", host.short()),
        Change::Opened { by } => format!("{} records from here on", recorder(by)),
        Change::RunStarted { run, name, parent: None } => format!("{run} began: `{}`", visible_line(name)),
        Change::RunStarted { run, name, parent: Some(parent) } => {
            format!("{run} began for {parent}: `{}`", visible_line(name))
        }
        Change::Granted { number, slot, run, .. } => {
            let whom = run.map_or_else(String::new, |run| format!(" to {run}"));
            format!("grant {number} was given{whom} as `{}`", visible_line(slot))
        }
        Change::Revoked { number } => format!("grant {number} was revoked"),
        Change::Named { name, id, .. } => format!("`{}` is the name of {}", visible_line(name), id.short()),
        Change::Unnamed { name, .. } => format!("`{}` is no name any more", visible_line(name)),
        Change::Settled { promise, ok } => {
            format!("promise {} {}", promise.short(), if *ok { "has a value" } else { "was broken" })
        }
        Change::Dismissed { number } => format!("message {number} was dismissed"),
        Change::Cancelled { id } => format!("{} was cancelled", id.short()),
        Change::Step { run, step, entry, line, .. } => {
            format!("{run}#{step} {} {}", visible_line(entry), line.visible_line())
        }
        Change::Message { number, kind, needs_you, .. } => {
            let waits = if *needs_you { ", and waits for an answer" } else { "" };
            format!("message {number} came: {}{waits}", visible_line(kind))
        }
        Change::Relocated { number, .. } => {
            format!("directories moved with the home (move {number}); the records that name them followed")
        }
        Change::CommandCompleted { number } => format!("something came of the command in message {number}"),
        Change::Answered { number, needs_you, over } => {
            let part = if *needs_you { " in part" } else { "" };
            format!("message {number} was answered{part}{}", over.map(surface).unwrap_or_default())
        }
        Change::RunFinished { run, ok } => {
            format!("{run} ended {}", if *ok { "with a result" } else { "without a result" })
        }
    }
}
