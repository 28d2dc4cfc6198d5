//! The tokens that a run pays for: the count of the server, and an estimate from the text where the server's count is
//! missing or too low.
//!
//! A server counts its own work, so a limit that believed it would hold only for honest servers. The lower bound is one
//! token for eight characters. No tokenizer in use packs text as tightly, in any script: a token of English has four
//! characters, one of Hindi or Russian three to five. Blanks in a row count as one character, because tokenizers have
//! long blanks in one token. Tools, pictures and files count nothing, because servers write them in forms of their own.

use model::{Message, Reply, Request, Usage};

/// The number of characters for which at least one token is counted.
const MAX_CHARS_PER_TOKEN: u64 = 8;

/// The usual number of characters of a token, for a server that counts nothing.
const USUAL_CHARS_PER_TOKEN: u64 = 4;

/// The largest count that is believed. No model reads or writes as much at once.
const MAX_CREDIBLE: u64 = 100_000_000;

/// The number of tokens that a server may add to a request: the template of its model, and its own instructions.
const MAX_TEMPLATE_TOKENS: u64 = 65_536;

/// The tokens of a reply and its request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CountedTokens {
    /// The counts that a limit uses.
    pub(crate) usage: Usage,
    /// The number of these tokens that the server did not report.
    pub(crate) estimated: u64,
}

/// Returns the tokens of a reply and its request.
pub(crate) fn count(request: &Request, reply: &Reply) -> CountedTokens {
    let said = reply.usage;
    let (read, written) = (request_chars(request), reply_chars(reply));
    // A token has at least one byte. Pictures and files have tokens for what they show.
    let is_text = !request.messages.iter().any(|message| match message {
        Message::User { media, .. } => !media.is_empty(),
        _ => false,
    });
    let most_read = match is_text {
        true => read.bytes.saturating_add(MAX_TEMPLATE_TOKENS),
        false => MAX_CREDIBLE,
    };
    let input = side(said.input_tokens, most_read, read.least, read.all);
    // A model may think at length before it writes a word.
    let written_all = written.all.saturating_add(reply.thinking_bytes);
    let output = side(said.output_tokens, MAX_CREDIBLE, written.least, written_all);
    // Tokens from a cache cost less. They are a part of the tokens that the server reported, and never of an estimate.
    let is_believed = input.reported > 0;
    let cached = if is_believed { said.cached_tokens.min(input.reported) } else { 0 };
    let cache_write = if is_believed { said.cache_write_tokens.min(input.reported - cached) } else { 0 };
    CountedTokens {
        usage: Usage {
            input_tokens: input.counted,
            cached_tokens: cached,
            cache_write_tokens: cache_write,
            output_tokens: output.counted,
            seconds: said.seconds,
        },
        estimated: (input.counted - input.reported).saturating_add(output.counted - output.reported),
    }
}

/// The tokens of one side.
struct Side {
    /// The number of tokens that a limit uses.
    counted: u64,
    /// The number of tokens of the server, or 0 if its count is missing or incredible.
    reported: u64,
}

fn side(reported: u64, most: u64, least_chars: u64, all_chars: u64) -> Side {
    if reported == 0 || reported > most.min(MAX_CREDIBLE) {
        return Side { counted: all_chars.div_ceil(USUAL_CHARS_PER_TOKEN), reported: 0 };
    }
    Side { counted: reported.max(least_chars / MAX_CHARS_PER_TOKEN), reported }
}

/// The characters of one side.
#[derive(Default)]
struct Chars {
    /// The number of characters that every server counts, blanks in a row as one.
    least: u64,
    /// The number of all characters, with the tools and their parameters.
    all: u64,
    /// The number of bytes.
    bytes: u64,
}

impl Chars {
    /// Adds a text that every server counts.
    fn add(&mut self, text: &str) {
        let mut was_blank = false;
        for char in text.chars() {
            let is_blank = char.is_whitespace();
            self.least += u64::from(!(is_blank && was_blank));
            was_blank = is_blank;
        }
        self.add_other(text);
    }

    /// Adds a text that servers write in forms of their own.
    fn add_other(&mut self, text: &str) {
        self.all += text.chars().count() as u64;
        self.bytes += text.len() as u64;
    }
}

fn request_chars(request: &Request) -> Chars {
    let mut chars = Chars::default();
    chars.add(&request.system);
    for message in &request.messages {
        match message {
            Message::User { text, .. } => chars.add(text),
            Message::ToolResult { content, .. } => chars.add(content),
            Message::Assistant { text, calls } => {
                chars.add(text);
                for call in calls {
                    chars.add(&call.name);
                    chars.add(&call.arguments.to_string());
                }
            }
        }
    }
    for tool in &request.tools {
        [&tool.name, &tool.description, &tool.parameters.to_string()]
            .into_iter()
            .for_each(|text| chars.add_other(text));
    }
    request.output.iter().for_each(|output| chars.add_other(&output.to_string()));
    chars
}

fn reply_chars(reply: &Reply) -> Chars {
    let mut chars = Chars::default();
    chars.add(&reply.text);
    for call in &reply.calls {
        chars.add(&call.name);
        chars.add(&call.arguments.to_string());
    }
    for call in &reply.malformed {
        chars.add(&call.name);
        chars.add(&call.arguments);
    }
    chars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        Request { messages: vec![Message::user(text)], ..Request::default() }
    }

    fn reply(text: &str, input_tokens: u64, output_tokens: u64) -> Reply {
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        Reply { text: text.to_owned(), usage, ..Reply::default() }
    }

    /// Reported of other programs: openai/codex#37138 (an answer without usage skips the totals and the budget),
    /// ollama/ollama#2068 (no `prompt_eval_count` for a prompt that the server had in its cache), mrwadams/stride-gpt#214
    /// (a usage of zeroes counts nothing).
    #[test]
    fn tokens_are_never_fewer_than_the_text_has() {
        let words = "word ".repeat(800);
        let words = words.as_str();
        for (read, written, reported, counted, estimated) in [
            // An honest count stays, and a higher one too.
            (words, "ok", (1000, 1), (1000, 1), 0),
            (words, "ok", (3999, 700), (3999, 700), 0),
            // Nothing, one, and input without output.
            (words, words, (0, 0), (1000, 1000), 2000),
            (words, words, (1, 1), (500, 500), 998),
            (words, words, (1000, 0), (1000, 1000), 1000),
            (words, words, (0, 1000), (1000, 1000), 1000),
            // Incredible counts are none.
            (words, "ok", (u64::MAX, u64::MAX), (1000, 1), 1001),
            (words, "ok", (5_000_000, 1), (1000, 1), 1000),
            ("", "", (0, 0), (0, 0), 0),
        ] {
            let got = count(&request(read), &reply(written, reported.0, reported.1));
            let tokens = (got.usage.input_tokens, got.usage.output_tokens);
            assert_eq!((tokens, got.estimated), (counted, estimated), "{reported:?}");
        }
    }

    /// The counts are those of `o200k_base`, a tokenizer with few tokens for text in any script.
    #[test]
    fn honest_count_of_any_script_is_believed() {
        for (text, tokens) in [
            ("The invoice is due on the first of December, and the amount is 4,310 euros.", 20),
            ("Счёт должен быть оплачен до первого декабря, сумма составляет четыре тысячи евро.", 18),
            ("चालान का भुगतान पहली दिसंबर तक किया जाना है और राशि चार हजार यूरो है।", 19),
            ("請求書の支払期限は十二月一日で、金額は四千三百十ユーロです。", 27),
            ("ใบแจ้งหนี้ครบกำหนดชำระในวันที่หนึ่งธันวาคม", 17),
            ("column A                                        column B\n\n\n\n\n        12", 9),
        ] {
            let got = count(&request(text), &reply(text, tokens, tokens));
            assert_eq!(got.estimated, 0, "{text}");
        }
    }

    #[test]
    fn pictures_and_tools_raise_no_honest_count() {
        let mut asked = request("What is this?");
        asked.tools = vec![model::Tool {
            name: "read".to_owned(),
            description: "Reads a file. ".repeat(100),
            parameters: serde_json::json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
        }];
        assert_eq!(count(&asked, &reply("A cat.", 8, 3)).estimated, 0);
        let picture = model::Media {
            kind: model::MediaKind::Image,
            name: "a.png".to_owned(),
            media_type: "image/png".to_owned(),
            blob: String::new(),
            bytes: vec![0; 100_000].into(),
        };
        asked.messages = vec![Message::User { text: "What is this?".to_owned(), media: vec![picture] }];
        assert_eq!(count(&asked, &reply("A cat.", 8, 3)).estimated, 0);
        // A picture may have more tokens than the text beside it has bytes.
        assert_eq!(count(&asked, &reply("A cat.", 300_000, 3)).usage.input_tokens, 300_000);
    }

    #[test]
    fn cached_tokens_are_only_those_of_a_believed_count() {
        let words = "word ".repeat(800);
        let cached = |input_tokens, cached_tokens| {
            let mut reply = reply("ok", input_tokens, 1);
            reply.usage.cached_tokens = cached_tokens;
            reply.usage.cache_write_tokens = cached_tokens;
            let usage = count(&request(&words), &reply).usage;
            (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens)
        };
        assert_eq!(cached(1000, 400), (1000, 400, 400));
        assert_eq!(cached(1000, u64::MAX), (1000, 1000, 0));
        assert_eq!(cached(1, 1), (500, 1, 0));
        assert_eq!(cached(0, 1000), (1000, 0, 0));
    }
}
