//! Answers that come compressed, although the request asks for none.

use std::io::{Read as _, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::write::MultiGzDecoder as Unpacker;

use crate::error::ModelError;

/// The first bytes of compressed data. No answer in JSON or events begins with them.
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The maximum size of an error body when it is unpacked.
const MAX_ERROR_BODY: u64 = 64 << 10;

/// Returns whether bytes are the beginning of compressed data, or `None` if there are too few of them.
pub(super) fn is_packed(start: &[u8]) -> Option<bool> {
    match start {
        [] => None,
        [first] => (*first != MAGIC[0]).then_some(false),
        [first, second, ..] => Some([*first, *second] == MAGIC),
    }
}

/// Returns an error body as it was before it was compressed, or as it is.
pub(super) fn unpacked(body: Vec<u8>) -> Vec<u8> {
    if is_packed(&body) != Some(true) {
        return body;
    }
    let mut plain = Vec::new();
    // The part that can be read is enough for a message.
    let _ = MultiGzDecoder::new(&*body).take(MAX_ERROR_BODY).read_to_end(&mut plain);
    plain
}

/// The decoder of a compressed stream that comes in pieces.
#[derive(Debug)]
pub(super) struct GzipDecoder(Unpacker<Vec<u8>>);

impl GzipDecoder {
    pub(super) fn new() -> Self {
        Self(Unpacker::new(Vec::new()))
    }

    /// Returns the bytes that a piece of compressed data holds.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, ModelError> {
        let written = self.0.write_all(piece).and_then(|()| self.0.flush());
        written.map_err(|_| ModelError::malformed("its compressed bytes are damaged"))?;
        Ok(std::mem::take(self.0.get_mut()))
    }
}
