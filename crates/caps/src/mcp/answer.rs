//! The answer of a tool, as a value whose provenance is the server.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kernel::proposal::{Finding, Value};
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use passable::Quoting;
use policy::Secrets;
use resource::mcp::{PinnedTool, ToolServer};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value as Json;

use super::session::McpError;
use super::{hash, source_name};

/// Returns the completion of a call that was answered.
pub(super) fn completion(
    result: &CallToolResult,
    server: &ToolServer,
    tool: &PinnedTool,
    most: u64,
    given: &Secrets,
    begun: &StartedEffect,
) -> Completion {
    let data = result.structured_content.as_ref().filter(|data| !data.is_null());
    // Many servers repeat the data as text, for clients that do not read the data. That text is left out.
    let again = |text: &str| {
        data.is_some_and(|data| serde_json::from_str::<Json>(text).is_ok_and(|said| said == *data))
    };
    let mut text =
        result.content.iter().map(block).filter(|text| !again(text)).collect::<Vec<_>>().join("\n");
    let bytes = data.map_or(0, |data| data.to_string().len()) as u64;
    if bytes > most {
        return Completion::Failed(
            Finding::new(
                "mcp/large",
                Quoting::ours(format!("the server answered with more than {most} bytes")),
            )
            .at("method")
            .allowed("a narrower question, or an endowment with a larger `max=`"),
        );
    }
    let room = usize::try_from(most - bytes).unwrap_or(usize::MAX);
    cut(&mut text, room, given);
    let mut fields = BTreeMap::new();
    let data = match data.map(Value::from_json) {
        Some(Ok(value)) => Some(value),
        Some(Err(_)) => {
            return Completion::Failed(
                Finding::new("mcp/odd", "the server answered with data that is no value".to_owned())
                    .at("method")
                    .allowed("another call"),
            );
        }
        None => None,
    };
    let told =
        format!("{text}\n{}", result.structured_content.as_ref().map(Json::to_string).unwrap_or_default());
    if !text.is_empty() || data.is_none() {
        fields.insert("text".to_owned(), Value::from(text));
    }
    fields.extend(data.map(|data| ("data".to_owned(), data)));
    if result.is_error == Some(true) {
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
    let McpError::Refused { message, code } = error else {
        return Completion::Failed(error.finding(&server.name));
    };
    let mut text = format!("the server refused (code {code}): {message}");
    cut(&mut text, 4096, given);
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

/// Returns one part of an answer as text. A part that is no text is replaced by a short note.
fn block(block: &ContentBlock) -> String {
    let left_out = |what: &str, kind: &str, data: &str| {
        format!("[{what} of type {kind} with {} bytes is left out]", data.len() / 4 * 3)
    };
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("an image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("a recording", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                left_out(uri, mime_type.as_deref().unwrap_or("unknown"), blob)
            }
            _ => "[something is left out]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[a link to {}: {}]", link.uri, link.name),
        _ => "[something is left out]".to_owned(),
    }
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
    use super::*;

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
