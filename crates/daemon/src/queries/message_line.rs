//! The line that describes a message in a list: its title, and the call that it asks about.

use kernel::formula::Formula;
use kernel::message::{ApprovalEntry, Body};
use kernel::name_lookup::View;
use kernel::query::MailboxEntry;
use kernel::run::Entry;
use kernel::{MessageNumber, RunNumber, query, table};
use passable::Untrusted;

use super::{asked_calls, names, runs};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::call_words::{self, CallView};
use control::show::card::CardEntry;
use control::show::headline::{self, CallQuestion, MessageSubject};
use control::show::{danger, journal};
use control::threads::{AskedCall, Line};
use control::title::Title;

/// The maximum number of calls of one message from which its title is made.
const MAX_CALLS: usize = 100;

/// Returns the line of a message in the daemon's own mailbox.
///
/// # Errors
/// When the store cannot be read.
pub fn line(daemon: &HostDaemon, letter: MailboxEntry) -> Result<Line, Failure> {
    line_for(daemon, &daemon.view(daemon.host), letter)
}

/// Returns the line of a message in the mailbox of the agent whose view this is.
///
/// # Errors
/// When the store cannot be read.
pub fn line_for(daemon: &HostDaemon, view: &View, letter: MailboxEntry) -> Result<Line, Failure> {
    let entries = asked_entries(daemon, &letter)?;
    let open: Vec<&CardEntry> = entries.iter().filter(|entry| entry.answer.is_none()).collect();
    let call = open.first().copied().or(entries.first()).map(call);
    let title = title(daemon, view, &letter, &entries)?.map(Title::from);
    let danger = danger::of_entries(&open).into_iter().next().filter(|_| letter.mail.needs_you);
    Ok(Line { letter, call, title, danger: danger.map(Title::from) })
}

/// Returns the sentence about a waiting message for a notification. It contains nothing that others wrote.
///
/// # Errors
/// When the store cannot be read.
pub fn notice(daemon: &HostDaemon, number: MessageNumber) -> Result<Option<String>, Failure> {
    let Some(letter) = daemon.read(|txn| query::message(txn, &daemon.host, number))? else { return Ok(None) };
    let Some(body) = letter.body() else { return Ok(None) };
    if matches!(body, Body::Approval { .. }) {
        let entries = asked_entries(daemon, &letter)?;
        let open: Vec<CallView<'_>> =
            entries.iter().filter(|entry| entry.answer.is_none()).map(call_words::view).collect();
        if !open.is_empty() {
            return Ok(Some(headline::notice_of_calls(&open)));
        }
    }
    let is_worker = proposes_worker(daemon, body)?;
    let subject = MessageSubject { body, sender: "", is_worker, guest: None };
    Ok(Some(subject.notice().to_owned()))
}

/// Returns the title of a message. Without its content, a message has none.
fn title(
    daemon: &HostDaemon,
    view: &View,
    letter: &MailboxEntry,
    entries: &[CardEntry],
) -> Result<Option<passable::Quoting>, Failure> {
    let (Some(message), Some(body)) = (&letter.message, letter.body()) else { return Ok(None) };
    let asked = match body {
        Body::Approval { run, .. } if !entries.is_empty() => Some((*run, false)),
        Body::OutcomeUnknown { run, .. } if !entries.is_empty() => Some((*run, true)),
        _ => None,
    };
    if let Some((run, in_doubt)) = asked {
        let open = entries.iter().any(|entry| entry.answer.is_none());
        let calls = entries.iter().filter(|entry| !open || entry.answer.is_none());
        let calls: Vec<CallView<'_>> = calls.map(call_words::view).collect();
        let worker = worker_name(daemon, run)?;
        let question = CallQuestion { in_doubt, is_open: letter.mail.needs_you };
        return Ok(Some(headline::of_calls(&worker, &calls, question)));
    }
    let own_run = body.said_by().filter(|_| view.agent == daemon.host);
    let sender = match (body, own_run) {
        (Body::Command { .. }, _) => String::new(),
        (_, Some(run)) => worker_name(daemon, run)?,
        (_, None) => daemon.query(|txn| names::name_or_kind(txn, view, &message.from))?,
    };
    let guest = match body {
        Body::Release { guest, .. } => Some(daemon.query(|txn| names::name_or_kind(txn, view, guest))?),
        _ => None,
    };
    let is_worker = proposes_worker(daemon, body)?;
    let subject = MessageSubject { body, sender: &sender, is_worker, guest: guest.as_deref() };
    Ok(Some(subject.title()))
}

/// Returns the name of a run's worker. A run that is gone is known by its number.
fn worker_name(daemon: &HostDaemon, run: RunNumber) -> Result<String, Failure> {
    match daemon.read(|txn| table::run(txn, &daemon.host.number, run))? {
        Some(row) => runs::name(daemon, &row),
        None => Ok(run.to_string()),
    }
}

fn proposes_worker(daemon: &HostDaemon, body: &Body) -> Result<bool, Failure> {
    let Body::Definition { definition, .. } = body else { return Ok(false) };
    let row = daemon.read(|txn| table::formula(txn, definition))?;
    Ok(matches!(row.map(|row| row.formula), Some(Formula::Definition { worker: Some(_), .. })))
}

/// Returns the calls that a message asks about, without the findings of the gates.
fn asked_entries(daemon: &HostDaemon, letter: &MailboxEntry) -> Result<Vec<CardEntry>, Failure> {
    let asked: &[ApprovalEntry] = match letter.body() {
        Some(Body::Approval { entries, .. }) => entries,
        Some(Body::OutcomeUnknown { entry, .. }) => std::slice::from_ref(entry),
        _ => return Ok(vec![]),
    };
    let mut found = Vec::new();
    for (at, asked) in asked.iter().enumerate().take(MAX_CALLS) {
        let step = daemon.read(|txn| table::step(txn, &daemon.host.number, asked.proposal))?;
        if let Some(Entry::Proposed { proposal, .. }) = step.map(|step| step.entry) {
            let answer = letter.mail.answers.get(&at).cloned();
            found.push(asked_calls::outline(daemon, asked.proposal, &proposal, answer)?);
        }
    }
    Ok(found)
}

fn call(entry: &CardEntry) -> AskedCall {
    let with: Vec<String> = entry.arguments.iter().map(|(_, text)| journal::shorten(text.raw())).collect();
    AskedCall {
        effect: entry.effect,
        slot: entry.slot.clone(),
        method: entry.method.clone(),
        with: Untrusted::new(with.join(", ")),
    }
}
