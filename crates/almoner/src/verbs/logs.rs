//! `almoner logs`: the daemon's log of its own work.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use passable::visible_line;

use crate::cli::maintenance::LogsArgs;
use crate::ui::output;
use config::place::Place;
use control::exit::{Exit, ExitResult, Failure};

/// The interval at which the log is checked for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Runs `almoner logs`. With `-f`, it continues until it is interrupted.
///
/// # Errors
/// When the log does not exist or cannot be read.
pub fn logs(place: &Place, args: &LogsArgs) -> ExitResult {
    let path = place.log();
    let mut log = Log::open(&path)?;
    if log.is_none() && !args.follow {
        return Err(Failure::new(Exit::NotFound, format!("there is no {}", output::path(&path))).help(
            "a daemon that a command has started writes it; one that runs at a terminal writes there",
        ));
    }
    let mut last: VecDeque<String> = VecDeque::new();
    if let Some(log) = &mut log {
        while let Some(line) = log.next()? {
            last.push_back(line);
            if last.len() > args.lines {
                last.pop_front();
            }
        }
    }
    for line in last {
        output::result(&line)?;
    }
    if !args.follow {
        return Ok(Exit::Ok);
    }
    loop {
        if log.as_ref().is_none_or(|log| log.is_another(&path)) {
            // The old log may have new lines since the last look, and they come first.
            if let Some(log) = &mut log {
                log.show()?;
            }
            log = Log::open(&path)?;
        }
        if let Some(log) = &mut log {
            log.show()?;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// A log file that is read while it grows.
struct Log {
    reader: BufReader<std::fs::File>,
    inode: (u64, u64),
    at: u64,
    /// The beginning of a line whose end has not been written yet.
    partial_line: Vec<u8>,
}

impl Log {
    fn open(path: &Path) -> Result<Option<Log>, Failure> {
        let fail = |e: std::io::Error| Failure::of_file("read", &path.to_string_lossy(), e);
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(fail(e)),
        };
        let meta = file.metadata().map_err(fail)?;
        let reader = BufReader::new(file);
        Ok(Some(Log { reader, inode: (meta.dev(), meta.ino()), at: 0, partial_line: Vec::new() }))
    }

    /// Returns whether the path now leads to another file, or the file has become shorter.
    fn is_another(&self, path: &Path) -> bool {
        std::fs::metadata(path)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) != self.inode || meta.len() < self.at)
    }

    /// Returns the next complete line, with control characters made visible.
    fn next(&mut self) -> Result<Option<String>, Failure> {
        let fail = |e: std::io::Error| Failure::new(Exit::Failure, format!("cannot read the log: {e}"));
        // A reader that has reached the end stays there, so the seek makes it read the lines written since.
        self.reader.seek(SeekFrom::Start(self.at)).map_err(fail)?;
        let count = self.reader.read_until(b'\n', &mut self.partial_line).map_err(fail)?;
        self.at = self.at.saturating_add(count as u64);
        if self.partial_line.last() != Some(&b'\n') {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.partial_line);
        Ok(Some(visible_line(String::from_utf8_lossy(&line).trim_end()).into_owned()))
    }

    fn show(&mut self) -> Result<(), Failure> {
        while let Some(line) = self.next()? {
            output::result(&line)?;
        }
        Ok(())
    }
}
