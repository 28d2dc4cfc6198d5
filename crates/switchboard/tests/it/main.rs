//! The guarantees of the table to the sides that share it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod laws;

use passable::{Text, Value};
use switchboard::{Action, Call, CallTarget, Limits, Name, Outcome, Ref, Side, SideOptions, Switchboard};

type V = Value<Ref>;

fn method(name: &str, args: &[V]) -> Call<Ref> {
    Call::Method(Name::Text(Text::from(name)), args.to_vec())
}

fn get(name: &str) -> Call<Ref> {
    Call::Get(Name::Text(Text::from(name)))
}

fn broken_with(error: &str) -> Outcome {
    Err(Value::error("Error", error))
}

/// Two sides: one that has objects and one that uses them.
struct ClientServer {
    board: Switchboard,
    server: Side,
    client: Side,
}

impl ClientServer {
    fn new() -> ClientServer {
        ClientServer::with(SideOptions::default())
    }

    fn with(client: SideOptions) -> ClientServer {
        let mut board = Switchboard::new();
        let server = board.add(SideOptions::default());
        let client = board.add(client);
        ClientServer { board, server, client }
    }

    fn object(&mut self, key: u64) -> Ref {
        let made = self.board.object(self.server, key).unwrap();
        self.board.hold(self.client, made).unwrap();
        made
    }

    fn send(&mut self, target: Ref, call: Call<Ref>) -> Ref {
        self.board.send(self.client, target, call).unwrap()
    }

    /// Returns the calls delivered to the server: keys, methods and answers.
    fn delivered(&mut self) -> Vec<(CallTarget, String, Ref)> {
        let actions = self.board.take(self.server);
        let shown = actions.into_iter().filter_map(|action| match action {
            Action::Deliver { to, call: Call::Method(name, _), answer } => {
                Some((to, name.as_str().unwrap_or("?").to_owned(), answer))
            }
            Action::Deliver { to, call: Call::Get(name), answer } => Some((to, name.shown(), answer)),
            Action::Deliver { to, call: Call::Apply(_), answer } => Some((to, "()".to_owned(), answer)),
            _ => None,
        });
        shown.collect()
    }

    /// Returns the outcomes of the promises that the side watches, with their tags.
    fn settled(&mut self, side: Side) -> Vec<(u64, Outcome)> {
        let actions = self.board.take(side);
        let shown = actions.into_iter().filter_map(|action| match action {
            Action::Settled { tag, outcome } => Some((tag, outcome)),
            _ => None,
        });
        shown.collect()
    }

    fn released(&mut self) -> Vec<u64> {
        let actions = self.board.take(self.server);
        let shown = actions.into_iter().filter_map(|action| match action {
            Action::Released { key } => Some(key),
            _ => None,
        });
        shown.collect()
    }
}

#[test]
fn call_reaches_the_owner_and_answer_returns() {
    let mut desk = ClientServer::new();
    let object = desk.object(7);
    let answer = desk.send(object, method("ping", &[]));
    desk.board.watch(desk.client, answer, 1);
    let ready: Vec<Side> = desk.board.take_ready().into_iter().collect();
    assert_eq!(ready, [desk.server]);
    let came = desk.delivered();
    assert_eq!(came, [(CallTarget::Object(7), "ping".to_owned(), answer)]);
    desk.board.resolve(desk.client, answer, Ok(Value::string("forged")));
    desk.board.resolve(desk.server, answer, Ok(Value::string("pong")));
    desk.board.resolve(desk.server, answer, Ok(Value::string("twice")));
    assert_eq!(desk.settled(desk.client), [(1, Ok(Value::string("pong")))]);
}

#[test]
fn calls_to_a_promise_wait_and_follow_its_outcome_in_order() {
    let mut desk = ClientServer::new();
    let (door, room) = (desk.object(1), desk.object(2));
    let opened = desk.send(door, method("open", &[]));
    let first = desk.send(opened, method("sit", &[]));
    let second = desk.send(opened, method("stand", &[]));
    // The answer of a call can be called before it settles.
    let third = desk.send(first, method("rest", &[]));
    assert_eq!(desk.delivered(), [(CallTarget::Object(1), "open".to_owned(), opened)]);
    desk.board.resolve(desk.server, opened, Ok(Value::remotable(room)));
    assert_eq!(
        desk.delivered(),
        [
            (CallTarget::Object(2), "sit".to_owned(), first),
            (CallTarget::Object(2), "stand".to_owned(), second)
        ]
    );
    desk.board.resolve(desk.server, first, Ok(Value::remotable(door)));
    assert_eq!(desk.delivered(), [(CallTarget::Object(1), "rest".to_owned(), third)]);
}

#[test]
fn pipelining_side_gets_calls_to_its_promises_at_once() {
    let mut desk = ClientServer::with(SideOptions { pipelines: true, ..SideOptions::default() });
    // Here the one that pipelines decides the promise.
    let promise = desk.board.promise(desk.client, None).unwrap();
    desk.board.hold(desk.server, promise).unwrap();
    let answer = desk.board.send(desk.server, promise, method("go", &[])).unwrap();
    match &desk.board.take(desk.client)[..] {
        [Action::Deliver { to, answer: delivered, .. }] => {
            assert_eq!((*to, *delivered), (CallTarget::Promise(promise), answer));
        }
        other => panic!("{other:?}"),
    }
    // It has become something else before the side could send it on.
    let object = desk.object(3);
    desk.board.resolve(desk.client, promise, Ok(Value::remotable(object)));
    desk.board.forward(desk.client, promise, method("go", &[]), answer);
    assert_eq!(desk.delivered(), [(CallTarget::Object(3), "go".to_owned(), answer)]);
}

#[test]
fn calls_to_data_answer_as_in_javascript() {
    let record = Value::record([("a", Value::number(1.0)), ("length", Value::bool(true))]).unwrap();
    let array = Value::array([Value::string("x"), Value::undefined()]);
    let check = |data: &V, call: Call<Ref>, expected: Result<V, &str>| {
        let mut desk = ClientServer::new();
        let object = desk.object(1);
        let answer = desk.send(object, method("data", &[]));
        let part = desk.send(answer, call.clone());
        desk.board.watch(desk.client, part, 0);
        desk.board.resolve(desk.server, answer, Ok(data.clone()));
        let expected = expected.map_err(|error| Value::error("TypeError", error));
        assert_eq!(desk.settled(desk.client), [(0, expected)], "{call:?} of {data:?}");
    };
    check(&record, get("a"), Ok(Value::number(1.0)));
    check(&record, get("b"), Ok(Value::undefined()));
    check(&array, get("0"), Ok(Value::string("x")));
    check(&array, get("00"), Ok(Value::undefined()));
    check(&array, get("length"), Ok(Value::number(2.0)));
    check(&Value::string("é🧙"), get("length"), Ok(Value::number(3.0)));
    check(&Value::null(), get("a"), Err("Cannot read properties of null (reading 'a')"));
    let text = Value::string("pong");
    check(&text, method("foo", &[]), Err("target has no method \"foo\", has []"));
    check(&record, method("a", &[]), Err("invoked method \"a\" is not a function; it is a \"number\""));
    let deliver = "Cannot deliver \"foo\" to target; typeof target is \"undefined\"";
    check(&Value::undefined(), method("foo", &[]), Err(deliver));
    let invoke = "Cannot invoke target as a function; typeof target is \"string\"";
    check(&text, Call::Apply(vec![]), Err(invoke));
}

#[test]
fn following_promise_settles_with_the_other_one() {
    let mut desk = ClientServer::new();
    let promises: Vec<Ref> = (0..5_000).map(|_| desk.board.promise(desk.server, None).unwrap()).collect();
    desk.board.watch(desk.client, promises[0], 9);
    let early = desk.send(promises[0], get("x"));
    desk.board.watch(desk.client, early, 8);
    for pair in promises.windows(2) {
        desk.board.resolve(desk.server, pair[0], Ok(Value::promise(pair[1])));
    }
    let late = desk.send(promises[0], get("x"));
    desk.board.watch(desk.client, late, 7);
    let record = Value::record([("x", Value::bigint(3))]).unwrap();
    desk.board.resolve(desk.server, promises[4_999], Ok(record.clone()));
    let mut settled = desk.settled(desk.client);
    settled.sort_by_key(|(tag, _)| *tag);
    assert_eq!(settled, [(7, Ok(Value::bigint(3))), (8, Ok(Value::bigint(3))), (9, Ok(record))]);
}

#[test]
fn promise_cycle_is_broken_with_an_error() {
    let mut desk = ClientServer::new();
    let [a, b, c] = [(); 3].map(|()| {
        let promise = desk.board.promise(desk.server, None).unwrap();
        desk.board.hold(desk.client, promise).unwrap();
        promise
    });
    desk.board.watch(desk.client, a, 1);
    desk.board.resolve(desk.server, a, Ok(Value::promise(b)));
    desk.board.resolve(desk.server, b, Ok(Value::promise(c)));
    desk.board.resolve(desk.server, c, Ok(Value::promise(a)));
    let broken = Err(Value::error("TypeError", "a promise cannot become itself"));
    assert_eq!(desk.settled(desk.client), [(1, broken)]);
}

#[test]
fn ended_side_loses_objects_and_breaks_promises() {
    let mut desk = ClientServer::new();
    let object = desk.object(1);
    let promise = desk.board.promise(desk.server, None).unwrap();
    desk.board.hold(desk.client, promise).unwrap();
    let (asked, queued) = (desk.send(object, method("a", &[])), desk.send(promise, method("b", &[])));
    for (tag, promise) in [(1, asked), (2, queued), (3, promise)] {
        desk.board.watch(desk.client, promise, tag);
    }
    desk.board.end(desk.server, Value::error("Error", "it left"));
    let after = desk.send(object, method("c", &[]));
    desk.board.watch(desk.client, after, 4);
    let mut settled = desk.settled(desk.client);
    settled.sort_by_key(|(tag, _)| *tag);
    assert_eq!(settled, [1, 2, 3, 4].map(|tag| (tag, broken_with("it left"))));
}

#[test]
fn call_of_an_ended_side_is_still_delivered() {
    let mut desk = ClientServer::new();
    let object = desk.object(1);
    let promise = desk.board.promise(desk.server, Some(5)).unwrap();
    desk.board.hold(desk.client, promise).unwrap();
    let waiting = desk.send(promise, method("later", &[Value::remotable(object)]));
    desk.board.end(desk.client, Value::undefined());
    desk.board.resolve(desk.server, promise, Ok(Value::remotable(object)));
    assert_eq!(desk.delivered(), [(CallTarget::Object(1), "later".to_owned(), waiting)]);
    desk.board.resolve(desk.server, waiting, Ok(Value::undefined()));
    desk.board.give_back(desk.server);
    assert_eq!(desk.released(), [1]);
    assert_eq!(desk.board.counts().references, 0);
}

#[test]
fn unused_reference_is_forgotten_and_released() {
    let mut desk = ClientServer::new();
    let object = desk.object(1);
    let inner = desk.board.object(desk.server, 2).unwrap();
    let promise = desk.board.promise(desk.server, Some(3)).unwrap();
    desk.board.hold(desk.client, promise).unwrap();
    let answer = desk.send(object, method("a", &[Value::remotable(object)]));
    desk.delivered();
    desk.board.give_back(desk.server);
    let record = Value::record([("inner", Value::remotable(inner)), ("p", Value::promise(promise))]).unwrap();
    desk.board.resolve(desk.server, answer, Ok(record));
    desk.board.release(desk.client, object);
    assert_eq!(desk.released(), [1]);
    desk.board.release(desk.client, promise);
    assert_eq!(desk.released(), [] as [u64; 0], "the answer still mentions it");
    desk.board.release(desk.client, answer);
    desk.board.release(desk.client, answer);
    let mut released = desk.released();
    released.sort_unstable();
    assert_eq!(released, [2, 3]);
    assert_eq!(desk.board.counts().references, 0);
}

#[test]
fn side_beyond_its_limits_is_refused() {
    let limits = Limits { owned: 2, held: 3, waiting: 1 };
    let mut desk = ClientServer::with(SideOptions { limits, pipelines: false });
    let own = [1, 2].map(|key| desk.board.object(desk.client, key).unwrap());
    let full = desk.board.object(desk.client, 3).unwrap_err().to_string();
    assert_eq!(full, "too many objects and promises: there can be 2 at a time");
    let promise = desk.board.promise(desk.server, None).unwrap();
    desk.board.hold(desk.client, promise).unwrap();
    let first = desk.send(promise, get("a"));
    let second = desk.send(promise, get("b"));
    desk.board.watch(desk.client, second, 2);
    let full = "too many calls that wait for promises: there can be 1 at a time";
    assert_eq!(desk.settled(desk.client), [(2, broken_with(full))]);
    assert!(desk.board.send(desk.client, promise, get("c")).is_err(), "it would hold a fourth");
    // A second hold of the same is none more.
    desk.board.hold(desk.client, promise).unwrap();
    desk.board.release(desk.client, first);
    desk.board.hold(desk.client, own[0]).unwrap();
}
