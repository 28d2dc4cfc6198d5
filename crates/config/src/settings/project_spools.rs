//! The mail spools that the slots of a project's worker would reach, as far as the project's file and the servers of
//! tools tell.

use caps::places::{self, SpoolReach};
use policy::{ChangeScope, Places};
use resource::programs::staged_slot;
use resource::{Endowment, Kind, ResourceSpec};

use crate::mcp_file::{Server, Servers};

/// Returns one line for each slot through which the worker could write into a mail spool. `kind` returns the kind of a
/// slot, if it is known.
pub(super) fn lines(
    endow: &[Endowment],
    servers: &Servers,
    kind: &dyn Fn(&str) -> Option<Kind>,
) -> Vec<String> {
    let is_spool = |given: &&Endowment| kind(&given.slot) == Some(Kind::Outbox);
    let spools = endow.iter().filter(is_spool).filter_map(|given| match &given.fill {
        ResourceSpec::Path(path) => Some(&path.path),
        _ => None,
    });
    let places: Places = places::spools(spools).into_iter().chain(places::machine_queues()).collect();
    let others = endow.iter().filter(|given| !is_spool(given));
    let of_slot = |given: &Endowment| -> Vec<String> {
        let reach = spool_reach(&places, servers, given);
        reach.phrases.iter().map(|phrase| format!("{}: {phrase}", given.slot)).collect()
    };
    others.flat_map(of_slot).collect()
}

fn spool_reach(places: &Places, servers: &Servers, given: &Endowment) -> SpoolReach {
    let scopes: Vec<ChangeScope> = match &given.fill {
        ResourceSpec::Path(path) if path.write || path.stage => vec![places::tree("path", &path.path)],
        ResourceSpec::Git(git) if git.write => vec![places::tree("path", &git.path)],
        ResourceSpec::Program(program) => {
            let written =
                program.directories.iter().filter(|(path, write)| *write && staged_slot(path).is_none());
            written.map(|(path, _)| places::tree("argv", path)).collect()
        }
        ResourceSpec::Mcp(spec) => {
            let directories = servers.servers.get(&spec.server).into_iter().flat_map(Server::directories);
            let written = directories.filter(|(_, write)| *write);
            written.map(|(path, _)| places::tree("method", path)).collect()
        }
        _ => return SpoolReach::default(),
    };
    let judges_paths = !matches!(given.fill, ResourceSpec::Program(_) | ResourceSpec::Mcp(_));
    places::spool_reach(places, &scopes, judges_paths)
}
