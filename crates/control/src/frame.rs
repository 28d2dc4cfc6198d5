//! The frames between a client and the daemon.

use std::io::{self, Read, Write};

use framing::Frames;
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
