//! `almoner chat`: a conversation with a worker. A conversation is one run, which waits between the messages.

use std::io::IsTerminal as _;

use kernel::RunNumber;
use kernel::command::Reply;
use kernel::run::{Entry, Run, Shape};
use passable::{Untrusted, visible_line};

use super::run_config;
use super::run_config::RunConfig;
use super::{models, run};
use crate::cli;
use crate::cli::ChatArgs;
use crate::follow::conversation::Conversation;
use crate::follow::follow_run;
use crate::follow::follow_run::FollowOutcome;
use crate::follow::pending;
use crate::follow::run_outcome;
use crate::session::Session;
use crate::session::command_line;
use crate::session::questions;
use crate::ui::output;
use config::worker_file;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{
    AgentAct, ModelChoice, Request, Response, RunRequest, StartShape, StartSpec, TALKER, WorkerSource,
};

/// Runs `almoner chat`.
///
/// # Errors
/// When the command is wrong, or the run fails.
pub fn chat(acting: &Session<'_>, args: &ChatArgs) -> ExitResult {
    let (number, after, told) = match &args.go_on {
        Some(which) => resume_chat(acting, args, which)?,
        None => begin(acting, args)?,
    };
    if std::io::stdin().is_terminal() {
        output::note("An empty line says nothing; Ctrl-D leaves, `/end` ends the conversation.");
    }
    match follow_run::converse(acting, number, after, args.on_ask.into(), Conversation::new(told))? {
        FollowOutcome::Paused | FollowOutcome::TimedOut(_) => {
            output::note(&format!(
                "{number} is left open: {} goes on, {} ends it",
                acting.command(&format!("chat --continue {number}")),
                acting.command(&format!("cancel {number}")),
            ));
            Ok(Exit::Ok)
        }
        FollowOutcome::Ended => end(acting, number),
        FollowOutcome::NeedsYou(pending) => Err(pending::needs_you(acting, number, &pending)),
        FollowOutcome::Finished(run) => run_outcome::print_outcome(acting, &run, &args.follow()),
    }
}

/// Starts a conversation. Returns its run, the last event before it, and the last step whose answer has been printed.
fn begin(acting: &Session<'_>, args: &ChatArgs) -> Result<(RunNumber, Option<u64>, u64), Failure> {
    let (worker, wants, given) = match &args.worker {
        None => {
            let endow = args.endow.iter().map(|text| cli::parse_endowment(text)).collect::<Result<_, _>>()?;
            let given = RunConfig {
                endow,
                allow: args.allow.clone(),
                model: args.model.clone(),
                ..RunConfig::default()
            };
            let (name, source) = ("chat".to_owned(), TALKER.to_owned());
            (WorkerSource { name, source, ..WorkerSource::default() }, None, given)
        }
        Some(path) => {
            let bundle = worker_file::load(path)?;
            let definition = run::check(&bundle)?;
            let model = args.model.as_deref();
            let worker = (&bundle, &definition);
            let given = run_config::load(acting, path, worker, model, &args.endow, &args.allow)?;
            (worker_file::source_of(bundle, worker_file::beside(path)), definition.model, given)
        }
    };
    let inputs = cli::read_inputs(&args.inputs)?;
    let model = models::choose(acting.place, given.model.as_deref(), wants.as_deref(), false)?;
    let request = RunRequest {
        text: Untrusted::new(command_line::command_line() + &given.transcript_suffix),
        worker,
        spec: StartSpec {
            values: inputs.values,
            read_from: inputs.read_from,
            documents: acting.readable_documents(inputs.documents)?,
            shape: StartShape::Chat,
            private: args.private,
            limits: given.limits,
            endow: given.endow,
            allow: given.allow,
            model: ModelChoice::Reference(model),
            ..StartSpec::default()
        },
        key: None,
    };
    let after = acting.last_event()?;
    match acting.ask(Request::Run(Box::new(request)))? {
        Response::Reply(Reply::Started { run }) => {
            run::show_document_notes(acting, run)?;
            Ok((run, Some(after), 0))
        }
        other => Err(unexpected(&other)),
    }
}

/// Continues a conversation: the named one, or the latest that is open. Returns the same values as `begin`.
fn resume_chat(
    acting: &Session<'_>,
    args: &ChatArgs,
    which: &str,
) -> Result<(RunNumber, Option<u64>, u64), Failure> {
    if args.worker.is_some() || !args.endow.is_empty() || !args.inputs.is_empty() || !args.allow.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "cannot change a conversation: it goes on with what it was begun with",
        )
        .help("leave the worker, its inputs, `-e` and `--allow` out, or begin another one"));
    }
    let found = match which {
        "" => latest(acting)?,
        named => questions::run(acting, questions::named_run(acting, Some(named))?)?,
    };
    if found.shape != Shape::Chat {
        let message = format!("{} is no conversation", found.number);
        return Err(
            Failure::new(Exit::Conflict, message).help("`almoner resume` goes on with a run that stopped")
        );
    }
    if found.is_finished() {
        return Err(Failure::new(Exit::Conflict, format!("{} is over", found.number))
            .help("`almoner chat` begins another one"));
    }
    output::note(&format!("{} `{}` goes on", found.number, visible_line(&found.name)));
    // The user may not have seen the answers since their last message.
    let steps = questions::journal(acting, found.number)?;
    let said = steps.iter().rev().find(|step| matches!(step.entry, Entry::Said { .. }));
    Ok((found.number, None, said.map_or(0, |step| step.number)))
}

/// Returns the latest conversation that is open.
fn latest(acting: &Session<'_>) -> Result<Run, Failure> {
    let mut below = None;
    loop {
        let page = match acting.ask(Request::Runs { limit: 100, below, roots: true })? {
            Response::Runs(runs) => runs,
            other => return Err(unexpected(&other)),
        };
        let Some(last) = page.last().map(|run| run.number) else {
            return Err(Failure::new(Exit::NotFound, "cannot go on with a conversation: none is open")
                .help("`almoner chat` begins one"));
        };
        if let Some(open) = page.into_iter().find(|run| run.shape == Shape::Chat && !run.is_finished()) {
            return questions::run(acting, open.number);
        }
        below = Some(last);
    }
}

/// Ends a conversation for good.
fn end(acting: &Session<'_>, number: RunNumber) -> ExitResult {
    let what = kernel::command::Cancel::Run { run: number };
    let reason = Untrusted::new("the conversation is over");
    let act = AgentAct::Cancel { what, reason };
    acting.ask(acting.request("cancel", format!("almoner cancel {number}"), act))?;
    output::note(&format!("{number} is over; `almoner trace {number}` keeps what was said"));
    Ok(Exit::Ok)
}
