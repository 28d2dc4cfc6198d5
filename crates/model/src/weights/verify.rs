//! The check of a file's size and hash, which reads the file as a stream.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Weights;
use super::pull::PullError;

/// Checks that `path` is the file that `weights` describes. `progress` gets the number of bytes read so far.
///
/// # Errors
///
/// [`PullError::File`] when the file cannot be read, [`PullError::WrongFile`] when it is another file.
pub fn verify(path: &Path, weights: &Weights, progress: &mut dyn FnMut(u64)) -> Result<(), PullError> {
    let file = |e: io::Error| PullError::File { path: path.to_owned(), reason: e.to_string() };
    let wrong = |reason: String| PullError::WrongFile { path: path.to_owned(), reason };
    let mut reader = File::open(path).map_err(file)?;
    let length = reader.metadata().map_err(file)?.len();
    if length != weights.bytes {
        return Err(wrong(format!("it has {length} bytes, not {}", weights.bytes)));
    }
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        let n = reader.read(&mut buffer).map_err(file)?;
        if n == 0 {
            break;
        }
        hasher.update(buffer.get(..n).unwrap_or_default());
        done += n as u64;
        progress(done);
    }
    let hash = hex(&hasher.finalize());
    if hash == weights.sha256 {
        Ok(())
    } else {
        Err(wrong(format!("its SHA-256 is {hash}, not {}", weights.sha256)))
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
