//! An arrow between our crates may only point down.

use super::Problem;
use super::tree::Tree;
use crate::workspace::{Arrow, ArrowKind, Crate};

/// The layers from the bottom up. Crates of one layer do not know each other, but for [`SIBLING_ARROWS`].
const LAYERS: &[&[&str]] = &[
    &["passable", "framing", "network", "oauth"],
    &["resource"],
    &["kernel"],
    &["switchboard"],
    &[
        "policy", "memory", "model", "store", "document", "git", "vat", "captp", "sandbox", "vault",
        "analysis",
    ],
    &["caps", "operator", "worker", "skill", "pipeline"],
    &["control"],
    &["config"],
    &[
        "gateway-web",
        "gateway-tui",
        "gateway-mcp",
        "gateway-acp",
        "gateway-openai",
        "gateway-emacs",
        "gateway-chat",
    ],
    &["daemon"],
    &["almoner", "conformance"],
];

/// Arrows within a layer, each with the reason.
const SIBLING_ARROWS: &[(&str, &str, &str)] = &[
    ("worker", "caps", "a worker's slots are bound to capabilities"),
    ("skill", "caps", "a skill's tools are capabilities"),
    ("pipeline", "worker", "the pipeline reasons with a resident worker"),
    ("pipeline", "skill", "the pipeline triggers skills"),
];

/// Crates that may know these of ours and no others, however low.
const ALLOWED_ARROWS: &[(&str, &[&str])] = &[
    ("passable", &[]),
    ("framing", &[]),
    ("network", &[]),
    ("oauth", &[]),
    ("resource", &["passable"]),
    ("kernel", &["passable", "resource"]),
    ("switchboard", &["passable"]),
    ("captp", &["passable", "switchboard"]),
    ("store", &["kernel", "passable"]),
    ("vault", &["kernel", "passable", "resource"]),
    ("vat", &["framing", "passable"]),
    ("git", &["framing"]),
    ("analysis", &[]),
    ("control", &["framing", "kernel", "passable", "resource", "vault"]),
];

/// The project's own tool stands outside: it knows none of the crates, and none knows it.
const OUTSIDE: &str = "xtask";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for member in tree.crates.iter().filter(|each| each.name != OUTSIDE) {
        let manifest = format!("{}/Cargo.toml", member.folder);
        if level(&member.name).is_none() {
            let wrong = format!("the crate `{}` is in no layer", member.name);
            problems.push(Problem::fault(
                &manifest,
                0,
                wrong,
                "give it a place in LAYERS in xtask/src/tidy/layers.rs",
            ));
        }
    }
    let ours = |name: &str| tree.crates.iter().any(|each| each.name == name);
    for member in &tree.crates {
        let manifest = format!("{}/Cargo.toml", member.folder);
        for arrow in member.arrows.iter().filter(|arrow| ours(&arrow.to)) {
            if let Some((wrong, way_out)) = judge(member, arrow) {
                let line = tree.file(&manifest).map_or(0, |file| line_of(&file.text, arrow));
                problems.push(Problem::fault(&manifest, line, wrong, way_out));
            }
        }
    }
    problems
}

/// Returns the fault of the arrow, and the way out.
fn judge(from: &Crate, arrow: &Arrow) -> Option<(String, String)> {
    let (name, to) = (from.name.as_str(), arrow.to.as_str());
    if name == OUTSIDE || to == OUTSIDE {
        let wrong =
            format!("`{name}` depends on `{to}`, but {OUTSIDE} stands apart from what it builds and checks");
        return Some((wrong, "run the other as a program, or move the shared code to a crate".to_owned()));
    }
    let (above, below) = (level(name)?, level(to)?);
    if arrow.kind == ArrowKind::Tests {
        // A test may use a neighbour, never something above it.
        return (below > above).then(|| {
            let wrong = format!("the tests of `{name}` depend on `{to}`, which lies above it");
            (wrong, format!("move the test up into `{to}`"))
        });
    }
    if below > above || (below == above && !SIBLING_ARROWS.iter().any(|&(a, b, _)| (a, b) == (name, to))) {
        let relation = if below > above { "above it" } else { "beside it" };
        let wrong =
            format!("`{name}` depends on `{to}`, which lies {relation}; an arrow may only point down");
        let way_out = "move the shared type down, or let the caller pass in what is needed as a trait of the lower crate";
        return Some((wrong, way_out.to_owned()));
    }
    let (_, allowed) = ALLOWED_ARROWS.iter().find(|(each, _)| *each == name)?;
    (!allowed.contains(&to)).then(|| {
        let list =
            if allowed.is_empty() { "no other crate of ours".to_owned() } else { allowed.join(" and ") };
        (
            format!("`{name}` depends on `{to}`, but may know only {list}"),
            "let the crate above join the two".to_owned(),
        )
    })
}

fn level(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Returns where the manifest speaks of the dependency, in the table of its kind; 0 when it is not seen.
fn line_of(manifest: &str, arrow: &Arrow) -> usize {
    let mut in_tests = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            in_tests = line.contains("dev-dependencies");
        }
        let named = line.strip_prefix(&arrow.to).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
        if named && in_tests == (arrow.kind == ArrowKind::Tests) {
            return index + 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{at, member, tree};
    use crate::workspace::ArrowKind::{self, Shipped, Tests};

    /// `from → to` among all crates that the rule knows, and where the problem is seen.
    #[track_caller]
    fn arrow(from: &str, to: &str, kind: ArrowKind, expected: &[&str]) {
        let manifest = format!("crates/{from}/Cargo.toml");
        let text =
            "[package]\n[dependencies]\nX.workspace = true\n[dev-dependencies]\nX = 1\n".replace('X', to);
        let mut tree = tree(&[(&manifest, &text), (&format!("crates/{to}/Cargo.toml"), "")]);
        tree.crates[0] = member(from, &[(to, kind), ("serde", Shipped)]);
        at(&check(&tree), expected);
    }

    #[test]
    fn arrows_point_down() {
        arrow("kernel", "passable", Shipped, &[]);
        arrow("almoner", "kernel", Shipped, &[]);
        arrow("passable", "kernel", Shipped, &["crates/passable/Cargo.toml:3"]);
        arrow("policy", "worker", Shipped, &["crates/policy/Cargo.toml:3"]);
        arrow("model", "store", Shipped, &["crates/model/Cargo.toml:3"]);
        arrow("worker", "caps", Shipped, &[]);
        arrow("caps", "worker", Shipped, &["crates/caps/Cargo.toml:3"]);
        arrow("worker", "policy", Shipped, &[]);
        arrow("store", "switchboard", Shipped, &["crates/store/Cargo.toml:3"]);
    }

    #[test]
    fn tests_may_look_sideways_but_not_up() {
        arrow("model", "store", Tests, &[]);
        arrow("kernel", "store", Tests, &["crates/kernel/Cargo.toml:5"]);
    }

    #[test]
    fn crates_need_a_layer_and_xtask_stays_apart() {
        at(&check(&tree(&[("crates/misc/Cargo.toml", "")])), &["crates/misc/Cargo.toml:0"]);
        arrow("almoner", "xtask", Shipped, &["crates/almoner/Cargo.toml:3"]);
    }
}
