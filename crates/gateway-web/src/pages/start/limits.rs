//! The limits of a run that begins, as fields of its form. They only lower the limits of the worker file.

use control::exit::{Exit, Failure};
use control::show::money;
use control::talk::ChatSetup;
use kernel::run::Limits;
use maud::{Markup, html};

use super::form_errors::{FormErrors, FormPlace, LIMIT};
use crate::page::parts;
use crate::page_request::PageRequest;
use crate::pages::runs::figures::took;

/// The limits that the form offers: the name of the option, the title, and an example.
const OFFERED: &[(&str, &str, &str)] = &[
    ("turns", "Turns: how often it may ask the model", "10"),
    ("calls", "Calls", "50"),
    ("tokens", "Tokens", "50k"),
    ("usd", "Dollars", "0.50"),
    ("wall", "Time at work", "10m"),
];

/// Returns the fields, folded unless one is filled in or wrong.
pub(super) fn fields(asked: &PageRequest, wanted: &ChatSetup, told: &FormErrors) -> Markup {
    let typed = |option: &str| asked.field(&format!("{LIMIT}{option}")).unwrap_or("");
    let wrong = |option: &'static str, title| told.at(&FormPlace::Limit(option, title));
    let is_open =
        OFFERED.iter().any(|(option, title, _)| !typed(option).is_empty() || wrong(option, title).is_some());
    html! {
        details open[is_open] {
            summary { "Limits" }
            p.note { "An empty field leaves the limit of the worker file. No field raises one." }
            @for (option, title, example) in OFFERED {
                @let id = format!("{LIMIT}{option}");
                @let wrong = wrong(option, title);
                label for=(id) { (title) @if let Some(own) = own(&wanted.limits, option) { " (the file: " (own) ")" } }
                input id=(id) name=(id) value=(typed(option)) placeholder=(example) autocomplete="off" spellcheck="false"
                    aria-describedby={ (id) "-error" } aria-invalid=[wrong.map(|_| "true")];
                (parts::wrong(&format!("{id}-error"), wrong))
            }
        }
    }
}

/// Returns the limit of the worker file, as text.
fn own(limits: &Limits, option: &str) -> Option<String> {
    match option {
        "turns" => Some(limits.turns.to_string()),
        "calls" => Some(limits.calls.to_string()),
        "tokens" => Some(limits.tokens.to_string()),
        "wall" => Some(took(i64::try_from(limits.wall_ms).unwrap_or(i64::MAX))),
        _ => limits.usd_micros.map(money::dollars),
    }
}

/// Returns the limits that the form sets, or `None` if it sets none. An invalid one is recorded at its field.
pub(super) fn read(asked: &PageRequest, wanted: &ChatSetup, told: &mut FormErrors) -> Option<Limits> {
    let (mut limits, mut is_set) = (wanted.limits, false);
    for (option, title, _) in OFFERED {
        let Some(text) = asked.filled(&format!("{LIMIT}{option}")) else { continue };
        let place = || FormPlace::Limit(option, title);
        let typed = asked.site.backend.raise(&[(option, text.to_owned())]);
        let Some(typed) = told.ok(place(), typed).flatten() else { continue };
        is_set = true;
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let before = limits;
        match *option {
            "turns" => limits.turns = small(typed.turns),
            "calls" => limits.calls = small(typed.calls),
            "tokens" => limits.tokens = typed.tokens,
            "wall" => limits.wall_ms = typed.wall_ms,
            _ => limits.usd_micros = Some(typed.usd_micros),
        }
        if let Some(most) = own(&before, option).filter(|_| before.at_most(limits) != limits) {
            let message = format!("cannot raise this limit: the worker file allows {most}");
            told.0.push((place(), Failure::new(Exit::Invalid, message).help("name less, or leave it empty")));
        }
    }
    is_set.then_some(limits)
}
