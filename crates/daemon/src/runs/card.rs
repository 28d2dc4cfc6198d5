//! The cards that a person sees before answering, made only from stored data.

use std::collections::{BTreeMap, BTreeSet};

use kernel::formula::Formula;
use kernel::message::{Answer, ApprovalEntry, Body, Mail};
use kernel::proposal::{Caller, Effect, Finding, Pin, Proposal};
use kernel::run::{Completion, Entry, Run};
use kernel::{BlobHash, MessageNumber, RunNumber, StepRef, agent_journal, query, table};
use passable::{Quoting, Untrusted};

use super::{task, worker_preview};
use crate::queries::approval_history::ApprovalHistory;
use crate::queries::approval_history::CardCall;
use crate::queries::{asked_calls, names, runs, why};
use crate::state::daemon::HostDaemon;
use config::clock;
use control::exit::{Exit, Failure};
use control::show::budget_request::BudgetRequest;
use control::show::card::{Card, CardEntry, ChangedDependency, CutOff};
use control::show::difference;

/// Returns the card of a message.
///
/// # Errors
/// When there is no such message, or it has no card.
pub fn card(daemon: &HostDaemon, number: MessageNumber) -> Result<Card, Failure> {
    let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, Quoting::ours(format!("there is no message {number}")))
            .help("see `almoner inbox`")
    })?;
    let (run, entries, in_doubt) = match letter.body() {
        Some(Body::Approval { run, entries }) => (run, entries.as_slice(), false),
        Some(Body::OutcomeUnknown { run, entry }) => (run, std::slice::from_ref(entry), true),
        Some(Body::Budget { run, trouble, used, offer }) => {
            let asking = runs::load_run(daemon, *run)?;
            let answer = letter.mail.answers.get(&0).cloned();
            let more = BudgetRequest { why: trouble.message.clone(), used: *used, offer: *offer, answer };
            let worker = runs::name(daemon, &asking)?;
            let (entries, read, asked, more) = (vec![], vec![], vec![], Some(more));
            let task = task::tasks(daemon, &asking, asking.next_step)?;
            return Ok(Card {
                number,
                run: *run,
                worker,
                in_doubt: false,
                task,
                entries,
                more,
                read,
                asked,
                said: None,
            });
        }
        _ => {
            return Err(Failure::new(
                Exit::NotFound,
                Quoting::ours(format!("message {number} is not an approval")),
            )
            .help("see `almoner inbox`"));
        }
    };
    let asking = runs::load_run(daemon, *run)?;
    // The journal has the proposal of each entry, and the gates' verdict on it.
    let wanted: BTreeSet<u64> = entries.iter().map(|asked| asked.proposal.step).collect();
    let (mut proposals, mut verdicts) = (BTreeMap::new(), BTreeMap::new());
    let first = wanted.first().copied().unwrap_or(u64::MAX);
    let (mut before, mut replied) = (BTreeMap::new(), None);
    // The model's reply comes before its proposals in the journal.
    let from = first.saturating_sub(MAX_STEPS_BEFORE);
    runs::for_each_step(daemon, *run, from, |step| {
        match step.entry {
            Entry::Replied { reply, .. } if step.number < first => replied = Some(reply),
            Entry::Proposed { proposal, replaces, .. } if wanted.contains(&step.number) => {
                before.extend(replaces.map(|replaced| (step.number, replaced)));
                proposals.insert(step.number, proposal);
            }
            Entry::Judged { proposal, verdict, .. } if wanted.contains(&proposal) => {
                verdicts.insert(proposal, verdict);
            }
            _ => {}
        }
        verdicts.len() < wanted.len()
    })?;
    let later = entry_histories(daemon, *run, &letter.mail, entries, in_doubt)?;
    let shown = entries
        .iter()
        .enumerate()
        .map(|(i, asked)| {
            let at = asked.proposal;
            let proposal = proposals.get(&at.step).ok_or_else(|| {
                Failure::new(Exit::Failure, format!("{at} is not in the journal")).help("`almoner doctor`")
            })?;
            let found = verdicts.get(&at.step).map(|verdict| verdict.findings.clone()).unwrap_or_default();
            let changed = match before.get(&at.step) {
                Some(step) => changed_dependencies(daemon, StepRef { step: *step, ..at }, proposal)?,
                None => vec![],
            };
            let answer = letter.mail.answers.get(&i).cloned();
            let entry = entry(daemon, at, proposal, found, answer)?;
            let later = later.get(&at.step).cloned().unwrap_or_default();
            let cut_off = later.began_ms.zip(later.unknown_ms).filter(|_| in_doubt);
            let cut_off = cut_off.map(|(began_ms, found_ms)| CutOff { began_ms, found_ms });
            let made = match entry.difference {
                Some(_) => None,
                None => maker_diff(daemon, &asking, proposal),
            };
            let difference_of =
                entry.difference_of.clone().or(made.is_some().then(|| WORKER_DIFF_NOTE.to_owned()));
            let difference = entry.difference.clone().or(made);
            Ok(CardEntry { changed, difference, difference_of, cut_off, undone: later.refusals, ..entry })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let calls = entries.iter().zip(&shown).filter(|_| !in_doubt).filter_map(|(asked, entry)| {
        let (step, target) = (asked.proposal.step, entry.target.clone());
        Some(CardCall { proposal: proposals.get(&step)?, verdict: verdicts.get(&step), target })
    });
    let asked = daemon.extensions.get(ApprovalHistory::default).earlier_asks(
        daemon,
        number,
        &asking,
        &calls.collect::<Vec<_>>(),
    )?;
    let read = asking.provenance.sources.iter().cloned().collect();
    let worker = runs::name(daemon, &asking)?;
    // The model's words are shown only for its own proposals, not for those of code.
    let by_model = proposals.values().any(|proposal| proposal.caller == Caller::Model);
    let said = replied.filter(|_| by_model).and_then(|reply| reply_text(daemon, &reply));
    let task = task::tasks(daemon, &asking, first)?;
    Ok(Card { number, run: *run, worker, in_doubt, task, entries: shown, more: None, read, asked, said })
}

/// The later entries of the journal about a proposal, after a person was asked.
#[derive(Clone, Debug, Default)]
struct EntryHistory {
    /// The time at which the call first began.
    began_ms: Option<i64>,
    /// The time at which the outcome of the call was found to be unknown.
    unknown_ms: Option<i64>,
    /// The reasons why the call was refused after an approval.
    refusals: Vec<Finding>,
}

/// The number of steps that are searched for the outcomes of a card's entries.
const MAX_STEPS_AFTER: u64 = 2_000;

/// Returns the histories of a card's entries, by the step that proposed each. Only entries that were answered or
/// interrupted have one.
fn entry_histories(
    daemon: &HostDaemon,
    run: RunNumber,
    mail: &Mail,
    entries: &[ApprovalEntry],
    in_doubt: bool,
) -> Result<BTreeMap<u64, EntryHistory>, Failure> {
    let is_wanted = |at: &usize| in_doubt || mail.answers.contains_key(at);
    let steps = entries.iter().enumerate().filter(|(at, _)| is_wanted(at)).map(|(_, one)| one.proposal.step);
    let mut open: BTreeSet<u64> = steps.clone().collect();
    let mut found: BTreeMap<u64, EntryHistory> = steps.map(|step| (step, EntryHistory::default())).collect();
    let Some(first) = open.first().copied() else { return Ok(found) };
    runs::for_each_step(daemon, run, first, |step| {
        match step.entry {
            Entry::EffectStarted { proposal, .. } => {
                if let Some(one) = found.get_mut(&proposal) {
                    one.began_ms.get_or_insert(step.at_ms);
                }
            }
            Entry::OutcomeUnknown { proposal, .. } => {
                if let Some(one) = found.get_mut(&proposal) {
                    one.unknown_ms = Some(step.at_ms);
                }
            }
            Entry::Completed { proposal, completion } => {
                open.remove(&proposal);
                if let (Some(one), Completion::Refused(why)) = (found.get_mut(&proposal), completion) {
                    one.refusals = why;
                }
            }
            _ => {}
        }
        !open.is_empty() && step.number < first.saturating_add(MAX_STEPS_AFTER)
    })?;
    // After a denial, the person already knows why the call was refused.
    for (at, asked) in entries.iter().enumerate() {
        if !matches!(mail.answers.get(&at), Some(Answer::Approved { .. } | Answer::Repeat { .. })) {
            found.entry(asked.proposal.step).and_modify(|one| one.refusals.clear());
        }
    }
    Ok(found)
}

/// The maximum number of steps between a reply and its first proposal.
const MAX_STEPS_BEFORE: u64 = 500;

/// The heading above the difference of a new worker.
const WORKER_DIFF_NOTE: &str = "how it differs from the file of the worker that makes it";

/// Returns the text of a model's reply, or `None` if the reply has no text. The reply is stored as the JSON form of
/// `model::Reply`.
fn reply_text(daemon: &HostDaemon, reply: &BlobHash) -> Option<Untrusted> {
    let json: serde_json::Value = serde_json::from_slice(&daemon.store.blobs().get(reply).ok()?).ok()?;
    let text = json.get("text")?.as_str()?.trim().to_owned();
    (!text.is_empty()).then(|| Untrusted::new(text))
}

/// Returns the difference between the definition of a run and the worker that the run proposes to make.
fn maker_diff(daemon: &HostDaemon, run: &Run, proposal: &Proposal) -> Option<Untrusted> {
    let source = worker_preview::text(daemon, proposal)?;
    let own = String::from_utf8(daemon.store.blobs().get(&run.definition).ok()?).ok()?;
    Some(Untrusted::new(difference::lines(&own, source)))
}

fn entry(
    daemon: &HostDaemon,
    at: StepRef,
    proposal: &Proposal,
    findings: Vec<Finding>,
    answer: Option<kernel::message::Answer>,
) -> Result<CardEntry, Failure> {
    let formula = why::call_target(daemon, proposal)?;
    let replaces = proposal
        .pins
        .iter()
        .find_map(|pin| pin.digest.map(|digest| format!("{}, {}", pin.name, digest.short())));
    let difference = match call_drawing(daemon, proposal) {
        Some((what, text)) => (Some(what), Some(text)),
        None => (None, edit_diff(daemon, proposal)),
    };
    Ok(CardEntry {
        target: describe_target(daemon, proposal, formula.as_ref())?,
        tells: formula
            .as_ref()
            .filter(|_| proposal.effect == Effect::Observe)
            .and_then(|formula| caps::listener(formula, &proposal.method))
            .map(Untrusted::new),
        findings,
        difference: difference.1,
        difference_of: difference.0,
        replaces: replaces.filter(|_| matches!(proposal.method.as_str(), "write" | "put")),
        making: worker_preview::preview_on_card(daemon, at, proposal, answer.is_some()),
        ended: ended_grant(daemon, proposal)?,
        ..asked_calls::outline_of(formula.as_ref(), at, proposal, answer)
    })
}

/// Returns the reason why the grant of a proposal can no longer be used, if that is so.
fn ended_grant(daemon: &HostDaemon, proposal: &Proposal) -> Result<Option<Untrusted>, Failure> {
    let now_ms = clock::now_ms();
    let reached = daemon.read(|txn| table::reach(txn, &proposal.grant))?;
    Ok(match reached {
        Some(reached) => reached.ended(now_ms).map(|finding| Untrusted::new(finding.message)),
        None => Some(Untrusted::new("what it would be done with is gone")),
    })
}

/// Returns a description of the target of a call, with the host's own name for the target if there is one.
fn describe_target(
    daemon: &HostDaemon,
    proposal: &Proposal,
    made_on: Option<&Formula>,
) -> Result<String, Failure> {
    let grant = daemon.read(|txn| table::grant(txn, &proposal.grant))?;
    let words =
        made_on.map_or_else(|| "what is gone".to_owned(), |made_on| why::describe_through(&grant, made_on));
    let view = daemon.view(daemon.host);
    let name = daemon.query(|txn| {
        let ids =
            grant.iter().flat_map(|grant| [grant.id, grant.target]).chain([agent_journal::target(proposal)]);
        for id in ids {
            // The giver of a grant may instead have a name for the object behind the grant.
            let behind = table::reach(txn, &id)?.map(|reached| reached.id);
            for id in std::iter::once(id).chain(behind) {
                if let Some(name) = names::name_of_target(txn, &view, &id)? {
                    return Ok(Some(name));
                }
            }
        }
        Ok(None)
    })?;
    Ok(match name {
        Some(name) => format!("{name} ({words})"),
        None => words,
    })
}

/// Returns the preview of a call for a person, with its heading. The capability made the preview, and it was stored
/// with the proposal.
fn call_drawing(daemon: &HostDaemon, proposal: &Proposal) -> Option<(String, Untrusted)> {
    let pin = proposal.pins.iter().find(|pin| pin.kind == "diff")?;
    let bytes = daemon.store.blobs().get(&pin.digest?).ok()?;
    Some((pin.name.clone(), Untrusted::new(String::from_utf8(bytes).ok()?)))
}

/// Returns the difference that an edit makes in the pinned file, as lines. If the file was too large to be stored,
/// the difference covers only the replaced text.
fn edit_diff(daemon: &HostDaemon, proposal: &Proposal) -> Option<Untrusted> {
    let text = |at: usize| proposal.args.get(at).and_then(kernel::Value::as_str);
    let (old, new) = (text(1)?, text(2)?);
    if proposal.method != "edit" || old.is_empty() {
        return None;
    }
    let pin = proposal.pins.iter().find(|pin| pin.kind == "file")?;
    let held = daemon.store.blobs().get(&pin.digest?).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let held = held.unwrap_or_else(|| old.to_owned());
    Some(Untrusted::new(difference::lines(&held, &held.replace(old, new))))
}

/// Returns the dependencies that changed between the proposal at `before` and this one.
fn changed_dependencies(
    daemon: &HostDaemon,
    before: StepRef,
    now: &Proposal,
) -> Result<Vec<ChangedDependency>, Failure> {
    let step = daemon.read(|txn| table::step(txn, &daemon.host.number, before))?;
    let Some(Entry::Proposed { proposal: old, .. }) = step.map(|step| step.entry) else { return Ok(vec![]) };
    let digest_in = |pins: &BTreeSet<Pin>, pin: &Pin| {
        pins.iter()
            .find(|other| (&other.kind, &other.name) == (&pin.kind, &pin.name))
            .and_then(|pin| pin.digest)
    };
    let named: BTreeMap<(&String, &String), &Pin> =
        old.pins.symmetric_difference(&now.pins).map(|pin| ((&pin.kind, &pin.name), pin)).collect();
    Ok(named
        .into_values()
        .map(|pin| {
            let (was, is) = (digest_in(&old.pins, pin), digest_in(&now.pins, pin));
            let text = |hash: Option<BlobHash>| match hash {
                // A missing file has no lines.
                None => Some(String::new()),
                Some(hash) => String::from_utf8(daemon.store.blobs().get(&hash).ok()?).ok(),
            };
            ChangedDependency {
                what: pin.describe(&pin.name),
                was: was.map(|hash| hash.short()),
                is: is.map(|hash| hash.short()),
                lines: text(was).zip(text(is)).map(|(was, is)| Untrusted::new(difference::lines(&was, &is))),
            }
        })
        .collect())
}
