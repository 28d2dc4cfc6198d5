//! The view of an agent: names, objects, messages and promises, and the reasons why a formula is kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::message::{Body, Field};
use kernel::name_lookup::{NameContainer, PathTarget, View};
use kernel::slot::{Requirement, Slot};
use kernel::table::PromiseRow;
use kernel::txn::ReadTxn;
use kernel::{FormulaId, NamePath, Pattern, query, table};
use passable::{Untrusted, visible_line};

use super::inspect;
use super::methods;
use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::inspect::FormulaSummary;
use control::show;
use control::view::{
    FieldSpec, GrantRow, MessageView, NamePage, NameRow, ObjectView, PromiseState, Withheld,
};

/// The maximum number of shown paths on which a formula is kept.
const MAX_WAYS: usize = 8;

pub fn names(txn: &mut dyn ReadTxn, view: &View, path: Option<&NamePath>) -> Result<Vec<NameRow>, Fault> {
    let hub = view.container_for(txn, path.map_or(&[][..], NamePath::names), "list")?;
    let mut rows = Vec::new();
    for name in view.list(txn, &hub)? {
        rows.extend(name_row(txn, view, &hub, name)?);
    }
    Ok(rows)
}

/// Returns a page of the names in a directory: at most `limit` names that contain `find`, beginning at position
/// `from`.
pub fn name_page(
    txn: &mut dyn ReadTxn,
    view: &View,
    path: Option<&NamePath>,
    (find, from, limit): (&str, usize, usize),
) -> Result<NamePage, Fault> {
    let hub = view.container_for(txn, path.map_or(&[][..], NamePath::names), "list")?;
    let find = find.to_lowercase();
    let names = view.list(txn, &hub)?.into_iter().filter(|name| name.to_lowercase().contains(&find));
    let (special, own): (Vec<String>, Vec<String>) = names.partition(|name| name.starts_with('@'));
    let mut page = NamePage { all: own.len(), ..NamePage::default() };
    for name in own.into_iter().skip(from).take(limit) {
        page.rows.extend(name_row(txn, view, &hub, name)?);
    }
    for name in special.into_iter().filter(|_| from == 0) {
        page.special.extend(name_row(txn, view, &hub, name)?);
    }
    Ok(page)
}

fn name_row(
    txn: &mut dyn ReadTxn,
    view: &View,
    hub: &NameContainer,
    name: String,
) -> Result<Option<NameRow>, Fault> {
    Ok(match view.entry(txn, hub, &name)? {
        Some(PathTarget::Formula(id)) => {
            let (kind, words) = describe(txn, &id)?;
            Some(NameRow { name, kind, words: Untrusted::new(words), id: Some(id) })
        }
        Some(PathTarget::Data(value)) => {
            let (kind, words) = ("data".to_owned(), value.in_words());
            Some(NameRow { name, kind, words: Untrusted::new(words), id: None })
        }
        None => None,
    })
}

/// Returns the type and the description of the formula behind an identifier.
pub(crate) fn describe(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<(String, String), Fault> {
    let reached = table::reach(txn, id)?.ok_or(Fault::Dangling(*id))?;
    let mut words = query::describe(&reached.formula);
    if let Formula::Promise { .. } = reached.formula {
        words = match table::promise(txn, &reached.id)? {
            Some(PromiseRow::Fulfilled { value }) => format!("kept: {}", value.in_words()),
            Some(PromiseRow::Rejected { .. }) => "broken".to_owned(),
            _ => "pending".to_owned(),
        };
    }
    if !reached.grants.is_empty() {
        words = format!("granted: {words}");
    }
    if reached.grants.iter().any(|grant| grant.revoked_ms.is_some()) {
        words.push_str(" (revoked)");
    }
    Ok((reached.formula.kind().to_owned(), words))
}

pub fn object_view(daemon: &HostDaemon, view: &View, found: PathTarget) -> Result<ObjectView, Failure> {
    let id = match found {
        PathTarget::Data(value) => {
            return Ok(ObjectView {
                id: None,
                kind: "data".to_owned(),
                words: Untrusted::new(value.in_words()),
                value: Some(value),
                text: None,
                promise: None,
            });
        }
        PathTarget::Formula(id) => id,
    };
    let ((kind, words), end, formula, ended) = daemon.query(|txn| {
        let reached = table::reach(txn, &id)?.ok_or(Fault::Dangling(id))?;
        let ended = reached.ended(view.now_ms);
        Ok((describe(txn, &id)?, reached.id, reached.formula, ended))
    })?;
    if let Some(finding) = ended {
        return Err(Failure::new(Exit::Denied, finding.message));
    }
    let mut shown = ObjectView {
        id: Some(id),
        kind,
        words: Untrusted::new(words),
        value: None,
        text: None,
        promise: None,
    };
    match formula {
        Formula::Marshal { value } => shown.value = Some(value),
        Formula::Blob { hash, .. } => {
            let bytes = daemon
                .store
                .blobs()
                .get(&hash)
                .map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor`"))?;
            shown.text = String::from_utf8(bytes).ok().map(Untrusted::new);
        }
        // The text of a worker is its file.
        Formula::Worker { definition, .. } => {
            let bytes = daemon.store.blobs().get(&definition).ok();
            shown.text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Untrusted::new);
        }
        Formula::Definition { source, .. } | Formula::Eval { source, modules: None, .. } => {
            shown.text = Some(source);
        }
        Formula::Promise { .. } => {
            let state = daemon.read(|txn| table::promise(txn, &end))?.map(state_of);
            if let Some(PromiseState::Fulfilled { value }) = &state {
                shown.value = Some(value.clone());
            }
            shown.promise = state;
        }
        _ => {}
    }
    Ok(shown)
}

pub(crate) fn state_of(row: PromiseRow) -> PromiseState {
    match row {
        PromiseRow::Pending => PromiseState::Pending,
        PromiseRow::Fulfilled { value } => PromiseState::Fulfilled { value },
        PromiseRow::Rejected { reason } => PromiseState::Rejected { reason: Untrusted::new(reason) },
    }
}

pub fn promise(
    daemon: &HostDaemon,
    agent: FormulaId,
    promise: &FormulaId,
    wait: bool,
) -> Result<PromiseState, Failure> {
    let mut tick = daemon.news.tick();
    loop {
        let state = daemon.query(|txn| {
            // The agent that asked may read the promise, even if the promise has no name.
            let row = table::formula(txn, promise)?.map(|row| row.formula);
            let asked = matches!(row, Some(Formula::Promise { asker, .. }) if asker.0 == agent.number);
            if !asked && !query::holds(txn, &agent, promise)? {
                return Err(Fault::NotHeld(*promise));
            }
            Ok(table::promise(txn, promise)?.map(state_of))
        })?;
        match state {
            None => return Err(Failure::new(Exit::NotFound, "this is not a promise, or it was collected")),
            Some(PromiseState::Pending) if wait && !daemon.is_stopping() => {
                tick = daemon.news.wait(&daemon.host, tick, Duration::from_secs(1)).tick;
            }
            Some(state) => return Ok(state),
        }
    }
}

/// Returns every grant that the agent gave, with a description of the holder.
pub fn grants(txn: &mut dyn ReadTxn, view: &View) -> Result<Vec<GrantRow>, Fault> {
    let (mut holders, mut names) = (BTreeMap::new(), BTreeMap::new());
    let mut rows = Vec::new();
    for grant in query::grants(txn, &view.agent.number)? {
        let (held_by, is_gone) = match holders.get(&grant.holder) {
            Some(known) => <(String, bool)>::clone(known),
            None => {
                let known = (holder(txn, view, &grant)?, table::formula(txn, &grant.holder)?.is_none());
                holders.insert(grant.holder, known.clone());
                known
            }
        };
        let name = match names.get(&grant.target) {
            Some(name) => Option::clone(name),
            None => {
                let name = name_of_target(txn, view, &grant.target)?;
                names.insert(grant.target, name.clone());
                name
            }
        };
        rows.push(GrantRow { grant, held_by: Untrusted::new(held_by), is_gone, name });
    }
    Ok(rows)
}

/// Returns a description of the holder of a grant. It is the agent's name for the holder, or else a type and a few
/// digits. A holder that is an agent is usually named by its mail address.
pub(crate) fn holder(txn: &mut dyn ReadTxn, view: &View, grant: &Grant) -> Result<String, Fault> {
    let id = &grant.holder;
    let Some(formula) = table::formula(txn, id)?.map(|row| row.formula) else {
        let short = id.short();
        return Ok(match former_holder(txn, view, grant)? {
            FormerHolder::Code => format!("code {short} that has ended"),
            FormerHolder::Worker => format!("a worker that is gone ({short})"),
            FormerHolder::Unknown => format!("someone who is gone ({short})"),
            FormerHolder::CodeOrAgent => format!("code or an agent that is gone ({short})"),
        });
    };
    for id in formula.agent().map(|agent| agent.handle).iter().chain([id]) {
        if let Some(name) = name_of(txn, view, id)? {
            return Ok(name);
        }
    }
    Ok(match formula {
        Formula::Eval { result, author, .. } => {
            runs::code_name(txn, view, id, result, author)?.unwrap_or_else(|| format!("code {}", id.short()))
        }
        // The name comes from the worker's file. The digits distinguish two workers with the same name.
        Formula::Worker { name, .. } => format!("worker {name} ({})", id.short()),
        other => format!("{} {}", other.kind(), id.short()),
    })
}

/// The kind of a former holder that no longer exists.
pub(crate) enum FormerHolder {
    /// Code that has ended.
    Code,
    /// A worker.
    Worker,
    /// A holder of unknown kind.
    Unknown,
    /// A holder that got its grant without a message: the agent's own code, or another agent.
    CodeOrAgent,
}

/// Returns the kind of a grant's former holder. Code is collected once it has ended and no agent holds its results.
/// The message for which the grant was given stays, and tells who received it.
pub(crate) fn former_holder(
    txn: &mut dyn ReadTxn,
    view: &View,
    grant: &Grant,
) -> Result<FormerHolder, Fault> {
    let Some(source) = grant.source else { return Ok(FormerHolder::CodeOrAgent) };
    let letter = query::message(txn, &view.agent, source)?;
    let definition = match letter.as_ref().and_then(|letter| letter.body()) {
        Some(Body::EvalRequest { .. }) => return Ok(FormerHolder::Code),
        Some(Body::Definition { definition, .. }) => table::formula(txn, definition)?.map(|row| row.formula),
        _ => None,
    };
    Ok(match definition {
        Some(Formula::Definition { worker: None, .. }) => FormerHolder::Code,
        Some(Formula::Definition { .. }) => FormerHolder::Worker,
        _ => FormerHolder::Unknown,
    })
}

/// Returns the agent's name for a formula, or `someone` with a few digits if the agent has no name for it.
pub(crate) fn name_or_kind(txn: &mut dyn ReadTxn, view: &View, id: &FormulaId) -> Result<String, Fault> {
    Ok(name_of(txn, view, id)?.unwrap_or_else(|| format!("someone ({})", id.short())))
}

/// Returns the agent's name for a formula, if it has one: a special name, or the shortest path.
pub(crate) fn name_of(txn: &mut dyn ReadTxn, view: &View, id: &FormulaId) -> Result<Option<String>, Fault> {
    for name in kernel::name_lookup::SPECIAL {
        if kernel::name_lookup::special(txn, &view.agent, name)? == Some(*id) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(query::path_to(txn, &view.agent, id)?.map(|path| path.join("/")))
}

/// The maximum number of formulas that are visited in the search for a path of names.
const MAX_VISITED: usize = 200;

/// Returns the shortest path of names to a formula through the agent's own directories, such as `shelf/box`.
pub(crate) fn path_to(txn: &mut dyn ReadTxn, view: &View, id: &FormulaId) -> Result<Option<String>, Fault> {
    let NameContainer::Directory { store: own, owner } = own_directory(txn, view)? else { return Ok(None) };
    let (mut queue, mut passed) = (VecDeque::from([(*id, String::new())]), BTreeSet::from([*id]));
    while let Some((at, below)) = queue.pop_front() {
        for (store, label) in query::references_to(txn, &at, MAX_VISITED)? {
            let Some(name) = label.strip_prefix("name ") else { continue };
            let path = if below.is_empty() { name.to_owned() } else { format!("{name}/{below}") };
            if store == own {
                return Ok(Some(path));
            }
            let formula = table::formula(txn, &store)?.map(|row| row.formula);
            if !matches!(formula, Some(Formula::PetStore { owner: of }) if of.0 == owner) {
                continue;
            }
            for (directory, _) in query::references_to(txn, &store, MAX_VISITED)? {
                if passed.len() < MAX_VISITED && passed.insert(directory) {
                    queue.push_back((directory, path.clone()));
                }
            }
        }
    }
    Ok(None)
}

/// Returns the agent's name for the target of a grant. A result of code usually has no name of its own. Then the name
/// of the promise that was fulfilled with it is returned.
pub(crate) fn name_of_target(
    txn: &mut dyn ReadTxn,
    view: &View,
    id: &FormulaId,
) -> Result<Option<String>, Fault> {
    if let Some(name) = name_of(txn, view, id)? {
        return Ok(Some(name));
    }
    for (from, label) in query::references_to(txn, id, 1000)? {
        if label.starts_with("value ")
            && fulfilled_reference(txn, &from)? == Some(*id)
            && let Some(name) = name_of(txn, view, &from)?
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Returns the one object that a promise was fulfilled with. Returns `None` if the promise is not fulfilled, or its
/// value is data.
pub(crate) fn fulfilled_reference(
    txn: &mut dyn ReadTxn,
    promise: &FormulaId,
) -> Result<Option<FormulaId>, Fault> {
    Ok(match table::promise(txn, promise)? {
        Some(PromiseRow::Fulfilled { value }) => value.as_reference().copied(),
        _ => None,
    })
}

/// Returns the directory in which the agent's paths begin.
pub(crate) fn own_directory(txn: &mut dyn ReadTxn, view: &View) -> Result<NameContainer, Fault> {
    let agent = table::formula(txn, &view.agent)?.and_then(|row| row.formula.agent().copied());
    let directory = agent.ok_or(Fault::Dangling(view.agent))?.directory;
    match table::formula(txn, &directory)?.map(|row| row.formula) {
        Some(Formula::Directory { store }) => {
            kernel::name_lookup::directory(txn, store)?.ok_or(Fault::Dangling(store))
        }
        _ => Err(Fault::Dangling(directory)),
    }
}

pub fn message_view(
    daemon: &HostDaemon,
    view: &View,
    letter: query::MailboxEntry,
) -> Result<MessageView, Failure> {
    let (from, to) = match &letter.message {
        Some(message) => daemon.query(|txn| {
            Ok((name_or_kind(txn, view, &message.from)?, name_or_kind(txn, view, &message.to)?))
        })?,
        None => (String::new(), String::new()),
    };
    // A run's message comes from the host itself, so the run is shown as the sender.
    let run = letter.body().and_then(Body::said_by).filter(|_| view.agent == daemon.host);
    let worker = run.and_then(|run| runs::load_run(daemon, run).ok()).map(|run| run.name);
    let from = match (run, &worker) {
        (Some(run), Some(name)) => format!("run {run} ({name})"),
        (Some(run), None) => format!("run {run}"),
        (None, _) => from,
    };
    let answers = match letter.mail.envelope.reply_to {
        Some(id) => daemon.read(|txn| query::number_of_message(txn, &view.agent, &id))?,
        None => None,
    };
    let mut shown = MessageView {
        from,
        to,
        worker,
        answers,
        source: None,
        fields: vec![],
        uses: vec![],
        withheld: None,
        is_worker: false,
        letter: letter.clone(),
    };
    match letter.body() {
        Some(Body::Definition { definition, .. }) => {
            let row = daemon.read(|txn| table::formula(txn, definition))?;
            if let Some(Formula::Definition { source, worker, slots, .. }) = row.map(|row| row.formula) {
                shown.source = Some(source);
                shown.is_worker = worker.is_some();
                shown.fields = slots.iter().map(|(name, slot)| field_spec_of_slot(name, slot)).collect();
            }
        }
        Some(Body::Form { fields, .. }) => shown.fields = fields.iter().map(field_spec_of_field).collect(),
        Some(Body::EvalRequest { source, names, ids, .. }) => {
            shown.source = Some(source.clone());
            shown.uses = daemon.query(|txn| {
                let all = names.iter().zip(ids);
                all.map(|(name, id)| Ok((name.clone(), methods::powers(txn, view, id)?))).collect()
            })?;
        }
        Some(Body::Release { result, guest, .. }) => {
            shown.withheld = Some(daemon.query(|txn| withheld_view(txn, view, result, guest))?);
        }
        _ => {}
    }
    Ok(shown)
}

/// Returns a withheld result in the form in which the person who decides on its release reads it.
fn withheld_view(
    txn: &mut dyn ReadTxn,
    view: &View,
    result: &FormulaId,
    guest: &FormulaId,
) -> Result<Withheld, Fault> {
    let Some(Formula::Marshal { value }) = table::formula(txn, result)?.map(|row| row.formula) else {
        return Err(Fault::Dangling(*result));
    };
    let mut ids: Vec<FormulaId> = Vec::new();
    for id in value.references() {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    let mut gives = Vec::new();
    for id in &ids {
        gives.push(methods::powers(txn, view, id)?);
    }
    let named = |id: &FormulaId| {
        let at = ids.iter().position(|one| one == id).unwrap_or_default();
        let name = gives.get(at).and_then(|one| one.as_ref()).and_then(|one| one.called.name.as_deref());
        name.map_or_else(|| (at + 1).to_string(), |name| format!("{}: {name}", at + 1))
    };
    let text = value.as_reference().is_none().then(|| Untrusted::new(show::value::named(&value, &named)));
    // An agent is usually named by its mail address, its handle.
    let agent = table::formula(txn, guest)?.and_then(|row| row.formula.agent().copied());
    let to = name_or_kind(txn, view, &agent.map_or(*guest, |agent| agent.handle))?;
    Ok(Withheld { to, text, gives })
}

fn field_spec_of_slot(name: &str, slot: &Slot) -> FieldSpec {
    field_spec(name, &slot.label, &slot.pattern, false, None)
}

fn field_spec_of_field(field: &Field) -> FieldSpec {
    let default = field.default.as_ref().map(control::show::value::argument);
    field_spec(&field.name, &field.label, &field.pattern, field.secret, default)
}

fn field_spec(
    name: &str,
    label: &Untrusted,
    pattern: &kernel::Value,
    secret: bool,
    default: Option<String>,
) -> FieldSpec {
    let pattern = Pattern::from_value(pattern).unwrap_or_else(|_| Pattern::any());
    let want = Requirement::from_pattern(&pattern);
    let capability = want != Requirement::Pattern;
    let wants = if capability { want.describe().to_owned() } else { pattern.describe() };
    let choices = match pattern.matcher() {
        passable::Matcher::Or(any) => any
            .iter()
            .filter_map(|one| match one.matcher() {
                passable::Matcher::Literal(value) => value.as_str().map(str::to_owned),
                _ => None,
            })
            .collect(),
        _ => vec![],
    };
    FieldSpec { name: name.to_owned(), label: label.clone(), wants, capability, secret, default, choices }
}

/// Returns the reasons why a formula is kept. Each is a path from a root, as lines of text.
pub fn retention_paths(daemon: &HostDaemon, view: &View, thing: &str) -> Result<Vec<Vec<String>>, Failure> {
    let id: Option<FormulaId> = thing.parse().ok();
    daemon.query(|txn| {
        let id = match id {
            Some(id) => {
                inspect::expect_may_see(daemon, txn, view, &id)?;
                id
            }
            None => view.identify(txn, &NamePath::parse(thing)?)?,
        };
        let mut ways = Vec::new();
        for way in query::retention(txn, &id, MAX_WAYS)? {
            let mut lines = Vec::new();
            for (id, label) in way {
                let words = match (table::formula(txn, &id)?, inspect::summary(txn, view, &id)?) {
                    (Some(row), Some(called)) => retention_step(&query::describe(&row.formula), &called),
                    (Some(row), None) => query::describe(&row.formula),
                    (None, _) => "gone".to_owned(),
                };
                let label =
                    if label.is_empty() { String::new() } else { format!("  →  {}", visible_line(&label)) };
                lines.push(format!("{} ({}){label}", visible_line(&words), id.short()));
            }
            ways.push(lines);
        }
        Ok(ways)
    })
}

/// Returns the text for one formula on such a path: its description with the agent's name for it, or its number.
fn retention_step(words: &str, called: &FormulaSummary) -> String {
    match called.name.as_ref().filter(|name| !name.starts_with('@')) {
        Some(name) => format!("{name}: {words}"),
        None => called.number_label().unwrap_or_else(|| words.to_owned()),
    }
}
