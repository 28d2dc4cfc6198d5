//! Messages between the client and the model's process.

use std::io::{Read, Write};

use framing::{FrameError, Frames};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::provider::Progress;
use crate::reply::Reply;
use crate::request::Request;

/// The maximum size of a frame. It is many times the size of a request that fits a model's context.
const MAX_FRAME: usize = 256 << 20;

const FRAMES: Frames = Frames::up_to(MAX_FRAME);

/// A message from the client to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToHost {
    /// A request that the host must answer.
    Complete {
        /// The number of the request. The client chooses the number, and the host repeats it in every answer.
        id: u64,
        /// The request.
        request: Box<Request>,
    },
    /// The cancellation of a request that may still be in progress.
    Cancel {
        /// The number of the request.
        id: u64,
    },
}

/// A message from the host to the client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromHost {
    /// The progress of a request. Such a message may be lost.
    Progress {
        /// The number of the request.
        id: u64,
        /// The progress.
        progress: Progress,
    },
    /// The result of a request, after which the host says no more about it.
    Done {
        /// The number of the request.
        id: u64,
        /// The answer.
        result: Result<Reply, ModelError>,
    },
}

/// Writes one frame and flushes the output.
pub(super) fn write(output: &mut impl Write, frame: &impl Serialize) -> Result<(), FrameError> {
    FRAMES.write(output, frame)
}

/// Reads one frame, or returns `None` at the end of the stream.
pub(super) fn read<T: DeserializeOwned>(input: &mut impl Read) -> Result<Option<T>, FrameError> {
    FRAMES.read(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_round_trips_and_longer_one_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &ToHost::Cancel { id: 7 }).unwrap();
        assert!(matches!(read(&mut bytes.as_slice()).unwrap(), Some(ToHost::Cancel { id: 7 })));
        let head = u32::try_from(MAX_FRAME + 1).unwrap().to_le_bytes();
        assert!(matches!(read::<ToHost>(&mut &head[..]), Err(FrameError::TooLarge { .. })));
    }
}
