//! The binding of slots to their targets, from the user's text. This file selects by the kind of slot, and each kind
//! has its own file.

mod directories;
mod git;
pub mod mcp;
pub mod methods;
mod models;
mod programs;
pub mod secrets;

use kernel::command::Target;
use passable::visible_line;
use resource::{Attenuation, Kind, PathSpec, Resource, ResourceSpec};

use super::start::{StartContext, keep_program_in};
use crate::state::protected_paths;
use control::exit::{Exit, Failure};
use control::protocol::StartSpec;

pub use directories::{MissingPolicy, NewDirectories};

/// Returns the target for a slot of this kind from the user's text. Workers are not bound here, because they are
/// bound together with their own slots.
///
/// # Errors
/// When the text is for another kind, or its target is missing.
pub fn target(
    shelf: &StartContext<'_>,
    slot: &str,
    kind: Kind,
    spec: &ResourceSpec,
    start: &StartSpec,
) -> Result<Target, Failure> {
    let resource = match (kind, spec) {
        (Kind::Dir { write }, ResourceSpec::Path(given)) => {
            return directory(shelf, slot, write, given, start);
        }
        (Kind::Outbox, ResourceSpec::Path(given)) => {
            let path = shelf.directories.resolve(shelf.daemon, slot, &given.path, MissingPolicy::Create)?;
            if !start.dry_run {
                shelf.daemon.spools.add(&path);
            }
            Resource::Outbox { path }
        }
        (Kind::Program, ResourceSpec::Program(given)) => programs::resolve(shelf, slot, given, start)?,
        (Kind::Http, ResourceSpec::Web(given)) => Resource::Web(given.web.clone()),
        (Kind::Git { write }, ResourceSpec::Git(given)) => git::resolve(shelf.daemon, slot, write, given)?,
        (Kind::Secret, ResourceSpec::Secret(given)) => secrets::resolve(shelf.daemon, slot, given)?,
        (Kind::Clock, ResourceSpec::Clock) => Resource::Clock,
        (Kind::Mcp, ResourceSpec::Mcp(given)) => mcp::resolve(shelf.daemon, slot, given)?,
        (Kind::Model, ResourceSpec::Model(given)) => {
            let (model, limits) = models::model(shelf.daemon, slot, given)?;
            let program = keep_program_in(shelf, &worker::model_worker(), limits)?;
            return Ok(Target::Model { program, model });
        }
        (
            Kind::Dir { .. }
            | Kind::Outbox
            | Kind::Program
            | Kind::Http
            | Kind::Git { .. }
            | Kind::Secret
            | Kind::Clock
            | Kind::Mcp
            | Kind::Model
            | Kind::Worker
            | Kind::Ask
            | Kind::Timer
            | Kind::Mail,
            _,
        ) => return Err(wrong_kind(slot, kind)),
    };
    Ok(Target::Resource(resource))
}

/// Returns the resource for a slot without an endowment, if its kind is filled at the start of every run.
pub fn default_resource(kind: Kind) -> Option<Resource> {
    match kind {
        Kind::Ask => Some(Resource::Questions),
        Kind::Timer => Some(Resource::Alarm),
        Kind::Mail => Some(Resource::Mail),
        Kind::Dir { .. }
        | Kind::Outbox
        | Kind::Program
        | Kind::Http
        | Kind::Git { .. }
        | Kind::Clock
        | Kind::Mcp
        | Kind::Worker
        | Kind::Model
        | Kind::Secret => None,
    }
}

/// Returns the limits that the user sets on the target of a slot.
pub fn attenuation(spec: &ResourceSpec) -> Attenuation {
    let mut taken = spec.attenuation();
    taken.staged_from = taken.staged_from.map(|path| protected_paths::real_path(&path));
    taken
}

/// Returns the failure for a slot that is not bound.
pub fn unbound_slot(slot: &str, label: Option<&str>, kind: Kind) -> Failure {
    let label = label.map(|label| format!(" ({})", visible_line(label)));
    Failure::new(Exit::Usage, format!("slot `{slot}`{} is not bound", label.unwrap_or_default()))
        .help(format!("bind it with `{}`", kind.row().example_option(slot)))
}

/// Returns the failure for a slot that was bound to something of another kind.
fn wrong_kind(slot: &str, kind: Kind) -> Failure {
    let row = kind.row();
    let help = match row.is_typed() {
        true => format!("it takes {}: `{}`", row.noun, row.example_option("SLOT")),
        false => format!("leave it out: through it the run {}", row.permission_phrase),
    };
    Failure::new(Exit::Usage, format!("slot `{slot}` wants {kind}, and was bound to something else"))
        .help(help)
}

fn directory(
    shelf: &StartContext<'_>,
    slot: &str,
    write: bool,
    given: &PathSpec,
    start: &StartSpec,
) -> Result<Target, Failure> {
    if write && !given.write {
        let message = format!("slot `{slot}` writes, but `{}` was bound for reading only", given.path);
        return Err(
            Failure::new(Exit::Usage, message).help(format!("say `-e {slot}=PATH:rw` if you mean it"))
        );
    }
    if given.write && !write {
        let message = format!("slot `{slot}` only reads, and gets no more than that");
        return Err(Failure::new(Exit::Usage, message).help("leave out `:rw`"));
    }
    if given.stage && slot.contains('.') {
        let message = format!("slot `{slot}`: a staged copy belongs to the run that begins with it");
        return Err(Failure::new(Exit::Usage, message).help(format!("say `-e {slot}=PATH:rw`")));
    }
    let missing = match (given.stage, write) {
        (true, _) => MissingPolicy::Ignore,
        (false, true) => MissingPolicy::Create,
        (false, false) => MissingPolicy::Refuse,
    };
    let path = shelf.directories.resolve(shelf.daemon, slot, &given.path, missing)?;
    if given.stage && !start.dry_run {
        return shelf.stages.stage(shelf.daemon.state(), slot, &path, programs::stage_use(slot, start));
    }
    Ok(Target::Resource(Resource::directory(path)))
}
