//! One call on a granted directory, from the verdict of the gates to its completion.

use std::collections::BTreeSet;

use kernel::command::{Judgement, Move};
use kernel::facet::FileOp;
use kernel::proposal::{Caller, Decision, Effect, Finding, Proposal, Verdict};
use kernel::provenance::{Provenance, Source};
use kernel::run::{CallSite, Completion, Origin};
use kernel::{BlobHash, HostRun, Number, RunNumber, Value};
use passable::Quoting;
use policy::Facts;

use super::access::GrantedAccess;
use super::gates::{APPROVAL_UNAVAILABLE, redact};
use super::in_flight::InFlight;
use super::journal;
use super::journal::{ProposalStatus, WaitingCall};
use crate::files::directories;
use crate::files::directories::{FileAccess, FileOutcome, FilePlace};
use crate::files::trees::BlobSink;
use crate::state::blobs;
use crate::state::daemon::HostDaemon;
use caps::Capability as _;
use control::exit::{Exit, Failure};
use kernel::facet::Part;

/// The maximum length of a text in a journal entry, in bytes. Longer texts, and bytes that are not text, are stored
/// as blobs.
const MAX_JOURNAL_TEXT: usize = 64 << 10;

/// The maximum number of times that a call is judged because its target keeps changing.
const MAX_TRIES: usize = 5;

/// A call on a granted directory.
pub struct GuestCall<'a> {
    /// The right to the directory of the call.
    pub access: &'a GrantedAccess,
    /// The target of the call in the directory.
    pub place: &'a FilePlace,
    /// The operation.
    pub op: FileOp,
    /// The bytes to write, if the call has them apart from its arguments.
    pub bytes: Option<&'a [u8]>,
    /// The send that makes the call, if code makes it.
    pub origin: Option<Origin>,
}

/// The outcome of a call.
pub enum CallOutcome {
    /// The call was made, with this result.
    Done(FileOutcome),
    /// The call waits. Once it was made, its answer is this result.
    Waiting(WaitingCall, FileOutcome),
}

/// A call in the form in which it is proposed.
struct ProposedCall {
    method: &'static str,
    args: Vec<Value>,
    /// The bytes to store as a blob before the call is proposed.
    blob: Option<Vec<u8>>,
}

impl GuestCall<'_> {
    /// Returns the directory from which the paths of the operation lead, and the operation. A file is reached from
    /// its parent directory.
    fn root_and_op(&self) -> (&[String], FileOp) {
        match (self.place.kind, self.place.place.split_last()) {
            (Part::File, Some((name, before))) => {
                (before, self.op.clone().behind(std::slice::from_ref(name)))
            }
            _ => (&self.place.place[..], self.op.clone()),
        }
    }

    /// Returns the call in the form in which it is proposed, or `None` if the operation needs no access to the disk.
    fn proposed_call(&self) -> Option<ProposedCall> {
        let (within, op) = self.root_and_op();
        let path = |way: &[String]| {
            let all: Vec<&str> = within.iter().chain(way).map(String::as_str).collect();
            Value::from(all.join("/"))
        };
        let mut beside = None;
        let (method, mut args) = match &op {
            FileOp::Has(way) => ("has", vec![path(way)]),
            FileOp::List(way) => ("list", vec![path(way)]),
            FileOp::Lookup(way) => ("lookup", vec![path(way)]),
            FileOp::Read { way, .. } | FileOp::ReadJson(way) | FileOp::Stream(way) => {
                ("read", vec![path(way)])
            }
            FileOp::Snapshot => ("snapshot", vec![path(&[])]),
            FileOp::Write { way, text } if text.len() <= MAX_JOURNAL_TEXT => {
                ("write", vec![path(way), Value::from(text.as_str())])
            }
            FileOp::Write { way, text } => write_arguments(path(way), text.as_bytes(), &mut beside),
            FileOp::Append { way, text } => ("append", vec![path(way), Value::from(text.as_str())]),
            FileOp::WriteBytes(way) => {
                let bytes = self.bytes.unwrap_or_default();
                match std::str::from_utf8(bytes) {
                    Ok(text) if text.len() <= MAX_JOURNAL_TEXT => {
                        ("write", vec![path(way), Value::from(text)])
                    }
                    _ => write_arguments(path(way), bytes, &mut beside),
                }
            }
            FileOp::Remove(way) => ("remove", vec![path(way)]),
            FileOp::MakeDirectory(way) => ("makeDirectory", vec![path(way)]),
            FileOp::Move { from, to } => ("move", vec![path(from), path(to)]),
            FileOp::ReadOnly | FileOp::Digest(_) => return None,
        };
        let is_direct = self.access.target == self.access.grant.id && self.access.through.is_empty();
        if !is_direct || !within.is_empty() {
            args.push(match within {
                [] => Value::undefined(),
                _ => Value::from(within.join("/")),
            });
        }
        if !is_direct {
            // The argument lists the object that has the files, and then the grants on the way to it.
            let way = std::iter::once(&self.access.target).chain(&self.access.through);
            args.push(Value::array(way.map(|id| Value::remotable(*id))));
        }
        Some(ProposedCall { method, args, blob: beside })
    }
}

fn write_arguments(path: Value, bytes: &[u8], beside: &mut Option<Vec<u8>>) -> (&'static str, Vec<Value>) {
    *beside = Some(bytes.to_vec());
    let digest = Value::from(BlobHash::of(bytes).to_string());
    ("put", vec![path, digest, Value::number(bytes.len() as f64)])
}

/// Judges a call, proposes it in the agent's journal, and makes it if it is allowed.
///
/// # Errors
/// When the call is refused, or fails.
pub fn make_call(
    daemon: &HostDaemon,
    shelf: &dyn BlobSink,
    call: &GuestCall<'_>,
) -> Result<CallOutcome, Failure> {
    let handed = call.access;
    if let FileOp::Append { text, .. } = &call.op
        && text.len() > MAX_JOURNAL_TEXT
    {
        let what = format!("{} bytes are too many to be put behind a file at once", text.len());
        return Err(Failure::new(Exit::Invalid, what)
            .help(format!("{MAX_JOURNAL_TEXT} at a time, or write all of it")));
    }
    let capability = handed.capability(daemon, daemon.state())?;
    let gates = handed.gates(daemon)?;
    let looks = capability.view();
    let leads = |way: &[String]| {
        let all: Vec<String> = call.place.place.iter().chain(way).cloned().collect();
        let real = looks.leads(&all)?;
        // A link that leads out of the place was refused when the place was entered.
        Some(real.strip_prefix(&call.place.place[..]).map_or(real.clone(), <[String]>::to_vec))
    };
    let is_directory = |way: &[String]| {
        let all: Vec<String> = call.place.place.iter().chain(way).cloned().collect();
        looks.is_directory(&all)
    };
    let Some(mut words) = call.proposed_call() else {
        gates.check_unrecorded(&call.place.place, &call.op, &leads)?;
        return directories::narrow_place(call.place, &call.op).map(CallOutcome::Done);
    };
    let changes = call.op.changes();
    let at = journal::open_journal(daemon, handed.agent)?;
    for tried in 1.. {
        let facts = capability.facts(words.method, &words.args);
        let places = if changes { &facts.places[..] } else { &[] };
        let mut verdict = gates.judge(&call.place.place, &call.op, call.bytes, &leads, &is_directory, places);
        if !facts.problems.is_empty() {
            verdict.decision = Decision::Deny;
            verdict.findings.extend(facts.problems.iter().cloned());
        }
        if changes && call.place.read_only {
            verdict.decision = Decision::Deny;
            verdict.findings.push(Finding::new("mount/read-only", "this directory is for reading only"));
        }
        let judgement = judgement(call, &capability, facts, &mut words, verdict, &gates.rules().secrets);
        let decision = judgement.verdict.decision;
        if decision != Decision::Deny {
            if let Some(bytes) = &words.blob {
                blobs::upload(daemon, bytes)?;
            }
            keep_operands(daemon, &capability, &judgement)?;
        }
        let step = match journal::propose(daemon, at, judgement)? {
            ProposalStatus::NotStarted(step) => step,
            ProposalStatus::Started(begun) => {
                let hand = InFlight::new(daemon, at.host, begun.step());
                if !changes {
                    let came = directories::carry_out(
                        daemon.state(),
                        shelf,
                        FileAccess::Granted(&capability, &begun),
                        call.place,
                        call.op.clone(),
                        None,
                        &|place| gates.check_read(place),
                    );
                    record_observation(daemon, at, &begun, &came);
                    hand.finish();
                    return came.map(CallOutcome::Done);
                }
                let mut completion = capability.perform(&begun);
                redact_completion(&gates.rules().secrets, &mut completion);
                let complete = Move::Complete { proposal: begun.step().step, completion: completion.clone() };
                journal::advance(daemon, at, complete)?;
                hand.finish();
                if is_changed(&completion) && tried < MAX_TRIES {
                    continue;
                }
                return journal::completion_result(completion)
                    .map(|()| CallOutcome::Done(change_outcome(call)));
            }
        };
        let mut asked = WaitingCall { host: at.host, step };
        return match asked.poll(daemon) {
            Ok(Some(())) => Ok(CallOutcome::Done(change_outcome(call))),
            Ok(None) => Ok(CallOutcome::Waiting(asked, change_outcome(call))),
            Err(failure) => Err(failure),
        };
    }
    Err(Failure::new(Exit::Conflict, "somebody else changes the same thing all the time"))
}

/// Returns the proposal of a call together with the verdict of the gates.
fn judgement(
    call: &GuestCall<'_>,
    capability: &caps::mount::GrantedDirectory,
    facts: Facts,
    words: &mut ProposedCall,
    mut verdict: Verdict,
    secrets: &policy::Secrets,
) -> Judgement {
    let changes = call.op.changes();
    // A secret that must not be written to a file must not be in the journal either.
    for arg in &mut words.args {
        let redacted = secrets.redact_value(arg);
        if redacted != *arg {
            *arg = redacted;
            if verdict.decision != Decision::Deny {
                verdict.decision = Decision::Deny;
                verdict.findings.push(Finding::new("secrets/vault", "a secret of the vault stands in it"));
            }
        }
    }
    if verdict.decision == Decision::Ask && !changes {
        verdict.decision = Decision::Deny;
        verdict.findings.push(Finding::new("handed/asks", APPROVAL_UNAVAILABLE));
    }
    let pins = match verdict.decision {
        Decision::Deny => BTreeSet::new(),
        _ => facts.pins,
    };
    let effect = if changes { Effect::Modify } else { Effect::Observe };
    let proposal = Proposal {
        principal: call.access.agent,
        run: RunNumber(0),
        grant: call.access.grant.id,
        slot: call.access.grant.slot.clone(),
        method: words.method.to_owned(),
        args: words.args.clone(),
        effect: facts.raises.filter(|_| changes).map_or(effect, |raised| raised.max(effect)),
        caller: Caller::Code,
        pins,
        provenance: Provenance::of(Source::Agent(Number(call.access.agent.number))),
        traces: vec![],
        givers: vec![],
        place: Some(capability.path().to_owned()),
    };
    // Only changes are recorded with their send. Reading again is harmless, and the bytes that were read are not
    // kept.
    let origin = call.origin.filter(|_| changes);
    Judgement { site: CallSite::Direct { origin }, proposal, verdict }
}

/// Stores the content that a call would change before the user is asked. The daemon can then show how that content
/// has changed since.
fn keep_operands(
    daemon: &HostDaemon,
    capability: &caps::mount::GrantedDirectory,
    judgement: &Judgement,
) -> Result<(), Failure> {
    if judgement.verdict.decision != Decision::Ask {
        return Ok(());
    }
    for pin in &judgement.proposal.pins {
        let Some(digest) = pin.digest else { continue };
        if let Some(bytes) = capability.operand(pin).filter(|bytes| BlobHash::of(bytes) == digest) {
            blobs::upload(daemon, &bytes)?;
        }
    }
    Ok(())
}

/// Records the size and the hash of the result of a read-only call, but not its content.
fn record_observation(
    daemon: &HostDaemon,
    at: HostRun,
    begun: &kernel::started_effect::StartedEffect,
    came: &Result<FileOutcome, Failure>,
) {
    let completion = match came {
        Ok(came) => {
            Completion::Done { value: came.observation(), provenance: begun.proposal().provenance.clone() }
        }
        Err(failure) => {
            Completion::Failed(Finding::new("mount/failed", Quoting::theirs(failure.message.raw())))
        }
    };
    let done = Move::Complete { proposal: begun.step().step, completion };
    if daemon.pending_outcomes.add(at, done) {
        journal::flush(daemon);
    }
}

fn is_changed(completion: &Completion) -> bool {
    matches!(completion, Completion::Refused(findings)
        if findings.iter().any(|finding| finding.rule == "mount/changed"))
}

pub(super) fn redact_completion(secrets: &policy::Secrets, completion: &mut Completion) {
    match completion {
        Completion::Done { .. } => {}
        Completion::Refused(findings) => redact(secrets, findings),
        Completion::Failed(finding) => redact(secrets, std::slice::from_mut(finding)),
    }
}

/// Returns the result of a change that was made.
fn change_outcome(call: &GuestCall<'_>) -> FileOutcome {
    match &call.op {
        FileOp::MakeDirectory(way) => {
            let place = call.place.place.iter().chain(way).cloned().collect();
            FileOutcome::Part { place, kind: Part::Directory, read_only: call.place.read_only }
        }
        _ => FileOutcome::Value(Value::undefined()),
    }
}
