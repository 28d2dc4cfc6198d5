//! The reasons why the daemon cannot read a frame, as data for programs.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// The reason why the daemon cannot read a frame. The connection stays open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum Problem {
    /// The daemon does not serve the version of the client. The client may send another hello.
    Version {
        /// The version of the client.
        version: u64,
        /// The versions that the daemon serves, newest first.
        served: Vec<u32>,
    },
    /// The frame is longer than the limit. The daemon skips its bytes.
    TooLong {
        /// The length of the frame.
        bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The bytes of the frame are not UTF-8.
    NotUtf8 {
        /// The number of bytes before the first wrong one.
        at: usize,
    },
    /// The text of the frame is not JSON.
    NotJson {
        /// The line of the fault, from 1.
        line: usize,
        /// The column of the fault, in bytes from 1.
        column: usize,
    },
    /// The JSON is nested too deeply.
    TooDeep,
    /// The daemon knows no request of this name.
    UnknownRequest {
        /// The name.
        request: Untrusted,
    },
    /// The daemon does not know a field of the request.
    UnknownField {
        /// The path of the field, as `spec.documents[0].pathh`.
        field: Untrusted,
    },
    /// A field is missing.
    MissingField {
        /// The name of the field.
        field: Untrusted,
    },
    /// A field has a value of another type or form, or occurs twice.
    WrongField,
}
