//! Two sessions with each other, every message written and read: each end understands the other.

use captp::{Message, Options, Session};
use passable::{Text, Value};
use switchboard::{Action, Call, CallTarget, Name, Outcome, Ref, Side, SideOptions, Switchboard};

type V = Value<Ref>;

/// One end: its table, its own objects, its session.
struct End {
    board: Switchboard,
    home: Side,
    session: Session,
    /// Calls that came and were not answered yet.
    pending_calls: Vec<(u64, Call<Ref>, Ref)>,
    settled: Vec<(u64, Outcome)>,
    released: Vec<u64>,
}

impl End {
    fn new(name: &str) -> End {
        let mut board = Switchboard::new();
        let home = board.add(SideOptions::default());
        let root = board.object(home, 0).unwrap();
        let options = Options { name: name.to_owned(), drops: true, ..Options::default() };
        let session = Session::open(&mut board, Value::remotable(root), options).unwrap();
        End { board, home, session, pending_calls: vec![], settled: vec![], released: vec![] }
    }

    fn work(&mut self) {
        for action in self.board.take(self.home) {
            match action {
                Action::Deliver { to: CallTarget::Object(key), call, answer } => {
                    for mentioned in call.args().iter().flat_map(|value| value.references()) {
                        self.board.hold(self.home, *mentioned).unwrap();
                    }
                    self.pending_calls.push((key, call, answer));
                }
                Action::Deliver { .. } => panic!("this side takes no calls to promises"),
                Action::Settled { tag, outcome } => {
                    for mentioned in outcome.iter().flat_map(|value| value.references()) {
                        self.board.hold(self.home, *mentioned).unwrap();
                    }
                    self.settled.push((tag, outcome));
                }
                Action::Released { key } => self.released.push(key),
            }
        }
        self.board.give_back(self.home);
    }

    fn send(&mut self, target: Ref, method: &str, args: &[V], tag: u64) -> Ref {
        let call = Call::Method(Name::Text(Text::from(method)), args.to_vec());
        let answer = self.board.send(self.home, target, call).unwrap();
        self.board.watch(self.home, answer, tag);
        answer
    }

    fn answer(&mut self, outcome: Outcome) -> Call<Ref> {
        let (_, call, answer) = self.pending_calls.remove(0);
        self.board.resolve(self.home, answer, outcome);
        call
    }
}

/// Both ends, and the exchange between them.
struct Pair {
    a: End,
    b: End,
}

impl Pair {
    /// Returns both ends, and the root object of the second one as the first one sees it.
    fn new() -> (Pair, Ref) {
        let mut pair = Pair { a: End::new("a"), b: End::new("b") };
        let root = pair.a.session.ask_root(&mut pair.a.board, pair.a.home).unwrap();
        pair.pass();
        (pair, root)
    }

    /// Passes messages until neither end has any left.
    fn pass(&mut self) {
        loop {
            self.a.work();
            self.b.work();
            let there = carry(&mut self.a, &mut self.b);
            let back = carry(&mut self.b, &mut self.a);
            if !there && !back {
                return;
            }
        }
    }
}

fn carry(from: &mut End, to: &mut End) -> bool {
    let messages = from.session.flush(&mut from.board);
    for message in &messages {
        let message = Message::read(message.to_json().as_bytes()).unwrap();
        to.session.receive(&mut to.board, message).unwrap();
    }
    !messages.is_empty()
}

fn record(fields: &[(&str, V)]) -> V {
    Value::record(fields.iter().cloned()).unwrap()
}

#[test]
fn values_of_every_kind_arrive() {
    let (mut pair, root) = Pair::new();
    let values = [
        Value::undefined(),
        Value::null(),
        Value::bool(true),
        Value::number(-1.5),
        Value::number(f64::NAN),
        Value::number(f64::NEG_INFINITY),
        Value::bigint(-12),
        Value::string("a\u{0}é🧙\u{2028}"),
        Value::symbol("@@asyncIterator").unwrap(),
        Value::array([Value::array([])]),
        record(&[("@qclass", Value::string("x")), ("b", Value::undefined())]),
        Value::tagged("copySet", Value::array([Value::string("a")])),
        Value::error("RangeError", "far"),
    ];
    pair.a.send(root, "take", &values, 1);
    pair.pass();
    let call = pair.b.answer(Ok(Value::array(values.iter().cloned())));
    assert_eq!(format!("{:?}", call.args()), format!("{values:?}"));
    pair.pass();
    let (tag, outcome) = pair.a.settled.remove(0);
    assert_eq!((tag, format!("{outcome:?}")), (1, format!("{:?}", Ok::<_, V>(Value::array(values)))));
}

#[test]
fn pipelined_calls_arrive_before_the_first_is_answered() {
    let (mut pair, root) = Pair::new();
    let first = pair.a.send(root, "first", &[], 1);
    let second = pair.a.send(first, "second", &[], 2);
    pair.a.send(second, "third", &[Value::promise(first)], 3);
    pair.pass();
    assert_eq!(pair.b.pending_calls.len(), 1, "the others wait there, not here");
    assert_eq!(pair.a.session.flush(&mut pair.a.board).len(), 0);
    let room = pair.b.board.object(pair.b.home, 7).unwrap();
    pair.b.answer(Ok(Value::remotable(room)));
    pair.pass();
    assert_eq!(pair.b.pending_calls[0].0, 7, "called on what the first came to");
    pair.b.answer(Ok(Value::remotable(room)));
    pair.pass();
    pair.b.answer(Ok(Value::string("done")));
    pair.pass();
    let tags: Vec<u64> = pair.a.settled.iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, [1, 2, 3]);
    assert_eq!(pair.a.settled[2].1, Ok(Value::string("done")));
}

#[test]
fn promises_pass_both_ways_and_settle_at_the_other_end() {
    let (mut pair, root) = Pair::new();
    let mine = pair.a.board.promise(pair.a.home, Some(5)).unwrap();
    pair.a.send(root, "take", &[Value::array([Value::promise(mine)])], 1);
    pair.pass();
    let their = pair.b.pending_calls[0].1.args()[0].references()[0].to_owned();
    // The other end calls it, and passes it on to where it came from.
    pair.b.send(their, "early", &[], 2);
    pair.b.answer(Ok(Value::array([Value::promise(their)])));
    pair.pass();
    let back = pair.a.settled[0].1.as_ref().unwrap().references()[0].to_owned();
    assert_eq!(back, mine, "what comes home is what went out");
    let object = pair.a.board.object(pair.a.home, 9).unwrap();
    pair.a.board.resolve(pair.a.home, mine, Ok(Value::remotable(object)));
    pair.pass();
    assert_eq!(pair.a.pending_calls[0].0, 9);
    pair.a.answer(Err(Value::error("Error", "not today")));
    pair.pass();
    let (tag, outcome) = pair.b.settled.remove(0);
    let error = outcome.unwrap_err();
    assert!(
        matches!(&error, Value::Error(error) if error.message == "not today"
        && error.id.as_ref().is_some_and(|id| id == "error:captp:a#20001")),
        "{tag} {error:?}"
    );
}

#[test]
fn unused_references_are_released_at_both_ends() {
    let (mut pair, root) = Pair::new();
    let before = pair.b.board.counts().references;
    for key in 1..=50 {
        let answer = pair.a.send(root, "make", &[], key);
        pair.pass();
        let made = pair.b.board.object(pair.b.home, key).unwrap();
        pair.b.answer(Ok(Value::remotable(made)));
        pair.pass();
        let (_, outcome) = pair.a.settled.remove(0);
        pair.a.board.release(pair.a.home, answer);
        let held = outcome.unwrap().references()[0].to_owned();
        pair.a.board.release(pair.a.home, held);
        pair.pass();
    }
    assert_eq!(pair.b.released, (1..=50).collect::<Vec<u64>>());
    assert_eq!(pair.b.session.sizes(), [1, 0, 0, 0]);
    assert_eq!(pair.a.session.sizes(), [0, 1, 0, 0]);
    assert_eq!(pair.b.board.counts().references, before);
}

#[test]
fn disconnect_breaks_all_waiting_promises() {
    let (mut pair, root) = Pair::new();
    let asked = pair.a.send(root, "wait", &[], 1);
    pair.a.send(asked, "more", &[], 2);
    pair.pass();
    pair.b.session.disconnect(&mut pair.b.board, "the daemon ends");
    pair.pass();
    pair.a.send(root, "again", &[], 3);
    pair.pass();
    pair.a.settled.sort_by_key(|(tag, _)| *tag);
    let gone = Err(Value::error("Error", "the daemon ends"));
    assert_eq!(pair.a.settled, [1, 2, 3].map(|tag| (tag, gone.clone())));
    assert_eq!(pair.b.session.over(), Some("the daemon ends"));
}
