//! The second part: a live model sorts the five documents, and one card shows its proposed writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use kernel::run::{Entry, Run, RunOutcome};
use kernel::{MessageNumber, RunNumber};
use passable::{Untrusted, visible_line};
use serde_json::Value;
use worker::definition::Bundle;

use super::facts::{Expected, Fact};
use super::{heading, read};
use crate::cli;
use crate::cli::{FollowArgs, OnAsk, PullArgs};
use crate::client::Client;
use crate::follow::ask_mode::AskMode;
use crate::follow::follow_run::{EventOutput, FollowOutcome};
use crate::follow::{follow_run, run_outcome};
use crate::session::Session;
use crate::session::questions;
use crate::ui::output;
use crate::verbs::models;
use config::model_choice;
use config::place::Place;
use config::worker_file;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{ModelChoice, Request, Response, RunRequest, StartShape, StartSpec};

/// The minimum share of facts that must be right, in per cent.
const MIN_SCORE: usize = 80;

/// The way in which the card is approved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    /// The user at this terminal is asked. Without a terminal, the run is left waiting.
    AtTerminal,
    /// The user has agreed beforehand. The card is shown, then approved.
    AfterShowing,
    /// Another process approves the card, as from another terminal.
    FromElsewhere,
}

/// Fetches the local model if no model is available. The user has agreed with `--yes`.
///
/// # Errors
/// When the model cannot be fetched.
pub(super) fn fetch_without_asking(place: &Place) -> Result<(), Failure> {
    let lookup = |name: &str| std::env::var(name).ok().map(model::Secret::new);
    let network = config::network_source::NetworkSource::new(place).current();
    if let model::DetectedModel::Pull { weights, .. } = model::detect(&lookup, &place.weights(), &network) {
        let args = PullArgs { name: None, from: None, hub: None, mirror: false, yes: true };
        models::pull(place, weights, &args)?;
    }
    Ok(())
}

/// Shows the second part.
///
/// # Errors
/// When the model cannot be chosen, the run fails, or too few facts are right.
pub(super) fn show(place: &Place, work: &Path, named: Option<&str>, approval: Approval) -> ExitResult {
    heading("2. Live: five documents, one card");
    let model = match models::choose(place, named, None, false) {
        Ok(model) => model,
        Err(failure) if failure.exit == Exit::NeedsYou => {
            output::note(&format!("The live part is left out: {}.", failure.message.visible_line()));
            output::note(&failure.help);
            return Ok(Exit::Ok);
        }
        Err(failure) => return Err(failure),
    };
    let command = "almoner run triage.worker mail --each -e out=./out:rw -e outbox=./outbox";
    output::note(&format!("  cd {}\n  {command} -m {}\n", output::path(work), visible_line(&model)));
    let begun = Instant::now();
    let (run, after) = start(place, work, command, model)?;
    let asking = match approval {
        Approval::AtTerminal => AskMode::from(OnAsk::Prompt),
        Approval::AfterShowing | Approval::FromElsewhere => AskMode::LeaveWaiting,
    };
    let mut followed =
        follow_run::follow(&Session::new(place, None), run, Some(after), asking, EventOutput::Lines)?;
    let thinking = begun.elapsed();
    if let FollowOutcome::NeedsYou(pending) = &followed
        && approval != Approval::AtTerminal
    {
        for number in pending {
            output::note(
                &questions::card(&Session::new(place, None), *number)?.render_whole(output::columns()),
            );
            approve(place, *number, approval)?;
        }
        followed = follow_run::follow(
            &Session::new(place, None),
            run,
            None,
            AskMode::LeaveWaiting,
            EventOutput::Lines,
        )?;
    }
    let facts = score(place, run, work)?;
    let found = questions::run(&Session::new(place, None), run)?;
    let right = print_facts(&facts);
    print_speed(&found, thinking.as_secs_f64());
    match followed {
        FollowOutcome::Finished(run) => {
            let how =
                FollowArgs { on_ask: OnAsk::Deny, json: false, events: false, detach: false, output: None };
            if let kernel::run::State::Finished { outcome: RunOutcome::Failed(_) } = &run.state {
                return run_outcome::print_outcome(&Session::new(place, None), &run, &how);
            }
            output::note(&format!(
                "\nLook next: {0}/out/summary.md, `almoner trace {1}`, `almoner why {0}/out/summary.md`",
                output::path(work),
                run.number
            ));
        }
        FollowOutcome::Paused | FollowOutcome::Ended | FollowOutcome::TimedOut(_) => {}
        FollowOutcome::NeedsYou(pending) => {
            let number = pending.first().copied().unwrap_or(MessageNumber(0));
            output::note(&format!(
                "\n{run} waits for you, as long as you like, also after a reboot: `almoner inbox {number}`, then \
                 `almoner approve {number}`"
            ));
        }
    }
    if right * 100 < facts.len() * MIN_SCORE {
        return Err(Failure::new(Exit::Failure, format!("fewer than {MIN_SCORE} % of the facts are right"))
            .help("a larger model does better: `almoner demo --live -m openai:NAME`"));
    }
    Ok(Exit::Ok)
}

fn start(place: &Place, work: &Path, command: &str, model: String) -> Result<(RunNumber, u64), Failure> {
    let bundle = Bundle::load(&work.join("triage.worker")).map_err(|e| {
        let help = e.help();
        Failure::from_error(Exit::NotFound, e).help(help)
    })?;
    let path = |name: &str| work.join(name).display().to_string();
    let request = RunRequest {
        text: Untrusted::new(format!("almoner demo: {command}")),
        worker: worker_file::source_of(bundle, Some(work.display().to_string())),
        spec: StartSpec {
            documents: cli::read_inputs(&[path("mail")])?.documents,
            shape: StartShape::Each {
                jobs: model_choice::jobs(&model),
                waiting: kernel::run::DEFAULT_WAITING,
            },
            endow: vec![
                cli::parse_endowment(&format!("out={}:rw", path("out")))?,
                cli::parse_endowment(&format!("outbox={}", path("outbox")))?,
            ],
            model: ModelChoice::Reference(model),
            ..StartSpec::default()
        },
        key: None,
    };
    let mut client = Client::connect(place)?;
    let after = client.last_event()?;
    match client.ask(Request::Run(Box::new(request)))? {
        Response::Reply(kernel::command::Reply::Started { run }) => Ok((run, after)),
        other => Err(unexpected(&other)),
    }
}

fn approve(place: &Place, number: MessageNumber, approval: Approval) -> Result<(), Failure> {
    if approval == Approval::AfterShowing {
        let text = Untrusted::new(format!("almoner demo --yes, then approve {number}"));
        let request = Request::yes(text, number, None, false);
        Client::connect(place)?.ask(request)?;
        output::note("approved (--yes)");
        return Ok(());
    }
    let failed = |e: std::io::Error| super::io("another almoner", &e);
    let status = std::process::Command::new(std::env::current_exe().map_err(failed)?)
        .args(["approve", &number.to_string()])
        .envs(place.as_env())
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(Failure::new(Exit::Failure, format!("`almoner approve {number}` ended with {status}")));
    }
    output::note(&format!("approved by another process: `almoner approve {number}`"));
    Ok(())
}

/// Returns the facts that the run found for each document, beside the expected ones.
fn score(place: &Place, run: RunNumber, work: &Path) -> Result<Vec<Fact>, Failure> {
    let expected = Expected::parse(&read(&work.join("expected.json"))?)
        .map_err(|e| Failure::new(Exit::Invalid, format!("expected.json: {e}")))?;
    let found = questions::run(&Session::new(place, None), run)?;
    let steps = questions::journal(&Session::new(place, None), run)?;
    let mut results: BTreeMap<String, Value> = BTreeMap::new();
    for step in steps {
        if let Entry::Collected { index, outcome: RunOutcome::Done(value) } = step.entry
            && let Some(item) = found.input.items.get(index)
        {
            results.insert(item.name.clone(), value.to_json());
        }
    }
    Ok(expected.compare(&results))
}

fn print_facts(facts: &[Fact]) -> usize {
    output::note("\nFacts, beside what was written down before any model had seen the documents:\n");
    let mut last = "";
    for fact in facts {
        if fact.document != last {
            output::note(&format!("  {}", fact.document));
            last = &fact.document;
        }
        let mark = if fact.is_right { "✓" } else { "✗" };
        let got = visible_line(&fact.got);
        let wanted = if fact.is_right { String::new() } else { format!("   expected {}", fact.expected) };
        output::note(&format!("    {mark} {:<10} {got}{wanted}", fact.key));
    }
    let right = facts.iter().filter(|fact| fact.is_right).count();
    let percent = (right * 100).checked_div(facts.len()).unwrap_or(0);
    output::note(&format!(
        "\n  {right} right, {} wrong of {} ({percent} %)",
        facts.len() - right,
        facts.len()
    ));
    right
}

fn print_speed(run: &Run, seconds: f64) {
    let model_seconds = run.used.model_ms as f64 / 1000.0;
    let tokens = run.used.input_tokens + run.used.output_tokens;
    let rate = |n: u64| if model_seconds > 0.0 { n as f64 / model_seconds } else { 0.0 };
    output::note(&format!(
        "  {} tokens read, {} written; {:.0} tokens/s in all; {seconds:.0} s until the card ({model_seconds:.0} s of \
         them the model's)",
        run.used.input_tokens,
        run.used.output_tokens,
        rate(tokens)
    ));
}
