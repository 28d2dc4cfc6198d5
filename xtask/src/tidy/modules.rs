//! An import between the modules of a crate may only point down.

use super::Problem;
use super::circles::imports;
use super::tree::Tree;

/// The modules of a crate from the top down.
struct Stack {
    krate: &'static str,
    modules: &'static [&'static str],
    /// Imports that still point up. A line that is not needed any more goes.
    upward: &'static [(&'static str, &'static str)],
}

/// The crates whose modules are layers. Files beside the modules, like `lib.rs`, may import all of them.
const STACKS: &[Stack] = &[
    Stack {
        krate: "daemon",
        modules: &[
            "api",
            "maintenance",
            "home_backup",
            "captp",
            "code",
            "objects",
            "runs",
            "files",
            "queries",
            "state",
            "processes",
        ],
        upward: &[],
    },
    Stack { krate: "almoner", modules: &["verbs", "follow", "session", "ui", "client", "cli"], upward: &[] },
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    STACKS.iter().flat_map(|stack| judge(tree, stack)).collect()
}

fn judge(tree: &Tree, stack: &Stack) -> Vec<Problem> {
    let Some(member) = tree.crates.iter().find(|member| member.name == stack.krate) else {
        return Vec::new();
    };
    let prefix = format!("{}/src/", member.folder);
    let module = |path: &str| -> Option<(usize, &str)> {
        let name = path.strip_prefix(&prefix)?.split(['/', '.']).next()?;
        stack.modules.iter().position(|one| *one == name).map(|level| (level, stack.modules[level]))
    };
    let mut problems = Vec::new();
    let mut needed = Vec::new();
    for (from, to) in imports(tree, member) {
        let (Some((above, importer)), Some((below, imported))) = (module(from), module(to)) else { continue };
        if above <= below {
            continue;
        }
        let pair = (from.trim_start_matches(&prefix), to.trim_start_matches(&prefix));
        if stack.upward.contains(&pair) {
            needed.push(pair);
            continue;
        }
        let wrong = format!("`{importer}` imports {to}, but `{imported}` lies above it");
        let way_out = "move what both need into the lower module, or pass it in as a trait of that module";
        problems.push(Problem::fault(from, 0, wrong, way_out));
    }
    for pair in stack.upward.iter().filter(|pair| !needed.contains(pair)) {
        let wrong = format!("{} does not import {} any more", pair.0, pair.1);
        problems.push(Problem::fault("xtask/src/tidy/modules.rs", 0, wrong, "take the line out of `upward`"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{Stack, judge};
    use crate::tidy::planted::{at, tree};

    const STACK: Stack = Stack { krate: "a", modules: &["top", "low"], upward: &[] };

    #[test]
    fn import_of_an_upper_module_is_found() {
        let lib = ("crates/a/src/lib.rs", "mod top; mod low;");
        let top = ("crates/a/src/top/mod.rs", "use crate::low::B;");
        let planted = [lib, top, ("crates/a/src/low/mod.rs", "")];
        at(&judge(&tree(&planted), &STACK), &[]);
        let planted = [lib, top, ("crates/a/src/low/mod.rs", "use crate::top::A;")];
        at(&judge(&tree(&planted), &STACK), &["crates/a/src/low/mod.rs:0"]);
    }

    #[test]
    fn listed_import_is_allowed_while_it_is_there() {
        const LISTED: Stack = Stack { upward: &[("low/mod.rs", "top/mod.rs")], ..STACK };
        let lib = ("crates/a/src/lib.rs", "mod top; mod low;");
        let top = ("crates/a/src/top/mod.rs", "");
        let planted = [lib, top, ("crates/a/src/low/mod.rs", "use crate::top::A;")];
        at(&judge(&tree(&planted), &LISTED), &[]);
        let planted = [lib, top, ("crates/a/src/low/mod.rs", "")];
        at(&judge(&tree(&planted), &LISTED), &["xtask/src/tidy/modules.rs:0"]);
    }
}
