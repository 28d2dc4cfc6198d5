//! The main job from end to end, with a model that follows a script.

use std::path::{Path, PathBuf};

use crate::kill_sweep::commits;
use crate::test_home::{TRIAGE, TestHome};

/// Returns every file and directory below a directory.
fn paths_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let below: Vec<PathBuf> =
        found.iter().filter(|path| path.is_dir()).flat_map(|path| paths_below(path)).collect();
    found.extend(below);
    found.sort();
    found
}

#[test]
fn five_documents_yield_one_card_and_six_files() {
    let home = TestHome::with_inbox();
    let waiting = home.almoner(&TRIAGE).expect(7);
    assert!(waiting.err.contains("waits for you: message 1"), "{}", waiting.err);
    assert_eq!(std::fs::read_dir(home.path("out")).unwrap().count(), 0, "nothing is written before the yes");
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    for file in ["1-invoice-harbour-print.md", "5-mail-from-supplier.md", "summary.md"] {
        assert!(card.contains(file), "{file} in\n{card}");
    }
    let (card, short) = card.split_once("── in short ──").unwrap();
    assert_eq!(card.matches("changes out.write").count(), 6);
    assert_eq!(short.matches("│ path: ").count(), 6);
    home.almoner(&["approve", "1"]).expect(0);
    let over = home.almoner(&["resume", "--json"]).expect(0).json();
    assert_eq!(over["state"], "done");
    assert_eq!(over["value"]["files"].as_array().unwrap().len(), 6);
    assert!(home.read("out/2-invoice-northlight.md").contains("1052.4 EUR"));
    assert!(home.read("out/summary.md").contains("Brightwater Facilities Ltd"));
    assert_eq!(std::fs::read_dir(home.path("outbox")).unwrap().count(), 0);
}

#[test]
fn scripted_demo_reports_the_expected_counts() {
    let home = TestHome::new();
    let said = home.almoner(&["demo", "--scripted"]).expect(0);
    assert!(said.err.contains("4 of 5 succeeded"), "{}", said.err);
    assert!(said.err.contains("0 of 5 succeeded"));
    assert!(said.err.contains("30 right, 0 wrong of 30"));
    // The card of the hijacked worker is short, shows every byte of its calls, and begins with the warning.
    let (_, card) = said.err.split_once("The card that waited for you").unwrap();
    let card: Vec<&str> = card.lines().skip_while(|line| !line.starts_with("── message")).collect();
    let card: Vec<&str> = card.into_iter().take_while(|line| !line.contains("Not protected")).collect();
    assert!(card.len() <= 40, "{} lines: {card:#?}", card.len());
    assert!(card[0].contains("clerk wants to send 2 mails and write 1 file"), "{card:#?}");
    let last = card.iter().rposition(|line| line.starts_with("  ▲ ")).unwrap();
    assert!(last < 8 && card[2].contains("archive@records-backup.example stands only in"), "{card:#?}");
    assert!(!card.concat().contains("more lines)"), "{card:#?}");
    assert!(said.err.contains("Not protected"));
}

#[test]
fn why_traces_a_file_to_the_command() {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let chain = home.almoner(&["why", "out/summary.md"]).expect(0).out;
    for link in [
        "was written by an effect",
        "you approved message 1",
        "the gates said ask",
        "grant ",
        "you said: almoner run triage.worker",
    ] {
        assert!(chain.contains(link), "{link} in\n{chain}");
    }
    home.almoner(&["why", "out"]).expect(0);
    home.almoner(&["why", "no-such-thing"]).expect(4);
}

#[test]
fn dry_run_shows_the_plan_and_records_nothing() {
    let home = TestHome::with_inbox();
    home.almoner(&["runs"]).expect(0);
    let before =
        (commits(&home), paths_below(&home.work()), paths_below(&home.root().join("state/store/blobs")));
    let mut args = TRIAGE.to_vec();
    args.push("--dry-run");
    let plan = home.almoner(&args).expect(0).out;
    let after =
        (commits(&home), paths_below(&home.work()), paths_below(&home.root().join("state/store/blobs")));
    assert_eq!(before, after, "a look ahead has changed something");
    assert!(plan.contains("would run `triage`"), "{plan}");
    assert!(plan.contains("1-invoice-harbour-print.pdf"));
    assert!(plan.contains("worker extract"));
    let runs = home.almoner(&["runs"]).expect(0);
    assert!(runs.out.is_empty() && runs.err.contains("no runs yet"));
}

#[test]
fn results_go_to_stdout_and_the_rest_to_stderr() {
    let home = TestHome::new();
    home.write(
        "hello.worker",
        "---\ninput: { name: string }\noutput: { greeting: string }\n---\nGreet {{ input.name }}.\n",
    );
    home.write("script.json", r#"[{"turns": [{"json": {"greeting": "Hello, Ada"}}]}]"#);
    let run = ["run", "hello.worker", "name=Ada", "-m", "scripted:script.json"];
    let said = home.almoner(&run).expect(0);
    assert_eq!(said.json(), serde_json::json!({ "greeting": "Hello, Ada" }));
    assert!(said.err.contains("r1 `hello` asks scripted:"), "{}", said.err);
    let json = home.almoner(&[&run[..], &["--json"]].concat()).expect(0).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["run"], "r2");
    assert_eq!(json["value"]["greeting"], "Hello, Ada");
    let events = home.almoner(&[&run[..], &["--events"]].concat()).expect(0).out;
    let lines: Vec<serde_json::Value> = events.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["state"], "done");
    assert!(lines[0]["seq"].is_u64());
    let detached = home.almoner(&[&run[..], &["--detach"]].concat()).expect(0).out;
    assert_eq!(detached.trim(), "r4");
    home.almoner(&["resume", "r4"]).expect(0);
}

#[test]
fn json_is_lossless_and_escapes_hidden_characters() {
    let home = TestHome::new();
    let odd = "a\u{a0}b\u{202e}c\u{200b}d\u{9b}31m\u{7f}\u{e0041}\u{1b}[2K \\u{41} é שלום";
    home.write("odd.worker", "---\noutput: { a: string }\n---\nSay it.\n");
    home.write("script.json", serde_json::json!([{ "turns": [{ "json": { "a": odd } }] }]).to_string());
    let run = ["run", "odd.worker", "-m", "scripted:script.json"];
    let plain = |said: &str| {
        let hidden = |c: &char| *c != '\n' && passable::visible_line(&c.to_string()) != c.to_string();
        assert_eq!(said.chars().find(hidden), None, "{said:?}");
    };
    // A result has its own characters, except those that act on a terminal.
    let value = home.almoner(&run).expect(0);
    let acts = |c: char| c != '\n' && passable::is_terminal_control(c);
    assert_eq!(value.out.chars().find(|c| acts(*c)), None, "{value:?}");
    assert!(value.out.contains("a\u{a0}b") && value.out.contains("c\u{200b}d"), "{value:?}");
    assert_eq!(value.json()["a"], odd);
    let envelope = home.almoner(&[&run[..], &["--json"]].concat()).expect(0);
    plain(&envelope.out);
    assert_eq!(envelope.json()["value"]["a"], odd);
    let events = home.almoner(&[&run[..], &["--events"]].concat()).expect(0);
    plain(&events.out);
    let last: serde_json::Value = serde_json::from_str(events.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["value"]["a"], odd);
    let trace = home.almoner(&["trace", "r1", "--json"]).expect(0);
    plain(&trace.out);
    assert!(trace.json()["run"]["state"].to_string().contains("שלום"));
}

#[test]
fn ask_accepts_a_question_and_piped_text() {
    let home = TestHome::new();
    home.write(
        "script.json",
        r#"[{"worker": "ask", "contains": "the answer is in here", "turns": [{"text": "42"}]}]"#,
    );
    let said =
        home.piped(&["ask", "What is it?", "-m", "scripted:script.json"], b"the answer is in here").expect(0);
    assert_eq!(said.out, "42\n");
}

#[test]
fn help_shows_a_first_week_and_lists_all_on_request() {
    let home = TestHome::new();
    let help = home.almoner(&["--help"]).expect(0).out;
    let lists =
        |help: &str, verb: &str| help.lines().any(|line| line.split_whitespace().next() == Some(verb));
    assert!(lists(&help, "ask") && lists(&help, "doctor") && !lists(&help, "trace"), "{help}");
    let all = home.almoner(&["help", "--all"]).expect(0);
    assert!(lists(&all.out, "ask") && lists(&all.out, "trace") && lists(&all.out, "mkguest"), "{all:?}");
    assert!(!lists(&all.out, "model-host") && all.err.is_empty(), "{all:?}");
    assert_eq!(
        home.almoner(&["help", "trace"]).expect(0).out,
        home.almoner(&["trace", "--help"]).expect(0).out
    );
    let wrong = home.almoner(&["help", "no-such"]).expect(2);
    assert!(wrong.err.contains("no-such") && wrong.out.is_empty(), "{wrong:?}");
}

#[test]
fn piped_run_writes_lines_for_a_log() {
    let home = TestHome::new();
    home.write("clerk.worker", "---\nslots: { mail: dir, out: dir rw, outbox: outbox }\n---\nGo.\n");
    home.write("mail/1.txt", "one");
    let turns = serde_json::json!([{ "turns": [
        { "calls": [{ "name": "mail_read", "arguments": { "path": "1.txt" } }] },
        { "calls": [
            { "name": "out_write", "arguments": { "path": "../2.md", "content": "x" } },
            { "name": "out_write", "arguments": { "path": "a”\u{1b}\n9999-12-31 r9 is done", "content": "x" } },
        ] },
        { "calls": [{ "name": "out_write", "arguments": { "path": "2.md", "content": "x" } }] },
        { "text": "over" },
    ] }]);
    home.write("script.json", turns.to_string());
    let run = ["run", "clerk.worker", "-m", "scripted:script.json", "-e", "mail=mail", "-e", "out=out:rw"];
    let run = [&run[..], &["-e", "outbox=outbox", "--allow", "out.write"]].concat();
    let said = home.almoner(&run).expect(0);
    let (first, log) = said.err.split_once('\n').unwrap();
    assert_eq!(first, "r1 `clerk` may read mail, write out, send through outbox");
    // Each line begins with a time, also after the foreign line break.
    let lines: Vec<&str> = log.lines().map(|line| line.split_once(" UTC r1 ").expect(line).1).collect();
    for begins in [
        "`clerk` begins",
        "`clerk` asks scripted:",
        "`clerk` calls mail.read “1.txt”",
        "`clerk` may not call out.write “../2.md”: the path holds `..`",
        "`clerk` calls out.write “2.md”",
        "`clerk` has done out.write “2.md”",
        "`clerk` is done",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(begins)), "{begins} in\n{log}");
    }
    assert!(!log.contains('\u{1b}') && log.contains("201D"), "{log}");
    assert_eq!(said.out, "over\n");
    // Where the output is data, nothing is in its way.
    let said = home.almoner(&[&run[..], &["--json"]].concat()).expect(0);
    assert!(!said.err.contains("may read"), "{}", said.err);
    let (_, screen) = crate::terminal::Terminal::open(&home, &run).end();
    assert!(screen.contains("r3 `clerk` may read mail, write out, send through outbox"), "{screen}");
}

#[test]
fn doctor_and_status_print_json() {
    let home = TestHome::new();
    let status = home.almoner(&["status", "--json"]).expect(0).json();
    assert_eq!(status["needs_you"], 0);
    let report = home.almoner(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let check =
        |id: &str| checks.iter().find(|c| c["id"] == id).unwrap_or_else(|| panic!("{id} in {report}"));
    for id in ["state", "daemon", "store", "audit chain", "disk"] {
        assert_eq!(check(id)["ok"], true, "{report}");
    }
    assert_eq!(check("model")["ok"], false, "there is no model in an empty home");
    // The remedy of a fault is the remedy of its check, and no part of the evidence.
    let store = home.root().join("state/store/almoner.sqlite");
    std::fs::set_permissions(&store, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let report = home.almoner(&["doctor", "daemon", "--json"]).expect(1).json();
    let fault = report["checks"].as_array().unwrap().iter().find(|check| check["ok"] == false).unwrap();
    assert_eq!(fault["remedy"], format!("chmod 0600 {}", store.display()), "{report}");
    assert!(!fault["evidence"].as_str().unwrap().contains("chmod"), "{report}");
}

#[test]
fn worker_file_cannot_choose_the_model_provider() {
    let home = TestHome::new();
    home.write("evil.worker", "---\nmodel: \"compat:http://127.0.0.1:9/v1#m\"\n---\nSay ok.\n");
    home.write("script.json", r#"[{"turns": [{"text": "ok"}]}]"#);
    home.write("secret.txt", "secret\n");
    let script = format!("scripted:{}", home.path("script.json").display());
    let mut run = home.command(&["run", "evil.worker", "secret.txt"]);
    let said = crate::test_home::Said::of(run.env("ALMONER_MODEL", &script).output().unwrap()).expect(0);
    assert_eq!(said.out, "ok\n");
    // With no model of the person's own, it is not used either.
    home.almoner(&["run", "evil.worker", "secret.txt"]).expect(7);
}

#[test]
fn documents_of_the_same_name_are_refused() {
    let home = TestHome::new();
    home.write("w.worker", "Say ok.\n");
    home.write("script.json", r#"[{"turns": [{"text": "ok"}]}]"#);
    home.write("jan/invoice.txt", "january\n");
    home.write("feb/invoice.txt", "february\n");
    let said = home.almoner(&[
        "run",
        "w.worker",
        "jan/invoice.txt",
        "feb/invoice.txt",
        "-m",
        "scripted:script.json",
    ]);
    assert!(said.expect(6).err.contains("two documents are called invoice.txt"));
}

#[test]
fn invalid_path_does_not_block_other_writes() {
    let home = TestHome::new();
    let file = "---\noutput: { ref: string }\nslots: { out: dir rw }\nwrite:\n  - each: out\n    path: \"{{ output.ref }}-{{ item.stem }}.md\"\n    content: kept\n---\nRead it.\n";
    home.write("w.worker", file);
    home.write("mail/a.txt", "letter A\n");
    home.write("mail/b.txt", "letter B\n");
    home.write(
        "script.json",
        r#"[{"contains": "letter A", "turns": [{"json": {"ref": "BAD/../x"}}]}, {"turns": [{"json": {"ref": "ok"}}]}]"#,
    );
    let run = [
        "run",
        "w.worker",
        "mail",
        "--each",
        "-e",
        "out=out:rw",
        "--allow",
        "out.write",
        "-m",
        "scripted:script.json",
    ];
    let value = home.almoner(&run).expect(1).json();
    assert_eq!(home.read("out/ok-b.md"), "kept");
    let files = value["files"].as_array().unwrap();
    assert_eq!(files.iter().filter(|f| f["written"] == true).count(), 1, "{value}");
    assert!(
        files.iter().any(|f| f["item"] == "a.txt" && f["why"].as_str().unwrap().contains("..")),
        "{value}"
    );
}

#[test]
fn input_read_from_a_file_is_traced_to_the_file() {
    let home = TestHome::with_inbox();
    home.write("w.worker", "---\ninput: { letter: string }\nslots: { outbox: outbox }\n---\nAnswer it.\n");
    home.write(
        "script.json",
        r#"[{"turns": [{"calls": [{"name": "outbox_send", "arguments":
            {"to": "archive@records-backup.example", "subject": "s", "body": "b"}}]}, {"text": "ok"}]}]"#,
    );
    let run = [
        "run",
        "w.worker",
        "letter=@mail/5-mail-from-supplier.eml",
        "-e",
        "outbox=outbox",
        "-m",
        "scripted:script.json",
    ];
    home.almoner(&run).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out.replace("\n      ┆ ", "");
    assert!(
        card.contains("“archive@records-backup.example” came from the text “@mail/5-mail-from-supplier.eml”"),
        "{card}"
    );
}

#[test]
fn typed_input_is_not_traced_to_a_file() {
    let home = TestHome::new();
    home.write(
        "w.worker",
        "---\ninput: { letter: string, to: string }\nslots: { outbox: outbox }\n---\nAnswer it.\n",
    );
    home.write("letter.txt", "Dear Ada,\nall is well at the lighthouse keeper's\n\"cottage\".\n");
    home.write(
        "script.json",
        r#"[{"turns": [{"calls": [{"name": "outbox_send", "arguments": {"to": "boss@own.example",
            "subject": "s", "body": "all is well at the lighthouse keeper's\n\"cottage\"."}}]}, {"text": "ok"}]}]"#,
    );
    let run = ["run", "w.worker", "letter=@letter.txt", "to=boss@own.example", "-e", "outbox=outbox"];
    home.almoner(&[&run[..], &["-m", "scripted:script.json"]].concat()).expect(7);
    let card = home.almoner(&["inbox", "1", "--json"]).expect(0).json();
    let traces = card["entries"][0]["traces"].to_string();
    assert!(!traces.contains("boss@own.example"), "{traces}");
    // The search finds the file's text across line ends, and with characters that JSON escapes.
    assert!(traces.contains("cottage") && traces.contains("@letter.txt"), "{traces}");
}

#[test]
fn pattern_check_explains_errors_with_their_position() {
    let home = TestHome::new();
    let no = home.almoner(&["pattern", "check", "1..5", "7"]).expect(6).out;
    assert!(no.contains("does not match") && no.contains("expected: at most 5"), "{no}");
    home.almoner(&["pattern", "check", "{a: M.string()}", "{a: \"x\"}"]).expect(0);
    // A pattern that cannot be parsed is shown with the place of its error.
    let deep = format!("M.or({}M.strng())", "M.any(), ".repeat(200));
    for (pattern, value, said) in [
        (
            "M.arrayOf(M.strng())",
            "1",
            &[
                "the pattern cannot be read: there is no matcher M.strng",
                "pattern:1:13",
                "──┬──",
                "here",
                "did you mean M.string?",
            ][..],
        ),
        ("a|5..1", "1", &["this range is empty", "pattern:1:3", "a range looks like 1..5"]),
        (
            "{ a: ",
            "1",
            &[
                "expected data or a pattern, but the text ends",
                "pattern:1:6",
                "┬",
                "a pattern is written like",
            ],
        ),
        (
            "{\n  a: M.string(),\n  a: 1 }",
            "1",
            &["this name occurs twice", "pattern:3:3", "a pattern is written like"],
        ),
        (
            "string",
            "[1, x]",
            &["the value cannot be read: `x` is neither data", "value:1:5", "text stands in quotes: \"x\""],
        ),
        (deep.as_str(), "1", &["there is no matcher M.strng", "…", "did you mean M.string?"]),
    ] {
        let broken = home.almoner(&["pattern", "check", pattern, value]).expect(6);
        for part in said {
            assert!(broken.err.contains(part), "{part:?} in\n{}", broken.err);
        }
        assert!(broken.err.lines().all(|line| line.chars().count() < 200), "{}", broken.err);
        assert!(broken.out.is_empty(), "{}", broken.out);
    }
    let line = |specimen: &str| {
        format!(
            r##"{{"pattern": {{"body": "#{{\"#tag\":\"match:string\",\"payload\":[]}}", "slots": []}}, "specimen": {{"body": "{specimen}", "slots": []}}}}"##
        )
    };
    let input = format!("{}\n{}\nnonsense\n", line("#3"), line(r##"#\"x\""##));
    let said = home.piped(&["pattern", "check", "--ndjson"], input.as_bytes()).expect(0).out;
    let lines: Vec<serde_json::Value> = said.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(
        lines.iter().map(|l| l["matches"].as_bool().unwrap()).collect::<Vec<_>>(),
        [false, true, false]
    );
    assert_eq!(lines[1]["message"], serde_json::Value::Null);
}

#[test]
fn worker_file_is_checked_without_running() {
    let home = TestHome::with_inbox();
    let long = home.almoner(&["check", "triage.worker", "--expand"]).expect(0).out;
    assert!(long.contains(r#"class: M.or("invoice", "meeting", "contract", "mail")"#), "{long}");
    home.write("bad.worker", "---\nslot: {}\ninput:\n  a: \"\\u00fc|5..1\"\n---\nx\n");
    let said = home.almoner(&["check", "bad.worker"]).expect(6);
    for part in
        ["slot", "this range is empty", "bad.worker:4:14", "·              ────", "a range looks like 1..5"]
    {
        assert!(said.err.contains(part), "{part:?} in\n{}", said.err);
    }
}
