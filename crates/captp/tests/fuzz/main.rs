//! Hostile bytes on the wire, with a fuzzer that runs on the stable toolchain.
//!
//! A target runs for half a second in `cargo test`, for 20 seconds in `cargo xtask test`, and for as long as is asked
//! for in `cargo xtask fuzz SECONDS`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a peer does, and says so by panicking when something is wrong"
)]

use std::time::Duration;

use captp::netstring::{self, Decoder};
use captp::{Message, Options, Session, Slot};
use passable::Value;
use switchboard::{Action, Limits, SideOptions, Switchboard};

/// Messages that a hostile client begins with; `N` stands for small numbers that the fuzzer chooses.
const SEEDS: &[&str] = &[
    r#"{"type":"CTP_BOOTSTRAP","questionID":"q-N"}"#,
    r#"{"type":"CTP_CALL","questionID":"q-N","target":"o-N","method":{"body":"[\"echo\",[{\"@qclass\":\"slot\",\"index\":0},{\"@qclass\":\"slot\",\"index\":1}]]","slots":["o+N","p+N"]}}"#,
    r#"{"type":"CTP_CALL","questionID":"q-N","target":"q-N","method":{"body":"[\"first\",[[{\"@qclass\":\"slot\",\"index\":0}]]]","slots":["p-N"]}}"#,
    r#"{"type":"CTP_CALL","questionID":"q-N","target":"o+N","method":{"body":"[null,[]]","slots":[]}}"#,
    r#"{"type":"CTP_CALL","questionID":"q-N","target":"p+N","method":{"body":"[\"x\"]","slots":[]}}"#,
    r##"{"type":"CTP_CALL","questionID":"q-N","target":"o-1","method":{"body":"#[\"echo\",[\"$0\",\"&0\",\"$1\"]]","slots":["p+N","o+N"]}}"##,
    r#"{"type":"CTP_RETURN","answerID":"q-N","result":{"body":"{\"@qclass\":\"slot\",\"index\":0}","slots":["p+N"]}}"#,
    r#"{"type":"CTP_RETURN","answerID":"q-N","exception":{"body":"{\"@qclass\":\"error\",\"name\":\"E\",\"message\":\"m\"}","slots":[]}}"#,
    r#"{"type":"CTP_RESOLVE","promiseID":"p-N","res":{"body":"{\"@qclass\":\"slot\",\"index\":0}","slots":["p+N"]}}"#,
    r#"{"type":"CTP_RESOLVE","promiseID":"p-N","res":{"body":"[{\"@qclass\":\"slot\",\"index\":0},{\"@qclass\":\"slot\",\"index\":1}]","slots":["p+N","o+N"]}}"#,
    r#"{"type":"CTP_RESOLVE","promiseID":"p-N","rej":{"body":"\"no\"","slots":[]}}"#,
    r#"{"type":"CTP_DROP","slotID":"o-N","decRefs":1}"#,
    r#"{"type":"CTP_DROP","slotID":"p-N","decRefs":9}"#,
    r#"{"type":"CTP_DROP","slotID":"q-N"}"#,
    r#"{"type":"CTP_TRAP_ITERATE","questionID":"q-N"}"#,
    r#"{"type":"CTP_DISCONNECT","reason":{"a":1}}"#,
];

/// Returns a message from a few bytes: which seed, its numbers, and edits if `edits` is set.
fn message(script: &[u8], edits: bool) -> Vec<u8> {
    let [seed, numbers @ ..] = script else { return vec![] };
    // Ends are rare: they make everything behind them pointless.
    let rare = usize::from(seed % 16 >= 14 && numbers.first().is_some_and(|byte| byte % 8 > 0));
    let seed = SEEDS[usize::from(*seed) % SEEDS.len() - rare * 14 % (usize::from(*seed) % SEEDS.len() + 1)];
    let mut numbers = numbers.iter().cycle();
    let mut text = String::new();
    for part in seed.split_inclusive('N') {
        let digit = numbers.next().copied().unwrap_or(1) % 9 + 1;
        match part.strip_suffix('N') {
            Some(before) => text.push_str(&format!("{before}{digit}")),
            None => text.push_str(part),
        }
    }
    let mut bytes = text.into_bytes();
    if edits {
        for edit in script.chunks_exact(3).take(6) {
            let at = usize::from(edit[0]) * bytes.len() / 256;
            match edit[1] % 3 {
                0 => bytes[at] = edit[2],
                1 => bytes.insert(at, edit[2]),
                _ => drop(bytes.remove(at)),
            }
        }
    }
    bytes
}

/// A server that a hostile client talks to.
struct Victim {
    board: Switchboard,
    home: switchboard::Side,
    session: Session,
    held: Vec<switchboard::Ref>,
}

impl Victim {
    fn new() -> Victim {
        let mut board = Switchboard::new();
        let home = board.add(SideOptions::default());
        let root = board.object(home, 0).unwrap();
        let limits = Limits { owned: 60, held: 60, waiting: 20 };
        let options = Options { limits, questions: 30, memory: 2_000, drops: true, ..Options::default() };
        let session = Session::open(&mut board, Value::remotable(root), options).unwrap();
        Victim { board, home, session, held: vec![] }
    }

    fn hear(&mut self, bytes: &[u8]) {
        match Message::read(bytes) {
            Ok(message) => {
                check_round_trip(&message);
                drop(self.session.receive(&mut self.board, message));
            }
            Err(violation) => self.session.end_with_violation(&mut self.board, &violation),
        }
        self.work();
        assert_eq!(self.board.audit(), Ok(()));
    }

    /// Answers calls, and now and then calls the references that it received.
    fn work(&mut self) {
        for round in 0..50 {
            for action in self.board.take(self.home) {
                let Action::Deliver { call, answer, .. } = action else { continue };
                for reference in call.args().iter().flat_map(Value::references) {
                    if self.held.len() < 20 && self.board.hold(self.home, *reference).is_ok() {
                        self.held.push(*reference);
                    }
                    if let Ok(said) = self.board.send(self.home, *reference, call.clone()) {
                        self.held.push(said);
                    }
                }
                let echo = call.args().first().cloned().unwrap_or(Value::Undefined);
                self.board.resolve(self.home, answer, Ok(echo));
            }
            self.board.give_back(self.home);
            for held in self.held.drain(self.held.len().min(20)..) {
                self.board.release(self.home, held);
            }
            let messages = self.session.flush(&mut self.board);
            for message in &messages {
                let json = message.to_json();
                self.session.record_sent_bytes(&mut self.board, json.len() as u64);
                Message::read(json.as_bytes()).expect("what is sent can be read");
            }
            if messages.is_empty() && round > 0 {
                return;
            }
        }
        panic!("they keep each other busy without end");
    }

    /// Ends the session, and checks that only references held here are left.
    fn end(mut self) {
        self.session.lost(&mut self.board, "over");
        for held in self.held.drain(..) {
            self.board.release(self.home, held);
        }
        self.board.take(self.home);
        self.board.give_back(self.home);
        self.board.end(self.home, Value::undefined());
        assert_eq!(self.board.counts().references, 0);
    }
}

fn check_round_trip(message: &Message) {
    let json = message.to_json();
    let again = Message::read(json.as_bytes()).expect("what was read can be written and read");
    assert_eq!(again.to_json(), json);
}

#[test]
fn frames() {
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let mut decoder = Decoder::new(1000);
        let mut stream = Vec::new();
        for piece in input.chunks(7) {
            // Half of it well formed.
            if piece[0] % 2 == 0 {
                netstring::write(piece, &mut stream)
            } else {
                stream.extend_from_slice(piece)
            }
            decoder.push(&stream);
            stream.clear();
            while let Ok(Some(message)) = decoder.next() {
                assert!(message.len() <= 1000);
            }
        }
    });
}

#[test]
fn well_formed_messages_of_a_hostile_client() {
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let mut victim = Victim::new();
        for script in input.chunks(6) {
            victim.hear(&message(script, false));
        }
        victim.end();
    });
}

#[test]
fn damaged_messages_of_a_hostile_client() {
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let mut victim = Victim::new();
        for script in input.chunks(9) {
            victim.hear(&message(script, true));
        }
        victim.end();
    });
}

#[test]
fn slots() {
    bolero::check!().with_test_time(Duration::from_millis(200)).for_each(|input: &[u8]| {
        let text = String::from_utf8_lossy(input);
        if let Ok(slot) = text.parse::<Slot>() {
            assert_eq!(slot.to_string(), text);
        }
    });
}
