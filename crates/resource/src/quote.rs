//! Quoted parts of typed text: `"a?b"` stands for the letters between the quotes, without their special meaning.
//!
//! A quote begins a part only where one can begin, and only if it is closed where one can end. Any other is a letter.

use std::borrow::Cow;

/// The letters that may stand before a quoted part.
const BEFORE: &[char] = &['?', '&', '=', ',', '[', ':'];
/// The letters that may stand behind a quoted part.
const BEHIND: &[char] = &['?', '&', '=', ',', ']', ':', ' '];

/// Returns the text of the quoted part at the beginning, and the text after it.
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

/// Returns the text of a part: the quoted text if it is quoted as a whole, or the part itself.
pub(crate) fn plain(part: &str) -> Cow<'_, str> {
    match leading(part) {
        Some((text, "")) => Cow::Owned(text),
        _ => Cow::Borrowed(part),
    }
}

/// Returns whether the part is quoted as a whole.
pub(crate) fn is_quoted(part: &str) -> bool {
    matches!(leading(part), Some((_, "")))
}

/// Returns the text quoted.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

/// Returns the text as a part in which none of `special` means anything.
pub(crate) fn part(text: &str, special: &[char]) -> String {
    match text.is_empty() || text.contains('"') || text != text.trim() || text.contains(special) {
        true => quoted(text),
        false => text.to_owned(),
    }
}

/// Returns where `wanted` first stands outside of quoted parts.
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

/// Returns the text before and after the first `by` outside of quoted parts.
pub(crate) fn split_once(text: &str, by: char) -> Option<(&str, &str)> {
    find(text, by).map(|at| (&text[..at], &text[at + by.len_utf8()..]))
}

/// Returns the texts between each `by` outside of quoted parts.
pub(crate) fn split(text: &str, by: char) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((part, behind)) = split_once(rest, by) {
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    parts
}

/// Returns the parts of the text after `?`, each as its key and its value.
pub(crate) fn query(text: &str) -> Vec<(&str, Option<&str>)> {
    let parts = split(text, '&').into_iter().filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)))).collect()
}

/// Returns the items of a list with commas, without spaces around them and without empty ones.
pub(crate) fn list(text: &str) -> Vec<String> {
    let items = split(text, ',').into_iter().map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| plain(item).into_owned()).collect()
}

/// Returns a list with commas that [`list`] reads.
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
