//! The encoding of messages as netstrings: a decimal length in bytes, `:`, the bytes, `,`.

/// The default limit for the length of a message, in bytes.
pub const MAX_LEN: usize = 16 << 20;

/// The reason why bytes are no netstrings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length that does not consist of digits and a colon.
    #[error("a message must begin with its length and a colon")]
    Length,
    /// A message that is too long.
    #[error("a message may have {limit} bytes, and this one has {length}")]
    TooLong {
        /// The length of the message.
        length: u64,
        /// The maximum length.
        limit: usize,
    },
    /// A message without a comma after it.
    #[error("there must be a comma behind a message")]
    Comma,
    /// A stream that ends within a message.
    #[error("the stream ends within a message")]
    Dangling,
}

/// A decoder that finds the messages in a stream.
///
/// It keeps the received part of one message. It reserves no memory for the rest that the length announces.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// The position at which the next message begins.
    at: usize,
    limit: usize,
}

impl Decoder {
    /// Returns a decoder that refuses messages of more than `limit` bytes.
    pub fn new(limit: usize) -> Decoder {
        Decoder { bytes: vec![], at: 0, limit }
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.at > 0 && self.at >= self.bytes.len() / 2 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
        // A large message must not keep its memory forever.
        if self.bytes.capacity() > 1 << 20 && self.bytes.len() < 1 << 16 {
            self.bytes.shrink_to(1 << 16);
        }
    }

    /// Returns the next message, if all of it has come.
    ///
    /// # Errors
    /// [`FrameError`] when the bytes are no netstring. No later message can be found then.
    #[expect(clippy::should_implement_trait, reason = "an iterator would end where this one waits")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((length, digits)) = length(rest, self.limit)? else { return Ok(None) };
        let (from, to) = (self.at + digits + 1, self.at + digits + 1 + length);
        match self.bytes.get(to) {
            None => Ok(None),
            Some(b',') => {
                self.at = to + 1;
                Ok(self.bytes.get(from..to))
            }
            Some(_) => Err(FrameError::Comma),
        }
    }

    /// Checks that the stream may end here.
    ///
    /// # Errors
    /// [`FrameError::Dangling`] if a message has arrived only in part.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(FrameError::Dangling) }
    }
}

/// Returns the announced length and the number of its digits, or `None` if more bytes are needed.
fn length(bytes: &[u8], limit: usize) -> Result<Option<(usize, usize)>, FrameError> {
    let mut length: u64 = 0;
    for (digits, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' if digits < 20 => {
                length = length.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
            }
            b':' if digits > 0 => {
                let fits = usize::try_from(length).ok().filter(|length| *length <= limit);
                return Ok(Some((fits.ok_or(FrameError::TooLong { length, limit })?, digits)));
            }
            _ => return Err(FrameError::Length),
        }
    }
    if length > limit as u64 { Err(FrameError::TooLong { length, limit }) } else { Ok(None) }
}

/// Appends a message to the output.
pub fn write(message: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(message.len().to_string().as_bytes());
    out.push(b':');
    out.extend_from_slice(message);
    out.push(b',');
}
