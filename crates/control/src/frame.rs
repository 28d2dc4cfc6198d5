//! The frames between a client and the daemon.

use std::io::{self, Read, Write};

use framing::{FrameBytes, FrameError, Frames};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest frame that is read or written, in bytes.
pub const MAX_FRAME: usize = 64 << 20;

/// The format of frames. A frame can hold a secret, so its buffer is wiped after it was sent or read.
const FRAMES: Frames = Frames::up_to(MAX_FRAME).wiped();

/// Writes one frame.
///
/// # Errors
/// When the connection is closed, or the frame is longer than the limit ([`io::ErrorKind::InvalidData`]).
pub fn write<T: Serialize>(to: &mut impl Write, frame: &T) -> io::Result<()> {
    Ok(FRAMES.write(to, frame)?)
}

/// Reads one frame. Returns `None` if the connection was closed between frames.
///
/// # Errors
/// When the connection was closed inside a frame, or the bytes are no valid frame.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    Ok(FRAMES.read(from)?)
}

/// Reads the bytes of one frame, which need not be a message. Returns `None` if the connection was closed between
/// frames.
///
/// # Errors
/// When the connection was closed inside a frame, or the frame is too long. Then [`skip`] leads to the next frame.
pub fn read_bytes(from: &mut impl Read) -> Result<Option<FrameBytes>, FrameError> {
    FRAMES.read_bytes(from)
}

/// Skips the bytes of a frame that is too long.
///
/// # Errors
/// When the connection was closed inside the frame.
pub fn skip(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    framing::skip(from, bytes)
}

/// Returns a message as the JSON of a frame. Its memory is wiped when it is freed.
///
/// # Errors
/// When the message has no JSON form, or is longer than the limit.
pub(crate) fn encode<T: Serialize>(frame: &T) -> Result<FrameBytes, FrameError> {
    FRAMES.encode_body(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_longer_than_limit_is_invalid_data() {
        let mut to = Vec::new();
        let error = write(&mut to, &"x".repeat(MAX_FRAME - 1)).unwrap_err();
        assert_eq!((error.kind(), to.len()), (io::ErrorKind::InvalidData, 0));
        let head = u32::try_from(MAX_FRAME + 1).unwrap().to_le_bytes();
        assert_eq!(read::<String>(&mut &head[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
