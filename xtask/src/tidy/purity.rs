//! The lower crates do no I/O, read no clock, draw no randomness and spawn nothing.

use super::Problem;
use super::source::has_word;
use super::tree::Tree;
use crate::workspace::ArrowKind;

/// The crates that this holds for.
const PURE: &[&str] = &[
    "passable",
    "framing",
    "resource",
    "kernel",
    "switchboard",
    "captp",
    "policy",
    "operator",
    "analysis",
    "oauth",
];

/// Modules of `std` that reach outside, and where their work belongs.
const MODULES: &[(&str, &str)] = &[
    ("fs", "take the bytes as an argument"),
    ("net", "take the answer as an argument"),
    ("process", "write an outbox row; the daemon does it"),
    ("thread", "stay single-threaded; the daemon owns the threads"),
    ("env", "take the setting as an argument"),
];

/// Names that are wrong wherever they come from.
const NAMES: &[(&str, &str)] = &[
    ("SystemTime", "take the time from `Env`"),
    ("Instant", "take the time from `Env`"),
    ("Timestamp::now", "take the time from `Env`"),
    ("Zoned::now", "take the time from `Env`"),
    ("rand", "take entropy from `Env`"),
    ("getrandom", "take entropy from `Env`"),
];

/// Crates that would bring the outside in.
const DEPENDENCIES: &[&str] = &[
    "async-std",
    "cap-std",
    "fastrand",
    "getrandom",
    "mio",
    "rand",
    "reqwest",
    "rusqlite",
    "rustix",
    "smol",
    "tokio",
    "ureq",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, source, owner) in tree.rust().filter(|(_, _, owner)| PURE.contains(&owner.name.as_str())) {
        let mut group = Group::default();
        for (number, line) in source.shipped() {
            let grouped = group.take(line);
            for (module, way_out) in MODULES {
                if has_word(line, &format!("std::{module}")) || has_word(&grouped, module) {
                    let wrong = format!("`{}` is pure, but this names `std::{module}`", owner.name);
                    problems.push(Problem::fault(&file.path, number, wrong, *way_out));
                }
            }
            for (name, way_out) in NAMES {
                if has_word(line, name) {
                    let wrong = format!("`{}` is pure, but this names `{name}`", owner.name);
                    problems.push(Problem::fault(&file.path, number, wrong, *way_out));
                }
            }
        }
    }
    for member in tree.crates.iter().filter(|each| PURE.contains(&each.name.as_str())) {
        let shipped = member.arrows.iter().filter(|arrow| arrow.kind == ArrowKind::Shipped);
        for arrow in shipped.filter(|arrow| DEPENDENCIES.contains(&arrow.to.as_str())) {
            let wrong = format!("`{}` is pure, but depends on `{}`", member.name, arrow.to);
            let way_out = "let the crate above do it and pass the result in";
            problems.push(Problem::fault(&format!("{}/Cargo.toml", member.folder), 0, wrong, way_out));
        }
    }
    problems
}

/// Follows `use std::{…}` over lines.
#[derive(Default)]
pub(super) struct Group {
    depth: usize,
}

impl Group {
    /// Returns the part of the line that lies directly within the braces of `std::{…}`.
    pub(super) fn take(&mut self, line: &str) -> String {
        let mut inside = String::new();
        let mut rest = line;
        if self.depth == 0 {
            let Some(start) = line.find("std::{") else { return inside };
            (self.depth, rest) = (1, &line[start + "std::{".len()..]);
        }
        for c in rest.chars() {
            match c {
                '{' => self.depth += 1,
                '}' => self.depth -= 1,
                _ if self.depth == 1 => inside.push(c),
                _ => {}
            }
            if self.depth == 0 {
                break;
            }
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{at, member, tree};
    use crate::workspace::ArrowKind::{Shipped, Tests};

    #[test]
    fn files_clocks_and_randomness_are_found() {
        let find =
            |text: &str, expected: &[&str]| at(&check(&tree(&[("crates/kernel/src/a.rs", text)])), expected);
        find("std::fs::read(path)", &["crates/kernel/src/a.rs:1"]);
        find("use std::{\n    fmt,\n    env,\n};", &["crates/kernel/src/a.rs:3"]);
        find("use std::{collections::{HashMap}, thread};", &["crates/kernel/src/a.rs:1"]);
        find("use std::time::{Duration, Instant};", &["crates/kernel/src/a.rs:1"]);
        find("let x: u8 = rand::random();", &["crates/kernel/src/a.rs:1"]);
    }

    #[test]
    fn similar_names_are_not_reported() {
        let find = |path: &str, text: &str| at(&check(&tree(&[(path, text)])), &[]);
        find(
            "crates/kernel/src/a.rs",
            "// std::fs\nlet env = \"std::env\"; fn process(thread: Thread, env: &Env) {}",
        );
        find("crates/kernel/src/a.rs", "use std::{fmt, collections::{self, env}};\nmod process;");
        find("crates/kernel/src/a.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}");
        find("crates/kernel/tests/it/main.rs", "use std::fs;");
        find("crates/caps/src/a.rs", "use std::fs;");
    }

    #[test]
    fn impure_dependencies_are_found() {
        let mut tree = tree(&[("crates/kernel/src/lib.rs", "")]);
        tree.crates[0] = member("kernel", &[("rand", Shipped), ("cap-std", Tests)]);
        at(&check(&tree), &["crates/kernel/Cargo.toml:0"]);
    }
}
