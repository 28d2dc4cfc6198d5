//! The origin of a named object: its kind, the event that gave the name, and the agents through whom the object came.

use kernel::command::Fault;
use kernel::event::{Change, Event};
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::message::Body;
use kernel::name_lookup::{NameContainer, View};
use kernel::provenance::{Provenance, Source};
use kernel::run::Run;
use kernel::txn::ReadTxn;
use kernel::{FormulaId, GrantNumber, MessageNumber, NamePath, query, table};
use passable::{Quoting, quoting, with_article};

use super::names::{describe, holder, name_of_target, name_or_kind, own_directory};
use super::why::{cause_of_run, command_reason, describe_through, run_status, sources};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::reason::Reason;

/// The number of the latest events that are searched for the one that gave the name.
const MAX_EVENTS: usize = 50_000;

/// The maximum number of events between a name and the command that gave it.
const MAX_COMMAND_EVENTS: usize = 50;

/// The maximum number of references to an object that are examined.
const MAX_REFERENCES: usize = 1000;

/// The facts about the origin of an object.
struct OriginFacts {
    reasons: Vec<Reason>,
    /// The run whose result the object is.
    run: Option<Run>,
    /// The agent's message that brought the object or asked for it.
    message: Option<MessageNumber>,
}

/// Returns the chain of reasons for an object. `thing` is a name of the agent's, the number of one of its grants, or
/// the identifier of a held formula.
///
/// # Errors
/// When there is no such name, or the agent does not hold the object.
pub fn origin(daemon: &HostDaemon, view: &View, thing: &str) -> Result<Vec<Reason>, Failure> {
    let found = daemon.query(|txn| {
        let (id, path) = match thing.parse::<FormulaId>() {
            Ok(id) => {
                super::inspect::expect_may_see(daemon, txn, view, &id)?;
                (id, None)
            }
            Err(_) => {
                let named = NamePath::parse(thing).map_err(Fault::from).and_then(|path| {
                    let id = view.identify(txn, &path)?;
                    Ok((id, Some(path)))
                });
                match (named, thing.parse::<GrantNumber>()) {
                    (Ok(named), _) => named,
                    (Err(unknown), Ok(number)) => {
                        let grants = query::grants(txn, &view.agent.number)?;
                        let grant = grants.into_iter().find(|grant| grant.number == number).ok_or(unknown)?;
                        let (reasons, message) = grant_origin(daemon, txn, view, &grant)?;
                        return Ok(OriginFacts { reasons, run: None, message });
                    }
                    (Err(unknown), Err(_)) => return Err(unknown),
                }
            }
        };
        collect_facts(daemon, txn, view, &id, thing, path.as_ref())
    })?;
    let OriginFacts { mut reasons, run, message } = found;
    if let Some(run) = run {
        reasons.push(Reason::new(
            run.number.to_string(),
            quoting!("made it: `{}`, ", run.name).then(&run_status(&run)),
        ));
        cause_of_run(daemon, &run, &mut reasons)?;
    } else if let Some(message) = message {
        command_reason(daemon, &view.agent, message, &mut reasons)?;
    }
    Ok(reasons)
}

fn collect_facts(
    daemon: &HostDaemon,
    txn: &mut dyn ReadTxn,
    view: &View,
    id: &FormulaId,
    thing: &str,
    path: Option<&NamePath>,
) -> Result<OriginFacts, Fault> {
    let (_, words) = describe(txn, id)?;
    let mut reasons = vec![Reason::new(thing, quoting!("is {}", words).and(format!(" ({})", id.short())))];
    let mut message = None;
    if let Some(path) = path
        && let Some((reason, by)) = naming_event(daemon, txn, view, path, id)?
    {
        reasons.push(reason);
        message = by;
    }
    let Some(reached) = table::reach(txn, id)? else {
        return Ok(OriginFacts { reasons, run: None, message });
    };
    for grant in &reached.grants {
        reasons.push(grant_reason(txn, view, grant, &describe_through(&reached.grants, &reached.formula))?);
        // The message behind a grant is in the mailbox of the agent that gave the grant.
        if grant.owner.0 == view.agent.number {
            message = message.or(grant.source);
        }
    }
    let (run, brought) = references(daemon, txn, view, &[*id, reached.id])?;
    if let Some((number, says)) = brought {
        reasons.push(Reason::new(format!("message {number}"), says));
        message = message.or(Some(number));
    }
    if let Some(row) = table::formula(txn, &reached.id)? {
        reasons.extend(provenance_reason(&row.provenance));
    }
    Ok(OriginFacts { reasons, run, message })
}

/// Returns the reasons for a grant, back to the message that asked for it. This works even if the grant's holder or
/// its target is gone. Also returns the message of the command that gave the grant, if the command is the agent's.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn grant_origin(
    daemon: &HostDaemon,
    txn: &mut dyn ReadTxn,
    view: &View,
    grant: &Grant,
) -> Result<(Vec<Reason>, Option<MessageNumber>), Fault> {
    let reached = table::reach(txn, &grant.target)?;
    let through = |to: &table::ResolvedReference| {
        describe_through(std::iter::once(grant).chain(&to.grants), &to.formula)
    };
    let words = reached.as_ref().map_or_else(|| grant.words.clone(), through);
    let mut first = grant_reason(txn, view, grant, &words)?;
    if reached.is_none() {
        first = first.and("; what it led to is gone");
    }
    let mut reasons = vec![first];
    let mut by = None;
    // The messages of other agents are not shown.
    let is_own = grant.owner.0 == view.agent.number;
    if let Some(number) = grant.revoked_by.filter(|_| is_own)
        && let Some(letter) = query::message(txn, &view.agent, number)?
        && let Some(Body::Command { text, .. }) = letter.body()
    {
        let said = Quoting::ours("you said: ").quote(text.raw());
        reasons.push(Reason::new(format!("message {number}"), said));
    }
    if let Some(number) = grant.source.filter(|_| is_own) {
        match query::message(txn, &view.agent, number)? {
            Some(letter) if matches!(letter.body(), Some(Body::Command { .. })) => by = Some(number),
            letter => {
                let says = match letter.as_ref().and_then(|letter| letter.message.as_ref()) {
                    Some(message) => {
                        let own =
                            table::formula(txn, &view.agent)?.and_then(|row| row.formula.agent().copied());
                        match own.is_some_and(|own| own.handle == message.from) {
                            true => describe_cause(&message.body, "you".into()),
                            false => describe_cause(
                                &message.body,
                                Quoting::theirs(name_or_kind(txn, view, &message.from)?),
                            ),
                        }
                    }
                    None => "is what it was given for; it was dismissed since".into(),
                };
                reasons.push(Reason::new(format!("message {number}"), says));
            }
        }
    }
    if is_own && view.agent == daemon.host && by.is_none() {
        let event = query::last_event(
            txn,
            &view.agent.number,
            MAX_EVENTS,
            |change| matches!(change, Change::Granted { grant: made, .. } if *made == grant.id),
        )?;
        if let Some(event) = event {
            reasons.push(Reason::new(format!("event {}", event.seq), "made it (`almoner audit`)"));
            let source = grant.source.map(|number| number.to_string());
            by = command_message(daemon, txn, &event, &|text| {
                mentions_name(text, &grant.slot)
                    || source.as_ref().is_some_and(|number| mentions_name(text, number))
            })?;
        }
    }
    if let Some(to) = &reached
        && let Some(row) = table::formula(txn, &to.id)?
    {
        reasons.extend(provenance_reason(&row.provenance));
    }
    Ok((reasons, by))
}

/// Returns a description of how a message led to a grant.
fn describe_cause(body: &Body, who: Quoting) -> Quoting {
    match body {
        Body::Definition { by: Some(draft), .. } => {
            Quoting::ours(format!("{} proposed the code that it was given to", draft.run))
        }
        Body::Definition { .. } => who.and(" proposed what it was given to"),
        Body::EvalRequest { .. } => who.and(" asked to run the code that it was given to"),
        Body::Request { .. } | Body::Form { .. } => who.and(" asked for it"),
        other => who.and(format!(" sent it in a {}", other.kind())),
    }
}

/// Returns the event that gave the name, and the message of the command that caused the event. Agents other than the
/// host have no events.
fn naming_event(
    daemon: &HostDaemon,
    txn: &mut dyn ReadTxn,
    view: &View,
    path: &NamePath,
    id: &FormulaId,
) -> Result<Option<(Reason, Option<MessageNumber>)>, Fault> {
    let host = daemon.host;
    let Some((name, before)) = path.names().split_last() else { return Ok(None) };
    if view.agent != host {
        return Ok(None);
    }
    let hub = if before.is_empty() { own_directory(txn, view)? } else { view.container(txn, before)? };
    let NameContainer::Directory { store, .. } = hub else { return Ok(None) };
    let event = query::last_event(txn, &host.number, MAX_EVENTS, |change| {
        matches!(change, Change::Named { directory, name: given, id: stood }
            if given == name && stood == id && *directory == store)
    })?;
    let Some(event) = event else { return Ok(None) };
    let by = command_message(daemon, txn, &event, &|text| mentions_name(text, name))?;
    Ok(Some((Reason::new(format!("event {}", event.seq), "gave it the name (`almoner audit`)"), by)))
}

/// Returns the message of the host's command that caused an event. Another transaction may have the same time, so the
/// text of the command must mention the object.
fn command_message(
    daemon: &HostDaemon,
    txn: &mut dyn ReadTxn,
    event: &Event,
    is_about: &dyn Fn(&str) -> bool,
) -> Result<Option<MessageNumber>, Fault> {
    let host = daemon.host;
    // The event of a command follows the names and grants that the command made, in the same transaction.
    for next in query::events(txn, &host.number, event.seq, MAX_COMMAND_EVENTS)? {
        match next.change {
            Change::Named { .. }
            | Change::Unnamed { .. }
            | Change::Granted { .. }
            | Change::Answered { .. }
                if next.at_ms == event.at_ms => {}
            Change::Message { number, .. } if next.at_ms == event.at_ms => {
                let letter = query::message(txn, &host, number)?;
                // Other messages are skipped, because a message that a command sends comes before the command itself.
                if let Some(Body::Command { text, .. }) = letter.as_ref().and_then(|letter| letter.body()) {
                    return Ok(is_about(text.raw()).then_some(number));
                }
            }
            _ => break,
        }
    }
    Ok(None)
}

/// Returns the reason that describes a grant: the giver, the holder and the object.
fn grant_reason(txn: &mut dyn ReadTxn, view: &View, grant: &Grant, what: &str) -> Result<Reason, Fault> {
    let methods: Vec<_> = grant.methods.iter().map(String::as_str).collect();
    let may = if methods.is_empty() { String::new() } else { format!(" ({})", methods.join(", ")) };
    let by = match grant.owner.0 == view.agent.number {
        true => "you gave it to ",
        false => "it was given to ",
    };
    // The agent may not learn who holds another agent's grant, except by its own name for the holder.
    let to = match grant.owner.0 == view.agent.number {
        true => holder(txn, view, grant)?,
        false => name_or_kind(txn, view, &grant.holder)?,
    };
    let what = match name_of_target(txn, view, &grant.target)? {
        Some(name) => format!("`{name}`, {what}"),
        None => what.to_owned(),
    };
    let ended = match (grant.revoked_ms, grant.revoked_by) {
        // The number of a message means nothing to an agent other than its sender.
        (Some(_), Some(message)) if grant.owner.0 == view.agent.number => {
            format!(", and it was revoked by message {message}")
        }
        (Some(_), _) => ", and it was revoked".to_owned(),
        (None, _) => String::new(),
    };
    let said = Quoting::ours(by).quote(to).and(": ").quote(what).quote(may).and(ended);
    Ok(Reason::new(format!("grant {}", grant.number), said))
}

/// Returns whether the text of a command mentions a name.
fn mentions_name(command: &str, name: &str) -> bool {
    let mut words = command.split(|c: char| c.is_whitespace() || matches!(c, '=' | '/' | ':'));
    // In the text of a message, a name follows the sign `@`, and the whole text may be quoted.
    words.any(|word| word == name || word.trim_matches(['@', '"', '\'']) == name)
}

type SourceMessage = Option<(MessageNumber, Quoting)>;

/// Returns the run whose result is one of these formulas, and the agent's first message that refers to one of them.
fn references(
    daemon: &HostDaemon,
    txn: &mut dyn ReadTxn,
    view: &View,
    ids: &[FormulaId],
) -> Result<(Option<Run>, SourceMessage), Fault> {
    let own = table::formula(txn, &view.agent)?.and_then(|row| row.formula.agent().copied());
    let (mut run, mut brought): (Option<Run>, SourceMessage) = (None, None);
    for id in ids {
        for (from, label) in query::references_to(txn, id, MAX_REFERENCES)? {
            // A message did not bring its sender or its receiver.
            if matches!(label.as_str(), "from" | "to") {
                continue;
            }
            match table::formula(txn, &from)?.map(|row| row.formula) {
                // The runs of the host are not shown to other agents.
                Some(Formula::Run { run: number, result, .. })
                    if result == *id && view.agent == daemon.host =>
                {
                    run = run.or(table::run(txn, &daemon.host.number, number)?);
                }
                Some(Formula::Message { message }) => {
                    let Some(own) = own else { continue };
                    let number = table::mail_number(
                        txn,
                        &view.agent.number,
                        &own.mailbox,
                        &kernel::Number(from.number),
                    )?;
                    let Some(number) = number else { continue };
                    if brought.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
                        let who = name_or_kind(txn, view, &message.from)?;
                        brought = Some((number, describe_source(&message.body, &who, *id)));
                    }
                }
                _ => {}
            }
        }
    }
    Ok((run, brought))
}

/// Returns a description of the connection between a message and an object.
fn describe_source(body: &Body, who: &str, id: FormulaId) -> Quoting {
    let asked = match body {
        Body::Command { verb, .. } => return quoting!("you made it with `{}`", verb),
        Body::Definition { promise, .. } if *promise == id => "asked for it with a definition".to_owned(),
        Body::Form { promise, .. } if *promise == id => "asked for it with a form".to_owned(),
        Body::Request { promise, .. } if *promise == id => "asked for it".to_owned(),
        Body::EvalRequest { promise, .. } if *promise == id => "asked for it with code".to_owned(),
        other => format!("sent it in {}", with_article(other.kind())),
    };
    Quoting::theirs(who).and(" ").and(asked)
}

/// Returns the sources that an object depends on, or `None` if it depends only on the host.
fn provenance_reason(provenance: &Provenance) -> Option<Reason> {
    let is_own = provenance.sources.iter().all(|one| matches!(one, Source::Host));
    (!is_own).then(|| Reason::new("it depends on", sources(provenance)))
}
