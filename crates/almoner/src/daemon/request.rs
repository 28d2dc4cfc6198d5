//! Requests and their answers.

use std::path::Path;
use std::time::Instant;

use gateway_web::guard::sessions::Under;
use kernel::command::{Act, AnswerApproval, Choice, Reply, Said};
use kernel::run::State;
use kernel::{FormulaId, HostRun, RunNumber};
use passable::{Untrusted, visible_line};
use store::BackupError;

use super::additions;
use super::desk::Desk;
use super::refused::Given;
use super::{
    agents, audit, bind, bindings, card, export, forget, listing, look, messages, passes, said, stage,
    start_run, stats, talk, undo, vault, why, world,
};
use control::exit::{Exit, Failure};
use control::messages::MessageFilter;
use control::protocol::{Brought, Family, ModelChoice, OnBehalf, Pass, Request, Response, Status};

/// Answers one request of a client who brought these keys along. `desk` is that of the store's own host.
///
/// # Errors
/// What the client is told when it is not done.
pub fn answer(desk: &Desk, brought: &Brought, asked: OnBehalf) -> Result<Response, Failure> {
    let OnBehalf { agent: name, request } = asked;
    let name = name.as_deref();
    let agent = agents::agent(desk, name)?;
    let given = Given::of(&request);
    let answered = answer_as(desk, brought, (agent, name), request);
    if let (Err(failure), Some(given)) = (&answered, given) {
        given.refused(desk, agent, failure);
    }
    answered
}

fn answer_as(
    desk: &Desk,
    brought: &Brought,
    (agent, name): (FormulaId, Option<&str>),
    request: Request,
) -> Result<Response, Failure> {
    match request {
        Request::Act { said, act } => agents::act(desk, agent, name, said, *act),
        Request::Look { look } => look::look(desk, agent, look),
        Request::Messages { filter: filter @ MessageFilter::Letters { .. }, page } => {
            messages::list(desk, agent, filter, page)
        }
        Request::Pass => pass(desk, agent),
        Request::Check
        | Request::Policy
        | Request::Backup { .. }
        | Request::Stop
        | Request::Web { .. }
        | Request::Sessions { .. }
        | Request::Secret { .. }
            if agent != desk.daemon.host =>
        {
            Err(Failure::new(Exit::Denied, "this concerns the whole store, and so its own host alone")
                .help("leave `--as` out"))
        }
        request => answer_host(&desk.of(agent, name)?, brought, request),
    }
}

/// Answers what only a host can ask for.
fn answer_host(desk: &Desk, brought: &Brought, request: Request) -> Result<Response, Failure> {
    let daemon = &desk.daemon;
    Ok(match request {
        Request::Status => Response::Status(status(desk)?),
        Request::ServerTools { server } => Response::ServerTools(Box::new(bind::mcp::table(desk, &server)?)),
        Request::Run(mut run) => {
            let model = start_run::model(desk, &run.spec.model)?;
            daemon.keys.lend(std::slice::from_ref(&model), brought);
            run.spec.model = ModelChoice::Reference(model);
            start_run::start(desk, *run)?
        }
        Request::Approve { text, message, entries, for_run, added, raise } => {
            let choice = match raise {
                Some(by) => Choice::Raise { by },
                None => Choice::Approve { for_run },
            };
            let addition = additions::of(desk, message, entries.as_deref(), *added)?;
            answer_approval(desk, AnswerApproval { text, message, entries, choice, addition })?
        }
        Request::Adding { message, entry, added } => {
            Response::Adding(Box::new(additions::adding(desk, message, entry, *added)?))
        }
        Request::Deny { text, message, entries, reason } => {
            let choice = Choice::Deny { reason };
            answer_approval(desk, AnswerApproval { text, message, entries, choice, addition: None })?
        }
        Request::Happened { text, message, happened } => {
            let choice = if happened { Choice::Happened } else { Choice::Repeat };
            answer_approval(desk, AnswerApproval { text, message, entries: None, choice, addition: None })?
        }
        Request::Say { text, run, said, documents, dry_run } => {
            said::say(desk, brought, run, said::Words { text, said, documents, dry_run })?
        }
        Request::Web { to, by_address } => {
            let under = if by_address { Under::Address } else { Under::Name };
            Response::Web(desk.web.open(desk, &to, under)?)
        }
        Request::Sessions { act } => Response::Sessions(desk.web.sessions(act)?),
        Request::Undo { text, run, only, dry_run } => {
            Response::Undone(Box::new(undo::undo(desk, text, run, &only, dry_run)?))
        }
        Request::Diff { run, only } => Response::Diff(Box::new(stage::diff(desk, run, &only)?)),
        Request::Apply { text, run, only, parts } => {
            Response::Undone(Box::new(stage::apply(desk, text, run, &only, &parts)?))
        }
        Request::Discard { text, run, only, parts } => {
            stage::discard(desk, text, run, &only, &parts)?;
            Response::Reply(Reply::Done)
        }
        Request::Forget { text, run } => Response::Forgotten(forget::forget(desk, text, run)?),
        Request::Gc => Response::Freed(daemon.errands.ask(&|| daemon.is_stopping())?),
        Request::Export { run, from } => Response::Exported(export::rows(desk, run, from)?),
        Request::Copy { hash } => Response::Copy(export::copy(desk, &hash)?),
        Request::Resume { text, run } => resume(desk, brought, text, run)?,
        Request::Runs { limit, below, roots } => Response::Runs(listing::runs(daemon, limit, below, roots)?),
        Request::Chats { open, below, limit } => Response::Chats(talk::chats(daemon, open, below, limit)?),
        Request::Talkers => Response::Talkers(talk::talkers(desk)?),
        Request::Family { run } => {
            let members = listing::family(daemon, run)?;
            let numbers = members.iter().map(|run| run.number).collect();
            Response::Family(Family { members, asked: listing::asked_by(daemon, &numbers)? })
        }
        Request::GetRun { run } => Response::Run(Box::new(listing::one(daemon, run)?)),
        Request::Bindings { run } => Response::Bindings(bindings::bindings(daemon, run)?),
        Request::Journal { run, from } => Response::Journal(listing::steps(daemon, run, from)?),
        Request::Messages { filter, page } => messages::list(desk, daemon.host, filter, page)?,
        Request::Card { message } => Response::Card(Box::new(card::card(desk, message)?)),
        Request::Why { thing } => Response::Why(why::why(desk, &thing)?),
        Request::Blob { hash } => {
            let bytes =
                daemon.store.blobs().get(&hash).map_err(|e| Failure::new(Exit::NotFound, e.to_string()))?;
            Response::Blob(String::from_utf8(bytes).ok())
        }
        Request::Stats { since_ms } => Response::Stats(Box::new(stats::stats(daemon, since_ms)?)),
        Request::LastEvent => Response::LastEvent(daemon.last_event()?),
        Request::Audit { last, before, contains, unverified } => {
            let last = last.map(|count| (count, before));
            let found = if unverified {
                audit::last(daemon, last.unwrap_or_default())?
            } else {
                audit::verify(daemon, last, contains)?
            };
            Response::Audited(Box::new(found))
        }
        Request::Secret { act } => vault::answer(desk, act)?,
        Request::Check => Response::Checked(check(desk)?),
        Request::Policy => Response::Policy(Box::new(daemon.policies.report())),
        Request::Backup { path } => backup(desk, &path)?,
        Request::Stop => Response::Reply(Reply::Done),
        Request::Follow { .. } | Request::Act { .. } | Request::Look { .. } | Request::Pass => {
            return Err(Failure::new(Exit::Usage, "this is asked in another way"));
        }
    })
}

/// Gives out a token for the gateway.
fn pass(desk: &Desk, agent: FormulaId) -> Result<Response, Failure> {
    let passes = &desk.daemon.passes;
    let Some(gateway) = passes.gateway() else {
        return Err(Failure::new(Exit::Conflict, "the daemon has no gateway").help(
            "`almoner stop`, then start it with an address of this machine: ENDO_ADDR=127.0.0.1:8920 almoner daemon",
        ));
    };
    let mut random = [0; 32];
    world::random(&mut random)?;
    let token = passes.issue(agent, random, Instant::now());
    Ok(Response::Pass(Pass { url: format!("ws://{gateway}/"), token, seconds: passes::LASTS.as_secs() }))
}

fn status(desk: &Desk) -> Result<Status, Failure> {
    let daemon = &desk.daemon;
    let stats = daemon.store.stats();
    let (mine, others): (Vec<HostRun>, Vec<HostRun>) =
        desk.engine.at_work().into_iter().partition(|at| at.host == daemon.host);
    Ok(Status {
        pid: std::process::id(),
        build: crate::BUILD.to_owned(),
        store: daemon.store.dir().display().to_string(),
        at_work: mine.into_iter().map(|at| at.run).collect(),
        others_at_work: others.len(),
        code: daemon.vats().map(|office| office.count(daemon)).transpose()?.unwrap_or_default(),
        needs_you: listing::needs_you(daemon)?,
        commits: stats.commits,
        syncs: stats.syncs(),
    })
}

fn answer_approval(desk: &Desk, answer: AnswerApproval) -> Result<Response, Failure> {
    Ok(Response::Reply(desk.apply(Act::Answer(answer))?.reply))
}

/// Lets stalled runs go on: one with all that it has started, or every one.
fn resume(
    desk: &Desk,
    brought: &Brought,
    text: Untrusted,
    only: Option<RunNumber>,
) -> Result<Response, Failure> {
    let daemon = &desk.daemon;
    let stalled: Vec<(RunNumber, String)> = match only {
        Some(run) => {
            let mut family = listing::family(daemon, run)?;
            // Whoever names a run names its desk.
            daemon.keys.lend(&family.iter().map(|run| run.model.clone()).collect::<Vec<_>>(), brought);
            family.retain(|run| matches!(run.state, State::Stalled { .. }));
            family.into_iter().map(|run| (run.number, run.model)).collect()
        }
        None => {
            let mut stalled = Vec::new();
            listing::for_each_run(daemon, None, |run| {
                if matches!(run.state, State::Stalled { .. }) || daemon.stuck(run.number).is_some() {
                    stalled.push((run.number, run.model));
                }
                Ok(true)
            })?;
            daemon.keys.lend(&stalled.iter().map(|(_, model)| model.clone()).collect::<Vec<_>>(), brought);
            stalled.reverse();
            stalled
        }
    };
    // Oldest first, so that a parent comes before its children.
    let runs: Vec<RunNumber> = stalled.into_iter().map(|(run, _)| run).collect();
    runs.iter().for_each(|run| daemon.set_free(*run));
    // Whoever only wants to see how it goes on has changed nothing that the transcript should tell of.
    if !runs.is_empty() {
        let said = (!text.raw().is_empty()).then(|| Said { verb: "resume".to_owned(), text });
        desk.apply_as(daemon.host, said, Act::Resume { runs, named: only })?;
    }
    // What was ready when the daemon came up is driven already, and so is what only the store had kept; asking again
    // is harmless.
    desk.engine.take_up(daemon.host)?;
    Ok(Response::Reply(Reply::Done))
}

/// Copies the store to where the person says.
fn backup(desk: &Desk, path: &str) -> Result<Response, Failure> {
    let to = Path::new(path);
    let shown = visible_line(path);
    if !to.is_absolute() {
        return Err(Failure::new(Exit::Usage, format!("{shown} is not an absolute path")));
    }
    // The copy is made under this name first, and what an earlier one has left of it is removed: nobody else's
    // directory may stand there.
    let mut half = to.as_os_str().to_owned();
    half.push(".partial");
    let half = Path::new(&half);
    if half.symlink_metadata().is_ok() {
        let half = half.display().to_string();
        return Err(Failure::new(Exit::Conflict, format!("{} is there already", visible_line(&half)))
            .help("a copy that was cut off has left it; remove it, or choose another name"));
    }
    desk.daemon.store.backup(to).map_err(|error| {
        let exit = match &error {
            BackupError::Exists { .. } => Exit::Conflict,
            BackupError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failure,
        };
        let help = match &error {
            BackupError::Exists { .. } => "choose a name at which there is nothing; no copy is ever replaced",
            BackupError::Blob(_) => "`almoner doctor` says what is damaged; nothing was copied",
            BackupError::Rows(_) | BackupError::Io { .. } => {
                "the directory that it goes into must be there, writable, and have room"
            }
        };
        Failure::new(exit, error.to_string()).help(help)
    })?;
    Ok(Response::Reply(Reply::Done))
}

fn check(desk: &Desk) -> Result<Vec<(String, bool, String)>, Failure> {
    let daemon = &desk.daemon;
    let health = daemon.store.check(true).map_err(|e| Failure::new(Exit::Failure, e.to_string()))?;
    let mut found: Vec<(String, bool, String)> = health
        .findings
        .iter()
        .map(|f| ("store".to_owned(), false, format!("{}: {} {}", f.path.display(), f.problem, f.remedy)))
        .collect();
    if found.is_empty() {
        let blobs = health.blobs.unwrap_or(0);
        let said = format!(
            "{} KiB and {blobs} blobs, all readable, nobody else can read them",
            (health.database_bytes + health.log_bytes) >> 10
        );
        found.push(("store".to_owned(), true, said));
    }
    found.extend(daemon.notices.examined());
    found.push(audit::check(daemon)?);
    found.extend([vault::examine(daemon), vault::examine_memory()]);
    Ok(found)
}
