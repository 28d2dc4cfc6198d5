//! The preview of a worker that a run makes, for a person before and after the answer. It shows the content of each
//! slot, whether from the maker or by the person's choice, and the methods of that content.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use crate::state::worker_files;
use kernel::command::{Addition, Binding, Target};
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::proposal::Proposal;
use kernel::run::Run;
use kernel::table::{self, ResolvedReference};
use kernel::{BlobHash, StepRef, Value, query};
use passable::{Effect, Untrusted};
use resource::{Kind, Resource};
use worker::definition::{Bundle, Definition};

use super::spool_warnings::SpoolWarnings;
use super::{start_preview, worker_slots};
use crate::queries::methods;
use crate::queries::methods::Methods;
use crate::queries::{names, why};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::narrow::Method;
use control::powers::SlotFill;
use control::show::card::{MadeSlot, WorkerPreview};
use control::show::difference;

/// Returns the text of the worker that a call makes, or `None` if the call makes no worker.
pub fn text<'a>(daemon: &HostDaemon, proposal: &'a Proposal) -> Option<&'a str> {
    let is_new = proposal.method == worker::CREATE
        && matches!(why::call_target(daemon, proposal), Ok(Some(Formula::Workshop)));
    is_new.then(|| proposal.args.get(1)?.as_str())?
}

fn name(proposal: &Proposal) -> &str {
    proposal.args.first().and_then(Value::as_str).unwrap_or_default()
}

/// Parses a worker file that includes no other files.
///
/// # Errors
/// When the file has an error.
pub fn definition(name: &str, source: &str) -> Result<Definition, Failure> {
    let (name, file) = (name.to_owned(), format!("{name}.worker"));
    worker_files::parse(&Bundle { name, file, source: source.to_owned(), includes: BTreeMap::new() })
}

/// Returns the preview of the worker that an entry of a card makes. Once the entry was answered, the preview includes
/// the person's choices.
pub fn preview_on_card(
    daemon: &HostDaemon,
    at: StepRef,
    proposal: &Proposal,
    is_answered: bool,
) -> Option<WorkerPreview> {
    let proposed = text(daemon, proposal)?;
    let run = daemon.read(|txn| table::run(txn, &daemon.host.number, proposal.run)).ok().flatten()?;
    let UserChoices { edited, mut filled } = match is_answered {
        true => user_choices(daemon, &run, at.step, name(proposal)),
        false => UserChoices::default(),
    };
    // The text of a worker that exists is always known, also if the person left it as it was proposed.
    let edited = edited.filter(|text| text != proposed);
    // A text that is not a valid worker file was already refused before the question.
    let definition = definition(name(proposal), edited.as_deref().unwrap_or(proposed)).ok()?;
    let mut making = preview(daemon, &run, &definition, proposal, edited.as_deref().unwrap_or(proposed));
    making.edited = edited.map(|text| Untrusted::new(difference::lines(proposed, &text)));
    for slot in &mut making.slots {
        slot.filled = filled.remove(&slot.name);
    }
    Some(making)
}

/// Returns the preview of a worker with this text, before a person adds anything.
pub fn preview(
    daemon: &HostDaemon,
    run: &Run,
    definition: &Definition,
    proposal: &Proposal,
    text: &str,
) -> WorkerPreview {
    let named = proposal.args.get(2).and_then(Value::as_record);
    let from = |slot: &str, kind: Kind| {
        let own = named?.get(slot)?.as_str()?.to_owned();
        let given = maker_slot_fill(daemon, run, &own, kind).unwrap_or_else(|| SlotFill {
            name: None,
            words: Untrusted::new("what is gone"),
            methods: vec![],
            limits: vec![],
            asked: vec![],
            is_new: false,
            grant: None,
        });
        Some((own, given))
    };
    let slots = definition.slots.iter().map(|slot| MadeSlot {
        name: slot.name.clone(),
        wants: slot.kind.to_string(),
        label: slot.label.clone().map(Untrusted::new),
        from: from(&slot.name, slot.kind),
        filled: None,
    });
    WorkerPreview { digest: BlobHash::of(text.as_bytes()).to_string(), slots: slots.collect(), edited: None }
}

/// Returns the powers that a new worker gets from one of its maker's slots.
fn maker_slot_fill(daemon: &HostDaemon, run: &Run, own: &str, kind: Kind) -> Option<SlotFill> {
    let id = run.grants.get(own)?;
    let reached = daemon.read(|txn| table::reach(txn, id)).ok().flatten()?;
    let grant = reached.grant()?;
    let wanted = |name: &str| kind == Kind::Mcp || kind.methods().contains(&name);
    // The new worker must ask even for calls that its maker may make without a question. A staged copy is the
    // exception, because a person must still apply its changes.
    let is_staged = grant.attenuation.staged_from.is_some();
    let unasked = |name: &str| is_staged && grant.allow.contains(name);
    let asks = |name: &str| grant.ask.contains(name);
    Some(slot_fill(&reached, &grant, wanted, unasked, asks))
}

/// Returns the powers that a grant gives to a slot.
fn slot_fill(
    reached: &ResolvedReference,
    grant: &Grant,
    wanted: impl Fn(&str) -> bool,
    unasked: impl Fn(&str) -> bool,
    asks: impl Fn(&str) -> bool,
) -> SlotFill {
    let mut methods = Methods::from_reference(reached).known;
    methods.retain(|method| wanted(&method.name) && grant.allows(&method.name));
    let asked =
        methods.iter().filter(|one| asks(&one.name) || (is_asked_by_default(one) && !unasked(&one.name)));
    let words = why::describe_through([grant], &reached.formula);
    SlotFill {
        name: None,
        words: Untrusted::new(words),
        limits: grant.attenuation.limit_phrases(),
        asked: asked.map(|method| method.name.clone()).collect(),
        methods,
        is_new: false,
        grant: None,
    }
}

/// Returns whether a person is asked about a method unless it is explicitly allowed.
fn is_asked_by_default(method: &Method) -> bool {
    ![Effect::Observe.as_words(), ""].contains(&method.effect.as_str())
}

/// A person's choices for a new worker.
#[derive(Default)]
struct UserChoices {
    /// The text of the worker, or the text that the person sent.
    edited: Option<String>,
    /// The contents of slots that the person chose.
    filled: BTreeMap<String, SlotFill>,
}

fn user_choices(daemon: &HostDaemon, run: &Run, step: u64, name: &str) -> UserChoices {
    let blob = |hash: &BlobHash| String::from_utf8(daemon.store.blobs().get(hash).ok()?).ok();
    // The worker was approved and is not made yet.
    if let Some((_, addition)) = run.additions.get(&step) {
        return UserChoices {
            edited: addition.edited.as_ref().and_then(blob),
            filled: chosen_fills(daemon, addition).into_iter().collect(),
        };
    }
    let row = |id| daemon.read(|txn| table::grant(txn, id)).ok().flatten();
    let Some(worker) = run.grants.get(name).and_then(row).map(|grant| grant.target) else {
        return UserChoices::default();
    };
    let formula = daemon.read(|txn| table::formula(txn, &worker)).ok().flatten().map(|row| row.formula);
    let edited = match formula {
        Some(Formula::Worker { definition, .. }) => blob(&definition),
        _ => None,
    };
    let all = daemon.read(|txn| query::grants(txn, &daemon.host.number)).unwrap_or_default();
    let own: Vec<_> = run.grants.values().copied().collect();
    // If the maker does not hold the target of a grant, the person gave the grant.
    let by_choice = all.into_iter().filter(|grant| grant.holder == worker && !own.contains(&grant.target));
    let filled = by_choice.filter_map(|grant| Some((grant.slot.clone(), grant_fill(daemon, &grant)?)));
    UserChoices { edited, filled: filled.collect() }
}

fn grant_fill(daemon: &HostDaemon, grant: &Grant) -> Option<SlotFill> {
    let reached = daemon.read(|txn| table::reach(txn, &grant.id)).ok().flatten()?;
    let view = daemon.view(daemon.host);
    let name = daemon.query(|txn| names::name_of_target(txn, &view, &grant.target)).ok().flatten();
    let unasked = |name: &str| grant.allow.contains(name);
    let told = slot_fill(&reached, grant, |_| true, unasked, |name| grant.ask.contains(name));
    Some(SlotFill { name, grant: Some(grant.number), ..told })
}

/// Returns the powers from a person's additions, slot by slot.
pub fn chosen_fills(daemon: &HostDaemon, addition: &Addition) -> Vec<(String, SlotFill)> {
    let mut all = Vec::new();
    let spools = SpoolWarnings::new(daemon, &addition.bindings).ok();
    add(daemon, spools.as_ref(), "", &addition.bindings, &mut all);
    all
}

fn add(
    daemon: &HostDaemon,
    spools: Option<&SpoolWarnings<'_>>,
    under: &str,
    bindings: &[Binding],
    all: &mut Vec<(String, SlotFill)>,
) {
    for binding in bindings {
        let slot = format!("{under}{}", binding.slot);
        let mut granting = binding_fill(daemon, binding);
        granting.limits.extend(spools.map(|spools| spools.of(binding)).unwrap_or_default().phrases);
        all.push((slot.clone(), granting));
        if let Target::Endowed { bindings, .. } = &binding.target {
            add(daemon, spools, &format!("{slot}."), bindings, all);
        }
    }
}

/// Returns the powers that a binding would give to its slot.
fn binding_fill(daemon: &HostDaemon, binding: &Binding) -> SlotFill {
    let mut limits = binding.attenuation.limit_phrases();
    let mut told = match &binding.target {
        Target::Named { path } => {
            let view = daemon.view(daemon.host);
            let found = daemon.query(|txn| {
                let id = view.identify(txn, path)?;
                methods::powers(txn, &view, &id)
            });
            let found = found.ok().flatten();
            limits.extend(found.iter().flat_map(|found| found.limits.iter().cloned()));
            SlotFill {
                name: Some(path.to_string()),
                words: found
                    .as_ref()
                    .map_or_else(|| Untrusted::new("what is gone"), |one| one.called.words.clone()),
                methods: found.map_or(vec![], |found| found.methods),
                limits: vec![],
                asked: vec![],
                is_new: false,
                grant: None,
            }
        }
        target => {
            let place = match target {
                Target::Resource(Resource::Directory { path, .. } | Resource::Outbox { path }) => Some(path),
                _ => None,
            };
            SlotFill {
                name: None,
                words: Untrusted::new(worker_slots::describe_target(binding)),
                methods: binding.methods.iter().map(|method| target_method(target, method)).collect(),
                limits: vec![],
                asked: vec![],
                is_new: place.is_some_and(|path| !Path::new(path).exists()),
                grant: None,
            }
        }
    };
    told.methods.retain(|method| binding.methods.contains(&method.name));
    let asked = told.methods.iter().filter(|method| {
        binding.ask.contains(&method.name)
            || (is_asked_by_default(method) && !binding.allow.contains(&method.name))
    });
    told.asked = asked.map(|method| method.name.clone()).collect();
    SlotFill { limits, ..told }
}

/// Returns a method of a binding's target, with its effect.
fn target_method(target: &Target, name: &str) -> Method {
    let interface = match target {
        Target::Resource(Resource::Mcp(server)) => {
            caps::interface_for(&Formula::Resource(Resource::Mcp(server.clone())))
        }
        _ => Kind::of(start_preview::kind(target)).and_then(caps::interface_of).map(Cow::Borrowed),
    };
    let effect = interface.and_then(|interface| {
        let effect = interface.method(name).map(|method| caps::effect_words(&interface, method));
        effect.map(str::to_owned)
    });
    // The other targets have no interface. Calling a worker, asking and waiting change nothing by themselves.
    let effect = effect.unwrap_or_else(|| Effect::Observe.as_words().to_owned());
    Method { name: name.to_owned(), effect }
}
