//! Messages between the client and the model's process.

use std::io::{Read, Write};

use framing::{FrameError, Frames};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::provider::Progress;
use crate::reply::Reply;
use crate::request::Request;

/// A frame is never larger: a request holds text that once fit a model's context, many times over.
const MAX_FRAME: usize = 256 << 20;

const FRAMES: Frames = Frames::up_to(MAX_FRAME);

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
        /// The progress.
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
pub(super) fn write(output: &mut impl Write, frame: &impl Serialize) -> Result<(), FrameError> {
    FRAMES.write(output, frame)
}

/// Reads one frame; `None` at the end of the stream.
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
