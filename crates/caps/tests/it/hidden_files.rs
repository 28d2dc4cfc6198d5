//! Files that a call must not reveal: those with keys, before a person has said yes, and those that the grant does not
//! cover.

use std::fs;
use std::os::unix::fs::FileExt as _;

use kernel::proposal::{Decision, Finding, Value};
use kernel::run::Completion;
use policy::{Context, Facts, Rules, RunBudget, Subject};

use crate::bench::{Bench, outcome, step, texts};

/// Returns all that a run learns from a call that no person approves, and whether a person is asked. The run learns the
/// findings of the facts, or the outcome if no gate asks or denies.
fn learned(bench: &Bench, method: &str, args: &[&str]) -> (String, bool) {
    let args = texts(args);
    let capability = bench.open();
    let facts = capability.facts(method, &args);
    let begun = bench.begun(step(9), method, &args, facts.pins.clone(), false);
    let interface = capability.interface();
    let names = vec![bench.root().to_str().unwrap().to_owned()];
    let mut grant = bench.grant.clone();
    grant.allow = grant.methods.clone();
    let verdict = policy::judge(&Context {
        proposal: begun.proposal(),
        grant: &grant,
        interface,
        subject: &Subject { kind: "dir".to_owned(), names },
        worker: "note",
        facts: &facts,
        now_ms: 0,
        written: &[],
        spent: &RunBudget::default(),
        rules: &Rules::default(),
    });
    match verdict.decision {
        Decision::Allow => (format!("{:?}", capability.perform(&begun)), false),
        Decision::Ask => (String::new(), true),
        Decision::Deny => (format!("{:?}", verdict.findings), false),
    }
}

fn problems(facts: &Facts) -> Vec<&str> {
    facts.problems.iter().map(|finding| finding.rule.as_str()).collect()
}

const KEYS: &str = "USER=ada\nKEY=hunter2\nKEY=hunter3\n";

#[test]
fn edit_shows_no_line_of_a_file_of_keys_without_a_question() {
    let bench = Bench::dir().with(&[(".env", KEYS), ("sub/.ssh/config", KEYS)]);
    for path in [".env", "sub/.ssh/config"] {
        for (old, new) in [("key=hunter2", "x"), ("KEY=", "x"), ("KEY=hunter2\n", "x"), ("none", "x")] {
            assert_eq!(learned(&bench, "edit", &[path, old, new]), (String::new(), true), "{path} {old}");
        }
        // Once a person has said yes, the run learns that the text is missing, and no line.
        let (facts, completion) = bench.call("edit", &[path, "key=hunter2", "x"]);
        assert!(facts.problems.is_empty() && !facts.pins.is_empty(), "{facts:?}");
        assert_eq!(outcome(&completion), Err("edit/not-found".to_owned()));
        assert!(!format!("{completion:?}").contains("KEY=hunter"), "{completion:?}");
        // A text that cannot be an edit needs no look at the file.
        assert!(learned(&bench, "edit", &[path, "", "x"]).0.contains("edit/empty"), "{path}");
        assert_eq!(bench.text(path), KEYS);
    }
    // A limit on the size does not turn the question into an answer.
    let limited = Bench::dir().with(&[(".env", KEYS)]).attenuated(&[], Some(100));
    for old in ["KEY=hunter2", "none"] {
        assert_eq!(
            learned(&limited, "edit", &[".env", old, &"x".repeat(200)]),
            (String::new(), true),
            "{old}"
        );
    }
    // An approved edit of such a file is made.
    let (_, completion) = bench.call("edit", &[".env", "KEY=hunter2", "KEY=new"]);
    assert!(outcome(&completion).is_ok(), "{completion:?}");
    assert!(bench.text(".env").contains("KEY=new\nKEY=hunter3"));
}

#[test]
fn edit_shows_lines_only_where_read_shows_them_at_once() {
    type Change = fn(&mut Bench);
    let changes: [(Change, bool); 5] = [
        (|_| {}, true),
        (|bench| bench.grant.methods = ["*".to_owned()].into(), true),
        (|bench| bench.grant.methods.retain(|method| method != "read"), false),
        (|bench| bench.grant.ask = ["read".to_owned()].into(), false),
        (|bench| bench.grant.attenuation.private = true, false),
    ];
    for (at, (change, is_shown)) in changes.into_iter().enumerate() {
        let mut bench = Bench::dir().with(&[("a.md", "one\nthe Second line\nthe third\n")]);
        change(&mut bench);
        for (old, words) in [("the second line", &["line 2", "Second"][..]), ("the", &["lines 2, 3"])] {
            let facts = bench.open().facts("edit", &texts(&["a.md", old, "x"]));
            assert!(problems(&facts)[0].starts_with("edit/"), "{facts:?}");
            for words in words {
                let shown = facts.problems[0].message.contains(words);
                assert_eq!(shown, is_shown, "{at} {words}: {}", facts.problems[0].message);
            }
        }
    }
}

#[test]
fn search_that_begins_among_keys_asks_a_person() {
    let bench = Bench::dir()
        .with(&[(".ssh/id_rsa", "hunter2"), (".ssh/config", "hunter2"), ("a.md", "hunter2")])
        .with(&[("sub/.aws/credentials", "hunter2")])
        .linked(&[("harmless", ".ssh"), ("sub/way", "../.ssh"), ("name", ".ssh/id_rsa")]);
    for (method, args) in [
        ("glob", &[".ssh/*"][..]),
        ("glob", &["./.ssh/*"]),
        ("glob", &["harmless/*"]),
        ("glob", &["sub/way/**"]),
        ("glob", &["sub/.aws/*"]),
        ("grep", &["hunter", ".ssh"]),
        ("grep", &["hunter", "harmless"]),
        ("grep", &["hunter", "sub/way"]),
        ("grep", &["hunter", "name"]),
        ("list", &[".ssh"]),
        ("list", &["harmless"]),
        ("read", &["harmless/config"]),
    ] {
        assert_eq!(learned(&bench, method, args), (String::new(), true), "{method} {args:?}");
    }
    for (method, args) in [("glob", &["**/*"][..]), ("grep", &["hunter"]), ("grep", &["hunter", "sub"])] {
        let (found, is_asked) = learned(&bench, method, args);
        assert!(!is_asked && !found.contains("id_rsa") && !found.contains("credentials"), "{found}");
    }
    // The pattern of a directory whose name begins with a dot keeps its dot.
    let dotted = Bench::dir().with(&[(".config/a.md", "x")]);
    let facts = dotted.open().facts("glob", &[Value::from(".config/*")]);
    assert_eq!(facts.paths[0].path, ".config");
}

#[test]
fn search_names_no_file_in_a_directory_of_keys() {
    let bench = Bench::dir().with(&[(".ssh/id_rsa", "hit"), ("sub/.aws/known", "hit"), ("a.md", "hit")]);
    for args in [&["hit"][..], &["hit", "sub"], &["none"]] {
        let (found, is_asked) = learned(&bench, "grep", args);
        assert!(!is_asked && !found.contains("id_rsa") && !found.contains("known"), "{args:?}: {found}");
        assert!(found.contains("not looked into"), "{args:?}: {found}");
    }
}

/// A private key of nobody.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hgr5ZQ0Jm3V1nYt8zq0Lw3Jm9o0v0c1cA2xq9qW5x\n-----END PRIVATE KEY-----\n";

#[test]
fn search_tells_of_a_key_the_same_whether_a_line_matches() {
    let log = format!("hello\n{PEM}");
    let bench = Bench::dir().with(&[("notes.txt", log.as_str()), ("sub/a.md", "nothing")]);
    let answer = |pattern: &str, more: &[&str]| {
        let args = [&[pattern][..], more].concat();
        learned(&bench, "grep", &args)
    };
    let (found, is_asked) = answer("MC4C", &[]);
    assert!(!is_asked && found.contains("text in it looks like a key"), "{found}");
    for pattern in ["MC4D", "hello", "IJ1hgr5[A-Z]Q", "IJ1hgr5[a-z]Q", "PRIVATE"] {
        assert_eq!(answer(pattern, &[]).0, found, "{pattern}");
    }
    // A search in another directory tells nothing of the key.
    assert!(!answer("MC4C", &["sub"]).0.contains("looks like a key"));
}

#[test]
fn certificate_is_read_unasked_and_a_key_beside_it_asks() {
    let certificate = PEM.replace("PRIVATE KEY", "CERTIFICATE");
    let both = format!("{certificate}{PEM}");
    let bench = Bench::dir()
        .with(&[("ca.pem", certificate.as_str()), ("server.pem", both.as_str())])
        .with(&[("privkey.pem", certificate.as_str())])
        .linked(&[("link", "ca.pem")]);
    for (method, args, is_asked) in [
        ("read", &["ca.pem"][..], false),
        ("read", &["link"], false),
        ("stat", &["ca.pem"], false),
        ("grep", &["MC4", "ca.pem"], false),
        ("read", &["server.pem"], true),
        ("grep", &["MC4", "server.pem"], true),
        ("read", &["privkey.pem"], true),
        ("write", &["ca.pem", "x"], true),
    ] {
        assert_eq!(learned(&bench, method, args).1, is_asked, "{method} {args:?}");
    }
}

#[test]
fn key_far_before_a_read_range_asks() {
    let bench = Bench::dir();
    let path = bench.root().join("big.log");
    let headers = "X-Note: of a person, since 2001\n".repeat(10_000);
    let key = PEM.replacen("-----\n", &format!("-----\n{headers}\n"), 1);
    fs::write(&path, "").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    // The file is larger than what is searched as a whole, and most of it takes no room.
    file.set_len(80 << 20).unwrap();
    let start = 70_u64 << 20;
    file.write_all_at(key.as_bytes(), start).unwrap();
    let capability = bench.open();
    for (offset, has_key) in [(start + key.len() as u64 - 90, true), (start, true), (1 << 20, false)] {
        let args = [
            Value::from("big.log"),
            Value::Undefined,
            Value::Undefined,
            Value::number(offset as f64),
            Value::number(60.0),
        ];
        let facts = capability.facts("read", &args);
        assert_eq!(!facts.keys.is_empty(), has_key, "{offset}");
    }
}

#[test]
fn hints_name_nothing_that_is_hidden() {
    let bench = || {
        let files = [(".ssh/Id_rsa", ""), ("Server.PEM", ""), ("Notes.txt", ""), ("Docs/Plan.md", "x")];
        let links = [("Far.md", "Server.PEM"), ("Near.md", "Notes.txt")];
        Bench::dir().with(&files).with(&[("Open.md", "x")]).linked(&links)
    };
    let suffixes = || bench().attenuated(&[".md", ".pem"], None);
    for (make, method, args, hidden) in [
        (&bench as &dyn Fn() -> Bench, "read", &[".ssh/id_rsa"][..], "Id_rsa"),
        (&bench, "read", &[".SSH/id_rsa"], ".ssh"),
        (&bench, "stat", &["server.pem"], "Server"),
        (&bench, "read", &["far.md"], "Far"),
        (&bench, "write", &["server.pem", "x"], "Server"),
        (&bench, "write", &[".ssh/id_rsa", "x"], "Id_rsa"),
        (&bench, "move", &["Open.md", "server.pem"], "Server"),
        (&bench, "glob", &[".SSH/*"], "`.ssh"),
        (&bench, "glob", &["server.pem"], "Server"),
        (&bench, "read", &["out/Server.PEM"], "without its name"),
        (&bench, "read", &["out/.ssh/Id_rsa"], "without its name"),
        (&suffixes, "read", &["notes.txt"], "Notes"),
        (&suffixes, "read", &["near.md"], "Near"),
        (&suffixes, "write", &["notes.txt", "x"], "Notes"),
        (&suffixes, "read", &["out/Notes.txt"], "without its name"),
        (&suffixes, "glob", &["notes.*"], "Notes"),
    ] {
        let (found, _) = learned(&make(), method, args);
        assert!(!found.contains(hidden), "{method} {args:?}: {found}");
    }
    // The others are named as before.
    for make in [&bench as &dyn Fn() -> Bench, &suffixes] {
        assert!(learned(&make(), "read", &["open.md"]).0.contains("Open.md"));
        assert!(learned(&make(), "list", &["docs"]).0.contains("Docs"));
        assert!(learned(&make(), "read", &["out/Docs/Plan.md"]).0.contains("without its name"));
    }
}

#[test]
fn answer_is_the_same_whether_an_uncovered_file_exists() {
    let bench = |is_there: bool| {
        let bench = Bench::dir().with(&[("a.md", "one")]).attenuated(&[".md"], None);
        let bench = bench.linked(&[("link.md", "secret.txt"), ("link.txt", "secret.txt")]);
        if is_there { bench.with(&[("secret.txt", "two")]) } else { bench }
    };
    for (method, args) in [
        ("read", &["secret.txt"][..]),
        ("read", &["link.md"]),
        ("read", &["link.txt"]),
        ("read", &["secret.txt/a.md"]),
        ("read", &["secret.txt", "1"]),
        ("read", &["SECRET.txt"]),
        ("read", &["out/secret.txt"]),
        ("stat", &["secret.txt"]),
        ("stat", &["link.md"]),
        ("stat", &["secret.txt/a"]),
        ("list", &["secret.txt"]),
        ("list", &["link.md"]),
        ("list", &["secret.txt/sub"]),
        ("glob", &["secret.txt/*"]),
        ("glob", &["secret.*"]),
        ("grep", &["two", "secret.txt"]),
        ("grep", &["two", "link.md"]),
        ("grep", &["two", "secret.txt/sub"]),
        ("write", &["secret.txt", "two"]),
        ("write", &["Secret.txt", "two"]),
        ("append", &["secret.txt", "x"]),
        ("edit", &["secret.txt", "two", "x"]),
        ("edit", &["secret.txt/a.md", "two", "x"]),
        ("move", &["secret.txt", "b.md"]),
        ("move", &["a.md", "secret.txt"]),
        ("move", &["secret.txt/a.md", "b.md"]),
        ("remove", &["secret.txt"]),
        ("remove", &["secret.txt/a.md"]),
    ] {
        let answer = |is_there| {
            let bench = bench(is_there);
            let (facts, completion) = bench.call(method, args);
            let findings: Vec<Finding> = match completion {
                Completion::Refused(findings) => findings,
                Completion::Failed(finding) => vec![finding],
                Completion::Done { value, .. } => return (facts.line, format!("{value:?}")),
            };
            assert!(method == "list" || problems(&facts) == rules(&findings), "{method} {args:?}");
            (facts.line.clone(), format!("{:?} {findings:?}", facts.problems))
        };
        let (there, gone) = (answer(true), answer(false));
        assert_eq!(there, gone, "{method} {args:?}");
        assert!(!there.1.contains("two"), "{there:?}");
    }
}

fn rules(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule.as_str()).collect()
}

#[test]
fn refused_call_names_the_look_alike_once() {
    let bench = Bench::dir().with(&[("README.md", "x")]);
    for (method, args) in [("edit", &["readme.md", "x", "y"][..]), ("remove", &["readme.md"])] {
        let (_, completion) = bench.call(method, args);
        let Completion::Refused(findings) = completion else { panic!("{method}: {completion:?}") };
        assert_eq!(findings[0].message.matches("there is `README.md`").count(), 1, "{findings:?}");
    }
    assert!(fs::exists(bench.root().join("README.md")).unwrap());
}
