//! The granted methods of a slot, and the description of its limits.

use std::collections::BTreeSet;

use kernel::NamePath;
use kernel::command::{Binding, Target};
use kernel::formula::Formula;
use kernel::table;
use passable::visible_line;
use worker::definition::{self, Definition};

use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use resource::{Endowment, Kind};

/// Returns all methods that a slot can get from its target.
fn all_methods(
    daemon: &HostDaemon,
    slot: &definition::Slot,
    target: &Target,
) -> Result<BTreeSet<String>, Failure> {
    match target {
        Target::Resource(resource) => Ok(resource.methods(slot.kind)),
        Target::Named { path } => methods_of_name(daemon, slot, path),
        Target::Worker(_)
        | Target::Endowed { .. }
        | Target::Model { .. }
        | Target::Myself
        | Target::Workshop => Ok(slot.kind.method_names()),
    }
}

/// Returns the methods that a slot can get from the capability behind a name, through all grants on the way.
fn methods_of_name(
    daemon: &HostDaemon,
    slot: &definition::Slot,
    path: &NamePath,
) -> Result<BTreeSet<String>, Failure> {
    let found = daemon.query(|txn| {
        let id = daemon.view(daemon.host).identify(txn, path)?;
        Ok(table::reach(txn, &id)?)
    });
    let fits = |formula: &Formula| formula.slot_kind().is_some_and(|own| slot.kind.takes(own));
    // If the name leads nowhere, or to another kind, the kernel refuses the binding with the reason.
    let Some(reached) = found.ok().flatten().filter(|reached| fits(&reached.formula)) else {
        return Ok(slot.kind.method_names());
    };
    let mut methods = match &reached.formula {
        Formula::Resource(resource) => resource.methods(slot.kind),
        _ => slot.kind.method_names(),
    };
    let first = methods.first().cloned().unwrap_or_default();
    methods.retain(|method| reached.grants.iter().all(|grant| grant.allows(method)));
    if methods.is_empty() {
        let (shown, name) = (path.to_string(), &slot.name);
        let message =
            format!("slot `{name}`: `{}` allows no method of {}", visible_line(&shown), slot.kind.row().noun);
        return Err(Failure::new(Exit::Usage, message).help(format!(
            "make something that has one, and bind `{name}` to it: `almoner narrow NAME NEW --methods {}`",
            visible_line(&first)
        )));
    }
    Ok(methods)
}

/// Returns the granted methods of a slot: all possible ones, or those that the user named.
///
/// # Errors
/// When the endowment has a limit or a method that the slot does not have. When it lacks a method that the worker
/// needs at its end, or a name gives the slot no method.
pub fn methods(
    daemon: &HostDaemon,
    definition: &Definition,
    slot: &definition::Slot,
    target: &Target,
    endowment: Option<&Endowment>,
) -> Result<BTreeSet<String>, Failure> {
    if let Some(endowment) = endowment {
        endowment.fill.check(slot.kind).map_err(|error| {
            Failure::new(Exit::Usage, format!("slot `{}`: {}", slot.name, error.message)).help(error.help)
        })?;
    }
    let all = all_methods(daemon, slot, target)?;
    let chosen = endowment.map_or(&[][..], |endowment| endowment.fill.methods());
    if chosen.is_empty() {
        return Ok(all);
    }
    if let Some(unknown) = chosen.iter().find(|method| !all.contains(*method)) {
        let message =
            format!("slot `{}`: {} has no method `{}`", slot.name, slot.kind, visible_line(unknown));
        let known = all.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let help = match definition::nearest(unknown, all.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? It has {known}"),
            None => format!("it has {known}"),
        };
        return Err(Failure::new(Exit::Usage, message).help(help));
    }
    let chosen: BTreeSet<String> = chosen.iter().cloned().collect();
    let writes = definition.write.iter().any(|write| write.slot == slot.name);
    if writes && !chosen.contains("write") {
        let message = format!("slot `{}`: the worker writes files there at its end", slot.name);
        return Err(Failure::new(Exit::Usage, message).help("add `write` to `methods=`"));
    }
    Ok(chosen)
}

/// Returns a description of a binding's methods and limits.
pub fn describe(binding: &Binding) -> String {
    let methods = binding.methods.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    std::iter::once(methods).chain(binding.attenuation.limit_phrases()).collect::<Vec<_>>().join("; ")
}

/// Returns the names of the tools by which a model calls the granted methods of a slot.
pub fn tools(slot: &str, kind: Kind, bindings: &[Binding]) -> Vec<String> {
    let granted = bindings.iter().find(|binding| binding.slot == slot);
    if let (Kind::Mcp, Some(granted)) = (kind, granted) {
        return granted.methods.iter().map(|method| format!("{slot}_{method}")).collect();
    }
    let is_granted = |method: &&&str| granted.is_none_or(|binding| binding.methods.contains(**method));
    kind.methods().iter().filter(is_granted).map(|method| format!("{slot}_{method}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kernel::command::{Act, GrantAct, NameAct, ProvidedObject, Reply};
    use kernel::grant::Attenuation;
    use kernel::provenance::Provenance;
    use kernel::table::FormulaRow;
    use kernel::txn::{NO_OWNER, Table, Txn};
    use resource::Resource;
    use worker::definition::Bundle;

    use super::*;
    use crate::state::worker_files;

    use crate::testing;
    use crate::testing::{mcp_server, web_resource};
    use config::machine::Machine;

    fn path(name: &str) -> NamePath {
        NamePath::parse(name).unwrap()
    }

    /// Gives a resource a name. Commands can name only directories, so a directory is named first and then replaced
    /// in the store.
    fn name(daemon: &HostDaemon, name: &str, resource: Resource) {
        let thing = ProvidedObject::Mount { path: "/d".to_owned(), read_only: false };
        let reply = daemon.apply(Act::Name(NameAct::Provide { thing, path: path(name) })).unwrap().reply;
        let Reply::Made { id } = reply else { panic!("{name}: {reply:?}") };
        let row = FormulaRow { formula: Formula::Resource(resource), provenance: Provenance::host() };
        let put = move |txn: &mut dyn Txn| {
            table::save(txn, Table::Formula, &NO_OWNER, &id.number, &row, Some(&row.provenance))
        };
        daemon.store.write(put).unwrap();
    }

    /// Names a narrower grant of another name's target, with only these methods.
    fn narrow(daemon: &HostDaemon, from: &str, to: &str, methods: &[&str]) {
        daemon
            .apply(Act::Grant(GrantAct::Attenuate {
                path: path(from),
                is: None,
                methods: methods.iter().map(|method| (*method).to_owned()).collect(),
                attenuation: Attenuation::default(),
                expires_ms: None,
                to: path(to),
                force: false,
            }))
            .unwrap();
    }

    /// Returns the granted methods of a slot `x` of this kind.
    fn of_slot(
        daemon: &HostDaemon,
        kind: Kind,
        target: &Target,
        endowment: Option<&Endowment>,
    ) -> Result<BTreeSet<String>, Failure> {
        let bundle = Bundle::of("w", format!("---\nslots: {{ x: {kind} }}\n---\nDo it.\n"));
        let definition = worker_files::parse(&bundle).unwrap();
        methods(daemon, &definition, definition.slot("x").unwrap(), target, endowment)
    }

    #[test]
    fn named_binding_grants_methods_of_reached_resource() {
        let dir = tempfile::tempdir().unwrap();
        let daemon = testing::empty_daemon(&dir.path().join("home"));
        name(&daemon, "srv", mcp_server());
        narrow(&daemon, "srv", "lists", &["list"]);
        name(&daemon, "web", Resource::Web(web_resource(&["GET"])));
        name(&daemon, "api", Resource::Web(web_resource(&["GET", "POST"])));
        narrow(&daemon, "api", "reads", &["get"]);
        name(&daemon, "hours", Resource::Clock);
        name(&daemon, "big", Resource::directory("/d"));
        narrow(&daemon, "big", "small", &["list", "write"]);
        narrow(&daemon, "small", "smaller", &["list"]);
        let (reads, writes) = (Kind::Dir { write: false }, Kind::Dir { write: true });
        for (name, kind, expected) in [
            ("srv", Kind::Mcp, &["delete", "list"][..]),
            ("lists", Kind::Mcp, &["list"]),
            ("web", Kind::Http, &["get"]),
            ("api", Kind::Http, &["get", "send"]),
            ("reads", Kind::Http, &["get"]),
            ("hours", Kind::Clock, &["now", "today"]),
            ("big", reads, &["glob", "grep", "list", "read", "stat"]),
            ("small", writes, &["list", "write"]),
            ("small", reads, &["list"]),
            ("smaller", reads, &["list"]),
            // A name that does not fit or does not exist is refused later, by the kernel.
            ("hours", Kind::Outbox, &["send"]),
            ("nothing", Kind::Clock, &["now", "today"]),
        ] {
            let found = of_slot(&daemon, kind, &Target::Named { path: path(name) }, None).unwrap();
            assert!(found.iter().eq(expected), "{name} as {kind}: {found:?}");
        }
    }

    #[test]
    fn name_that_allows_no_method_of_the_slot_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let daemon = testing::empty_daemon(&dir.path().join("home"));
        name(&daemon, "big", Resource::directory("/d"));
        narrow(&daemon, "big", "writes", &["write"]);
        let target = Target::Named { path: path("writes") };
        let refused = of_slot(&daemon, Kind::Dir { write: false }, &target, None).unwrap_err();
        assert_eq!(refused.message.raw(), "slot `x`: `writes` allows no method of a directory");
        assert!(refused.help.contains("`almoner narrow NAME NEW --methods glob`"), "{}", refused.help);
    }

    #[test]
    fn limit_unknown_to_the_slots_kind_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let daemon = testing::empty_daemon(&dir.path().join("home"));
        let target = Target::Resource(Resource::Outbox { path: "/o".to_owned() });
        for (text, refused) in [
            ("x=/o?max=1KiB&rate=1/s", None),
            ("x=/o?suffix=.md", Some("slot `x`: `suffix=` has no effect on an outbox")),
            ("x=/o:stage", Some("slot `x`: `:stage` is for a directory, and this is an outbox")),
        ] {
            let given = Machine::At(Path::new("/")).parse_endowment(text).unwrap();
            let failure = of_slot(&daemon, Kind::Outbox, &target, Some(&given)).err();
            assert_eq!(failure.as_ref().map(|failure| failure.message.raw()), refused, "{text}");
            assert!(failure.is_none_or(|failure| failure.help.starts_with("write SLOT=PATH")), "{text}");
        }
    }
}
