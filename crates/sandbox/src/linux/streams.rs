//! The program's standard streams, on the warden's side.
//!
//! The code uses no threads, because a process that has left its PID namespace can start none.

use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::Output;

/// The streams of a program, which are read and written while the program runs.
pub(super) struct Streams {
    /// The pipe for the rest of the input, from `fed` on. It is `None` after it was closed.
    feed: Option<PipeWriter>,
    input: Vec<u8>,
    fed: usize,
    outputs: [(Option<PipeReader>, Output); 2],
    most: usize,
    buffer: Vec<u8>,
}

impl Streams {
    /// Returns streams that write `input` and keep at most `most` bytes of each output. For a live program, only
    /// standard error is kept.
    ///
    /// # Errors
    /// When a pipe cannot be set up.
    pub(super) fn new(
        feed: Option<PipeWriter>,
        stdout: Option<PipeReader>,
        stderr: PipeReader,
        input: Vec<u8>,
        most: u64,
    ) -> io::Result<Streams> {
        if let Some(feed) = &feed {
            rustix::io::ioctl_fionbio(feed, true)?;
        }
        Ok(Streams {
            feed: feed.filter(|_| !input.is_empty()),
            input,
            fed: 0,
            outputs: [(stdout, Output::default()), (Some(stderr), Output::default())],
            most: usize::try_from(most).unwrap_or(usize::MAX),
            buffer: vec![0; 64 << 10],
        })
    }

    /// Moves all available data. Waits for at most `pause` until there are data or `end` is ready. Returns whether
    /// `end` is ready.
    pub(super) fn pump(&mut self, end: Option<BorrowedFd<'_>>, pause: &Timespec) -> bool {
        let mut set = Vec::with_capacity(4);
        let at_end = end.map(|end| set.push(PollFd::from_borrowed_fd(end, PollFlags::IN)));
        for (reader, _) in &self.outputs {
            set.extend(reader.as_ref().map(|reader| PollFd::new(reader, PollFlags::IN)));
        }
        set.extend(self.feed.as_ref().map(|feed| PollFd::new(feed, PollFlags::OUT)));
        if !poll(&mut set, Some(pause)).is_ok_and(|count| count > 0) {
            return false;
        }
        let ready: Vec<bool> = set.iter().map(|each| !each.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        let is_over = at_end.is_some() && ready.next().unwrap_or(false);
        for number in 0..self.outputs.len() {
            if self.outputs[number].0.is_some() && ready.next().unwrap_or(false) {
                self.take(number);
            }
        }
        if self.feed.is_some() && ready.next().unwrap_or(false) {
            self.give();
        }
        is_over
    }

    fn take(&mut self, number: usize) {
        let Some((reader, output)) = self.outputs.get_mut(number) else { return };
        let count = match reader.as_mut().map(|reader| reader.read(&mut self.buffer)) {
            Some(Ok(count @ 1..)) => count,
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => return,
            _ => {
                *reader = None;
                return;
            }
        };
        let room = self.most.saturating_sub(output.bytes.len()).min(count);
        output.bytes.extend_from_slice(&self.buffer[..room]);
        output.cut += (count - room) as u64;
    }

    fn give(&mut self) {
        let Some(feed) = &self.feed else { return };
        match rustix::io::write(feed.as_fd(), &self.input[self.fed..]) {
            Ok(count) => self.fed += count,
            Err(Errno::AGAIN | Errno::INTR) => {}
            // If the program has closed its input, the rest of the input is dropped.
            Err(_) => self.fed = self.input.len(),
        }
        if self.fed == self.input.len() {
            self.feed = None;
        }
    }

    /// Returns the outputs, after reading the rest from the pipes. Every process that could write must have ended.
    pub(super) fn finish(mut self) -> (Output, Output) {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.feed = None;
        // A pipe holds at most a megabyte.
        for _ in 0..64 {
            if self.outputs.iter().all(|(reader, _)| reader.is_none()) {
                break;
            }
            self.pump(None, &at_once);
        }
        let [(_, stdout), (_, stderr)] = self.outputs;
        (stdout, stderr)
    }
}
