//! Messages in streams of bytes.
//!
//! A frame consists of a length, in four little-endian bytes, and that many bytes of JSON. Our own processes send
//! each other frames. Foreign servers send server-sent events in place of frames. The parser for these is here,
//! because the crates for models and for tool servers both need it, and neither depends on the other.
//!
//! A length is foreign input. It reserves no memory before the bytes have arrived, and each caller sets its own
//! limit.
#![forbid(unsafe_code)]

mod buffer;
pub mod events;

use std::io::{self, Read, Write};
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::buffer::Buffer;

/// The number of bytes of a frame's length.
const HEAD: usize = 4;

/// The settings for the frames of one conversation: their maximum length, and whether their memory is wiped.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    max_bytes: usize,
    wipes: bool,
}

/// The reason why a frame cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A failure of the stream, or its end inside of a frame.
    #[error("cannot read or write a frame: the stream failed")]
    Stream(#[from] io::Error),
    /// A frame that is longer than the conversation allows.
    #[error("cannot take a frame of {bytes} bytes: the limit is {max_bytes}")]
    TooLarge {
        /// The length of the frame.
        bytes: u64,
        /// The maximum length.
        max_bytes: usize,
    },
    /// A frame that is not the expected message.
    #[error("cannot read a frame: {0}")]
    Malformed(#[source] serde_json::Error),
    /// A message that has no JSON form.
    #[error("cannot write a frame: {0}")]
    Unwritable(#[source] serde_json::Error),
}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Stream(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        }
    }
}

impl Frames {
    /// Returns settings for frames of at most `max_bytes` bytes of JSON. The limit is never larger than a length of
    /// four bytes allows.
    #[must_use]
    pub const fn up_to(max_bytes: usize) -> Self {
        let most = u32::MAX as usize;
        Self { max_bytes: if max_bytes < most { max_bytes } else { most }, wipes: false }
    }

    /// Returns the same settings for frames with secrets. Their memory is wiped when it is freed.
    #[must_use]
    pub const fn wiped(self) -> Self {
        Self { wipes: true, ..self }
    }

    /// Returns the bytes of a frame. If they are secret, the caller must wipe them.
    ///
    /// # Errors
    /// [`FrameError::TooLarge`] and [`FrameError::Unwritable`].
    pub fn encode(self, message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
        Ok(self.fill(message)?.into_vec())
    }

    /// Writes a whole frame and flushes the stream. If the frame is rejected, nothing is written.
    ///
    /// # Errors
    /// A [`FrameError`] of any kind but [`FrameError::Malformed`].
    pub fn write(self, stream: &mut impl Write, message: &impl Serialize) -> Result<(), FrameError> {
        stream.write_all(self.fill(message)?.bytes())?;
        Ok(stream.flush()?)
    }

    fn fill(self, message: &impl Serialize) -> Result<Buffer, FrameError> {
        let mut buffer = Buffer::new(HEAD.saturating_add(self.max_bytes), self.wipes);
        // The length is known only afterwards, so four bytes are reserved for it.
        buffer.write_all(&[0; HEAD])?;
        serde_json::to_writer(&mut buffer, message).map_err(FrameError::Unwritable)?;
        let bytes = buffer.offered().saturating_sub(HEAD as u64);
        let length = u32::try_from(bytes).ok().filter(|length| *length as usize <= self.max_bytes);
        let length = length.ok_or(FrameError::TooLarge { bytes, max_bytes: self.max_bytes })?;
        buffer.begin_with(&length.to_le_bytes());
        Ok(buffer)
    }

    /// Reads a frame. Returns `None` if the stream ends between frames.
    ///
    /// # Errors
    /// A [`FrameError`]. Reading can continue only after [`FrameError::Malformed`].
    pub fn read<T: DeserializeOwned>(self, stream: &mut impl Read) -> Result<Option<T>, FrameError> {
        Ok(self.read_within(stream, || self.max_bytes)?.map(|(message, _)| message))
    }

    /// Returns the JSON of a frame without its length.
    ///
    /// # Errors
    /// [`FrameError::TooLarge`] and [`FrameError::Unwritable`].
    pub fn encode_body(self, message: &impl Serialize) -> Result<FrameBytes, FrameError> {
        Ok(FrameBytes { buffer: self.fill(message)?, head: HEAD })
    }

    /// Reads the bytes of a frame, which need not be JSON. Returns `None` if the stream ends between frames.
    ///
    /// # Errors
    /// [`FrameError::Stream`] and [`FrameError::TooLarge`]. After the latter, [`skip`] leads to the next frame.
    pub fn read_bytes(self, stream: &mut impl Read) -> Result<Option<FrameBytes>, FrameError> {
        self.read_bytes_within(stream, || self.max_bytes)
    }

    /// Reads a frame and returns its length, too. `bound` can set a narrower limit, and is called when a frame has
    /// begun.
    ///
    /// # Errors
    /// Those of [`Frames::read`].
    pub fn read_within<T: DeserializeOwned>(
        self,
        stream: &mut impl Read,
        bound: impl FnOnce() -> usize,
    ) -> Result<Option<(T, usize)>, FrameError> {
        let Some(body) = self.read_bytes_within(stream, bound)? else { return Ok(None) };
        let message = serde_json::from_slice(&body).map_err(FrameError::Malformed)?;
        Ok(Some((message, body.len())))
    }

    fn read_bytes_within(
        self,
        stream: &mut impl Read,
        bound: impl FnOnce() -> usize,
    ) -> Result<Option<FrameBytes>, FrameError> {
        let mut head = [0; HEAD];
        let [first, rest @ ..] = &mut head;
        loop {
            match stream.read(std::slice::from_mut(first)) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        stream.read_exact(rest)?;
        let length = u32::from_le_bytes(head) as usize;
        let max_bytes = bound().min(self.max_bytes);
        if length > max_bytes {
            return Err(FrameError::TooLarge { bytes: length as u64, max_bytes });
        }
        let mut buffer = Buffer::new(length, self.wipes);
        buffer.take_from(stream, length)?;
        Ok(Some(FrameBytes { buffer, head: 0 }))
    }
}

/// The bytes of one frame. Their memory is wiped when it is freed, if that of the conversation is.
pub struct FrameBytes {
    buffer: Buffer,
    head: usize,
}

impl Deref for FrameBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.bytes().get(self.head..).unwrap_or_default()
    }
}

/// Skips bytes of a stream without keeping them.
///
/// # Errors
/// When the stream fails or ends before.
pub fn skip(stream: &mut impl Read, bytes: u64) -> io::Result<()> {
    match io::copy(&mut stream.take(bytes), &mut io::sink())? {
        skipped if skipped == bytes => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Frames = Frames::up_to(16);

    #[test]
    fn frames_in_row_read_in_order() {
        let mut bytes = SMALL.encode(&[1, 2, 3]).unwrap();
        assert_eq!(bytes, b"\x07\0\0\0[1,2,3]");
        SMALL.wiped().write(&mut bytes, &[4]).unwrap();
        let mut stream = &bytes[..];
        assert_eq!(SMALL.read::<Vec<u32>>(&mut stream).unwrap(), Some(vec![1, 2, 3]));
        assert_eq!(SMALL.wiped().read::<Vec<u32>>(&mut stream).unwrap(), Some(vec![4]));
        assert_eq!(SMALL.read::<Vec<u32>>(&mut stream).unwrap(), None);
    }

    #[test]
    fn frame_at_limit_passes_and_one_byte_more_is_refused() {
        let (fits, long) = ("x".repeat(14), "x".repeat(15));
        let bytes = SMALL.encode(&fits).unwrap();
        assert_eq!(SMALL.read::<String>(&mut &bytes[..]).unwrap(), Some(fits));
        let mut stream = Vec::new();
        let refused = SMALL.write(&mut stream, &long);
        assert!(matches!(refused, Err(FrameError::TooLarge { bytes: 17, max_bytes: 16 })), "{refused:?}");
        assert_eq!(stream, b"");
        let bytes = Frames::up_to(17).encode(&long).unwrap();
        let refused = SMALL.read::<String>(&mut &bytes[..]);
        assert!(matches!(refused, Err(FrameError::TooLarge { bytes: 17, max_bytes: 16 })), "{refused:?}");
        let narrower = Frames::up_to(64).read_within::<String>(&mut &bytes[..], || 16);
        assert!(matches!(narrower, Err(FrameError::TooLarge { max_bytes: 16, .. })));
    }

    #[test]
    fn frame_after_skipped_one_is_read() {
        let mut bytes = Frames::up_to(64).encode(&"x".repeat(20)).unwrap();
        bytes.extend(SMALL.encode(&[7]).unwrap());
        let mut stream = &bytes[..];
        let Err(FrameError::TooLarge { bytes, .. }) = SMALL.read_bytes(&mut stream) else {
            panic!("22 bytes are too many");
        };
        skip(&mut stream, bytes).unwrap();
        assert_eq!(SMALL.read_bytes(&mut stream).unwrap().as_deref(), Some(&b"[7]"[..]));
        assert_eq!(skip(&mut stream, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(&*SMALL.encode_body(&[7]).unwrap(), b"[7]");
    }

    #[test]
    fn cut_frame_fails_the_stream_and_wrong_json_is_malformed() {
        let bytes = SMALL.encode(&[1, 2, 3]).unwrap();
        for cut in 1..bytes.len() {
            let error = SMALL.read::<Vec<u32>>(&mut &bytes[..cut]).unwrap_err();
            assert!(matches!(error, FrameError::Stream(_)), "{cut}: {error:?}");
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::UnexpectedEof);
        }
        for bytes in [&b"\0\0\0\0"[..], b"\x01\0\0\0x", b"\x02\0\0\0{}", b"\x01\0\0\0\xff"] {
            let error = SMALL.read::<Vec<u32>>(&mut &*bytes).unwrap_err();
            assert!(matches!(error, FrameError::Malformed(_)), "{bytes:?}: {error:?}");
            let error = io::Error::from(error);
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(std::error::Error::source(&error).is_some());
        }
    }

    proptest! {
        #[test]
        fn written_messages_read_back(texts: Vec<String>, wipes: bool) {
            let frames = Frames { wipes, ..Frames::up_to(1 << 20) };
            let mut bytes = Vec::new();
            for text in &texts {
                frames.write(&mut bytes, text).unwrap();
            }
            let mut stream = &bytes[..];
            let read = std::iter::from_fn(|| frames.read::<String>(&mut stream).unwrap());
            prop_assert_eq!(read.collect::<Vec<_>>(), texts);
        }

        #[test]
        fn foreign_bytes_are_read_within_the_bound(bytes: Vec<u8>, wipes: bool) {
            let frames = Frames { wipes, ..Frames::up_to(1 << 10) };
            let mut stream = &bytes[..];
            if let Ok(Some((message, length))) = frames.read_within::<serde_json::Value>(&mut stream, || 64) {
                prop_assert!(length <= 64 && length + HEAD + stream.len() == bytes.len());
                prop_assert!(!frames.encode(&message).unwrap().is_empty());
            }
        }
    }
}
