//! The page of settings: those that are in force, each with its origin, and the choice of the default model.

use control::exit::Failure;
use control::protocol::Request;
use control::settings_report::{SettingOrigin, SettingRow};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use crate::answer::{Answer, Page};
use crate::page::{parts, table};
use crate::page_request::{PageRequest, take};
use crate::pages::messages::step_up;

/// Answers `GET /settings`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    Ok(page(asked, None)?.into())
}

/// Answers `POST /settings`: writes the default model into the user's settings.
pub fn change(asked: &PageRequest) -> Result<Answer, Failure> {
    let model = asked.field("model").unwrap_or_default().trim();
    // All later runs send their words to this model, so an old session asks for the word.
    let is_local = model == "local" || model.starts_with("local:");
    let checked = step_up::check(asked, !is_local);
    match checked.and_then(|()| asked.site.backend.set_default_model(model)) {
        Ok(()) => Ok(Answer::Go(if asked.field("to") == Some("/") { "/" } else { "/settings" }.to_owned())),
        Err(failure) => Ok(page(asked, Some(&failure))?.status(422).into()),
    }
}

fn page(asked: &PageRequest, wrong: Option<&Failure>) -> Result<Page, Failure> {
    let report = asked.site.backend.settings();
    let known = take!(asked.ask(Request::Models)?, Models);
    let is_wrong = wrong.map(|_| "true");
    let main = html! {
        h1 { "Settings" }
        @if let Some(failure) = wrong { (parts::failure_at(failure, &[("model", "Default model")])) }
        @if let Some(failure) = &report.failure {
            (parts::failure_below(failure))
        }
        section aria-labelledby="model-title" {
            h2 #model-title { "Default model" }
            p { "A run that names no model asks this one: " strong { (parts::word(&known.used_because)) } }
            form.card method="post" action="/settings" {
                (parts::token(&asked.session))
                label for="model" { "Default model" }
                input #model name="model" list="models" autocomplete="off" spellcheck="false" required
                    value=(asked.field("model").or(report.default_model.as_deref()).unwrap_or(""))
                    aria-describedby="model-wants model-error" aria-invalid=[is_wrong];
                datalist #models { @for one in &known.can_ask { option value=(one.model) { (visible_line(&one.origin)) } } }
                p.note #model-wants { "It is written into your settings file. Everything else in the file stays." }
                (parts::wrong("model-error", wrong))
                (step_up::field(asked, "To use a model that is not on this machine"))
                div.buttons { button { "Use for new runs" } }
            }
            @if !known.can_ask.is_empty() {
                ul.rows { @for one in &known.can_ask { li {
                    form.beside method="post" action="/settings" {
                        (parts::token(&asked.session))
                        input type="hidden" name="model" value=(one.model);
                        span { strong { (parts::word(&one.model)) } " " span.note { (parts::word(&one.origin)) } }
                        @if report.default_model.as_deref() == Some(one.model.as_str()) { span.mark.good { "in use" } }
                        @else { button aria-label={ "Use it: " (visible_line(&one.model)) } { "Use it" } }
                    }
                } } }
            }
        }
        section aria-labelledby="force-title" {
            h2 #force-title { "In force" }
            p.note {
                "The file is " code { (parts::line(&Untrusted::new(report.path.as_str()))) }
                @if !report.is_there { ", which does not exist yet" }
                ". You change it with an editor; the daemon reads it again."
            }
            (table::table("Settings in force", COLUMNS, report.rows.iter().map(row)))
        }
        @if !report.managed.is_empty() {
            section aria-labelledby="managed-title" {
                h2 #managed-title { "Bound by the machine's administrator" }
                ul { @for line in &report.managed { li { (parts::line(line)) } } }
            }
        }
    };
    Ok(Page::new("/settings", "Settings", main))
}

/// The columns of the table of settings.
const COLUMNS: &[&str] = &["Setting", "Value", "From"];

fn row(one: &SettingRow) -> Vec<Markup> {
    vec![
        html! { code { (one.section) "." (visible_line(&one.key)) } },
        html! { (parts::word(&one.value)) },
        html! {
            @match one.origin {
                SettingOrigin::BuiltIn => span.note { "built in" },
                SettingOrigin::File => "your settings file",
                SettingOrigin::Environment(name) => { "the variable " code { (name) } " of the daemon" }
            }
        },
    ]
}
