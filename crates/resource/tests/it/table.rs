//! Every row of the table is complete, and no two rows have the same name.

use std::collections::BTreeSet;

use resource::mcp::{
    DEFAULT_CALL_TIMEOUT_MS, DEFAULT_START_TIMEOUT_MS, ServerTransport, ToolDefinition, ToolServer,
};
use resource::repository::Repository;
use resource::web::{Place, Web};
use resource::{
    Attenuation, KINDS, Kind, Limit, Rate, Resource, ResourceSpec, Row, TextStart, describe, describe_spec,
};

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
        assert!(!row.noun.is_empty() && !row.verb.is_empty(), "{}", row.label);
        assert!(row.kind == Kind::Mcp || !row.methods.is_empty(), "{}", row.label);
        assert_eq!(row.is_typed(), row.start != TextStart::Never);
        assert_eq!(row.is_typed(), row.permission_phrase.is_empty());
        assert_eq!(row.is_typed(), !row.example.is_empty() && !row.grammar.is_empty());
    }
    assert_eq!(Kind::of("directory"), None);
}

#[test]
fn row_examples_parse_as_their_kind() {
    for row in KINDS.iter().filter(|row| row.is_typed()) {
        for example in [row.example.to_owned(), row.example_from_root()] {
            let spec = parse(&example).unwrap_or_else(|error| panic!("{example}: {error}"));
            // A spool is a directory that is typed like others.
            let fits = spec.kind() == row.kind || row.kind == Kind::Outbox;
            assert!(fits, "{}: {example} is {}", row.label, spec.kind());
            assert_eq!(parse(&spec.typed()), Ok(spec));
        }
        assert!(row.example_option("x").starts_with("-e x="));
    }
}

#[test]
fn parsers_read_exactly_the_keys_of_the_table() {
    let unknown = |text: &str| parse(text).is_err_and(|error| error.message.contains("are known"));
    for row in KINDS.iter().filter(|row| row.is_typed()) {
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
fn rows_have_the_key_of_each_limit_and_no_other() {
    for row in KINDS.iter().filter(|row| row.is_typed()) {
        for (limit, key) in [
            (Limit::Suffixes, "suffix="),
            (Limit::Max, "max="),
            (Limit::Total, "total="),
            (Limit::Rate, "rate="),
            (Limit::Private, "private"),
        ] {
            assert_eq!(row.limits.contains(&limit), row.keys.contains(&key), "{}: {key}", row.label);
        }
    }
}

#[test]
fn path_with_a_key_unknown_to_its_slot_is_refused() {
    let (reads, writes) = (Kind::Dir { write: false }, Kind::Dir { write: true });
    for (text, kind, wrong) in [
        ("/d?suffix=.md&max=1&methods=list&rate=1/s&private", reads, None),
        ("/d:rw?suffix=.md&max=1&total=2&methods=list&rate=1/s&private", writes, None),
        ("/d:stage?total=2", writes, None),
        ("/d?total=2", reads, Some("`total=` has no effect on a directory that is only read")),
        ("/d?max=1&methods=send&rate=1/s", Kind::Outbox, None),
        ("/d?suffix=.md", Kind::Outbox, Some("`suffix=` has no effect on an outbox")),
        ("/d?total=2", Kind::Outbox, Some("`total=` has no effect on an outbox")),
        ("/d?private", Kind::Outbox, Some("`private` has no effect on an outbox")),
        ("/d:stage", Kind::Outbox, Some("`:stage` is for a directory, and this is an outbox")),
        ("/j.worker?suffix=.md&max=1&total=2&methods=call&rate=1/s", Kind::Worker, None),
        ("/j.worker?private", Kind::Worker, Some("`private` has no effect on a worker")),
        ("/j.worker:stage", Kind::Worker, Some("`:stage` is for a directory, and this is a worker")),
        ("clock", Kind::Clock, None),
    ] {
        let refused = parse(text).unwrap().check(kind).err();
        assert_eq!(refused.as_ref().map(|error| error.message.as_str()), wrong, "{text}");
        assert!(refused.is_none_or(|error| error.help.contains(kind.row().grammar)), "{text}");
    }
}

fn part_of_the_web(methods: &[&str]) -> Web {
    Web {
        places: vec![Place::parse("https://h/p").unwrap()],
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
        secret: None,
        idempotency: None,
        address: None,
    }
}

fn server(tools: &[&str]) -> Resource {
    let tool = |name: &&str| {
        let input = serde_json::json!({ "type": "object" });
        let name = (*name).to_owned();
        ToolDefinition { name, title: None, description: None, input, output: None, hints: None }
            .pin(resource::mcp::ToolClass::Sends)
    };
    let line = ServerTransport::Web(Box::new(part_of_the_web(&["POST"])));
    let tools = tools.iter().map(tool).collect();
    Resource::Mcp(Box::new(ToolServer {
        name: "s".to_owned(),
        line,
        tools,
        call_ms: DEFAULT_CALL_TIMEOUT_MS,
        start_ms: DEFAULT_START_TIMEOUT_MS,
        headers: Default::default(),
        query: String::new(),
    }))
}

#[test]
fn narrowed_grant_is_typed_no_wider_or_names_its_limit() {
    let none = Attenuation::default;
    let rate = || Attenuation { rate: Some(Rate { calls: 1, per_ms: 1_000 }), ..none() };
    let suffix = |suffix: &str| Attenuation { suffixes: [suffix.to_owned()].into(), ..none() };
    let total = Attenuation { total_bytes: Some(2), ..none() };
    let (dir, web) = (Resource::directory("/d"), Resource::Web(part_of_the_web(&["GET", "POST"])));
    let spool = Resource::Outbox { path: "/d".to_owned() };
    let repository = Resource::Repository(Repository { path: "/r".to_owned(), write: true, author: None });
    let (reads, git) = (Kind::Dir { write: false }, Kind::Git { write: false });
    let reading = ["status", "log", "diff", "show", "blame", "branches"];
    let check =
        |resource: &Resource, kind: Kind, grant: (&Attenuation, &[&str]), typed: &str, lost: &[&str]| {
            let (taken, methods) = grant;
            let methods: BTreeSet<String> = methods.iter().map(|method| (*method).to_owned()).collect();
            let spec = ResourceSpec::from_grant(resource, kind, taken, &methods).unwrap();
            assert_eq!(spec.typed(), typed, "{kind}");
            assert_eq!(spec.missing_limits(kind, taken, &methods), lost, "{kind}: {typed}");
        };
    let tools = server(&["list", "delete"]);
    check(&tools, Kind::Mcp, (&none(), &["list", "delete"]), "mcp:s[list,delete]", &[]);
    check(&tools, Kind::Mcp, (&rate(), &["list"]), "mcp:s[list]?rate=1/s", &[]);
    check(&tools, Kind::Mcp, (&none(), &[]), "mcp:s[]", &["no method"]);
    let whole = "https://h/p?methods=GET,POST";
    check(&web, Kind::Http, (&rate(), &["get", "send"]), &format!("{whole}&rate=1/s"), &[]);
    check(&web, Kind::Http, (&none(), &["get"]), "https://h/p", &[]);
    check(&web, Kind::Http, (&none(), &["send"]), whole, &["only the methods send"]);
    check(&repository, git, (&none(), &reading), "git:/r", &[]);
    check(&repository, git, (&rate(), &["log"]), "git:/r?methods=log", &["1 call in 1 s"]);
    check(&Resource::Clock, Kind::Clock, (&rate(), &["now", "today"]), "clock", &["1 call in 1 s"]);
    check(&Resource::Clock, Kind::Clock, (&none(), &["now"]), "clock", &["only the methods now"]);
    check(&dir, reads, (&total, &["list", "read"]), "/d?methods=list,read", &[]);
    check(&dir, reads, (&suffix("/"), &["list"]), "/d?suffix=/&methods=list", &["only /"]);
    check(&dir, reads, (&none(), &[]), "/d", &["no method"]);
    check(&spool, Kind::Outbox, (&suffix(".md"), &["send"]), "/d?suffix=.md", &["only .md"]);
}

#[test]
fn read_only_directory_fills_only_reading_slots() {
    let dir = |read_only| Resource::Directory { path: "/d".into(), read_only }.kind();
    let (reads, writes) = (Kind::Dir { write: false }, Kind::Dir { write: true });
    assert!(reads.takes(dir(true)) && reads.takes(dir(false)));
    assert!(writes.takes(dir(false)) && !writes.takes(dir(true)));
    assert!(!Kind::Outbox.takes(dir(false)) && Kind::Clock.takes(Resource::Clock.kind()));
    assert!(Kind::Worker.takes(Kind::Model) && !Kind::Model.takes(Kind::Worker));
}

/// Checks that a typed resource and the grant of it are described in the same words.
#[test]
fn typed_text_and_grant_have_the_same_description() {
    let check = |text: &str, kind: Kind, resource: &Resource, expected: &str| {
        let spec = parse(text).unwrap();
        assert_eq!(describe_spec(&spec, Some(kind)), expected);
        let (taken, methods) = (spec.attenuation(), resource.methods(kind));
        assert_eq!(describe(resource, &taken, &methods), expected);
        let back = ResourceSpec::from_grant(resource, kind, &taken, &methods).unwrap();
        assert!(back.missing_limits(kind, &taken, &methods).is_empty(), "{text}");
        assert_eq!(parse(&back.typed()), Ok(spec), "{}", back.typed());
    };
    let dir = Resource::Directory { path: "/d".into(), read_only: false };
    let (reads, writes) = (Kind::Dir { write: false }, Kind::Dir { write: true });
    check(
        "/d?suffix=.md&max=1KiB&rate=1/s&private",
        reads,
        &dir,
        "directory /d; only .md; at most 1024 bytes each; private; 1 call in 1 s",
    );
    check(
        "/d:rw?suffix=.md&max=1KiB&total=2KiB&rate=1/s&private",
        writes,
        &dir,
        "directory /d (rw); only .md; at most 1024 bytes each; private; at most 2048 bytes in all; 1 call in 1 s",
    );
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
fn description_has_every_typed_limit() {
    for (text, expected) in [
        ("/d?methods=list,read", "directory /d; only the methods list, read"),
        (
            "git:/w:rw?author=A <a@b>&methods=log&private",
            "repository /w (rw), as A <a@b>; private; only the methods log",
        ),
        ("model:m?tokens=5&usd=0.5&key=K", "model m, with the secret K, at most 5 tokens, at most $0.50"),
        (
            "mcp:s[a,b:reads]?max=1&time=5s&rate=1/s",
            "tools a (sends), b (reads) of the server s, at most 5s a call; at most 1 bytes each; 1 call in 1 s",
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
fn user_facing_resources_have_no_typed_form() {
    for (resource, word) in [
        (Resource::Questions, "questions to you, in your inbox"),
        (Resource::Alarm, "waiting for a time"),
        (Resource::Mail, "mail to you, in your inbox"),
    ] {
        let none = (Attenuation::default(), BTreeSet::new());
        assert_eq!(describe(&resource, &none.0, &none.1), word);
        assert_eq!(ResourceSpec::from_grant(&resource, resource.kind(), &none.0, &none.1), None);
    }
}
