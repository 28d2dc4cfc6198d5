//! The answer of a tool, as a value whose provenance is the server.
//!
//! The answer is read part by part. A part that cannot be read is named, and the others stay.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kernel::proposal::Value;
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use policy::Secrets;
use resource::mcp::{PinnedTool, ToolServer};
use serde_json::Value as Json;

use super::mcp_error::McpError;
use super::{hash, source_name};

/// The maximum number of bytes of a refusal.
const MAX_REFUSAL: usize = 4096;
/// The maximum number of characters of a kind, such as `image/png`, in a note.
const MAX_KIND: usize = 100;

/// The parts of an answer that can be read.
#[derive(Debug, PartialEq)]
struct Parts {
    /// The texts, and a note for each part that is no text.
    texts: Vec<String>,
    /// The data, if there is some.
    data: Option<Json>,
    /// Whether the server says that the call has failed.
    has_failed: bool,
}

/// Reads the parts of an answer.
fn parts(result: &Json) -> Parts {
    if !result.is_object() {
        return Parts { texts: vec![text_of(result)], data: None, has_failed: false };
    }
    let part = |name: &str| result.get(name).filter(|part| !part.is_null());
    let mut texts: Vec<String> = match part("content") {
        None => vec![],
        Some(Json::Array(blocks)) => blocks.iter().map(block).collect(),
        Some(one) => vec![block(one)],
    };
    // Before there was `content`, the result was `toolResult` (cloudflare/mcp-server-cloudflare#12).
    if let (None, Some(old)) = (part("content"), part("toolResult")) {
        match old.get("content").and_then(Json::as_array) {
            Some(blocks) => texts.extend(blocks.iter().map(block)),
            None => texts.push(text_of(old)),
        }
    }
    Parts {
        texts,
        data: part("structuredContent").cloned(),
        has_failed: match part("isError") {
            Some(Json::Bool(failed)) => *failed,
            Some(Json::String(failed)) => failed.eq_ignore_ascii_case("true"),
            _ => false,
        },
    }
}

/// Returns a JSON value as text: a text as it is, and everything else as JSON.
fn text_of(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Returns one part of an answer as text. A part that is no text is replaced by a short note.
fn block(block: &Json) -> String {
    let text = |json: &Json, name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
    let kind = |json: &Json| -> String {
        text(json, "mimeType").unwrap_or_else(|| "unknown".to_owned()).chars().take(MAX_KIND).collect()
    };
    let left_out = |what: &str, of: &Json, data: Option<&Json>| {
        let bytes = data.and_then(Json::as_str).map_or(0, |data| data.len() / 4 * 3);
        format!("[{what} of type {} with {bytes} bytes is left out]", kind(of))
    };
    let inner = block.get("resource").unwrap_or(block);
    match (block, text(block, "type").as_deref()) {
        (Json::String(text), _) => text.clone(),
        (_, Some("text")) => match block.get("text") {
            None | Some(Json::Null) => "[a text without words is left out]".to_owned(),
            Some(words) => text_of(words),
        },
        (_, Some("image")) => left_out("an image", block, block.get("data")),
        (_, Some("audio")) => left_out("a recording", block, block.get("data")),
        (_, Some("resource")) => {
            let uri = text(inner, "uri").unwrap_or_else(|| "a resource without an address".to_owned());
            match (inner.get("text"), inner.get("blob")) {
                (Some(words), _) if !words.is_null() => format!("[{uri}]\n{}", text_of(words)),
                (_, blob) => left_out(&uri, inner, blob),
            }
        }
        (_, Some("resource_link")) => {
            let uri = text(block, "uri").unwrap_or_else(|| "an unknown address".to_owned());
            let name = text(block, "name").or_else(|| text(block, "title")).unwrap_or_default();
            format!("[a link to {uri}: {name}]")
        }
        // ElliotPadfield/unpaywall-mcp#4: `{ "type": "json", "json": … }`.
        (_, Some("json")) if block.get("json").is_some() => {
            block.get("json").map(text_of).unwrap_or_default()
        }
        (_, Some(other)) => {
            let shown: String = other.chars().take(MAX_KIND).collect();
            let note = format!("[a part of the unknown type `{shown}` is left out]");
            // Many a new type has a text beside its data.
            text(block, "text").map_or(note.clone(), |words| format!("{words}\n{note}"))
        }
        (_, None) => text(block, "text").unwrap_or_else(|| "[a part without a type is left out]".to_owned()),
    }
}

/// Returns the completion of a call that was answered.
pub(super) fn completion(
    result: &Json,
    server: &ToolServer,
    tool: &PinnedTool,
    most: u64,
    given: &Secrets,
    begun: &StartedEffect,
) -> Completion {
    let Parts { mut texts, data, has_failed } = parts(result);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let said = data.as_ref().map(Json::to_string);
    // Many servers repeat the data as text, for clients that do not read the data. That text is left out.
    let repeats = |text: &String| {
        data.as_ref().is_some_and(|data| serde_json::from_str::<Json>(text).is_ok_and(|said| said == *data))
    };
    texts.retain(|text| !repeats(text));
    let value = data.as_ref().map(|data| Value::from_json(&passable::without_escapes(data)));
    let (value, bytes) = match (value, &said) {
        (Some(Ok(value)), Some(said)) if said.len() <= most => (Some(value), said.len()),
        // Data that is too large, or that is no value, becomes text, which can be cut.
        (Some(_), Some(said)) => {
            texts.push(said.clone());
            (None, 0)
        }
        _ => (None, 0),
    };
    let mut text = texts.join("\n");
    cut(&mut text, most - bytes, given);
    let told = format!("{text}\n{}", said.unwrap_or_default());
    let mut fields = BTreeMap::new();
    if !text.is_empty() || value.is_none() {
        fields.insert("text".to_owned(), Value::from(text));
    }
    fields.extend(value.map(|value| ("data".to_owned(), value)));
    if has_failed {
        fields.insert("failed".to_owned(), Value::Bool(true));
    }
    done(fields, &told, server, tool, begun)
}

/// Returns the completion of a call that the server refused. The server chooses the words of a refusal. So they are
/// returned as a result, whose source is the server.
pub(super) fn refusal(
    error: &McpError,
    server: &ToolServer,
    tool: &PinnedTool,
    given: &Secrets,
    begun: &StartedEffect,
) -> Completion {
    let McpError::Refused { words, code, .. } = error else {
        return Completion::Failed(error.finding(&server.name));
    };
    let mut text = format!("the server refused (code {code}): {words}");
    cut(&mut text, MAX_REFUSAL, given);
    let told = text.clone();
    let fields =
        BTreeMap::from([("text".to_owned(), Value::from(text)), ("failed".to_owned(), Value::Bool(true))]);
    done(fields, &told, server, tool, begun)
}

fn done(
    fields: BTreeMap<String, Value>,
    told: &str,
    server: &ToolServer,
    tool: &PinnedTool,
    begun: &StartedEffect,
) -> Completion {
    let source = Source::Document { name: source_name(server, tool), hash: hash(told) };
    // The server may repeat the data that it was sent.
    let provenance = Provenance::of(source).join(&begun.proposal().provenance);
    Completion::Done { value: Value::record_from_map(fields), provenance }
}

/// Cuts a text to at most `most` bytes, and adds a note. The secrets that the server was given are redacted first,
/// because redaction would not find the beginning of a secret that was cut.
fn cut(text: &mut String, most: usize, given: &Secrets) {
    if text.len() <= most {
        return;
    }
    if let Cow::Owned(redacted) = given.redact(text) {
        *text = redacted;
    }
    if text.len() <= most {
        return;
    }
    let at = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let rest = text.len() - at;
    text.truncate(at);
    text.push_str(&format!("\n[{rest} bytes more were cut]\n"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Other programs lose the whole answer (BerriAI/litellm#36920) or the part (Gitlawb/zero#823).
    #[test]
    fn bad_block_costs_only_itself() {
        let x = json!({ "type": "text", "text": "x" });
        for (block, note) in [
            (json!({ "type": "future" }), "[a part of the unknown type `future` is left out]"),
            (
                json!({ "type": "future", "text": "words" }),
                "words\n[a part of the unknown type `future` is left out]",
            ),
            // calebl/ynab-mcp-server#31
            (
                json!({ "type": "error", "text": "there is no such account" }),
                "there is no such account\n[a part of the unknown type `error` is left out]",
            ),
            (json!({ "type": "json", "json": { "a": 1 } }), "{\"a\":1}"),
            (json!({ "type": "text" }), "[a text without words is left out]"),
            (json!({ "type": "text", "text": null }), "[a text without words is left out]"),
            (json!({ "type": "text", "text": { "a": 1 } }), "{\"a\":1}"),
            (json!({ "text": "untyped" }), "untyped"),
            (json!("bare"), "bare"),
            (json!(7), "[a part without a type is left out]"),
            (json!(null), "[a part without a type is left out]"),
            (json!({ "type": 7 }), "[a part without a type is left out]"),
            (
                json!({ "type": "image", "data": "AAAAAAAA", "mimeType": "image/png" }),
                "[an image of type image/png with 6 bytes is left out]",
            ),
            (
                json!({ "type": "image", "data": "AAAA", "mimeType": "text/html" }),
                "[an image of type text/html with 3 bytes is left out]",
            ),
            (json!({ "type": "image" }), "[an image of type unknown with 0 bytes is left out]"),
            (
                json!({ "type": "audio", "data": 7, "mimeType": "audio/wav" }),
                "[a recording of type audio/wav with 0 bytes is left out]",
            ),
            (
                json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "in it" } }),
                "[file:///a]\nin it",
            ),
            (
                json!({ "type": "resource", "resource": { "uri": "file:///a", "blob": "AAAA" } }),
                "[file:///a of type unknown with 3 bytes is left out]",
            ),
            (
                json!({ "type": "resource" }),
                "[a resource without an address of type unknown with 0 bytes is left out]",
            ),
            // kirodotdev/Kiro#8960.
            (
                json!({ "type": "resource_link", "uri": "https://a.example/b", "name": "b" }),
                "[a link to https://a.example/b: b]",
            ),
            (
                json!({ "type": "resource_link", "uri": "https://a.example/b" }),
                "[a link to https://a.example/b: ]",
            ),
        ] {
            let read = parts(&json!({ "content": [x, block] }));
            assert_eq!(read.texts, ["x", note], "{block}");
        }
    }

    #[test]
    fn content_of_every_shape_is_read() {
        for (result, texts) in [
            (json!({}), vec![]),
            (json!({ "content": null }), vec![]),
            (json!({ "content": [] }), vec![]),
            (json!({ "content": "words" }), vec!["words"]),
            (json!({ "content": { "type": "text", "text": "one" } }), vec!["one"]),
            (json!({ "content": 7 }), vec!["[a part without a type is left out]"]),
            (json!({ "toolResult": "old" }), vec!["old"]),
            (json!("bare"), vec!["bare"]),
            (json!([1]), vec!["[1]"]),
            (json!({ "toolResult": { "content": [{ "type": "text", "text": "old" }] } }), vec!["old"]),
        ] {
            assert_eq!(parts(&result).texts, texts, "{result}");
        }
        for (failed, is_failure) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(false), false),
            (json!(null), false),
            (json!(1), false),
        ] {
            assert_eq!(parts(&json!({ "isError": failed })).has_failed, is_failure, "{failed}");
        }
        for data in [json!({ "a": 1 }), json!([1]), json!("text"), json!(false)] {
            assert_eq!(parts(&json!({ "structuredContent": data })).data, Some(data));
        }
    }

    #[test]
    fn cut_answer_leaks_no_part_of_a_secret() {
        let given = Secrets::new([("T", "hunter2-periwinkle")]);
        for before in 0..40 {
            let mut text = format!("{}hunter2-periwinkle and more and more and more", "x".repeat(before));
            cut(&mut text, 20, &given);
            assert!(!text.contains("hun"), "{text}");
        }
        let mut text = "short".to_owned();
        cut(&mut text, 20, &given);
        assert_eq!(text, "short");
    }
}
