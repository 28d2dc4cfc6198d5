//! The page of models: the available models, the earlier calls of models, and their cost.

use control::exit::{Exit, Failure};
use control::models::KnownModel;
use control::protocol::{ModelChoice, Request, RunRequest, StartSpec, WorkerSource};
use control::show::money;
use control::show::stats::{ModelStats, Stats};
use kernel::command::Reply;
use kernel::run::Limits;
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use crate::answer::{Answer, Page};
use crate::page::figures::{counted, grouped};
use crate::page::parts;
use crate::page_request::{PageRequest, take};
use crate::pages::runs::figures::took;

/// The worker that tries a model. It costs next to nothing, and its run shows the number of tokens.
const TRIAL: &str = "---\ndescription: Tries a model.\n---\nAnswer with the one word: ready\n";

/// The maximum number of tokens for a trial of a model.
const TRIAL_TOKENS: u64 = 4000;

/// The length of the longest bar.
const MAX_LEN: u64 = 300;

/// The periods for which figures are shown. Each has a label and a number of days.
const SINCE: &[(&str, Option<i64>)] =
    &[("all time", None), ("last 30 days", Some(30)), ("last 7 days", Some(7)), ("last 24 hours", Some(1))];

/// Answers `GET /models`. `?days=` selects the period.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    Ok(page(asked, None)?.into())
}

fn page(asked: &PageRequest, wrong: Option<&Failure>) -> Result<Page, Failure> {
    let days = asked.query("days").and_then(|days| days.parse::<i64>().ok());
    let days = SINCE.iter().find_map(|(_, one)| one.filter(|one| Some(*one) == days));
    let since_ms = days.map(|days| asked.site.backend.now_ms() - days * 86_400_000);
    let stats = take!(asked.ask(Request::Stats { since_ms })?, Stats);
    let all = &stats.model;
    let known = take!(asked.ask(Request::Models)?, Models);
    let main = html! {
        h1 { "Models" }
        @if let Some(failure) = wrong { (parts::failure_at(failure, &[("model", "Another model")])) }
        section aria-labelledby="asked-title" {
            h2 #asked-title { "What they were asked" }
            nav.filters aria-label="Since when" {
                @for (word, one) in SINCE {
                    a href={ "/models" @if let Some(days) = one { "?days=" (days) } }
                        aria-current=[(*one == days).then_some("true")] { (word) }
                }
            }
            p {
                strong { (counted(all.calls, "call", "calls")) } ", " strong { (grouped(all.input_tokens)) } " tokens read, "
                strong { (grouped(all.output_tokens)) } " written, " (took(i64::try_from(all.ms).unwrap_or(i64::MAX))) ", "
                strong { (money::dollars(all.usd_micros)) }
            }
            @if stats.models.is_empty() { p.note { "No model was asked." } } @else { (usage_bars(&stats.models)) }
        }
        section aria-labelledby="can-title" {
            h2 #can-title { "Which can be asked" }
            (askable(asked, &known.can_ask))
            (another(asked, &stats, wrong))
        }
    };
    Ok(Page::new("/models", "Models", main))
}

/// Returns the available models. Each has a button that tries it.
fn askable(asked: &PageRequest, all: &[KnownModel]) -> Markup {
    let settings = asked.site.backend.settings();
    let default = settings.default_model.as_deref();
    html! {
        @if all.is_empty() {
            p.note {
                "None is here yet: " code { "almoner setup" } " finds one, " code { "almoner models pull" } " fetches one, and a key of a vendor's goes into the environment of the daemon."
            }
        }
        @if !all.is_empty() { ul.rows {
            @for one in all {
                li {
                    form.beside method="post" action="/models" {
                        (parts::token(&asked.session))
                        input type="hidden" name="model" value=(one.model);
                        span { strong { (parts::word(&one.model)) } " " span.note { (parts::word(&one.origin)) } }
                        span.buttons {
                            button aria-label={ "Try " (visible_line(&one.model)) } { "Try it" }
                            @if default == Some(one.model.as_str()) { span.mark.good { "for new runs" } }
                            @else {
                                button formaction="/settings" aria-label={ "Use " (visible_line(&one.model)) " for new runs" } {
                                    "Use for new runs"
                                }
                            }
                        }
                    }
                }
            }
        } }
    }
}

/// Returns a form for trying any other model.
fn another(asked: &PageRequest, stats: &Stats, wrong: Option<&Failure>) -> Markup {
    html! {
        form.card method="post" action="/models" {
            (parts::token(&asked.session))
            label for="model" { "Another model; empty for the one in your settings" }
            input #model name="model" list="known" value=(asked.field("model").unwrap_or("")) autocomplete="off"
                spellcheck="false" aria-describedby="model-wants model-error" aria-invalid=[wrong.map(|_| "true")];
            p.note #model-wants { "It is asked for one word, in a run that shows the tokens." }
            (parts::wrong("model-error", wrong))
            datalist #known { @for one in &stats.models { option value=(one.model) {} } }
            div.buttons { button { "Try it" } }
        }
    }
}

/// Answers `POST /models`: asks a model for one word.
pub fn try_it(asked: &PageRequest) -> Result<Answer, Failure> {
    match start_trial(asked) {
        Ok(to) => Ok(Answer::Go(to)),
        Err(failure) => Ok(page(asked, Some(&failure))?.status(422).into()),
    }
}

/// Starts the run that asks the model, and returns the address of the run's page.
fn start_trial(asked: &PageRequest) -> Result<String, Failure> {
    let model = asked.site.backend.model(asked.filled("model"))?;
    let request = RunRequest {
        text: Untrusted::new(format!("ask -m {model} \"Answer with the one word: ready\"")),
        worker: WorkerSource { name: "try".to_owned(), source: TRIAL.to_owned(), ..WorkerSource::default() },
        spec: StartSpec {
            limits: Some(Limits { turns: 1, calls: 0, depth: 0, tokens: TRIAL_TOKENS, ..Limits::default() }),
            model: ModelChoice::Reference(model),
            ..StartSpec::default()
        },
        key: None,
    };
    match take!(asked.ask(Request::Run(Box::new(request)))?, Reply) {
        Reply::Started { run } => Ok(format!("/r/{run}")),
        _ => Err(Failure::new(Exit::Failure, "the run was not started")),
    }
}

/// Returns a bar for each model, below its name. The length shows the cost, or the number of tokens if no model had a
/// cost.
fn usage_bars(models: &[ModelStats]) -> Markup {
    let is_paid = models.iter().any(|one| one.asked.usd_micros > 0);
    let size = |one: &ModelStats| if is_paid { one.asked.usd_micros } else { one.asked.tokens() };
    let most = models.iter().map(size).max().unwrap_or(0);
    html! {
        p.note { "Each by its share, in " @if is_paid { "cost" } @else { "tokens" } "." }
        ul.rows {
            @for one in models {
                li.share {
                    strong { (parts::word(&one.model)) }
                    svg viewBox={ "0 0 " (MAX_LEN) " 14" } width="100%" height="14" preserveAspectRatio="none" aria-hidden="true" {
                        rect.track x="0" y="6" width=(MAX_LEN) height="2" {}
                        rect.bar.model x="0" y="1" width=(length(size(one), most)) height="12" rx="2" {}
                    }
                    span.note {
                        (money::dollars(one.asked.usd_micros)) " · " (grouped(one.asked.tokens())) " tokens · "
                        (counted(one.asked.calls, "call", "calls")) " · "
                        (took(i64::try_from(one.asked.ms).unwrap_or(i64::MAX)))
                    }
                }
            }
        }
    }
}

/// Returns the length of a bar. Any amount above zero is visible.
fn length(part: u64, most: u64) -> u64 {
    let long = u128::from(part) * u128::from(MAX_LEN) / u128::from(most.max(1));
    let long = u64::try_from(long).unwrap_or(MAX_LEN).min(MAX_LEN);
    if part > 0 { long.max(2) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_length_is_proportional_to_its_part() {
        for (part, most, long) in [
            (0, 0, 0),
            (0, 9, 0),
            (9, 9, MAX_LEN),
            (1, 1_000_000, 2),
            (1, 2, MAX_LEN / 2),
            (u64::MAX, u64::MAX, MAX_LEN),
        ] {
            assert_eq!(length(part, most), long, "{part} of {most}");
        }
    }
}
