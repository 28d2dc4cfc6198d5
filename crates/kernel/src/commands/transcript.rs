//! The transcript: each command of a user is recorded as a message to the agent itself. The record answers the
//! message in the command's subject, and the outcome of the command is noted beside it.

use crate::command::{Act, Cancel, CommandSubject, Fault, MailAct};
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber, Number};
use crate::name::NamePath;
use crate::outcome::CommandOutcome;
use crate::state::{EndedObject, MessageSubject, State};
use crate::table::{self, EdgeRow, PromiseRow};
use crate::txn::{NO_OWNER, StoreFault, Table};

/// The maximum number of references to look at.
const REFERENCES: usize = 1_000;

/// Returns the key prefix of the rows of the commands that wait for a promise.
fn prefix(promise: &FormulaId) -> Vec<u8> {
    [b"came ", &promise.number[..]].concat()
}

fn key(promise: &FormulaId, agent: &FormulaId, number: MessageNumber) -> Vec<u8> {
    [&prefix(promise)[..], &agent.number, &table::message_key(number)].concat()
}

/// Returns the subject of an act of the actor's. The subject must be read before the act, which may remove it.
pub(super) fn subject(state: &mut State<'_>, act: &Act) -> Result<MessageSubject, Fault> {
    let about = match act {
        Act::Cancel { what: Cancel::Name { path }, .. } => named(state, path)?,
        Act::Mail(act) => match resolver(act) {
            Some(resolver) => CommandSubject {
                message: super::mail::asked_by(state, resolver)?,
                ..CommandSubject::default()
            },
            None => CommandSubject::from_mail_act(act),
        },
        act => CommandSubject::from_act(act),
    };
    let mut subject = MessageSubject::default();
    if let Some(number) = about.message {
        subject.answers = state.message_of(number)?;
    }
    if let Some(number) = about.run
        && let Some(run) = table::run(state.txn, &state.actor.number, number)?
    {
        subject.run = Some(number);
        subject.answers = subject.answers.or(match run.cause() {
            Some(cause) => state.message_of(cause)?,
            None => None,
        });
    }
    if let Some(number) = about.grant
        && let Some(grant) = super::grants::find(state, number)?
    {
        subject.grant = Some(number);
        subject.answers = subject.answers.or(match grant.source {
            Some(source) => state.message_of(source)?,
            None => None,
        });
    }
    Ok(subject)
}

fn resolver(act: &MailAct) -> Option<&FormulaId> {
    match act {
        MailAct::ResolveWith { resolver, .. } => Some(resolver),
        MailAct::IfUnchanged { act, .. } => resolver(act),
        _ => None,
    }
}

/// Returns the run or the message behind a name. A promise stands for the run that settles it, or for the message
/// that asked for it.
fn named(state: &mut State<'_>, path: &NamePath) -> Result<CommandSubject, Fault> {
    let id = match state.view().identify(state.txn, path) {
        Ok(id) => id,
        Err(Fault::Store(fault)) => return Err(fault.into()),
        // The cancellation itself reports this error.
        Err(_) => return Ok(CommandSubject::default()),
    };
    let Some(row) = table::formula(state.txn, &id)? else { return Ok(CommandSubject::default()) };
    if let Formula::Run { run, .. } = row.formula {
        return Ok(CommandSubject::run(run));
    }
    let edges: Vec<(Vec<u8>, EdgeRow)> = table::scan(
        state.txn,
        Table::Edge,
        &NO_OWNER,
        &id.number,
        &table::prefix_end(&id.number),
        REFERENCES,
        false,
    )?;
    let (owner, own) = (state.owner(), state.self_agent()?);
    for (_, edge) in edges {
        let from = table::formula(state.txn, &edge.from)?.map(|row| row.formula);
        match (edge.label.as_str(), from) {
            ("result", Some(Formula::Run { run, .. })) => return Ok(CommandSubject::run(run)),
            ("promise", Some(Formula::Message { .. })) => {
                let number = Number(edge.from.number);
                if let Some(number) = table::mail_number(state.txn, &owner, &own.mailbox, &number)? {
                    return Ok(CommandSubject::message(number));
                }
            }
            _ => {}
        }
    }
    Ok(CommandSubject::default())
}

/// Notes the outcome beside the recorded command, and notes the command's number in the grants and runs that the
/// command ended. `refused` is the outcome if nothing was done.
pub(super) fn note(state: &mut State<'_>, refused: Option<CommandOutcome>) -> Result<(), Fault> {
    let Some(number) = state.command_message else { return Ok(()) };
    let came = match refused {
        Some(refused) => Some((refused, None)),
        None => CommandOutcome::from_reply(&state.outcome.reply),
    };
    if let Some((mut came, promise)) = came {
        if let Some(promise) = promise {
            match table::promise(state.txn, &promise)?.as_ref().and_then(|row| came.settled(row)) {
                Some(settled) => came = settled,
                None => {
                    let key = key(&promise, &state.actor, number);
                    table::save(state.txn, Table::Meta, &NO_OWNER, &key, &true, None)?;
                }
            }
        }
        let mut mail = state.letter(number)?.mail;
        mail.outcome = Some(came);
        state.put_mail(number, &mail)?;
    }
    for ended in std::mem::take(&mut state.ended) {
        match ended {
            EndedObject::Grant(id) => {
                if let Some(mut grant) = table::grant(state.txn, &id)? {
                    grant.revoked_by = Some(number);
                    state.put_grant(&grant)?;
                }
            }
            // If another host keeps the run, the number of the command would mean nothing there.
            EndedObject::Run(at) if at.host != state.actor => {}
            EndedObject::Run(at) => {
                let mut run = state.run(at.run)?;
                run.cancelled_by = Some(number);
                state.put_run(&run)?;
            }
        }
    }
    Ok(())
}

/// The outcome of a command whose question was dismissed, so that the promise of its answer was collected.
const ABANDONED: &str = "the question was dismissed before its answer came";

/// Updates the outcomes of the commands that wait for a promise which has settled.
pub(crate) fn settled(state: &mut State<'_>, promise: &FormulaId, row: &PromiseRow) -> Result<(), Fault> {
    conclude(state, promise, &|came| came.settled(row))
}

/// Ends the commands that wait for a promise which is collected. Only a pending promise has such commands.
pub(crate) fn abandoned(state: &mut State<'_>, promise: &FormulaId) -> Result<(), Fault> {
    conclude(state, promise, &|_| Some(CommandOutcome::Failed { why: passable::Untrusted::new(ABANDONED) }))
}

/// Removes the rows of the commands that wait for a promise, and gives each the outcome that replaces its present one.
fn conclude(
    state: &mut State<'_>,
    promise: &FormulaId,
    replaced: &dyn Fn(&CommandOutcome) -> Option<CommandOutcome>,
) -> Result<(), Fault> {
    let start = prefix(promise);
    let rows =
        state.txn.range(Table::Meta, &NO_OWNER, &start, &table::prefix_end(&start), usize::MAX, false)?;
    for (key, _) in rows {
        state.txn.delete(Table::Meta, &NO_OWNER, &key)?;
        let (agent, number) = waits(&key, start.len(), promise)?;
        // A forgotten agent has no mailbox any more.
        let Some(mailbox) = crate::partial_rows::head(state.txn, &agent)?.and_then(|head| head.agent())
        else {
            continue;
        };
        let (owner, mailbox) = (agent.number, mailbox.mailbox);
        let Some(mut mail) = table::mail(state.txn, &owner, &mailbox, number)? else { continue };
        // A dismissed command has no outcome to update.
        let Some(came) = mail.outcome.as_ref().and_then(replaced) else { continue };
        mail.outcome = Some(came);
        state.put_mail_of(&owner, &mailbox, number, &mail)?;
        state.event_for(&owner, Change::CommandCompleted { number })?;
    }
    Ok(())
}

/// Returns the agent and the message number of the waiting command to which a key belongs.
fn waits(key: &[u8], start: usize, promise: &FormulaId) -> Result<(FormulaId, MessageNumber), StoreFault> {
    let bad = || StoreFault::Corrupt("a command waits under a bad key".to_owned());
    let (agent, number) = key.get(start..).and_then(|key| key.split_at_checked(32)).ok_or_else(bad)?;
    let agent = FormulaId { number: agent.try_into().map_err(|_| bad())?, node: promise.node };
    let number = u64::from_be_bytes(number.try_into().map_err(|_| bad())?);
    Ok((agent, MessageNumber::from_order(number)))
}
