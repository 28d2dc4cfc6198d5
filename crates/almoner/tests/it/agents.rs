//! Agents, names and mail with the real binary: a guest proposes, a person completes it later.

use crate::terminal::{CTRL_C, CTRL_D, Terminal};
use crate::test_home::{Said, TestHome};

/// A worker that keeps a note, proposed by a guest.
pub(crate) const NOTE: &str = "---\ndescription: Keeps a note.\nslots:\n  out: { is: dir rw, label: Where the note is kept }\n---\nWrite the note.\n";
/// Writes one note and ends.
pub(crate) const WRITES: &str = r#"[{"turns": [
    {"calls": [{"name": "out_write", "arguments": {"path": "a.md", "content": "kept\n"}}]},
    {"text": "written"}]}]"#;

/// Returns a home with a guest `fae`.
fn with_fae() -> TestHome {
    let home = TestHome::new();
    home.write("note.worker", NOTE);
    home.write("script.json", WRITES);
    home.almoner(&["mkguest", "fae"]).expect(0);
    home
}

/// Returns a command as `fae`.
fn fae(home: &TestHome, args: &[&str]) -> Said {
    home.almoner(&[&["--as", "fae"], args].concat())
}

/// Returns the newest message of this type in the host's mailbox, or in `fae`'s.
#[track_caller]
pub(crate) fn newest(home: &TestHome, agent: Option<&str>, kind: &str) -> String {
    let all = ["inbox", "--all", "--json"];
    let letters = match agent {
        Some(agent) => home.almoner(&[&["--as", agent][..], &all].concat()),
        None => home.almoner(&all),
    };
    let letters = letters.expect(0).json();
    let mut of_kind = letters.as_array().unwrap().iter().rev();
    let found = of_kind.find(|l| l["mail"]["envelope"]["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {letters:#}"))["number"].to_string()
}

#[test]
fn worker_defined_by_a_guest_runs_after_a_restart() {
    let home = with_fae();
    fae(&home, &["define", "note.worker", "--result", "note"]).expect(0);
    let open = fae(&home, &["show", "note"]).expect(7);
    assert!(open.err.contains("`note` is still open"), "{}", open.err);
    home.almoner(&["stop"]).expect(0);

    let number = newest(&home, None, "definition");
    let letter = home.almoner(&["inbox", &number]).expect(0);
    for part in [
        "definition from fae",
        "proposes a worker",
        "│ Write the note.",
        "slot out: a directory",
        "│ Where the note is kept",
    ] {
        assert!(letter.out.contains(part), "{part} in\n{}", letter.out);
    }
    assert!(letter.err.contains(&format!("`almoner endow {number} out=NAME`")), "{}", letter.err);

    // No person is there to be asked about `out`.
    let needs = home.almoner(&["endow", &number, "-m", "scripted:script.json"]).expect(7);
    assert!(needs.out.contains("out: a directory") && needs.err.contains("still needs: out"), "{needs:?}");
    let json = home.almoner(&["endow", &number, "--json"]).expect(7).json();
    assert_eq!(json["needs"][0]["name"], "out");

    let endow =
        ["endow", &number, "-e", "out=notes:rw", "--allow", "out.write", "-m", "scripted:script.json"];
    assert_eq!(home.almoner(&endow).expect(0).out, "written\n");
    assert_eq!(home.read("notes/a.md"), "kept\n");
    assert_eq!(fae(&home, &["show", "note"]).expect(0).out, "\"written\"\n");
    assert_eq!(fae(&home, &["show", "note", "--wait", "--json"]).expect(0).json()["value"], "written");
}

#[test]
fn names_are_stored_moved_and_removed() {
    let home = TestHome::new();
    home.write("letter.txt", "Dear\u{1b}[2K\n");
    home.almoner(&["store", "n:=3", "t=text", "b=@letter.txt"]).expect(0);
    home.piped(&["store", "p=-"], b"piped").expect(0);
    let check = |args: &[&str], out: &str| assert_eq!(home.almoner(args).expect(0).out, out, "{args:?}");
    check(&["show", "n"], "3\n");
    check(&["show", "t"], "\"text\"\n");
    check(&["cat", "t"], "text");
    check(&["cat", "b"], "Dear\u{1b}[2K\n");
    check(&["cat", "p"], "piped");
    home.almoner(&["mkdir", "d"]).expect(0);
    home.almoner(&["move", "n", "d/n"]).expect(0);
    home.almoner(&["copy", "d/n", "m"]).expect(0);
    check(&["list", "d"], "n\n");
    home.almoner(&["remove", "d/n"]).expect(0);
    home.almoner(&["show", "d/n"]).expect(4);
    let rows = home.almoner(&["list", "-l", "--json"]).expect(0).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "m").unwrap();
    home.almoner(&["name", row["id"].as_str().unwrap(), "again"]).expect(0);
    check(&["show", "again"], "3\n");
    assert!(
        home.almoner(&["list", "-l"])
            .expect(0)
            .out
            .lines()
            .any(|l| l.starts_with("m ") && l.contains("a value"))
    );
    // An identifier is not authority.
    home.almoner(&["mkguest", "fae"]).expect(0);
    fae(&home, &["name", row["id"].as_str().unwrap(), "mine"]).expect(5);
    // Why it is kept.
    let why = home.almoner(&["why", "again", "--kept"]).expect(0).out;
    assert!(why.contains("└ "), "{why}");
    home.almoner(&["why", row["id"].as_str().unwrap()]).expect(0);
    home.almoner(&["why", "no-such-thing"]).expect(4);
    home.almoner(&["cat", "m"]).expect(6);
}

#[test]
fn mount_requires_an_existing_directory() {
    let home = TestHome::new();
    home.write("file", "no directory");
    for (path, says) in
        [("gone", "No such file"), ("file", "it is no directory"), ("file/in", "Not a directory")]
    {
        let said = home.almoner(&["mount", path, "dir"]).expect(4);
        assert!(said.err.contains(says) && said.err.contains("check the path"), "{path}: {said:?}");
    }
    home.almoner(&["show", "dir"]).expect(4);
    std::fs::create_dir(home.path("gone")).unwrap();
    home.almoner(&["mount", "gone", "dir"]).expect(0);
}

#[test]
fn mail_with_references_is_delivered_in_both_directions() {
    let home = with_fae();
    home.almoner(&["store", "report=all is well"]).expect(0);
    home.almoner(&["send", "fae", "Here is @report:paper for you.", "See a@b.example"]).expect(0);
    let number = newest(&home, Some("fae"), "package");
    let letter = fae(&home, &["inbox", &number]).expect(0).out;
    assert!(letter.contains("from @host to @self"), "{letter}");
    assert!(letter.contains("│ Here is @paper for you. See a@b.example"), "{letter}");
    fae(&home, &["adopt", &number, "paper", "mine"]).expect(0);
    assert_eq!(fae(&home, &["cat", "mine"]).expect(0).out, "all is well");
    fae(&home, &["adopt", &number, "nothing"]).expect(4);
    fae(&home, &["reply", &number, "Thank\u{1b}]0;you"]).expect(0);
    let inbox = home.almoner(&["inbox", "--all"]).expect(0).out;
    assert!(inbox.contains("Thank\\u{1B}]0;you") && !inbox.contains('\u{1b}'), "{inbox}");
    fae(&home, &["dismiss", &number]).expect(0);
    fae(&home, &["dismiss", "--all"]).expect(0);
    fae(&home, &["adopt", &number, "paper"]).expect(4);
    home.almoner(&["send", "nobody", "hello"]).expect(4);
}

#[test]
fn request_is_answered_or_refused_once() {
    let home = with_fae();
    fae(&home, &["request", "@host", "a colour", "--result", "colour"]).expect(0);
    let number = newest(&home, None, "request");
    home.almoner(&["submit", &number]).expect(8);
    home.almoner(&["store", "red=red"]).expect(0);
    home.almoner(&["resolve", &number, "no-such-name"]).expect(4);
    home.almoner(&["resolve", &number, "red"]).expect(0);
    let late = home.almoner(&["reject", &number]);
    assert_eq!(late.code, 8, "{late:?}");
    assert_eq!(fae(&home, &["show", "colour"]).expect(0).out, "\"red\"\n");
    // The same request again attaches to the answered one.
    assert_eq!(
        fae(&home, &["request", "@host", "a colour", "--result", "colour", "--wait"]).expect(0).out,
        "\"red\"\n"
    );

    fae(&home, &["request", "@host", "a horse", "--result", "horse"]).expect(0);
    let number = newest(&home, None, "request");
    home.almoner(&["deny", &number, "-r", "no horses"]).expect(0);
    let refused = fae(&home, &["show", "horse"]).expect(1);
    assert!(refused.err.contains("no horses"), "{}", refused.err);
}

/// Returns a form of three fields from `fae`; its number in the host's mailbox.
fn with_form() -> (TestHome, String) {
    let home = with_fae();
    home.almoner(&["store", "report=all is well"]).expect(0);
    let form = [
        "form",
        "@host",
        "Settings, please",
        "retries:1..5=How often?",
        "mode:fast|slow",
        "key:secret=The key",
        "--result",
        "settings",
    ];
    fae(&home, &form).expect(0);
    let number = newest(&home, None, "form");
    (home, number)
}

#[test]
fn form_is_submitted_from_the_command_line() {
    let (home, number) = with_form();
    let letter = home.almoner(&["inbox", &number]).expect(0).out;
    for part in ["form from fae", "│ Settings, please", "field retries:", "│ How often?", "it is sealed"]
    {
        assert!(letter.contains(part), "{part} in\n{letter}");
    }
    let needs = home.almoner(&["submit", &number, "mode=fast"]).expect(7);
    assert!(needs.out.contains("retries:") && needs.err.contains("still needs: retries, key"), "{needs:?}");
    let json = home.almoner(&["submit", &number, "--json"]).expect(7).json();
    assert_eq!(json["needs"].as_array().unwrap().len(), 3);
    let submit = |retries: &str, more: &str| {
        let all = ["submit", &number, retries, "mode=fast", "key=hunter2", more];
        home.almoner(&all[..if more.is_empty() { 5 } else { 6 }])
    };
    let bad = submit("retries=9", "").expect(6);
    assert!(bad.err.contains("retries"), "{}", bad.err);
    submit("retries=3", "more=1").expect(6);
    submit("retries:=3", "").expect(0);
    let settings = fae(&home, &["show", "settings"]).expect(0).out;
    assert!(settings.contains("\"retries\": 3") && !settings.contains("hunter2"), "{settings}");
    let second = submit("retries=3", "");
    assert_eq!(second.code, 8, "{second:?}");
    // The transcript holds the typed command, but not the secret.
    let transcript = home.almoner(&["inbox", "--all"]).expect(0).out;
    assert!(transcript.contains("mode=fast") && !transcript.contains("hunter2"), "{transcript}");
}

#[test]
fn terminal_prompts_for_each_form_field() {
    let (home, number) = with_form();
    let mut terminal = Terminal::open(&home, &["submit", &number]);
    terminal.shows("retries: ", 2);
    terminal.press("9\n");
    terminal.shows("at most 5", 1);
    terminal.press("3\n");
    terminal.shows("\nmode: ", 1);
    terminal.press("?\n");
    terminal.shows("fast  slow", 1);
    terminal.press("slow\n");
    terminal.shows("key (not shown): ", 1);
    terminal.press("hunterx\u{7f}2\n");
    terminal.shows(&format!("Type `submit {number}`"), 1);
    terminal.press("y\n");
    terminal.shows(&format!("Type `submit {number}`"), 2);
    terminal.press(&format!("submit {number}\n"));
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("hunter"), "{screen}");
    let settings = fae(&home, &["show", "settings"]).expect(0).out;
    assert!(settings.contains("\"retries\": 3") && settings.contains("\"slow\""), "{settings}");
}

#[test]
fn aborted_form_sends_nothing() {
    let (home, number) = with_form();
    for (keys, code) in [(CTRL_D, 7), (CTRL_C, 130)] {
        let mut terminal = Terminal::open(&home, &["submit", &number, "mode=fast", "retries=3"]);
        terminal.shows("key (not shown): ", 1);
        terminal.press(keys);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, code, "{screen}");
        assert!(screen.contains("nothing was sent"), "{screen}");
    }
    fae(&home, &["show", "settings"]).expect(7);
}

#[test]
fn terminal_endow_requires_the_whole_command() {
    let home = with_fae();
    fae(&home, &["define", "note.worker", "--result", "note"]).expect(0);
    let number = newest(&home, None, "definition");
    let endow = ["endow", &number, "--allow", "out.write", "-m", "scripted:script.json"];
    let mut terminal = Terminal::open(&home, &endow);
    terminal.shows("│ Write the note.", 1);
    terminal.shows("? lists names", 1);
    terminal.press("fa?\n");
    terminal.shows("\n  fae", 1);
    terminal.press("no-such-name\n");
    terminal.shows("? lists names", 3);
    terminal.press("./notes:rw\n");
    terminal.shows("notes (rw)", 1);
    terminal.press("yes\n");
    terminal.shows(&format!("Type `endow {number}`"), 2);
    assert!(!home.path("notes/a.md").exists());
    terminal.press(&format!("endow {number}\n"));
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(home.read("notes/a.md"), "kept\n");
    assert_eq!(fae(&home, &["show", "note"]).expect(0).out, "\"written\"\n");
}

#[test]
fn tab_completes_a_name() {
    let home = with_fae();
    fae(&home, &["form", "@host", "Which?", "whom:M.remotable('address')", "--result", "whom"]).expect(0);
    let number = newest(&home, None, "form");
    home.almoner(&["mkguest", "zebedee"]).expect(0);
    let mut terminal = Terminal::of(&home, &["submit", &number], "xterm");
    terminal.shows("whom: ", 2);
    terminal.press("zeb\t\r");
    terminal.shows("Type `submit", 1);
    terminal.press(&format!("submit {number}\r"));
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    fae(&home, &["show", "whom"]).expect(0);
}

#[test]
fn grant_is_listed_and_revoked() {
    let home = with_fae();
    home.almoner(&["mkguest", "bob"]).expect(0);
    home.almoner(&["send", "fae", "write to @bob"]).expect(0);
    let number = newest(&home, Some("fae"), "package");
    fae(&home, &["adopt", &number, "bob"]).expect(0);
    fae(&home, &["send", "bob", "hello"]).expect(0);
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert!(grants.contains("a mail address"), "{grants}");
    let first = grants.split_whitespace().next().unwrap();
    home.almoner(&["revoke", first]).expect(0);
    assert!(home.almoner(&["grants"]).expect(0).out.contains("revoked"));
    home.almoner(&["stop"]).expect(0);
    fae(&home, &["send", "bob", "hello again"]).expect(5);
    home.almoner(&["revoke", "g999"]).expect(4);
    home.almoner(&["revoke", "no-such-name"]).expect(4);
}

#[test]
fn share_token_works_once_and_is_not_recorded() {
    let home = with_fae();
    home.almoner(&["store", "report=all is well"]).expect(0);
    let token = home.almoner(&["share", "report"]).expect(0).out.trim().to_owned();
    fae(&home, &["accept", &token, "report"]).expect(0);
    assert_eq!(fae(&home, &["cat", "report"]).expect(0).out, "all is well");
    let again = fae(&home, &["accept", &token, "twice"]);
    assert_eq!(again.code, 8, "{again:?}");
    for agent in [vec![], vec!["--as", "fae"]] {
        let transcript = home.almoner(&[&agent[..], &["inbox", "--all", "--json"]].concat()).expect(0).out;
        assert!(!transcript.contains(&token));
    }
}

#[test]
fn cancel_ends_requests_and_waiting_runs() {
    let home = with_fae();
    home.almoner(&["request", "fae", "a horse", "--result", "horse"]).expect(0);
    home.almoner(&["cancel", "horse", "-r", "no need"]).expect(0);
    home.almoner(&["show", "horse"]).expect(1);
    // That is for hosts alone.
    fae(&home, &["cancel", "@self"]).expect(5);
    // A run that waits ends, and its card with it.
    let run = ["run", "note.worker", "-e", "out=notes:rw", "-m", "scripted:script.json"];
    home.almoner(&run).expect(7);
    home.almoner(&["cancel", "last", "-r", "not today"]).expect(0);
    assert!(home.almoner(&["cancel", "r1"]).expect(0).err.contains("r1 was cancelled before"));
    let ended = home.almoner(&["resume", "r1"]);
    assert!(ended.code != 0 && ended.code != 7, "{ended:?}");
    assert!(!home.path("notes/a.md").exists());
    let runs = home.almoner(&["runs"]).expect(0).out;
    assert!(runs.contains("cancelled: not today") && !runs.contains("failed"), "{runs}");
    home.almoner(&["cancel", "r99"]).expect(4);
    home.almoner(&["cancel", "no-such-name"]).expect(4);
}

#[test]
fn proposed_code_is_edited_endowed_and_run() {
    let home = with_fae();
    home.write("sum.js", "a + b\n");
    home.write("more.js", "a + b + 1\n");
    fae(
        &home,
        &["define", "sum.js", "--slot", "a:number=The first", "--slot", "b:number", "--result", "sum"],
    )
    .expect(0);
    let number = newest(&home, None, "definition");
    let letter = home.almoner(&["inbox", &number]).expect(0).out;
    assert!(letter.contains("proposes code (1 line") && letter.contains("│ The first"), "{letter}");
    home.almoner(&["edit", &number, "more.js"]).expect(0);
    let edited = newest(&home, None, "definition");
    assert_ne!(number, edited);
    let letter = home.almoner(&["inbox", &edited]).expect(0).out;
    assert!(letter.contains("│ a + b + 1") && letter.contains("│ The first"), "{letter}");
    home.almoner(&["edit", &edited, "more.js", "--slot", "a:number=Another", "--slot", "b:number"]).expect(0);
    let edited = newest(&home, None, "definition");
    let letter = home.almoner(&["inbox", &edited]).expect(0).out;
    assert!(letter.contains("│ Another") && !letter.contains("│ The first"), "{letter}");
    home.almoner(&["store", "x:=1", "y:=2"]).expect(0);
    let endowed = home.almoner(&["endow", &edited, "a=x", "b=y"]).expect(0);
    assert!(endowed.err.contains("code runs"), "{}", endowed.err);
    assert_eq!(fae(&home, &["show", "sum", "--wait"]).expect(0).out.trim(), "4");

    home.almoner(&["send", "fae", "@x"]).expect(0);
    let package = newest(&home, Some("fae"), "package");
    fae(&home, &["adopt", &package, "x"]).expect(0);
    fae(&home, &["request-evaluation", "x + 1", "x", "--result", "more"]).expect(0);
    let number = newest(&home, None, "eval-request");
    let letter = home.almoner(&["inbox", &number]).expect(0);
    assert!(
        letter.out.contains("asks to run code") && letter.out.contains("uses x:\n      │ "),
        "{}",
        letter.out
    );
    home.almoner(&["approve", &number, "--only", "1"]).expect(2);
    home.almoner(&["approve", &number]).expect(0);
    assert_eq!(fae(&home, &["show", "more", "--wait"]).expect(0).out.trim(), "2");
}

#[test]
fn inbox_follow_shows_new_mail() {
    let home = with_fae();
    let mut follower = home.command(&["--as", "fae", "inbox", "--follow", "--all"]).spawn().unwrap();
    let out = follower.stdout.take().unwrap();
    home.almoner(&["send", "fae", "first"]).expect(0);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(out));
    let mut next = |text: &str| lines.by_ref().map(Result::unwrap).any(|line| line.contains(text));
    assert!(next("first"));
    home.almoner(&["send", "fae", "second"]).expect(0);
    assert!(next("second"));
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn invalid_commands_exit_with_the_right_code() {
    let home = with_fae();
    let check = |args: &[&str], code: i32| {
        let said = home.almoner(args);
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        assert!(said.err.contains("help:") || code == 2, "{args:?}: {}", said.err);
    };
    check(&["--as", "nobody", "list"], 4);
    check(&["--as", "fae", "run", "note.worker", "-m", "scripted:script.json"], 5);
    check(&["--as", "fae", "stop"], 2);
    check(&["show", "no-such-name"], 4);
    check(&["show", "a@b"], 2);
    check(&["list", "fae/x"], 4);
    check(&["store", "justtext"], 2);
    check(&["store", "@self=1"], 2);
    check(&["name", "nonsense", "x"], 2);
    check(&["inbox", "999"], 4);
    check(&["inbox", "x"], 2);
    check(&["endow", "999"], 4);
    check(&["form", "@host", "d", "x:M.nope()"], 6);
    check(&["define", "no-such.worker"], 4);
    check(&["define", "note.worker", "--slot", "a:string"], 2);
    check(&["approve", &newest(&home, None, "command")], 4);
}
