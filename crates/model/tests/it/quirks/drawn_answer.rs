//! One answer of a server, with quirks that a seed draws.

use super::chance::Chance;
use super::intent::{End, Intent};
use super::{render, wire};

/// One answer of a server, byte for byte.
pub(crate) struct DrawnAnswer {
    /// The answer as it was meant.
    pub(crate) intent: Intent,
    /// The word by which the server ended it.
    pub(crate) reason: String,
    /// The head and the body. The end of the connection ends the body.
    pub(crate) bytes: Vec<u8>,
    /// The number of bytes of each write.
    pub(crate) step: usize,
}

impl DrawnAnswer {
    /// Draws the answer of a format. The same seed draws the same answer.
    pub(crate) fn draw(format: &str, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let intent = Intent::draw(&mut chance);
        let (messages, reason) = render::render(&mut chance, format, &intent);
        let mut body = wire::body(&mut chance, &messages, format == "ollama");
        if intent.end == End::Cut {
            let whole = body.bytes.iter().rposition(|byte| matches!(byte, b'}' | b']')).unwrap_or_default();
            let limit = if messages.is_whole { whole } else { body.open };
            body.bytes.truncate(chance.below(limit + 1));
        }
        let mut head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\nconnection: close\r\n", body.content_type);
        if intent.end != End::Cut && chance.percent(10) {
            body.bytes = wire::packed(&body.bytes);
            head += "content-encoding: gzip\r\n";
        }
        let mut bytes = format!("{head}\r\n").into_bytes();
        bytes.extend(body.bytes);
        let step = chance.pick(&[7, 64, 1000, usize::MAX, usize::MAX]);
        Self { intent, reason, bytes, step }
    }
}
