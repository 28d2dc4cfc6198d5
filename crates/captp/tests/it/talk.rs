//! One end of a session, message by message: the messages of an Endo client, and the answers to them.

use captp::{Message, Options, Session};
use passable::Value;
use switchboard::{Action, Call, CallTarget, Limits, Ref, Side, Switchboard};

/// A daemon's end with a few objects.
///
/// - `ping()` → text
/// - `me()` → the object
/// - `thing()` → a new object
/// - `echo(x)` → x
/// - `later()` → a promise that the test settles
/// - `pair()` → a record of the object and a promise
/// - `fail()` → an error
/// - `call(f)` → the result of `f.hello("you")`
struct Server {
    board: Switchboard,
    home: Side,
    session: Session,
    root: Ref,
    promises: Vec<Ref>,
    made: u64,
}

impl Server {
    fn new() -> Server {
        Server::with(Options { memory: u64::MAX, ..Options::default() })
    }

    fn with(options: Options) -> Server {
        let mut board = Switchboard::new();
        let home = board.add(switchboard::SideOptions::default());
        let root = board.object(home, 0).unwrap();
        let session = Session::open(&mut board, Value::remotable(root), options).unwrap();
        Server { board, home, session, root, promises: vec![], made: 0 }
    }

    /// Says messages, and hears everything that comes of them, a line each.
    fn say(&mut self, said: &[&str]) -> String {
        for message in said {
            match Message::read(message.as_bytes()) {
                Ok(message) => drop(self.session.receive(&mut self.board, message)),
                Err(violation) => self.session.end_with_violation(&mut self.board, &violation),
            }
            self.work();
        }
        self.hear()
    }

    fn hear(&mut self) -> String {
        let mut lines = Vec::new();
        loop {
            let messages = self.session.flush(&mut self.board);
            if messages.is_empty() {
                break;
            }
            for message in messages {
                let json = message.to_json();
                self.session.record_sent_bytes(&mut self.board, json.len() as u64);
                lines.push(json);
            }
            self.work();
        }
        lines.join("\n")
    }

    fn work(&mut self) {
        for action in self.board.take(self.home) {
            let Action::Deliver { to, call, answer } = action else { continue };
            let CallTarget::Object(key) = to else { panic!("calls to promises do not come here") };
            let Call::Method(name, args) = &call else {
                self.board.resolve(self.home, answer, Err(Value::error("TypeError", "no function")));
                continue;
            };
            let alleged = |reference| Value::remotable_alleged(reference, "Alleged: Thing");
            let outcome = match name.as_str().unwrap_or("?") {
                "ping" => Ok(Value::string(format!("pong {key}"))),
                "me" => Ok(alleged(self.root)),
                "thing" => {
                    self.made += 1;
                    Ok(alleged(self.board.object(self.home, self.made).unwrap()))
                }
                "echo" => Ok(args.first().cloned().unwrap_or(Value::Undefined)),
                "later" | "pair" => {
                    let promise = self.board.promise(self.home, None).unwrap();
                    self.promises.push(promise);
                    let both = [("a", alleged(self.root)), ("p", Value::promise(promise))];
                    if name.as_str() == Some("later") {
                        Ok(Value::promise(promise))
                    } else {
                        Ok(Value::record(both).unwrap())
                    }
                }
                "call" => {
                    let target = args[0].as_reference().copied().unwrap();
                    let hello = switchboard::Name::Text("hello".into());
                    let call = Call::Method(hello, vec![Value::string("you"), alleged(self.root)]);
                    let said = self.board.send(self.home, target, call).unwrap();
                    Ok(Value::promise(said))
                }
                _ => Err(Value::error("TypeError", "target has no method")),
            };
            self.board.resolve(self.home, answer, outcome);
        }
        self.board.give_back(self.home);
    }

    /// Settles the first promise that `later` or `pair` has made.
    fn settle_promise(&mut self, outcome: Result<&str, &str>) {
        let outcome = match outcome {
            Ok(text) => Ok(Value::string(text)),
            Err(text) => Err(Value::error("Error", text)),
        };
        let promise = self.promises.remove(0);
        self.board.resolve(self.home, promise, outcome);
    }
}

const BOOTSTRAP: &str = r#"{"type":"CTP_BOOTSTRAP","epoch":0,"questionID":"q-1"}"#;

/// Returns a call of `o-1` or another target, as upstream writes it.
fn call(question: u64, target: &str, method: &str) -> String {
    let body = method.replace('"', "\\\"");
    format!(
        r#"{{"type":"CTP_CALL","epoch":0,"questionID":"q-{question}","target":"{target}","method":{{"body":"{body}","slots":[]}}}}"#
    )
}

fn call_with(question: u64, target: &str, method: &str, slots: &str) -> String {
    call(question, target, method).replace("\"slots\":[]", &format!("\"slots\":{slots}"))
}

const SLOT: &str = r#"{"@qclass":"slot","index":0}"#;

#[test]
fn conversation_has_the_messages_of_upstream() {
    let mut server = Server::new();
    assert_eq!(
        server.say(&[BOOTSTRAP]),
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-1","result":{"body":"{\"@qclass\":\"slot\",\"index\":0}","slots":["o+1"]}}"#
    );
    assert_eq!(
        server.say(&[&call(2, "o-1", r#"["ping",[]]"#)]),
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-2","result":{"body":"\"pong 0\"","slots":[]}}"#
    );
    // The same object has the same name, and another one the next.
    assert_eq!(
        server.say(&[&call(3, "o-1", r#"["me",[]]"#), &call(4, "o-1", r#"["thing",[]]"#)]),
        concat!(
            r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-3","result":{"body":"{\"@qclass\":\"slot\",\"iface\":\"Alleged: Thing\",\"index\":0}","slots":["o+1"]}}"#,
            "\n",
            r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-4","result":{"body":"{\"@qclass\":\"slot\",\"iface\":\"Alleged: Thing\",\"index\":0}","slots":["o+2"]}}"#,
        )
    );
    assert_eq!(
        server.say(&[&call(5, "o-1", r#"["fail",[]]"#)]),
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-5","exception":{"body":"{\"@qclass\":\"error\",\"errorId\":\"error:captp:Endo#20001\",\"message\":\"target has no method\",\"name\":\"TypeError\"}","slots":[]}}"#
    );
}

#[test]
fn calls_to_pending_answers_wait() {
    let mut server = Server::new();
    let later = call(2, "q-1", r#"["later",[]]"#);
    let after = call(3, "q-2", r#"["length"]"#);
    server.say(&[BOOTSTRAP]);
    assert_eq!(server.say(&[&later, &after]), "");
    server.settle_promise(Ok("four"));
    assert_eq!(
        server.hear(),
        concat!(
            r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-2","result":{"body":"\"four\"","slots":[]}}"#,
            "\n",
            r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-3","result":{"body":"4","slots":[]}}"#,
        )
    );
    // An answer is still there when it was given.
    assert_eq!(
        server.say(&[&call(4, "q-2", r#"["length"]"#)]),
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-4","result":{"body":"4","slots":[]}}"#
    );
}

#[test]
fn promise_in_a_value_settles_later_by_the_readers_name() {
    let mut server = Server::new();
    server.say(&[BOOTSTRAP]);
    assert_eq!(
        server.say(&[&call(2, "o-1", r#"["pair",[]]"#)]),
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-2","result":{"body":"{\"a\":{\"@qclass\":\"slot\",\"iface\":\"Alleged: Thing\",\"index\":0},\"p\":{\"@qclass\":\"slot\",\"index\":1}}","slots":["o+1","p+1"]}}"#
    );
    // It can be called and passed back before.
    assert_eq!(server.say(&[&call(3, "p-1", r#"["length"]"#)]), "");
    let echo = call_with(4, "o-1", &format!(r#"["echo",[[{SLOT}]]]"#), r#"["p-1"]"#);
    assert_eq!(
        server.say(&[&echo]),
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-4","result":{"body":"[{\"@qclass\":\"slot\",\"index\":0}]","slots":["p+1"]}}"#
    );
    server.settle_promise(Err("no"));
    let heard = server.hear();
    let exception = r#"{"body":"{\"@qclass\":\"error\",\"errorId\":\"error:captp:Endo#20001\",\"message\":\"no\",\"name\":\"Error\"}","slots":[]}"#;
    let mut lines: Vec<&str> = heard.lines().collect();
    assert_eq!(lines.remove(0), format!(r#"{{"type":"CTP_RESOLVE","promiseID":"p-1","rej":{exception}}}"#));
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with(r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-3","exception":"#),
        "{heard}"
    );
}

#[test]
fn client_object_is_called_back() {
    let mut server = Server::new();
    server.say(&[BOOTSTRAP]);
    let reader = r#"{"@qclass":"slot","iface":"Alleged: Reader","index":0}"#;
    let ask = call_with(2, "o-1", &format!(r#"["call",[{reader}]]"#), r#"["o+7"]"#);
    assert_eq!(
        server.say(&[&ask]),
        r#"{"type":"CTP_CALL","epoch":0,"questionID":"q-1","target":"o-7","method":{"body":"[\"hello\",[\"you\",{\"@qclass\":\"slot\",\"iface\":\"Alleged: Thing\",\"index\":0}]]","slots":["o+1"]}}"#
    );
    let answer =
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-1","result":{"body":"\"hello me\"","slots":[]}}"#;
    assert_eq!(
        server.say(&[answer]),
        r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-2","result":{"body":"\"hello me\"","slots":[]}}"#
    );
    // The same through a promise of the client's, which it settles only then.
    let ask = call_with(3, "o-1", &format!(r#"["call",[{SLOT}]]"#), r#"["p+1"]"#);
    assert!(server.say(&[&ask]).contains(r#""questionID":"q-2","target":"p-1""#));
    let resolve = r#"{"type":"CTP_RESOLVE","promiseID":"p-1","res":{"body":"{\"@qclass\":\"slot\",\"index\":0}","slots":["o+7"]}}"#;
    assert_eq!(server.say(&[resolve]), "");
    let throws = r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-2","exception":{"body":"{\"@qclass\":\"error\",\"message\":\"sorry\",\"name\":\"RangeError\",\"errorId\":\"error:captp:me#1\"}","slots":[]}}"#;
    let heard = server.say(&[throws]);
    assert!(heard.contains(r#"\"message\":\"sorry\",\"name\":\"RangeError\""#), "{heard}");
    // The call goes to the current value of the promise.
    let ask = call_with(4, "o-1", &format!(r#"["call",[{SLOT}]]"#), r#"["p+1"]"#);
    assert!(server.say(&[&ask]).contains(r#""questionID":"q-3","target":"o-7""#));
    // A reference that is sent back to its owner has the owner's name.
    let echo = call_with(5, "o-1", &format!(r#"["echo",[{SLOT}]]"#), r#"["o+7"]"#);
    assert!(server.say(&[&echo]).contains(r#""slots":["o-7"]"#));
    // A call to an object of its own goes back to it.
    assert!(server.say(&[&call(6, "o+7", r#"["x",[]]"#)]).contains(r#""target":"o-7""#));
}

#[test]
fn dropped_references_are_forgotten() {
    let mut server = Server::new();
    server.say(&[BOOTSTRAP]);
    for question in 2..=4 {
        server.say(&[&call(question, "o-1", r#"["thing",[]]"#)]);
    }
    assert_eq!(server.session.sizes(), [4, 0, 4, 0]);
    let drop = |slot: &str| format!(r#"{{"type":"CTP_DROP","slotID":"{slot}","decRefs":1,"epoch":0}}"#);
    let drops = ["o-2", "q-2", "q-3", "o-3", "q-4", "q-1", "o-77", "q-77"].map(drop);
    server.say(&drops.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(server.session.sizes(), [2, 0, 0, 0]);
    assert_eq!(server.board.counts().references, 2);
    // Mentioned twice, it needs two.
    server.say(&[&call_with(9, "o-1", &format!(r#"["echo",[{SLOT}]]"#), r#"["o-4"]"#), &drop("q-9")]);
    server.say(&[&drop("o-4")]);
    assert_eq!(server.session.sizes(), [2, 0, 0, 0]);
    server.say(&[&drop("o-4")]);
    assert_eq!(server.session.sizes(), [1, 0, 0, 0]);
    // A promise that waits may be dropped as well.
    server.say(&[&call(10, "o-1", r#"["pair",[]]"#)]);
    server.say(&[&drop("q-10"), &drop("p-1")]);
    server.settle_promise(Ok("too late"));
    assert_eq!(server.hear(), "");
    assert_eq!(server.board.counts().references, 1);
}

#[test]
fn long_conversation_forgets_old_answers() {
    let mut server = Server::with(Options { memory: 10_000, ..Options::default() });
    server.say(&[BOOTSTRAP]);
    for question in 2..5_000 {
        let heard = match question % 3 {
            0 => server.say(&[&call(question, "o-1", r#"["ping",[]]"#)]),
            1 => server.say(&[&call(question, "o-1", r#"["me",[]]"#)]),
            _ => server.say(&[&call_with(
                question,
                "o-1",
                &format!(r#"["echo",[{SLOT}]]"#),
                &format!(r#"["o+{question}"]"#),
            )]),
        };
        assert!(heard.contains("result"), "{heard}");
        // An answer that is used stays, however long ago it was given.
        let heard = server.say(&[&call(question + 100_000, "q-1", r#"["ping",[]]"#)]);
        assert!(heard.contains("pong 0"), "{heard}");
    }
    let [exports, imports, answers, questions] = server.session.sizes();
    assert!(
        exports == 1 && imports < 1_000 && answers < 2_000 && questions == 0,
        "{:?}",
        server.session.sizes()
    );
    assert!(server.board.counts().references < 3_000);
    let heard = server.say(&[&call(9_999, "q-2", r#"["x"]"#)]);
    assert!(heard.contains("the answer to q-2 is not remembered"), "{heard}");
}

#[test]
fn bad_message_ends_the_session_with_a_reason() {
    let check = |said: &str, reason: &str| {
        let mut server = Server::new();
        server.say(&[BOOTSTRAP]);
        let heard = server.say(&[said]);
        let expected = Message::disconnect(reason).to_json();
        assert_eq!(heard, expected, "{said}");
        assert_eq!(server.session.over(), Some(reason));
        assert_eq!(server.say(&[&call(2, "o-1", r#"["ping",[]]"#)]), "", "nothing comes behind it");
    };
    let call_of = |method: &str| call(2, "o-1", method);
    check("", "this is no message: EOF while parsing a value at line 1 column 0");
    check(r#"{"type":"CTP_NONSENSE"}"#, "unknown message type \"CTP_NONSENSE\"");
    check(r#"{"type":"CTP_CALL","questionID":"q-2","target":"o-1"}"#, "a message must have method");
    check(r#"{"type":"CTP_BOOTSTRAP"}"#, "a message must have questionID");
    check(r#"{"type":"CTP_BOOTSTRAP","questionID":"o-2"}"#, "o-2 cannot be a questionID");
    check(r#"{"type":"CTP_BOOTSTRAP","questionID":"two"}"#, "\"two\" is no slot");
    check(r#"{"type":"CTP_BOOTSTRAP","questionID":"q-1"}"#, "the question q-1 was asked before");
    check(&call_of("["), "a body says no value: at [0]: expected a JSON value at byte 1");
    check(&call_of("[]"), "a method must be [name], [null, arguments] or [name, arguments]");
    check(&call_of("[null]"), "a method must be [name], [null, arguments] or [name, arguments]");
    check(&call_of(r#"["a",7]"#), "a method must be [name], [null, arguments] or [name, arguments]");
    check(&call(2, "o-9", r#"["ping",[]]"#), "Unknown export o+9");
    check(&call(2, "t-1", r#"["ping",[]]"#), "t-1 cannot be a reference");
    let question = r#"Got an answer to a question we have not asked. (answerID = q-7 )"#;
    check(r#"{"type":"CTP_RETURN","answerID":"q-7","result":{"body":"1","slots":[]}}"#, question);
    let promise = "Got a resolvement of a promise we have not imported. (promiseID = p-7 )";
    check(r#"{"type":"CTP_RESOLVE","promiseID":"p-7","res":{"body":"1","slots":[]}}"#, promise);
    check(
        r#"{"type":"CTP_TRAP_ITERATE","questionID":"q-2"}"#,
        "CTP_TRAP_ITERATE is impossible without a trapHost",
    );
    check(r#"{"type":"CTP_DROP","slotID":"o+1"}"#, "o+1 cannot be a slotID");
}

#[test]
fn failed_question_does_not_end_the_session() {
    let mut server = Server::new();
    server.say(&[BOOTSTRAP]);
    let heard = server.say(&[&call(2, "q-99", r#"["ping",[]]"#)]);
    assert!(heard.contains("the answer to q-99 is not remembered"), "{heard}");
    let trap = call(3, "o-1", r#"["ping",[]]"#).replacen('{', r#"{"trap":true,"#, 1);
    assert!(server.say(&[&trap]).contains("Refused Trap"));
    let function = server.say(&[&call(4, "o-1", "[null,[]]")]);
    assert!(function.contains("no function"), "{function}");
    assert_eq!(server.session.over(), None);
}

#[test]
fn disconnect_is_echoed_once() {
    let mut server = Server::new();
    server.say(&[BOOTSTRAP, &call(2, "q-1", r#"["later",[]]"#)]);
    let bye = r#"{"type":"CTP_DISCONNECT","epoch":0,"reason":"going home"}"#;
    assert_eq!(server.say(&[bye, bye]), bye);
    assert_eq!(server.session.over(), Some("going home"));
    server.settle_promise(Ok("nobody hears"));
    assert_eq!(server.hear(), "");
    assert_eq!(server.board.counts().references, 0, "and nothing is left");
}

#[test]
fn flooding_client_is_bounded() {
    let limits = Limits { owned: 100, held: 100, waiting: 10 };
    let options = Options { questions: 20, limits, ..Options::default() };
    let mut server = Server::with(options.clone());
    server.say(&[BOOTSTRAP]);
    let mut refused = 0;
    for question in 2..60 {
        let heard = server.say(&[&call(question, "o-1", r#"["later",[]]"#)]);
        refused += usize::from(heard.contains("too many questions: 20 can be open at a time"));
    }
    assert_eq!(refused, 38);
    let mut server = Server::with(options.clone());
    server.say(&[BOOTSTRAP, &call(2, "q-1", r#"["later",[]]"#)]);
    let waiting: Vec<String> = (3..20).map(|question| call(question, "q-2", r#"["x"]"#)).collect();
    let heard = server.say(&waiting.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(heard.matches("too many calls that wait for promises").count(), 7);
    // Objects without end in one message.
    let mut server = Server::with(options);
    server.say(&[BOOTSTRAP]);
    let slots: Vec<String> = (1..200).map(|number| format!("\"o+{number}\"")).collect();
    let args: Vec<String> =
        (0..199).map(|index| format!(r#"{{"@qclass":"slot","index":{index}}}"#)).collect();
    let method = format!(r#"["echo",[[{}]]]"#, args.join(","));
    let heard = server.say(&[&call_with(2, "o-1", &method, &format!("[{}]", slots.join(",")))]);
    assert_eq!(
        heard,
        Message::disconnect("too many objects and promises: there can be 100 at a time").to_json()
    );
    assert_eq!(server.board.counts().references, 0);
}
