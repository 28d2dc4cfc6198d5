//! The frames between a client and the daemon.

use std::io::{self, Read, Write};

use framing::Frames;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest frame that is read or written, in bytes.
pub const MAX_FRAME: usize = 64 << 20;

/// A frame can hold a secret: it is wiped when it has been sent or read.
const FRAMES: Frames = Frames::up_to(MAX_FRAME).wiped();

/// Writes one frame.
///
/// # Errors
/// When the other side is gone, or the frame would be too long to be read: [`io::ErrorKind::InvalidData`].
pub fn write<T: Serialize>(to: &mut impl Write, frame: &T) -> io::Result<()> {
    Ok(FRAMES.write(to, frame)?)
}

/// Reads one frame; `None` when the other side has ended between frames.
///
/// # Errors
/// When it ended inside a frame, or sent something else.
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
