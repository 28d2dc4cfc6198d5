//! Messages between the client and the model's process: a 4-byte little-endian length, then so many bytes of JSON.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::provider::Progress;
use crate::reply::Reply;
use crate::request::Request;

/// A frame is never larger: a request holds text that once fit a model's context, many times over.
const LARGEST: usize = 256 << 20;

/// From the client to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToHost {
    /// Answer this.
    Complete {
        /// Chosen by the client, repeated in every answer.
        id: u64,
        /// The question.
        request: Box<Request>,
    },
    /// Stop answering this, if it is still going on.
    Cancel {
        /// Which.
        id: u64,
    },
}

/// From the host to the client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromHost {
    /// May be lost.
    Progress {
        /// Of which request.
        id: u64,
        /// What.
        progress: Progress,
    },
    /// The last word on a request.
    Done {
        /// Which.
        id: u64,
        /// The answer.
        result: Result<Reply, ModelError>,
    },
}

/// Writes one frame and flushes.
pub(super) fn write(output: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(frame)?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|length| *length as usize <= LARGEST)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a frame is too large"))?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(&body)?;
    output.flush()
}

/// Reads one frame; `None` at the end of the stream.
pub(super) fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    if let Err(e) = input.read_exact(&mut length) {
        return if e.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(e) };
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too large"));
    }
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&body).map(Some).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_and_garbage_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &ToHost::Cancel { id: 7 }).unwrap();
        let cut = bytes[..bytes.len() - 1].to_vec();
        assert!(matches!(read(&mut bytes.as_slice()).unwrap(), Some(ToHost::Cancel { id: 7 })));
        assert!(read::<ToHost>(&mut cut.as_slice()).is_err());
        assert!(read::<ToHost>(&mut [].as_slice()).unwrap().is_none());
        assert!(read::<ToHost>(&mut [0xff; 8].as_slice()).is_err());
        assert!(read::<ToHost>(&mut [2, 0, 0, 0, b'{', b'{'].as_slice()).is_err());
    }
}
