//! The reading of an answer that comes as events, as lines, or whole.

use framing::events::{Events, TooLarge};

use super::MAX_EVENT;
use super::http::{Framing, Part};
use super::lines::Lines;
use crate::error::ModelError;
use crate::formats::Assembly;

/// The reader of an answer. It passes each message in the parts of an exchange to an [`Assembly`].
pub(super) struct Answer {
    framing: Framing,
    events: Events,
    lines: Lines,
    whole: Vec<u8>,
    pub(super) assembly: Box<dyn Assembly>,
    received: u64,
}

impl Answer {
    pub(super) fn new(assembly: Box<dyn Assembly>) -> Self {
        Self {
            framing: Framing::SingleMessage,
            events: Events::up_to(MAX_EVENT),
            lines: Lines::default(),
            whole: Vec::new(),
            assembly,
            received: 0,
        }
    }

    /// Reads one part, and returns whether the answer is complete.
    pub(super) fn take(&mut self, part: Part, shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        match part {
            Part::Head { framing } => {
                self.framing = framing;
                Ok(false)
            }
            Part::Piece(piece) => {
                self.received += piece.len() as u64;
                let mut complete = Vec::new();
                let fed = match self.framing {
                    Framing::SingleMessage => {
                        self.whole.extend_from_slice(&piece);
                        return Ok(false);
                    }
                    Framing::Events => self.events.push(&piece, |event| complete.push(event)),
                    Framing::Lines => self.lines.push(&piece, |line| complete.push(line)),
                };
                fed.map_err(|TooLarge| ModelError::Malformed { what: "an endless event".into() })?;
                for message in complete {
                    if self.message(&message, shown)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Part::End => self.end(shown),
            Part::Failed(error) => Err(error),
        }
    }

    fn message(&mut self, message: &[u8], shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        if message.trim_ascii() == b"[DONE]" {
            // Some servers give no finish reason before the end. But a stream without any answer is an error.
            return if self.assembly.seen_any() { Ok(true) } else { Err(self.cut_off()) };
        }
        shown(self.assembly.take(message)?);
        Ok(self.assembly.is_over())
    }

    fn end(&mut self, shown: &mut dyn FnMut(String)) -> Result<bool, ModelError> {
        let last = match self.framing {
            Framing::SingleMessage => {
                let whole = std::mem::take(&mut self.whole);
                if whole.trim_ascii().is_empty() {
                    return Err(self.cut_off());
                }
                shown(self.assembly.take_whole(&whole)?);
                if !self.assembly.seen_any() {
                    return Err(ModelError::Malformed { what: "a reply without an answer".into() });
                }
                return Ok(true);
            }
            Framing::Events => self.events.finish(),
            Framing::Lines => self.lines.finish(),
        };
        if let Some(message) = last
            && self.message(&message, shown).map_err(|_| self.cut_off())?
        {
            return Ok(true);
        }
        if self.assembly.is_finished() { Ok(true) } else { Err(self.cut_off()) }
    }

    fn cut_off(&self) -> ModelError {
        ModelError::CutOff { bytes: self.received }
    }
}
