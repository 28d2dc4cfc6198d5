//! The page that saves a run as a test. The run becomes a worker file, and its inputs and its model's answers become
//! a test case.

use control::exit::{Exit, Failure};
use control::health_check::SaveReport;
use control::protocol::Request;
use kernel::RunNumber;
use maud::{Markup, html};
use passable::Untrusted;
use passable::shell_word;

use crate::answer::{Answer, Page};
use crate::page::{digest_field, parts};
use crate::page_request::{PageRequest, take};

/// Answers `GET /r/RUN/save`: asks for a name and a directory.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    // An unknown run is an error.
    asked.ask(Request::GetRun { run })?;
    Ok(page(run, &html! { (form(asked, run, None)) }).into())
}

/// Answers `POST /r/RUN/save`: shows the files that would be written. Once the user has seen them, writes them.
pub fn save(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let saving = match saving(asked, run, false) {
        Ok(saving) => saving,
        Err(failure) => {
            let fields = [("name", "Name"), ("dir", "Directory")];
            let body = html! { (parts::failure_at(&failure, &fields)) (form(asked, run, Some(&failure))) };
            return Ok(page(run, &body).status(status(&failure)).into());
        }
    };
    let digest = digest_field::digest(&saving)?;
    if asked.field("do") != Some("save") {
        let body = html! { (preview_section(asked, run, &saving, &digest)) (form(asked, run, None)) };
        return Ok(page(run, &body).into());
    }
    if asked.field("_seen") != Some(digest.as_str()) {
        let body =
            html! { (digest_field::changed("written")) (preview_section(asked, run, &saving, &digest)) };
        return Ok(page(run, &body).status(409).into());
    }
    let done = self::saving(asked, run, true)?;
    let body = html! { div data-taken={ "save " (run) } { (saved_section(&done)) } };
    Ok(page(run, &body).into())
}

fn status(failure: &Failure) -> u16 {
    if failure.exit == Exit::Conflict { 409 } else { 422 }
}

fn saving(asked: &PageRequest, run: RunNumber, write: bool) -> Result<SaveReport, Failure> {
    let needs = |field: &str, what: &str, help: &str| {
        asked.filled(field).ok_or_else(|| Failure::new(Exit::Invalid, what.to_owned()).help(help))
    };
    let name = needs("name", "it has no name", "write one: letters, digits, `_` and `-`")?;
    let dir = needs("dir", "no directory is named", "write the whole path, beginning with /")?;
    let request = Request::Save { run, name: name.to_owned(), dir: dir.to_owned(), write };
    Ok(*take!(asked.ask(request)?, Saved))
}

fn page(run: RunNumber, body: &Markup) -> Page {
    let main = html! {
        h1 { "Save " (run) " as a test" }
        p { "What " (parts::run(run)) " was told becomes a worker file, and what it was given and what its model answered a \
             test beside it. The same as " code { "almoner save " (run) " as NAME" } "." }
        (body)
    };
    Page::new("/runs", format!("Save {run}"), main)
}

fn form(asked: &PageRequest, run: RunNumber, wrong: Option<&Failure>) -> Markup {
    let typed = |name: &str| asked.field(name).unwrap_or("");
    let is_wrong = wrong.map(|_| "true");
    html! {
        form.card method="post" action={ "/r/" (run) "/save" } data-draft={ "save " (run) } {
            (parts::token(&asked.session))
            label for="name" { "Name: letters, digits, “_” and “-”" }
            input #name name="name" value=(typed("name")) autocomplete="off" spellcheck="false" aria-invalid=[is_wrong]
                aria-describedby="save-error";
            label for="dir" { "Directory: its whole path, beginning with /" }
            input #dir name="dir" value=(typed("dir")) autocomplete="off" spellcheck="false" aria-invalid=[is_wrong]
                aria-describedby="save-error";
            (parts::wrong("save-error", wrong))
            p.buttons { button name="do" value="show" { "Show what would be written" } }
        }
    }
}

/// Returns the files that would be written, and the button that writes exactly these files.
fn preview_section(asked: &PageRequest, run: RunNumber, saving: &SaveReport, digest: &str) -> Markup {
    html! {
        section #would aria-labelledby="would-title" {
            h2 #would-title { "To be written" }
            (files(saving))
            form.card method="post" action={ "/r/" (run) "/save" } data-weighty {
                (parts::token(&asked.session))
                input type="hidden" name="_seen" value=(digest);
                @for field in ["name", "dir"] {
                    input type="hidden" name=(field) value=(asked.field(field).unwrap_or(""));
                }
                button.default type="submit" name="do" value="show" tabindex="-1" aria-hidden="true" { "Look again" }
                p.buttons {
                    button.yes name="do" value="save" {
                        @match saving.files.len() { 1 => "Write this file", many => { "Write these " (many) " files" } }
                    }
                }
            }
        }
    }
}

/// Returns the files that were written, and the commands that run them.
fn saved_section(saving: &SaveReport) -> Markup {
    html! {
        section #saved aria-labelledby="saved-title" {
            h2 #saved-title { "Saved" }
            (files(saving))
            p { "To try it: " code { "almoner test " (parts::line(&Untrusted::new(shell_word(&saving.worker)))) } }
            p { "To run it again, from its directory: " code { (parts::line(&Untrusted::new(saving.command.as_str()))) } }
        }
    }
}

fn files(saving: &SaveReport) -> Markup {
    html! {
        ul { @for path in &saving.files { li { (parts::line(&Untrusted::new(path.as_str()))) } } }
        @for note in &saving.notes { p.warning { (parts::line(&Untrusted::new(note.as_str()))) } }
    }
}
