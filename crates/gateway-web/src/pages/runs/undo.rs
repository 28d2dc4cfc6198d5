//! The page that undoes the changes of a run, with a preview and the result.

use control::exit::Failure;
use control::protocol::Request;
use control::undo_report::{UndoEntry, UndoReport, UndoState};
use kernel::RunNumber;
use maud::{Markup, html};
use passable::Untrusted;

use crate::answer::{Answer, Page};
use crate::page::{digest_field, link, parts};
use crate::page_request::{PageRequest, take};

fn ask(asked: &PageRequest, run: RunNumber, only: Vec<String>, dry_run: bool) -> Result<UndoReport, Failure> {
    let marks: String = only.iter().map(|path| format!(" --only {path}")).collect();
    let text = Untrusted::new(format!("undo {run}{marks}"));
    Ok(*take!(asked.ask(Request::Undo { text, run, only, dry_run, gives_up: false })?, UndoReport))
}

/// Answers `GET /r/RUN/undo`: shows the files that would be restored.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let undone = ask(asked, run, vec![], true)?;
    Ok(page(asked, &undone, None).into())
}

/// Answers `POST /r/RUN/undo`: restores the shown files. If the preview has changed since, nothing is restored.
pub fn undo(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let shown = ask(asked, run, vec![], true)?;
    if asked.field("do") == Some("look") {
        return Ok(Answer::Go(format!("/r/{run}/undo")));
    }
    if asked.field("_seen") != Some(digest_field::digest(&shown)?.as_str()) {
        return Ok(page(asked, &shown, Some(digest_field::changed("put back"))).status(409).into());
    }
    let only = digest_field::chosen(asked, shown.entries.len())?;
    let done = ask(asked, run, only, false)?;
    Ok(page(asked, &done, None).into())
}

fn page(asked: &PageRequest, undone: &UndoReport, wrong: Option<Markup>) -> Page {
    let run = undone.run;
    let would: Vec<&UndoEntry> =
        undone.entries.iter().filter(|entry| entry.state == UndoState::Would).collect();
    let rest = undone.entries.iter().filter(|entry| entry.state != UndoState::Would);
    let digest = digest_field::digest(undone).unwrap_or_default();
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { "Undo " (run) }
        p { "What " (parts::run(run)) " changed becomes what it was before. What somebody has changed since is left alone." }
        @if undone.entries.is_empty() { p { "It changed no file that could be put back." } }
        ul.cards {
            @for entry in rest { li.card { (line(entry)) } }
        }
        @if undone.dry_run && !would.is_empty() {
            form.card method="post" action={ "/r/" (run) "/undo" } data-weighty {
                (parts::token(&asked.session))
                input type="hidden" name="_seen" value=(digest);
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
                fieldset {
                    legend { "To be put back" }
                    @for entry in &would {
                        label.choice {
                            input type="checkbox" name="only" value=(entry.path.raw()) checked;
                            span { (line(entry)) }
                        }
                    }
                }
                div.buttons { button.yes name="do" value="undo" { "Put these back" } }
            }
        }
        @if !undone.beyond.is_empty() {
            h2 { "What cannot be undone" }
            ul { @for one in &undone.beyond { li { (parts::line(one)) } } }
        }
    };
    Page::new("/runs", format!("Undo {run}"), main)
}

fn line(entry: &UndoEntry) -> Markup {
    let words = match &entry.state {
        UndoState::Would => format!("would be put back: {} → {}", entry.from, entry.to),
        UndoState::Done => format!("put back: {} → {}", entry.from, entry.to),
        UndoState::Already => format!("already as it was: {}", entry.to),
        UndoState::Conflict { now } => {
            format!("left alone: the run left {}, it is {now} now, it was {}", entry.from, entry.to)
        }
        UndoState::Failed { .. } => "could not be put back".to_owned(),
    };
    html! {
        (parts::line(&entry.path)) ": "
        @if matches!(entry.state, UndoState::Conflict { .. } | UndoState::Failed { .. }) {
            span.warning { (parts::word(&words)) }
        } @else { (parts::word(&words)) }
        @if let UndoState::Failed { why } = &entry.state { ": " (parts::line(why)) }
        " " (link::step(entry.step)) " " (link::why(entry.path.raw()))
    }
}
