//! The features that a server is known to reject, learnt from its refusals.

use serde::{Deserialize, Serialize};

use crate::request::Request;

/// The way in which a server is made to answer in a form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// The server's own means of holding an answer to a schema.
    #[default]
    Native,
    /// A tool that the model must call, and whose arguments are the answer.
    Tool,
    /// A request for the form in words.
    Prompt,
}

/// The parts of a request that are left out or written differently for one server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dialect {
    /// Whether the server is addressed as OpenAI.
    pub(crate) is_openai: bool,
    /// Whether the token limit is written as `max_completion_tokens`, which OpenAI's newer models demand.
    pub(crate) completion_tokens: bool,
    /// Whether the temperature is left out, because reasoning models refuse any.
    pub(crate) no_temperature: bool,
    /// The way in which the output's form is requested.
    pub(crate) form: Form,
    /// Whether the server takes tools and a form in one request.
    pub(crate) form_beside_tools: bool,
    /// Whether a tool can be forced if the server has no means of its own for a form.
    pub(crate) can_force: bool,
    /// Whether the answer comes whole instead of as a stream.
    pub(crate) no_stream: bool,
    /// Whether the request does not ask for usage in the stream.
    pub(crate) no_stream_options: bool,
    /// The maximum number of tokens of a reply, if it is known for the model.
    pub(crate) max_output: Option<u32>,
    /// The maximum number of tokens of a request with its reply, if it is known for the model.
    pub(crate) context: Option<u64>,
    /// Whether messages of the user that follow each other are sent as one, because the model's template demands that
    /// the roles alternate.
    pub(crate) alternate: bool,
    /// Whether the standing instructions are a part of the first message, because the model has no role for them.
    pub(crate) no_system: bool,
}

/// The words by which refusals name a server's own means of holding an answer to a schema.
const FORM: [&str; 10] = [
    "response_format",
    "json_schema",
    "output_config",
    "output_format",
    "structured output",
    "text.format",
    "responsejsonschema",
    "response_json_schema",
    "response_mime_type",
    "response mime type",
];

/// The words by which servers say that a model takes no tools.
const NO_TOOLS: [&str; 13] = [
    "not support tools",
    "not support tool",
    "not support function",
    "support tool use",
    "tool use is not supported",
    "tools are not supported",
    "tools is not supported",
    "tool calling is not supported",
    "function calling is not",
    "function calling is unsupported",
    "tools param requires",
    "--enable-auto-tool-choice",
    "unknown name \"tools\"",
];

/// The words by which servers, or the templates of their models, say that there is no role for instructions.
const NO_SYSTEM: [&str; 9] = [
    "system role not supported",
    "system role is not supported",
    "system role isn't supported",
    "not support system",
    "not support the system",
    "system message is not supported",
    "system messages are not supported",
    "developer instruction is not enabled",
    "got system",
];

/// The words by which templates say that the roles must alternate.
const ALTERNATE: [&str; 4] = [
    "roles must alternate",
    "must alternate between",
    "user and assistant roles should be alternating",
    "only user and assistant roles",
];

/// Returns whether a refusal says that the model takes no tools.
pub(crate) fn refuses_tools(message: &str) -> bool {
    says(&message.to_lowercase(), &NO_TOOLS)
}

/// Returns whether a refusal is about the roles of messages.
pub(crate) fn refuses_roles(message: &str) -> bool {
    let lower = message.to_lowercase();
    says(&lower, &NO_SYSTEM) || says(&lower, &ALTERNATE)
}

fn says(lower: &str, words: &[&str]) -> bool {
    words.iter().any(|word| lower.contains(word))
}

impl Dialect {
    /// Returns the token limit of a reply: the request's own, at most the model's. A request without a limit gets none,
    /// or the model's limit if the format has a `default`, because such a format needs a number.
    pub(crate) fn answer_limit(&self, request: &Request, default: Option<u32>) -> Option<u32> {
        let wanted = request.max_tokens.or(default.map(|usual| self.max_output.unwrap_or(usual)))?;
        Some(self.max_output.map_or(wanted, |most| wanted.min(most)).max(1))
    }

    /// Returns the dialect after a refusal with this message, or `None` if the message names nothing that can be
    /// changed.
    pub(crate) fn after_refusal(mut self, message: &str) -> Option<Self> {
        let before = self;
        let lower = message.to_lowercase();
        if says(&lower, &NO_SYSTEM) {
            self.no_system = true;
        } else if says(&lower, &ALTERNATE) {
            // A template that knows no instructions counts them as the first role.
            (self.alternate, self.no_system) = (true, self.alternate);
        } else if refuses_tools(&lower) && self.form == Form::Tool {
            self.form = Form::Prompt;
        } else if lower.contains("max_completion_tokens") || lower.contains("max_tokens") {
            self.completion_tokens = !self.completion_tokens;
        } else if lower.contains("temperature") {
            self.no_temperature = true;
        } else if says(&lower, &FORM) {
            self.form = match self.form {
                Form::Native if self.can_force => Form::Tool,
                _ => Form::Prompt,
            };
        } else if lower.contains("tool_choice") && self.form == Form::Tool {
            self.form = Form::Prompt;
        } else if lower.contains("stream_options") {
            self.no_stream_options = true;
        } else if lower.contains("stream") {
            self.no_stream = true;
        }
        (self != before).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_changes_the_named_feature_only_once() {
        let learnt = Dialect::default().after_refusal("Unsupported value: 'temperature'").unwrap();
        assert!(learnt.no_temperature);
        assert_eq!(learnt.after_refusal("temperature"), None);
        assert_eq!(learnt.after_refusal("no such thing"), None);
        let forced = Dialect { can_force: true, ..Dialect::default() };
        let tool = forced.after_refusal("output_config.format: Extra inputs are not permitted").unwrap();
        let words = tool.after_refusal("tool_choice: this model cannot be forced").unwrap();
        assert_eq!((tool.form, words.form), (Form::Tool, Form::Prompt));
        let words = Dialect::default().after_refusal("Unknown name \"responseJsonSchema\"").unwrap();
        assert_eq!((words.form, words.after_refusal("response_format")), (Form::Prompt, None));
    }

    #[test]
    fn roles_are_merged_step_by_step() {
        // google/gemma-2: the template has no role for instructions.
        let gemma = Dialect::default().after_refusal("System role not supported").unwrap();
        assert!(gemma.no_system && !gemma.alternate);
        // mistral-7b-instruct behind vLLM: vllm-project/vllm#6862, microsoft/autogen#1037.
        let words = "Conversation roles must alternate user/assistant/user/assistant/...";
        let first = Dialect::default().after_refusal(words).unwrap();
        assert!(first.alternate && !first.no_system);
        let second = first.after_refusal(words).unwrap();
        assert!(second.alternate && second.no_system);
        assert_eq!(second.after_refusal(words), None);
        assert_eq!(gemma.after_refusal("System role not supported"), None);
    }

    #[test]
    fn models_without_tools_are_recognised() {
        for message in [
            // ollama/ollama#6027
            "registry.ollama.ai/library/gemma3:4b does not support tools",
            "No endpoints found that support tool use. To learn more about provider routing, visit …",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "tools param requires --jinja flag",
            "Function calling is not enabled for models/gemma-3-27b-it",
            "This model does not support function calling",
        ] {
            assert!(refuses_tools(message), "{message}");
        }
        for message in ["the tool `x` has no description", "tools[0].function.name is too long", "overloaded"]
        {
            assert!(!refuses_tools(message), "{message}");
        }
    }
}
