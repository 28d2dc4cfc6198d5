//! What the capability itself found wrong: paths that lead out, suffixes, sizes, files that are not there.

use super::Gate;
use crate::facts::Context;
use crate::ruling::Ruling;

pub(super) const GATE: Gate =
    Gate { name: "paths", version: 1, about: "what the call names lies within the capability", judge };

fn judge(context: &Context<'_>) -> Ruling {
    Ruling::deny_any(context.facts.problems.clone())
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Deny};

    use super::*;
    use crate::fixture::{Call, check};

    use kernel::proposal::Finding;

    #[test]
    fn every_problem_of_the_capability_denies() {
        let problem = |rule: &str| Finding::new(rule, "wrong").at("path").counter_example("x").allowed("y");
        check(&GATE, &Call::new("change"), (Allow, Allow), &[]);
        let call =
            Call::new("look").but(|c| c.facts.problems = vec![problem("path/parent"), problem("dir/suffix")]);
        check(&GATE, &call, (Deny, Deny), &["path/parent", "dir/suffix"]);
    }
}
