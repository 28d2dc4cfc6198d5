//! What of the methods of a slot is granted, and what the limits are, in words.

use std::collections::BTreeSet;

use kernel::command::{Binding, Target};
use passable::visible_line;
use worker::definition::{self, Definition};

use control::exit::{Exit, Failure};
use resource::{Endowment, Kind, Resource};

/// The methods that are granted. Who may only read gets nothing to send with.
fn all_methods(kind: Kind, target: &Target) -> BTreeSet<String> {
    if let Target::Resource(Resource::Mcp(server)) = target {
        return server.tools.iter().map(|tool| tool.method.clone()).collect();
    }
    let only_reads = matches!(target, Target::Resource(Resource::Web(web)) if web.methods.iter().all(|method| method == "GET"));
    let is_granted = |method: &&&str| !(only_reads && **method == "send");
    kind.methods().iter().filter(is_granted).map(|method| (*method).to_owned()).collect()
}

/// The methods that are granted: all that the slot has, or those of them that the person named.
///
/// # Errors
/// When a method is named that the slot does not have, or one is missing that the worker needs at its end.
pub fn methods(
    definition: &Definition,
    slot: &definition::Slot,
    target: &Target,
    endowment: Option<&Endowment>,
) -> Result<BTreeSet<String>, Failure> {
    let all = all_methods(slot.kind, target);
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

/// What a binding lets somebody do, in words: its methods and its limits.
pub fn words(binding: &Binding) -> String {
    let methods = binding.methods.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    std::iter::once(methods).chain(binding.attenuation.words()).collect::<Vec<_>>().join("; ")
}

/// The tools by which a model calls the granted methods of a slot.
pub fn tools(slot: &str, kind: Kind, bindings: &[Binding]) -> Vec<String> {
    let granted = bindings.iter().find(|binding| binding.slot == slot);
    if let (Kind::Mcp, Some(granted)) = (kind, granted) {
        return granted.methods.iter().map(|method| format!("{slot}_{method}")).collect();
    }
    let is_granted = |method: &&&str| granted.is_none_or(|binding| binding.methods.contains(**method));
    kind.methods().iter().filter(is_granted).map(|method| format!("{slot}_{method}")).collect()
}

/// What a slot with a staged copy may do without a question: whatever changes the copy.
pub fn staged_allow(methods: &BTreeSet<String>) -> impl Iterator<Item = String> {
    let interface = caps::interface_of(Kind::Dir { write: true });
    let changes = move |method: &&String| {
        interface
            .and_then(|interface| interface.method(method))
            .is_some_and(|method| method.effect == passable::Effect::Modify)
    };
    methods.iter().filter(changes).cloned().collect::<Vec<_>>().into_iter()
}
