//! The gate for the depth of calls from worker to worker.

use kernel::proposal::Finding;
use passable::Quoting;

use super::Gate;
use crate::facts::Context;
use crate::ruling::Ruling;

pub(super) const GATE: Gate =
    Gate { name: "depth", version: 1, about: "workers call workers only so deep", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let limit = context.spent.limits.depth;
    match context.spent.child_depth {
        Some(depth) if depth > limit => Ruling::deny(
            Finding::new(
                "depth/limit",
                Quoting::ours(format!("the call would start a worker {depth} deep; the limit is {limit}")),
            )
            .at("limits.depth")
            .counter_example(depth.to_string())
            .allowed(Quoting::ours(format!(
                "at most {limit}: finish this task without calling another worker"
            ))),
        ),
        _ => Ruling::allow(),
    }
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Deny};

    use super::*;
    use crate::fixture::{Call, check};

    #[test]
    fn workers_call_workers_only_so_deep() {
        for (depth, decision, rules) in [
            (None, Allow, &[][..]),
            (Some(5), Allow, &[]),
            (Some(6), Deny, &["depth/limit"]),
            (Some(u32::MAX), Deny, &["depth/limit"]),
        ] {
            let call = Call::new("look").but(|c| c.spent.child_depth = depth);
            check(&GATE, &call, (decision, decision), rules);
        }
    }
}
