//! A request as the text that a Qwen model was trained on (ChatML).
//!
//! Control tokens are put in by number; all text, also text that spells a control token, is encoded as plain text.
//! So nothing in a document can end a turn or speak in another role.

use serde_json::{Value, json};
use toktrie::TokenId;

use super::vocabulary::Vocabulary;
use crate::request::{Message, Request};

/// The tokens of the whole conversation, up to where the model's answer begins.
pub(super) fn tokens(request: &Request, vocabulary: &Vocabulary) -> Vec<TokenId> {
    let mut tokens = Vec::new();
    for (role, text) in turns(request) {
        tokens.push(vocabulary.start_of_turn);
        tokens.extend(vocabulary.encode(&format!("{role}\n{text}")));
        tokens.push(vocabulary.end_of_turn);
        tokens.extend(vocabulary.encode("\n"));
    }
    tokens.push(vocabulary.start_of_turn);
    tokens.extend(vocabulary.encode("assistant\n"));
    tokens
}

/// Who says what.
fn turns(request: &Request) -> Vec<(&'static str, String)> {
    let mut turns = vec![("system", system(request))];
    let mut results = String::new();
    for message in &request.messages {
        if let Message::ToolResult { name, content, is_error, .. } = message {
            // Results of one turn's calls go together, in the user's place.
            let label = if *is_error { "error" } else { "result" };
            let separator = if results.is_empty() { "" } else { "\n" };
            results.push_str(&format!(
                "{separator}<tool_response>\n{name} {label}: {content}\n</tool_response>"
            ));
            continue;
        }
        if !results.is_empty() {
            turns.push(("user", std::mem::take(&mut results)));
        }
        match message {
            Message::User { text } => turns.push(("user", text.clone())),
            Message::Assistant { text, calls } => turns.push(("assistant", said(request, text, calls))),
            Message::ToolResult { .. } => {}
        }
    }
    if !results.is_empty() {
        turns.push(("user", results));
    }
    turns
}

/// What the model said earlier, in the form in which it would say it now.
fn said(request: &Request, text: &str, calls: &[crate::request::Call]) -> String {
    if !calls.is_empty() {
        let lines: Vec<String> =
            calls.iter().map(|c| json!({"name": c.name, "arguments": c.arguments}).to_string()).collect();
        return lines.join("\n");
    }
    if request.tools.is_empty() {
        return text.to_owned();
    }
    let answer = request.output.as_ref().and_then(|_| serde_json::from_str::<Value>(text).ok());
    json!({"answer": answer.unwrap_or_else(|| json!(text))}).to_string()
}

fn system(request: &Request) -> String {
    let mut text = request.system.trim().to_owned();
    if text.is_empty() {
        text.push_str("You are a careful assistant.");
    }
    if !request.tools.is_empty() {
        text.push_str("\n\n# Tools\n\nYou may call these functions, one at a time:\n<tools>\n");
        for tool in &request.tools {
            let function =
                json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
            text.push_str(&json!({"type": "function", "function": function}).to_string());
            text.push('\n');
        }
        text.push_str(
            "</tools>\n\nTo call a function, reply with {\"name\": <function-name>, \"arguments\": \
             <args-json-object>} and nothing else. When you have what you need, reply with {\"answer\": ",
        );
        match &request.output {
            Some(schema) => {
                text.push_str(&format!("<value>}}, where the value satisfies this JSON Schema:\n{schema}"))
            }
            None => text.push_str("<text>}."),
        }
    } else if let Some(schema) = &request.output {
        text.push_str(&format!("\n\nAnswer with one JSON value that satisfies this JSON Schema:\n{schema}"));
    }
    text
}
