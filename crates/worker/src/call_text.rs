//! Calls that a model writes into its answer as text, in one of the notations in which models are trained.
//!
//! Such a text is neither a call, which a gate could judge, nor an answer. The model is told so.

use kernel::proposal::Finding;
use passable::{quoting, visible_line};
use serde_json::Value as Json;

/// The maximum length of a tool's name in a text, in bytes.
const MAX_NAME_LEN: usize = 100;

/// Marks that begin a call in a model's own notation. Nothing else is written with them.
const MARKS: [&str; 20] = [
    "<tool_call>",
    "<|tool_call|>",
    "<|tool_call>",
    "<tool_calls>",
    "<tools>",
    "<function_call>",
    "<function_calls>",
    "<functioncall>",
    "<tool_use>",
    "<function=",
    "<function name=",
    "<invoke name=",
    "<tool name=",
    "[tool_calls]",
    "[tool_call]",
    "[tool_request]",
    "<|python_tag|>",
    "<｜tool▁call▁begin｜>",
    "<|tool_call_begin|>",
    "to=functions.",
];

/// The fields with the name of a tool, in the notations that are JSON.
const NAME_FIELDS: [&str; 5] = ["name", "tool", "tool_name", "function", "action"];

/// The fields with the arguments of a tool, in the notations that are JSON.
const ARGUMENT_FIELDS: [&str; 7] =
    ["arguments", "parameters", "args", "input", "tool_input", "action_input", "params"];

/// Returns a finding if the text of an answer is a call of one of these tools.
pub(crate) fn finding(text: &str, tools: &[String]) -> Option<Finding> {
    if tools.is_empty() {
        return None;
    }
    let name = marked_call(text, tools).or_else(|| plain_call(text, tools))?;
    let message = quoting!(
        "the answer is a call of `{}` that was written as text, so it was not made",
        visible_line(name)
    );
    Some(
        Finding::new("output/call-as-text", message)
            .at("answer")
            .allowed("the call itself, made as a tool call; or an answer in plain words"),
    )
}

/// Returns the tool of a call that stands behind a mark.
fn marked_call<'a>(text: &str, tools: &'a [String]) -> Option<&'a str> {
    let lower = text.to_lowercase();
    MARKS.iter().find_map(|mark| {
        let start = lower.find(mark)?;
        let (before, rest) = (lower.get(..start)?, lower.get(start + mark.len()..)?);
        if is_quoted(before, rest) || is_explanation(before) {
            return None;
        }
        // Only the beginning of the call counts, because an answer may speak of such marks and of a tool.
        let rest = rest.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '[' | '{' | '`' | ':' | '<' | '|' | '>')
        });
        let head: String = rest.chars().take(MAX_NAME_LEN + 100).collect();
        tools.iter().find(|tool| begins_with_name(&head, tool)).map(String::as_str)
    })
}

/// Returns whether a mark stands in an answer that shows it to a reader.
///
/// It stands in quotes then, or in a sentence or a code fence that goes on behind the call.
fn is_quoted(before: &str, rest: &str) -> bool {
    if before.ends_with(['`', '"', '\'', '“', '«']) {
        return !before.ends_with("```");
    }
    let tail = rest.rsplit(['}', '>', ']', ')']).next().unwrap_or_default();
    let has_words = tail.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count() > 1;
    let is_in_fence = before.matches("```").count() % 2 == 1;
    let is_in_line = before.rsplit('\n').next().is_some_and(|line| !line.trim().is_empty());
    has_words && !tail.contains('{') && (is_in_fence || is_in_line)
}

/// Returns whether the words before a call explain it to a reader. A model that means to call writes one line about
/// itself, or nothing.
fn is_explanation(before: &str) -> bool {
    // A word more here would hide calls, which is worse than one more turn for an explanation.
    const READER: [&str; 8] = ["you", "your", "use", "example", "e.g", "would", "could", "syntax"];
    const INTENT: [&str; 6] = ["i will", "i'll", "i’ll", "i need to", "let me", "going to"];
    let lower = before.to_lowercase();
    let speaks_of_itself = INTENT.iter().any(|words| lower.contains(words));
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '.')).map(|word| word.trim_matches('.'));
    let mut words = words.filter(|word| READER.contains(word));
    if speaks_of_itself { words.any(|word| matches!(word, "you" | "your")) } else { words.next().is_some() }
}

/// Returns whether the beginning of a call names a tool, at once or as one of the first fields.
fn begins_with_name(head: &str, tool: &str) -> bool {
    let words = head.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    words.filter(|word| !word.is_empty()).take(8).any(|word| is_name_of(word, tool))
}

/// Returns the tool of a text that is nothing but a call, perhaps in a code fence with a few words before it.
fn plain_call<'a>(text: &str, tools: &'a [String]) -> Option<&'a str> {
    let text = text.trim();
    let fenced = text.split_once("```").and_then(|(before, rest)| {
        let (fence, after) = rest.split_once("```").unwrap_or((rest, ""));
        // A text that goes on behind the fence explains an example.
        (after.trim().is_empty() && !is_explanation(before)).then_some(fence)
    });
    let inner = match fenced {
        Some(fence) => {
            let (language, body) = fence.split_once('\n').unwrap_or(("", fence));
            let is_language = language.trim().chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            if is_language { body.trim() } else { fence.trim() }
        }
        None => text,
    };
    json_call(inner, tools).or_else(|| code_call(inner, tools)).or_else(|| reasoned_call(text, tools))
}

/// Returns the tool of a call in JSON: an object with a name and arguments, or a list of such objects.
fn json_call<'a>(text: &str, tools: &'a [String]) -> Option<&'a str> {
    let start = text.find(['{', '['])?;
    // Some models write a line of intent before the call.
    if start > 0 && (!text[..start].ends_with('\n') || is_explanation(&text[..start])) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Json>();
    let first = values.next()?.ok()?;
    // Several calls stand one behind the other. A text behind them is an explanation.
    let rest = text[start + values.byte_offset()..].trim_start();
    (rest.is_empty() || rest.starts_with(['{', ',', ';'])).then(|| called(&first, tools))?
}

/// Returns the tool that a value calls.
fn called<'a>(value: &Json, tools: &'a [String]) -> Option<&'a str> {
    match value {
        Json::Array(all) => all.first().and_then(|first| called(first, tools)),
        Json::Object(fields) => {
            if let Some(inner @ (Json::Array(_) | Json::Object(_))) =
                ["tool_calls", "tool_call", "function_call", "function"]
                    .iter()
                    .find_map(|key| fields.get(*key))
            {
                return called(inner, tools);
            }
            let name = NAME_FIELDS.iter().find_map(|key| fields.get(*key)?.as_str())?;
            let has_arguments =
                ARGUMENT_FIELDS.iter().any(|key| fields.contains_key(*key)) || fields.len() == 1;
            let tool = tools.iter().find(|tool| is_name_of(name, tool))?;
            has_arguments.then_some(tool.as_str())
        }
        _ => None,
    }
}

/// Returns the tool of a text that is one call in the syntax of a programming language: `docs_read(path="a.txt")`,
/// `[docs_read(path="a.txt")]`, `print(docs_read("a.txt"))`.
fn code_call<'a>(text: &str, tools: &'a [String]) -> Option<&'a str> {
    let text = text.trim_end_matches(';');
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let text = text.strip_prefix("print(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    // A blank before the parenthesis begins a remark.
    let (name, rest) = text.split_once('(').filter(|(name, _)| !name.ends_with(char::is_whitespace))?;
    let arguments = arguments(rest)?;
    // A name alone, such as `path`, stands for an argument: a signature is explained.
    let has_values =
        arguments.trim().is_empty() || arguments.contains(|c: char| c.is_numeric() || "\"'={[".contains(c));
    let tool = tools.iter().find(|tool| is_name_of(name, tool))?;
    has_values.then_some(tool.as_str())
}

/// Returns the arguments of a call up to its closing parenthesis, if nothing follows.
fn arguments(rest: &str) -> Option<&str> {
    let (mut depth, mut quote, mut is_escaped) = (1_usize, None, false);
    for (at, char) in rest.char_indices() {
        match (quote, char) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), char) if char == open => quote = None,
            (None, '"' | '\'') => quote = Some(char),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (arguments, after) = rest.split_at(at);
            return (after == ")").then_some(arguments);
        }
    }
    None
}

/// Returns the tool of a call in the notation of prompts that ask for reasons: `Action: docs_read`, then
/// `Action Input: …`.
fn reasoned_call<'a>(text: &str, tools: &'a [String]) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    let (before, _) = text.split_once("Action:")?;
    if is_explanation(before) && !before.trim_start().starts_with("Thought:") {
        return None;
    }
    let named = lines.find_map(|line| line.strip_prefix("Action:"))?.trim();
    lines.any(|line| line.starts_with("Action Input:")).then_some(())?;
    tools.iter().find(|tool| is_name_of(named, tool)).map(String::as_str)
}

/// Returns whether a word is the name of a tool. Models put `functions.` before it, and write `docs.read` for
/// `docs_read`.
fn is_name_of(word: &str, tool: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    if word.len() > MAX_NAME_LEN {
        return false;
    }
    let word = word.strip_prefix("functions.").or(word.strip_prefix("default_api.")).unwrap_or(word);
    // Llama writes `docs_read.call(…)`.
    let word = word.strip_suffix(".call").unwrap_or(word);
    plain(word) == plain(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<String> {
        ["docs_read", "docs_list", "out_write"].map(str::to_owned).to_vec()
    }

    #[test]
    fn call_written_as_text_is_found_in_each_notation() {
        for text in [
            "<tool_call>\n{\"name\": \"docs_read\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>",
            "I will read it.\n<tool_call>\n{\"name\": \"docs_read\", \"argu",
            // NousResearch/hermes-agent#83023
            "<function=docs_read><parameter=path>a.txt</parameter></function>",
            "<tools>{\"name\": \"docs_read\", \"arguments\": {}}</tools>",
            "<invoke name=\"docs_read\">\n<parameter name=\"path\">a.txt</parameter>\n</invoke>",
            // nugget/thane-ai-agent#21, ollama/ollama-vscode#20, jundot/omlx#2565
            "{\"name\": \"docs_read\", \"arguments\": {\"path\": \"a.txt\"}}",
            "[{\"name\": \"docs_read\", \"arguments\": {\"path\": \"a.txt\"}}]",
            // selfagency/opilot#149: one behind the other
            "{\"name\": \"docs_list\", \"arguments\": {}}\n{\"name\": \"docs_read\", \"arguments\": {}}",
            "```json\n{\"name\": \"docs_read\", \"parameters\": {\"path\": \"a.txt\"}}\n```",
            "Let me look:\n\n```\n{\"tool\": \"docs.read\", \"args\": {}}\n```",
            "Let me look at the file.\n{\"name\": \"docs_read\", \"arguments\": {}}",
            // huggingface/smolagents#375
            "[{\"id\": \"call_5\", \"type\": \"function\", \"function\": {\"name\": \"docs_read\", \"arguments\": {}}}]",
            "{\"tool_calls\": [{\"name\": \"docs_read\", \"arguments\": {}}]}",
            "[TOOL_CALLS][{\"name\": \"docs_read\", \"arguments\": {}}]",
            "[TOOL_REQUEST]{\"name\": \"docs_read\"}[END_TOOL_REQUEST]",
            "<|python_tag|>docs_read.call(path=\"a.txt\")",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>docs_read\n```json\n{}\n```",
            "commentary to=functions.docs_read json{\"path\": \"a.txt\"}",
            "docs_read(path=\"a.txt\")",
            "docs_read(path=\"a (1).txt\")",
            "docs_list()",
            "I will use the tool for that:\n```json\n{\"name\": \"docs_read\", \"arguments\": {}}\n```",
            "I will read it. <tool_call>{\"name\": \"docs_read\", \"arguments\": {}}</tool_call>",
            "<tool_call>{\"name\": \"docs_read\", \"arguments\": {}}</tool_call>\nThe file says 5.",
            "```tool_code\nprint(docs_read(path=\"a.txt\"))\n```",
            "[docs_read(path=\"a.txt\")]",
            "Thought: I read it.\nAction: docs_read\nAction Input: {\"path\": \"a.txt\"}",
        ] {
            let found = finding(text, &tools());
            assert!(found.is_some_and(|found| found.rule == "output/call-as-text"), "{text}");
        }
    }

    #[test]
    fn answer_about_calls_is_no_call() {
        for text in [
            "",
            "The total is 12.",
            "I called docs_read and found nothing.",
            "The file says:\n```json\n{\"name\": \"Ada\", \"arguments\": {}}\n```",
            "{\"name\": \"docs_read\", \"size\": 3}",
            "{\"name\": \"other_tool\", \"arguments\": {}}",
            "Use it like this:\n```json\n{\"name\": \"docs_read\", \"arguments\": {}}\n```\nThen read the result.",
            "The mark `<tool_call>` begins a call in some notations, and the rest of this long sentence goes on and \
             on about other things before it names docs_read at last.",
            "docs_read(path) reads a file, and docs_list() lists names.",
            "docs_read(path)",
            "docs_read(\"a.txt\") or docs_read(\"b.txt\")",
            "docs_read(\"a.txt\") fails, as it does in (b)",
            "docs_read (see the note in \"a.txt\")",
            "To read the file, use:\n```\ndocs_read(path=\"a.txt\")\n```",
            "You can read it with:\n```json\n{\"name\": \"docs_read\", \"arguments\": {}}\n```",
            "I will show you a call:\n```json\n{\"name\": \"docs_read\", \"arguments\": {}}\n```",
            "For example:\n{\"name\": \"docs_read\", \"arguments\": {}}",
            "Hermes writes <tool_call>{\"name\": \"docs_read\", \"arguments\": {}}</tool_call> in its answers.",
            "The mark is `<tool_call>`, then docs_read.",
            "The log has this:\n```\n<tool_call>{\"name\": \"docs_read\"}</tool_call>\n```\nSo the call was made.",
            "Prompts of this kind would say:\nAction: docs_read\nAction Input: {}",
        ] {
            assert_eq!(finding(text, &tools()), None, "{text}");
        }
        assert_eq!(finding("<tool_call>{\"name\": \"docs_read\"}</tool_call>", &[]), None);
    }
}
