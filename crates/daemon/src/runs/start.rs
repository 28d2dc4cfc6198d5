//! The start of a run. The whole request is checked before anything is recorded.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kernel::command::{Act, Binding, MailAct, Program, Reply, Start, Target};
use kernel::grant::Attenuation;
use kernel::run::{Attachment, Input, Limits, Rejection, ResultGoesTo, Shape};
use kernel::{BlobHash, MessageNumber, NamePath, Value};
use passable::visible_line;
use worker::definition::{Bundle, Definition, Slot};

use super::bind;
use super::bind::NewDirectories;
use super::documents::{DocumentImporter, check_chat, check_count, check_names, check_total};
use super::keyed_request::{self, RequestParts};
use super::project_policy::project_policy;
use super::spool_warnings::SpoolWarnings;
use super::staging;
use super::staging::StagedCopies;
use super::{proposal, start_preview, worker_slots};
use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use crate::state::errors::DaemonError;
use crate::state::precondition::Expected;
use crate::state::worker_files;
use crate::state::{confinement, model_keys, privacy};
use config::policy_file::NAME;
use control::exit::{Exit, Failure};
use control::protocol::{ModelChoice, Response, RunRequest, StartShape, StartSpec};
use resource::mcp::ServerTransport;
use resource::{Endowment, Kind, Resource, ResourceSpec};

/// Starts the run that a person asked for, or previews it. `model` is the model that the request chooses.
///
/// # Errors
/// When the request has an error. Then nothing was recorded.
pub fn start(daemon: &HostDaemon, request: RunRequest, model: String) -> Result<Response, Failure> {
    start_with(daemon, request, Some(model), None)
}

/// The endowment of a run whose worker was proposed in a message.
pub struct EndowmentStart {
    /// The message that proposes the definition.
    pub number: MessageNumber,
    /// The slots that are bound to names of the host.
    pub names: BTreeMap<String, NamePath>,
    /// The receiver of the result.
    pub goes_to: ResultGoesTo,
    /// The name under which the host keeps the promise for the result.
    pub result_name: Option<NamePath>,
    /// The state of the definition that the person has seen, which must not have changed.
    pub expected: Expected,
    /// The fingerprint of the preview that the person has seen, if one was shown.
    pub seal: Option<BlobHash>,
}

/// Starts the run of a proposed worker, or previews it.
///
/// # Errors
/// As [`start`].
pub fn start_as(
    daemon: &HostDaemon,
    request: RunRequest,
    endowed: EndowmentStart,
) -> Result<Response, Failure> {
    start_with(daemon, request, None, Some(endowed))
}

fn start_with(
    daemon: &HostDaemon,
    request: RunRequest,
    model: Option<String>,
    endowed: Option<EndowmentStart>,
) -> Result<Response, Failure> {
    let RunRequest { text, worker: given, spec, key } = request;
    // The hold keeps stored documents from being swept before the command names them.
    let _held = daemon.store.blobs().hold();
    let bundle = worker_files::bundle_of(&given);
    let definition = worker_files::parse(&bundle)?;
    daemon.policies.expect_ready()?;
    let project = project_policy(&given)?;
    let mut again = spec.retry.map(|old| super::retry::input(daemon, &definition, &spec, old)).transpose()?;
    let inputs = match again.as_ref().map(|again| again.values.to_json()) {
        Some(serde_json::Value::Object(inputs)) => inputs,
        _ => spec.values.clone(),
    };
    let values = check_inputs(&definition, &inputs)?;
    let model = match model {
        Some(model) => model,
        None => self::model(daemon, &spec.model)?,
    };
    let managed = config::managed::rules()?;
    managed.expect_models(&model)?;
    check_money(daemon, &definition, &spec, &model)?;
    model_keys::check(daemon, &model)?;
    check_chat(&definition, &spec)?;
    let shelf = StartContext::new(daemon, spec.dry_run);
    let none = BTreeMap::new();
    let names = endowed.as_ref().map_or(&none, |endowed| &endowed.names);
    let bindings = fill_slots(&shelf, &definition, &spec, given.beside.as_deref(), names, "")?;
    let was_private = again.as_ref().is_some_and(privacy::is_of_private);
    privacy::check(daemon, &spec, &model, &bindings, was_private)?;
    let mut documents = Vec::new();
    check_count(&definition, &spec)?;
    let taker = DocumentImporter::new(daemon, &definition, &model, spec.dry_run);
    let is_batch = matches!(spec.shape, StartShape::Each { .. });
    for source in &spec.documents {
        documents.push(if is_batch { taker.import_item(source)? } else { taker.import(source)? });
    }
    if let Some(again) = &mut again {
        documents = super::retry::items(&taker, std::mem::take(&mut again.items))?;
    }
    if is_batch {
        let done = again.as_ref().and_then(|again| again.earlier.as_ref());
        let done = done.map(|earlier| earlier.results.keys().copied().collect()).unwrap_or_default();
        reject_items(&definition, &bundle, &inputs, &mut documents, &done)?;
    } else {
        check_names(&documents)?;
    }
    if let Some(again) = &mut again {
        again.items.clone_from(&documents);
    }
    check_total(&definition, &spec, &documents)?;
    let planned = start_preview::StartPreview {
        definition: &definition,
        bundle: &bundle,
        spec: &spec,
        inputs: &inputs,
        model: &model,
        bindings: &bindings,
        documents: &documents,
        limits: limits_of(&definition, &spec),
        directories: &shelf.directories,
        spools: &SpoolWarnings::new(daemon, &bindings)?,
    };
    if spec.dry_run {
        let mut plan = planned.plan()?;
        if is_batch {
            let done = again.as_ref().and_then(|again| again.earlier.as_ref());
            let done = done.map_or(0, |earlier| earlier.results.len());
            let rejected = documents.iter().filter(|document| document.rejected.is_some()).count();
            plan.notes.insert(0, batch_note(documents.len().saturating_sub(done + rejected)));
        }
        plan.notes.extend(model_keys::missing_notes(daemon, &model));
        plan.notes.extend(uncounted_note(daemon, &model)?);
        plan.notes.extend(confinement_note(&bindings));
        plan.notes.extend(managed.run_notes());
        return Ok(Response::Plan(plan));
    }
    if let Some(seal) = endowed.as_ref().and_then(|endowed| endowed.seal) {
        planned.expect_seal(seal)?;
    }
    shelf.directories.make()?;
    let mut worker = keep_program_in(&shelf, &bundle, limits_of(&definition, &spec))?;
    if let Some(text) = &project {
        worker.includes.insert(NAME.to_owned(), shelf.put(text.as_bytes())?);
    }
    let parts = RequestParts { worker: &given, policy: project.as_deref(), spec: &spec };
    let key = key
        .map(|key| parts.keyed(key, keyed_request::stored_digests(&taker, &spec.documents, &documents)))
        .transpose()?;
    let (shape, attachments, items) = match spec.shape {
        StartShape::Single => (Shape::Single, documents, vec![]),
        StartShape::Chat => (Shape::Chat, documents, vec![]),
        StartShape::Each { jobs, waiting } => (Shape::Each { jobs: jobs.max(1), waiting }, vec![], documents),
    };
    let read_from = spec.read_from.into_iter();
    let origins = read_from.map(|(name, hash)| kernel::provenance::Source::Document { name, hash }).collect();
    let input = again.unwrap_or(Input { values, attachments, items, origins, earlier: None });
    let start = Box::new(Start { text, worker, shape, private: spec.private, model, input, bindings, key });
    let outcome = daemon.apply(match endowed {
        None => Act::Start(start),
        Some(EndowmentStart { number, goes_to, result_name, expected: seen, .. }) => {
            let act = MailAct::EndowWorker { number, start, goes_to, result_name };
            Act::Mail(Box::new(seen.guard(act)))
        }
    })?;
    match outcome.reply {
        Reply::Started { run } => {
            shelf.stages.keep();
            Ok(Response::Reply(Reply::Started { run }))
        }
        // Another request with the same key came first.
        reply @ Reply::AlreadyStarted { .. } => Ok(Response::Reply(reply)),
        _ => Err(Failure::new(Exit::Failure, "the run was not started")),
    }
}

/// Returns the note about the number of runs that a batch starts: one for each item that is worked on.
fn batch_note(runs: usize) -> String {
    match runs {
        1 => "it starts 1 run: one for each document".to_owned(),
        runs => format!("it starts {runs} runs: one for each document"),
    }
}

/// Rejects the items of a batch that fail whatever a model answers. So nobody pays for them.
fn reject_items(
    definition: &Definition,
    bundle: &Bundle,
    inputs: &serde_json::Map<String, serde_json::Value>,
    documents: &mut [Attachment],
    done: &BTreeSet<usize>,
) -> Result<(), Failure> {
    let failing = worker::failing_items(definition, bundle, inputs, documents, done)
        .map_err(|trouble| Failure::of_trouble(&trouble))?;
    for (index, trouble) in failing {
        if let Some(document) = documents.get_mut(index).filter(|_| !done.contains(&index)) {
            document.rejected =
                Some(Box::new(Rejection { trouble, is_read: true, path: None, within: None }));
        }
    }
    Ok(())
}

/// Returns the reference of a run's model.
///
/// # Errors
/// When there is no such model.
pub fn model(daemon: &HostDaemon, choice: &ModelChoice) -> Result<String, Failure> {
    match choice {
        ModelChoice::Usual => proposal::model(daemon, ""),
        ModelChoice::Named(name) => proposal::model(daemon, name),
        ModelChoice::Reference(reference) => Ok(reference.clone()),
    }
}

/// Returns the limits of the run: those of its worker file, reduced to the limits that the user sets.
fn limits_of(definition: &Definition, spec: &StartSpec) -> Limits {
    spec.limits.map_or(definition.limits, |most| definition.limits.at_most(most))
}

/// Returns an error if the run has a limit in money and the price of the model is not known. Such a limit could not
/// be enforced.
fn check_money(
    daemon: &HostDaemon,
    definition: &Definition,
    spec: &StartSpec,
    model: &str,
) -> Result<(), Failure> {
    if limits_of(definition, spec).usd_micros.is_none() || daemon.price_of(model).is_some() {
        return Ok(());
    }
    let message =
        format!("`{}` has a limit in money, and the price of {} is not known", definition.name, model);
    Err(Failure::new(Exit::Invalid, message).help(
        "limit `tokens` instead of `usd` in the worker file, write the price into `config.toml` under \
             `[models.prices]`, or use a model that costs nothing",
    ))
}

/// The maximum number of the newest runs that are searched for a server that counts too few tokens.
const MAX_SEARCHED_RUNS: usize = 200;

/// Returns a note if the server of a model has counted too few tokens in an earlier run.
fn uncounted_note(daemon: &HostDaemon, model: &str) -> Result<Option<String>, Failure> {
    // No server counts the tokens of a script.
    if model::parse_list(model).is_ok_and(|all| all.iter().all(model::ModelRef::is_lookup)) {
        return Ok(None);
    }
    let (mut note, mut searched) = (None, 0);
    runs::for_each_run(daemon, None, |run| {
        searched += 1;
        if run.model == model && run.used.estimated_tokens > 0 {
            note = Some(format!(
                "the server of {} counted too few tokens in {}: Almoner estimates the others, so that limits hold",
                visible_line(model),
                run.number
            ));
        }
        Ok(note.is_none() && searched < MAX_SEARCHED_RUNS)
    })?;
    Ok(note)
}

/// Returns a note if a slot holds a program that this machine cannot confine.
fn confinement_note(bindings: &[Binding]) -> Option<String> {
    fn is_confined(binding: &Binding) -> bool {
        match &binding.target {
            Target::Resource(Resource::Programs(_) | Resource::Repository(_)) => true,
            Target::Resource(Resource::Mcp(server)) => matches!(server.line, ServerTransport::Program(_)),
            Target::Endowed { bindings, .. } => bindings.iter().any(is_confined),
            _ => false,
        }
    }
    bindings.iter().any(is_confined).then(confinement::note).flatten()
}

pub(super) fn check_inputs(
    definition: &Definition,
    inputs: &serde_json::Map<String, serde_json::Value>,
) -> Result<Value, Failure> {
    let invalid = |what: String| {
        Failure::new(Exit::Invalid, what).help(format!(
            "`{}` takes: {}",
            definition.name,
            definition.input.describe()
        ))
    };
    let json = serde_json::Value::Object(inputs.clone());
    let values =
        Value::from_json(&json).map_err(|e| invalid(format!("the inputs cannot be a value: {e}")))?;
    definition.input.check(&values).map_err(|m| invalid(format!("the inputs do not fit: {}", m.teach())))?;
    Ok(values)
}

/// Returns a person's bindings of slots in the kernel's form.
///
/// # Errors
/// When a slot is left empty, or a binding does not fit.
pub fn bindings(
    daemon: &HostDaemon,
    definition: &Definition,
    spec: &StartSpec,
    names: &BTreeMap<String, NamePath>,
) -> Result<Vec<Binding>, Failure> {
    let shelf = StartContext::new(daemon, false);
    let bindings = fill_slots(&shelf, definition, spec, None, names, "")?;
    shelf.directories.make()?;
    Ok(bindings)
}

/// Fills the slots of a worker. `under` is the path of slots to the worker, if it fills a slot itself.
fn fill_slots(
    shelf: &StartContext<'_>,
    definition: &Definition,
    spec: &StartSpec,
    beside: Option<&str>,
    names: &BTreeMap<String, NamePath>,
    under: &str,
) -> Result<Vec<Binding>, Failure> {
    worker_slots::check(definition, spec, under)?;
    worker_slots::expect_room(under, &shelf.bound_workers)?;
    let known: Vec<&str> = definition.slots.iter().map(|s| s.name.as_str()).collect();
    let list = if known.is_empty() {
        "it has no slots".to_owned()
    } else {
        format!("its slots: {}", known.join(", "))
    };
    let mut given: BTreeMap<&str, &Endowment> = BTreeMap::new();
    // A slot of a worker in a slot is bound together with that worker.
    for endowment in spec.endow.iter().filter(|endowment| !endowment.slot.contains('.')) {
        if !known.contains(&endowment.slot.as_str()) {
            let message = format!("`{}` has no slot `{}`", definition.name, visible_line(&endowment.slot));
            return Err(Failure::new(Exit::Usage, message).help(list));
        }
        if given.insert(&endowment.slot, endowment).is_some() {
            return Err(Failure::new(Exit::Usage, format!("slot `{}` is bound twice", endowment.slot))
                .help("bind it once"));
        }
    }
    if under.is_empty() {
        staging::check_apart(spec.endow.iter())?;
    }
    let mut allowed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for rule in spec.allow.iter().filter(|rule| worker_slots::is_own(rule)) {
        let (slot, method) = rule
            .split_once('.')
            .filter(|(slot, method)| {
                let makes = definition.creates && (*slot, *method) == (worker::WORKSHOP, worker::CREATE);
                makes || definition.slot(slot).is_some_and(|s| s.kind.may_have(method))
            })
            .ok_or_else(|| {
                let message = format!("`--allow {}` names no method of a slot", visible_line(rule));
                Failure::new(Exit::Usage, message).help(format!("write SLOT.METHOD; {list}"))
            })?;
        allowed.entry(slot).or_default().insert(method.to_owned());
    }
    let workshop = definition.creates.then(|| {
        Ok(Binding {
            slot: worker::WORKSHOP.to_owned(),
            target: Target::Workshop,
            methods: [worker::CREATE.to_owned()].into(),
            attenuation: Attenuation::default(),
            allow: allowed.remove(worker::WORKSHOP).unwrap_or_default(),
            ask: BTreeSet::new(),
        })
    });
    // Programs come last, because they may work in the staged copies of other slots.
    let is_program = |slot: &&Slot| slot.kind == Kind::Program;
    let (programs, others): (Vec<&Slot>, Vec<&Slot>) = definition.slots.iter().partition(is_program);
    let mut bindings: Vec<Binding> = others
        .into_iter()
        .chain(programs)
        .map(|slot| {
            let full = format!("{under}{}", slot.name);
            let target = match (slot.kind, given.get(slot.name.as_str())) {
                // The gates do not recognize secrets that were sealed from a form. So such a secret is never passed
                // to a program.
                (Kind::Secret, None) if names.contains_key(&slot.name) => {
                    let message = format!("slot `{full}` wants a secret of the vault, and no name");
                    return Err(Failure::new(Exit::Usage, message)
                        .help(format!("bind it with `{}`", slot.kind.row().example_option(&full))));
                }
                (_, None) if names.contains_key(&slot.name) => {
                    Target::Named { path: names[&slot.name].clone() }
                }
                (_, Some(_)) if names.contains_key(&slot.name) => {
                    return Err(Failure::new(Exit::Usage, format!("slot `{}` is bound twice", slot.name))
                        .help("bind it once"));
                }
                (Kind::Worker, endowment) => {
                    worker_target(shelf, &slot.name, endowment.copied(), spec, beside, under)?
                }
                (kind, Some(endowment)) => bind::target(shelf, &full, kind, &endowment.fill, spec)?,
                // Slots for questions, a timer or mail need no text. The start of the run fills them.
                (kind, None) => match bind::default_resource(kind) {
                    Some(resource) => Target::Resource(resource),
                    None => return Err(bind::unbound_slot(&full, slot.label.as_deref(), kind)),
                },
            };
            let endowment = given.get(slot.name.as_str()).copied();
            let attenuation = endowment.map(|given| bind::attenuation(&given.fill)).unwrap_or_default();
            let methods = bind::methods::methods(shelf.daemon, definition, slot, &target, endowment)?;
            if let Some(not) = allowed.get(slot.name.as_str()).and_then(|all| all.difference(&methods).next())
            {
                let message =
                    format!("`--allow {}.{not}`: the slot was bound without this method", slot.name);
                return Err(Failure::new(Exit::Usage, message).help("leave one of the two out"));
            }
            let mut allow = allowed.remove(slot.name.as_str()).unwrap_or_default();
            bind::mcp::check_allowed(&slot.name, &target, &allow)?;
            if attenuation.staged_from.is_some() {
                allow.extend(crate::queries::methods::staged_allow(&methods));
            }
            Ok(Binding {
                slot: slot.name.clone(),
                target,
                methods,
                allow,
                attenuation,
                ask: definition
                    .approve
                    .iter()
                    .filter(|(name, _)| *name == slot.name)
                    .map(|(_, method)| method.clone())
                    .collect(),
            })
        })
        .chain(workshop)
        .collect::<Result<_, Failure>>()?;
    let place =
        |binding: &Binding| known.iter().position(|name| *name == binding.slot).unwrap_or(known.len());
    bindings.sort_by_key(place);
    bind::mcp::check_apart(&bindings)?;
    Ok(bindings)
}

/// The context of a run's start or of its preview. A preview stores no blobs.
pub(crate) struct StartContext<'a> {
    pub(crate) daemon: &'a HostDaemon,
    is_dry_run: bool,
    /// The staged copies that were made. They are removed if the run does not start.
    pub(crate) stages: StagedCopies,
    /// The directories that are still to be made.
    pub(crate) directories: NewDirectories,
    /// The number of workers that were bound.
    bound_workers: Cell<usize>,
}

impl StartContext<'_> {
    fn new(daemon: &HostDaemon, is_dry_run: bool) -> StartContext<'_> {
        let (stages, directories, bound_workers) =
            (StagedCopies::default(), NewDirectories::default(), Cell::default());
        StartContext { daemon, is_dry_run, stages, directories, bound_workers }
    }

    fn put(&self, bytes: &[u8]) -> Result<BlobHash, Failure> {
        if self.is_dry_run {
            return Ok(BlobHash::of(bytes));
        }
        Ok(self.daemon.store.blobs().put(bytes).map_err(DaemonError::from)?)
    }
}

/// Returns the target of a worker slot. It is the bound file or model, or without a binding the worker of the slot's
/// name beside the caller's file. A worker without slots holds no capabilities, so finding it by name grants nothing.
fn worker_target(
    shelf: &StartContext<'_>,
    slot: &str,
    endowment: Option<&Endowment>,
    spec: &StartSpec,
    beside: Option<&str>,
    under: &str,
) -> Result<Target, Failure> {
    let inner_name = slot;
    let slot = &format!("{under}{slot}");
    if let Some(Endowment { fill: ResourceSpec::Myself, .. }) = endowment {
        return Ok(Target::Myself);
    }
    let inner = worker_slots::inner_spec(spec, inner_name);
    // A model is bound as a worker that only passes on its input.
    if let Some(Endowment { fill: model @ ResourceSpec::Model(_), .. }) = endowment {
        if !inner.endow.is_empty() || !inner.allow.is_empty() {
            let message = format!("worker slot `{slot}` was bound to a model, which has no slots");
            let alone = format!("-e {slot}={}", model.typed());
            return Err(Failure::new(Exit::Usage, message)
                .help(format!("bind nothing below it: `{}`", visible_line(&alone))));
        }
        return bind::target(shelf, slot, Kind::Model, model, spec);
    }
    let path = match (endowment, beside) {
        (Some(Endowment { fill: ResourceSpec::Path(given), .. }), _) => Path::new(&given.path).to_owned(),
        (Some(_), _) => {
            return Err(Failure::new(
                Exit::Usage,
                format!("worker slot `{slot}` was bound to something else"),
            )
            .help(format!("bind it with `{}`", Kind::Worker.row().example_option(slot))));
        }
        (None, Some(dir)) => {
            let beside = Path::new(dir).join(format!("{inner_name}.worker"));
            if beside.exists() { beside } else { Path::new(dir).join(format!("{inner_name}.worker.md")) }
        }
        (None, None) => {
            return Err(Failure::new(Exit::Usage, format!("worker slot `{slot}` is not bound"))
                .help(format!("bind it with `{}`", Kind::Worker.row().example_option(slot))));
        }
    };
    let bundle = Bundle::load(&path).map_err(|e| {
        Failure::new(Exit::NotFound, format!("worker slot `{slot}`: {e}")).help(format!(
            "{}; or bind it with `{}`",
            e.help(),
            Kind::Worker.row().example_option(slot)
        ))
    })?;
    let definition = worker_files::parse(&bundle)?;
    let beside = path.parent().and_then(Path::to_str);
    if !definition.slots.is_empty() || !inner.endow.is_empty() || !inner.allow.is_empty() {
        let bindings = fill_slots(shelf, &definition, &inner, beside, &BTreeMap::new(), &format!("{slot}."))?;
        let program = keep_program_in(shelf, &bundle, definition.limits)?;
        return Ok(Target::Endowed { program, bindings });
    }
    keep_program_in(shelf, &bundle, definition.limits).map(Target::Worker)
}

/// Stores the texts of a worker, and returns the worker as a program.
///
/// # Errors
/// When the texts cannot be written to the disk.
pub fn keep_program(daemon: &HostDaemon, bundle: &Bundle, limits: Limits) -> Result<Program, Failure> {
    let shelf = StartContext::new(daemon, false);
    keep_program_in(&shelf, bundle, limits)
}

pub(crate) fn keep_program_in(
    shelf: &StartContext<'_>,
    bundle: &Bundle,
    limits: Limits,
) -> Result<Program, Failure> {
    let put = |text: &str| shelf.put(text.as_bytes());
    let includes = bundle
        .includes
        .iter()
        .map(|(name, text)| Ok((name.clone(), put(text)?)))
        .collect::<Result<_, Failure>>()?;
    shelf.daemon.note_included_files(&includes);
    Ok(Program { name: bundle.name.clone(), definition: put(&bundle.source)?, includes, limits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use config::machine::Machine;

    const POST: &str = "---\nslots:\n  mail: dir\n  out: { is: dir rw, label: Where records go }\n  post: outbox\n\
        ---\nAnswer the mail.\n";

    /// The bindings that fit. Each case changes one or adds one.
    const FITTING: [&str; 3] = ["mail=mail", "out=out:rw", "post=post"];

    #[test]
    fn binding_that_does_not_fit_its_slot_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let daemon = testing::empty_daemon(&dir.path().join("home"));
        let work = dir.path().join("work");
        std::fs::create_dir_all(work.join("mail")).unwrap();
        std::fs::write(work.join("file"), "").unwrap();
        let bundle = Bundle {
            name: "post".to_owned(),
            file: "post.worker".to_owned(),
            source: POST.to_owned(),
            includes: BTreeMap::new(),
        };
        let definition = worker_files::parse(&bundle).unwrap();
        let bound = |endow: &[&str], allow: &[&str]| {
            let machine = Machine::At(&work);
            let endow = endow.iter().map(|text| machine.parse_endowment(text).unwrap()).collect();
            let allow = allow.iter().map(|rule| (*rule).to_owned()).collect();
            let spec = StartSpec { endow, allow, ..StartSpec::default() };
            bindings(&daemon, &definition, &spec, &BTreeMap::new())
        };
        let check = |endow: &[&str], allow: &[&str], exit: Exit, says: &[&str], help: &str| {
            let failure = bound(endow, allow).expect_err(&format!("{endow:?} {allow:?}"));
            let message = failure.message.raw();
            assert_eq!(failure.exit, exit, "{endow:?} {allow:?}: {message}");
            assert!(says.iter().all(|part| message.contains(part)), "{endow:?} {allow:?}: {message}");
            assert!(failure.help.contains(help), "{endow:?} {allow:?}: {}", failure.help);
        };
        let [mail, out, post] = FITTING;
        check(&[out, post], &[], Exit::Usage, &["slot `mail` is not bound"], "`-e mail=PATH`");
        let label = "slot `out` (Where records go) is not bound";
        check(&[mail, post], &[], Exit::Usage, &[label], "`-e out=PATH:rw`");
        check(&["mial=mail", out, post], &[], Exit::Usage, &["no slot `mial`"], "its slots: mail, out, post");
        check(&[mail, out, post, mail], &[], Exit::Usage, &["slot `mail` is bound twice"], "once");
        check(&[mail, "out=out", post], &[], Exit::Usage, &["slot `out` writes"], "out=PATH:rw");
        check(&["mail=mail:rw", out, post], &[], Exit::Usage, &["slot `mail` only reads"], "leave out `:rw`");
        let nowhere = ["slot `mail`", "nowhere"];
        check(&["mail=nowhere", out, post], &[], Exit::NotFound, &nowhere, "check the path");
        let file = "file is not a directory";
        check(&["mail=file", out, post], &[], Exit::Usage, &["slot `mail`", file], "directory");
        check(&[mail, out, "post=file"], &[], Exit::Usage, &["slot `post`", file], "directory");
        let below = ["slot `out`", "file/sub"];
        check(&[mail, "out=file/sub:rw", post], &[], Exit::NotFound, &below, "check the path");
        check(&["mail=clock", out, post], &[], Exit::Usage, &["slot `mail` wants dir"], "`-e SLOT=PATH`");
        for rule in ["out.frob", "mail.write"] {
            let says = format!("`--allow {rule}` names no method of a slot");
            check(&FITTING, &[rule], Exit::Usage, &[&says], "SLOT.METHOD");
        }
        check(&FITTING, &["out"], Exit::Usage, &["`--allow out`"], "its slots: mail, out, post");
        // The refused bindings have made no directories.
        assert!(!work.join("out").exists() && !work.join("post").exists());
        assert_eq!(bound(&FITTING, &["out.write"]).unwrap().len(), 3);
        assert!(work.join("out").is_dir() && work.join("post").is_dir());
    }
}
