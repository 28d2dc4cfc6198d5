//! The lists of protected names, compared with lists that others publish. `cargo xtask tools` installs those.
//!
//! Nothing of them is kept here. A name that counts for others and not for us stands below with the reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::protected::{ProtectionReason, protected};

use crate::tools;

fn text(path: &Path) -> String {
    let help = "`cargo xtask tools` installs the public lists";
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}; {help}", path.display()))
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let help = "`cargo xtask tools` installs the public lists";
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}; {help}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

/// Returns the texts in single quotes.
fn quoted(line: &str) -> Vec<&str> {
    line.split('\'').skip(1).step_by(2).collect()
}

/// Checks that each name counts, except the given ones, and that there are so many.
fn check(
    names: &BTreeSet<String>,
    least: usize,
    ordinary: &[&str],
    counts: impl Fn(ProtectionReason) -> bool,
) {
    assert!(names.len() >= least, "only {} names: the public list has another form", names.len());
    let missed = names.iter().filter(|name| !protected(name).is_some_and(&counts));
    let missed: Vec<&String> = missed.filter(|name| !ordinary.contains(&name.as_str())).collect();
    assert!(missed.is_empty(), "{} of {} names do not count: {missed:#?}", missed.len(), names.len());
}

/// identify, the library of pre-commit, knows the names of build files, settings and texts.
#[test]
fn build_files_and_settings_of_identify_count() {
    let list = text(&tools().join("lists/identify/extensions.py"));
    let names = list.split_once("\nNAMES").expect("identify has names").1;
    let names = names.lines().filter(|line| line.starts_with("    '"));
    let names: BTreeSet<String> =
        names.filter_map(|line| quoted(line).first().map(|name| (*name).to_owned())).collect();
    let ordinary = [
        // Texts for readers.
        "AUTHORS",
        "CHANGELOG",
        "CONTRIBUTING",
        "COPYING",
        "LICENSE",
        "MAINTAINERS",
        "NEWS",
        "NOTICE",
        "PATENTS",
        "README",
        // Settings from which no program runs anything.
        ".dockerignore",
        ".editorconfig",
        ".gitignore",
        ".mailmap",
        ".npmignore",
        ".prettierignore",
        // Settings of one program that reads them where it is told to.
        "bblayers.conf",
        "bitbake.conf",
        "copy.bara.sky",
        "sys.config",
        "sys.config.src",
        "SCsub",
    ];
    check(&names, 60, &ordinary, |_| true);
}

/// mackup knows the settings of some hundred programs.
#[test]
fn settings_of_mackup_count() {
    let mut names = BTreeSet::new();
    for file in files(&tools().join("lists/mackup/applications"), ".cfg") {
        let mut section = "";
        let list = text(&file);
        for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match section {
                _ if line.starts_with('[') => section = line,
                "[configuration_files]" if line.starts_with('.') => drop(names.insert(line.to_owned())),
                "[xdg_configuration_files]" => drop(names.insert(format!(".config/{line}"))),
                _ => {}
            }
        }
    }
    check(&names, 500, &[".editorconfig", ".eslintignore"], |_| true);
}

/// ruler writes the rules of a project for many agents.
#[test]
fn files_of_agents_of_ruler_count() {
    let mut names = BTreeSet::new();
    for file in files(&tools().join("lists/node_modules/@intellectronica/ruler/dist/agents"), ".js") {
        let code = text(&file);
        for call in code.split("join(projectRoot, ").skip(1) {
            let parts = quoted(call.split(')').next().unwrap_or_default());
            if !parts.is_empty() {
                names.insert(parts.join("/"));
            }
        }
    }
    // A directory alone holds the files that count.
    names.retain(|name| name.rsplit('/').next().is_some_and(|last| last.contains('.')));
    let listed = |why| matches!(why, ProtectionReason::Keys | ProtectionReason::Obeyed);
    check(&names, 20, &[], listed);
}

/// credsweeper looks for keys in every file with one of these endings.
#[test]
fn endings_of_key_files_of_credsweeper_count() {
    let list = text(&tools().join("lists/credsweeper/secret/config.json"));
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let endings = list["find_by_ext_list"].as_array().unwrap().iter().map(|ending| ending.as_str().unwrap());
    let names = endings.map(|ending| format!("server{ending}")).collect();
    // Certificates and requests for them are public.
    check(&names, 8, &["server.cer", "server.csr"], |why| why == ProtectionReason::Keys);
}

/// trufflehog3 has an expression for each kind of key. A text of its form is made for each, and must be found.
#[test]
fn keys_of_the_forms_of_trufflehog_are_found() {
    use proptest::strategy::{Strategy as _, ValueTree as _};

    let list = text(&tools().join("lists/trufflehog3/static/rules.yml"));
    let patterns = list.lines().filter_map(|line| line.trim().strip_prefix("pattern: \""));
    let patterns = patterns.filter_map(|text| serde_json::from_str::<String>(&format!("\"{text}")).ok());
    // Left out are words beside a long text (`[f|F]…`), which also stand beside digests and identifiers.
    let unlike = ["[", "SK[", "key-", "\"type\"", "[0-9]"];
    let patterns: Vec<String> =
        patterns.filter(|pattern| !unlike.iter().any(|begins| pattern.starts_with(begins))).collect();
    assert!(patterns.len() >= 14, "only {} forms: the public list has another form", patterns.len());
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut missed = Vec::new();
    for pattern in patterns {
        // `[p|b|o|a]` is meant as letters without `|` and `o`. An open end is as long as keys are.
        let form = pattern.replace("[p|b|o|a]", "[pb]").replace("]+", "]{60}");
        let form = form.replace("hooks.slack.com", r"hooks\.slack\.com");
        let samples = proptest::string::string_regex(&form).unwrap_or_else(|error| panic!("{form}: {error}"));
        for _ in 0..20 {
            let sample = samples.new_tree(&mut runner).unwrap().current();
            let body = "MC4CAQAwBQYDK2VwBCIEIJ1hgr5ZQ0Jm3V1nYt8zq0Lw3Jm9o0v0c1cA2xq9qW5x";
            if policy::secrets::key_in(format!("a = '{sample}'\n{body}\n").as_bytes()).is_none() {
                missed.push(format!("{pattern}: {sample}"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// The content of each file with a number that this divides is read. `docs/measurements.md` has the figures of all.
const STRIDE: usize = 7;

/// Of the files of public source trees, reading at most one in a hundred asks, by name or by content.
#[test]
fn public_source_trees_are_read_almost_unasked() {
    let trees = tools().join("trees");
    let stride =
        std::env::var("ALMONER_LIST_STRIDE").ok().and_then(|text| text.parse().ok()).unwrap_or(STRIDE);
    let named = std::env::var("ALMONER_LIST_TREE").map(PathBuf::from);
    let usual = ["django", "sympy", "jupyterlab"].map(|name| trees.join(name)).to_vec();
    for tree in named.map_or(usual, |tree| vec![tree]) {
        let mut paths = Vec::new();
        walk(&tree, &mut paths);
        paths.sort();
        assert!(paths.len() > 100, "{} is missing: `cargo xtask tools` installs it", tree.display());
        let (mut by_name, mut by_content, mut read) = (Vec::new(), Vec::new(), 0);
        for (at, path) in paths.iter().enumerate() {
            let shown = path.strip_prefix(&tree).unwrap().to_string_lossy().into_owned();
            if protected(&shown) == Some(ProtectionReason::Keys) {
                by_name.push(shown);
                continue;
            }
            if at % stride != 0 {
                continue;
            }
            read += 1;
            if let Some(kind) = std::fs::read(path).ok().and_then(|bytes| policy::secrets::key_in(&bytes)) {
                by_content.push(format!("{shown}: {kind}"));
            }
        }
        println!(
            "{}: {} of {} files ask by name, {} of {read} by content: {by_content:#?}",
            tree.display(),
            by_name.len(),
            paths.len(),
            by_content.len()
        );
        assert!(by_name.len() * 200 <= paths.len(), "{}: {by_name:#?}", tree.display());
        assert!(by_content.len() * 200 <= read, "{}: {by_content:#?}", tree.display());
    }
}
