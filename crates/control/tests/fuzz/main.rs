//! Frames of strangers as hellos and requests, with a fuzzer that runs on the stable toolchain.
//!
//! A target runs for half a second in `cargo test`, and for as long as is asked for in `cargo xtask fuzz SECONDS`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says by panicking that something is wrong")]

use std::time::Duration;

use control::frame_reading::{read_hello, read_request};
use control::version::SERVED;

/// Requests from which the fuzzer makes others, by replacing some of their bytes.
const REQUESTS: [&str; 5] = [
    r#"{"request":"run","text":"t","worker":{"name":"w","source":"s"},"spec":{"documents":[{"document":"file","path":"/a"}]}}"#,
    r#"{"request":"approve","text":"t","message":1,"entries":[0],"for_run":false,"raise":{"turns":1}}"#,
    r##"{"request":"act","agent":"a","act":{"do":"name","act":{"name":"store_value","path":["v"],"value":{"body":"#[1]","slots":[]}}}}"##,
    r#"{"request":"messages","filter":{"list":"threads","within":{"thread":7}},"page":{"limit":3}}"#,
    r#"{"request":"secret","act":{"act":"set","name":"n","value":"v","origins":["https://a.example"],"only":"any"}}"#,
];

/// Checks that any bytes are a request or a failure with a problem, and that a request of version 17 is one of 16.
#[test]
fn bytes_as_requests() {
    let target = bolero::check!().with_test_time(Duration::from_millis(500));
    target.with_type::<(u8, u8, Vec<(u16, u8)>, Vec<u8>)>().for_each(|(choice, kept, changes, bytes)| {
        let frame = match REQUESTS.get(usize::from(*choice)) {
            None => bytes.clone(),
            Some(request) => {
                let mut frame = request.as_bytes().to_vec();
                let length = frame.len();
                changes.iter().for_each(|(at, byte)| frame[usize::from(*at) % length] = *byte);
                frame.truncate(length.min(usize::from(*kept) * 2));
                frame
            }
        };
        let [newest, older] = &SERVED;
        match (read_request(&frame, newest), read_request(&frame, older)) {
            (Ok(new), Ok(old)) => assert_eq!(new, old),
            (Ok(new), Err(failure)) => panic!("{new:?} was refused: {failure}"),
            (Err(failure), _) => assert!(failure.problem.is_some(), "{failure}"),
        }
        if let Err(failure) = read_hello(&frame) {
            assert!(failure.problem.is_some(), "{failure}");
        }
    });
}
