//! Every row of the table says what it must, and no two say the same.

use std::collections::BTreeSet;

use resource::{Attenuation, Begins, KINDS, Kind, Resource, ResourceSpec, Row, describe, describe_spec};

use crate::parse;

#[test]
fn kinds_and_rows_name_each_other() {
    let labels: BTreeSet<&str> = KINDS.iter().map(|row| row.label).collect();
    assert_eq!(labels.len(), KINDS.len());
    for row in KINDS {
        assert_eq!(row.kind.row().label, row.label);
        assert_eq!(Kind::of(row.label), Some(row.kind));
        assert_eq!(row.kind.to_string(), row.label);
        assert_eq!(Row::of(row.label).map(|found| found.kind), Some(row.kind));
        assert!(!row.noun.is_empty());
        assert!(row.kind == Kind::Mcp || !row.methods.is_empty(), "{}", row.label);
        assert_eq!(row.is_typed(), row.begins != Begins::Never);
        assert_eq!(row.is_typed(), row.lets.is_empty());
        assert_eq!(row.is_typed(), !row.example.is_empty() && !row.grammar.is_empty());
    }
    assert_eq!(Kind::of("directory"), None);
}

#[test]
fn examples_are_typed_as_their_kind() {
    for row in KINDS.iter().filter(|row| row.is_typed()) {
        for example in [row.example.to_owned(), row.example_from_root()] {
            let spec = parse(&example).unwrap_or_else(|error| panic!("{example}: {error}"));
            // A spool is a directory that is typed like others.
            let fits = spec.kind() == row.kind || row.kind == Kind::Outbox;
            assert!(fits, "{}: {example} is {}", row.label, spec.kind());
            assert_eq!(parse(&spec.typed()), Ok(spec));
        }
        assert!(row.option("x").starts_with("-e x="));
    }
}

#[test]
fn keys_of_the_table_are_the_keys_that_are_read() {
    let unknown = |text: &str| parse(text).is_err_and(|error| error.message.contains("are known"));
    for row in KINDS.iter().filter(|row| row.is_typed() && row.kind != Kind::Worker) {
        let begin = row.example.split('?').next().unwrap_or_default();
        for key in row.keys {
            let key = key.replace("NAME", "X");
            let text = if key.ends_with('=') { format!("{begin}?{key}x") } else { format!("{begin}?{key}") };
            assert!(!unknown(&text), "{text}");
        }
        if !row.keys.is_empty() {
            assert!(unknown(&format!("{begin}?colour=red")), "{begin}");
        }
    }
}

#[test]
fn what_only_reads_is_taken_for_reading_and_not_for_writing() {
    let dir = |read_only| Resource::Directory { path: "/d".into(), read_only }.kind();
    let (reads, writes) = (Kind::Dir { write: false }, Kind::Dir { write: true });
    assert!(reads.takes(dir(true)) && reads.takes(dir(false)));
    assert!(writes.takes(dir(false)) && !writes.takes(dir(true)));
    assert!(!Kind::Outbox.takes(dir(false)) && Kind::Clock.takes(Resource::Clock.kind()));
    assert!(Kind::Worker.takes(Kind::Model) && !Kind::Model.takes(Kind::Worker));
}

/// Checks that a typed resource and the grant of it are described in the same words.
#[test]
fn sentence_of_text_and_of_grant_are_one() {
    let methods = |kind: Kind| kind.methods().iter().map(|method| (*method).to_owned()).collect();
    let check = |text: &str, kind: Kind, resource: &Resource, expected: &str| {
        let spec = parse(text).unwrap();
        assert_eq!(describe_spec(&spec, Some(kind)), expected);
        assert_eq!(describe(resource, &spec.attenuation(), &methods(kind)), expected);
        let back = ResourceSpec::of(resource, kind, &spec.attenuation(), &methods(kind)).unwrap();
        assert_eq!(parse(&back.typed()), Ok(spec), "{}", back.typed());
    };
    let dir = Resource::Directory { path: "/d".into(), read_only: false };
    let all = "; only .md; at most 1024 bytes each; private; at most 2048 bytes in all; 1 call in 1 s";
    let keys = "?suffix=.md&max=1KiB&total=2KiB&rate=1/s&private";
    let (reads, writes) = (Kind::Dir { write: false }, Kind::Dir { write: true });
    check(&format!("/d{keys}"), reads, &dir, &format!("directory /d{all}"));
    check(&format!("/d:rw{keys}"), writes, &dir, &format!("directory /d (rw){all}"));
    check("/d:stage", writes, &dir, "staged copy of directory /d; changes are staged");
    check(
        "/d?max=3&rate=2/h",
        Kind::Outbox,
        &Resource::Outbox { path: "/d".into() },
        "mail spool /d; at most 3 bytes each; 2 calls in 1 h",
    );
    check("clock", Kind::Clock, &Resource::Clock, "the clock");
    let ResourceSpec::Web(web) = parse("https://h/p?methods=POST&key=K").unwrap() else { panic!() };
    check(
        "https://h/p?methods=POST&key=K&max=5&rate=1/min",
        Kind::Http,
        &Resource::Web(web.web),
        "https://h/p (POST, with the secret K); at most 5 bytes each; 1 call in 1 min",
    );
    let ResourceSpec::Secret(secret) = parse("secret:github?env=T&for=gh").unwrap() else { panic!() };
    check(
        "secret:github?env=T&for=gh",
        Kind::Secret,
        &Resource::Secret(secret),
        "the secret github, as T, for gh",
    );
}

#[test]
fn described_text_has_every_limit_that_was_typed() {
    for (text, expected) in [
        ("/d?methods=list,read", "directory /d; only the methods list, read"),
        (
            "git:/w:rw?author=A <a@b>&methods=log&private",
            "repository /w (rw), as A <a@b>; private; only the methods log",
        ),
        ("model:m?tokens=5&usd=0.5&key=K", "model m, with the secret K, at most 5 tokens, at most $0.50"),
        (
            "mcp:s[a,b:reads]?max=1&time=5s&rate=1/s",
            "tools a, b of the server s, at most 5s a call; at most 1 bytes each; 1 call in 1 s",
        ),
        (
            "program:a?dir=/w:rw&net=yes&exec=yes&time=5s&memory=1MiB&max=9",
            "program a in /w (rw), with network, starting others, at most 5s a call, at most 1MiB of memory; at most 9 bytes each",
        ),
        ("/x/a.worker", "worker file /x/a.worker"),
        ("self", "this worker again"),
    ] {
        assert_eq!(describe_spec(&parse(text).unwrap(), None), expected);
    }
}

#[test]
fn nothing_is_typed_for_what_a_run_does_with_its_person() {
    for (resource, word) in [
        (Resource::Questions, "questions to you, in your inbox"),
        (Resource::Alarm, "waiting for a time"),
        (Resource::Mail, "mail to you, in your inbox"),
    ] {
        let none = (Attenuation::default(), BTreeSet::new());
        assert_eq!(describe(&resource, &none.0, &none.1), word);
        assert_eq!(ResourceSpec::of(&resource, resource.kind(), &none.0, &none.1), None);
    }
}
