//! The reading of an answer that comes as events, as JSON values in a row, or whole.
//!
//! The bytes tell the form, because some servers declare another one: a stream is sent as JSON, a whole answer as a
//! stream, an error page as either.

use framing::events::{Events, TooLarge};
use serde_json::Value;

use super::complaint::{one_line, page_text};
use super::gzip::{self, GzipDecoder};
use super::http::{Framing, MAX_BODY, Part};
use super::json_values::JsonValues;
use super::{MAX_EVENT, message};
use crate::error::ModelError;
use crate::formats::Assembly;

/// The beginnings of the lines of a stream of events.
const EVENT_LINES: [&str; 5] = ["data:", "event:", "id:", "retry:", ":"];
/// The number of bytes between two looks at the size of the reply so far.
const SIZE_INTERVAL: u64 = 64 << 10;
/// The maximum number of bytes of JSON for one byte of a text, as `\u00e9` has.
const MAX_ESCAPE: u64 = 6;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The maximum number of bytes of a text that is no answer. The rest is not needed for a message.
const MAX_FOREIGN_TEXT: usize = 64 << 10;
/// The maximum number of characters of a server's words in a message.
const MAX_EXCERPT: usize = 200;

/// The form of an answer, as its first bytes tell it.
enum BodyForm {
    /// The bytes so far do not tell the form.
    Unknown(Vec<u8>),
    Events(Events),
    Values(JsonValues),
    /// A page of HTML, or another text that is no answer.
    Foreign(Vec<u8>),
}

/// The reader of an answer. It passes each message in the parts of an exchange to an [`Assembly`].
pub(super) struct Answer {
    declared: Framing,
    packed: Option<GzipDecoder>,
    /// The first byte, if there was only one. Two bytes tell whether the rest is compressed.
    first: Vec<u8>,
    is_begun: bool,
    form: BodyForm,
    /// The number of messages that were objects.
    objects: u64,
    /// The first words that are no message. A server may report a failure in such words.
    unread: Option<String>,
    /// The last object, for a message about a field that it lacks.
    last: Value,
    pub(super) assembly: Box<dyn Assembly>,
    /// The maximum number of bytes of the reply's text and calls.
    max_bytes: u64,
    received: u64,
    unpacked: u64,
    /// The number of bytes of the messages so far, without those that repeat the one before.
    counted: u64,
    /// The digest of the last message.
    last_message: Option<blake3::Hash>,
    /// The number of received bytes at the last look at the size of the reply.
    measured: u64,
}

impl Answer {
    /// Returns a reader of an answer whose text and calls have at most `max_bytes`.
    pub(super) fn new(assembly: Box<dyn Assembly>, max_bytes: u64) -> Self {
        Self {
            declared: Framing::SingleMessage,
            packed: None,
            first: Vec::new(),
            is_begun: false,
            form: BodyForm::Unknown(Vec::new()),
            objects: 0,
            unread: None,
            last: Value::Null,
            assembly,
            max_bytes,
            received: 0,
            unpacked: 0,
            counted: 0,
            last_message: None,
            measured: 0,
        }
    }

    /// Reads one part, and returns whether the answer is complete.
    pub(super) fn take(&mut self, part: Part, shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        match part {
            Part::Head { framing, .. } => {
                self.declared = framing;
                Ok(false)
            }
            Part::Piece(piece) => {
                self.received += piece.len() as u64;
                match self.plain(piece)? {
                    Some(plain) => {
                        let is_complete = self.read(&plain, shown)?;
                        self.check_size(is_complete)?;
                        Ok(is_complete)
                    }
                    None => Ok(false),
                }
            }
            Part::End => {
                let is_complete = self.end(shown)?;
                self.check_size(is_complete)?;
                Ok(is_complete)
            }
            Part::Failed(error) => Err(error),
        }
    }

    /// Refuses a reply that is too long, before the rest of it comes.
    fn check_size(&mut self, is_complete: bool) -> Result<(), ModelError> {
        if !is_complete && self.received < self.measured + SIZE_INTERVAL {
            return Ok(());
        }
        self.measured = self.received;
        match self.assembly.size() as u64 > self.max_bytes {
            true => Err(self.too_large()),
            false => Ok(()),
        }
    }

    fn too_large(&self) -> ModelError {
        ModelError::TooLarge { limit: self.max_bytes }
    }

    /// Returns the maximum number of bytes of an answer that is one message. Its text can be escaped, and other fields
    /// stand beside it.
    fn max_whole(&self) -> u64 {
        self.max_bytes.saturating_mul(MAX_ESCAPE).saturating_add(1 << 20).min(MAX_BODY)
    }

    /// Returns the bytes of a piece as they were before they were compressed, or `None` if they are not known yet.
    fn plain(&mut self, piece: Vec<u8>) -> Result<Option<Vec<u8>>, ModelError> {
        let mut piece = piece;
        if !self.is_begun {
            if !self.first.is_empty() {
                piece.splice(0..0, self.first.drain(..));
            }
            let Some(is_packed) = gzip::is_packed(&piece) else {
                self.first = piece;
                return Ok(None);
            };
            self.is_begun = true;
            self.packed = is_packed.then(GzipDecoder::new);
        }
        let Some(packed) = &mut self.packed else { return Ok(Some(piece)) };
        let plain = packed.push(&piece)?;
        self.unpacked += plain.len() as u64;
        if self.unpacked > MAX_BODY {
            return Err(ModelError::TooLarge { limit: MAX_BODY });
        }
        Ok(Some(plain))
    }

    fn read(&mut self, piece: &[u8], shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        let mut complete = Vec::new();
        let fed = match &mut self.form {
            BodyForm::Unknown(start) => {
                start.extend_from_slice(piece);
                let start = std::mem::take(start);
                return match self.form_of(&start) {
                    Some(form) => {
                        self.form = form;
                        self.read(content_of(&start), shown)
                    }
                    None if start.len() > MAX_EVENT => {
                        Err(ModelError::malformed("it begins with an endless blank"))
                    }
                    None => {
                        self.form = BodyForm::Unknown(start);
                        Ok(false)
                    }
                };
            }
            BodyForm::Foreign(text) => {
                let room = MAX_FOREIGN_TEXT.saturating_sub(text.len());
                text.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
                Ok(())
            }
            BodyForm::Events(events) => events.push(piece, |event| complete.push(event)),
            BodyForm::Values(values) => values.push(piece, |value| complete.push(value)),
        };
        if let Err(TooLarge) = fed {
            let is_whole =
                matches!(self.form, BodyForm::Values(_)) && self.declared == Framing::SingleMessage;
            return Err(if is_whole {
                self.too_large()
            } else {
                ModelError::malformed("an event without an end")
            });
        }
        for message in complete {
            let digest = Some(blake3::hash(&message));
            // A message that repeats the one before, such as a ping, adds nothing to the answer.
            if self.last_message != digest {
                self.counted += message.len() as u64;
                self.last_message = digest;
            }
            if self.message(&message, shown)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns how many bytes of the answer have come. Comments, blank lines and repeated messages are none.
    pub(super) fn content_bytes(&self) -> u64 {
        let pending = match &self.form {
            BodyForm::Unknown(start) => content_of(start).len(),
            BodyForm::Events(events) => events.pending_bytes(),
            BodyForm::Values(values) => values.pending_bytes(),
            BodyForm::Foreign(text) => text.len(),
        };
        self.counted + pending as u64
    }

    /// Returns the form of an answer with this beginning, or `None` if it is too short to tell.
    fn form_of(&self, start: &[u8]) -> Option<BodyForm> {
        let content = content_of(start);
        let first = *content.first()?;
        if first == b'{' || first == b'[' {
            let is_whole = self.declared == Framing::SingleMessage;
            let max_bytes = if is_whole { self.max_whole() as usize } else { MAX_EVENT };
            return Some(BodyForm::Values(JsonValues::up_to(max_bytes)));
        }
        let begins = |line: &str| content.starts_with(line.as_bytes());
        if EVENT_LINES.iter().any(|line| begins(line)) {
            return Some(BodyForm::Events(Events::up_to(MAX_EVENT)));
        }
        let may_begin = |line: &str| line.as_bytes().starts_with(content);
        if EVENT_LINES.iter().any(|line| may_begin(line)) || BYTE_ORDER_MARK.starts_with(content) {
            return None;
        }
        Some(match self.declared {
            Framing::Lines if first != b'<' => BodyForm::Values(JsonValues::up_to(MAX_EVENT)),
            _ => BodyForm::Foreign(Vec::new()),
        })
    }

    /// Takes the data of one event, or one value.
    fn message(&mut self, data: &[u8], shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(false);
        }
        if is_done_mark(data) {
            return self.done();
        }
        let fault = match message::parse(data) {
            Ok(value) => return self.value(value, shown),
            Err(fault) => fault,
        };
        // Some servers leave out the blank line between two events.
        let parts = parts_of(data);
        if parts.len() > 1 && parts.iter().all(|part| is_done_mark(part) || message::parse(part).is_ok()) {
            for part in parts {
                if self.message(&part, shown)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        if matches!(data.first(), Some(b'{' | b'[')) {
            return Err(ModelError::malformed(format!("{} in `{}`", fault.words, excerpt(data))));
        }
        self.unread.get_or_insert_with(|| excerpt(data));
        Ok(false)
    }

    fn value(&mut self, value: Value, shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        match value {
            Value::Array(items) => {
                self.objects += u64::from(items.is_empty());
                for item in items {
                    if self.value(item, shown)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Object(fields) if fields.is_empty() => {
                self.objects += 1;
                Ok(false)
            }
            Value::Object(_) => {
                self.objects += 1;
                shown(self.assembly.take(&value)?);
                if !self.assembly.seen_any() {
                    self.last = value;
                }
                Ok(self.assembly.is_over())
            }
            Value::String(words) => {
                if is_done_mark(words.trim().as_bytes()) {
                    return self.done();
                }
                self.unread.get_or_insert_with(|| excerpt(words.as_bytes()));
                Ok(false)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(false),
        }
    }

    /// Takes the mark behind the last event. Some servers give no reason before it. A stream without any answer, or
    /// with words that are no event, is still no success.
    fn done(&mut self) -> Result<bool, ModelError> {
        let assembly = &self.assembly;
        let is_clear = assembly.takes_done() && assembly.seen_any() && self.unread.is_none();
        if assembly.is_finished() || is_clear { Ok(true) } else { Err(self.unfinished()) }
    }

    fn end(&mut self, shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        let last = match &mut self.form {
            BodyForm::Unknown(start) => {
                start.append(&mut self.first);
                None
            }
            BodyForm::Foreign(text) => {
                let text = std::mem::take(text);
                return Err(ModelError::malformed(foreign(&text)));
            }
            BodyForm::Events(events) => events.finish(),
            BodyForm::Values(values) => values.finish(),
        };
        if let Some(message) = last {
            match self.message(&message, shown) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(ModelError::Malformed { .. }) if is_cut(&message) => return Err(self.cut_off()),
                Err(error) => return Err(error),
            }
        }
        if self.assembly.is_finished() {
            return Ok(true);
        }
        let is_single = matches!(self.form, BodyForm::Values(_)) && self.objects == 1;
        if is_single && self.declared != Framing::Lines {
            if !self.assembly.seen_any() {
                return Err(ModelError::malformed(self.lack()));
            }
            if self.assembly.is_whole() {
                return Ok(true);
            }
        }
        Err(self.unfinished())
    }

    /// Returns the words for the field that an answer of the format has, and this one has not.
    fn lack(&self) -> String {
        let field = self.assembly.root();
        let lack = match self.last.get(field) {
            None | Some(Value::Null) => "is missing",
            Some(Value::Array(items)) if items.is_empty() => "is empty",
            Some(_) => "holds no answer",
        };
        format!("the field `{field}` {lack}")
    }

    /// Returns the error for an answer that ended without a clear end, with the server's words if it wrote any.
    fn unfinished(&self) -> ModelError {
        match &self.unread {
            Some(words) => ModelError::malformed(format!("it holds `{words}`, and no end")),
            None => self.cut_off(),
        }
    }

    fn cut_off(&self) -> ModelError {
        ModelError::CutOff { bytes: self.received }
    }
}

/// Returns the bytes behind a byte-order mark and blanks.
fn content_of(start: &[u8]) -> &[u8] {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    start.trim_ascii_start()
}

/// Returns the values in the data of one event.
fn parts_of(data: &[u8]) -> Vec<Vec<u8>> {
    let mut values = JsonValues::up_to(usize::MAX);
    let mut parts = Vec::new();
    // Without a limit, no value is too large.
    let _ = values.push(data, |part| parts.push(part));
    parts.extend(values.finish());
    parts
}

/// Returns whether the last value of a message ends too early.
fn is_cut(message: &[u8]) -> bool {
    parts_of(message).last().is_some_and(|last| message::parse(last).is_err_and(|fault| fault.is_cut))
}

/// Returns whether the data is the mark that OpenAI's servers send behind the last event.
fn is_done_mark(data: &[u8]) -> bool {
    data.trim_ascii().eq_ignore_ascii_case(b"[DONE]")
}

/// Returns the words for a text that is no answer.
fn foreign(text: &[u8]) -> String {
    let text = match serde_json::from_slice(text) {
        Ok(Value::String(words)) => words,
        _ => String::from_utf8_lossy(text).into_owned(),
    };
    match page_text(&text) {
        Some(words) => format!("it is a web page: `{}`", one_line(&words, MAX_EXCERPT)),
        None => format!("it is no answer but words: `{}`", one_line(&text, MAX_EXCERPT)),
    }
}

/// Returns the first characters of something unreadable, for a message.
fn excerpt(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data.get(..data.len().min(1000)).unwrap_or_default());
    one_line(&text, MAX_EXCERPT)
}
