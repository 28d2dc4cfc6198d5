//! The bytes of an answer: the quirks that do not depend on the format.

use std::io::Write as _;

use serde_json::{Value, json};

use super::chance::Chance;

/// Stands for half of a surrogate pair, whose four digits follow.
pub(crate) const HALF: char = '\u{F8FF}';
/// Stands for a byte, whose two digits follow.
pub(crate) const BYTE: char = '\u{F8FE}';

/// The messages of an answer, in order.
pub(crate) struct Messages {
    pub(crate) list: Vec<Value>,
    /// The number of messages before the first one that says how the answer ends.
    pub(crate) end: usize,
    /// Whether the list is a single whole answer.
    pub(crate) is_whole: bool,
    /// Whether `[DONE]` follows. It does not if the format has no such mark.
    pub(crate) done: bool,
    /// Whether words that are no message may stand between the messages.
    pub(crate) takes_noise: bool,
}

/// A body, and the number of its bytes before the end is told.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    pub(crate) open: usize,
    pub(crate) content_type: &'static str,
}

/// Cuts a text into pieces. Some cuts go through a character.
pub(crate) fn pieces(chance: &mut Chance, text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for c in text.chars() {
        let mut utf16 = [0; 2];
        let mut utf8 = [0; 4];
        let halves = c.encode_utf16(&mut utf16).to_vec();
        let bytes = c.encode_utf8(&mut utf8).as_bytes().to_vec();
        let last = out.len() - 1;
        if halves.len() == 2 && chance.percent(15) {
            out[last] += &format!("{HALF}{:04x}", halves[0]);
            out.push(format!("{HALF}{:04x}", halves[1]));
        } else if bytes.len() > 1 && chance.percent(8) {
            let at = 1 + chance.below(bytes.len() - 1);
            let spell =
                |bytes: &[u8]| bytes.iter().map(|byte| format!("{BYTE}{byte:02x}")).collect::<String>();
            out[last] += &spell(&bytes[..at]);
            out.push(spell(&bytes[at..]));
        } else {
            out[last].push(c);
            if chance.percent(15) {
                out.push(String::new());
            }
        }
    }
    out
}

/// Returns the bytes of one message.
fn spell(chance: &mut Chance, message: &Value, pretty: bool, ascii: bool) -> Vec<u8> {
    let text = if pretty { format!("{message:#}") } else { message.to_string() };
    let _ = chance;
    let mut out = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            HALF => {
                out.extend_from_slice(b"\\u");
                out.extend(chars.by_ref().take(4).map(|c| c as u8));
            }
            BYTE => {
                let digits: String = chars.by_ref().take(2).collect();
                out.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            c if ascii && !c.is_ascii() => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// Returns a count of tokens, as servers write it.
pub(crate) fn odd_count(chance: &mut Chance) -> Value {
    chance.pick(&[
        json!(12),
        json!(12.0),
        json!("12"),
        json!(-1),
        json!(null),
        json!([]),
        json!("n/a"),
        json!(1e300),
        json!({}),
    ])
}

/// Frames the messages. `lines` says whether the format's streams are lines of JSON.
pub(crate) fn body(chance: &mut Chance, messages: &Messages, lines: bool) -> Body {
    let ascii = chance.percent(30);
    let end_of_line = chance.pick(&["\n", "\n", "\r\n", "\r"]);
    let as_json = messages.is_whole || if lines { chance.percent(85) } else { false };
    let mut out = Vec::new();
    let mut open = 0;
    if chance.percent(5) {
        out.extend_from_slice("\u{feff}".as_bytes());
    }
    if chance.percent(10) {
        out.extend_from_slice(b"\n \n");
    }
    let pretty = as_json && chance.percent(20);
    let close_packed = !pretty && chance.percent(10);
    let is_list = as_json && !messages.is_whole && !lines;
    let blank_lines = as_json || end_of_line == "\r" || chance.percent(90);
    if !as_json && chance.percent(40) {
        out.extend_from_slice(format!(": hello{end_of_line}{end_of_line}").as_bytes());
    }
    for (at, message) in messages.list.iter().enumerate() {
        if at == messages.end {
            open = out.len();
        }
        let spelt = spell(chance, message, pretty, ascii);
        if as_json {
            out.extend_from_slice(&spelt);
            if !close_packed || messages.is_whole {
                out.extend_from_slice(if end_of_line == "\r" { b"\n" } else { end_of_line.as_bytes() });
            }
            continue;
        }
        if chance.percent(20) {
            out.extend_from_slice(format!("event: x{end_of_line}").as_bytes());
        }
        if chance.percent(10) {
            out.extend_from_slice(format!("id: 7{end_of_line}").as_bytes());
        }
        out.extend_from_slice(chance.pick(&["data: ", "data: ", "data:"]).as_bytes());
        out.extend_from_slice(&spelt);
        let is_last = at + 1 == messages.list.len() && !messages.done;
        if is_last && chance.percent(20) {
            continue;
        }
        out.extend_from_slice(end_of_line.as_bytes());
        if !blank_lines {
            continue;
        }
        out.extend_from_slice(end_of_line.as_bytes());
        if chance.percent(10) {
            let noise = chance.pick(&[": keepalive", "data:", "data: {}", "data: null", "event: ping"]);
            out.extend_from_slice(format!("{noise}{end_of_line}{end_of_line}").as_bytes());
        }
        if messages.takes_noise && chance.percent(3) {
            out.extend_from_slice(format!("data: ping{end_of_line}{end_of_line}").as_bytes());
        }
    }
    let _ = is_list;
    if messages.end >= messages.list.len() {
        open = out.len();
    }
    if messages.done && !as_json {
        let mark = chance.pick(&["[DONE]", "[DONE]", "[done]", "\"[DONE]\""]);
        out.extend_from_slice(format!("{end_of_line}data: {mark}{end_of_line}{end_of_line}").as_bytes());
    }
    let proper = match (as_json, lines && !messages.is_whole) {
        (true, true) => "application/x-ndjson",
        (true, false) => "application/json",
        (false, _) => "text/event-stream",
    };
    let types = [
        proper,
        proper,
        proper,
        proper,
        "text/plain",
        "application/octet-stream",
        "text/event-stream; charset=utf-8",
    ];
    Body { bytes: out, open, content_type: chance.pick(&types) }
}

/// Returns the bytes, compressed.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}
