//! The parser for server-sent events. The stream may be cut at any byte.

/// The parser that puts the `data` of events together from pieces of a stream.
#[derive(Debug)]
pub struct Events {
    /// The line that is being received, without its end.
    line: Vec<u8>,
    /// The data lines of the event that is being received, joined by line feeds.
    data: Vec<u8>,
    has_data: bool,
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line end.
    after_return: bool,
    lines: u64,
    max_bytes: usize,
    last_id: Option<Vec<u8>>,
    retry_ms: Option<u64>,
}

/// The error for an event that is longer than its reader allows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot take an event: it is too long")]
pub struct TooLarge;

impl Events {
    /// Returns a parser for events of at most `max_bytes` bytes each.
    #[must_use]
    pub fn up_to(max_bytes: usize) -> Self {
        let (line, data) = (Vec::new(), Vec::new());
        Self {
            line,
            data,
            has_data: false,
            after_return: false,
            lines: 0,
            max_bytes,
            last_id: None,
            retry_ms: None,
        }
    }

    /// Returns how many lines have ended, including comments and blank lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns how many bytes of data have come for the event that is being received. Comments have none.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        let line = if self.line.starts_with(b"data:") { self.line.len() } else { 0 };
        line + self.data.len()
    }

    /// Returns the last identifier of an event, from which the stream can be taken up again. An empty one takes the
    /// earlier ones back.
    #[must_use]
    pub fn last_id(&self) -> Option<&[u8]> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// Returns the time in milliseconds after which the server wants the stream to be taken up again.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Parses more of the stream, and passes the data of each completed event to `emit`.
    ///
    /// # Errors
    /// [`TooLarge`]. The rest of the stream cannot be parsed then.
    pub fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(Vec<u8>)) -> Result<(), TooLarge> {
        for &byte in bytes {
            match byte {
                b'\n' if self.after_return => {}
                b'\n' | b'\r' => {
                    self.lines = self.lines.saturating_add(1);
                    if let Some(event) = self.end_line() {
                        emit(event);
                    }
                }
                byte => self.line.push(byte),
            }
            self.after_return = byte == b'\r';
            if self.line.len() + self.data.len() > self.max_bytes {
                return Err(TooLarge);
            }
        }
        Ok(())
    }

    /// Returns the event with which the stream ended, if it had data. Some servers omit the last blank line.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        let complete = self.end_line();
        complete.or_else(|| self.end_line())
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        }
        let field = |name: &[u8]| {
            let value = line.strip_prefix(name)?;
            Some(value.strip_prefix(b" ").unwrap_or(value))
        };
        if let Some(id) = field(b"id:").filter(|id| !id.contains(&0)) {
            self.last_id = Some(id.to_owned());
        }
        if let Some(retry) = field(b"retry:").and_then(|retry| std::str::from_utf8(retry).ok()?.parse().ok())
        {
            self.retry_ms = Some(retry);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_EVENT: usize = 8 << 20;

    #[test]
    fn events_are_the_same_for_any_cut_of_the_stream() {
        let stream =
            ": hello\r\n\r\ndata: {\"a\":\ndata: 1}\n\nevent: x\rdata:zwei\r\r\n\ndata: é\r\n\r\ndata: last";
        let expected = ["{\"a\":\n1}", "zwei", "é", "last"];
        for cut in 0..=stream.len() {
            for step in [1, 3, stream.len()] {
                let mut events = Events::up_to(MAX_EVENT);
                let mut found = Vec::new();
                let (a, b) = stream.as_bytes().split_at(cut);
                for piece in a.chunks(step).chain(b.chunks(step)) {
                    events.push(piece, |e| found.push(String::from_utf8(e).unwrap())).unwrap();
                }
                found.extend(events.finish().map(|e| String::from_utf8(e).unwrap()));
                assert_eq!(found, expected, "cut at {cut}, steps of {step}");
            }
        }
    }

    #[test]
    fn place_to_resume_is_the_last_event_with_an_id() {
        for (stream, id, retry) in [
            ("data: a\n\n", None, None),
            ("id: 7\ndata: a\n\nid:8 9\nretry: 1500\n\ndata: b\n", Some("8 9"), Some(1500)),
            ("id: 7\nid\nid:\n", None, None),
            ("id: 7\nid: a\0b\nretry: soon\n", Some("7"), None),
        ] {
            let mut events = Events::up_to(MAX_EVENT);
            events.push(stream.as_bytes(), |_| {}).unwrap();
            assert_eq!((events.last_id(), events.retry_ms()), (id.map(str::as_bytes), retry), "{stream:?}");
        }
    }

    #[test]
    fn endless_line_is_refused() {
        let mut events = Events::up_to(MAX_EVENT);
        let piece = vec![b'x'; 1 << 20];
        assert!((0..9).any(|_| events.push(&piece, |_| {}) == Err(TooLarge)));
    }
}
