//! The lines of a stream of JSON values, which may be cut at any byte.

use framing::events::TooLarge;

use super::MAX_EVENT;

/// The assembly of lines from pieces of a stream.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// Adds more of the stream, and passes each line that it completes to `emit`. Blank lines are left out.
    pub(super) fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(Vec<u8>)) -> Result<(), TooLarge> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.extend_from_slice(piece);
            if self.0.len() > MAX_EVENT {
                return Err(TooLarge);
            }
            if piece.ends_with(b"\n") {
                self.finish().map(&mut emit);
            }
        }
        Ok(())
    }

    /// Returns the line that is complete now or at the end of the stream, unless it is blank.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.0);
        (!line.trim_ascii().is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_stream_cuts() {
        let stream = b"{\"a\":1}\n\r\n\n{\"b\":2}\r\n{\"c\"";
        for step in 1..=stream.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for piece in stream.chunks(step) {
                lines.push(piece, |line| found.push(line.trim_ascii().to_vec())).unwrap();
            }
            found.extend(lines.finish());
            assert_eq!(found, [b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec(), b"{\"c\"".to_vec()], "{step}");
        }
    }

    #[test]
    fn endless_line_is_refused() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 1 << 20];
        assert!((0..9).any(|_| lines.push(&piece, |_| {}) == Err(TooLarge)));
    }
}
