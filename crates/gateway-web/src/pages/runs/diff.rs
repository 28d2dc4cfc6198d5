//! What a run changed in its staged copies: look, apply, discard.

use control::exit::{Exit, Failure};
use control::protocol::Request;
use control::undone::{Diff, FileDiff, UndoState, Undone};
use kernel::RunNumber;
use maud::{Markup, html};
use passable::Untrusted;

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::{hunks, link, parts, seen};

fn ask(asked: &Asked, run: RunNumber) -> Result<Diff, Failure> {
    Ok(*take!(asked.ask(Request::Diff { run, only: vec![] })?, Diff))
}

/// `GET /r/RUN/diff`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let diff = ask(asked, asked.part("run")?)?;
    page(asked, &diff, None)
}

/// `POST /r/RUN/diff`: applies or discards what was shown, and nothing if it has changed since.
pub fn act(asked: &Asked) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let diff = ask(asked, run)?;
    let to = format!("/r/{run}/diff");
    let wanted = asked.field("do");
    if wanted == Some("look") {
        return Ok(Answer::Go(to));
    }
    if asked.field("_seen") != Some(seen::digest(&diff)?.as_str()) {
        return Ok(match page(asked, &diff, Some(seen::changed("changed")))? {
            Answer::Page(page) => page.status(409).into(),
            other => other,
        });
    }
    match wanted {
        Some("apply") => {
            let only = seen::chosen(asked, ready(&diff).count())?;
            let marks: String = only.iter().map(|path| format!(" --only {path}")).collect();
            let text = Untrusted::new(format!("apply {run}{marks}"));
            let applied = take!(asked.ask(Request::Apply { text, run, only })?, Undone);
            let diff = ask(asked, run)?;
            page(asked, &diff, Some(outcome(&applied)))
        }
        Some("discard") => {
            let text = Untrusted::new(format!("discard {run}"));
            take!(asked.ask(Request::Discard { text, run })?, Reply);
            Ok(Answer::Go(format!("/r/{run}")))
        }
        _ => Err(Failure::new(Exit::Usage, "apply or discard").help("press one of the buttons")),
    }
}

/// The files that could be put in place.
fn ready(diff: &Diff) -> impl Iterator<Item = &FileDiff> {
    diff.files.iter().filter(|file| file.entry.state == UndoState::Would)
}

fn page(asked: &Asked, diff: &Diff, said: Option<Markup>) -> Result<Answer, Failure> {
    let run = diff.run;
    let digest = seen::digest(diff)?;
    let is_any = ready(diff).next().is_some();
    let main = html! {
        @if let Some(said) = said { (said) }
        h1 { "Staged changes of " (run) }
        p { (parts::run(run)) " changed a copy. Nothing of it is in place before you apply it." }
        @if diff.files.is_empty() { p { "It changed nothing in its staged copy, or the copy was thrown away." } }
        form.card method="post" action={ "/r/" (run) "/diff" } data-weighty {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
            @for (at, file) in diff.files.iter().enumerate() { (self::file(at, file)) }
            div.buttons {
                @if is_any { button.yes name="do" value="apply" { "Apply those that are marked" } }
                @if !diff.files.is_empty() { button.yes.away name="do" value="discard" { "Discard the whole copy" } }
            }
        }
    };
    Ok(Page::new("/runs", format!("Staged changes of {run}"), main).live(format!("run:{run}")).into())
}

fn file(at: usize, file: &FileDiff) -> Markup {
    let entry = &file.entry;
    let title = format!("f-{at}");
    html! {
        section.entry aria-labelledby=(title) {
            h2 #(title) {
                @if entry.state == UndoState::Would {
                    label {
                        input type="checkbox" name="only" value=(entry.path.raw()) checked;
                        " " (parts::line(&entry.path))
                    }
                } @else { (parts::line(&entry.path)) }
            }
            p.note { (parts::word(&entry.to)) ", " (link::step(entry.step)) " " (link::why(entry.path.raw())) }
            @match &entry.state {
                UndoState::Would | UndoState::Done => {}
                UndoState::Already => p.answer { "✓ applied" },
                UndoState::Conflict { now } => p.warning {
                    "Conflict: it was changed meanwhile. It was " (parts::word(&entry.from))
                    " when the run changed it, and is " (parts::word(now)) " now. It would be left alone."
                },
                UndoState::Failed { why } => p.warning { "Cannot be applied: " (parts::line(why)) },
            }
            (hunks::hunks(&file.text))
        }
    }
}

/// What came of applying.
fn outcome(applied: &Undone) -> Markup {
    let text = applied.render_applied();
    html! {
        section.failure[applied.is_partial()] role="status" {
            p { @if applied.is_partial() { "Not all of it was applied." } @else { "It was applied." } }
            (parts::own_block("What came of it", &text))
        }
    }
}
