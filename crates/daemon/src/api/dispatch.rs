//! The dispatch of requests to the functions that answer them.

use std::path::Path;
use std::time::Instant;

use gateway_web::guard::sessions::HostKind;
use kernel::command::{Act, AnswerAll, AnswerApproval, Choice, Reply, UserCommand};
use kernel::run::State;
use kernel::{FormulaId, HostRun, RunNumber};
use passable::Untrusted;

use super::lookup;
use super::rejected_commands::RejectedCommand;
use super::services::Services;
use super::{acts, examine, save};
use crate::home_backup::backup;
use crate::queries::{
    audit, batch_asks, bindings, export, messages, runs, sent_requests, stalled, stats, unbound_slots, why,
};
use crate::runs::approval_extras;
use crate::runs::opened_cards::OpenedCards;
use crate::runs::{bind, card, chat_message, chats, forget, keyed_request, logins, staging, start, undo};
use crate::state::{daemon, damage, gateway_tokens, vault};
use config::build;
use config::model_choice::KnownModels;
use control::exit::{Exit, Failure};
use control::messages::MessageFilter;
use control::powers::ApprovalExtras;
use control::protocol::{ClientKeys, Family, OnBehalf, Pass, PolicyFile, Request, Response, Status};
use control::talk::WorkerUse;

/// Answers one request. `services` are those of the store's own host, and `brought` are the keys that the client has
/// sent.
///
/// # Errors
/// When the request fails. The failure holds the reason for the client.
pub fn answer(services: &Services, brought: &ClientKeys, asked: OnBehalf) -> Result<Response, Failure> {
    answer_or_retry(services, brought, asked).map_err(|failure| damage::unsure(&services.daemon, failure))
}

/// Answers one request, from what can be read if the store is damaged.
fn answer_or_retry(services: &Services, brought: &ClientKeys, asked: OnBehalf) -> Result<Response, Failure> {
    let OnBehalf { agent: name, request } = asked;
    let name = name.as_deref();
    let agent = acts::agent(&services.daemon, name)?;
    let given = RejectedCommand::from_request(&request);
    let store = &services.daemon.store;
    // After a crash, the first list of messages has the questions about calls that may have happened.
    if matches!(request, Request::Messages { .. }) && services.daemon.store.damage().is_none() {
        services.engine.await_recovery();
    }
    // A request that meets the first damage is answered again from what can be read. A run is not begun twice.
    let again = match &request {
        Request::Run(_) => None,
        _ => store.damage().is_none().then(|| request.clone()),
    };
    let mut answered = answer_as(services, brought, (agent, name), request);
    if let Some(again) = again.filter(|_| answered.is_err() && store.damage().is_some()) {
        answered = answer_as(services, brought, (agent, name), again);
    }
    if let (Err(failure), Some(given)) = (&answered, given) {
        given.record(&services.daemon, agent, failure);
    }
    answered
}

fn answer_as(
    services: &Services,
    brought: &ClientKeys,
    (agent, name): (FormulaId, Option<&str>),
    request: Request,
) -> Result<Response, Failure> {
    match request {
        Request::Act { said, act } => acts::act(&services.daemon, agent, name, said, *act),
        Request::Look { look } => lookup::answer(&services.daemon, agent, look),
        Request::Messages { filter: filter @ MessageFilter::Mailbox { .. }, page } => {
            messages::list_messages(&services.daemon, agent, filter, page)
        }
        Request::Pass => issue_token(services, agent),
        Request::Examine { .. }
        | Request::Models
        | Request::Policy
        | Request::Backup { .. }
        | Request::Stop
        | Request::Replace { .. }
        | Request::Web { .. }
        | Request::Sessions { .. }
        | Request::Secret { .. }
        | Request::Login { .. }
            if agent != services.daemon.host =>
        {
            Err(Failure::new(Exit::Denied, "cannot act as another agent: this concerns the whole store")
                .help("leave `--as` out"))
        }
        request => answer_host(&services.for_agent(agent, name)?, brought, request),
    }
}

/// Answers a request that only a host can make.
pub fn answer_host(services: &Services, brought: &ClientKeys, request: Request) -> Result<Response, Failure> {
    let daemon = &services.daemon;
    Ok(match request {
        Request::Status => Response::Status(status(services)?),
        Request::ServerTools { server, start_ms } => {
            Response::ServerTools(Box::new(bind::mcp::tool_table(&services.daemon, &server, start_ms)?))
        }
        Request::Run(run) => {
            if let Some(run) = keyed_request::find_run(daemon, &run)? {
                return Ok(Response::Reply(Reply::AlreadyStarted { run }));
            }
            let model = start::model(&services.daemon, &run.spec.model)?;
            daemon.keys.add_server_key(std::slice::from_ref(&model), brought);
            start::start(&services.daemon, *run, model)?
        }
        Request::Approve { text, message, entries, for_run, added, raise } => {
            let choice = match raise {
                Some(by) => Choice::Raise { by },
                None => Choice::Approve { for_run },
            };
            let addition =
                approval_extras::check_extras(&services.daemon, message, entries.as_deref(), *added)?;
            answer_approval(services, AnswerApproval { text, message, entries, choice, addition })?
        }
        Request::AnswerAll { text, approvals, denied } => {
            let choice = match denied {
                Some(reason) => Choice::Deny { reason },
                None => {
                    for seen in &approvals {
                        let nothing = ApprovalExtras::default();
                        approval_extras::check_extras(daemon, seen.message, None, nothing)?;
                    }
                    Choice::Approve { for_run: false }
                }
            };
            let answer = AnswerAll { text, approvals, choice };
            Response::Reply(daemon.apply(Act::AnswerAll(answer))?.reply)
        }
        Request::BatchAsks => Response::BatchAsks(batch_asks::batch_asks(daemon)?),
        Request::PreviewExtras { message, entry, added } => Response::ExtrasPreview(Box::new(
            approval_extras::preview_extras(&services.daemon, message, entry, *added)?,
        )),
        Request::Deny { text, message, entries, reason } => {
            let choice = Choice::Deny { reason };
            answer_approval(services, AnswerApproval { text, message, entries, choice, addition: None })?
        }
        Request::ConfirmOutcome { text, message, happened } => {
            let choice = if happened { Choice::Happened } else { Choice::Repeat };
            answer_approval(
                services,
                AnswerApproval { text, message, entries: None, choice, addition: None },
            )?
        }
        Request::Say { text, run, said, documents, dry_run } => chat_message::send(
            &services.daemon,
            brought,
            run,
            chat_message::ChatMessage { command: text, text: said, documents, dry_run },
        )?,
        Request::Web { to, by_address } => {
            let under = if by_address { HostKind::Address } else { HostKind::Name };
            Response::Web(services.web.open(services, &to, under)?)
        }
        Request::Sessions { act } => Response::Sessions(services.web.sessions(act)?),
        Request::Undo { text, run, only, dry_run, gives_up } => {
            let choice = undo::UndoChoice { dry_run, gives_up };
            Response::UndoReport(Box::new(undo::undo(&services.daemon, text, run, &only, choice)?))
        }
        Request::Diff { run, only } => Response::Diff(Box::new(staging::diff(&services.daemon, run, &only)?)),
        Request::Apply { text, run, only, parts } => {
            Response::UndoReport(Box::new(staging::apply(&services.daemon, text, run, &only, &parts)?))
        }
        Request::Discard { text, run, only, parts } => {
            staging::discard(&services.daemon, text, run, &only, &parts)?;
            Response::Reply(Reply::Done)
        }
        Request::Forget { text, run } => Response::Forgotten(forget::forget(&services.daemon, text, run)?),
        Request::Gc => Response::Freed(daemon.cleanup_requests.ask(&|| daemon.is_stopping())?),
        Request::Export { run, from } => Response::Exported(export::rows(&services.daemon, run, from)?),
        Request::Copy { hash } => Response::Copy(export::copy(&services.daemon, &hash)?),
        Request::SentRequest { run, number } => {
            Response::SentRequest(Box::new(sent_requests::sent_request(daemon, run, number)?))
        }
        Request::Resume { text, run } => resume(services, brought, text, run)?,
        Request::Runs { limit, below, roots } => Response::Runs(runs::runs(daemon, limit, below, roots)?),
        Request::Chats { open, below, limit } => Response::Chats(chats::chats(daemon, open, below, limit)?),
        Request::Talkers => Response::Talkers(chats::known_workers(&services.daemon, WorkerUse::Chat)?),
        Request::Family { run } => {
            let members = runs::family(daemon, run)?;
            let numbers = members.iter().map(|run| run.number).collect();
            Response::Family(Family { members, asked: runs::open_approvals(daemon, &numbers)? })
        }
        Request::GetRun { run } => Response::Run(Box::new(runs::load_run(daemon, run)?)),
        Request::Bindings { run } => Response::Bindings(bindings::bindings(daemon, run)?),
        Request::Journal { run, from, limit } => Response::Journal(runs::steps(daemon, run, from, limit)?),
        Request::Messages { filter, page } => {
            messages::list_messages(&services.daemon, daemon.host, filter, page)?
        }
        Request::Card { message } => Response::Card(Box::new(card::card(&services.daemon, message)?)),
        Request::OpenCard { message } => {
            let opened = daemon.extensions.get(OpenedCards::default);
            Response::CardOpening { before: opened.open(daemon.host, message) }
        }
        Request::Why { thing } => Response::Why(why::why(&services.daemon, &thing)?),
        Request::Blob { hash } => Response::Blob(sent_requests::stored_text(daemon, &hash)?),
        Request::Stats { since_ms } => Response::Stats(Box::new(stats::stats(daemon, since_ms)?)),
        Request::LastEvent => Response::LastEvent(daemon.last_event()?),
        Request::Audit { last, before, contains, unverified } => {
            let last = last.map(|count| (count, before));
            let found = if unverified {
                audit::last_events(daemon, last.unwrap_or_default())?
            } else {
                audit::verify(daemon, last, contains)?
            };
            Response::Audited(Box::new(found))
        }
        Request::Secret { act } => vault::answer(&services.daemon, act)?,
        Request::Login { act } => Response::Login(logins::answer(&services.daemon, act)?),
        Request::Examine { part } => Response::Examined(examine::examine(services, brought, &part)?),
        Request::Models => {
            Response::Models(Box::new(KnownModels::new(&services.daemon.place, brought).list()))
        }
        Request::Save { run, name, dir, write } => {
            Response::Saved(Box::new(save::save(services, run, &name, Path::new(&dir), write)?))
        }
        Request::Policy => {
            let unbound = unbound_slots::unbound_slots(daemon)?;
            Response::Policy(Box::new(PolicyFile { unbound, ..daemon.policies.report() }))
        }
        Request::Backup { path, with_key } => {
            Response::BackedUp(backup::make(daemon, Path::new(&path), with_key)?)
        }
        Request::Stop | Request::Replace { .. } => Response::Reply(Reply::Done),
        Request::Follow { .. } | Request::Act { .. } | Request::Look { .. } | Request::Pass => {
            return Err(Failure::new(Exit::Usage, "this is asked in another way"));
        }
    })
}

/// Issues a token for the gateway.
fn issue_token(services: &Services, agent: FormulaId) -> Result<Response, Failure> {
    let passes = &services.daemon.gateway_tokens;
    let Some(gateway) = passes.gateway() else {
        return Err(Failure::new(Exit::Conflict, "the daemon has no gateway").help(
            "`almoner stop`, then start it with an address of this machine: ENDO_ADDR=127.0.0.1:8920 almoner daemon",
        ));
    };
    let mut random = [0; 32];
    daemon::random(&mut random)?;
    let token = passes.issue(agent, random, Instant::now());
    Ok(Response::Pass(Pass {
        url: format!("ws://{gateway}/"),
        token,
        seconds: gateway_tokens::TOKEN_TIMEOUT.as_secs(),
    }))
}

fn status(services: &Services) -> Result<Status, Failure> {
    let daemon = &services.daemon;
    let stats = daemon.store.stats();
    let (mine, others): (Vec<HostRun>, Vec<HostRun>) =
        services.engine.active_runs().into_iter().partition(|at| at.host == daemon.host);
    Ok(Status {
        pid: std::process::id(),
        build: build::id(),
        store: daemon.store.dir().display().to_string(),
        at_work: mine.into_iter().map(|at| at.run).collect(),
        waiting: runs::waiting_for_a_time(daemon)?,
        others_at_work: others.len(),
        code: daemon.code_host().map(|office| office.count(daemon)).transpose()?.unwrap_or_default(),
        needs_you: runs::answer_count(daemon)?,
        stalled: stalled::stalled(daemon)?,
        commits: stats.commits,
        syncs: stats.syncs(),
    })
}

fn answer_approval(services: &Services, answer: AnswerApproval) -> Result<Response, Failure> {
    Ok(Response::Reply(services.daemon.apply(Act::Answer(answer))?.reply))
}

/// Resumes stalled runs: one run with its descendants, or all.
fn resume(
    services: &Services,
    brought: &ClientKeys,
    text: Untrusted,
    only: Option<RunNumber>,
) -> Result<Response, Failure> {
    let daemon = &services.daemon;
    let stalled: Vec<(RunNumber, String)> = match only {
        Some(run) => {
            let mut family = runs::family(daemon, run)?;
            // A client that names a run provides its keys for that run.
            daemon
                .keys
                .add_server_key(&family.iter().map(|run| run.model.clone()).collect::<Vec<_>>(), brought);
            family.retain(|run| matches!(run.state, State::Stalled { .. }) || run.is_paused());
            family.into_iter().map(|run| (run.number, run.model)).collect()
        }
        None => {
            let mut stalled = Vec::new();
            runs::for_each_run(daemon, None, |run| {
                let is_stopped = matches!(run.state, State::Stalled { .. }) || run.is_paused();
                if is_stopped || daemon.blocked_by(run.number).is_some() {
                    stalled.push((run.number, run.model));
                }
                Ok(true)
            })?;
            daemon
                .keys
                .add_server_key(&stalled.iter().map(|(_, model)| model.clone()).collect::<Vec<_>>(), brought);
            stalled.reverse();
            stalled
        }
    };
    // The user wants to try now, whatever a server said before.
    daemon.opener.forget_limits();
    // The oldest comes first, so that a parent comes before its children.
    let runs: Vec<RunNumber> = stalled.into_iter().map(|(run, _)| run).collect();
    runs.iter().for_each(|run| daemon.clear_blocked(*run));
    // If no run is stalled, the command changes nothing, and is not recorded in the transcript.
    if !runs.is_empty() {
        let said = (!text.raw().is_empty()).then(|| UserCommand { verb: "resume".to_owned(), text });
        services.daemon.apply_as(daemon.host, said, Act::Resume { runs, named: only })?;
    }
    // This also drives the runs that only a failure of the store had stopped, since the store does not hold them as
    // stalled. For runs that are already driven, it is harmless.
    services.engine.resume_pending(daemon.host)?;
    Ok(Response::Reply(Reply::Done))
}
