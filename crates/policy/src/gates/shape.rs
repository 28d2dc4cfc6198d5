//! Whether the call is one that the interface has.

use kernel::proposal::Finding;
use passable::visible_line;

use super::Gate;
use crate::facts::Context;
use crate::ruling::Ruling;

pub(super) const GATE: Gate =
    Gate { name: "shape", version: 1, about: "the method exists and its arguments fit its patterns", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let Context { proposal, interface, .. } = context;
    let Some(method) = interface.method(&proposal.method) else {
        let known: Vec<_> = interface.methods().iter().map(|method| method.name.to_string()).collect();
        let named = visible_line(&proposal.method);
        return Ruling::deny(
            Finding::new("shape/method", format!("`{}` has no method `{named}`", proposal.slot))
                .at("method")
                .counter_example(named.clone())
                .allowed(known.join(", ")),
        );
    };
    let mut findings = Vec::new();
    if method.effect != proposal.effect {
        findings.push(
            Finding::new(
                "shape/effect",
                "the call was proposed with another effect than its method declares",
            )
            .at("method")
            .counter_example(format!("{:?}", proposal.effect).to_lowercase())
            .allowed(format!("{:?}", method.effect).to_lowercase()),
        );
    }
    Ruling::deny_any(findings)
}
