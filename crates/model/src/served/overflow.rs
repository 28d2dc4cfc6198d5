//! The numbers in a server's refusal of a request that is too long, or that asks for too long a reply.

use serde_json::Value;

/// Words by which servers say that a request does not fit the model's context, in lower case.
const OVERFLOW: &[&str] = &[
    "context_length",
    "context length",
    "context limit",
    "context size",
    "context window",
    "maximum context",
    "exceeds the context",
    "exceed_context",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input token count",
    "input tokens exceed",
    "maximum prompt length",
    "maximum input length",
    "max_new_tokens` must be <=",
    "`inputs` must have less than",
    "token limit:",
    "number of tokens in the prompt cannot exceed",
    "range of input length",
    "request too large for model",
    "request too large for gpt",
];

/// Words by which servers name the token limit of a reply, in lower case.
const OUTPUT: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxoutputtokens",
    "max_new_tokens",
    "num_predict",
    "completion tokens",
    "output tokens",
    "max tokens",
];

/// Words before the number of tokens that fit.
const BEFORE_LIMIT: &[&str] = &[
    "context length is",
    "context length of",
    "context length of only",
    "context length (",
    "context length:",
    "context size (",
    "context size of",
    "context window of",
    "context window is",
    "configured limit of",
    "tokens allowed (",
    "tokens allowed",
    "prompt length is",
    "must be <=",
    "must have less than",
    "cannot exceed",
    "token limit:",
    "limit",
    "too large for model with",
    "tokens >",
];

/// Words behind the number of tokens of the request alone.
const AFTER_INPUT: &[&str] = &[
    "in the messages",
    "of text input",
    "in the prompt",
    "in your prompt",
    "input tokens",
    "`inputs` tokens",
    "tokens from the input messages",
    "tokens in the messages",
];

/// The smallest number that can be the size of a context.
const MIN_CONTEXT: u64 = 256;

/// The smallest number that is taken for the limit of a reply.
const MIN_OUTPUT: u64 = 16;

/// A number in a message, with the words around it.
struct Figure<'a> {
    value: u64,
    before: &'a str,
    after: &'a str,
}

/// The token counts of a request that is too long, as far as the message names them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Overflow {
    /// The number of tokens of the request. If the message counts the reply apart, the reply is left out.
    pub(super) tokens: Option<u64>,
    /// The number of tokens that fit.
    pub(super) limit: Option<u64>,
}

/// Returns the token counts in a message, or `None` if the message says nothing about a context.
pub(super) fn overflow(message: &str) -> Option<Overflow> {
    let lower = message.to_lowercase();
    if !OVERFLOW.iter().any(|words| lower.contains(words)) {
        return None;
    }
    let figures = figures(&lower);
    let large = || figures.iter().filter(|figure| figure.value >= MIN_CONTEXT);
    let follows = |figure: &&Figure<'_>| BEFORE_LIMIT.iter().any(|words| figure.before.ends_with(words));
    // `190000 + 20000 > 200000`: the request and its reply stand before the limit.
    let sum = figures.windows(3).find_map(|three| match three {
        [input, reply, limit] if reply.before.ends_with('+') && limit.before.ends_with('>') => {
            Some(Overflow { tokens: Some(input.value), limit: Some(limit.value) })
        }
        _ => None,
    });
    if sum.is_some() {
        return sum;
    }
    let bounded = large()
        .find(|figure| figure.after.starts_with("maximum") || figure.after.starts_with("tokens maximum"));
    // The first number after such words is the limit, because a message states the limit before the reply's share.
    let limit = large().find(follows).or(bounded).map(|figure| figure.value);
    let input = figures
        .iter()
        .find(|figure| AFTER_INPUT.iter().any(|words| figure.after.starts_with(words)))
        .map(|figure| figure.value);
    let total = large().map(|figure| figure.value).filter(|value| Some(*value) != limit).max();
    let total = total.filter(|total| limit.is_none_or(|limit| *total > limit));
    Some(Overflow { tokens: input.or(total.filter(|_| limit.is_some())), limit })
}

/// Returns the token counts in the fields of an error, which llama.cpp adds to its message.
pub(super) fn overflow_fields(body: &str) -> Overflow {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let error = json.as_ref().map(|json| json.get("error").unwrap_or(json));
    let field = |name: &str| error?.get(name)?.as_u64();
    Overflow { tokens: field("n_prompt_tokens"), limit: field("n_ctx") }
}

/// Returns the maximum number of tokens of a reply that a refusal names, if the request asked for more than that.
pub(super) fn accepted_output(message: &str, asked: u64) -> Option<u64> {
    let lower = message.to_lowercase();
    if !OUTPUT.iter().any(|words| lower.contains(words)) {
        return None;
    }
    let named = figures(&lower).into_iter().map(|figure| {
        // `1 (inclusive) to 8193 (exclusive)` and `[1, 8193)`.
        let is_excluded = figure.after.starts_with("(exclusive")
            || (figure.after.starts_with(')') && lower.contains('['))
            || figure.before.ends_with("less than");
        figure.value.saturating_sub(u64::from(is_excluded))
    });
    named.filter(|value| *value >= MIN_OUTPUT && *value < asked).max()
}

/// Returns the whole numbers of a text. Digits within a name, such as a model's, are no numbers.
fn figures(text: &str) -> Vec<Figure<'_>> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(|c: char| c.is_ascii_digit()).map(|at| rest + at) {
        let tail = &text[start..];
        let digits = |part: &str| part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut end = digits(tail);
        // `128,000` is one number, and `[1, 8192]` has two.
        while let Some(part) = tail[end..].strip_prefix([',', '_']).filter(|part| digits(part) == 3) {
            end = tail.len() - part.len() + 3;
        }
        let (before, after) = (&text[..start], &tail[end..]);
        let glued = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        let is_fraction = after.strip_prefix('.').is_some_and(|part| digits(part) > 0);
        let is_apart = !before.ends_with(glued)
            && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && !is_fraction;
        let plain: String = tail[..end].chars().filter(char::is_ascii_digit).collect();
        if let (true, Ok(value)) = (is_apart, plain.parse()) {
            let quotes = |c: char| c.is_whitespace() || matches!(c, '`' | '\'' | '"');
            found.push(Figure {
                value,
                before: before.trim_end_matches(quotes),
                after: after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '\'' | '"')),
            });
        }
        rest = start + end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_names_the_counts_of_each_server() {
        for (message, expected) in [
            // anthropics/claude-code#26042, appstrate/appstrate#464
            ("prompt is too long: 218831 tokens > 200000 maximum", Some((Some(218_831), Some(200_000)))),
            // open-webui/open-webui#27599
            (
                "request (152533 tokens) exceeds the available context size (131072 tokens), try increasing it",
                Some((Some(152_533), Some(131_072))),
            ),
            // sgl-project/sglang#8096
            (
                "The input (85050 tokens) is longer than the model's context length (32768 tokens).",
                Some((Some(85_050), Some(32_768))),
            ),
            // ChatGPTNextWeb/NextChat#3195
            (
                "This model's maximum context length is 8192 tokens. However, you requested 8256 tokens (64 in the \
                 messages, 8192 in the completion). Please reduce the length of the messages or completion.",
                Some((Some(64), Some(8192))),
            ),
            // claude-code-best/claude-code#272
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is \
                 64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235).",
                Some((Some(24_235), Some(64_001))),
            ),
            (
                "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,112 \
                 tokens.",
                Some((Some(130_112), Some(128_000))),
            ),
            (
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 297006 tokens.",
                Some((Some(297_006), Some(272_000))),
            ),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
                Some((Some(190_000), Some(200_000))),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some((Some(1_200_000), Some(1_048_576))),
            ),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1000 `inputs` tokens and 4000 \
                 `max_new_tokens`",
                Some((Some(1000), Some(4096))),
            ),
            (
                "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a \
                 total of 40000 tokens: 30000 tokens from the input messages and 10000 tokens for the completion.",
                Some((Some(30_000), Some(32_768))),
            ),
            (
                "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context \
                 length",
                Some((Some(65_673), Some(32_768))),
            ),
            (
                "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested \
                 41000.",
                Some((Some(41_000), Some(30_000))),
            ),
            ("the input length exceeds the context length", Some((None, None))),
            ("the model claude-3-200000 does not exist", None),
            ("max_tokens is too large: 6000", None),
        ] {
            let got = overflow(message).map(|found| (found.tokens, found.limit));
            assert_eq!(got, expected, "{message}");
        }
    }

    #[test]
    fn refusal_names_the_accepted_length_of_a_reply() {
        for (message, asked, expected) in [
            // ChatGPTNextWeb/NextChat#3195, AQBot-Desktop/AQBot#93
            (
                "max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you \
                 provided 6000.",
                6000,
                Some(4096),
            ),
            // Gitlawb/openclaude#331
            (
                "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum \
                 value, expected a value <= 12288, but got 32000 instead. Request id: 0217752964393142fa50af",
                32_000,
                Some(12_288),
            ),
            (
                "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for \
                 claude-3-opus-20240229",
                8192,
                Some(4096),
            ),
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 20_000, Some(8192)),
            (
                "it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 \
                 (exclusive).",
                100_000,
                Some(65_536),
            ),
            ("`max_tokens` must be less than or equal to `8192`", 9000, Some(8192)),
            ("Unsupported parameter: 'max_tokens', use 'max_completion_tokens'", 2048, None),
            ("'max_tokens' is not supported with this model", 2048, None),
            ("temperature must be at most 2", 2048, None),
        ] {
            assert_eq!(accepted_output(message, asked), expected, "{message}");
        }
    }
}
