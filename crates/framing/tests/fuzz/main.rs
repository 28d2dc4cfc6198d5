//! Hostile streams, with a fuzzer that runs on the stable toolchain.
//!
//! A target runs for half a second in `cargo test`, and for as long as is asked for in `cargo xtask fuzz SECONDS`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says by panicking that something is wrong")]

use std::time::Duration;

use framing::Frames;
use framing::events::Events;
use serde_json::Value;

const FRAMES: Frames = Frames::up_to(1 << 10);

/// Checks that a frame read from any bytes is the same after it is written and read again.
#[test]
fn bytes_as_frames() {
    bolero::check!().with_test_time(Duration::from_millis(500)).with_type::<Vec<u8>>().for_each(|bytes| {
        let head = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        for stream in [bytes.clone(), [&head[..], bytes].concat()] {
            let (mut plain, mut wiped) = (stream.as_slice(), stream.as_slice());
            while let Ok(Some(message)) = FRAMES.read::<Value>(&mut plain) {
                assert_eq!(FRAMES.wiped().read::<Value>(&mut wiped).unwrap().as_ref(), Some(&message));
                let Ok(again) = FRAMES.encode(&message) else { continue };
                assert_eq!(FRAMES.read::<Value>(&mut again.as_slice()).unwrap(), Some(message));
            }
        }
    });
}

/// Bytes as events: the same ones however the stream is cut, none of them longer than is allowed.
#[test]
fn bytes_as_events() {
    let target = bolero::check!().with_test_time(Duration::from_millis(500)).with_type::<(u8, Vec<u8>)>();
    target.for_each(|(step, bytes)| {
        let read = |step: usize| {
            let (mut events, mut found) = (Events::up_to(256), Vec::new());
            let is_fine =
                bytes.chunks(step).all(|piece| events.push(piece, |event| found.push(event)).is_ok());
            (is_fine, found)
        };
        let (is_fine, found) = read(usize::from(*step) + 1);
        assert_eq!((is_fine, &found), (read(1).0, &read(1).1));
        assert!(found.iter().all(|event| event.len() <= 256));
    });
}
