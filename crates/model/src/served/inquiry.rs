//! The question to a server for the limits of its model. Each kind of server states them in another place.

use serde_json::{Value, json};

use super::http::{Endpoint, look_up};
use crate::formats::Format;
use crate::limits::ModelLimits;

/// Fields with the number of tokens of a request and its reply: vLLM, llama.cpp, Groq, Together and OpenRouter, LM
/// Studio, Anthropic, Gemini.
const CONTEXT: [&str; 8] = [
    "max_model_len",
    "n_ctx",
    "loaded_context_length",
    "context_window",
    "context_length",
    "max_context_length",
    "max_input_tokens",
    "inputTokenLimit",
];

/// Fields with the number of tokens of a reply: Groq, OpenRouter, Gemini.
const OUTPUT: [&str; 3] = ["max_completion_tokens", "max_output_tokens", "outputTokenLimit"];

/// Returns the limits that the server states for its model.
pub(super) fn ask(endpoint: &Endpoint, format: Format) -> ModelLimits {
    let base = &endpoint.base_url;
    match format {
        Format::Ollama => {
            let shown =
                look_up(endpoint, &format!("{base}/api/show"), Some(json!({ "model": endpoint.model })));
            shown.as_ref().map(ollama_limits).unwrap_or_default()
        }
        Format::Gemini => {
            let name = endpoint.model.strip_prefix("models/").unwrap_or(&endpoint.model);
            let url = format!("{}/models/{name}", format.versioned(base));
            look_up(endpoint, &url, None).map(|model| stated(&model)).unwrap_or_default()
        }
        Format::Chat | Format::Responses | Format::Anthropic => {
            let listed = look_up(endpoint, &format!("{}/models", format.versioned(base)), None);
            let listed = listed.map(|list| listed_limits(&list, &endpoint.model)).unwrap_or_default();
            if listed.context.is_some() || format != Format::Chat {
                return listed;
            }
            // The size of a context of llama.cpp is a setting of the server.
            let props = look_up(endpoint, &format!("{}/props", endpoint.server), None);
            let settings = props.as_ref().and_then(|props| props.get("default_generation_settings"));
            listed.or(settings.map(stated).unwrap_or_default())
        }
    }
}

fn ollama_limits(shown: &Value) -> ModelLimits {
    let info = shown.get("model_info").and_then(Value::as_object);
    let length = info.into_iter().flatten().find(|(name, _)| name.ends_with(".context_length"));
    ModelLimits { context: length.and_then(|(_, value)| count(value)), output: None }
}

/// Returns the limits of a model in a list. A server with one model may list it under another name.
fn listed_limits(list: &Value, model: &str) -> ModelLimits {
    let all = list.get("data").or(Some(list)).and_then(Value::as_array).map(Vec::as_slice);
    let is_it = |entry: &&Value| {
        ["id", "name"].iter().any(|key| entry.get(key).and_then(Value::as_str) == Some(model))
    };
    let entry = match all.unwrap_or_default() {
        [only] => Some(only),
        several => several.iter().find(is_it),
    };
    entry.map(stated).unwrap_or_default()
}

/// Returns the limits that an entry states, in it or in its usual parts.
fn stated(entry: &Value) -> ModelLimits {
    let parts = [Some(entry), entry.get("meta"), entry.get("top_provider")];
    let field = |names: &[&str]| {
        names.iter().find_map(|name| parts.iter().flatten().find_map(|part| count(part.get(name)?)))
    };
    ModelLimits { context: field(&CONTEXT), output: field(&OUTPUT) }
}

/// Returns a count that a server states. A count of 0 means that the server knows none.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_found_where_servers_state_them() {
        let of = |context, output| ModelLimits { context, output };
        for (list, expected) in [
            // vLLM
            (
                json!({"data": [{"id": "other", "max_model_len": 1}, {"id": "m", "max_model_len": 32768}]}),
                of(Some(32_768), None),
            ),
            // llama.cpp names its only model by the path of its file.
            (
                json!({"data": [{"id": "/models/q.gguf", "meta": {"n_ctx": 4096, "n_ctx_train": 32768}}]}),
                of(Some(4096), None),
            ),
            // Groq
            (
                json!({"data": [{"id": "m", "context_window": 131_072, "max_completion_tokens": 8192}, {"id": "n"}]}),
                of(Some(131_072), Some(8192)),
            ),
            // OpenRouter
            (
                json!({"data": [{"id": "n"}, {"id": "m", "context_length": 200_000,
                        "top_provider": {"context_length": 128_000, "max_completion_tokens": 16_384}}]}),
                of(Some(200_000), Some(16_384)),
            ),
            // Together gives a list without a frame.
            (json!([{"id": "m", "context_length": 8192}, {"id": "n"}]), of(Some(8192), None)),
            (json!({"data": [{"id": "a", "max_model_len": 5}, {"id": "b"}]}), of(None, None)),
            (json!({"data": [{"id": "m", "context_length": null, "max_model_len": 0}]}), of(None, None)),
            (json!("no"), of(None, None)),
        ] {
            assert_eq!(listed_limits(&list, "m"), expected, "{list}");
        }
        let shown = json!({"model_info": {"qwen2.context_length": 32768, "qwen2.embedding_length": 3584}});
        assert_eq!(ollama_limits(&shown), of(Some(32_768), None));
        let gemini = json!({"name": "models/m", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536});
        assert_eq!(stated(&gemini), of(Some(1_048_576), Some(65_536)));
    }
}
