//! A request as the text that a Qwen model was trained on (ChatML).
//!
//! Control tokens are put in by number; all text, also text that spells a control token, is encoded as plain text.
//! So nothing in a document can end a turn or speak in another role.

use serde_json::{Value, json};
use toktrie::TokenId;

use super::grammar;
use super::vocabulary::Vocabulary;
use crate::request::{Call, Message, Request, marked};

/// Returns the tokens of the whole conversation, up to where the model's answer begins.
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

/// Returns the turns of the conversation: each role and its text.
fn turns(request: &Request) -> Vec<(&'static str, String)> {
    let mut turns = vec![("system", system(request))];
    let mut results: Vec<String> = Vec::new();
    for message in &request.messages {
        if let Message::ToolResult { content, is_error, .. } = message {
            // The results of one turn's calls go together into one turn of the user.
            let content = marked(content, *is_error);
            results.push(format!("<tool_response>\n{content}\n</tool_response>"));
            continue;
        }
        if !results.is_empty() {
            turns.push(("user", std::mem::take(&mut results).join("\n")));
        }
        match message {
            Message::User { text, .. } => turns.push(("user", text.clone())),
            Message::Assistant { text, calls } => {
                turns.push(("assistant", assistant_text(request, text, calls)))
            }
            Message::ToolResult { .. } => {}
        }
    }
    if !results.is_empty() {
        turns.push(("user", results.join("\n")));
    }
    turns
}

/// Returns an earlier message of the model, in the form in which the model must write now.
fn assistant_text(request: &Request, text: &str, calls: &[Call]) -> String {
    if !calls.is_empty() {
        let call = |call: &Call| spaced_json(&json!({"name": call.name, "arguments": call.arguments}));
        return calls.iter().map(call).collect::<Vec<_>>().join("\n");
    }
    if request.tools.is_empty() {
        return text.to_owned();
    }
    let answer = request.output.as_ref().and_then(|_| serde_json::from_str::<Value>(text).ok());
    let answer = json!({"answer": answer.unwrap_or_else(|| json!(text))});
    spaced_json(&json!({"name": grammar::answer_name(request), "arguments": answer}))
}

fn system(request: &Request) -> String {
    let mut text = request.system.trim().to_owned();
    if text.is_empty() {
        text.push_str("You are a careful assistant.");
    }
    if request.tools.is_empty() {
        if let Some(schema) = &request.output {
            let schema = spaced_json(schema);
            text.push_str(&format!(
                "\n\nAnswer with one JSON value that satisfies this JSON Schema:\n{schema}"
            ));
        }
        return text;
    }
    let answer = grammar::answer_name(request);
    text.push_str(
        "\n\n# Tools\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>",
    );
    let mut offer = |name: &str, description: &str, parameters: &Value| {
        let function = json!({"name": name, "description": description, "parameters": parameters});
        text.push_str(&format!("\n{}", spaced_json(&json!({"type": "function", "function": function}))));
    };
    for tool in &request.tools {
        offer(&tool.name, &tool.description, &tool.parameters);
    }
    let last = "Answers the user. Use it for greetings and for questions that no other function is about, and when the \
                other functions have done all that was asked.";
    offer(&answer, last, &grammar::answer_parameters(request));
    text.push_str(&format!(
        "\n</tools>\n\nCall one function at a time: reply with a json object with function name and arguments, and \
         nothing else:\n{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\nYou will be given its result. \
         Do not call a function twice with the same arguments. When nothing is left to do, call {answer}."
    ));
    text
}

/// Returns JSON with a space after each separator, which is the form that models have read most.
fn spaced_json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced_json).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| format!("{}: {}", json!(key), spaced_json(value));
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_results_are_data_after_their_calls() {
        let found = r#"{"refused":[{"rule":"path/parent","message":"no","at":"path"}]}"#;
        let call = |id: &str| Call::new(id, "read", json!({"path": id}));
        let result = |id: &str, content: &str, is_error| Message::ToolResult {
            id: id.to_owned(),
            name: "read".to_owned(),
            content: content.to_owned(),
            is_error,
        };
        let request = Request {
            messages: vec![
                Message::user("go"),
                Message::Assistant { text: String::new(), calls: vec![call("a"), call("b"), call("c")] },
                result("a", "text", false),
                result("b", found, true),
                result("c", "no", true),
            ],
            ..Request::default()
        };
        let turns = turns(&request);
        let (role, assistant_text) = turns.last().cloned().unwrap_or_default();
        let results: Vec<&str> = assistant_text
            .split("<tool_response>\n")
            .skip(1)
            .filter_map(|part| part.split("\n</tool_response>").next())
            .collect();
        assert_eq!((role, results), ("user", vec!["text", found, "error: no"]));
    }
}
