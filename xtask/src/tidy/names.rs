//! Names that a stranger would not search for.
//!
//! A name tells the field's own word for what it names. The words of the lists were used as riddles before: participles,
//! prepositions and pronouns as types, superlatives as limits. A reader who knew the field found none of them.

use super::Problem;
use super::tree::{File, Tree};

/// Words that stand in no name of a type, variant, function, constant, file or test.
const WORDS: &[&str] = &["came", "told", "stood", "brought", "handed", "whoever", "nobody"];

/// Words that stand in no name of a constant: a limit is `MAX_…`, a time is `…_TIMEOUT` or `…_INTERVAL`.
const LIMITS: &[&str] = &["most", "longest", "deepest", "patience"];

/// Types that have a plain name now.
const TYPES: &[&str] = &[
    "Acting",
    "Added",
    "Adding",
    "AsSeen",
    "Asked",
    "AskedBefore",
    "Became",
    "Begun",
    "Bound",
    "Brought",
    "BroughtFiles",
    "Came",
    "CameTo",
    "Desk",
    "Given",
    "Ground",
    "Hand",
    "Handed",
    "Hole",
    "Home",
    "Hub",
    "InHand",
    "InPlace",
    "InRoom",
    "Kept",
    "Knock",
    "Lane",
    "Later",
    "LetGo",
    "Letter",
    "Not",
    "Nowhere",
    "Office",
    "Outside",
    "Own",
    "Parcel",
    "Parked",
    "PutBack",
    "Reach",
    "Shelf",
    "Stood",
    "Thing",
    "ThrownAway",
    "Told",
    "Undone",
    "UsedCall",
    "Words",
    "World",
];

/// Variants that have a plain name now.
const VARIANTS: &[&str] = &["Doubt", "Standing", "Vouched"];

/// Functions that have a plain name now.
const FUNCTIONS: &[&str] = &[
    "expect_no_hash",
    "hindrance",
    "keeps_from",
    "led",
    "look_around",
    "parse_hole",
    "set_free",
    "stands_with_its_maker",
    "stir",
    "take_up",
    "tell",
    "words",
    "work_through",
];

/// Files that have a plain name now.
const FILES: &[&str] = &[
    "acting",
    "additions",
    "again",
    "alike",
    "around",
    "as_it_is",
    "as_seen",
    "asked",
    "asks",
    "attend",
    "bound",
    "deep",
    "deeper",
    "desk",
    "early",
    "elsewhere",
    "gardener",
    "ground",
    "head",
    "hindrance",
    "hole",
    "home",
    "hosts",
    "hub",
    "in_place",
    "journal_of_code",
    "knock",
    "later",
    "leaves",
    "letter",
    "letters",
    "making",
    "more",
    "net",
    "own",
    "pieces",
    "planned",
    "ready",
    "refused",
    "release",
    "requested",
    "said",
    "seen",
    "small",
    "stand",
    "standing",
    "surfaces",
    "sweeper",
    "tally",
    "tighter",
    "together",
    "undone",
    "unspell",
    "used",
    "uses",
    "wish",
    "within",
    "words",
    "world",
    "yes",
];

/// Words with which no comment begins.
const OPENERS: &[&str] = &["What", "Whoever", "Nobody"];

const WAY_OUT: &str = "use the field's own word; the glossary in ARCHITECTURE.md has ours";

/// Checks the names of types, variants, functions, constants, files and tests.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, source, _) in tree.rust() {
        if let Some(stem) = stem(file).filter(|stem| FILES.contains(stem) || has(stem, WORDS)) {
            problems.push(Problem::fault(&file.path, 0, format!("the file is called `{stem}`"), WAY_OUT));
        }
        let mut in_enum = None;
        for (number, line) in source.every() {
            for (kind, name) in definitions(line, &mut in_enum) {
                if is_riddle(kind, name) {
                    let wrong = format!("a {} is called `{name}`", kind.noun());
                    problems.push(Problem::fault(&file.path, number, wrong, WAY_OUT));
                }
            }
        }
    }
    problems
}

/// Checks the first word of each sentence in comments and documents.
pub(super) fn comments(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (index, sentences) in prose(file) {
            if let Some(word) = OPENERS.iter().find(|word| begins_a_sentence(sentences, word)) {
                let wrong = format!("a sentence begins with `{word}`");
                let way_out = "begin with the actor or the thing: subject, verb, object";
                problems.push(Problem::fault(&file.path, index + 1, wrong, way_out));
            }
        }
    }
    problems
}

/// Returns the lines of a file that are written for readers, each with its index and without the marks before it.
fn prose(file: &File) -> Vec<(usize, &str)> {
    let lines = file.text.lines().enumerate();
    if let Some(source) = &file.source {
        // The comment is blanked out of the code, so a `//` within a text is none.
        let is_blank = |index: usize| source.code.get(index).is_none_or(|code| code.trim().is_empty());
        return lines
            .filter(|(index, _)| is_blank(*index))
            .filter_map(|(index, text)| Some((index, text.trim_start().strip_prefix("//")?)))
            .map(|(index, text)| (index, text.trim_start_matches(['/', '!'])))
            .collect();
    }
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let marks: &[&str] = match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "js" | "mjs" | "css" => &["//", "/*", "*"],
        "toml" | "sh" | "yml" => &["#"],
        "md" if is_ours(&file.path) => {
            // Odd pieces between fences are commands and answers.
            let mut fenced = false;
            return lines
                .filter(|(_, text)| {
                    let is_fence = text.trim_start().starts_with("```");
                    fenced ^= is_fence;
                    !fenced && !is_fence
                })
                .map(|(index, text)| (index, text.trim_start_matches(['#', '-', '*', '|', '>', ' '])))
                .collect();
        }
        _ => return Vec::new(),
    };
    lines
        .filter_map(|(index, text)| {
            let text = text.trim_start();
            marks.iter().find_map(|mark| text.strip_prefix(mark)).map(|text| (index, text))
        })
        .map(|(index, text)| (index, text.trim_start_matches(['*', '#'])))
        .collect()
}

/// Returns whether a document is documentation. Other documents are data of examples and tests.
fn is_ours(path: &str) -> bool {
    !path.contains('/') || path.starts_with("docs/") || path.ends_with("/README.md")
}

/// Returns whether the word opens the line or a later sentence in it.
fn begins_a_sentence(text: &str, word: &str) -> bool {
    let opens = |rest: &str| {
        rest.strip_prefix(word)
            .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let ends = [". ", "! ", "? ", "| ", "**"];
    opens(text.trim_start())
        || ends.iter().any(|end| text.match_indices(end).any(|(at, _)| opens(&text[at + end.len()..])))
}

/// Returns the name of a file that its author chose.
fn stem(file: &File) -> Option<&str> {
    let name = file.path.rsplit('/').next()?.strip_suffix(".rs")?;
    match name {
        "mod" => file.path.rsplit('/').nth(1),
        name => Some(name),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Variant,
    Function,
    Constant,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Variant => "variant",
            Self::Function => "function",
            Self::Constant => "constant",
        }
    }
}

fn is_riddle(kind: Kind, name: &str) -> bool {
    has(name, WORDS)
        || match kind {
            Kind::Type => TYPES.contains(&name),
            Kind::Variant => VARIANTS.contains(&name),
            Kind::Function => FUNCTIONS.contains(&name) || name.starts_with("what_"),
            Kind::Constant => has(name, LIMITS),
        }
}

/// Returns whether one of the words is a part of a name, in snake case or camel case.
fn has(name: &str, words: &[&str]) -> bool {
    let mut parts = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        let begins = c == '_' || c.is_uppercase() && before.is_lowercase();
        if begins && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c != '_') {
            part.extend(c.to_lowercase());
        }
        before = c;
    }
    parts.iter().any(|part| words.contains(&part.as_str()))
}

/// Returns the definitions in a line of code. `in_enum` is the indentation of the enum in which the line stands.
fn definitions<'l>(line: &'l str, in_enum: &mut Option<usize>) -> Vec<(Kind, &'l str)> {
    let indent = line.len() - line.trim_start().len();
    let mut found = Vec::new();
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let mut begins_enum = false;
    while let Some(word) = words.next() {
        let kind = match word {
            "struct" | "enum" | "trait" | "type" | "union" => Kind::Type,
            "fn" => Kind::Function,
            "const" | "static" => Kind::Constant,
            "pub" | "crate" | "super" | "in" | "async" | "unsafe" | "extern" | "default" => continue,
            _ => break,
        };
        let mut name = words.next();
        // `const fn` is a function, and `static mut` has its name behind.
        let kind = match name {
            Some("fn") if kind == Kind::Constant => {
                name = words.next();
                Kind::Function
            }
            Some("mut") => {
                name = words.next();
                kind
            }
            _ => kind,
        };
        begins_enum = word == "enum";
        found.extend(name.map(|name| (kind, name)));
        break;
    }
    // A constant can also be a parameter of a type or a function.
    for (at, _) in line.match_indices("const ").filter(|&(at, _)| line[..at].ends_with(['<', ' '])) {
        let name = line[at + 6..].split(|c: char| !c.is_alphanumeric() && c != '_').next();
        let is_parameter = line[..at].trim_end().ends_with(['<', ',']);
        found.extend(name.filter(|_| is_parameter).map(|name| (Kind::Constant, name)));
    }
    if begins_enum {
        *in_enum = (!line.contains('}')).then_some(indent);
    } else if let Some(outer) = *in_enum {
        let name =
            line.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        if line.trim_start().starts_with('}') && indent == outer {
            *in_enum = None;
        } else if indent == outer + 4 && name.starts_with(char::is_uppercase) {
            found.push((Kind::Variant, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{check, comments};
    use crate::tidy::planted::{at, tree};

    #[test]
    fn riddles_are_found_among_definitions() {
        let find = |path: &str, text: &str, expected: &[&str]| at(&check(&tree(&[(path, text)])), expected);
        let here = ["crates/a/src/x.rs:1"];
        for riddle in [
            "pub struct Came;",
            "enum Desk {}",
            "type Told = u8;",
            "pub(crate) fn told() {}",
            "fn what_is_left() {}",
            "const fn words() {}",
            "const MOST_ITEMS: usize = 1;",
            "static LONGEST: u8 = 1;",
            "fn nobody_reads_it() {}",
            "struct List<T, const MOST: usize>(Vec<T>);",
        ] {
            find("crates/a/src/x.rs", riddle, &here);
        }
        find(
            "crates/a/src/x.rs",
            "enum Outcome {\n    Vouched,\n    Done { came: u8 },\n}",
            &["crates/a/src/x.rs:2"],
        );
        for plain in [
            "pub struct Camera;",
            "fn almost() {}",
            "const MAX_ITEMS: usize = 1;",
            "// fn told() {}",
            "let told = 1;",
        ] {
            find("crates/a/src/x.rs", plain, &[]);
        }
        find("crates/a/src/brought.rs", "", &["crates/a/src/brought.rs:0"]);
        find("crates/a/src/handed/mod.rs", "", &["crates/a/src/handed/mod.rs:0"]);
    }

    #[test]
    fn sentence_that_begins_with_a_pronoun_is_found() {
        let find =
            |path: &str, text: &str, expected: &[&str]| at(&comments(&tree(&[(path, text)])), expected);
        let rust = "crates/a/src/x.rs";
        find(rust, "/// What it does.\nfn f() {}", &["crates/a/src/x.rs:1"]);
        find(rust, "//! Whoever reads.", &["crates/a/src/x.rs:1"]);
        find(rust, "    // Nobody waits.", &["crates/a/src/x.rs:1"]);
        find(rust, "/// It ends. What follows waits.", &["crates/a/src/x.rs:1"]);
        find(rust, "/// Whatever it does. Whats.\nfn f() { \"// What\" }", &[]);
        find("crates/a/assets/a.js", "let a = 1;\n  // What it does.", &["crates/a/assets/a.js:2"]);
        find("crates/a/assets/a.css", "/* Nobody sees it. */", &["crates/a/assets/a.css:1"]);
        find("crates/a/assets/a.js", "ask('// What');", &[]);
        find("deny.toml", "# What may be linked.\nname = \"What\"", &["deny.toml:1"]);
        find("docs/a.md", "# Title\n\n- **What** is kept.", &["docs/a.md:3"]);
        find("docs/a.md", "```text\nWhat is it?\n```\nA tool.", &[]);
        find("examples/a/deck.md", "What we ask for.", &[]);
    }
}
