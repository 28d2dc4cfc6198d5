//! Form and submit: an agent asks for a record.

use std::collections::BTreeMap;

use kernel::command::{Act, FieldValue, Form, GrantAct, MailAct, Reply};
use kernel::formula::{Formula, Sealed};
use kernel::message::{Body, Field};
use kernel::table::PromiseRow;
use kernel::{FormulaId, MessageNumber, Pattern, Value};
use passable::Refinement;

use crate::agents::{field, form, mail, path, record, reject, store, string};
use crate::fixture::Fixture;

fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let host = w.host;
    w.mount("cap");
    w.as_agent(host, store(Value::number(5.0), "five"));
    let fae = w.guest("fae");
    (w, host, fae)
}

/// Posts a form of the guest's; the promise and the host's message.
fn posted(w: &mut Fixture, fae: FormulaId, form: Form) -> (FormulaId, MessageNumber) {
    let promise = w.ask(fae, mail(MailAct::Form(form)));
    let host = w.host;
    (promise, w.last(host).number)
}

fn value(value: Value) -> FieldValue {
    FieldValue::Value { value }
}

fn named(name: &str) -> FieldValue {
    FieldValue::Name { path: path(name) }
}

fn submit(number: MessageNumber, values: &[(&str, FieldValue)]) -> Act {
    let values =
        values.iter().map(|(name, filled)| ((*name).to_owned(), filled.clone())).collect::<BTreeMap<_, _>>();
    mail(MailAct::Submit { number, values })
}

fn sealed() -> FieldValue {
    let text = |text: &str| text.to_owned();
    FieldValue::Sealed {
        sealed: Sealed { method: text("xchacha20poly1305/1"), nonce: text("00"), bytes: text("ff") },
    }
}

#[test]
fn field_accepts_only_matching_values() {
    let mut with_default = field("n", Pattern::number());
    with_default.default = Some(Value::number(7.0));
    let optional = field("n", Pattern::opt(Pattern::number()));
    let number = || field("n", Pattern::number());
    let one = || value(Value::number(1.0));
    let is = |value: Value| Ok(record(&[("n", value)]));
    let fault = |text: &str| Err(text.to_owned());
    type Case = (Field, Vec<(&'static str, FieldValue)>, Result<Value, String>);
    let cases: Vec<Case> = vec![
        (number(), vec![("n", one())], is(Value::number(1.0))),
        (number(), vec![("n", named("five"))], is(Value::number(5.0))),
        (number(), vec![], fault("field \"n\" is missing")),
        (number(), vec![("n", one()), ("m", one())], fault("there is no field \"m\"")),
        (
            number(),
            vec![("n", value(string("1")))],
            fault("field \"n\": string (a string) - Must be a number"),
        ),
        (number(), vec![("n", named("cap"))], fault("field \"n\": remotable (an object) - Must be a number")),
        (number(), vec![("n", named("nothing"))], fault("Unknown pet name: \"nothing\"")),
        (number(), vec![("n", sealed())], fault("field \"n\" is not secret, and was sealed")),
        (with_default.clone(), vec![], is(Value::number(7.0))),
        (with_default, vec![("n", one())], is(Value::number(1.0))),
        (optional, vec![], is(Value::Undefined)),
        (
            field("n", Pattern::remotable("dir")),
            vec![("n", named("five"))],
            fault("field \"n\" wants a directory, not a value (number)"),
        ),
    ];
    for (field, filled, expected) in cases {
        let (mut w, host, fae) = world();
        let (promise, message) = posted(&mut w, fae, form("@host", vec![field]));
        match expected {
            Ok(record) => {
                w.as_agent(host, submit(message, &filled));
                assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: record });
            }
            Err(text) => {
                assert_eq!(w.fault(host, submit(message, &filled)), text);
                assert_eq!(w.promise(promise), PromiseRow::Pending);
            }
        }
    }
}

#[test]
fn invalid_forms_are_refused() {
    let (mut w, _, fae) = world();
    let mut check = |fields: Vec<Field>, expected: &str| {
        let fault = w.fault(fae, mail(MailAct::Form(form("@host", fields))));
        assert!(fault.contains(expected), "{fault}");
    };
    let number = || field("n", Pattern::number());
    check(vec![], "a form has 1 to 80 fields, not 0");
    check((0..81).map(|i| field(&format!("f{i}"), Pattern::any())).collect(), "not 81");
    check(vec![number(), number()], "Duplicate or empty field name \"n\"");
    check(vec![field("", Pattern::any())], "Duplicate or empty field name \"\"");
    let mut wrong = number();
    wrong.default = Some(string("x"));
    check(vec![wrong], "default of field \"n\": string (a string) - Must be a number");
    let mut secret = field("n", Pattern::string());
    secret.secret = true;
    secret.default = Some(string("x"));
    check(vec![secret], "is secret and has no default");
    let mut secret = field("n", Pattern::refine(Refinement::Secret));
    secret.default = Some(string("x"));
    check(vec![secret], "is secret and has no default");
    // A part of something cannot be sealed, and would be handed over as it was typed.
    let secret = || Pattern::refine(Refinement::Secret);
    for part in [
        Pattern::or([secret(), Pattern::number()]),
        Pattern::array_of(secret()),
        Pattern::record([("user", Pattern::string()), ("password", secret())]).unwrap(),
        Pattern::record_of(Pattern::string(), Pattern::opt(secret())),
    ] {
        check(vec![field("n", part.clone())], "field \"n\" asks for a secret as a part of something else");
        let mut marked = field("n", part);
        marked.secret = true;
        check(vec![marked], "field \"n\" asks for a secret as a part of something else");
    }
    let mut broken = number();
    broken.pattern = Value::tagged("match:or", Value::number(1.0));
    check(vec![broken], "has no pattern that could be checked");
}

#[test]
fn a_capability_by_pet_name_is_delivered_as_a_grant() {
    let (mut w, host, fae) = world();
    let (promise, message) = posted(&mut w, fae, form("@host", vec![field("d", Pattern::remotable("dir"))]));
    w.as_agent(host, submit(message, &[("d", named("cap"))]));
    let PromiseRow::Fulfilled { value } = w.promise(promise) else { panic!("a record") };
    let given = *value.get("d").unwrap().as_reference().unwrap();
    let grant = w.last_grant(host);
    assert_eq!((grant.id, grant.holder, grant.slot.as_str()), (given, fae, "d"));
    assert_eq!(grant.source, Some(message));
    assert!(w.holds(fae, given));
}

#[test]
fn capability_in_part_of_value_must_be_of_its_kind() {
    let (mut w, host, fae) = world();
    let directory = w.mount("second");
    let parts = [("dir", "dir"), ("who", "guest")].map(|(name, label)| (name, Pattern::remotable(label)));
    let of_all = Pattern::remotable("dir rw");
    let fields = vec![
        field("both", Pattern::record(parts).unwrap()),
        field("all", Pattern::array_of(Pattern::or([Pattern::number(), of_all]))),
    ];
    let (promise, message) = posted(&mut w, fae, form("@host", fields));
    let own = w.id(host, "fae");
    let filled = |dir: FormulaId, who: FormulaId, all: Vec<Value>| {
        let both = [("dir", Value::remotable(dir)), ("who", Value::remotable(who))];
        let both = Value::record(both).unwrap();
        submit(message, &[("both", value(both)), ("all", value(Value::array(all)))])
    };
    let swapped = filled(own, directory, vec![]);
    let in_array = filled(directory, own, vec![Value::number(1.0), Value::remotable(own)]);
    let fitting = filled(directory, own, vec![Value::number(1.0), Value::remotable(directory)]);
    assert_eq!(w.fault(host, swapped), "field \"both\": dir: wants a directory, not a mail address");
    assert!(w.fault(host, in_array).starts_with("field \"all\": [1]: "));
    w.as_agent(host, fitting);
    assert!(matches!(w.promise(promise), PromiseRow::Fulfilled { .. }));
}

#[test]
fn writable_directory_field_refuses_a_read_only_grant() {
    let (mut w, host, fae) = world();
    let narrower = GrantAct::Attenuate {
        is: None,
        expires_ms: None,
        force: false,
        path: path("cap"),
        methods: vec!["read".to_owned()],
        attenuation: Default::default(),
        to: path("readable"),
    };
    w.as_agent(host, Act::Grant(narrower));
    let (_, message) = posted(&mut w, fae, form("@host", vec![field("d", Pattern::remotable("dir rw"))]));
    let fault = w.fault(host, submit(message, &[("d", named("readable"))]));
    assert_eq!(fault, "field \"d\" wants a directory that may be written, not directory /cap");
    w.as_agent(host, submit(message, &[("d", named("cap"))]));
}

#[test]
fn a_secret_is_sealed_and_delivered_as_a_capability() {
    let (mut w, host, fae) = world();
    let mut key = field("key", Pattern::string());
    key.secret = true;
    let (promise, message) = posted(&mut w, fae, form("@host", vec![key]));
    let fault = w.fault(host, submit(message, &[("key", value(string("hunter2")))]));
    assert_eq!(fault, "field \"key\" is secret, and was not sealed");
    w.as_agent(host, submit(message, &[("key", sealed())]));
    let PromiseRow::Fulfilled { value } = w.promise(promise) else { panic!("a record") };
    let given = *value.get("key").unwrap().as_reference().unwrap();
    assert!(matches!(w.behind(given), Ok(Formula::Secret { .. })));
    assert_eq!(w.last_grant(host).holder, fae);
}

/// Checks that a field whose pattern is a secret is sealed, whether the form's author has marked it or not.
#[test]
fn secret_pattern_is_sealed_without_the_authors_mark() {
    let (mut w, host, fae) = world();
    let (key, spare) =
        (Pattern::refine(Refinement::Secret), Pattern::opt(Pattern::refine(Refinement::Secret)));
    let fields = vec![field("key", key), field("spare", spare)];
    let (promise, message) = posted(&mut w, fae, form("@host", fields));
    let fault = w.fault(host, submit(message, &[("key", value(string("hunter2")))]));
    assert_eq!(fault, "field \"key\" is secret, and was not sealed");
    let fault = w.fault(host, submit(message, &[("key", sealed()), ("spare", value(string("hunter2")))]));
    assert_eq!(fault, "field \"spare\" is secret, and was not sealed");
    w.as_agent(host, submit(message, &[("key", sealed())]));
    let PromiseRow::Fulfilled { value } = w.promise(promise) else { panic!("a record") };
    assert!(value.get("key").unwrap().as_reference().is_some());
    assert_eq!(value.get("spare"), Some(&Value::Undefined));
}

#[test]
fn form_is_answered_once_unless_repeatable() {
    for repeatable in [false, true] {
        let (mut w, host, fae) = world();
        let mut form = form("@host", vec![field("n", Pattern::number())]);
        form.repeatable = repeatable;
        let (promise, message) = posted(&mut w, fae, form);
        let number = |n: f64| [("n", value(Value::number(n)))];
        w.as_agent(host, submit(message, &number(1.0)));
        let first = PromiseRow::Fulfilled { value: record(&[("n", Value::number(1.0))]) };
        assert_eq!(w.promise(promise), first);
        let letters = w.letters(fae).len();
        let again = w.as_agent(host, submit(message, &number(2.0)));
        assert_eq!(w.promise(promise), first);
        assert_eq!(again == Reply::AlreadySettled, !repeatable);
        assert_eq!(w.letters(fae).len(), letters + usize::from(repeatable));
        if repeatable {
            let Body::Value { value } = w.last_body(fae) else { panic!("a value") };
            let expected = record(&[("n", Value::number(2.0))]);
            assert_eq!(w.formula(value), Formula::Marshal { value: expected });
        }
    }
}

#[test]
fn refused_form_stays_refused() {
    let (mut w, host, fae) = world();
    let (promise, message) = posted(&mut w, fae, form("@host", vec![field("n", Pattern::number())]));
    w.as_agent(host, reject(message.0, "none of your business"));
    let reason = "none of your business".to_owned();
    assert_eq!(w.promise(promise), PromiseRow::Rejected { reason });
    let answer = submit(message, &[("n", value(Value::number(1.0)))]);
    assert_eq!(w.as_agent(host, answer), Reply::AlreadySettled);
}

#[test]
fn a_form_goes_to_any_agent_and_attaches_under_its_name() {
    let (mut w, host, fae) = world();
    let call = || {
        let mut form = form("fae", vec![field("n", Pattern::number())]);
        form.result_name = Some(path("answer"));
        mail(MailAct::Form(form))
    };
    let promise = w.ask(host, call());
    let own = w.last(host).number;
    assert!(w.fault(host, submit(own, &[])).contains("only who was asked can fill it in"));
    w.apply(Act::Recover);
    assert_eq!(w.as_agent(host, call()), Reply::RequestSent { promise, number: None });
    w.as_agent(fae, submit(MessageNumber(0), &[("n", value(Value::number(1.0)))]));
    assert!(matches!(w.promise(promise), PromiseRow::Fulfilled { .. }));
    assert_eq!(w.as_agent(host, call()), Reply::RequestSent { promise, number: None });
}
