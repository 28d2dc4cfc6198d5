//! What a run changed in its staged copies: look, apply, discard.

use std::collections::BTreeSet;

use control::exit::{Exit, Failure};
use control::protocol::Request;
use control::undone::{Diff, FileDiff, Part, UndoState, Undone};
use kernel::{BlobHash, RunNumber};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

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
            let parts = parts_of(asked, &diff, &only)?;
            let text = Untrusted::new(format!("apply {run}{}", marks(&only, &parts)));
            let applied = take!(asked.ask(Request::Apply { text, run, only, parts })?, Undone);
            let diff = ask(asked, run)?;
            page(asked, &diff, Some(html! { div data-taken={ "staged " (run) } { (outcome(&applied)) } }))
        }
        Some("discard") => {
            let said = html! {
                section.failure role="alert" {
                    h2 { "Throw the whole copy away?" }
                    p { "All " (diff.files.len()) " files of it are gone then, for good. Nothing was thrown away yet." }
                    form method="post" action=(to) {
                        (parts::token(&asked.session))
                        input type="hidden" name="_seen" value=(seen::digest(&diff)?);
                        div.buttons {
                            button name="do" value="look" { "Keep it" }
                            button.yes.away name="do" value="throw" { "Throw it away for good" }
                        }
                    }
                }
            };
            page(asked, &diff, Some(said))
        }
        Some("throw") => {
            let text = Untrusted::new(format!("discard {run}"));
            take!(asked.ask(Request::Discard { text, run })?, Reply);
            Ok(Answer::Go(format!("/r/{run}")))
        }
        _ => Err(Failure::new(Exit::Usage, "apply or discard").help("press one of the buttons")),
    }
}

/// The files of which only some hunks were marked.
fn parts_of(asked: &Asked, diff: &Diff, only: &[String]) -> Result<Vec<Part>, Failure> {
    let mut parts = Vec::new();
    for (at, file) in diff.files.iter().enumerate() {
        let (path, of) = (file.entry.path.raw(), hunks::count(&file.text));
        if !has_choice(file) || !only.iter().any(|one| one == path) {
            continue;
        }
        let name = choice(at);
        let marked = asked.body.iter().filter(|(each, _)| *each == name).map(|(_, number)| number.parse());
        let marked: BTreeSet<usize> = marked
            .collect::<Result<_, _>>()
            .map_err(|_| Failure::new(Exit::Usage, "a hunk has a number").help("open the page again"))?;
        if marked.is_empty() {
            let message = format!("no hunk of `{}` was marked", visible_line(path));
            return Err(Failure::new(Exit::Usage, message).help("mark some of them, or leave the file out"));
        }
        if marked.len() < of {
            let shown = BlobHash::of(file.text.raw().as_bytes());
            parts.push(Part { path: path.to_owned(), hunks: marked, shown });
        }
    }
    Ok(parts)
}

/// What the person would have typed behind `almoner apply`.
fn marks(only: &[String], parts: &[Part]) -> String {
    let mut marks = String::new();
    for path in only {
        marks.push_str(&format!(" --only {path}"));
        let hunks = parts.iter().filter(|part| part.path == *path).flat_map(|part| &part.hunks);
        marks.extend(hunks.map(|number| format!(" --hunk {number}")));
    }
    marks
}

/// Whether a file can be applied in parts.
fn has_choice(file: &FileDiff) -> bool {
    file.entry.state == UndoState::Would && hunks::count(&file.text) > 1
}

/// What the marks of a file's hunks are called.
fn choice(at: usize) -> String {
    format!("hunk-{at}")
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
        form.card method="post" action={ "/r/" (run) "/diff" } data-weighty data-draft={ "staged " (run) } {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
            @for (at, file) in diff.files.iter().enumerate() { (self::file(asked, at, file)) }
            div.buttons {
                @if is_any { button.yes name="do" value="apply" { "Apply those that are marked" } }
                @if !diff.files.is_empty() { button.yes.away name="do" value="discard" { "Discard the whole copy" } }
            }
        }
    };
    Ok(Page::new("/runs", format!("Staged changes of {run}"), main).live(format!("run:{run}")).into())
}

/// Whether something was marked: what is left of what somebody has sent, and otherwise everything.
fn is_marked(asked: &Asked, name: &str, value: &str) -> bool {
    asked.body.is_empty() || asked.body.iter().any(|(own, text)| own == name && text == value)
}

fn file(asked: &Asked, at: usize, file: &FileDiff) -> Markup {
    let entry = &file.entry;
    let title = format!("f-{at}");
    html! {
        section.entry aria-labelledby=(title) {
            h2 #(title) {
                @if entry.state == UndoState::Would {
                    label {
                        input type="checkbox" name="only" value=(entry.path.raw())
                            checked[is_marked(asked, "only", entry.path.raw())];
                        " " (parts::line(&entry.path))
                    }
                } @else { (parts::line(&entry.path)) }
            }
            p.note { (parts::word(&entry.to)) ", " (link::step(entry.step)) " " (link::why(entry.path.raw())) }
            @match &entry.state {
                UndoState::Would | UndoState::Done => {}
                UndoState::Already if file.applied => p.answer { "✓ applied" },
                UndoState::Already => p.answer { "The place already holds this: there is nothing to apply." },
                UndoState::Conflict { now } => p.warning {
                    "Conflict: it was changed meanwhile. It was " (parts::word(&entry.from))
                    " when the run changed it, and is " (parts::word(now)) " now. It would be left alone."
                },
                UndoState::Failed { why } => p.warning { "Cannot be applied: " (parts::line(why)) },
            }
            @let name = choice(at);
            // A file that is left out has its hunks marked, for whoever takes it after all.
            @let is_in = is_marked(asked, "only", entry.path.raw());
            (hunks::hunks(&file.text, has_choice(file).then_some(name.as_str()),
                |hunk| !is_in || is_marked(asked, &name, &hunk.to_string())))
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
