//! The JSON values of a stream, which may be cut at any byte. Each stands on a line of its own, over several lines, or
//! directly behind the one before.

use framing::events::TooLarge;

/// The assembly of values from pieces of a stream.
#[derive(Debug)]
pub(super) struct JsonValues {
    /// The maximum size of a value, in bytes.
    max_bytes: usize,
    /// The bytes of the value that is being received, or of a line that is no object and no list.
    value: Vec<u8>,
    /// The number of objects and lists that are open.
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl JsonValues {
    /// Returns an assembly of values of at most `max_bytes` bytes each.
    pub(super) fn up_to(max_bytes: usize) -> Self {
        Self { max_bytes, value: Vec::new(), depth: 0, in_text: false, is_escaped: false }
    }

    /// Adds more of the stream, and passes each value that it completes to `emit`. Blank lines and commas between
    /// values are left out. A line that begins no object and no list is passed on as it is.
    pub(super) fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(Vec<u8>)) -> Result<(), TooLarge> {
        for &byte in bytes {
            if self.depth == 0 {
                match byte {
                    b'{' | b'[' => {
                        self.finish().map(&mut emit);
                        self.value.push(byte);
                        self.depth = 1;
                    }
                    b'\n' | b'\r' => drop(self.finish().map(&mut emit)),
                    byte => self.value.push(byte),
                }
            } else {
                self.value.push(byte);
                self.advance(byte);
                if self.depth == 0 {
                    self.finish().map(&mut emit);
                }
            }
            if self.value.len() > self.max_bytes {
                return Err(TooLarge);
            }
        }
        Ok(())
    }

    /// Returns how many bytes of the value have come that is being received.
    pub(super) fn pending_bytes(&self) -> usize {
        if self.depth == 0 { 0 } else { self.value.len() }
    }

    fn advance(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_text => self.is_escaped = true,
            b'"' => self.in_text = !self.in_text,
            _ if self.in_text => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
    }

    /// Returns the value that is complete now or at the end of the stream, unless it is blank.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        (self.depth, self.in_text, self.is_escaped) = (0, false, false);
        let value = std::mem::take(&mut self.value);
        let is_blank = value.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b',');
        (!is_blank).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_do_not_depend_on_stream_cuts() {
        let stream = concat!(
            "{\"a\":1}\n\r\n\n{\"b\":\"}\\\"{\"}{\"c\":[{}]},\r\n{\n  \"d\": 2\n}\n",
            "error: no\n[{\"e\":1},\n{\"f\":2}]\n{\"g\""
        );
        let expected = [
            "{\"a\":1}",
            "{\"b\":\"}\\\"{\"}",
            "{\"c\":[{}]}",
            "{\n  \"d\": 2\n}",
            "error: no",
            "[{\"e\":1},\n{\"f\":2}]",
            "{\"g\"",
        ];
        for step in 1..=stream.len() {
            let mut values = JsonValues::up_to(8 << 20);
            let mut found = Vec::new();
            for piece in stream.as_bytes().chunks(step) {
                values.push(piece, |value| found.push(String::from_utf8(value).unwrap())).unwrap();
            }
            found.extend(values.finish().map(|value| String::from_utf8(value).unwrap()));
            assert_eq!(found, expected, "{step}");
        }
    }

    #[test]
    fn endless_value_is_refused() {
        for byte in [b'x', b'{', b' '] {
            let mut values = JsonValues::up_to(8 << 20);
            let piece = vec![byte; 1 << 20];
            assert!((0..9).any(|_| values.push(&piece, |_| {}) == Err(TooLarge)));
        }
    }
}
