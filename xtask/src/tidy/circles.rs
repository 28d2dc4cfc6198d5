//! Files of one crate that import each other in a circle.
//!
//! A reader who opens one file of a circle has to know all of them. Only code that ships counts. An import through a
//! re-export counts for the file that has the item.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use super::Problem;
use super::tree::{File, Tree};
use crate::workspace::Crate;

/// How many files of a crate may be in one circle.
const MAX_FILES: usize = 10;

/// A path of the code, as its parts.
type Parts = Vec<String>;

/// Checks that no circle has too many files.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.crates.iter().filter_map(|member| judge(member, &circle(tree, member))).collect()
}

/// Returns the largest circle of the workspace, for people.
pub(super) fn largest(tree: &Tree) -> String {
    let all = tree.crates.iter().map(|member| (circle(tree, member).len(), member.name.as_str()));
    match all.max() {
        Some((files, name)) if files > 1 => {
            format!("the largest circle of imports has {files} files, in {name}")
        }
        _ => "no circle of imports".to_owned(),
    }
}

fn judge(member: &Crate, circle: &[&str]) -> Option<Problem> {
    let files = circle.len();
    let first = circle.first().filter(|_| files > MAX_FILES)?;
    let wrong = format!("{files} files of `{}` import each other: {}", member.name, circle.join(", "));
    Some(Problem::fault(first, 0, wrong, "move the items that both sides need into a file below them"))
}

/// Returns the paths of the largest circle of a crate.
fn circle<'t>(tree: &'t Tree, member: &Crate) -> Vec<&'t str> {
    let mut graph = DiGraph::<&str, ()>::new();
    let mut nodes = BTreeMap::new();
    for (from, to) in imports(tree, member) {
        let [from, to] = [from, to].map(|path| *nodes.entry(path).or_insert_with(|| graph.add_node(path)));
        graph.add_edge(from, to, ());
    }
    let largest = tarjan_scc(&graph).into_iter().max_by_key(Vec::len).unwrap_or_default();
    let mut paths: Vec<&str> = largest.into_iter().map(|node| graph[node]).collect();
    paths.sort_unstable();
    if paths.len() > 1 { paths } else { Vec::new() }
}

/// Returns the imports between the files of a crate, each once: the path of the file that imports, then of the other.
pub(super) fn imports<'t>(tree: &'t Tree, member: &Crate) -> BTreeSet<(&'t str, &'t str)> {
    let modules = Modules::of(tree, member);
    let mut found = BTreeSet::new();
    for (from, module) in modules.files.iter().enumerate() {
        let targets = module.uses.iter().filter_map(|used| modules.resolve(&module.name, &used.parts));
        found.extend(targets.filter(|to| *to != from).map(|to| (module.path, modules.files[to].path)));
    }
    found
}

/// The files of a crate as modules.
struct Modules<'t> {
    files: Vec<Module<'t>>,
    by_name: BTreeMap<Parts, usize>,
}

/// One file.
struct Module<'t> {
    path: &'t str,
    /// The names of the modules that lead to it, without `crate`.
    name: Parts,
    uses: Vec<Use>,
}

/// A path that a file uses.
struct Use {
    parts: Parts,
    /// The name that an import gives it in the file.
    known_as: Option<String>,
}

impl<'t> Modules<'t> {
    fn of(tree: &'t Tree, member: &Crate) -> Self {
        let prefix = format!("{}/src/", member.folder);
        let ours = tree.files.iter().filter(|file| !file.is_test());
        let files = ours.filter_map(|file| {
            let name = name(file.path.strip_prefix(&prefix)?.strip_suffix(".rs")?);
            Some(Module { path: &file.path, name, uses: uses(file) })
        });
        let files: Vec<Module<'t>> = files.collect();
        let mut by_name = BTreeMap::new();
        for (index, module) in files.iter().enumerate() {
            // A library goes before the program that calls it.
            by_name.entry(module.name.clone()).or_insert(index);
        }
        Self { files, by_name }
    }

    /// Returns the file with the item that a path names, seen from a module.
    fn resolve(&self, from: &[String], parts: &[String]) -> Option<usize> {
        self.follow(from, parts, 8)
    }

    fn follow(&self, from: &[String], parts: &[String], hops: usize) -> Option<usize> {
        let mut at: Parts = from.to_vec();
        let mut rest = parts.iter();
        let first = rest.as_slice().first()?;
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
            }
            child => {
                at.push(child.to_owned());
                self.by_name.get(&at)?;
            }
        }
        rest.next();
        while rest.as_slice().first().is_some_and(|part| part == "super") {
            at.pop()?;
            rest.next();
        }
        while let Some(part) = rest.as_slice().first() {
            at.push(part.clone());
            if !self.by_name.contains_key(&at) {
                at.pop();
                break;
            }
            rest.next();
        }
        let file = *self.by_name.get(&at)?;
        // A re-exported item belongs to the file that it comes from.
        let passed = rest.as_slice().first().filter(|_| hops > 0).and_then(|item| {
            let used = self.files[file].uses.iter().find(|used| used.known_as.as_ref() == Some(item))?;
            let path: Parts = used.parts.iter().chain(&rest.as_slice()[1..]).cloned().collect();
            self.follow(&at, &path, hops - 1)
        });
        Some(passed.unwrap_or(file))
    }
}

/// Returns the module that a file is, from its path below `src` without its ending.
fn name(path: &str) -> Parts {
    let mut parts: Parts = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] || parts == ["main"] {
        parts.pop();
    }
    parts
}

/// Returns the paths in the code of a file that ships.
fn uses(file: &File) -> Vec<Use> {
    let Some(source) = &file.source else { return Vec::new() };
    let text: String = source.shipped().flat_map(|(_, line)| [line, "\n"]).collect();
    let words = tokens(&text);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let begins = matches!(*word, "crate" | "super" | "self") && words.get(at + 1) == Some(&"::");
        let follows = at > 0 && words[at - 1] == "::";
        if *word == "use" {
            at += 1;
            tree(&words, &mut at, &mut Vec::new(), true, &mut found);
        } else if begins && !follows {
            tree(&words, &mut at, &mut Vec::new(), false, &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Splits code into names, `::` and single characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        if !first.is_whitespace() {
            words.push(word);
        }
        rest = behind;
    }
    words
}

/// Reads a path, or a tree of them in braces, and leaves `at` behind it.
fn tree(words: &[&str], at: &mut usize, before: &mut Parts, is_import: bool, found: &mut Vec<Use>) {
    let depth = before.len();
    loop {
        match words.get(*at).copied() {
            Some("{") => {
                *at += 1;
                while !matches!(words.get(*at).copied(), None | Some("}")) {
                    let begun = *at;
                    tree(words, at, before, is_import, found);
                    // A comma, or a token that begins no path.
                    if *at == begun || words.get(*at) == Some(&",") {
                        *at += 1;
                    }
                }
                *at += 1;
                before.truncate(depth);
                return;
            }
            Some("::") => {
                *at += 1;
                continue;
            }
            Some(word) if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                before.push(word.to_owned());
                *at += 1;
            }
            Some("*") if is_import => *at += 1,
            _ => break,
        }
        if words.get(*at) != Some(&"::") {
            break;
        }
    }
    let mut known_as = before.last().cloned();
    if is_import && words.get(*at) == Some(&"as") {
        known_as = words.get(*at + 1).map(|word| (*word).to_owned());
        *at += 2;
    }
    if before.last().is_some_and(|last| last == "self") && before.len() > 1 {
        before.pop();
        known_as = before.last().cloned();
    }
    if before.len() > depth || depth > 0 {
        found.push(Use { parts: before.clone(), known_as: known_as.filter(|_| is_import) });
    }
    before.truncate(depth);
}

#[cfg(test)]
mod tests {
    use super::{check, circle, largest, uses};
    use crate::tidy::planted::{at, tree};
    use crate::tidy::tree::File;

    #[track_caller]
    fn circle_of(files: &[(&str, &str)], expected: &[&str]) {
        let tree = tree(files);
        assert_eq!(circle(&tree, &tree.crates[0]), expected);
    }

    #[test]
    fn paths_are_read_from_imports_and_code() {
        let text = "use super::a::{self, B as C, d::*};\npub(crate) use e::F;\nfn f() { crate::g::h(self::i::J) }\n// use super::no;";
        let read: Vec<String> = uses(&File::new("crates/a/src/x.rs", text.to_owned()))
            .iter()
            .map(|used| format!("{} {}", used.parts.join("::"), used.known_as.as_deref().unwrap_or("-")))
            .collect();
        let expected =
            ["super::a a", "super::a::B C", "super::a::d d", "e::F F", "crate::g::h -", "self::i::J -"];
        assert_eq!(read, expected);
    }

    #[test]
    fn files_importing_each_other_are_a_circle() {
        let lib = ("crates/a/src/lib.rs", "mod b; mod c;");
        circle_of(&[lib, ("crates/a/src/b.rs", "use crate::c::D;"), ("crates/a/src/c.rs", "")], &[]);
        let both = ["crates/a/src/b.rs", "crates/a/src/c.rs"];
        for back in ["use super::b::E;", "fn f() { super::b::e() }", "use crate::b::{E, F};"] {
            circle_of(&[lib, ("crates/a/src/b.rs", "use crate::c::D;"), ("crates/a/src/c.rs", back)], &both);
        }
        // A test may look at everything.
        let test = "#[cfg(test)]\nmod tests {\n    use crate::b::E;\n}\n";
        circle_of(&[lib, ("crates/a/src/b.rs", "use crate::c::D;"), ("crates/a/src/c.rs", test)], &[]);
    }

    #[test]
    fn reexported_import_counts_for_the_defining_file() {
        let lib = ("crates/a/src/lib.rs", "mod b; mod c; pub use c::D;");
        circle_of(&[lib, ("crates/a/src/b.rs", "use super::D;"), ("crates/a/src/c.rs", "")], &[]);
        circle_of(
            &[lib, ("crates/a/src/b.rs", "use super::D;"), ("crates/a/src/c.rs", "use super::b;")],
            &["crates/a/src/b.rs", "crates/a/src/c.rs"],
        );
    }

    #[test]
    fn circle_with_too_many_files_is_found() {
        let ring = |files: usize| {
            let path = |n: usize| format!("crates/a/src/f{n}.rs");
            let text = |n: usize| format!("use super::f{}::X;", (n + 1) % files);
            (0..files).map(|n| (path(n), text(n))).collect::<Vec<_>>()
        };
        for (files, expected) in [(10, &[][..]), (11, &["crates/a/src/f0.rs:0"][..])] {
            let ring = ring(files);
            let planted: Vec<(&str, &str)> = ring.iter().map(|(path, text)| (&**path, &**text)).collect();
            let tree = tree(&planted);
            at(&check(&tree), expected);
            assert_eq!(largest(&tree), format!("the largest circle of imports has {files} files, in a"));
        }
    }
}
