//! Mail: asking, answering, sending, dismissing.

use kernel::command::{Act, MailAct, Reply};
use kernel::formula::Formula;
use kernel::message::{Answer, Body};
use kernel::table::PromiseRow;
use kernel::{FormulaId, MessageNumber, Value};
use resource::Resource;

use crate::agents::{
    adopt, copy, dismiss, mail, path, record, reject, remove, request, resolve, send, store, string,
};
use crate::fixture::{Fixture, text};

fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, store(string("five"), "five"));
    let fae = w.guest("fae");
    (w, host, fae)
}

fn value(text: &str) -> PromiseRow {
    PromiseRow::Fulfilled { value: string(text) }
}

fn refused(reason: &str) -> PromiseRow {
    PromiseRow::Rejected { reason: reason.to_owned() }
}

#[test]
fn a_message_is_one_formula_with_a_number_in_each_mailbox() {
    let (mut w, host, fae) = world();
    w.as_agent(host, send("@self", &[]));
    w.as_agent(fae, send("@host", &[]));
    let (mine, theirs) = (w.last(host), w.last(fae));
    assert_eq!((mine.number.0, theirs.number.0), (w.letters(host).len() as u64 - 1, 0));
    assert_eq!(mine.mail.message, theirs.mail.message);
    assert_eq!(mine.mail.envelope, theirs.mail.envelope);
    let before = w.letters(host).len();
    w.as_agent(host, send("@self", &[]));
    assert_eq!(w.letters(host).len(), before + 1, "what goes to oneself lies there once");
}

#[test]
fn a_request_is_resolved_once_and_the_asker_has_the_value() {
    let (mut w, host, fae) = world();
    let promise = w.ask(fae, request("@host", "a number", Some("answer")));
    assert_eq!(w.id(fae, "answer"), promise);
    assert_eq!(w.promise(promise), PromiseRow::Pending);
    let letter = w.last(host);
    assert!(letter.mail.needs_you && !w.last(fae).mail.needs_you);
    let number = letter.number.0;
    assert_eq!(w.as_agent(host, resolve(number, "five")), Reply::Done);
    assert_eq!(w.promise(promise), value("five"));
    assert!(!w.last(host).mail.needs_you);
    w.as_agent(host, store(string("six"), "six"));
    for second in [resolve(number, "six"), resolve(number, "five"), reject(number, "no")] {
        assert_eq!(w.as_agent(host, second), Reply::AlreadySettled);
    }
    assert_eq!(w.promise(promise), value("five"));
}

#[test]
fn a_capability_in_an_answer_is_a_grant() {
    let (mut w, host, fae) = world();
    let cap = w.mount("cap");
    let promise = w.ask(fae, request("@host", "a directory", Some("dir")));
    let number = w.last(host).number.0;
    w.as_agent(host, resolve(number, "cap"));
    let PromiseRow::Fulfilled { value } = w.promise(promise) else { panic!("a value") };
    let given = *value.as_reference().unwrap();
    let grant = w.last_grant(host);
    assert_eq!((grant.id, grant.holder, grant.target), (given, fae, cap));
    assert_eq!(grant.source, Some(MessageNumber(number)));
    // The value of the promise can be passed on.
    w.as_agent(fae, send("@self", &[("d", "dir")]));
    let again = w.id(fae, "@mail/1/d");
    assert_eq!(
        w.behind(again),
        Ok(Formula::Resource(Resource::Directory { path: "/cap".to_owned(), read_only: false }))
    );
}

#[test]
fn rejected_request_keeps_its_reason() {
    let (mut w, host, fae) = world();
    let promise = w.ask(fae, request("@host", "a number", None));
    let number = w.last(host).number.0;
    assert_eq!(w.as_agent(host, reject(number, "not today")), Reply::Done);
    assert_eq!(w.promise(promise), refused("not today"));
    assert_eq!(w.as_agent(host, resolve(number, "five")), Reply::AlreadySettled);
    let answer = w.last(host).mail.answers.remove(&0);
    assert!(matches!(answer, Some(Answer::Denied { reason, .. }) if reason.raw() == "not today"));
}

#[test]
fn same_call_under_the_same_name_attaches_to_its_promise() {
    let (mut w, host, fae) = world();
    let call = || request("@host", "a number", Some("answer"));
    let promise = w.ask(fae, call());
    let letters = w.letters(host).len();
    let attached = Reply::RequestSent { promise, number: None };
    assert_eq!(w.as_agent(fae, call()), attached, "pending");
    let number = w.last(host).number.0;
    w.as_agent(host, resolve(number, "five"));
    assert_eq!(w.as_agent(fae, call()), attached, "settled");
    assert_eq!(w.letters(host).len(), letters, "nobody is asked again");
    let taken =
        r#""answer" is the name of something else; remove it first, or choose another name for the result"#;
    assert_eq!(w.fault(fae, request("@host", "another", Some("answer"))), taken);
    w.as_agent(fae, store(string("x"), "x"));
    assert!(w.fault(fae, request("@host", "a number", Some("x"))).contains("something else"));
    assert!(w.fault(fae, request("@host", "a number", Some("@self"))).contains("something else"));
    w.as_agent(fae, remove("answer"));
    assert_ne!(w.ask(fae, call()), promise, "without the name it is another call");
}

#[test]
fn request_without_a_name_is_sent_each_time() {
    let (mut w, _, fae) = world();
    let first = w.ask(fae, request("@host", "a number", None));
    assert_ne!(w.ask(fae, request("@host", "a number", None)), first);
}

#[test]
fn sent_objects_can_be_adopted() {
    let (mut w, host, fae) = world();
    let cap = w.mount("cap");
    w.as_agent(host, send("fae", &[("data", "five"), ("tool", "cap")]));
    assert_eq!(w.list(fae, "@mail/0")[6..], ["data", "tool"]);
    let Reply::Made { id } = w.as_agent(fae, adopt(0, "tool", "my-tool")) else { panic!("made") };
    assert_eq!(w.id(fae, "my-tool"), id);
    assert_eq!(
        w.behind(id),
        Ok(Formula::Resource(Resource::Directory { path: "/cap".to_owned(), read_only: false }))
    );
    w.as_agent(fae, adopt(0, "data", "five"));
    assert_eq!(w.id(fae, "five"), w.id(host, "five"));
    for edge in ["nothing", "@strings", "@date", "value"] {
        let expected = format!("No reference named {edge:?} in message 0");
        assert_eq!(w.fault(fae, adopt(0, edge, "x")), expected);
    }
    assert_eq!(w.fault(fae, adopt(0, "tool", "@x")), r#"Invalid pet name "@x""#);
    assert_eq!(w.fault(fae, adopt(7, "tool", "x")), "there is no message 7");
    // The sender's own copy has the objects that were sent.
    let number = w.last(host).number.0;
    w.as_agent(host, adopt(number, "tool", "again"));
    assert_eq!(w.id(host, "again"), cap);
}

#[test]
fn reply_goes_to_the_other_party_and_links_its_message() {
    let (mut w, host, fae) = world();
    w.as_agent(host, send("fae", &[]));
    let first = w.last(fae).mail.envelope.id;
    let said = |number: u64| MailAct::Reply {
        number: MessageNumber(number),
        strings: vec![text("yes")],
        names: vec![],
        paths: vec![],
    };
    w.as_agent(fae, mail(said(0)));
    assert_eq!(w.last(host).mail.envelope.reply_to, Some(first));
    // A reply to one's own message goes to its recipient.
    let own = w.letters(host).len() as u64 - 2;
    w.as_agent(host, mail(said(own)));
    let last = w.last(fae);
    assert_eq!((last.mail.envelope.reply_to, last.number.0), (Some(first), 2));
    let value = MailAct::SendValue { number: MessageNumber(2), path: path("@self") };
    w.as_agent(fae, mail(value));
    assert!(matches!(w.last_body(host), Body::Value { .. }));
    let letter = w.last(host).number.0;
    w.as_agent(host, adopt(letter, "value", "them"));
    let them = w.id(host, "them");
    assert!(matches!(w.behind(them), Ok(Formula::Handle { .. })));
}

#[test]
fn capabilities_inside_a_value_are_sent_as_grants() {
    let (mut w, host, fae) = world();
    let cap = w.mount("cap");
    w.as_agent(host, store(record(&[("n", Value::number(1.0)), ("dir", Value::remotable(cap))]), "both"));
    w.as_agent(host, send("fae", &[("both", "both")]));
    let both = w.id(fae, "@mail/0/both");
    let Formula::Marshal { value } = w.formula(both) else { panic!("a value") };
    let dir = *value.get("dir").unwrap().as_reference().unwrap();
    assert_eq!(value.get("n"), Some(&Value::number(1.0)));
    assert_eq!((w.last_grant(host).id, w.last_grant(host).holder), (dir, fae));
}

#[test]
fn malformed_message_is_refused() {
    let (mut w, _, fae) = world();
    let mut package = |strings: usize, names: &[&str], paths: &[&str], expected: &str| {
        let act = MailAct::Send(kernel::command::Send {
            to: path("@host"),
            strings: vec![text(""); strings],
            names: names.iter().map(|n| (*n).to_owned()).collect(),
            paths: paths.iter().map(|p| path(p)).collect(),
            reply_to: None,
        });
        assert_eq!(w.fault(fae, mail(act)), expected);
    };
    package(0, &["a"], &["@self"], "Message must have at least as many strings as edge names, not 0 and 1");
    package(1, &["a"], &[], "Message must have one formula identifier (0) for every edge name (1)");
    package(2, &["a", "a"], &["@self", "@self"], "Duplicate edge name \"a\"");
    package(1, &["@from"], &["@self"], "Invalid pet name \"@from\"");
    package(1, &["a"], &["nothing"], "Unknown pet name: \"nothing\"");
    let to = |w: &mut Fixture, to: &str| w.fault(fae, send(to, &[]));
    assert_eq!(to(&mut w, "nobody"), "Unknown pet name: \"nobody\"");
    w.as_agent(fae, store(string("x"), "x"));
    assert_eq!(to(&mut w, "x"), "a marshal has no mailbox: mail goes to a handle");
}

#[test]
fn answer_to_another_message_type_is_refused() {
    let (mut w, host, fae) = world();
    w.as_agent(fae, send("@host", &[]));
    let number = w.last(host).number.0;
    let mut check = |act: Act, expected: &str| {
        assert_eq!(w.fault(host, act), format!("message {number} is a package: {expected}"));
    };
    check(resolve(number, "five"), "only a request is resolved");
    check(reject(number, ""), "it asks for nothing that could be refused");
    let n = MessageNumber(number);
    check(mail(MailAct::Submit { number: n, values: Default::default() }), "only a form is filled in");
    check(mail(MailAct::Grant { number: n, goes_to: Default::default() }), "it asks for no evaluation");
    check(crate::agents::endow(number, &[], Default::default()), "only a definition is endowed or edited");
}

#[test]
fn dismissed_message_keeps_only_its_envelope() {
    let (mut w, host, fae) = world();
    w.mount("cap");
    w.as_agent(host, send("fae", &[("tool", "cap")]));
    let (letter, grant) = (w.last(fae), w.id(fae, "@mail/0/tool"));
    w.as_agent(fae, dismiss(0));
    let after = w.last(fae);
    assert_eq!((after.message.clone(), after.mail.envelope), (None, letter.mail.envelope));
    assert!(after.mail.dismissed_ms.is_some());
    assert!(w.list(fae, "@mail").is_empty());
    assert!(w.found(fae, "@mail/0").is_err());
    assert_eq!(w.fault(fae, dismiss(0)), "there is no message 0");
    assert_eq!(w.fault(fae, adopt(0, "tool", "x")), "there is no message 0");
    assert!(!w.holds(fae, letter.mail.message.unwrap()));
    assert!(w.holds(fae, grant), "the grant is the guest's as long as it is there");
    assert!(w.last(host).message.is_some(), "the sender's copy stays");
    w.as_agent(host, send("fae", &[]));
    assert_eq!(w.last(fae).number.0, 1, "numbers are not used again");
}

#[test]
fn dismissing_a_request_rejects_its_promise() {
    let (mut w, host, fae) = world();
    let promise = w.ask(fae, request("@host", "x", None));
    let number = w.last(host).number.0;
    w.as_agent(host, dismiss(number));
    assert_eq!(w.promise(promise), refused("dismissed without an answer"));
}

#[test]
fn dismiss_all_keeps_messages_awaiting_an_answer() {
    let (mut w, host, fae) = world();
    let asked = w.ask(fae, request("@host", "x", None));
    w.as_agent(fae, send("@host", &[]));
    let before = w.letters(host).len() as u64;
    assert_eq!(w.as_agent(host, mail(MailAct::DismissAll)), Reply::Dismissed { count: before - 1 });
    assert_eq!(w.list(host, "@mail").len(), 1);
    assert_eq!(w.promise(asked), PromiseRow::Pending);
    assert_eq!(w.as_agent(host, mail(MailAct::DismissAll)), Reply::Dismissed { count: 0 });
}

#[test]
fn a_message_with_a_name_outlives_its_dismissal() {
    let (mut w, host, fae) = world();
    w.as_agent(host, send("fae", &[("data", "five")]));
    w.as_agent(fae, copy("@mail/0", "letter"));
    w.as_agent(fae, dismiss(0));
    assert_eq!(w.id(fae, "letter/data"), w.id(host, "five"));
}
