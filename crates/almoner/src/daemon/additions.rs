//! What a person adds to a worker that a run is about to make: what fills its slots, and its text if it was changed.

use std::collections::BTreeMap;

use kernel::command::Addition;
use kernel::formula::Formula;
use kernel::message::{Asked, Body};
use kernel::proposal::Proposal;
use kernel::run::Entry;
use kernel::{MessageNumber, NamePath};
use kernel::{query, table};
use passable::{Untrusted, visible_line};
use worker::definition::{Bundle, Definition};

use super::desk::Desk;
use super::start_run;
use control::endowment::{Endowment, Fill};
use control::exit::{Exit, Failure};
use control::protocol::RunRequest;

/// What a person said with a yes.
pub struct Wanted {
    /// What fills slots.
    pub endow: Vec<Endowment>,
    /// Methods about which the person does not want to be asked.
    pub allow: Vec<String>,
    /// The text as it was changed.
    pub edited: Option<String>,
}

impl Wanted {
    fn is_nothing(&self) -> bool {
        self.endow.is_empty() && self.allow.is_empty() && self.edited.is_none()
    }
}

/// What is added to the worker that these entries of a card make, if they make one.
///
/// # Errors
/// When a slot that only a person can fill is left empty, or what is added does not fit.
pub fn of(
    desk: &Desk,
    message: MessageNumber,
    entries: Option<&[usize]>,
    wanted: Wanted,
) -> Result<Option<Addition>, Failure> {
    let makings = makings(desk, message, entries)?;
    let [making] = makings.as_slice() else {
        let has_open = |making: &Proposal| making.args.get(2).is_some_and(has_null);
        if wanted.is_nothing() && !makings.iter().any(has_open) {
            return Ok(None);
        }
        let what = match makings.is_empty() {
            true => format!("message {message} makes no worker: nothing can be added to it"),
            false => format!("message {message} makes several workers: approve them one by one"),
        };
        return Err(Failure::new(Exit::Usage, what)
            .help(format!("`almoner inbox {message}` shows it; `--only N` names one entry")));
    };
    let text = |index: usize| making.args.get(index).and_then(kernel::Value::as_str).unwrap_or_default();
    let name = text(0).to_owned();
    let bundle = Bundle {
        name: name.clone(),
        file: format!("{name}.worker"),
        source: wanted.edited.clone().unwrap_or_else(|| text(1).to_owned()),
        includes: BTreeMap::new(),
    };
    let mut definition = start_run::parse(&bundle)?;
    let open = worker::open_slots(&definition, &making.args);
    if wanted.is_nothing() && open.is_empty() {
        return Ok(None);
    }
    let is_bound = |slot: &str| wanted.endow.iter().any(|endowment| endowment.slot == slot);
    if let Some(slot) = open.iter().find(|slot| !is_bound(slot)) {
        let shown = visible_line(slot);
        let nothing = format!("nothing fills the slot `{shown}` of the worker `{}`", visible_line(&name));
        return Err(Failure::new(Exit::Usage, nothing)
            .help(format!("`almoner approve {message} -e {shown}=PATH`, or deny it")));
    }
    let names = BTreeMap::new();
    let bindings = bound(desk, &mut definition, &name, wanted.endow, wanted.allow, &names)?;
    let edited = match wanted.edited {
        Some(text) => Some(start_run::upload(desk, text.as_bytes())?),
        None => None,
    };
    Ok(Some(Addition { bindings, edited }))
}

/// Whether a record of slots leaves one of them to a person.
fn has_null(slots: &kernel::Value) -> bool {
    slots.as_record().is_some_and(|slots| slots.iter().any(|(_, value)| *value == kernel::Value::Null))
}

/// The proposals among these entries that make workers.
fn makings(desk: &Desk, message: MessageNumber, entries: Option<&[usize]>) -> Result<Vec<Proposal>, Failure> {
    let daemon = &desk.daemon;
    daemon.read(|txn| {
        let owner = daemon.host.number;
        let Some(letter) = query::message(txn, &daemon.host, message)? else { return Ok(vec![]) };
        let Some(Body::Approval { entries: asked, .. }) = letter.body() else { return Ok(vec![]) };
        let chosen = asked.iter().enumerate().filter(|(i, _)| entries.is_none_or(|only| only.contains(i)));
        let mut makings = Vec::new();
        for (_, Asked { proposal: at, .. }) in chosen {
            let Some(step) = table::step(txn, &owner, *at)? else { continue };
            let Entry::Proposed { proposal, .. } = step.entry else { continue };
            let reached = table::reach(txn, &proposal.grant)?;
            if reached.is_some_and(|reached| reached.formula == Formula::Workshop) {
                makings.push(*proposal);
            }
        }
        Ok(makings)
    })
}

/// What a person binds to slots of a worker that is made, or of a run that is at work.
///
/// # Errors
/// When it does not fit.
pub(super) fn bound(
    desk: &Desk,
    definition: &mut Definition,
    name: &str,
    endow: Vec<Endowment>,
    allow: Vec<String>,
    names: &BTreeMap<String, NamePath>,
) -> Result<Vec<kernel::command::Binding>, Failure> {
    if let Some(unknown) = endow.iter().find(|endowment| definition.slot(&endowment.slot).is_none()) {
        let message = format!("`{}` has no slot `{}`", visible_line(name), visible_line(&unknown.slot));
        let known: Vec<_> = definition.slots.iter().map(|slot| slot.name.as_str()).collect();
        return Err(Failure::new(Exit::Usage, message).help(format!("its slots: {}", known.join(", "))));
    }
    let staged = |endowment: &&Endowment| matches!(&endowment.fill, Fill::Path(path) if path.stage);
    if let Some(Endowment { slot, .. }) = endow.iter().find(staged) {
        let message =
            format!("slot `{}`: a staged copy belongs to the run that begins with it", visible_line(slot));
        return Err(
            Failure::new(Exit::Usage, message).help(format!("say `-e {}=PATH:rw`", visible_line(slot)))
        );
    }
    // The others are its maker's to fill.
    let is_bound = |slot: &str| endow.iter().any(|endowment| endowment.slot == slot);
    definition.slots.retain(|slot| is_bound(&slot.name) || names.contains_key(&slot.name));
    definition.creates = false;
    let request = RunRequest {
        text: Untrusted::new(String::new()),
        name: name.to_owned(),
        source: String::new(),
        includes: BTreeMap::new(),
        beside: None,
        values: serde_json::Map::new(),
        read_from: vec![],
        documents: vec![],
        chat: false,
        private: false,
        each: None,
        endow,
        allow,
        model: String::new(),
        dry_run: false,
        retry: None,
        policy: None,
        limits: None,
    };
    start_run::bindings(desk, definition, &request, names)
}
