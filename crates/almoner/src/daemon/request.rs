//! Requests and their answers.

use std::collections::BTreeSet;

use kernel::command::{Act, AnswerApproval, Choice, Reply};
use kernel::message::Body;
use kernel::proposal::Proposal;
use kernel::run::{Entry, State};
use kernel::{MessageNumber, RunNumber, StepRef, query, table};
use passable::Untrusted;
use worker::World as _;

use super::serve::Server;
use super::{agents, look, start_run, why};
use crate::control::protocol::{Request, Response, Status};
use crate::exit::{Exit, Failure};
use crate::show::card::{Card, CardEntry};
use crate::show::value;

/// Answers one request.
///
/// # Errors
/// What the client is told when it is not done.
pub fn answer(server: &Server, request: Request) -> Result<Response, Failure> {
    let daemon = &server.daemon;
    let owner = daemon.host.number;
    Ok(match request {
        Request::Status => Response::Status(status(server)?),
        Request::Run(run) => start_run::start(server, *run)?,
        Request::Approve { text, message, entries, for_run } => {
            let choice = Choice::Approve { for_run };
            answer_approval(server, AnswerApproval { text, message, entries, choice })?
        }
        Request::Deny { text, message, entries, reason } => {
            let choice = Choice::Deny { reason };
            answer_approval(server, AnswerApproval { text, message, entries, choice })?
        }
        Request::Resume { run } => resume(server, run)?,
        Request::Runs { limit } => Response::Runs(runs(server, limit)?),
        Request::GetRun { run } => Response::Run(Box::new(get_run(server, run)?)),
        Request::Journal { run } => {
            get_run(server, run)?;
            Response::Journal(daemon.read(|txn| query::journal(txn, &owner, run, 1))?)
        }
        Request::Inbox { open } => {
            Response::Letters(daemon.read(|txn| query::inbox(txn, &daemon.host, open))?)
        }
        Request::Card { message } => Response::Card(Box::new(card(server, message)?)),
        Request::Why { thing } => Response::Why(why::why(server, &thing)?),
        Request::Blob { hash } => {
            let bytes =
                daemon.store.blobs().get(&hash).map_err(|e| Failure::new(Exit::NotFound, e.to_string()))?;
            Response::Blob(String::from_utf8(bytes).ok())
        }
        Request::Act { agent, said, act } => {
            let agent = agents::agent(server, agent.as_deref())?;
            agents::act(server, agent, said, *act)?
        }
        Request::Look { agent, look } => {
            let agent = agents::agent(server, agent.as_deref())?;
            look::look(server, agent, look)?
        }
        Request::Check => Response::Checked(check(server)?),
        Request::Stop => Response::Reply(Reply::Done),
        Request::Follow { .. } => {
            return Err(Failure::new(Exit::Usage, "a connection that follows does nothing else"));
        }
    })
}

fn status(server: &Server) -> Result<Status, Failure> {
    let daemon = &server.daemon;
    let stats = daemon.store.stats();
    Ok(Status {
        pid: std::process::id(),
        build: crate::BUILD.to_owned(),
        store: daemon.store.dir().display().to_string(),
        at_work: server.engine.at_work(),
        needs_you: daemon.read(|txn| query::inbox(txn, &daemon.host, true))?.len(),
        commits: stats.commits,
        syncs: stats.syncs(),
    })
}

/// Runs in short: without what they worked on and what came of them, which can be long.
fn runs(server: &Server, limit: usize) -> Result<Vec<kernel::run::Run>, Failure> {
    let daemon = &server.daemon;
    let mut runs = daemon.read(|txn| query::runs(txn, &daemon.host.number, None, limit))?;
    for run in &mut runs {
        run.input = kernel::run::Input {
            values: kernel::Value::null(),
            attachments: vec![],
            items: vec![],
            origins: vec![],
        };
        run.provenance = Default::default();
        if let State::Finished { outcome: kernel::run::RunOutcome::Done(value) } = &mut run.state {
            *value = kernel::Value::null();
        }
        if let Some(trouble) = daemon.stuck(run.number) {
            run.state = State::Stalled { trouble };
        }
    }
    Ok(runs)
}

/// The run, with what keeps it if the store itself could not record it.
fn get_run(server: &Server, run: RunNumber) -> Result<kernel::run::Run, Failure> {
    let daemon = &server.daemon;
    let mut found = daemon.read(|txn| table::run(txn, &daemon.host.number, run))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no run {run}")).help("see `almoner runs`")
    })?;
    if let Some(trouble) = daemon.stuck(run) {
        found.state = State::Stalled { trouble };
    }
    Ok(found)
}

fn answer_approval(server: &Server, answer: AnswerApproval) -> Result<Response, Failure> {
    let outcome = server.daemon.apply(Act::Answer(answer))?;
    outcome.ready.iter().for_each(|run| server.engine.drive(*run));
    Ok(Response::Reply(outcome.reply))
}

fn resume(server: &Server, only: Option<RunNumber>) -> Result<Response, Failure> {
    let daemon = &server.daemon;
    if let Some(run) = only {
        get_run(server, run)?;
    }
    for run in daemon.take_stuck(only) {
        server.engine.drive(run);
    }
    // Oldest first, so that a parent comes before its children.
    let mut family: BTreeSet<RunNumber> = only.into_iter().collect();
    let mut stalled = Vec::new();
    for run in daemon.read(|txn| query::runs(txn, &daemon.host.number, None, usize::MAX))?.into_iter().rev() {
        if run.parent.is_some_and(|parent| family.contains(&parent.run)) {
            family.insert(run.number);
        }
        let wanted = only.is_none() || family.contains(&run.number);
        if wanted && matches!(run.state, State::Stalled { .. }) {
            stalled.push(run.number);
        }
    }
    for run in stalled {
        let outcome = daemon.apply(Act::Resume { run })?;
        outcome.ready.iter().for_each(|run| server.engine.drive(*run));
    }
    // What was ready when the daemon came up is driven already; asking again is harmless.
    server.engine.take_up()?;
    Ok(Response::Reply(Reply::Done))
}

/// The approval as it is shown: made from the stored bytes alone.
pub fn card(server: &Server, number: MessageNumber) -> Result<Card, Failure> {
    let daemon = &server.daemon;
    let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no message {number}")).help("see `almoner inbox`")
    })?;
    let Some(Body::Approval { run, entries }) = letter.body() else {
        return Err(Failure::new(Exit::NotFound, format!("message {number} is not an approval"))
            .help("see `almoner inbox`"));
    };
    let asking = get_run(server, *run)?;
    let steps = daemon.read(|txn| query::journal(txn, &daemon.host.number, *run, 1))?;
    let shown = entries
        .iter()
        .enumerate()
        .map(|(i, asked)| entry(server, &steps, asked.proposal, letter.mail.answers.get(&i).cloned()))
        .collect::<Result<_, _>>()?;
    let read = asking.provenance.sources.iter().cloned().collect();
    Ok(Card { number, run: *run, worker: asking.name, entries: shown, read })
}

fn entry(
    server: &Server,
    steps: &[kernel::run::Step],
    at: StepRef,
    answer: Option<kernel::message::Answer>,
) -> Result<CardEntry, Failure> {
    let daemon = &server.daemon;
    let proposed = steps.iter().find_map(|step| match &step.entry {
        Entry::Proposed { proposal, .. } if step.number == at.step => Some(proposal),
        _ => None,
    });
    let Some(proposal) = proposed else {
        return Err(
            Failure::new(Exit::Failure, format!("{at} is not in the journal")).help("`almoner doctor`")
        );
    };
    let findings = steps.iter().find_map(|step| match &step.entry {
        Entry::Judged { proposal, verdict, .. } if *proposal == at.step => Some(verdict.findings.clone()),
        _ => None,
    });
    let (grant, formula) = daemon.grant(&proposal.grant).map_err(|t| Failure::of_trouble(&t))?;
    let names = parameter_names(&formula, &grant, proposal);
    let arguments = proposal
        .args
        .iter()
        .enumerate()
        .filter(|(_, value)| !matches!(value, kernel::Value::Undefined))
        .map(|(i, v)| {
            let name = names.get(i).cloned().unwrap_or_else(|| format!("argument {}", i + 1));
            (name, Untrusted::new(value::argument(v)))
        })
        .collect();
    let replaces = proposal
        .pins
        .iter()
        .find_map(|pin| pin.digest.map(|digest| format!("{}, {}", pin.name, digest.short())));
    Ok(CardEntry {
        step: at,
        slot: proposal.slot.clone(),
        target: why::target_words(&formula),
        method: proposal.method.clone(),
        effect: proposal.effect,
        caller: proposal.caller,
        arguments,
        findings: findings.unwrap_or_default(),
        traces: proposal.traces.clone(),
        replaces: replaces.filter(|_| proposal.method == "write"),
        answer,
    })
}

fn parameter_names(
    formula: &kernel::formula::Formula,
    grant: &kernel::grant::Grant,
    proposal: &Proposal,
) -> Vec<String> {
    let Ok(capability) = caps::open(formula, grant) else { return vec![] };
    capability
        .interface()
        .method(&proposal.method)
        .map(|method| method.params.iter().map(|p| p.name.clone()).collect())
        .unwrap_or_default()
}

fn check(server: &Server) -> Result<Vec<(String, bool, String)>, Failure> {
    let daemon = &server.daemon;
    let health = daemon.store.check(true).map_err(|e| Failure::new(Exit::Failure, e.to_string()))?;
    let mut found: Vec<(String, bool, String)> = health
        .findings
        .iter()
        .map(|f| ("store".to_owned(), false, format!("{}: {} {}", f.path.display(), f.problem, f.remedy)))
        .collect();
    if found.is_empty() {
        let blobs = health.blobs.unwrap_or(0);
        let said = format!(
            "schema {}, {} KiB and {blobs} blobs, all readable, nobody else can read them",
            health.schema,
            (health.database_bytes + health.log_bytes) >> 10
        );
        found.push(("store".to_owned(), true, said));
    }
    let mut prev = kernel::BlobHash([0; 32]);
    let (mut after, mut count, mut broken) = (0, 0_u64, None);
    loop {
        let events = daemon.events(after, 1000)?;
        if events.is_empty() {
            break;
        }
        for event in events {
            if !event.verify(prev) && broken.is_none() {
                broken = Some(event.seq);
            }
            prev = event.hash;
            after = event.seq;
            count += 1;
        }
    }
    found.push(match broken {
        None => ("audit chain".to_owned(), true, format!("{count} events, each follows the one before")),
        Some(seq) => ("audit chain".to_owned(), false, format!("event {seq} does not follow the one before")),
    });
    Ok(found)
}
