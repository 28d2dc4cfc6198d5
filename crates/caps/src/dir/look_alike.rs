//! Names that differ only in a way that a reader overlooks: in their Unicode form, spaces, case, dashes or quotation
//! marks, or invisible characters.

use std::os::fd::AsFd as _;

use cap_std::fs::Dir;
use kernel::proposal::Finding;
use passable::{Quoting, quoting, visible_line};
use unicode_normalization::UnicodeNormalization as _;

use super::{Limits, tree};
use crate::path::{Plain, Purpose, is_temporary};
use crate::walk::{self, Kind};

/// The maximum number of names of one directory that are compared.
const MAX_NAMES: usize = 100_000;

/// The maximum number of paths that one finding suggests.
const MAX_SUGGESTIONS: usize = 3;

/// Returns a text in the form in which look-alikes are equal. Wildcards of a pattern stay as they are.
pub(super) fn skeleton(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.nfkd().filter(|char| !is_invisible(*char)) {
        match plain(char) {
            // Several spaces look like one, and spaces at either end of a name are not seen.
            ' ' if out.is_empty() || out.ends_with([' ', '/']) => {}
            '/' => {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('/');
            }
            char => out.extend(char.to_lowercase()),
        }
    }
    out.truncate(out.trim_end_matches(' ').len());
    // A capital may have a small letter of another form.
    out.nfkd().collect()
}

/// Returns the plain character that a dash, a quotation mark or a space looks like.
pub(super) fn plain(char: char) -> char {
    match char {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' | '\u{2043}' => '-',
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2b9}' | '\u{2bc}' | '\u{b4}' | '`' | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' | '\u{ff02}' => '"',
        char if char.is_whitespace() => ' ',
        char => char,
    }
}

/// Returns whether a character shows nothing by itself. Marks over letters are not among these.
fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the difference between two look-alikes in a few words.
fn difference(one: &str, other: &str) -> &'static str {
    type Form = fn(&str) -> String;
    const FORMS: [(&str, Form); 6] = [
        ("Unicode form", |text| text.nfc().collect()),
        ("upper and lower case", str::to_lowercase),
        ("spaces", |text| {
            let spaced: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
            let names = spaced.split('/').map(|name| name.split(' ').filter(|word| !word.is_empty()));
            names.map(|words| words.collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("/")
        }),
        ("dashes or quotation marks", |text| text.chars().map(plain).collect()),
        ("invisible characters", |text| text.chars().filter(|char| !is_invisible(*char)).collect()),
        ("width or style of its characters", |text| text.nfkc().collect()),
    ];
    let found = FORMS.iter().find(|(_, form)| form(one) == form(other));
    found.map_or("case, spaces, Unicode form or look-alike characters", |(words, _)| words)
}

/// Returns a text as a model can write it in JSON without losing a character. Characters that have another form, or
/// are not plainly visible, are escaped.
pub(super) fn json_text(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        let mut own = [0; 4];
        let own: &str = char.encode_utf8(&mut own);
        let is_plain = matches!(char, ' '..='~')
            || (own.nfkd().eq([char]) && plain(char) == char && visible_line(own) == own);
        let is_mark = unicode_normalization::char::is_combining_mark(char);
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\t' => out.push_str("\\t"),
            _ if is_plain && !is_mark => out.push(char),
            _ => {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
    out
}

/// A path that exists, and looks like one that does not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Suggestion {
    /// The path that exists.
    pub(super) path: String,
    /// The difference, in a few words.
    difference: &'static str,
}

/// Returns the paths that look like `path` and that a hint may name. `places` are the absolute paths of the root.
pub(super) fn suggestions(root: &Dir, places: &[String], path: &str, limits: &Limits) -> Vec<Suggestion> {
    let mut found = vec![String::new()];
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        let wanted = skeleton(name);
        let mut next = Vec::new();
        for way in &found {
            for other in names(root, way).filter(|other| other == name || skeleton(other) == wanted) {
                next.push(if way.is_empty() { other } else { format!("{way}/{other}") });
            }
        }
        next.retain(|other| tree::is_nameable(root, places, other, limits));
        next.sort();
        next.truncate(MAX_SUGGESTIONS + 1);
        found = next;
    }
    let is_other = |other: &String| !other.is_empty() && other != path;
    let mut found: Vec<String> = found.into_iter().filter(is_other).collect();
    found.truncate(MAX_SUGGESTIONS);
    found.into_iter().map(|other| Suggestion { difference: difference(path, &other), path: other }).collect()
}

/// Returns the names in a directory that a call may use.
fn names(root: &Dir, way: &str) -> impl Iterator<Item = String> {
    let entries = root.read_dir(if way.is_empty() { "." } else { way }).ok();
    let names = entries.into_iter().flatten().take(MAX_NAMES);
    names
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !is_temporary(name) && Plain::check(name, Purpose::Look).is_ok())
}

/// Returns the finding about a missing path, with the paths that look like it.
pub(super) fn with_suggestions(finding: Finding, found: &[Suggestion]) -> Finding {
    let each = found.iter().map(|one| {
        quoting!("`{}`", visible_line(&one.path)).and(", which differs only in its ").and(one.difference)
    });
    let message = finding.message_quoting().and("; there is ").then(&Quoting::joined(each, ", and "));
    let paths = found.iter().map(|one| quoting!("{}", json_text(&one.path)));
    let allowed =
        Quoting::ours("this path, copied exactly (a JSON string): ").then(&Quoting::joined(paths, " or "));
    finding.saying(message).allowed(allowed)
}

/// Returns the finding that a new entry would look like an existing one that a hint may name. `is_directory` is the
/// kind of the new entry, and `moved` is the entry that would get the new name. `places` are the absolute paths of the
/// root.
pub(super) fn twin(
    root: &Dir,
    places: &[String],
    limits: &Limits,
    path: &Plain,
    is_directory: bool,
    moved: Option<&Plain>,
    at: &str,
) -> Option<Finding> {
    let all: Vec<&str> = path.as_str().split('/').collect();
    for (depth, name) in all.iter().enumerate() {
        let way = all[..depth].join("/");
        let here = walk::enter(root.as_fd(), all[..depth].iter().copied()).ok()?;
        match walk::kind(here.as_fd(), *name) {
            Ok(None) => {}
            Ok(Some(_)) => continue,
            Err(_) => return None,
        }
        // The first missing name is the first that would be new.
        let is_new_directory = is_directory || depth + 1 < all.len();
        let wanted = skeleton(name);
        let there = names(root, &way).filter(|other| skeleton(other) == wanted).find(|other| {
            let kind = walk::kind(here.as_fd(), other).ok().flatten();
            let is_same_kind = match is_new_directory {
                true => kind == Some(Kind::Directory),
                false => kind == Some(Kind::File),
            };
            let full = if way.is_empty() { other.clone() } else { format!("{way}/{other}") };
            let is_moved = moved.is_some_and(|moved| moved.as_str() == full);
            is_same_kind && !is_moved && tree::is_nameable(root, places, &full, limits)
        })?;
        let full: Vec<&str> = all[..depth].iter().copied().chain([there.as_str()]).collect();
        let (full, new) = (full.join("/"), all[..=depth].join("/"));
        let message = quoting!(
            "`{}` would be new beside `{}`, which differs only in its ",
            visible_line(&new),
            visible_line(&full)
        )
        .and(difference(name, &there));
        let whole: Vec<&str> = [full.as_str()].into_iter().chain(all[depth + 1..].iter().copied()).collect();
        let allowed = quoting!("{} (a JSON string, copied exactly)", json_text(&whole.join("/")))
            .and(", or a name that nobody takes for it");
        return Some(
            Finding::new("dir/look-alike", message)
                .at(at)
                .counter_example(visible_line(path.as_str()))
                .allowed(allowed),
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_have_one_skeleton_and_a_named_difference() {
        for (one, other, words) in [
            ("café.txt", "cafe\u{301}.txt", "Unicode form"),
            ("README.md", "readme.md", "upper and lower case"),
            ("shot 9.00 AM.png", "shot 9.00\u{202f}AM.png", "spaces"),
            ("a b.md", "a  b.md", "spaces"),
            ("notes.md", "notes.md ", "spaces"),
            ("it's.md", "it\u{2019}s.md", "dashes or quotation marks"),
            ("2020-2021.csv", "2020\u{2013}2021.csv", "dashes or quotation marks"),
            ("a.md", "a\u{200b}.md", "invisible characters"),
            ("データ.txt", "\u{ff83}\u{ff9e}\u{ff70}\u{ff80}.txt", "width or style of its characters"),
            ("報告１.txt", "報告1.txt", "width or style of its characters"),
            ("Zoë\u{a0}B.md", "zoe\u{308} b.md", "case, spaces, Unicode form or look-alike characters"),
            ("Docs / a.md", "docs/a.md", "case, spaces, Unicode form or look-alike characters"),
        ] {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
            assert_eq!(difference(one, other), words, "{one} {other}");
        }
        for (one, other) in
            [("cafe.txt", "café.txt"), ("a.md", "b.md"), ("ab", "a b"), ("a_b", "a b"), ("1", "l")]
        {
            assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }

    #[test]
    fn json_text_keeps_every_character() {
        for (path, text) in [
            ("a b.md", r#""a b.md""#),
            ("cafe\u{301}.txt", r#""cafe\u0301.txt""#),
            ("café", r#""caf\u00e9""#),
            ("9\u{202f}AM", r#""9\u202fAM""#),
            ("北京🙂", r#""北京🙂""#),
            ("a\"b", r#""a\"b""#),
        ] {
            assert_eq!(json_text(path), text);
            assert_eq!(serde_json::from_str::<String>(&json_text(path)).unwrap(), path);
        }
    }
}
