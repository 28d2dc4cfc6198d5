//! Rules about single files and crates.

use super::Problem;
use super::source::has_word;
use super::tree::Tree;

/// The crates that talk to C or to the system in ways that safe Rust has no words for.
const UNSAFE: &[&str] = &["vat", "sandbox"];

/// Lines above which a file probably holds more than one concept.
const MAX_LINES: usize = 700;

/// `unsafe` stays in two crates; all others forbid it.
pub(super) fn unsafe_code(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, source, owner) in tree.rust().filter(|(_, _, owner)| !UNSAFE.contains(&owner.name.as_str())) {
        for (number, _) in source.every().filter(|(_, line)| has_word(line, "unsafe")) {
            let wrong =
                format!("`unsafe` in `{}`; it may stand only in {}", owner.name, UNSAFE.join(" and "));
            let way_out = "use a safe wrapper (rustix), or move the code to one of those crates";
            problems.push(Problem::fault(&file.path, number, wrong, way_out));
        }
    }
    for member in tree.crates.iter().filter(|each| !UNSAFE.contains(&each.name.as_str())) {
        let Some(root) = tree.root_of(member) else { continue };
        let forbids = |line: &str| line.starts_with("#![forbid(") && has_word(line, "unsafe_code");
        if !root.source.iter().flat_map(|source| source.every()).any(|(_, line)| forbids(line)) {
            let wrong = format!("`{}` does not forbid unsafe code", member.name);
            problems.push(Problem::fault(
                &root.path,
                1,
                wrong,
                "add `#![forbid(unsafe_code)]` behind the crate's docs",
            ));
        }
    }
    problems
}

/// Checks that each crate describes itself: in its manifest and at the top of its root.
pub(super) fn descriptions(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for member in &tree.crates {
        if member.description.trim().is_empty() {
            let wrong = format!("the crate `{}` has no description", member.name);
            let way_out = "say in one sentence what it is for: `description = \"…\"`";
            problems.push(Problem::fault(&format!("{}/Cargo.toml", member.folder), 0, wrong, way_out));
        }
        let Some(root) = tree.root_of(member) else { continue };
        if !root.text.lines().any(|line| line.starts_with("//! ")) {
            let wrong = format!("the crate `{}` has no docs", member.name);
            problems.push(Problem::fault(
                &root.path,
                1,
                wrong,
                "begin the file with `//!`: what it does, and what it does not",
            ));
        }
    }
    problems
}

/// Checks that no code that ships stops at a value that it did not expect. A parser's own `expect(Token)` is another
/// thing: only an `expect` with a message is meant.
pub(super) fn unwrap(tree: &Tree) -> Vec<Problem> {
    const STOPS: &[&str] =
        &[".unwrap()", ".unwrap_err()", ".expect(\"", ".expect(&format!", ".expect_err(\""];
    let mut problems = Vec::new();
    for (file, source, _) in tree.rust() {
        for (number, line) in source.shipped() {
            for stop in STOPS.iter().filter(|stop| line.contains(**stop)) {
                let wrong = format!("`{stop}` outside tests can end the daemon");
                let way_out = "return an error with `?`, or make the impossible case unrepresentable";
                problems.push(Problem::fault(&file.path, number, wrong, way_out));
            }
        }
    }
    problems
}

/// Checks that text from models and guests can be printed only through the function that makes it visible. Its type
/// must not learn to print itself.
pub(super) fn untrusted(tree: &Tree) -> Vec<Problem> {
    const WAYS: &[&str] = &["Display", "ToString", "Deref", "AsRef", "Borrow"];
    let mut problems = Vec::new();
    for (file, source, _) in tree.rust() {
        for (number, line) in source.every() {
            let Some((way, _)) = line.split_once(" for ").filter(|(_, to)| {
                has_word(line, "impl")
                    && to.trim_start_matches("crate::").starts_with("Untrusted")
                    && has_word(to, "Untrusted")
            }) else {
                continue;
            };
            for name in WAYS.iter().filter(|name| has_word(way, name)) {
                let wrong = format!(
                    "`Untrusted` gets `{name}`, and so a way to a screen that `visible()` does not guard"
                );
                let way_out = "print `visible(&text)`; for bytes on their way to a model or a file, name the method after that";
                problems.push(Problem::fault(&file.path, number, wrong, way_out));
            }
        }
    }
    problems
}

/// Notes long files, which are worth a look.
pub(super) fn length(tree: &Tree) -> Vec<Problem> {
    let long = tree.files.iter().filter(|file| file.source.is_some()).filter_map(|file| {
        let lines = file.text.lines().count();
        let wrong = format!("{lines} lines, more than {MAX_LINES}");
        (lines > MAX_LINES).then(|| {
            Problem::note(&file.path, 0, wrong, "if there are two concepts in it, give each its file")
        })
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::{descriptions, length, unsafe_code, untrusted, unwrap};
    use crate::tidy::planted::{at, tree};

    #[test]
    fn unsafe_is_found_and_must_be_forbidden() {
        let find =
            |path: &str, text: &str, expected: &[&str]| at(&unsafe_code(&tree(&[(path, text)])), expected);
        find("crates/caps/src/dir.rs", "let x = unsafe { y };", &["crates/caps/src/dir.rs:1"]);
        find("crates/caps/src/dir.rs", "// unsafe\nlet x = \"unsafe\";", &[]);
        find("crates/vat/src/lib.rs", "let x = unsafe { y };", &[]);
        find("crates/caps/src/lib.rs", "//! Docs.", &["crates/caps/src/lib.rs:1"]);
        find("crates/caps/src/lib.rs", "//! Docs.\n#![forbid(unsafe_code)]", &[]);
    }

    #[test]
    fn crates_need_a_description_and_docs() {
        at(&descriptions(&tree(&[("crates/caps/src/lib.rs", "//! Capabilities.")])), &[]);
        at(
            &descriptions(&tree(&[("crates/caps/src/lib.rs", "// Capabilities.")])),
            &["crates/caps/src/lib.rs:1"],
        );
        let mut silent = tree(&[("crates/caps/src/lib.rs", "//! Capabilities.")]);
        silent.crates[0].description.clear();
        at(&descriptions(&silent), &["crates/caps/Cargo.toml:0"]);
    }

    #[test]
    fn unwrap_stays_in_tests() {
        let find = |path: &str, text: &str, expected: &[&str]| at(&unwrap(&tree(&[(path, text)])), expected);
        find(
            "crates/caps/src/dir.rs",
            "x.unwrap();\ny.expect(\"it\");",
            &["crates/caps/src/dir.rs:1", "crates/caps/src/dir.rs:2"],
        );
        find("crates/caps/src/dir.rs", "self.expect(Token::Comma)?; x.unwrap_or(1); // .unwrap()", &[]);
        find("crates/caps/src/dir.rs", "#[cfg(test)]\nmod tests {\n    fn f() { x.unwrap(); }\n}", &[]);
        find("crates/caps/tests/it/main.rs", "x.unwrap();", &[]);
    }

    #[test]
    fn untrusted_text_cannot_print_itself() {
        let find = |text: &str, expected: &[&str]| {
            at(&untrusted(&tree(&[("crates/caps/src/u.rs", text)])), expected)
        };
        find("impl fmt::Display for Untrusted {", &["crates/caps/src/u.rs:1"]);
        find("impl std::ops::Deref for crate::Untrusted {", &["crates/caps/src/u.rs:1"]);
        find("impl AsRef<str> for Untrusted {", &["crates/caps/src/u.rs:1"]);
        find("impl Display for UntrustedSource {", &[]);
        find("impl fmt::Debug for Untrusted {", &[]);
        find("// impl fmt::Display for Untrusted {", &[]);
    }

    #[test]
    fn long_files_are_noted() {
        at(&length(&tree(&[("crates/caps/src/a.rs", &"x\n".repeat(701))])), &["crates/caps/src/a.rs:0"]);
        at(&length(&tree(&[("crates/caps/src/a.rs", &"x\n".repeat(700))])), &[]);
    }
}
