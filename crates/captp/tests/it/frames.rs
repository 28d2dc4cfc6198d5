//! Netstrings.

use captp::netstring::{Decoder, FrameError, write};
use proptest::prelude::*;

/// Returns all messages in the pieces, and the end of the stream.
fn decode(pieces: &[&[u8]], limit: usize) -> (Vec<Vec<u8>>, Result<(), FrameError>) {
    let mut decoder = Decoder::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.next() {
                Ok(Some(message)) => found.push(message.to_vec()),
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
    let end = decoder.finish();
    (found, end)
}

#[test]
fn invalid_netstrings_are_refused() {
    let too_long = |length| FrameError::TooLong { length, limit: 9 };
    let check = |text: &str, messages: &[&str], end: Result<(), FrameError>| {
        let (found, ended) = decode(&[text.as_bytes()], 9);
        let found: Vec<_> = found.iter().map(|each| String::from_utf8_lossy(each)).collect();
        assert_eq!((found, ended), (messages.iter().map(|each| (*each).into()).collect(), end), "{text}");
    };
    check("", &[], Ok(()));
    check("0:,3:abc,", &["", "abc"], Ok(()));
    check("003:abc,", &["abc"], Ok(()));
    check("3:a,b,5", &["a,b"], Err(FrameError::Dangling));
    check("3:ab", &[], Err(FrameError::Dangling));
    check("3:abc;", &[], Err(FrameError::Comma));
    check("3:abc,x", &["abc"], Err(FrameError::Length));
    check(":abc,", &[], Err(FrameError::Length));
    check("-1:a,", &[], Err(FrameError::Length));
    check("9:123456789,", &["123456789"], Ok(()));
    check("10:", &[], Err(too_long(10)));
    // A length beyond the limit is refused before its colon arrives.
    check("99", &[], Err(too_long(99)));
    check("99999999999999999999:", &[], Err(too_long(u64::MAX)));
    check("000000000000000000000000000001:a,", &[], Err(FrameError::Length));
}

#[test]
fn announced_length_reserves_no_memory() {
    let mut decoder = Decoder::new(1 << 30);
    decoder.push(b"1000000000:{");
    assert_eq!(decoder.next(), Ok(None));
    assert!(format!("{decoder:?}").len() < 200);
}

proptest! {
    #[test]
    fn messages_round_trip_for_any_cut_of_the_stream(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8),
        cuts in proptest::collection::vec(1..30_usize, 0..40),
    ) {
        let mut stream = Vec::new();
        messages.iter().for_each(|message| write(message, &mut stream));
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts {
            let (piece, behind) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        pieces.push(rest);
        prop_assert_eq!(decode(&pieces, 40), (messages, Ok(())));
    }
}
