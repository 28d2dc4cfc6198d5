//! The features that a server is known to reject, learnt from its refusals.

/// The way in which a server is made to answer in a form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dialect {
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

impl Dialect {
    /// Returns the dialect after a refusal with this message, or `None` if the message names nothing that can be
    /// changed.
    pub(crate) fn after_refusal(mut self, message: &str) -> Option<Self> {
        let before = self;
        let lower = message.to_lowercase();
        if lower.contains("max_completion_tokens") || lower.contains("max_tokens") {
            self.completion_tokens = !self.completion_tokens;
        } else if lower.contains("temperature") {
            self.no_temperature = true;
        } else if FORM.iter().any(|word| lower.contains(word)) {
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
}
