//! The messages of a server (JSON-RPC), read from one line or from one event.
//!
//! Servers write what JSON forbids: a byte order mark, `NaN` from Python, half a surrogate pair, raw control
//! characters. Such a message is read with its faults replaced, because its other parts are sound.

use passable::keep_digits;
use serde_json::Value as Json;

/// The content of one line of a server, or of one event.
#[derive(Debug, PartialEq)]
pub(super) enum Content {
    /// Messages. A batch has several.
    Messages(Vec<Json>),
    /// A message that cannot be read.
    Broken,
    /// Text that is no message, such as a line of a log.
    Noise,
}

/// Reads one line of a server, or the data of one event.
pub(super) fn read(bytes: &[u8]) -> Content {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    let text = String::from_utf8_lossy(bytes);
    let json = serde_json::from_str::<Json>(&keep_digits(&text))
        .or_else(|_| serde_json::from_str(&keep_digits(&repaired(&text))));
    match json {
        Ok(message @ Json::Object(_)) => Content::Messages(vec![message]),
        Ok(Json::Array(batch)) if batch.iter().any(Json::is_object) => {
            Content::Messages(batch.into_iter().filter(Json::is_object).collect())
        }
        Ok(_) => Content::Noise,
        Err(_) => {
            let is_message = text.starts_with(['{', '[']) && text.contains("\"jsonrpc\"");
            if is_message { Content::Broken } else { Content::Noise }
        }
    }
}

/// Returns whether a message is an answer, and not a request or a notice.
pub(super) fn is_answer(message: &Json) -> bool {
    message.get("method").is_none()
        && ["result", "error"].iter().any(|part| message.get(part).is_some_and(|part| !part.is_null()))
}

/// Returns whether the identifier of an answer is that of a request. Some servers turn numbers into text.
pub(super) fn is_answer_to(id: &Json, request: u64) -> bool {
    match id {
        Json::Number(number) => number.as_f64() == Some(request as f64),
        Json::String(text) => text.trim() == request.to_string(),
        _ => false,
    }
}

/// Returns the text with the usual faults replaced: numbers that JSON does not have become `null`, half surrogate
/// pairs become the replacement character, and control characters in texts become escapes.
fn repaired(text: &str) -> String {
    const NO_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_quoted = false;
    while let Some(c) = rest.chars().next() {
        if !is_quoted {
            if let Some(word) = NO_NUMBERS.iter().find(|word| rest.starts_with(**word)) {
                out.push_str("null");
                rest = &rest[word.len()..];
                continue;
            }
            is_quoted = c == '"';
            out.push(c);
        } else if c == '\\' {
            let length = match (unit(rest), rest.get(6..).and_then(unit)) {
                (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 12,
                (Some(0xD800..0xE000), _) => {
                    out.push('\u{fffd}');
                    rest = &rest[6..];
                    continue;
                }
                _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            };
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        } else if c.is_ascii_control() {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            is_quoted = c != '"';
            out.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Returns the UTF-16 unit of the escape with which the text begins.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_with_json_faults_are_read() {
        let one = |json: Json| Content::Messages(vec![json]);
        for (line, expected) in [
            (r#"{"id":1,"result":{}}"#.to_owned(), one(json!({ "id": 1, "result": {} }))),
            ("\u{feff}{\"id\":1}\r\n".to_owned(), one(json!({ "id": 1 }))),
            // Batches, which the protocol had for one version.
            (
                r#"[{"id":1},{"id":2},7]"#.to_owned(),
                Content::Messages(vec![json!({ "id": 1 }), json!({ "id": 2 })]),
            ),
            // Python's `json.dumps` writes these three. Half a pair: MemPalace/mempalace#503.
            (
                r#"{"a":[NaN,-Infinity,Infinity,"NaN"]}"#.to_owned(),
                one(json!({ "a": [null, null, null, "NaN"] })),
            ),
            (
                r#"{"a":"\ud83d cut","b":"\ud83d\ude00"}"#.to_owned(),
                one(json!({ "a": "\u{fffd} cut", "b": "😀" })),
            ),
            ("{\"a\":\"tab\there\\\"\"}".to_owned(), one(json!({ "a": "tab\there\"" }))),
            // microsoft/azure-devops-mcp#147: a log on standard output.
            ("Server listening on stdio".to_owned(), Content::Noise),
            ("{ level: 'info' }".to_owned(), Content::Noise),
            ("[INFO] started".to_owned(), Content::Noise),
            ("[1,2]".to_owned(), Content::Noise),
            ("42".to_owned(), Content::Noise),
            (String::new(), Content::Noise),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"#.to_owned(), Content::Broken),
        ] {
            assert_eq!(read(line.as_bytes()), expected, "{line}");
        }
        // DeusData/codebase-memory-mcp#511: bytes that are not UTF-8 made clients wait for ever.
        assert_eq!(read(b"{\"a\":\"\xff\"}"), one(json!({ "a": "\u{fffd}" })));
        let deep = format!("{{\"jsonrpc\":{}", "[".repeat(4000));
        assert_eq!(read(deep.as_bytes()), Content::Broken);
    }

    #[test]
    fn repair_ends_at_every_cut_of_a_text() {
        let text = r#"{"a":"\ud83d\ude00 \u12","b":NaN,"é":"\é"}"#;
        for (at, _) in text.char_indices() {
            read(&text.as_bytes()[..at]);
            read(&text.as_bytes()[at..]);
        }
    }

    #[test]
    fn identifiers_match_as_numbers_and_as_texts() {
        for (id, is_same) in [
            (json!(7), true),
            (json!("7"), true),
            (json!(7.0), true),
            (json!(8), false),
            (json!(null), false),
        ] {
            assert_eq!(is_answer_to(&id, 7), is_same, "{id}");
        }
    }
}
