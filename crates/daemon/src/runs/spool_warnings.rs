//! The mail spools that the slots of a run would reach, for the person who fills the slots.

use std::collections::BTreeSet;

use caps::places::{self, SpoolReach};
use caps::undo::PathState;
use kernel::command::{Binding, Target};
use kernel::formula::Formula;
use kernel::table;
use passable::{Untrusted, shell_word, visible_line};
use policy::{ChangeScope, Places};
use resource::Resource;

use crate::queries::changes::{Change, PathTask};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::undo_report::UndoState;

/// The places that send, as far as they are known before a run begins: those of the store, and those that the run is
/// about to be given.
pub struct SpoolWarnings<'a> {
    daemon: &'a HostDaemon,
    places: Places,
}

impl SpoolWarnings<'_> {
    /// Returns the warnings for a run with these bindings.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn new<'a>(daemon: &'a HostDaemon, bindings: &[Binding]) -> Result<SpoolWarnings<'a>, Failure> {
        let mut paths = daemon.spool_paths()?;
        add_spools(bindings, &mut paths);
        let places = places::spools(&paths).into_iter().chain(places::machine_queues()).collect();
        Ok(SpoolWarnings { daemon, places })
    }

    /// Returns the places that send and that the slot of a binding could change.
    pub fn of(&self, binding: &Binding) -> SpoolReach {
        let Some((resource, staged_from)) = self.target(binding) else { return SpoolReach::default() };
        let scopes: Vec<ChangeScope> = places::whole_reach(&resource, staged_from.as_deref());
        let judges_paths = matches!(resource, Resource::Directory { .. } | Resource::Repository(_));
        let changes = |method: &String| {
            let effect = caps::interface_of(resource.kind())
                .and_then(|interface| interface.method(method).map(|method| method.effect));
            effect.is_none_or(|effect| effect != passable::Effect::Observe)
        };
        if judges_paths && !binding.methods.iter().any(changes) {
            return SpoolReach::default();
        }
        places::spool_reach(&self.places, &scopes, judges_paths)
    }

    /// Returns the place that sends and that holds a file, as a phrase.
    pub fn of_file(&self, path: &str) -> Option<String> {
        let scope = [places::entry("path", path)];
        let found = self.places.sending(&scope).next();
        found.map(|(place, _)| place.meaning.phrase(&place.location.path))
    }

    /// Returns the resource behind a binding, and the directory behind its staged copy.
    fn target(&self, binding: &Binding) -> Option<(Resource, Option<String>)> {
        match &binding.target {
            Target::Resource(resource) => Some((resource.clone(), binding.attenuation.staged_from.clone())),
            Target::Named { path } => {
                let view = self.daemon.view(self.daemon.host);
                let reached = self.daemon.query(|txn| {
                    let id = view.identify(txn, path)?;
                    Ok(table::reach(txn, &id)?)
                });
                let reached = reached.ok().flatten()?;
                let staged_from = reached.grant().and_then(|grant| grant.attenuation.staged_from);
                match reached.formula {
                    Formula::Resource(resource) => Some((resource, staged_from)),
                    _ => None,
                }
            }
            Target::Workshop
            | Target::Worker(_)
            | Target::Endowed { .. }
            | Target::Myself
            | Target::Model { .. } => None,
        }
    }
}

/// Adds the paths of the mail spools among bindings, and among those of workers in slots.
fn add_spools(bindings: &[Binding], all: &mut BTreeSet<String>) {
    for binding in bindings {
        match &binding.target {
            Target::Resource(Resource::Outbox { path }) => {
                all.insert(path.clone());
            }
            Target::Endowed { bindings, .. } => add_spools(bindings, all),
            _ => {}
        }
    }
}

/// Holds back changes that would put a file where it is sent, such as in a mail spool. A person has to name each such
/// file: the place may have become a spool after the call was judged, and no gate sees the single files of a program.
///
/// # Errors
/// When the store cannot be read.
pub fn guard(
    daemon: &HostDaemon,
    tasks: &mut [PathTask],
    only: &[String],
    does: &str,
) -> Result<(), Failure> {
    let places = SpoolWarnings::new(daemon, &[])?;
    let is_named = |change: &Change| only.iter().any(|wanted| change.is_named(wanted));
    let puts = |task: &PathTask| matches!(task.target, PathState::File(_)) && task.state == UndoState::Would;
    for task in tasks.iter_mut().filter(|task| puts(task) && !is_named(&task.change)) {
        if let Some(place) = places.of_file(&task.change.full()) {
            let word = shell_word(&visible_line(&task.change.path));
            let why = format!("it lies in {place}, and would be sent; `--only {word}` {does}");
            task.state = UndoState::Failed { why: Untrusted::new(why) };
        }
    }
    Ok(())
}
