//! Replies that end before the model was done: the findings that say so, and the way to go on.

use kernel::proposal::Finding;
use model::{MalformedCall, Reply, Stop};
use passable::{quoting, visible_line};
use serde_json::error::Category;

/// The rule of the finding about an answer that was cut.
pub(crate) const ANSWER_RULE: &str = "output/length";

/// The rule of the finding about a call that was cut.
pub(crate) const CALL_RULE: &str = "tool/cut";

/// The rule of the finding about arguments that cannot be read.
const JSON_RULE: &str = "tool/json";

/// The rule of the finding about too many calls in one reply.
const COUNT_RULE: &str = "tool/count";

/// The maximum number of characters that are shown around a mistake.
const MAX_SHOWN_CHARS: usize = 60;

/// Returns whether these findings are about a reply that was cut at its token limit.
pub(crate) fn is_about_a_cut(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.rule == ANSWER_RULE || finding.rule == CALL_RULE)
}

/// Returns the finding about an answer that was cut.
pub(crate) fn answer_finding(reply: &Reply, tools: &[String]) -> Finding {
    let end = limit_phrase(reply);
    let message = match reply.text.trim().is_empty() {
        // A model that thinks first can use up its limit before it answers.
        true => format!("there is no answer: all of the reply was used up before one began{end}"),
        false => format!("the answer was cut off, because it was too long{end}"),
    };
    Finding::new(ANSWER_RULE, message).at("answer").allowed(match way_to_append(tools) {
        Some(way) => {
            format!("a shorter answer, with less thinking before it; or a long text in parts: {way}")
        }
        None => "a shorter answer, with less thinking before it".to_owned(),
    })
}

/// Returns the finding about a call whose arguments cannot be read. Arguments that end in the middle were cut, whatever
/// the server says about the end of the reply.
pub(crate) fn call_finding(call: &MalformedCall, reply: &Reply, tools: &[String]) -> Finding {
    let parsed = serde_json::from_str::<serde_json::Value>(call.arguments.trim());
    match parsed.err() {
        Some(error) if error.classify() == Category::Eof => {
            let finding = cut_finding(&call.name, call.arguments.len(), reply, tools);
            // Without a word of the server about its limit, a longer reply need not help.
            match reply.stop {
                Stop::Length => finding,
                _ => Finding { rule: JSON_RULE.to_owned(), ..finding },
            }
        }
        Some(error) => {
            let at = position(call.arguments.trim(), error.line(), error.column());
            let message = quoting!(
                "the arguments are no JSON: the mistake is at character {}, in `{}`",
                at.0.to_string(),
                visible_line(&at.1)
            );
            Finding::new(JSON_RULE, message).at(call.name.clone()).allowed("a JSON object")
        }
        // The arguments are sound, but the model made too many calls.
        None if call.reason.contains("calls in one reply") => {
            Finding::new(COUNT_RULE, quoting!("too many calls: {}", call.reason))
                .at(call.name.clone())
                .allowed("the other calls in further replies, at most 256 in each")
        }
        // The text is JSON, but its numbers or names would be lost.
        None => Finding::new(JSON_RULE, quoting!("the arguments cannot be kept: {}", call.reason))
            .at(call.name.clone())
            .allowed("a JSON object; a long number as text"),
    }
}

/// Returns whether a call without arguments is the rest of a call that was cut before its arguments began.
pub(crate) fn is_cut_call(reply: &Reply, index: usize) -> bool {
    let is_last = index + 1 == reply.calls.len() && reply.malformed.is_empty();
    let call = reply.calls.get(index);
    let has_none = call.is_some_and(|call| call.arguments.as_object().is_some_and(serde_json::Map::is_empty));
    reply.stop == Stop::Length && is_last && has_none
}

/// Returns the finding about a call that was cut after some bytes of its arguments.
pub(crate) fn cut_finding(name: &str, bytes: usize, reply: &Reply, tools: &[String]) -> Finding {
    let end = limit_phrase(reply);
    let unit = if bytes == 1 { "byte" } else { "bytes" };
    let message =
        format!("the call was cut off after {bytes} {unit} of arguments{end}; nothing of it was done");
    Finding::new(CALL_RULE, message).at(name.to_owned()).allowed(match way_to_append(tools) {
        Some(way) => format!("shorter arguments; a long text in parts: {way}"),
        None => "shorter arguments, or several calls with a part each".to_owned(),
    })
}

/// Returns the words for the limit at which a reply ended.
fn limit_phrase(reply: &Reply) -> String {
    match (reply.stop, reply.usage.output_tokens) {
        (Stop::Length, 0) => ", at the limit of one reply".to_owned(),
        (Stop::Length, tokens) => format!(", at the limit of one reply: {tokens} tokens"),
        _ => String::new(),
    }
}

/// Returns the way to write a long text in parts, if the model has a tool for that.
fn way_to_append(tools: &[String]) -> Option<String> {
    let append = tools.iter().find(|tool| tool.ends_with("_append"))?;
    let write = format!("{}_write", append.strip_suffix("_append")?);
    Some(match tools.contains(&write) {
        true => format!("the first with `{write}`, each further one with `{append}`"),
        false => format!("each with `{append}`"),
    })
}

/// Returns the place of a mistake: the number of the character, from 1, and the text around it.
fn position(text: &str, line: usize, column: usize) -> (usize, String) {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = text.floor_char_boundary((start + column.saturating_sub(1)).min(text.len()));
    let before: Vec<char> = text[..at].chars().rev().take(MAX_SHOWN_CHARS / 2).collect();
    let around: String =
        before.into_iter().rev().chain(text[at..].chars().take(MAX_SHOWN_CHARS / 2)).collect();
    (text[..at].chars().count() + 1, around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Call, Usage};
    use serde_json::json;

    fn reply(stop: Stop, output_tokens: u64, text: &str) -> Reply {
        let usage = Usage { output_tokens, ..Usage::default() };
        Reply { stop, usage, text: text.to_owned(), ..Reply::default() }
    }

    fn tools() -> Vec<String> {
        ["out_append", "out_write"].map(str::to_owned).to_vec()
    }

    #[test]
    fn calls_beyond_the_limit_are_blamed_on_their_number() {
        let reason = "the model made 300 calls in one reply; the first 256 were taken".to_owned();
        let call = MalformedCall {
            id: "a".to_owned(),
            name: "out_write".to_owned(),
            arguments: "{}".to_owned(),
            reason,
        };
        let found = call_finding(&call, &reply(Stop::Calls, 0, ""), &tools());
        assert_eq!(found.rule, "tool/count");
        assert!(found.message.contains("300 calls in one reply"), "{}", found.message);
        assert!(found.allowed.as_ref().is_some_and(|way| way.contains("at most 256")), "{:?}", found.allowed);
    }

    #[test]
    fn cut_call_is_reported_with_append_as_the_way() {
        let call = |arguments: &str| MalformedCall {
            id: "a".to_owned(),
            name: "out_write".to_owned(),
            arguments: arguments.to_owned(),
            reason: "EOF while parsing a string at line 1 column 10269".to_owned(),
        };
        for (arguments, stop, rule, words) in [
            (
                r#"{"path":"a","content":"word word"#,
                Stop::Length,
                CALL_RULE,
                "at the limit of one reply: 2048 tokens",
            ),
            // MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#55: the server says `tool_calls`.
            (r#"{"path":"a","content":["word""#, Stop::Calls, JSON_RULE, "cut off after 29 bytes"),
            // lobehub/lobehub#13817
            ("{", Stop::Length, CALL_RULE, "nothing of it was done"),
            (r#"{"path": a.md}"#, Stop::Calls, "tool/json", "at character 10, in `{\"path\": a.md}`"),
            (r#"{"path":"a"}{"path":"b"}"#, Stop::Calls, "tool/json", "at character 13"),
        ] {
            let finding = call_finding(&call(arguments), &reply(stop, 2048, ""), &tools());
            assert_eq!(finding.rule, rule, "{arguments}");
            assert!(finding.message.contains(words), "{}", finding.message);
            let is_cut = finding.message.contains("cut off");
            let allowed = finding.allowed.unwrap();
            assert_eq!(allowed.contains("each further one with `out_append`"), is_cut, "{allowed}");
            for parser in ["EOF", "line 1", "column", "expected"] {
                assert!(!finding.message.contains(parser), "{}", finding.message);
            }
        }
    }

    #[test]
    fn cut_answer_says_that_thinking_used_it_up() {
        let said = |text: &str| answer_finding(&reply(Stop::Length, 2048, text), &[]).message;
        assert!(said("word word").contains("cut off"), "{}", said("word word"));
        assert!(said(" \n").contains("before one began, at the limit of one reply: 2048"), "{}", said(""));
    }

    /// Reported of other programs: mattmezza/humux#77 and Ultimate-Multisite/superdav-ai-agent#1632 (the error is about
    /// missing arguments, and the model makes the same call again).
    #[test]
    fn call_without_arguments_at_the_limit_is_cut() {
        let with = |stop, arguments| Reply {
            calls: vec![Call::new("a", "out_list", arguments)],
            ..reply(stop, 9, "")
        };
        assert!(is_cut_call(&with(Stop::Length, json!({})), 0));
        assert!(!is_cut_call(&with(Stop::Calls, json!({})), 0));
        assert!(!is_cut_call(&with(Stop::Length, json!({"path": "."})), 0));
    }
}
