//! Frames: a length of four little-endian bytes, then that much JSON.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

/// The longest frame that is read or written, in bytes.
pub const MAX_FRAME: usize = 64 << 20;

/// How many bytes say how long it is.
const HEAD: usize = 4;

/// Writes one frame.
///
/// # Errors
/// When the other side is gone, or the frame would be too long to be read.
pub fn write<T: Serialize>(to: &mut impl Write, frame: &T) -> io::Result<()> {
    // Room for the length, which is known afterwards.
    // A frame can hold a secret: it is wiped when it has been sent.
    let mut bytes = Zeroizing::new(vec![0; HEAD]);
    serde_json::to_writer(&mut *bytes, frame)?;
    let length = bytes.len() - HEAD;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long for one frame"));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..HEAD].copy_from_slice(&length.to_le_bytes());
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads one frame; `None` when the other side has ended between frames.
///
/// # Errors
/// When it ended inside a frame, or sent something else.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; HEAD];
    let mut filled = 0;
    while filled < length.len() {
        match from.read(&mut length[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is longer than any may be"));
    }
    // Grows with what arrives: a length alone reserves no memory.
    let mut bytes = Zeroizing::new(Vec::new());
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, &vec![1, 2, 3]).unwrap();
        write(&mut bytes, &vec![4]).unwrap();
        let mut from = &bytes[..];
        assert_eq!(read::<Vec<u32>>(&mut from).unwrap(), Some(vec![1, 2, 3]));
        assert_eq!(read::<Vec<u32>>(&mut from).unwrap(), Some(vec![4]));
        assert_eq!(read::<Vec<u32>>(&mut from).unwrap(), None);
    }

    #[test]
    fn what_is_cut_or_hostile_is_an_error() {
        for bytes in [&[1][..], &[5, 0, 0, 0, b'['], &[255, 255, 255, 255], &[1, 0, 0, 0, b'x']] {
            assert!(read::<Vec<u32>>(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }
}
