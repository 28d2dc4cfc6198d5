//! Tests of the requests that each format writes.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::formats::Format;
use crate::media::{Media, MediaKind};
use crate::request::{Call, Message, Request, Tool};
use crate::served::dialect::{Dialect, Form};

/// Returns a conversation in which two calls were made at once, one of them not JSON, and a document was shown.
fn conversation() -> Request {
    let document = |kind, media_type: &str| Media {
        kind,
        name: "scan".into(),
        media_type: media_type.into(),
        blob: "00".into(),
        bytes: Arc::from(*b"foob"),
    };
    let signed = Call { signature: Some("sig".into()), ..Call::new("a", "read", json!({"p": 1})) };
    let result = |id: &str, name: &str, content: &str, is_error| Message::ToolResult {
        id: id.into(),
        name: name.into(),
        content: content.into(),
        is_error,
    };
    Request {
        system: "Be brief.".into(),
        messages: vec![
            Message::User {
                text: "hi".into(),
                media: vec![
                    document(MediaKind::Image, "image/png"),
                    document(MediaKind::Pdf, "application/pdf"),
                ],
            },
            Message::Assistant {
                text: String::new(),
                calls: vec![signed, Call::new("⟦b⟧", "list it", json!("{oops"))],
            },
            result("a", "read", "seven", false),
            result("⟦b⟧", "list it", "no", true),
            Message::user("go on"),
        ],
        ..Request::default()
    }
}

fn body(format: Format, request: &Request) -> Value {
    format.body(request, "m", format.dialect(format == Format::Chat))
}

#[test]
fn anthropic_request_has_turns_of_blocks() {
    let said = body(Format::Anthropic, &conversation());
    let messages = said["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    let source = json!({"type": "base64", "media_type": "image/png", "data": "Zm9vYg=="});
    assert_eq!(messages[0]["content"][0], json!({"type": "image", "source": source}));
    assert_eq!(messages[0]["content"][1]["type"], "document");
    assert_eq!(messages[0]["content"][2], json!({"type": "text", "text": "hi"}));
    // A message without text has no text block; names that a model made up are spelt as the protocol demands.
    let calls = messages[1]["content"].as_array().unwrap();
    assert_eq!(calls[0], json!({"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}}));
    assert_eq!(
        calls[1],
        json!({"type": "tool_use", "id": "_b_", "name": "list_it", "input": {"arguments": "{oops"}})
    );
    let told = messages[2]["content"].as_array().unwrap();
    assert_eq!(
        told[1],
        json!({"type": "tool_result", "tool_use_id": "_b_", "content": "no", "is_error": true})
    );
    assert_eq!(told[2], json!({"type": "text", "text": "go on"}));
    assert_eq!((&said["system"], &said["stream"]), (&json!("Be brief."), &json!(true)));
}

#[test]
fn responses_request_has_items() {
    let said = body(Format::Responses, &conversation());
    let input = said["input"].as_array().unwrap();
    assert_eq!(input[0]["content"][0]["image_url"], json!("data:image/png;base64,Zm9vYg=="));
    assert_eq!(input[0]["content"][1]["type"], "input_file");
    assert_eq!(
        input[1],
        json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"p\":1}"})
    );
    assert_eq!(input[4], json!({"type": "function_call_output", "call_id": "⟦b⟧", "output": "error: no"}));
    assert_eq!((&said["store"], &said["instructions"]), (&json!(false), &json!("Be brief.")));
    assert_eq!(
        body(Format::Responses, &Request { max_tokens: Some(1), ..conversation() })["max_output_tokens"],
        16
    );
}

#[test]
fn gemini_request_has_contents_with_signatures() {
    let said = body(Format::Gemini, &conversation());
    let contents = said["contents"].as_array().unwrap();
    assert_eq!(contents[0]["parts"][0]["inlineData"]["mimeType"], "image/png");
    assert_eq!(contents[1]["parts"][0]["thoughtSignature"], "sig");
    assert_eq!(contents[1]["parts"][1]["functionCall"]["args"], json!({"arguments": "{oops"}));
    assert_eq!(contents[2]["parts"][0]["functionResponse"]["response"], json!({"result": "seven"}));
    assert_eq!(contents[2]["parts"][1]["functionResponse"]["response"], json!({"error": "no"}));
    assert_eq!(contents[2]["parts"][2], json!({"text": "go on"}));
    // A call that another model made has no signature, and the server is told not to look for one.
    let mut foreign = conversation();
    foreign.messages[1] =
        Message::Assistant { text: String::new(), calls: vec![Call::new("a", "read", json!({}))] };
    let said = body(Format::Gemini, &foreign);
    assert_eq!(said["contents"][1]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator");
}

#[test]
fn ollama_request_has_images_and_a_sufficient_context() {
    let said = body(Format::Ollama, &conversation());
    assert_eq!(said["messages"][1]["images"], json!(["Zm9vYg=="]));
    assert_eq!(said["messages"][4]["content"], json!("error: no"));
    // The size of the context grows with the text in powers of two, up to a maximum.
    let context = |text: &str| {
        body(Format::Ollama, &Request { messages: vec![Message::user(text)], ..Request::default() })["options"]["num_ctx"].as_u64().unwrap()
    };
    assert_eq!(context("hi"), 8192);
    let large = "word ".repeat(10_000);
    assert!(context(&large) >= 16_384 && context(&large).is_power_of_two());
    assert_eq!(context(&large.repeat(100)), 131_072);
}

#[test]
fn chat_request_has_parts_only_with_documents() {
    let said = body(Format::Chat, &conversation());
    assert_eq!(said["messages"][1]["content"][0]["image_url"]["url"], "data:image/png;base64,Zm9vYg==");
    assert_eq!(said["messages"][1]["content"][1]["file"]["filename"], "scan");
    assert_eq!(said["messages"][5]["content"], json!("go on"));
}

#[test]
fn output_schema_is_requested_in_each_vendors_way() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}},
                        "required": ["a"], "additionalProperties": false});
    let cut = json!({"type": "object", "properties": {"a": {"type": "string"}},
                     "required": ["a"], "additionalProperties": false});
    let tool = Tool { name: "t".into(), description: "d".into(), parameters: json!({"type": "object"}) };
    let plain = Request { output: Some(closed.clone()), ..Request::default() };
    let beside = Request { tools: vec![tool], ..plain.clone() };
    for (format, at, expected) in [
        (
            Format::Chat,
            "/response_format/json_schema",
            json!({"name": "answer", "schema": cut, "strict": true}),
        ),
        (Format::Responses, "/text/format/schema", cut.clone()),
        (Format::Anthropic, "/output_config/format/schema", cut.clone()),
        (Format::Gemini, "/generationConfig/responseJsonSchema", cut.clone()),
        (Format::Ollama, "/format", closed.clone()),
    ] {
        assert_eq!(body(format, &plain).pointer(at), Some(&expected), "{format:?}");
        let with_tools = body(format, &beside);
        let in_words = with_tools.to_string().contains("JSON Schema");
        // If tools and a form exclude each other, the request asks for the form in words.
        assert_ne!(with_tools.pointer(at).is_some(), in_words, "{format:?}");
        let words = Dialect { form: Form::Prompt, ..format.dialect(false) };
        let said = format.body(&plain, "m", words);
        assert!(said.pointer(at).is_none() && said.to_string().contains("JSON Schema"), "{format:?}");
    }
    let forced = Dialect { form: Form::Tool, ..Format::Anthropic.dialect(false) };
    let said = Format::Anthropic.body(&plain, "m", forced);
    assert_eq!(said["tool_choice"], json!({"type": "tool", "name": "final_answer"}));
    assert_eq!(said["tools"][0]["input_schema"]["properties"]["answer"], closed);
    // If a vendor cannot enforce a schema, the request asks for it in words at once.
    let open =
        Request { output: Some(json!({"type": "object", "additionalProperties": {}})), ..Request::default() };
    assert!(body(Format::Anthropic, &open)["system"].as_str().unwrap().contains("JSON Schema"));
}
