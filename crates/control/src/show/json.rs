//! JSON that programs read and users may also see. Invisible characters and characters that control a terminal are
//! escaped, without loss.

use std::borrow::Cow;

use passable::{is_terminal_control, visible};

/// Returns the same JSON, with only the characters that act on a terminal written as `\uXXXX`. JSON has such
/// characters only in strings, except the line feeds and tabs between its parts.
pub fn without_controls(json: &str) -> Cow<'_, str> {
    let is_escaped = |char: char| is_terminal_control(char) && !matches!(char, '\n' | '\t' | '\r');
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if is_escaped(char) {
            out.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// Returns the same JSON, with every character that is not plainly visible written as `\uXXXX`. Such a character can
/// occur only in strings, where both forms mean the same.
pub fn escaped(json: &str) -> Cow<'_, str> {
    let Cow::Owned(shown) = visible(json) else { return Cow::Borrowed(json) };
    let mut out = String::with_capacity(shown.len());
    let mut rest = shown.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        rest = match braced(escape) {
            Some((char, after)) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
                after
            }
            // This is an escape of JSON itself: the backslash and one character are copied, so that `\\u{41}` stays
            // unchanged.
            None => {
                let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
                let (own, after) = escape.split_at(end);
                out.push_str(own);
                after
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the character that `visible` has escaped, and the text after the escape. In JSON itself, `\u` is never
/// followed by a brace.
fn braced(escape: &str) -> Option<(char, &str)> {
    let (hex, after) = escape.strip_prefix("\\u{")?.split_once('}')?;
    Some((char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped_without_loss() {
        let all: String = (0..=0x10_FFFF).filter_map(char::from_u32).collect();
        let tricky = [
            "\\u{41}",
            "\\\\u{202E}",
            "\\\u{202E}",
            "u{1B}\\",
            "\u{202E}\\",
            "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
        ];
        for text in tricky.into_iter().chain([all.as_str()]) {
            let value = serde_json::json!({ "a": [text] });
            let json = value.to_string();
            let shown = escaped(&json);
            assert_eq!(visible(&shown), shown, "nothing is left to be made visible");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
        let json = serde_json::to_string_pretty(&serde_json::json!({ "a": [all] })).unwrap();
        let shown = without_controls(&json);
        assert!(!shown.contains(|char: char| is_terminal_control(char) && char != '\n'));
        assert!(shown.contains("\u{A0}") && shown.contains("\u{200D}"));
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(read(&shown), read(&json));
        // The same holds for field names, and for JSON over several lines.
        let value = serde_json::json!({ "\u{202E}": { "\u{A0}": "\u{200B}" } });
        let json = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped(&json)).unwrap(), value);
    }

    #[test]
    fn plain_json_stays_unchanged() {
        let json = r#"{"a":"שלום Grüße 日本 \u001b \\ \" /"}"#;
        assert!(matches!(escaped(json), Cow::Borrowed(same) if same == json));
        assert_eq!(escaped("\"\u{202E}\u{E0041}\""), r#""\u202e\udb40\udc41""#);
    }
}
