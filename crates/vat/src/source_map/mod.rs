//! The use of source maps: from a place in compiled code to the place in its original source.
//!
//! A map comes with the code, and is as foreign as the code. It is read only when a place is needed, in the process
//! of the vat. Nothing is fetched for it: the map is in the code itself, or beside it in an archive. A map that is
//! too large or malformed changes nothing. A false map can only lie about its own code.
//!
//! This module has its own reader, because it needs only one place, and a map may have millions of mappings.
//! Libraries keep them all in memory, which would not count against the vat's limit. This reader keeps none.

mod mappings;

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use mappings::find;

/// The maximum size of one map, and of all maps in an archive together, in bytes.
pub(crate) const MAX_MAP_BYTES: usize = 2 << 20;
/// The maximum number of original sources in one map.
const MAX_SOURCES: usize = 10_000;
/// The maximum number of sections in one map.
const MAX_SECTIONS: usize = 1_000;
/// The maximum number of characters of a source's name that are shown.
const MAX_NAME_LEN: usize = 200;
/// The number of lines at the end of the code that are searched for the map's address.
const LAST_LINES: usize = 10;

/// A place in the original source of compiled code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginalPlace {
    /// The name of the file in the map, which is foreign text.
    pub(crate) name: String,
    /// The line and column, counted from 1.
    pub(crate) at: (u32, u32),
    /// The text of the file, if the map contains it.
    pub(crate) text: Option<String>,
}

/// Returns the original place of a place in compiled code. The line and the column in bytes are counted from 1.
/// `beside` is the map that came with the code, for code without an inline map. Relative names in the map start at
/// `folder`.
pub(crate) fn original(
    code: &str,
    beside: Option<&str>,
    folder: &str,
    (line, column): (u32, u32),
) -> Option<OriginalPlace> {
    let inline = reference(code).and_then(unwrapped);
    let map: SourceMap<Section> = serde_json::from_str(without_guard(inline.as_deref().or(beside)?)).ok()?;
    let line = line.checked_sub(1)?;
    let column = in_units(code.lines().nth(line as usize)?, column.checked_sub(1)? as usize)?;
    let (map, at) = map.at(Offset { line, column })?;
    let origin = find(&map.mappings, at.line, at.column).filter(|_| map.version == 3)?;
    let source = map.sources.0.get(origin.source)?.as_deref().filter(|name| !name.is_empty())?;
    let text = map.sources_content.0.into_iter().nth(origin.source).flatten();
    let root = map.source_root.as_deref().unwrap_or_default();
    let at = (origin.line.checked_add(1)?, origin.column.checked_add(1)?);
    Some(OriginalPlace { name: name(folder, root, source), at, text })
}

/// Returns the map that the code names, if it is a relative path of a file.
pub(crate) fn beside(code: &str) -> Option<&str> {
    let relative = |url: &&str| {
        !url.is_empty()
            && !url.starts_with('/')
            && !url.contains([':', '?', '#', '\\', '%'])
            && url.len() < 512
    };
    reference(code).filter(relative)
}

/// Returns the address of the map, from the comment at the end of the code.
fn reference(code: &str) -> Option<&str> {
    for line in code.trim_end().rsplit('\n').take(LAST_LINES) {
        let line = line.trim();
        let named = line.strip_prefix("//# sourceMappingURL=");
        if let Some(url) = named.or_else(|| line.strip_prefix("//@ sourceMappingURL=")) {
            return url.split_whitespace().next();
        }
        // Other comments may follow the address, but no code.
        if !line.is_empty() && !line.starts_with("//") {
            return None;
        }
    }
    None
}

/// Returns the text of a map that is contained in the address.
fn unwrapped(url: &str) -> Option<String> {
    let (kind, data) = url.strip_prefix("data:application/json")?.split_once(',')?;
    if !kind.ends_with(";base64") || data.len() / 4 * 3 > MAX_MAP_BYTES {
        return None;
    }
    let bytes = passable::from_base64(data).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns the text of a map without its first line, if that line prevents the map from being run as code.
fn without_guard(text: &str) -> &str {
    match text.strip_prefix(")]}'") {
        Some(rest) => rest.split_once('\n').map_or("", |(_, rest)| rest),
        None => text,
    }
}

/// Returns a column in UTF-16 units, which maps use, for a column in bytes, which the engine uses.
fn in_units(line: &str, bytes: usize) -> Option<u32> {
    let before = line.char_indices().take_while(|(at, _)| *at < bytes).map(|(_, char)| char.len_utf16());
    u32::try_from(before.sum::<usize>()).ok()
}

/// Returns the name of a source in the form that is shown. A relative name is joined to the folder of the code.
fn name(folder: &str, root: &str, source: &str) -> String {
    let joined = match root.is_empty() || root.ends_with('/') {
        true => format!("{root}{source}"),
        false => format!("{root}/{source}"),
    };
    let is_whole = joined.starts_with('/') || joined.contains("://");
    let path = match is_whole || folder.is_empty() {
        true => joined,
        false => format!("{folder}/{joined}"),
    };
    let path = if is_whole { path } else { tidied(&path) };
    path.chars().take(MAX_NAME_LEN).collect()
}

fn tidied(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// A source map. It is plain or consists of sections, which are plain maps.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "S: Deserialize<'de>")]
struct SourceMap<S> {
    version: u32,
    #[serde(default)]
    mappings: String,
    #[serde(default)]
    sources: BoundedList<Option<String>, MAX_SOURCES>,
    #[serde(default)]
    sources_content: BoundedList<Option<String>, MAX_SOURCES>,
    source_root: Option<String>,
    #[serde(default)]
    sections: BoundedList<S, MAX_SECTIONS>,
}

#[derive(Deserialize)]
struct Section {
    offset: Offset,
    map: SourceMap<IgnoredAny>,
}

/// The place at which a section begins, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Offset {
    line: u32,
    column: u32,
}

impl SourceMap<Section> {
    /// Returns the section that contains a position, and the position within the section.
    fn at(self, at: Offset) -> Option<(SourceMap<IgnoredAny>, Offset)> {
        let SourceMap { version, mappings, sources, sources_content, source_root, sections } = self;
        if sections.0.is_empty() {
            let sections = BoundedList(Vec::new());
            return Some((
                SourceMap { version, mappings, sources, sources_content, source_root, sections },
                at,
            ));
        }
        let Section { offset, map } = sections
            .0
            .into_iter()
            .filter(|section| section.offset <= at)
            .max_by_key(|section| section.offset)?;
        let line = at.line - offset.line;
        let column = if line == 0 { at.column - offset.column } else { at.column };
        Some((map, Offset { line, column }))
    }
}

/// A list with at most `MAX_ITEMS` elements. Reading a longer list is an error.
struct BoundedList<T, const MAX_ITEMS: usize>(Vec<T>);

impl<T, const MAX_ITEMS: usize> Default for BoundedList<T, MAX_ITEMS> {
    fn default() -> Self {
        BoundedList(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX_ITEMS: usize> Deserialize<'de> for BoundedList<T, MAX_ITEMS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T, const MAX_ITEMS: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MAX_ITEMS: usize> Visitor<'de> for Elements<T, MAX_ITEMS> {
            type Value = BoundedList<T, MAX_ITEMS>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "a list of at most {MAX_ITEMS}")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = elements.next_element()? {
                    if list.len() == MAX_ITEMS {
                        return Err(A::Error::invalid_length(MAX_ITEMS + 1, &self));
                    }
                    list.push(element);
                }
                Ok(BoundedList(list))
            }
        }

        deserializer.deserialize_seq(Elements(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_reference_is_read_from_the_last_comment() {
        for (code, expected) in [
            ("1;\n//# sourceMappingURL=a.js.map", Some("a.js.map")),
            ("1;\r\n//# sourceMappingURL=a.js.map\r\n\r\n", Some("a.js.map")),
            ("1;\n//@ sourceMappingURL=a.map", Some("a.map")),
            ("1;\n  //# sourceMappingURL=a.map and more", Some("a.map")),
            ("1;\n//# sourceMappingURL=a.map\n// the end", Some("a.map")),
            ("1;\n//# sourceMappingURL=a.map\n//# sourceMappingURL=b.map", Some("b.map")),
            ("//# sourceMappingURL=a.map\n1;", None),
            ("//# sourceMappingURL=", None),
            ("1; //# sourceMappingURL=a.map", None),
            ("1;\n// sourceMappingURL=a.map", None),
            ("", None),
        ] {
            assert_eq!(reference(code), expected, "{code:?}");
        }
        let far = format!("//# sourceMappingURL=a.map{}", "\n//".repeat(LAST_LINES));
        assert_eq!(reference(&far), None);
    }

    #[test]
    fn map_beside_code_must_be_a_relative_file() {
        for (url, expected) in [
            ("a.js.map", true),
            ("./maps/a.js.map", true),
            ("../maps/a.js.map", true),
            ("https://example.com/a.map", false),
            ("file:///etc/passwd", false),
            ("data:application/json;base64,e30=", false),
            ("//example.com/a.map", false),
            ("/etc/passwd", false),
            ("a.map?x", false),
            ("..%2fa.map", false),
            ("..\\a.map", false),
        ] {
            let code = format!("1;\n//# sourceMappingURL={url}");
            assert_eq!(beside(&code), expected.then_some(url), "{url}");
        }
    }

    #[test]
    fn original_names_are_relative_to_the_code() {
        for (folder, root, source, expected) in [
            ("", "", "src/a.ts", "src/a.ts"),
            ("", "", "./src/../src/a.ts", "src/a.ts"),
            ("dep/dist", "", "../src/a.ts", "dep/src/a.ts"),
            ("dep/dist", "../src", "a.ts", "dep/src/a.ts"),
            ("dep/dist", "../src/", "a.ts", "dep/src/a.ts"),
            ("", "", "../../a.ts", "../../a.ts"),
            ("dist", "", "webpack://app/./a.ts", "webpack://app/./a.ts"),
            ("dist", "file:///home", "a.ts", "file:///home/a.ts"),
            ("dist", "/", "a.ts", "/a.ts"),
        ] {
            assert_eq!(name(folder, root, source), expected, "{folder} {root} {source}");
        }
        assert_eq!(name("", "", &"é".repeat(1_000)).chars().count(), MAX_NAME_LEN);
    }

    #[test]
    fn byte_columns_become_utf16_columns() {
        for (line, bytes, expected) in
            [("abc", 0, 0), ("abc", 2, 2), ("abc", 9, 3), ("é\u{1F600}x", 2, 1), ("é\u{1F600}x", 6, 3)]
        {
            assert_eq!(in_units(line, bytes), Some(expected), "{line} {bytes}");
        }
    }
}
