//! A buffer that grows with its input up to a limit. It can wipe its memory.

use std::io::{self, Read, Write};

use zeroize::Zeroize as _;

/// The number of bytes that are read from a stream at a time.
const PIECE: usize = 64 << 10;

/// The buffer in which a frame is built.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    offered: u64,
    max_bytes: usize,
    wipes: bool,
}

impl Buffer {
    pub(crate) fn new(max_bytes: usize, wipes: bool) -> Self {
        Self { bytes: Vec::new(), offered: 0, max_bytes, wipes }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns how many bytes were written, including those beyond the limit.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    pub(crate) fn into_vec(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Overwrites the first bytes with `head`.
    pub(crate) fn begin_with(&mut self, head: &[u8]) {
        for (place, byte) in self.bytes.iter_mut().zip(head) {
            *place = *byte;
        }
    }

    /// Reads from a stream until the buffer has `length` bytes. Memory grows only with the bytes that have arrived.
    pub(crate) fn take_from(&mut self, stream: &mut impl Read, length: usize) -> io::Result<()> {
        while self.bytes.len() < length {
            let begin = self.bytes.len();
            let end = length.min(begin.saturating_add(PIECE));
            self.reserve(end - begin);
            self.bytes.resize(end, 0);
            stream.read_exact(self.bytes.get_mut(begin..).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Makes room for more bytes. A vector that grows by itself leaves a copy of its bytes behind. If this buffer
    /// wipes its memory, it moves the bytes itself.
    fn reserve(&mut self, more: usize) {
        let needed = self.bytes.len().saturating_add(more);
        if needed <= self.bytes.capacity() {
            return;
        }
        if !self.wipes {
            return self.bytes.reserve(more);
        }
        let mut moved = Vec::with_capacity(needed.max(self.bytes.capacity().saturating_mul(2)));
        moved.extend_from_slice(&self.bytes);
        self.bytes.zeroize();
        self.bytes = moved;
    }
}

impl Write for Buffer {
    /// Keeps the bytes that fit and counts the rest, so that the error can name the whole length.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.offered = self.offered.saturating_add(bytes.len() as u64);
        if self.offered <= self.max_bytes as u64 {
            self.reserve(bytes.len());
            self.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.wipes {
            self.bytes.zeroize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_length_reserves_one_piece_at_most() {
        for wipes in [false, true] {
            let mut buffer = Buffer::new(usize::MAX, wipes);
            assert!(buffer.take_from(&mut &b"abc"[..], u32::MAX as usize).is_err());
            assert!(buffer.bytes.capacity() <= PIECE, "{}", buffer.bytes.capacity());
        }
    }

    #[test]
    fn bytes_beyond_bound_are_counted_and_not_kept() {
        let mut buffer = Buffer::new(4, true);
        for _ in 0..1000 {
            buffer.write_all(b"abc").unwrap();
        }
        assert_eq!((buffer.bytes(), buffer.offered()), (&b"abc"[..], 3000));
    }
}
