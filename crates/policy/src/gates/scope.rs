//! The gate for the grant. It denies a call that is not covered by a grant in force.

use kernel::proposal::Finding;

use super::Gate;
use crate::facts::Context;
use crate::ruling::Ruling;

pub(super) const GATE: Gate =
    Gate { name: "scope", version: 1, about: "the grant is in force and has the method", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let Context { proposal, grant, .. } = context;
    if proposal.grant != grant.id {
        return Ruling::deny(
            Finding::new("scope/grant", "the call was proposed through another grant than it is judged for")
                .at(proposal.slot.clone())
                .counter_example(proposal.grant.short())
                .allowed(grant.id.short()),
        );
    }
    match grant.refusal(&proposal.method, context.now_ms) {
        None => Ruling::allow(),
        Some(refusal) => Ruling::deny(Finding {
            at: refusal.at.or_else(|| Some(proposal.slot.clone())),
            counter_example: refusal.counter_example.or_else(|| Some(proposal.method.clone())),
            allowed: refusal
                .allowed
                .or_else(|| Some("nothing through this grant; the user can endow anew".to_owned())),
            ..refusal
        }),
    }
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Deny};

    use super::*;
    use crate::fixture::{Call, check};

    #[test]
    fn only_a_grant_in_force_with_the_method_passes() {
        let now = crate::fixture::NOW;
        check(&GATE, &Call::new("change"), (Allow, Allow), &[]);
        check(&GATE, &Call::new("change").but(|c| c.grant.expires_ms = Some(now + 1)), (Allow, Allow), &[]);
        for (call, rule) in [
            (Call::new("change").but(|c| c.grant.expires_ms = Some(now)), "grant/expired"),
            (Call::new("change").but(|c| c.grant.revoked_ms = Some(1)), "grant/revoked"),
            (Call::new("change").but(|c| c.grant.methods = ["look".into()].into()), "grant/method"),
            (Call::new("change").but(|c| c.grant.id = crate::fixture::id(9)), "scope/grant"),
        ] {
            check(&GATE, &call, (Deny, Deny), &[rule]);
        }
    }
}
