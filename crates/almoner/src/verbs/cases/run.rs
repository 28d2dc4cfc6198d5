//! The replay of a case: its run is started again, with the recorded replies and answers.

use std::path::Path;

use kernel::MessageNumber;
use kernel::command::{MailAct, Reply};
use kernel::message::Body;
use kernel::run::{Entry, RunOutcome, State};
use passable::Untrusted;
use serde_json::Value as Json;

use super::fixtures::Fixtures;
use super::sandbox::CaseSandbox;
use crate::follow::ask_mode::AskMode;
use crate::follow::follow_run;
use crate::follow::follow_run::{EventOutput, FollowOutcome};
use crate::session::Session;
use crate::session::questions;
use config::case::{Case, Made, REPLIES};
use config::machine::Machine;
use config::worker_file;
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, ModelChoice, Request, Response, RunRequest, StartSpec};
use resource::{Endowment, Kind};

/// The outcome of trying a case.
#[derive(Debug)]
pub enum CaseOutcome {
    /// The case was not tried, for this reason.
    Skipped(String),
    /// The case was tried.
    Replayed {
        /// The result of the run, or the reason why it has none.
        result: Result<Json, String>,
        /// The calls of the run.
        calls: Vec<Made>,
    },
}

/// The maximum number of times that a run may ask. No case has so many cards.
const MAX_QUESTIONS: usize = 1000;

/// The reason given for denying a call that did not happen when the case was recorded.
const NOT_RECORDED_REASON: &str = "it was not let happen when the case was recorded";

/// Replays a case over copies that lie in `room`.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn replay(
    acting: &Session<'_>,
    case: &Case,
    within: &CaseSandbox,
    room: &Path,
) -> Result<CaseOutcome, Failure> {
    let request = match request(case, within, room) {
        Ok(request) => request,
        Err(why) => return Ok(CaseOutcome::Skipped(why)),
    };
    let after = acting.last_event()?;
    let number = match acting.ask(Request::Run(Box::new(request))) {
        Ok(Response::Reply(Reply::Started { run })) => run,
        Ok(other) => return Err(unexpected(&other)),
        Err(failure) if is_fatal(&failure) => return Err(failure),
        Err(failure) => return Ok(CaseOutcome::Skipped(failure.message.visible_line().into_owned())),
    };
    let mut after = Some(after);
    let mut asked = 0;
    let result = loop {
        match follow_run::follow(acting, number, after.take(), AskMode::LeaveWaiting, EventOutput::Quiet) {
            Ok(FollowOutcome::Finished(run)) => {
                break match run.state {
                    State::Finished { outcome: RunOutcome::Done(value) } => Ok(value.to_json()),
                    State::Finished { outcome: RunOutcome::Failed(trouble) } => {
                        Err(trouble.message.visible_line().into_owned())
                    }
                    _ => Err("it has no end".to_owned()),
                };
            }
            Ok(FollowOutcome::NeedsYou(pending)) => {
                asked += 1;
                if asked > MAX_QUESTIONS || pending.is_empty() {
                    break Err("it asks without end".to_owned());
                }
                for message in pending {
                    answer(acting, case, message)?;
                }
            }
            Ok(FollowOutcome::Paused | FollowOutcome::Ended | FollowOutcome::TimedOut(_)) => {
                break Err("it talks, and a case does not".to_owned());
            }
            Err(failure) if is_fatal(&failure) => return Err(failure),
            Err(failure) => break Err(failure.message.visible_line().into_owned()),
        }
    };
    Ok(CaseOutcome::Replayed { result, calls: config::case::made(acting, number)? })
}

/// Returns whether a failure also prevents all other cases from being tried.
fn is_fatal(failure: &Failure) -> bool {
    matches!(failure.exit, Exit::NoDaemon | Exit::Interrupted)
}

/// Returns the request for the run: the recorded command, over copies, with the recorded replies.
fn request(case: &Case, within: &CaseSandbox, room: &Path) -> Result<RunRequest, String> {
    let said = |failure: Failure| failure.message.visible_line().into_owned();
    let file = within.real_path(&case.worker)?;
    let bundle = worker_file::load(&file).map_err(said)?;
    let (definition, diagnostics) = worker::definition::parse(&bundle);
    let Some(definition) = definition else {
        let first = diagnostics.first().map_or_else(String::new, |first| first.message.clone());
        return Err(format!("the worker file cannot be used: {first}"));
    };
    if definition.slots.iter().any(|slot| slot.kind == Kind::Timer) {
        return Err("it waits for a time, and a case does not".to_owned());
    }
    let words = CommandArgs::parse(&case.recorded.command)?;
    let inputs = within.inputs(&words.inputs)?;
    let given = words.endow.iter().map(|text| Machine::At(&case.base).parse_endowment(text));
    let mut endow: Vec<Endowment> = given.collect::<Result<_, _>>().map_err(said)?;
    let mut staged = Fixtures::create(room, within)?;
    staged.take(&mut endow)?;
    staged.restore(case, &endow)?;
    let replies = staged.put(REPLIES, &case.replies().map_err(said)?)?;
    let beside = file.parent().and_then(|dir| dir.to_str().map(str::to_owned));
    Ok(RunRequest {
        text: Untrusted::new(format!("almoner test {}", case.root.display())),
        worker: worker_file::source_of(bundle, beside),
        spec: StartSpec {
            values: inputs.values,
            read_from: inputs.read_from,
            documents: inputs.documents,
            endow,
            allow: words.allow,
            model: ModelChoice::Reference(format!("scripted:{replies}")),
            ..StartSpec::default()
        },
        key: None,
    })
}

/// The arguments of a recorded command, sorted by kind.
#[derive(Debug, Default, PartialEq)]
struct CommandArgs {
    inputs: Vec<String>,
    endow: Vec<String>,
    allow: Vec<String>,
}

impl CommandArgs {
    fn parse(command: &[String]) -> Result<CommandArgs, String> {
        let mut words = CommandArgs::default();
        let mut rest = command.iter().skip(1);
        while let Some(word) = rest.next() {
            let mut next = || rest.next().cloned().ok_or_else(|| format!("nothing stands behind `{word}`"));
            match word.as_str() {
                "-e" | "--endow" => words.endow.push(next()?),
                "--allow" => words.allow.push(next()?),
                one => {
                    match (one.strip_prefix("--endow="), one.strip_prefix("--allow="), one.strip_prefix("-e"))
                    {
                        (Some(given), ..) => words.endow.push(given.to_owned()),
                        (_, Some(rule), _) => words.allow.push(rule.to_owned()),
                        (.., Some(given)) => {
                            words.endow.push(given.strip_prefix('=').unwrap_or(given).to_owned())
                        }
                        _ if one.starts_with('-') && one != "-" => {
                            return Err(format!("`{one}` is no part of a case's command"));
                        }
                        _ => words.inputs.push(one.to_owned()),
                    }
                }
            }
        }
        Ok(words)
    }
}

/// Answers a message as it was answered when the case was recorded. A call is approved only if it happened then.
fn answer(acting: &Session<'_>, case: &Case, message: MessageNumber) -> Result<(), Failure> {
    let view = acting.message(message)?;
    let text = || Untrusted::new(format!("almoner test: message {message}"));
    let reason = || Untrusted::new(NOT_RECORDED_REASON);
    match view.letter.body() {
        Some(Body::Approval { entries, .. }) => {
            let recorded = case.recorded.calls.as_deref().unwrap_or_default();
            let (mut yes, mut no) = (vec![], vec![]);
            for (index, asked) in entries.iter().enumerate() {
                let at = asked.proposal;
                let step = questions::journal_from(acting, at.run, at.step)?.into_iter().next();
                let found = questions::run(acting, at.run)?;
                let by = found.parent.is_some().then_some(found.name.as_str());
                let is_let = match step.map(|step| step.entry) {
                    Some(Entry::Proposed { proposal, .. }) => {
                        let made = Made::of(by, &proposal, None);
                        recorded.iter().any(|old| old.is(&made) && old.was_let())
                    }
                    _ => false,
                };
                if is_let { &mut yes } else { &mut no }.push(index);
            }
            if !yes.is_empty() {
                acting.ask(Request::yes(text(), message, Some(yes), false))?;
            }
            if !no.is_empty() {
                acting.ask(Request::Deny { text: text(), message, entries: Some(no), reason: reason() })?;
            }
        }
        Some(Body::Budget { .. } | Body::Release { .. } | Body::MailQuota { .. }) => {
            acting.ask(Request::Deny { text: text(), message, entries: None, reason: reason() })?;
        }
        _ => {
            let act = MailAct::Reject { number: message, reason: reason() };
            let act = AgentAct::Mail { act: Box::new(act) };
            acting.ask(acting.request("reject", format!("almoner test: reject {message}"), act))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_words_are_sorted_into_inputs_and_options() {
        let of = |text: &str| CommandArgs::parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let words =
            of("w.worker a.md k=v -e out=o:rw -ein=i --endow=x=y --allow out.write --allow=x.y").unwrap();
        assert_eq!(words.inputs, ["a.md", "k=v"]);
        assert_eq!(words.endow, ["out=o:rw", "in=i", "x=y"]);
        assert_eq!(words.allow, ["out.write", "x.y"]);
        for wrong in ["w.worker -m local", "w.worker --each", "w.worker -e"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
