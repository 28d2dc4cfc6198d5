//! The changes of a run in its staged copies. The user can view, apply or discard them.

use std::collections::BTreeSet;

use control::exit::{Exit, Failure};
use control::protocol::Request;
use control::undo_report::{Diff, FileChange, FileDiff, Part, UndoReport, UndoState};
use kernel::{BlobHash, RunNumber};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use crate::answer::{Answer, Page};
use crate::page::{digest_field, hunks, link, parts};
use crate::page_request::{PageRequest, take};

/// The number of files above which a list of them stands above their changes.
const FEW: usize = 3;

fn ask(asked: &PageRequest, run: RunNumber) -> Result<Diff, Failure> {
    Ok(*take!(asked.ask(Request::Diff { run, only: vec![] })?, Diff))
}

/// Answers `GET /r/RUN/diff`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let diff = ask(asked, asked.part("run")?)?;
    page(asked, &diff, None)
}

/// Answers `POST /r/RUN/diff`: applies or discards the shown changes. If they have changed since, nothing is done.
pub fn act(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let diff = ask(asked, run)?;
    let to = format!("/r/{run}/diff");
    let wanted = asked.field("do");
    match wanted {
        Some("look") => return Ok(Answer::Go(to)),
        // These buttons only change the marks.
        Some("all" | "none") => {
            return page(asked, &diff, Some(html! { div data-taken={ "staged " (run) } {} }));
        }
        _ => {}
    }
    if asked.field("_seen") != Some(digest_field::digest(&diff)?.as_str()) {
        return status(page(asked, &diff, Some(digest_field::changed("changed")))?, 409);
    }
    match wanted {
        Some("apply" | "discard" | "throw") => {
            let marked = digest_field::chosen(asked, ready(&diff).count())
                .and_then(|only| Ok((parts_of(asked, &diff, &only)?, only)));
            let (parts, only) = match marked {
                Ok(marked) => marked,
                // The marks of the user are kept.
                Err(failure) => {
                    return status(page(asked, &diff, Some(parts::failure_below(&failure)))?, 422);
                }
            };
            match wanted {
                Some("apply") => apply(asked, run, only, parts),
                Some("discard") => {
                    let said =
                        confirm_discard(asked, &diff, &format!("of {}", counted(only.len())), "throw", true)?;
                    page(asked, &diff, Some(said))
                }
                _ => {
                    let text = Untrusted::new(format!("discard {run}{}", marks(&only, &parts)));
                    take!(asked.ask(Request::Discard { text, run, only, parts })?, Reply);
                    Ok(Answer::Go(to))
                }
            }
        }
        Some("discard-copy") => {
            let what = format!(": {} of it", counted(diff.files.len()));
            let said = confirm_discard(asked, &diff, &what, "throw-copy", false)?;
            page(asked, &diff, Some(said))
        }
        Some("throw-copy") => {
            let text = Untrusted::new(format!("discard {run}"));
            take!(asked.ask(Request::Discard { text, run, only: vec![], parts: vec![] })?, Reply);
            Ok(Answer::Go(format!("/r/{run}")))
        }
        _ => Err(Failure::new(Exit::Usage, "apply or discard").help("press one of the buttons")),
    }
}

fn status(answer: Answer, status: u16) -> Result<Answer, Failure> {
    Ok(match answer {
        Answer::Page(page) => page.status(status).into(),
        other => other,
    })
}

fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

fn apply(
    asked: &PageRequest,
    run: RunNumber,
    only: Vec<String>,
    parts: Vec<Part>,
) -> Result<Answer, Failure> {
    let text = Untrusted::new(format!("apply {run}{}", marks(&only, &parts)));
    let applied = take!(asked.ask(Request::Apply { text, run, only, parts })?, UndoReport);
    let diff = ask(asked, run)?;
    page(asked, &diff, Some(html! { div data-taken={ "staged " (run) } { (outcome(&applied)) } }))
}

/// Returns the question whether files should really be discarded. If only marked files are concerned, the form
/// carries the marks along.
fn confirm_discard(
    asked: &PageRequest,
    diff: &Diff,
    what: &str,
    yes: &str,
    with_marks: bool,
) -> Result<Markup, Failure> {
    let (run, is_copy) = (diff.run, !with_marks);
    Ok(html! {
        section.failure #wrong role="alert" tabindex="-1" {
            h2 { @if is_copy { "Throw the whole copy away?" } @else { "Throw away what is marked?" } }
            p {
                @if is_copy { "The whole copy" (what) " is gone then, for good." }
                @else { "What is marked " (what) " is gone then, for good. What is not marked can still be applied." }
                " Nothing was thrown away yet."
            }
            form method="post" action={ "/r/" (run) "/diff" } {
                (parts::token(&asked.session))
                input type="hidden" name="_seen" value=(digest_field::digest(diff)?);
                @if with_marks {
                    @for (name, value) in asked.body.iter().filter(|(name, _)| name == "only" || name.starts_with(CHOICE)) {
                        input type="hidden" name=(name) value=(value);
                    }
                }
                div.buttons {
                    button name="do" value="look" { "Keep it" }
                    button.yes.away name="do" value=(yes) { "Throw it away for good" }
                }
            }
        }
    })
}

/// Returns the files for which only some hunks are marked.
fn parts_of(asked: &PageRequest, diff: &Diff, only: &[String]) -> Result<Vec<Part>, Failure> {
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

/// Returns the equivalent options of `almoner apply`, for the transcript.
fn marks(only: &[String], parts: &[Part]) -> String {
    let mut marks = String::new();
    for path in only {
        marks.push_str(&format!(" --only {path}"));
        let hunks = parts.iter().filter(|part| part.path == *path).flat_map(|part| &part.hunks);
        marks.extend(hunks.map(|number| format!(" --hunk {number}")));
    }
    marks
}

/// Returns whether a file can be applied in parts.
fn has_choice(file: &FileDiff) -> bool {
    file.entry.state == UndoState::Would && hunks::count(&file.text) > 1
}

/// The prefix of the field names for marks of hunks.
const CHOICE: &str = "hunk-";

/// Returns the field name for the marks of a file's hunks.
fn choice(at: usize) -> String {
    format!("{CHOICE}{at}")
}

/// Returns the files that can be applied.
fn ready(diff: &Diff) -> impl Iterator<Item = &FileDiff> {
    diff.files.iter().filter(|file| file.entry.state == UndoState::Would)
}

fn page(asked: &PageRequest, diff: &Diff, said: Option<Markup>) -> Result<Answer, Failure> {
    let run = diff.run;
    let digest = digest_field::digest(diff)?;
    let is_any = ready(diff).next().is_some();
    let main = html! {
        @if let Some(said) = said { (said) }
        h1 { "Staged changes of " (run) }
        p { (parts::run(run)) " changed a copy. Nothing of it is in place before you apply it." }
        @if diff.files.is_empty() { p { "It changed nothing in its staged copy, or the copy was thrown away." } }
        @else { (overview(diff)) }
        @if !diff.unappliable.is_empty() {
            p { "Cannot be applied:" }
            ul { @for change in &diff.unappliable { li { (parts::line(change)) } } }
        }
        form.card method="post" action={ "/r/" (run) "/diff" } data-weighty data-draft={ "staged " (run) } {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
            @for (at, file) in diff.files.iter().enumerate().filter(|(_, file)| !is_shown_at_other_end(diff, file)) {
                (self::file(asked, diff, at, file))
            }
            (buttons(is_any, diff))
        }
    };
    Ok(Page::new("/runs", format!("Staged changes of {run}"), main).live(format!("run:{run}")).into())
}

/// Returns the kind of a file's change, in a word or two.
fn word(file: &FileDiff) -> &'static str {
    match (&file.entry.state, &file.became) {
        (UndoState::Conflict { .. }, _) => "in conflict",
        (_, FileChange::New) => "new",
        (_, FileChange::Changed) => "changed",
        (_, FileChange::Removed) => "removed",
        (_, FileChange::MovedFrom { .. } | FileChange::MovedTo { .. }) => "moved",
    }
}

/// Returns the other end of a move, if the diff contains it.
fn other_end<'a>(diff: &'a Diff, file: &FileDiff) -> Option<&'a FileDiff> {
    let (FileChange::MovedFrom { path } | FileChange::MovedTo { path }) = &file.became else { return None };
    diff.files.iter().find(|other| other.entry.path == *path)
}

/// Returns whether a file is the start of a move. Such a file is shown at the other end of the move.
fn is_shown_at_other_end(diff: &Diff, file: &FileDiff) -> bool {
    matches!(file.became, FileChange::MovedTo { .. }) && other_end(diff, file).is_some()
}

/// Returns the number of files of each kind, and the list of files.
fn overview(diff: &Diff) -> Markup {
    let told = || diff.files.iter().enumerate().filter(|(_, file)| !is_shown_at_other_end(diff, file));
    let all: Vec<&str> = told().map(|(_, file)| word(file)).collect();
    let sorts = ["new", "changed", "removed", "moved", "in conflict"];
    let count = |sort: &str| all.iter().filter(|word| **word == sort).count();
    let counts: Vec<String> =
        sorts.iter().filter(|sort| count(sort) > 0).map(|sort| format!("{} {sort}", count(sort))).collect();
    html! {
        p { (counted(all.len())) ": " (counts.join(", ")) }
        @if all.len() > FEW {
            details #files {
                summary { "Which files" }
                ul {
                    @for (at, file) in told() {
                        li { a href={ "#f-" (at) } { (parts::line(&file.entry.path)) } ": " (word(file)) }
                    }
                }
            }
        }
    }
}

/// Returns the buttons for the marked files, and for the whole copy.
fn buttons(is_any: bool, diff: &Diff) -> Markup {
    html! {
        @if is_any { (parts::unfold_first()) }
        div.buttons.stays {
            @if is_any {
                button.yes name="do" value="apply" { "Apply those that are marked" }
                button.yes.away name="do" value="discard" { "Discard those that are marked" }
            }
            @if !diff.files.is_empty() { button.yes.away name="do" value="discard-copy" { "Discard the whole copy" } }
            @if ready(diff).count() > 1 {
                button name="do" value="all" { "Mark all" }
                button name="do" value="none" { "Mark none" }
            }
        }
    }
}

/// Returns whether a box is marked. Before a form is sent, all boxes are marked.
fn is_marked(asked: &PageRequest, name: &str, value: &str) -> bool {
    match asked.field("do") {
        Some("all") => return true,
        Some("none") => return false,
        _ => {}
    }
    asked.body.is_empty() || asked.body.iter().any(|(own, text)| own == name && text == value)
}

fn file(asked: &PageRequest, diff: &Diff, at: usize, file: &FileDiff) -> Markup {
    let entry = &file.entry;
    let id = format!("f-{at}");
    let from = other_end(diff, file);
    let title = html! {
        @if let Some(from) = from { (parts::line(&from.entry.path)) " → " }
        (parts::line(&entry.path))
    };
    // The moved file has the same content.
    let is_same = from.is_some_and(|from| from.entry.from == entry.to);
    html! {
        section.entry aria-labelledby=(id) {
            h2 #(id) {
                @if entry.state == UndoState::Would {
                    label {
                        input type="checkbox" name="only" value=(entry.path.raw())
                            checked[is_marked(asked, "only", entry.path.raw())];
                        span { (title) }
                    }
                } @else { (title) }
            }
            p.note {
                (word(file)) (measure(file, is_same)) ", " (link::step(entry.step)) " " (link::why(entry.path.raw()))
            }
            (file_state(file, &html! { "it" }))
            @if let Some(from) = from { (file_state(from, &parts::line(&from.entry.path))) }
            @let name = choice(at);
            // An unmarked file has all its hunks marked, in case the user includes the file after all.
            @let is_in = is_marked(asked, "only", entry.path.raw());
            @let shown = hunks::hunks(&file.text, has_choice(file).then_some(name.as_str()),
                |hunk| !is_in || is_marked(asked, &name, &hunk.to_string()));
            @if is_same { details { summary { "Moved as it is: its text" } (shown) } } @else { (shown) }
            @if let Some(now) = &file.against_now {
                p { "What is there now (" del { "-" } "), against what the run made of it (" ins { "+" } "):" }
                (parts::difference("what is there now, against what the run made of it", now))
            }
        }
    }
}

/// Returns the size of a change: the added and the removed lines, or a word for a file without them.
fn measure(file: &FileDiff, is_same: bool) -> String {
    let count = |mark: char| {
        let lines = file.text.raw().lines().skip_while(|line| !line.starts_with("@@ -"));
        lines.filter(|line| line.starts_with(mark)).count()
    };
    match (is_same, count('+'), count('-')) {
        (true, ..) => ", its content unchanged".to_owned(),
        // A file that is no text has no lines, and a directory has none either.
        (_, 0, 0) => format!(": {}", file.entry.to),
        (_, added, removed) => format!(", +{added} −{removed} lines"),
    }
}

/// Returns a note on the state of a file, if the state needs one.
fn file_state(file: &FileDiff, which: &Markup) -> Markup {
    let entry = &file.entry;
    html! {
        @match &entry.state {
            UndoState::Would | UndoState::Done => {}
            UndoState::Already if file.applied => p.answer { "✓ applied" },
            UndoState::Already => p.answer { "The place already holds this: there is nothing to apply." },
            UndoState::Conflict { now } => p.warning {
                "Conflict: " (which) " was changed meanwhile. It was " (parts::word(&entry.from))
                " when the run changed it, and is " (parts::word(now)) " now. It would be left alone."
            },
            UndoState::Failed { why } => p.warning { "Cannot be applied: " (parts::line(why)) },
        }
    }
}

/// Returns the outcome of applying changes.
fn outcome(applied: &UndoReport) -> Markup {
    let text = applied.render_applied();
    html! {
        section.failure[applied.is_partial()] role="status" {
            p { @if applied.is_partial() { "Not all of it was applied." } @else { "It was applied." } }
            (parts::own_block("What came of it", &text))
        }
    }
}
