//! Answers like those in public reports about other programs, in words of our own.

use model::served::read_answer;
use model::{ModelError, Stop};

/// The outcome that a report asks for.
enum Outcome {
    Answer(&'static str),
    Calls(&'static [&'static str]),
    Passes(&'static str),
    Stays(&'static str),
}

use Outcome::{Answer, Calls, Passes, Stays};

/// Each with the project and the number of the report, the format, the messages, and the outcome.
const REPORTS: &[(&str, &str, &[&str], Outcome)] = &[
    // Reasons that do not mean "complete".
    (
        "razzant/claudexor#144",
        "chat",
        &[
            r#"{"choices":[{"message":{"content":"Half"},"finish_reason":"error","error":{"code":502,"message":"the provider left"}}]}"#,
        ],
        Passes("the provider left"),
    ),
    (
        "CherryHQ/cherry-studio#16079",
        "chat",
        &[
            r#"{"choices":[{"delta":{"content":"Half"},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
        ],
        Passes("`error`"),
    ),
    (
        "brightwave-inc/tidebreak#1122",
        "anthropic",
        &[
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half"}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ],
        Passes("Overloaded"),
    ),
    (
        "pydantic/pydantic-ai#7911",
        "responses",
        &[
            r#"{"type":"response.output_text.delta","delta":"Half"}"#,
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"broke"}}}"#,
        ],
        Passes("broke"),
    ),
    (
        "openclaw/openclaw#108989",
        "responses",
        &[r#"{"type":"response.output_text.delta","delta":"Half"}"#],
        Passes("cut off"),
    ),
    // Empty texts where null is meant.
    (
        "sgl-project/sglang#3912",
        "chat",
        &[
            r#"{"choices":[{"index":0,"delta":{"role":null,"content":"Half","tool_calls":null},"finish_reason":""}],"usage":null}"#,
        ],
        Passes("cut off"),
    ),
    (
        "ollama/ollama#4357",
        "chat",
        &[
            r#"{"choices":[{"index":0,"delta":{"content":" Hello"},"finish_reason":""}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":" there"},"finish_reason":""}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}"#,
        ],
        Answer(" Hello there"),
    ),
    (
        "PowerShell/AIShell#350",
        "chat",
        &[r#"{"choices":[{"delta":{"content":"Half"},"finish_reason":"null"}]}"#],
        Passes("cut off"),
    ),
    // Content in parts.
    (
        "neuron-core/neuron-ai#393",
        "chat",
        &[
            r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"D"}]}]}}]}"#,
            r#"{"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}"#,
        ],
        Answer("Done."),
    ),
    (
        "laravel/ai#865",
        "chat",
        &[
            r#"{"choices":[{"delta":{"content":[{"type":"text","text":"As it says "},{"type":"reference","reference_ids":["d"]}]}}]}"#,
            r#"{"choices":[{"delta":{"content":[{"type":"text","text":"there."}]},"finish_reason":"stop"}]}"#,
        ],
        Answer("As it says there."),
    ),
    // Odd counts.
    (
        "64bit/async-openai#404",
        "chat",
        &[
            r#"{"choices":[{"message":{"content":"Fine."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1151,"completion_tokens":-35}}"#,
        ],
        Answer("Fine."),
    ),
    (
        "philschmid/easyllm#42",
        "chat",
        &[
            r#"{"choices":[{"message":{"content":"Fine."},"finish_reason":"stop"}],"usage":{"completion_tokens":37.25}}"#,
        ],
        Answer("Fine."),
    ),
    // Calls without numbers.
    (
        "comet-ml/opik#8362",
        "chat",
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"time","arguments":{"city":"Oslo"}}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        Calls(&[r#"weather {"city":"Rome"}"#, r#"time {"city":"Oslo"}"#]),
    ),
    (
        "huggingface/smolagents#1958",
        "chat",
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"query\":\"Emma\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"query\":\"Virginia\"}"}}]},"finish_reason":"stop"}]}"#,
        ],
        Calls(&[r#"search {"query":"Emma"}"#, r#"search {"query":"Virginia"}"#]),
    ),
    (
        "maximhq/bifrost#1829",
        "chat",
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":""}},{"index":1,"id":"b","function":{"name":"search","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"search","arguments":"{\"n\":2}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        Calls(&[r#"search {"n":1}"#, r#"search {"n":2}"#]),
    ),
    // Calls of the old form, one of them without content.
    (
        "QwenLM/qwen-code#6240",
        "chat",
        &[
            r#"{"choices":[{"message":{"role":"assistant","content":null,"function_call":{"name":"read","arguments":"{\"path\":\"a\"}"}},"finish_reason":"function_call"}]}"#,
        ],
        Calls(&[r#"read {"path":"a"}"#]),
    ),
    (
        "SaladDay/cc-switch-cli#437",
        "chat",
        &[
            r#"{"choices":[{"delta":{"content":"ok","function_call":null}}]}"#,
            r#"{"choices":[{"delta":{"function_call":{"name":"","arguments":""}},"finish_reason":"stop"}]}"#,
        ],
        Answer("ok"),
    ),
    // Refusals, and other places for what was said.
    (
        "openclaw/openclaw#102321",
        "chat",
        &[
            r#"{"choices":[{"delta":{"role":"assistant","refusal":"I can't help with that."},"finish_reason":"stop"}]}"#,
        ],
        Stays("I can't help with that."),
    ),
    (
        "openai/openai-agents-js#1495",
        "chat",
        &[r#"{"choices":[{"message":{"content":"","refusal":"no"},"finish_reason":"stop"}]}"#],
        Stays("declined to answer: no"),
    ),
    (
        "OpenRouterTeam/typescript-sdk#101",
        "chat",
        &[r#"{"choices":[{"logprobs":null,"finish_reason":"stop","index":0,"text":"12","reasoning":null}]}"#],
        Answer("12"),
    ),
    // Thinking in the text.
    (
        "open-webui/open-webui#9808",
        "chat",
        &[
            r#"{"choices":[{"message":{"content":"Okay, they greet me.\n</think>\n\nHello!"},"finish_reason":"stop"}]}"#,
        ],
        Answer("Hello!"),
    ),
    (
        "mudler/LocalAI#4761",
        "ollama",
        &[
            r#"{"message":{"content":"why is it blue?\n</think>\nScattering."},"done":true,"done_reason":"stop"}"#,
        ],
        Answer("Scattering."),
    ),
];

#[test]
fn answers_of_public_reports_are_read_or_named() {
    for (report, format, messages, outcome) in REPORTS {
        let body: String = match format {
            &"ollama" => messages.iter().map(|message| format!("{message}\n")).collect(),
            _ => messages.iter().map(|message| format!("data: {message}\n\n")).collect(),
        };
        let result = read_answer(format, true, body.as_bytes(), 10);
        match (outcome, &result) {
            (Answer(text), Ok(reply)) => {
                assert_eq!((reply.text.as_str(), reply.stop), (*text, Stop::End), "{report}");
            }
            (Calls(calls), Ok(reply)) => {
                let made = reply.calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
                assert_eq!(made.collect::<Vec<_>>(), *calls, "{report}");
            }
            (Passes(words), Err(error)) => {
                assert!(error.is_transient() && words_of(error).contains(words), "{report}: {error}");
            }
            (Stays(words), Err(error)) => {
                assert!(!error.is_transient() && words_of(error).contains(words), "{report}: {error}");
            }
            _ => panic!("{report}: {result:?}"),
        }
    }
}

fn words_of(error: &ModelError) -> String {
    error.to_string()
}
