//! Tests of a run's trace in other forms, and of its progress on the terminal.

use crate::terminal::Terminal;
use crate::test_home::{TRIAGE, TestHome};

/// Returns the example folder, with its one card answered.
fn sorted() -> TestHome {
    let home = TestHome::with_inbox();
    home.almoner(&[&TRIAGE[..], &["--allow", "out.write"]].concat()).expect(0);
    home
}

#[test]
fn trace_shows_child_runs_below_their_step() {
    let home = sorted();
    let tree = home.almoner(&["trace", "r1", "--tree"]).expect(0).out;
    assert_eq!(home.almoner(&["trace", "last", "--tree"]).expect(0).out, tree);
    let lines: Vec<&str> = tree.lines().collect();
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    assert!(at("item 1 as r2") + 1 == at("    r2 `triage`"), "{tree}");
    assert!(at("#3 as r3") + 1 == at("        r3 `extract`"), "{tree}");
    // All of it stands there once.
    let steps = |run: &str| {
        home.almoner(&["trace", run, "--json"]).expect(0).json()["steps"].as_array().unwrap().len()
    };
    let whole: usize = (1..=11).map(|n| steps(&format!("r{n}"))).sum();
    assert_eq!(lines.iter().filter(|line| line.contains('#') && line.contains(" s ")).count(), whole);
    let raw = home.almoner(&["trace", "r1", "--raw"]).expect(0).out;
    assert_eq!(raw.lines().count(), whole);
    let first: serde_json::Value = serde_json::from_str(raw.lines().next().unwrap()).unwrap();
    assert_eq!((first["run"].as_str(), first["step"]["number"].as_u64()), (Some("r1"), Some(1)));
    let timeline = home.almoner(&["trace", "r1", "--timeline"]).expect(0).out;
    assert_eq!(
        timeline.lines().filter(|line| line.contains('█') && line.contains('│')).count(),
        10,
        "{timeline}"
    );
    assert_eq!(timeline.lines().filter(|line| line.contains("out.write")).count(), 6, "{timeline}");
    home.almoner(&["trace", "r1", "--tree", "--raw"]).expect(2);
    home.almoner(&["trace", "r99", "--timeline"]).expect(4);
}

#[test]
fn runs_are_listed_with_their_usage() {
    let home = sorted();
    let runs = home.almoner(&["runs"]).expect(0).out;
    assert!(runs.starts_with("r1     triage           done (") && runs.contains(" tokens)"), "{runs}");
}

/// Returns the rows that stand on the screen in the end.
fn final_screen(written: &str) -> Vec<String> {
    let mut rows: Vec<String> = vec![String::new()];
    let mut rest = written;
    while let Some(char) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\u{1b}[") {
            let end = after.find(|c: char| c.is_ascii_alphabetic()).unwrap();
            let (number, what) = (&after[..end], &after[end..=end]);
            match what {
                // The cursor always stands at the beginning of the last line here.
                "A" => rows.truncate(rows.len() - number.parse::<usize>().unwrap()),
                "J" => {
                    let last = rows.last_mut().unwrap();
                    last.clear();
                }
                other => panic!("{other}"),
            }
            rest = &after[end + 1..];
            continue;
        }
        match char {
            '\n' => rows.push(String::new()),
            char => rows.last_mut().unwrap().push(char),
        }
        rest = &rest[char.len_utf8()..];
    }
    rows
}

#[test]
fn terminal_redraws_one_tree_of_runs() {
    let home = TestHome::with_inbox();
    let run = [&TRIAGE[..], &["--allow", "out.write", "--json"]].concat();
    let (code, written) = Terminal::narrow(&home, &run, 60).end();
    assert_eq!(code, 0, "{written}");
    assert!(written.contains("\u{1b}[2A\u{1b}[J"), "{written:?}");
    let rows = final_screen(&written);
    let of = |run: &str| rows.iter().filter(|row| row.trim_start().starts_with(&format!("{run} `"))).count();
    // Each run has one line, and its children stand below it.
    assert!((1..=11).all(|n| of(&format!("r{n}")) == 1), "{rows:#?}");
    let at = |start: &str| rows.iter().position(|row| row.starts_with(start)).unwrap();
    assert!(at("r1 `triage`") < at("  r2 `triage`") && at("  r2 `triage`") < at("    r3 `extract`"));
    assert!(rows[at("r1 `triage`")].contains(" tokens  done"), "{rows:#?}");
    assert!(rows.iter().filter(|row| !row.starts_with('{')).all(|row| row.chars().count() < 60), "{rows:#?}");
}

#[test]
fn dumb_terminal_prints_lines_and_card_stays_below_the_tree() {
    let home = TestHome::with_inbox();
    let run = [&TRIAGE[..], &["--allow", "out.write", "--json"]].concat();
    let (code, written) = Terminal::open(&home, &run).end();
    assert_eq!(code, 0, "{written}");
    assert!(!written.contains('\u{1b}') && written.contains("r2 `triage` begins, for r1"), "{written}");
    // The card stands below the tree, and the tree is not drawn over it.
    let home = TestHome::with_inbox();
    let mut terminal = Terminal::narrow(&home, &TRIAGE, 80);
    terminal.shows("Type `approve", 1);
    let before = terminal.screen();
    assert!(before.rfind("\u{1b}[J").unwrap() < before.rfind("── message").unwrap(), "{before:?}");
    // The words of the files come from documents, so a yes names its calls. A card that was cut is shown in full first.
    terminal.press("approve 1 1-6\n");
    terminal.shows("type the same line once more", 1);
    terminal.press("approve 1 1-6\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn events_are_printed_as_typed_json_lines() {
    let home = TestHome::with_inbox();
    let run = [&TRIAGE[..], &["--allow", "out.write", "--events"]].concat();
    let said = home.almoner(&run).expect(0);
    let lines: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    assert!(events.iter().all(|line| line["version"] == 1 && line["seq"].is_u64() && line["at_ms"].is_i64()));
    for kind in ["run_started", "granted", "step", "run_finished"] {
        assert!(events.iter().any(|line| line["event"]["change"] == kind), "{kind}");
    }
    assert_eq!((last["state"].as_str(), last["batch"]["done"].as_u64()), (Some("done"), Some(5)));
}

#[test]
fn logs_are_followed_across_daemons_and_rotated_files() {
    let home = TestHome::new();
    home.almoner(&["logs"]).expect(4);
    home.almoner(&["status"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    let log = home.root().join("state/daemon.log");
    let append = |text: &str| {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&log).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    append("one\ntwo \u{1b}[2J\nthree\n");
    let said = home.almoner(&["logs", "-n", "2"]).expect(0);
    assert_eq!(said.out, "two \\u{1B}[2J\nthree\n");
    let mut terminal = Terminal::open(&home, &["logs", "-f", "-n", "1"]);
    terminal.shows("three", 1);
    append("fo");
    append("ur\n");
    terminal.shows("four", 1);
    // Somebody puts it aside, and another one begins.
    std::fs::rename(&log, home.root().join("state/daemon.log.1")).unwrap();
    append("five\n");
    terminal.shows("five", 1);
    terminal.press(crate::terminal::CTRL_C);
    terminal.end();
}

#[test]
fn check_expand_shows_a_worker_file_with_its_defaults() {
    let home = TestHome::with_inbox();
    let shown = home.almoner(&["check", "triage.worker", "--expand"]).expect(0).out;
    assert_eq!(home.almoner(&["check", "triage.worker", "--expand"]).expect(0).out, shown);
    for part in [
        "limits: { turns: 4, calls: 500, depth: 1, tokens: 200000, wall: 600000ms }",
        "# record.md.j2",
        "# list, read",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn setup_reports_available_models_and_never_shows_a_key() {
    let home = TestHome::new();
    let none = home.almoner(&["setup"]).expect(7);
    assert!(
        none.out.contains("no key in OPENAI_API_KEY") && none.out.ends_with("next: almoner models pull\n"),
        "{none:?}"
    );
    // A server that says that it is llama.cpp, and one that does not.
    let serve = |owner: &'static str| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 2048]);
                let body = format!(r#"{{"data":[{{"id":"tiny","owned_by":"{owner}"}}]}}"#);
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        port.to_string()
    };
    let with = |port: &str, key: Option<&str>, args: &[&str]| {
        let mut command = home.command(args);
        command.env("LLAMA_ARG_PORT", port);
        if let Some(key) = key {
            command.env("OPENAI_API_KEY", key);
        }
        crate::test_home::Said::of(command.output().unwrap())
    };
    assert!(!with(&serve("somebody"), None, &["setup"]).out.contains("tiny"));
    let port = serve("llamacpp");
    let found = with(&port, None, &["setup"]).expect(0);
    assert!(
        found.out.contains(&format!("compat:http://127.0.0.1:{port}/v1#tiny (llama.cpp at")),
        "{found:?}"
    );
    // Nothing is written before somebody says so.
    let settings = home.root().join("config/config.toml");
    assert!(!settings.exists());
    let said = with(&port, Some("sk-secret-of-mine"), &["setup", "--yes"]).expect(0);
    assert!(said.out.contains("the key in OPENAI_API_KEY"), "{said:?}");
    let written = std::fs::read_to_string(&settings).unwrap();
    assert!(written.contains("default = \"openai:"), "{written}");
    assert!(![&said.out, &said.err, &written].iter().any(|text| text.contains("sk-secret")));
    // A run without a model uses the one in the settings, and existing settings are left alone.
    std::fs::write(&settings, "[models]\ndefault = \"scripted:script.json\"\n").unwrap();
    assert!(with(&port, None, &["setup", "--yes"]).err.contains("is left as it is"));
    home.write("w.worker", "---\ndescription: Greets.\n---\nSay hello.\n");
    home.write("script.json", r#"[{ "turns": [{ "text": "Hello." }] }]"#);
    assert_eq!(home.almoner(&["run", "w.worker"]).expect(0).out.trim(), "Hello.");
}
