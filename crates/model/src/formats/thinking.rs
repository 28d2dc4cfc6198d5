//! Thinking in the text: the wrappers that local models write around it, which servers often leave in the answer.

/// The tags around thinking, in lower case. The opening tag stands at the beginning of the text; chat templates that
/// write it themselves leave it out.
const WRAPPERS: [(&str, &str); 14] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reason>", "</reason>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|think|>", "<|/think|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<unused94>", "<unused95>"),
    ("<details type=\"reasoning\"", "</details>"),
];

/// The wrappers whose opening tag a chat template may have written. The others never come without it.
const UNOPENED: [&str; 4] = ["</think>", "</thinking>", "[/think]", "</seed:think>"];

/// The wrappers of an answer after its thinking.
const ANSWERS: [(&str, &str); 4] = [
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("<|begin_of_solution|>", "<|end_of_solution|>"),
    ("<|start_response|>", "<|end_response|>"),
];

/// The marks of the channels of a model of OpenAI's that a server did not take apart.
const FINAL_CHANNEL: &str = "<|channel|>final<|message|>";
const CHANNEL: &str = "<|channel|>";
const CHANNEL_ENDS: [&str; 3] = ["<|return|>", "<|end|>", "<|call|>"];

/// Returns the text without the thinking before it, and the number of bytes of that thinking.
///
/// A text that begins with an opening tag and never closes it holds nothing but thinking.
pub(super) fn split(text: &str) -> (&str, u64) {
    let answer = match (channels(text), after_thinking(text)) {
        (Some(answer), _) => answer,
        (None, answer) if answer.len() == text.len() => return (text, 0),
        (None, answer) => unwrapped(answer),
    };
    (answer, (text.len() - answer.len()) as u64)
}

/// Returns whether the text begins with thinking that has not ended, or may still turn out to do so. Such a text is
/// not shown while it comes.
pub(crate) fn is_open(text: &str) -> bool {
    let start = text.trim_start();
    let may_open = |tag: &str| {
        let head: String = start.chars().take(tag.chars().count()).collect::<String>().to_lowercase();
        tag.starts_with(&head)
    };
    if start.starts_with(CHANNEL) {
        return !start.contains(FINAL_CHANNEL);
    }
    WRAPPERS.iter().any(|(open, close)| may_open(open) && find(start, close).is_none()) || may_open(CHANNEL)
}

/// Returns the text behind all thinking at its beginning.
fn after_thinking(text: &str) -> &str {
    let mut rest = text;
    loop {
        let start = rest.trim_start();
        let opened = WRAPPERS.iter().find(|(open, _)| begins_with(start, open));
        let Some((open, close)) = opened else { break };
        let inner = start.get(open.len()..).unwrap_or_default();
        rest = match find(inner, close) {
            Some(at) => inner.get(at + close.len()..).unwrap_or_default().trim_start(),
            None => return "",
        };
    }
    if rest.len() == text.len()
        && let Some(behind) = UNOPENED.iter().find_map(|close| unopened(rest, close))
    {
        return behind.trim_start();
    }
    rest
}

/// Returns the text behind a closing tag without an opening one. A tag that the text only speaks about, in quotes, in
/// code or between blanks, closes nothing.
fn unopened<'a>(text: &'a str, close: &str) -> Option<&'a str> {
    let at = find(text, close)?;
    let (before, behind) = (text.get(..at)?, text.get(at + close.len()..)?);
    let open = close.replacen('/', "", 1);
    let (last, next) = (before.chars().next_back(), behind.chars().next());
    let quotes = ['`', '"', '\'', '“', '‘', '«', '(', '\\'];
    let is_quoted = last.is_some_and(|c| quotes.contains(&c))
        || next.is_some_and(|c| ['`', '"', '\''].contains(&c) && last == next);
    let is_in_prose = last == Some(' ') && next == Some(' ');
    let is_in_code = before.matches("```").count() % 2 == 1;
    let has_opening = find(before, &open).is_some();
    (!is_quoted && !is_in_prose && !is_in_code && !has_opening).then_some(behind)
}

/// Returns the answer without the tags that some models put around it after their thinking.
fn unwrapped(answer: &str) -> &str {
    let inner = ANSWERS.iter().find_map(|(open, close)| {
        let rest = begins_with(answer, open).then(|| answer.get(open.len()..))??.trim_end();
        let end = rest.len().checked_sub(close.len())?;
        rest.get(end..).filter(|tail| tail.eq_ignore_ascii_case(close))?;
        rest.get(..end)
    });
    inner.map_or(answer, str::trim)
}

/// Returns the text of the final channel, if the text is one of channels. Without a final channel it is only thinking.
fn channels(text: &str) -> Option<&str> {
    let start = text.trim_start();
    if !start.starts_with(CHANNEL) && !start.starts_with("<|start|>") {
        return None;
    }
    let Some(at) = text.find(FINAL_CHANNEL) else {
        // A call to a tool is no thinking. It stays, so that the model can be told how calls are made.
        return (!text.contains(" to=")).then_some("");
    };
    let mut answer = text.get(at + FINAL_CHANNEL.len()..)?;
    for end in CHANNEL_ENDS {
        answer = answer.trim_end().strip_suffix(end).unwrap_or(answer);
    }
    Some(answer)
}

fn begins_with(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
}

/// Returns the place of a tag in any case of its letters.
fn find(text: &str, tag: &str) -> Option<usize> {
    let (text, tag) = (text.as_bytes(), tag.as_bytes());
    text.windows(tag.len()).position(|window| window.eq_ignore_ascii_case(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_before_the_answer_is_left_out() {
        for (text, expected) in [
            ("<think>\nplan\n</think>\n\n{\"a\":1}", "{\"a\":1}"),
            ("\n<THINK>plan</THINK>answer", "answer"),
            ("<think></think>\n\nanswer", "answer"),
            ("<think>a</think><think>b</think>answer", "answer"),
            // The chat template wrote the opening tag: vllm-project/vllm#13125, ggml-org/llama.cpp#11861.
            ("plan\n</think>\n\nanswer", "answer"),
            ("plan</think>{\"a\":1}", "{\"a\":1}"),
            ("</think>\n\nanswer", "answer"),
            ("[THINK]plan[/THINK]answer", "answer"),
            ("◁think▷plan◁/think▷answer", "answer"),
            ("<seed:think>plan</seed:think>answer", "answer"),
            ("<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>answer<|END_RESPONSE|>", "answer"),
            ("<think>plan</think>\n<answer>\nanswer\n</answer>", "answer"),
            ("<details type=\"reasoning\" done=\"true\">\nplan</details>\nanswer", "answer"),
            (
                "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>answer<|return|>",
                "answer",
            ),
            // Nothing but thinking: lobehub/lobehub#5672.
            ("<think>plan", ""),
            ("<think>plan</think>", ""),
        ] {
            let (answer, thinking) = split(text);
            assert_eq!(answer, expected, "{text}");
            assert!(thinking > 0, "{text}");
        }
    }

    #[test]
    fn text_about_tags_stays_whole() {
        for text in [
            "answer",
            "",
            "The tag `</think>` ends the thinking.",
            "Models write </think> at the end.",
            "It wrote \"</think>\" twice.",
            "```\nplan\n</think>\n```\nThat is how it looks.",
            "First an answer, then <think>a thought</think>.",
            "<answer>as it was asked for</answer>",
            "<details>shown on a click</details>",
            "<thinker>a name</thinker>",
        ] {
            assert_eq!(split(text), (text, 0), "{text}");
        }
    }

    #[test]
    fn open_thinking_is_recognised_while_it_comes() {
        for text in ["", "<", "<th", "<think>", "<think>plan</thi", "\n<think>", "<|channel|>analysis"] {
            assert!(is_open(text), "{text}");
        }
        for text in ["a", "<p>", "<think>plan</think>", "<think>plan</think>answer", "answer <think>"] {
            assert!(!is_open(text), "{text}");
        }
    }
}
