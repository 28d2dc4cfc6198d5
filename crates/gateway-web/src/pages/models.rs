//! Models: which were asked, and what that cost.

use control::exit::{Exit, Failure};
use control::protocol::{Request, RunRequest};
use control::show::money;
use control::show::stats::OfModel;
use kernel::command::Reply;
use kernel::run::Limits;
use maud::{Markup, html};
use passable::Untrusted;

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::parts;
use crate::pages::runs::figures::took;

/// What a model is asked to try it: it costs next to nothing, and its run says how many tokens that was.
const TRIAL: &str = "---\ndescription: Tries a model.\n---\nAnswer with the one word: ready\n";

/// How many tokens trying a model may take.
const TRIAL_TOKENS: u64 = 4000;

/// How long the longest bar is.
const LONGEST: u64 = 300;

/// The spans of time for which figures are shown: a word, and so many days.
const SINCE: &[(&str, Option<i64>)] =
    &[("ever", None), ("30 days", Some(30)), ("7 days", Some(7)), ("a day", Some(1))];

/// `GET /models`, with `?days=`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let days = asked.query("days").and_then(|days| days.parse::<i64>().ok());
    let days = SINCE.iter().find_map(|(_, one)| one.filter(|one| Some(*one) == days));
    let since_ms = days.map(|days| asked.site.backend.now_ms() - days * 86_400_000);
    let stats = take!(asked.ask(Request::Stats { since_ms })?, Stats);
    let all = &stats.model;
    let main = html! {
        h1 { "Models" }
        nav.filters aria-label="Since when" {
            @for (word, one) in SINCE {
                a href={ "/models" @if let Some(days) = one { "?days=" (days) } }
                    aria-current=[(*one == days).then_some("true")] { (word) }
            }
        }
        section #models aria-label="What models were asked" {
            p {
                strong { (all.calls) } " calls, " strong { (all.input_tokens) } " tokens read, "
                strong { (all.output_tokens) } " written, " (took(i64::try_from(all.ms).unwrap_or(i64::MAX))) ", "
                strong { (money::dollars(all.usd_micros)) }
            }
            @if stats.models.is_empty() { p.note { "No model was asked." } } @else { (bars(&stats.models)) }
        }
        form.card method="post" action="/models" {
            (parts::token(&asked.session))
            label for="model" { "Try a model: it is asked for one word, in a run that shows the tokens" }
            input #model name="model" list="known" autocomplete="off" spellcheck="false" required;
            datalist #known { @for one in &stats.models { option value=(one.model) {} } }
            div.buttons { button { "Try it" } }
        }
        p.note { code { "almoner models" } " says which models this machine can ask." }
    };
    Ok(Page::new("/models", "Models", main).into())
}

/// `POST /models`: asks a model for one word.
pub fn try_it(asked: &Asked) -> Result<Answer, Failure> {
    let model = asked.filled("model").ok_or_else(|| {
        Failure::new(Exit::Usage, "no model was named").help("name one as `almoner models` shows it")
    })?;
    let request = RunRequest {
        text: Untrusted::new(format!("ask -m {model} \"Answer with the one word: ready\"")),
        name: "try".to_owned(),
        source: TRIAL.to_owned(),
        includes: Default::default(),
        beside: None,
        values: Default::default(),
        read_from: vec![],
        documents: vec![],
        chat: false,
        private: false,
        each: None,
        limits: Some(Limits { turns: 1, calls: 0, depth: 0, tokens: TRIAL_TOKENS, ..Limits::default() }),
        endow: vec![],
        allow: vec![],
        model: model.to_owned(),
        dry_run: false,
        retry: None,
        policy: None,
    };
    match take!(asked.ask(Request::Run(Box::new(request)))?, Reply) {
        Reply::Started { run } => Ok(Answer::Go(format!("/r/{run}"))),
        _ => Err(Failure::new(Exit::Failure, "the run was not started")),
    }
}

/// A bar for each model: by what it cost, or by its tokens where nothing did.
fn bars(models: &[OfModel]) -> Markup {
    let is_paid = models.iter().any(|one| one.asked.usd_micros > 0);
    let size = |one: &OfModel| if is_paid { one.asked.usd_micros } else { one.asked.tokens() };
    let most = models.iter().map(size).max().unwrap_or(0);
    html! {
        div.wide tabindex="0" role="region" aria-label="Models" {
            table {
                caption { "By " @if is_paid { "cost" } @else { "tokens" } }
                thead { tr {
                    th scope="col" { "Model" } th scope="col" { "Cost" } th scope="col" { "Tokens" }
                    th scope="col" { "Calls" } th scope="col" { "Time" } th scope="col" { "Share" }
                } }
                tbody {
                    @for one in models {
                        tr {
                            th scope="row" { (parts::word(&one.model)) }
                            td { (money::dollars(one.asked.usd_micros)) }
                            td { (one.asked.tokens()) }
                            td { (one.asked.calls) }
                            td { (took(i64::try_from(one.asked.ms).unwrap_or(i64::MAX))) }
                            td.bars {
                                svg viewBox={ "0 0 " (LONGEST) " 14" } width=(LONGEST) height="14"
                                    preserveAspectRatio="none" aria-hidden="true" {
                                    rect.track x="0" y="6" width=(LONGEST) height="2" {}
                                    rect.bar.model x="0" y="1" width=(length(size(one), most)) height="12" rx="2" {}
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How long a bar is. What is anything at all can be seen.
fn length(part: u64, most: u64) -> u64 {
    let long = u128::from(part) * u128::from(LONGEST) / u128::from(most.max(1));
    let long = u64::try_from(long).unwrap_or(LONGEST).min(LONGEST);
    if part > 0 { long.max(2) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        for (part, most, long) in [
            (0, 0, 0),
            (0, 9, 0),
            (9, 9, LONGEST),
            (1, 1_000_000, 2),
            (1, 2, LONGEST / 2),
            (u64::MAX, u64::MAX, LONGEST),
        ] {
            assert_eq!(length(part, most), long, "{part} of {most}");
        }
    }
}
