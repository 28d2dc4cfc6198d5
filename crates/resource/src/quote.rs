//! Quoted parts of typed text: `"a?b"` stands for the text between the quotes, in which no character has a special
//! meaning.
//!
//! A quotation mark only counts if a part can begin there, and if the quotation ends where a part can end. Any other
//! quotation mark is an ordinary character.

use std::borrow::Cow;

/// The characters that may come before a quoted part.
const BEFORE: &[char] = &['?', '&', '=', ',', '[', ':'];
/// The characters that may come after a quoted part.
const BEHIND: &[char] = &['?', '&', '=', ',', ']', ':', ' '];

/// Returns the text of the quoted part at the beginning, and the text after that part. Returns `None` if there is no
/// quoted part.
pub(crate) fn leading(text: &str) -> Option<(String, &str)> {
    let rest = text.strip_prefix('"')?;
    let mut out = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let behind = &rest[at + 1..];
                return (behind.is_empty() || behind.starts_with(BEHIND)).then_some((out, behind));
            }
            '\\' => out.push(chars.next()?.1),
            c => out.push(c),
        }
    }
    None
}

/// Returns the text of a part: without its quotes if the whole part is quoted, or unchanged.
pub(crate) fn plain(part: &str) -> Cow<'_, str> {
    match leading(part) {
        Some((text, "")) => Cow::Owned(text),
        _ => Cow::Borrowed(part),
    }
}

/// Returns whether the whole part is quoted.
pub(crate) fn is_quoted(part: &str) -> bool {
    matches!(leading(part), Some((_, "")))
}

/// Returns the text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

/// Returns the text as a part, in quotes if necessary, so that none of `special` has a meaning.
pub(crate) fn part(text: &str, special: &[char]) -> String {
    match text.is_empty() || text.contains('"') || text != text.trim() || text.contains(special) {
        true => quoted(text),
        false => text.to_owned(),
    }
}

/// Returns the place of the first `wanted` outside of quoted parts, or `None` if there is none.
pub(crate) fn find(text: &str, wanted: char) -> Option<usize> {
    let mut can_begin = true;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if can_begin && let Some((_, behind)) = leading(&text[at..]) {
            at = text.len() - behind.len();
            can_begin = false;
            continue;
        }
        if c == wanted {
            return Some(at);
        }
        can_begin = c == wanted || BEFORE.contains(&c) || (can_begin && c == ' ');
        at += c.len_utf8();
    }
    None
}

/// Returns the texts before and after the first `by` outside of quoted parts, or `None` if there is none.
pub(crate) fn split_once(text: &str, by: char) -> Option<(&str, &str)> {
    find(text, by).map(|at| (&text[..at], &text[at + by.len_utf8()..]))
}

/// Returns the texts between all `by` outside of quoted parts.
pub(crate) fn split(text: &str, by: char) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((part, behind)) = split_once(rest, by) {
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    parts
}

/// Returns the parts of the text after `?`, each as a key and an optional value.
pub(crate) fn query(text: &str) -> Vec<(&str, Option<&str>)> {
    let parts = split(text, '&').into_iter().filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)))).collect()
}

/// Returns the items of a comma-separated list, without the spaces around them and without empty items.
pub(crate) fn list(text: &str) -> Vec<String> {
    let items = split(text, ',').into_iter().map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| plain(item).into_owned()).collect()
}

/// Returns the items as a comma-separated list that [`list`] reads.
pub(crate) fn typed_list<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    items.into_iter().map(|item| part(item, &[',', '&'])).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hide_special_letters() {
        assert_eq!(split(r#"a,"b,c",d"#, ','), ["a", r#""b,c""#, "d"]);
        assert_eq!(split_once(r#""a?b":rw?x=1"#, '?'), Some((r#""a?b":rw"#, "x=1")));
        assert_eq!(query(r#"k="a&b"&private"#), [("k", Some(r#""a&b""#)), ("private", None)]);
        assert_eq!(list(r#" a , "b, c" ,,"""#), ["a", "b, c", ""]);
        assert_eq!(plain(r#""a\"\\b""#), r#"a"\b"#);
    }

    #[test]
    fn unclosed_quote_is_a_letter() {
        for text in [r#""a"#, r#""a"b"#, r#"a"b?c""#] {
            assert_eq!(plain(text), text);
        }
        assert_eq!(split(r#"5" disk,b"#, ','), [r#"5" disk"#, "b"]);
        assert_eq!(split_once(r#"a"b?c""#, '?'), Some((r#"a"b"#, r#"c""#)));
    }

    #[test]
    fn quoted_text_is_read_back() {
        for text in ["", "a", "\"", "\\", " a", "a\nb", "a&b?c,d]e", "\"\\\" x"] {
            assert_eq!(plain(&part(text, &['&', '?', ','])), text);
            assert_eq!(leading(&quoted(text)), Some((text.to_owned(), "")));
        }
    }
}
