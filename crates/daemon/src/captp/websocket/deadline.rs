//! A TCP stream that ends at a deadline, however slowly the other side sends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A stream with one deadline for every read and write, until the deadline is lifted.
pub(super) struct DeadlineStream {
    stream: TcpStream,
    deadline: Option<Instant>,
}

impl DeadlineStream {
    /// Returns a stream whose deadline is `patience` from now.
    pub fn new(stream: TcpStream, patience: Duration) -> DeadlineStream {
        DeadlineStream { stream, deadline: Some(Instant::now() + patience) }
    }

    /// Lifts the deadline.
    pub fn lift(&mut self) {
        self.deadline = None;
    }

    /// Returns the underlying TCP stream.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the time until the deadline, or `None` if the deadline was lifted. A deadline that has passed is an
    /// error.
    fn remaining(&self) -> io::Result<Option<Duration>> {
        let Some(until) = self.deadline else { return Ok(None) };
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        left.map(Some).ok_or_else(|| ErrorKind::TimedOut.into())
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(left) = self.remaining()? {
            self.stream.set_read_timeout(Some(left))?;
        }
        self.stream.read(buffer)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(left) = self.remaining()? {
            self.stream.set_write_timeout(Some(left))?;
        }
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn slow_client_is_cut_off_at_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let began = Instant::now();
        let drip = std::thread::spawn(move || {
            // Each byte alone comes well before the deadline.
            while slow.write_all(b"x").is_ok() && began.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let mut timed = DeadlineStream::new(stream, Duration::from_millis(300));
        let mut byte = [0];
        let error = loop {
            match timed.read(&mut byte) {
                Ok(read) => assert_eq!(read, 1),
                Err(error) => break error,
            }
        };
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error}");
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(250) && took < Duration::from_secs(10), "{took:?}");
        timed.lift();
        timed.stream().set_nonblocking(true).unwrap();
        // More bytes arrive after the first deadline.
        std::thread::sleep(Duration::from_millis(500));
        assert!(timed.read(&mut byte).is_ok_and(|read| read == 1), "what has come is still there");
        drop(timed);
        drip.join().unwrap();
    }
}
