//! Answer: a person says yes or no to an approval. A second answer changes nothing.

use passable::Quoting;

use crate::command::{Addition, AnswerAll, AnswerApproval, Choice, Fault, Reply, UserCommand};
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{MessageNumber, RunNumber};
use crate::message::{Answer, ApprovalEntry, Body, Mail};
use crate::proposal::{DENIAL_RULE, Finding, Value};
use crate::provenance::Provenance;
use crate::run::{Completion, Entry, Phase, Run};
use crate::state::{LoadedMessage, MessageSubject, State};
use crate::table::{self, PermissionRow};
use crate::txn::Table;

use super::permission;

/// The error for a yes or a no to a question whether something happened.
const DOUBT_WANTS: &str = "it asks whether something happened: say that it did, or that it did not";

/// The error for an answer that says whether something happened, if the message does not ask this.
const NO_DOUBT: &str = "it does not ask whether something happened: approve or deny it";

/// The error for a higher limit as the answer to a message that does not ask for one.
const NO_BUDGET: &str = "it does not ask for more of anything: approve or deny it";

/// The error for an approval for the whole run, if the run does not end.
const NO_END: &str = "what it asks for belongs to no run that ends: approve this call alone";

/// The error for an addition to several entries.
const ONE_ADDITION: &str = "something is added only to one entry that is approved by itself";

/// The error for an answer to several approvals that is neither a plain yes nor a no.
const ONE_ANSWER: &str = "several approvals are answered together by a yes to each call, or by a no";

/// The error for an answer that does not fit a question about a quota of mail.
const QUOTA_WANTS: &str = "it asks whether an agent may send more mail: approve it, or deny it";

/// The error for an answer that names no entry.
const NO_ENTRY: &str = "an answer names at least one of its entries";

fn wrong_kind(letter: &LoadedMessage, what: &'static str) -> Fault {
    Fault::WrongKind { number: letter.number, kind: letter.mail.envelope.kind.clone(), what }
}

pub(super) fn answer(state: &mut State<'_>, command: AnswerApproval) -> Result<Reply, Fault> {
    let number = command.message;
    let letter = state.letter(number)?;
    let verb = match command.choice {
        Choice::Approve { .. } | Choice::Raise { .. } => "approve",
        Choice::Deny { .. } => "deny",
        Choice::Happened | Choice::Repeat => "outcome",
    };
    let answers = Some(crate::id::Number(letter.id.number));
    let said = UserCommand { verb: verb.to_owned(), text: command.text.clone() };
    let about = |run| MessageSubject { answers, run, grant: None };
    let says_whether = matches!(command.choice, Choice::Happened | Choice::Repeat);
    let (run, entries) = match &letter.message.body {
        Body::OutcomeUnknown { run, entry } if says_whether => (*run, vec![*entry]),
        // A yes or a no does not say whether the effect happened.
        Body::OutcomeUnknown { .. } => return Err(wrong_kind(&letter, DOUBT_WANTS)),
        _ if says_whether => return Err(wrong_kind(&letter, NO_DOUBT)),
        Body::Budget { run, offer, .. } => {
            let (run, offer) = (*run, *offer);
            if command.addition.is_some() {
                return Err(Fault::Misfit { what: ONE_ADDITION.to_owned() });
            }
            if !letter.mail.needs_you {
                return Ok(Reply::AlreadyAnswered { run });
            }
            state.record_command(said, about(Some(run)), None)?;
            return super::exhaust::answer(state, letter, run, offer, &command.choice);
        }
        _ if matches!(command.choice, Choice::Raise { .. }) => return Err(wrong_kind(&letter, NO_BUDGET)),
        Body::Approval { run, entries } => (*run, entries.clone()),
        Body::MailQuota { .. } if !letter.mail.needs_you => {
            letter.expect_not_withdrawn()?;
            return Ok(Reply::AlreadySettled);
        }
        Body::MailQuota { sender, offer, .. } => {
            let (sender, offer, at_ms) = (*sender, *offer, state.env.now_ms());
            let answer = match command.choice {
                Choice::Approve { for_run: false } => Answer::Approved { for_run: false, at_ms },
                Choice::Deny { reason } => Answer::Denied { reason, at_ms },
                _ => return Err(wrong_kind(&letter, QUOTA_WANTS)),
            };
            state.record_command(said, about(None), None)?;
            state.answer_mail_quota(letter, &sender, offer, answer)?;
            return Ok(Reply::Done);
        }
        Body::Release { .. } if letter.mail.answers.is_empty() => {
            state.record_command(said, about(None), None)?;
            return super::mail::release(state, letter, command.choice);
        }
        Body::Release { .. } => {
            letter.expect_not_withdrawn()?;
            return Ok(Reply::AlreadySettled);
        }
        _ => return Err(Fault::NotAnApproval(number)),
    };
    // Without this check, an answer that names no entry would get the reply that all was answered before.
    if command.entries.as_ref().is_some_and(Vec::is_empty) {
        return Err(wrong_kind(&letter, NO_ENTRY));
    }
    if let Choice::Approve { for_run: true } = command.choice
        && state.run(run)?.is_agent_journal()
    {
        return Err(wrong_kind(&letter, NO_END));
    }
    let mail = letter.mail;
    let wanted = command.entries.unwrap_or_else(|| (0..entries.len()).collect());
    if let Some(&entry) = wanted.iter().find(|&&i| i >= entries.len()) {
        return Err(Fault::NoEntry { message: number, entry, count: entries.len() });
    }
    let wanted: std::collections::BTreeSet<usize> = wanted.into_iter().collect();
    let open: Vec<usize> = wanted.into_iter().filter(|i| !mail.answers.contains_key(i)).collect();
    // A card that was closed because its run was cancelled counts as answered.
    if open.is_empty() || !mail.needs_you {
        return Ok(Reply::AlreadyAnswered { run });
    }
    // An addition belongs to exactly one entry, which must be approved.
    if command.addition.is_some() && (open.len() != 1 || !matches!(command.choice, Choice::Approve { .. })) {
        return Err(Fault::Misfit { what: ONE_ADDITION.to_owned() });
    }
    for (path, id) in command.addition.iter().flat_map(|addition| &addition.seen) {
        if state.find(path)? != *id {
            return Err(Fault::NotAsSeen { path: path.to_string() });
        }
    }
    let told = state.record_command(said, about(Some(run)), None)?;
    let card = Card { number, mail, run, entries };
    let addition = command.addition.map(|addition| (told, addition));
    let needs_you = answer_entries(state, card, &open, &command.choice, addition)?;
    Ok(Reply::Answered { run, entries: open, needs_you })
}

/// Answers all entries of several approvals in the same way, with one command. Every approval must be one of those
/// that the person has seen. Nothing is answered if one of them differs.
pub(super) fn answer_all(state: &mut State<'_>, command: AnswerAll) -> Result<Reply, Fault> {
    let verb = match command.choice {
        Choice::Approve { for_run: false } => "approve",
        Choice::Deny { .. } => "deny",
        _ => return Err(Fault::Misfit { what: ONE_ANSWER.to_owned() }),
    };
    let (mut open, mut already) = (Vec::new(), Vec::new());
    for seen in command.approvals {
        let letter = state.letter(seen.message)?;
        let Body::Approval { run, entries } = &letter.message.body else {
            return Err(Fault::NotAnApproval(seen.message));
        };
        if !entries.iter().map(|entry| entry.fingerprint).eq(seen.fingerprints) {
            return Err(Fault::NotAsSeen { path: format!("message {}", seen.message) });
        }
        if !letter.mail.needs_you {
            already.push(seen.message);
        } else if open.iter().all(|card: &Card| card.number != seen.message) {
            let (run, entries) = (*run, entries.clone());
            open.push(Card { number: seen.message, mail: letter.mail, run, entries });
        }
    }
    let Some(first) = open.first() else { return Ok(Reply::AnsweredAll { messages: vec![], already }) };
    let about =
        MessageSubject { answers: state.message_of(first.number)?, run: Some(first.run), grant: None };
    state.record_command(UserCommand { verb: verb.to_owned(), text: command.text }, about, None)?;
    let messages = open.iter().map(|card| card.number).collect();
    for card in open {
        let entries: Vec<usize> =
            (0..card.entries.len()).filter(|i| !card.mail.answers.contains_key(i)).collect();
        answer_entries(state, card, &entries, &command.choice, None)?;
    }
    Ok(Reply::AnsweredAll { messages, already })
}

/// An approval of a run, as its host's mailbox has it.
struct Card {
    number: MessageNumber,
    mail: Mail,
    run: RunNumber,
    entries: Vec<ApprovalEntry>,
}

/// Answers open entries of an approval, and wakes the run. Returns whether other entries are still open.
fn answer_entries(
    state: &mut State<'_>,
    card: Card,
    open: &[usize],
    choice: &Choice,
    addition: Option<(MessageNumber, Addition)>,
) -> Result<bool, Fault> {
    let Card { number, mut mail, run, entries } = card;
    let mut waiting = state.run(run)?;
    let at_ms = state.env.now_ms();
    for &i in open {
        let asked = entries[i];
        let answer = match choice {
            Choice::Approve { for_run } => {
                permit(state, &mut waiting, asked, number, *for_run)?;
                if let Some((told, addition)) = addition.clone() {
                    expect_workshop(state, asked)?;
                    waiting.additions.insert(asked.proposal.step, (told, addition));
                }
                Answer::Approved { for_run: *for_run, at_ms }
            }
            Choice::Deny { reason } => {
                refuse(state, &mut waiting, asked, number, reason.raw())?;
                Answer::Denied { reason: reason.clone(), at_ms }
            }
            Choice::Repeat => {
                permit(state, &mut waiting, asked, number, false)?;
                Answer::Repeat { at_ms }
            }
            Choice::Raise { .. } => return Err(Fault::Misfit { what: NO_BUDGET.to_owned() }),
            Choice::Happened => {
                happened(state, &mut waiting, asked, number)?;
                Answer::Happened { at_ms }
            }
        };
        mail.answers.insert(i, answer);
    }
    mail.needs_you = mail.answers.len() < entries.len();
    state.put_mail(number, &mail)?;
    let over = state.env.surface();
    state.event(Change::Answered { number, needs_you: mail.needs_you, over })?;
    state.wake(&mut waiting, format!("message {number} was answered"))?;
    state.put_run(&waiting)?;
    Ok(mail.needs_you)
}

fn permit(
    state: &mut State<'_>,
    run: &mut Run,
    asked: ApprovalEntry,
    message: crate::id::MessageNumber,
    for_run: bool,
) -> Result<(), Fault> {
    expect_asked(run, asked)?;
    let owner = state.owner();
    let proposal = (!for_run).then_some(asked.proposal);
    let row = PermissionRow { fingerprint: asked.fingerprint, proposal, message };
    let key = table::permission_key(asked.fingerprint, proposal);
    table::save(state.txn, Table::Permission, &owner, &key, &row, None)?;
    if for_run {
        let list = permission::run_permissions_key(run);
        let mut kept: Vec<_> =
            table::load(state.txn, Table::Meta, &owner, list.as_bytes())?.unwrap_or_default();
        kept.push(asked.fingerprint);
        table::save(state.txn, Table::Meta, &owner, list.as_bytes(), &kept, None)?;
    }
    run.open.insert(asked.proposal.step, Phase::Approved);
    let entry = Entry::Answered { proposal: asked.proposal.step, message, approved: true };
    state.journal(run, entry, Provenance::host())?;
    Ok(())
}

/// Returns the text of a denial for the run that asked.
fn denial(reason: &str) -> Quoting {
    if reason.is_empty() { "the host said no".into() } else { Quoting::theirs(reason) }
}

fn refuse(
    state: &mut State<'_>,
    run: &mut Run,
    asked: ApprovalEntry,
    message: crate::id::MessageNumber,
    reason: &str,
) -> Result<(), Fault> {
    expect_asked(run, asked)?;
    run.open.remove(&asked.proposal.step);
    let proposal = asked.proposal.step;
    state.journal(run, Entry::Answered { proposal, message, approved: false }, Provenance::host())?;
    let said = denial(reason);
    let completion = Completion::Refused(vec![Finding::new(DENIAL_RULE, said)]);
    state.journal(run, Entry::Completed { proposal, completion }, Provenance::host())?;
    state.count_refusal(run, proposal, Some(message))
}

/// Records the effect as done. Its return value is not known.
fn happened(
    state: &mut State<'_>,
    run: &mut Run,
    asked: ApprovalEntry,
    message: crate::id::MessageNumber,
) -> Result<(), Fault> {
    expect_asked(run, asked)?;
    let proposal = asked.proposal.step;
    run.open.remove(&proposal);
    let provenance = Provenance::host();
    state.journal(run, Entry::OutcomeConfirmed { proposal, message }, provenance.clone())?;
    let completion = Completion::Done { value: Value::Null, provenance: provenance.clone() };
    state.journal(run, Entry::Completed { proposal, completion }, provenance)?;
    Ok(())
}

/// Refuses an addition to a call that makes no worker.
fn expect_workshop(state: &mut State<'_>, asked: ApprovalEntry) -> Result<(), Fault> {
    let wrong =
        Fault::OutOfOrder { at: asked.proposal, what: "this makes no worker: nothing is added to it" };
    let Entry::Proposed { proposal, .. } = state.step(asked.proposal)?.entry else { return Err(wrong) };
    match table::reach(state.txn, &proposal.grant)?.map(|reached| reached.formula) {
        Some(Formula::Workshop) => Ok(()),
        _ => Err(wrong),
    }
}

fn expect_asked(run: &Run, asked: ApprovalEntry) -> Result<(), Fault> {
    match run.open.get(&asked.proposal.step) {
        Some(Phase::AwaitingApproval { .. }) => Ok(()),
        _ => Err(Fault::OutOfOrder { at: asked.proposal, what: "this proposal does not wait for an answer" }),
    }
}
