//! The request of `cargo xtask test`, and the phases that it takes.

use super::changed::Scope;
use super::phases::{self, Check, Phase};
use super::shard::Shard;

/// Describes one way to check.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The check for every landing.
    Short,
    /// The same without installing tools and without the demo.
    Quick,
    /// The crates that a change touches, and those above them.
    Changed { base: Option<String> },
    /// The checks that take too long for every landing.
    Deep { shard: Shard },
    /// Changes of the code that tests must notice; `cargo xtask mutants` with these arguments.
    Mutants(Vec<String>),
}

impl Plan {
    /// Reads the command line, or says why it makes no sense.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Ok(Plan::Short),
            ["--quick"] => Ok(Plan::Quick),
            ["--changed"] => Ok(Plan::Changed { base: None }),
            ["--changed", base] if !base.starts_with('-') => {
                Ok(Plan::Changed { base: Some((*base).to_owned()) })
            }
            ["--deep"] => Ok(Plan::Deep { shard: Shard::WHOLE }),
            ["--deep", "--shard", shard] => Ok(Plan::Deep { shard: shard.parse()? }),
            ["--mutants", rest @ ..] => Ok(Plan::Mutants(rest.iter().map(|&word| word.to_owned()).collect())),
            other => Err(format!(
                "`test` takes --quick, --changed [BASE], --deep [--shard N/M] or --mutants [CRATE], not `{}`",
                other.join(" ")
            )),
        }
    }

    /// Returns the phases in their order.
    pub(super) fn phases(&self, check: &Check) -> Vec<Phase> {
        match self {
            Plan::Short => phases::SHORT.to_vec(),
            Plan::Quick => phases::SHORT
                .iter()
                .filter(|phase| !phases::OMITTED_BY_QUICK.contains(&phase.0))
                .copied()
                .collect(),
            Plan::Changed { .. } => changed(&check.scope, !check.benches().is_empty()),
            Plan::Deep { shard } => deep(*shard),
            Plan::Mutants(_) => Vec::new(),
        }
    }
}

/// Returns the phases for a change of these crates; documents alone need no compiler. Benches have a phase of their
/// own, since no other compiles them.
fn changed(scope: &Scope, has_benches: bool) -> Vec<Phase> {
    let mut wanted = phases::STATIC.to_vec();
    let simulated = match scope {
        Scope::Everything => true,
        Scope::Crates(crates) if crates.is_empty() => return wanted,
        Scope::Crates(crates) => crates.contains("kernel"),
    };
    wanted
        .extend(phases::COMPILED.iter().filter(|phase| simulated || phase.0 != phases::SIMULATION).copied());
    wanted.extend(has_benches.then_some(phases::BENCHES));
    wanted
}

/// Returns the phases of one shard: all share out the tests, and each of the others belongs to one.
fn deep(shard: Shard) -> Vec<Phase> {
    let own = phases::DEEP.iter().enumerate().filter(|(index, _)| shard.takes(*index));
    phases::DEEP_TESTS.iter().copied().chain(own.map(|(_, phase)| *phase)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Plan, Scope, changed, deep, phases};

    fn parse(line: &str) -> Result<Plan, String> {
        Plan::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines_become_plans() {
        assert_eq!(parse(""), Ok(Plan::Short));
        assert_eq!(parse("--quick"), Ok(Plan::Quick));
        assert_eq!(parse("--changed HEAD~2"), Ok(Plan::Changed { base: Some("HEAD~2".to_owned()) }));
        assert_eq!(parse("--deep --shard 2/3"), Ok(Plan::Deep { shard: "2/3".parse().unwrap() }));
        assert_eq!(parse("--mutants policy"), Ok(Plan::Mutants(vec!["policy".to_owned()])));
        for line in
            ["--fast", "--deep --shard 4/3", "--shard 1/2", "--changed --deep", "--deep --shard", "--quick x"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn shards_run_each_deep_phase_once() {
        for of in 1..=4 {
            let shards: Vec<_> =
                (1..=of).map(|number| deep(format!("{number}/{of}").parse().unwrap())).collect();
            for (name, _) in phases::DEEP {
                let times = shards.iter().flatten().filter(|phase| phase.0 == name).count();
                assert_eq!(times, 1, "{name} of {of}");
            }
            for (name, _) in phases::DEEP_TESTS {
                assert!(
                    shards.iter().all(|shard| shard.iter().any(|phase| phase.0 == name)),
                    "{name} of {of}"
                );
            }
        }
    }

    #[test]
    fn changed_documents_need_no_compiler() {
        let names = |scope| changed(&scope, false).iter().map(|phase| phase.0).collect::<Vec<_>>();
        let crates =
            |list: &[&str]| Scope::Crates(list.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>());
        assert_eq!(names(crates(&[])), ["format", "tidy"]);
        assert!(!names(crates(&["vat"])).contains(&phases::SIMULATION));
        assert!(names(crates(&["kernel"])).contains(&phases::SIMULATION));
        assert!(names(Scope::Everything).contains(&phases::SIMULATION));
    }

    #[test]
    fn changed_crate_with_benches_builds_them() {
        let scope = Scope::Crates(BTreeSet::from(["store".to_owned()]));
        let builds = |has_benches| {
            let last = changed(&scope, has_benches).pop();
            last.is_some_and(|phase| phase.0 == phases::BENCHES.0)
        };
        assert!(builds(true) && !builds(false));
    }
}
