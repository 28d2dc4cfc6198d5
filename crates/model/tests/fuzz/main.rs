//! Hostile servers, in every wire format, with a fuzzer that runs on the stable toolchain.
//!
//! A target runs for half a second in `cargo test`, for 20 seconds in `cargo xtask test`, and for as long as is asked
//! for in `cargo xtask fuzz SECONDS`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test stands where a server does, and says so by panicking when something is wrong"
)]

use std::time::Duration;

use model::served::{FORMATS, read_answer};
use model::{ModelError, Stop};

/// Messages that a server begins with, of all formats; `N` stands for small numbers that the fuzzer chooses.
const SEEDS: &[&str] = &[
    r#"{"choices":[{"delta":{"content":"aN"}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":N,"id":"N","function":{"name":"t","arguments":"{\"a\":N"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":N,"function":{"arguments":"}"}}]}}]}"#,
    r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":N}}"#,
    r#"[DONE]"#,
    r#"{"type":"response.output_text.delta","output_index":N,"delta":"b"}"#,
    r#"{"type":"response.output_item.added","output_index":N,"item":{"type":"function_call","call_id":"N","name":"t","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":N,"delta":"{\"a\":N}"}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":N}}}"#,
    r#"{"type":"response.failed","response":{"error":{"code":"N","message":"m"}}}"#,
    r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":18446744073709551615,"cache_read_input_tokens":18446744073709551615}}}"#,
    r#"{"type":"content_block_start","index":N,"content_block":{"type":"tool_use","id":"N","name":"t","input":{}}}"#,
    r#"{"type":"content_block_delta","index":N,"delta":{"type":"input_json_delta","partial_json":"{\"a\":N}"}}"#,
    r#"{"type":"content_block_delta","index":N,"delta":{"type":"text_delta","text":"c"}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":N}}"#,
    r#"{"type":"message_stop"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"d"},{"functionCall":{"name":"t","args":{"a":N}}}]}}]}"#,
    r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":18446744073709551615,"thoughtsTokenCount":N}}"#,
    r#"{"message":{"content":"e","tool_calls":[{"function":{"name":"t","arguments":{"a":N}}}]},"done":false}"#,
    r#"{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":N}"#,
    r#"{"error":{"message":"m","code":N}}"#,
];

/// Returns an answer from a few bytes: messages one after another, framed, with edits if `edits` is set.
fn answer(script: &[u8], lines: bool, edits: bool) -> Vec<u8> {
    let mut text = String::new();
    for step in script.chunks(2) {
        let [seed, rest @ ..] = step else { continue };
        let number = rest.first().copied().unwrap_or(1) % 4;
        let message = SEEDS[usize::from(*seed) % SEEDS.len()].replace('N', &number.to_string());
        text += &if lines { format!("{message}\n") } else { format!("data: {message}\n\n") };
    }
    let mut bytes = text.into_bytes();
    if edits && !bytes.is_empty() {
        for edit in script.chunks_exact(3).take(6) {
            let at = (usize::from(edit[0]) << 8 | usize::from(edit[2])) % bytes.len();
            match edit[1] % 3 {
                0 => bytes[at] = edit[2],
                1 => bytes.truncate(at + 1),
                _ => bytes.insert(at, edit[2]),
            }
        }
    }
    bytes
}

/// Reads an answer in every format, whole and as a stream, and checks the promises that hold for every reply.
fn look(bytes: &[u8], step: usize) {
    for format in FORMATS {
        for stream in [false, true] {
            let read = read_answer(format, stream, bytes, step.max(1));
            // The same bytes are the same answer, wherever they are cut; only how many had come may differ.
            let same = match (&read, read_answer(format, stream, bytes, usize::MAX)) {
                (Err(ModelError::CutOff { .. }), Err(ModelError::CutOff { .. })) => true,
                (read, whole) => *read == whole,
            };
            assert!(same, "{format}: {read:?}");
            match read {
                Ok(reply) => {
                    let mut ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
                    ids.extend(reply.malformed.iter().map(|call| call.id.as_str()));
                    assert!(ids.len() <= 257, "{format}: calls are bounded");
                    assert!(ids.iter().all(|id| !id.is_empty()), "{format}: every call has an id");
                    assert!(reply.stop != Stop::Calls || !ids.is_empty(), "{format}");
                }
                Err(error) => {
                    assert!(!matches!(error, ModelError::Script(_)), "{format}");
                    assert!(error.to_string().len() < 2000 && !error.help().is_empty(), "{format}");
                }
            }
        }
    }
}

#[test]
fn fuzzed_server_answers_keep_reply_promises() {
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let [how, step, script @ ..] = input else { return };
        match how % 4 {
            0 => look(script, usize::from(*step)),
            kind => look(&answer(script, kind == 2, kind > 1), usize::from(*step)),
        }
    });
}
