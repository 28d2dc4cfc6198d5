//! Tests of the messages to the user: that something waits, how runs ended, and that a name looks like another.

use std::time::{Duration, Instant};

use crate::agents::newest;
use crate::terminal::Terminal;
use crate::test_home::TestHome;

/// Returns a home in which a guest can ask for something.
fn with_fae() -> TestHome {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae"]).expect(0);
    home
}

fn asks(home: &TestHome) {
    home.almoner(&["--as", "fae", "request", "@host", "\u{1b}[2Ksomething"]).expect(0);
}

/// Writes settings in which this command receives the notifications.
fn notify(home: &TestHome, command: &str) {
    std::fs::create_dir_all(home.root().join("config")).unwrap();
    std::fs::write(home.root().join("config/config.toml"), format!("[notify]\ncommand = {command}\n"))
        .unwrap();
}

/// Returns a command that appends its notification to a file.
fn writes(home: &TestHome) -> String {
    let file = home.path("told");
    format!(
        r#"["sh", "-c", 'printf "%s|%s|%s|%s\n" "$1" "$2" "$3" "${{ALMONER_HOME-none}}" >> "$0"', "{}", "{{text}}", "{{number}}", "{{count}}"]"#,
        file.display()
    )
}

/// Waits until the file holds so many lines.
#[track_caller]
fn wait_for_lines(home: &TestHome, lines: usize) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(home.path("told")).unwrap_or_default();
        let found: Vec<String> = text.lines().map(str::to_owned).collect();
        if found.len() >= lines {
            assert_eq!(found.len(), lines, "{found:?}");
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{lines} lines in {found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn notify_command_runs_when_messages_wait() {
    let home = with_fae();
    // Settings are followed while the daemon runs.
    notify(&home, &writes(&home));
    std::thread::sleep(Duration::from_millis(1500));
    // Messages that arrive together are one notification.
    asks(&home);
    asks(&home);
    let first = wait_for_lines(&home, 1);
    assert_eq!(first, ["2 things wait for you: almoner inbox|2|2|none"]);
    asks(&home);
    assert_eq!(wait_for_lines(&home, 2)[1], "3 things wait for you: almoner inbox|3|3|none");
    // The daemon does not notify of an answered message. When it starts, it notifies of those that still wait.
    home.almoner(&["reject", "1", "-r", "no"]).expect(0);
    home.almoner(&["reject", "2", "-r", "no"]).expect(0);
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(wait_for_lines(&home, 2).len(), 2);
    home.almoner(&["stop"]).expect(0);
    notify(&home, &writes(&home).replace("{text}", "{text} {url}"));
    home.almoner(&["status"]).expect(0);
    // The address leads to the page, and lets nobody in: it holds no code.
    let third = wait_for_lines(&home, 3)[2].clone();
    let address =
        third.strip_prefix("You are asked for something: almoner inbox 3 http://almoner-").expect(&third);
    assert!(address.ends_with("/login#/m/3|3|1|none"), "{third}");
    // The command has written before it has ended, and only then is it known how it went.
    let begun = Instant::now();
    loop {
        let well = home.almoner(&["doctor", "daemon", "settings"]).out;
        if well.contains("✓ notify") && well.contains("✓ settings") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{well}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn notify_command_inherits_no_file_descriptors() {
    use std::process::{Command, Stdio};
    let home = with_fae();
    home.almoner(&["stop"]).expect(0);
    let file = home.path("open");
    let lists = format!("ls /proc/self/fd > {0}.new; mv {0}.new {0}", file.display());
    // The control: the descriptor is one that programs do get.
    let open = "exec 9</dev/null; ";
    let control = Command::new("sh").args(["-c", &format!("{open}{lists}")]).status().unwrap();
    let listed = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(control.success() && listed().lines().any(|line| line == "9"), "{}", listed());
    std::fs::remove_file(&file).unwrap();
    notify(&home, &format!(r#"["sh", "-c", "{lists}"]"#));
    let mut command = Command::new("sh");
    command.args(["-c", &format!(r#"{open}exec "$0" daemon --idle 120"#), env!("CARGO_BIN_EXE_almoner")]);
    command.env("ALMONER_HOME", home.root()).env("ALMONER_KEYRING", "none");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut daemon = command.spawn().unwrap();
    let begun = Instant::now();
    while !home.root().join("run/control.sock").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60) && daemon.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    asks(&home);
    while listed().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody was told");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!listed().lines().any(|line| line == "9"), "{}", listed());
    home.almoner(&["stop"]).expect(0);
    daemon.wait().unwrap();
}

#[test]
fn failing_notify_command_is_reported_and_blocks_nothing() {
    for (command, says) in [
        (r#"["no-such-program-at-all"]"#, "cannot be run"),
        (r#"["sh", "-c", "printf 'no \\033[2Kscreen'; exit 3"]"#, "exit status: 3"),
    ] {
        let home = with_fae();
        notify(&home, command);
        home.almoner(&["stop"]).expect(0);
        asks(&home);
        let begun = Instant::now();
        loop {
            let doctor = home.almoner(&["doctor", "daemon", "settings"]).out;
            if doctor.contains("✗ notify") {
                assert!(doctor.contains(says) && !doctor.contains('\u{1b}'), "{doctor}");
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{doctor}");
            std::thread::sleep(Duration::from_millis(100));
        }
        let log = std::fs::read_to_string(home.root().join("state/daemon.log")).unwrap();
        assert!(log.contains(says) && !log.contains('\u{1b}'), "{log}");
        home.almoner(&["list"]).expect(0);
    }
}

#[test]
fn slow_notify_command_ends_with_the_daemon() {
    let home = with_fae();
    let file = home.path("told");
    notify(&home, &format!(r#"["sh", "-c", "echo $$ >> {}; sleep 60; true"]"#, file.display()));
    asks(&home);
    let process = wait_for_lines(&home, 1)[0].clone();
    let there = || std::path::Path::new("/proc").join(&process).exists();
    assert!(there(), "{process}");
    // No command waits for the notification meanwhile.
    let begun = Instant::now();
    home.almoner(&["list"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    while there() {
        assert!(begun.elapsed() < Duration::from_secs(9), "{process} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn invalid_settings_are_reported_and_block_nothing() {
    let home = with_fae();
    std::fs::create_dir_all(home.root().join("config")).unwrap();
    std::fs::write(home.root().join("config/config.toml"), "[notify]\n\ncomand = []\n").unwrap();
    let doctor = home.almoner(&["doctor", "daemon", "settings"]).out;
    for part in ["✗ settings", "config.toml:3: unknown key `comand`", "did you mean `command`?"] {
        assert!(doctor.contains(part), "{part} in\n{doctor}");
    }
    std::thread::sleep(Duration::from_millis(1500));
    let log = std::fs::read_to_string(home.root().join("state/daemon.log")).unwrap();
    assert_eq!(log.matches("unknown key `comand`").count(), 1, "{log}");
    home.almoner(&["list"]).expect(0);
}

#[test]
fn terminal_commands_begin_with_the_waiting_count() {
    let home = with_fae();
    let begins = |args: &[&str], line: &str| {
        let (_, screen) = Terminal::open(&home, args).end();
        assert_eq!(
            screen.starts_with("1 thing waits for you: almoner inbox\n"),
            !line.is_empty(),
            "{args:?}\n{screen}"
        );
        assert!(line.is_empty() || screen.starts_with(line), "{args:?}\n{screen}");
    };
    begins(&["list"], "");
    asks(&home);
    let line = "1 thing waits for you: almoner inbox\n";
    begins(&["list"], line);
    begins(&["runs"], line);
    begins(&["--as", "fae", "list"], line);
    for args in [&["inbox"][..], &["inbox", "0"], &["status"], &["list", "--json"], &["--help"]] {
        begins(args, "");
    }
    // A pipe gets nothing of it.
    let piped = home.almoner(&["list"]).expect(0);
    assert!(!piped.err.contains("waits") && !piped.out.contains("waits"), "{piped:?}");
    asks(&home);
    let (_, screen) = Terminal::open(&home, &["runs"]).end();
    assert!(screen.starts_with("2 things wait for you: almoner inbox\n"), "{screen}");
    // No daemon is started for it.
    home.almoner(&["stop"]).expect(0);
    home.write("hello.worker", "---\n---\nHello.\n");
    let (_, screen) = Terminal::open(&home, &["check", "hello.worker"]).end();
    assert!(!screen.contains("wait"), "{screen}");
    assert!(!home.root().join("run/control.sock").exists());
}

#[test]
fn stats_count_outcomes_of_runs() {
    let home = TestHome::new();
    home.write("scribe.worker", "---\nslots:\n  out: dir rw\n---\nWrite it.\n");
    std::fs::create_dir(home.path("out")).unwrap();
    let write = |path: &str| {
        format!(
            r#"{{"calls": [{{"name": "out_write", "arguments": {{"path": "{path}", "content": "x"}}}}]}}"#
        )
    };
    // Refused once, and done better; then a tool that is not there, and no repair of it.
    home.write(
        "script.json",
        format!(
            r#"[{{"turns": [{}, {}, {{"calls": [{{"name": "none", "arguments": {{}}}}]}}, {{"text": "done"}}]}}]"#,
            write("../out.md"),
            write("a.md")
        ),
    );
    let run =
        ["run", "scribe.worker", "-e", "out=out:rw", "--allow", "out.write", "-m", "scripted:script.json"];
    home.almoner(&run).expect(0);
    home.almoner(&["run", "scribe.worker", "-e", "out=out:rw", "-m", "scripted:script.json"]).expect(7);
    let shown = home.almoner(&["stats"]).expect(0).out;
    for part in [
        "runs       2: 1 done, 1 waiting",
        "0 approved, 0 denied, 1 open",
        "1 of 2 turns with a refusal, 50 %",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    let json = home.almoner(&["stats", "--json"]).expect(0).json();
    assert_eq!(json["runs"]["done"], 1, "{json:#}");
    assert_eq!(json["calls"]["asked"], 1, "{json:#}");
    assert_eq!(json["repairs"]["rate"], 0.5, "{json:#}");
    home.almoner(&["approve", &newest(&home, None, "approval")]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let json = home.almoner(&["stats", "--since", "1h", "--json"]).expect(0).json();
    assert_eq!(json["approvals"]["approved"], 1, "{json:#}");
    assert!(json["approvals"]["median_ms"].is_u64(), "{json:#}");
    let wrong = home.almoner(&["stats", "--since", "yesterday"]).expect(2);
    assert!(wrong.err.contains("like 7d"), "{}", wrong.err);
}

#[test]
fn confusable_name_is_refused_unless_forced() {
    let home = TestHome::new();
    home.almoner(&["store", "counter=1", "thing=2"]).expect(0);
    let fake = "соunter";
    for args in [
        &["store", "соunter=2"][..],
        &["copy", "thing", fake],
        &["move", "thing", fake],
        &["mkdir", fake],
        &["mkguest", fake],
        &["store", "counter.=2"],
    ] {
        let said = home.almoner(args).expect(8);
        assert!(said.err.contains("looks like \"counter\""), "{}", said.err);
        // The way out is one that the command has.
        let forcible = !args[0].starts_with("mk");
        assert_eq!(said.err.contains("--force"), forcible, "{}", said.err);
    }
    let said = home.almoner(&["store", "counter\u{200b}=2"]).expect(8);
    assert!(said.err.contains("that nobody sees") && said.err.contains("--force"), "{}", said.err);
    home.almoner(&["copy", "--force", "thing", fake]).expect(0);
    home.write("text", "text");
    home.almoner(&["store", "--force", "counter\u{200b}=@text"]).expect(0);
    let (_, screen) = Terminal::open(&home, &["list"]).end();
    assert!(screen.contains("соunter  (look-alike letters: \\u{441}\\u{43e}unter)"), "{screen}");
    // A program gets names and nothing else.
    assert!(home.almoner(&["list"]).expect(0).out.lines().any(|line| line == fake));
}
