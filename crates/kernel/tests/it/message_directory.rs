//! The entries of `@mail/N/…`, for every type of message, for its sender and its recipient.

use std::collections::BTreeMap;

use kernel::command::{Act, Choice, FieldValue, MailAct};
use kernel::name_lookup::PathTarget;
use kernel::proposal::Decision;
use kernel::run::ResultGoesTo;
use kernel::{FormulaId, Pattern, Value};

use crate::agents::{code, define, endow, field, form, mail, path, request, send, store, string};
use crate::fixture::{Fixture, text};

/// Returns each name in the directory of an agent's last message, with its target. A text is in quotes, other data is
/// shown by its kind, and a formula by its type.
fn table(w: &mut Fixture, agent: FormulaId) -> String {
    let number = w.last(agent).number;
    let names = w.list(agent, &format!("@mail/{number}"));
    let mut lines = Vec::new();
    for name in names {
        let what = match w.found(agent, &format!("@mail/{number}/{name}")).unwrap() {
            PathTarget::Data(value) => match value.as_str() {
                Some(_) if name == "@date" => "time".to_owned(),
                Some(text) if text.len() > 40 => "number of a message".to_owned(),
                Some(text) => format!("{text:?}"),
                None => value.kind().to_owned(),
            },
            PathTarget::Formula(id) => w.formula(id).kind().to_owned(),
        };
        lines.push(format!("{name}: {what}"));
    }
    lines.join(", ")
}

const HEAD: &str = "@date: time";

fn check(w: &mut Fixture, agent: FormulaId, expected: &[&str]) {
    assert_eq!(table(w, agent), [&[HEAD], expected].concat().join(", "));
}

fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let host = w.host;
    w.mount("cap");
    w.as_agent(host, store(string("five"), "five"));
    let fae = w.guest("fae");
    (w, host, fae)
}

#[test]
fn request_lists_its_entries() {
    let (mut w, host, fae) = world();
    w.ask(fae, request("@host", "a number", None));
    let sent = [
        "@description: \"a number\"",
        "@from: handle",
        "@message: message",
        "@promise: promise",
        "@response: promise",
        "@to: handle",
        "@type: \"request\"",
    ];
    check(&mut w, fae, &sent);
    let mut received = sent.to_vec();
    received.insert(4, "@resolver: resolver");
    check(&mut w, host, &received);
}

#[test]
fn package_lists_its_entries() {
    let (mut w, host, fae) = world();
    w.as_agent(host, send("fae", &[("data", "five"), ("tool", "cap")]));
    let common =
        ["@from: handle", "@message: message", "@strings: copyArray", "@to: handle", "@type: \"package\""];
    check(&mut w, fae, &[&common[..], &["data: marshal", "tool: grant"]].concat());
    check(&mut w, host, &[&common[..], &["data: marshal", "tool: mount"]].concat());
}

#[test]
fn definition_lists_its_entries() {
    let (mut w, host, fae) = world();
    w.ask(fae, define(code("1 + x", &[("x", Pattern::number())]), None));
    let sent = [
        "@definition: definition",
        "@from: handle",
        "@message: message",
        "@promise: promise",
        "@response: promise",
        "@slots: copyRecord",
        "@source: \"1 + x\"",
        "@to: handle",
        "@type: \"definition\"",
    ];
    check(&mut w, fae, &sent);
    let mut received = sent.to_vec();
    received.insert(4, "@resolver: resolver");
    check(&mut w, host, &received);
    let number = w.last(host).number;
    let PathTarget::Data(slots) = w.found(host, &format!("@mail/{number}/@slots")).unwrap() else {
        panic!("data")
    };
    let slot = slots.get("x").unwrap();
    assert_eq!(slot.get("label").and_then(Value::as_str), Some("what it is for"));
    assert_eq!(slot.get("pattern"), Some(&Pattern::number().to_value()));
}

#[test]
fn eval_request_lists_its_entries() {
    let (mut w, host, fae) = world();
    let (names, paths) = (vec!["me".to_owned()], vec![path("@agent")]);
    w.ask(fae, mail(MailAct::RequestEvaluation { source: text("me"), names, paths, result_name: None }));
    let common = ["@from: handle", "@message: message", "@promise: promise"];
    let rest = ["@response: promise", "@source: \"me\"", "@to: handle", "@type: \"eval-request\""];
    check(&mut w, fae, &[&common[..], &rest[..], &["me: guest"]].concat());
    // The recipient reads the code, and reaches none of the objects that it names.
    let first = &rest[..1];
    check(&mut w, host, &[&common[..], &["@resolver: resolver"], first, &rest[1..]].concat());
}

#[test]
fn form_and_value_list_their_entries() {
    let (mut w, host, fae) = world();
    w.ask(fae, mail(MailAct::Form(form("@host", vec![field("n", Pattern::number())]))));
    let sent = [
        "@description: \"please\"",
        "@fields: copyArray",
        "@from: handle",
        "@message: message",
        "@promise: promise",
        "@response: promise",
        "@to: handle",
        "@type: \"form\"",
    ];
    check(&mut w, fae, &sent);
    let mut received = sent.to_vec();
    received.insert(5, "@resolver: resolver");
    check(&mut w, host, &received);
    let values = BTreeMap::from([("n".to_owned(), FieldValue::Value { value: Value::number(1.0) })]);
    let number = w.last(host).number;
    w.as_agent(host, mail(MailAct::Submit { number, values }));
    let value = [
        "@from: handle",
        "@message: message",
        "@reply: number of a message",
        "@to: handle",
        "@type: \"value\"",
        "@value: marshal",
    ];
    check(&mut w, fae, &value);
    check(&mut w, host, &value);
}

#[test]
fn capability_value_lists_its_entries() {
    let (mut w, host, fae) = world();
    w.as_agent(fae, send("@host", &[]));
    let number = w.last(host).number;
    w.as_agent(host, mail(MailAct::SendValue { number, path: path("cap") }));
    let head = ["@from: handle", "@message: message", "@reply: number of a message", "@to: handle"];
    check(&mut w, fae, &[&head[..], &["@type: \"value\"", "@value: grant"]].concat());
    check(&mut w, host, &[&head[..], &["@type: \"value\"", "@value: mount"]].concat());
}

#[test]
fn approval_lists_its_entries() {
    let (mut w, host, _) = world();
    let run = w.start();
    w.propose(run, "out", "write", Decision::Ask);
    let own = [
        "@from: handle",
        "@message: message",
        "@reply: number of a message",
        "@run: \"r2\"",
        "@to: handle",
        "@type: \"approval\"",
    ];
    check(&mut w, host, &own);
    let number = w.last(host).number;
    w.answer(number, Choice::Approve { for_run: false });
    // The person's own commands are messages too.
    let said =
        ["@description: \"answer\"", "@from: handle", "@message: message", "@reply: number of a message"];
    check(&mut w, host, &[&said[..], &["@to: handle", "@type: \"command\""]].concat());
    let first = "@mail/0";
    let names = w.list(host, first);
    assert!(names.contains(&"@value".to_owned()), "what a command made: {names:?}");
    let made = w.id(host, "@mail/0/@value");
    assert_eq!(w.formula(made).kind(), "run");
}

#[test]
fn release_lists_its_entries() {
    let (mut w, host, fae) = world();
    w.ask(fae, define(code("d", &[("d", Pattern::remotable("dir"))]), None));
    let number = w.last(host).number.0;
    let (eval, _) = w.parked(host, endow(number, &[("d", "cap")], ResultGoesTo::GuestData));
    let kernel::formula::Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    w.evaluated(eval, Value::remotable(endowments["d"]));
    // It answers the program that came to it.
    let own = [
        "@from: handle",
        "@message: message",
        "@promise: promise",
        "@reply: number of a message",
        "@to: handle",
    ];
    check(&mut w, host, &[&own[..], &["@type: \"approval\"", "@value: marshal"]].concat());
}

#[test]
fn unknown_entry_of_a_message_is_refused() {
    let (mut w, host, fae) = world();
    w.ask(fae, request("@host", "a number", None));
    let number = w.last(host).number;
    for name in ["@source", "@slots", "@value", "@strings", "@result", "five", "0"] {
        let found = w.found(host, &format!("@mail/{number}/{name}"));
        assert_eq!(found.unwrap_err().to_string(), format!("Unknown pet name: {name:?}"));
    }
    // A mailbox that was handed over shows its owner's view, as grants, until the grant is revoked.
    w.as_agent(host, send("fae", &[("box", "@mail")]));
    let letter = w.last(fae).number;
    let shared = format!("@mail/{letter}/box/{number}/@description");
    assert_eq!(w.found(fae, &shared), Ok(PathTarget::Data(string("a number"))));
    w.as_agent(
        fae,
        Act::Name(kernel::command::NameAct::Copy {
            from: path(&format!("@mail/{letter}/box/{number}/@from")),
            to: path("from"),
        }),
    );
    let from = w.id(fae, "from");
    assert_eq!(w.formula(from).kind(), "grant");
    let box_grant = w.id(fae, &format!("@mail/{letter}/box"));
    let given = kernel::table::grant(&mut w.store, &box_grant).unwrap().unwrap().number;
    w.revoke(given.0);
    assert!(w.found(fae, &shared).is_err());
    assert_eq!(w.behind(from), Err("grant/revoked".to_owned()));
}
