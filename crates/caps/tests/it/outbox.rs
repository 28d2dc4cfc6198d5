//! `send`: one message file for each mail, even after a crash.

use std::fs;

use caps::{Probe, Settled, settle};
use kernel::proposal::Value;
use kernel::run::Completion;
use resource::Resource;

use crate::bench::{Bench, outcome, step, texts};

const TO: &str = "office@larkfield-trust.example";

fn args(to: &str, subject: &str, body: &str, attach: &[&str]) -> Vec<Value> {
    let mut args = texts(&[to, subject, body]);
    if !attach.is_empty() {
        args.push(Value::array(texts(attach)));
    }
    args
}

fn send(bench: &Bench, at: u64, args: &[Value], again: bool) -> Completion {
    let begun = bench.begun(step(at), "send", args, Default::default(), again);
    let Settled::Completed(completion) = settle(&*bench.open(), &begun) else {
        panic!("a mail is never unknown")
    };
    completion
}

#[test]
fn a_mail_becomes_one_file_named_by_its_step() {
    let bench = Bench::outbox();
    let args = args(TO, "Chairs", "Dear all,\n\nas agreed.", &[]);
    let facts = bench.open().facts("send", &args);
    assert_eq!(facts.line, "sends a mail to office@larkfield-trust.example (27 bytes)");
    assert_eq!((facts.problems, facts.bytes), (vec![], Some(27)));
    let Completion::Done { value, .. } = send(&bench, 9, &args, false) else { panic!() };
    assert_eq!(value.get("file").and_then(|file| file.as_str()), Some("r17-9.eml"));
    assert_eq!(bench.names(), ["r17-9.eml"]);
    let text = bench.text("r17-9.eml");
    assert_eq!(value.get("bytes").and_then(|bytes| bytes.as_f64()), Some(text.len() as f64));
    assert!(text.starts_with("To: office@larkfield-trust.example\r\nSubject: Chairs\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\nDear all,\r\n\r\nas agreed.\r\n"), "{text}");
}

#[test]
fn a_mail_is_spooled_once() {
    let bench = Bench::outbox();
    let args = args(TO, "Chairs", "text", &["one", "two"]);
    let probe = |at| bench.open().probe(&bench.begun(step(at), "send", &args, Default::default(), true));
    assert_eq!(probe(9), Probe::NotDone);
    fs::write(bench.root().join(".almoner-r17-9-01010101.tmp"), "To: half a ma").unwrap();
    assert_eq!(probe(9), Probe::NotDone);
    let first = send(&bench, 9, &args, true);
    assert!(matches!(probe(9), Probe::Done { .. }));
    assert_eq!(probe(10), Probe::NotDone);
    assert_eq!(send(&bench, 9, &args, true), first);
    assert_eq!(send(&bench, 9, &args, false), first);
    send(&bench, 10, &args, false);
    assert_eq!(bench.names(), ["r17-10.eml", "r17-9.eml"]);
}

#[test]
fn mail_of_another_store_is_left_alone() {
    let bench = Bench::outbox().with(&[("r17-9.eml", "somebody else's")]);
    let args = args(TO, "Chairs", "text", &[]);
    let first = send(&bench, 9, &args, false);
    assert_eq!(send(&bench, 9, &args, true), first);
    assert_eq!(bench.names().len(), 2);
    assert_eq!(bench.text("r17-9.eml"), "somebody else's");
    // A trap under the name leads nowhere.
    let bench = Bench::outbox().linked(&[("r17-9.eml", "../outside/canary.md")]);
    let before = bench.others();
    assert!(outcome(&send(&bench, 9, &args, false)).is_ok());
    assert_eq!(bench.others(), before);
}

#[test]
fn same_numbered_runs_of_two_hosts_get_separate_mails() {
    let half = ".almoner-r17-9-01010101.tmp";
    let bench = Bench::outbox();
    let args = args(TO, "Chairs", "text", &[]);
    let first = send(&bench, 9, &args, false);
    let bench = bench.with(&[(half, "half of another")]).of_host(2);
    let second = send(&bench, 9, &args, false);
    assert_ne!(first, second, "each has a file of its own, though they say the same");
    assert_eq!(send(&bench, 9, &args, true), second);
    assert_eq!(bench.names().len(), 3);
    assert_eq!(bench.text(half), "half of another");
}

#[test]
fn misleading_or_oversized_mail_is_refused() {
    let bench = Bench::outbox();
    let many = vec!["x"; 21];
    let large = "x".repeat((1 << 20) + 1);
    let long = "x".repeat(251);
    for (args, rule) in [
        (args("a@b\r\nBcc: c@d", "s", "b", &[]), "outbox/control"),
        (args("a@b, c@d", "s", "b", &[]), "outbox/several"),
        (args("аrchive@b", "s", "b", &[]), "outbox/look-alike"),
        (args("office", "s", "b", &[]), "outbox/address"),
        (args(TO, "s\r\nBcc: c@d", "b", &[]), "outbox/subject"),
        (args(TO, "s\u{202e}", "b", &[]), "outbox/subject"),
        (args(TO, &long, "b", &[]), "outbox/subject"),
        (args(TO, "s", &large, &[]), "outbox/size"),
        (args(TO, "s", "b", &[&large]), "outbox/size"),
        (args(TO, "s", "b", &many), "outbox/attachments"),
        (texts(&[TO, "s"]), "outbox/arguments"),
        (vec![Value::from(TO), Value::from("s"), Value::from("b"), Value::from("c")], "outbox/arguments"),
        (vec![], "outbox/arguments"),
    ] {
        let facts = bench.open().facts("send", &args);
        assert_eq!(facts.problems.first().map(|finding| finding.rule.as_str()), Some(rule));
        assert!(!facts.line.contains(['\r', '\n', '\u{202e}']), "{}", facts.line);
        assert_eq!(outcome(&send(&bench, 9, &args, false)), Err(rule.into()));
    }
    assert!(bench.names().is_empty());
}

#[test]
fn grant_limits_the_size_of_a_mail() {
    let bench = Bench::outbox().attenuated(&[], Some(10));
    assert!(outcome(&send(&bench, 1, &args(TO, "12345", "12345", &[]), false)).is_ok());
    assert_eq!(
        outcome(&send(&bench, 2, &args(TO, "12345", "123456", &[]), false)),
        Err("outbox/size".into())
    );
}

#[test]
fn open_fails_if_the_path_is_no_directory() {
    use kernel::formula::Formula;
    let bench = Bench::outbox();
    for path in ["/nowhere/at/all", "/etc/hostname"] {
        let error = caps::open(&Formula::Resource(Resource::Outbox { path: path.into() }), &bench.grant)
            .err()
            .unwrap();
        assert!(
            error.to_string().starts_with(&format!("the directory `{path}` cannot be opened: ")),
            "{error}"
        );
    }
    assert!(caps::open(&Formula::LeastAuthority, &bench.grant).is_err());
}
