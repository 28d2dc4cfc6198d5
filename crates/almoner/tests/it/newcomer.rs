//! The first commands of a new user: words that are understood, output that can be used, and input from anywhere.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bad_input::server::{calls, says};
use crate::terminal::Terminal;
use crate::test_home::{CLERK, Said, TestHome};

const HELLO: &str = "---\ndescription: Says hello.\n---\nSay hello.\n";
const WRITE: &str =
    r#"{"calls": [{"name": "out_write", "arguments": {"path": "a.md", "content": "text\n"}}]}"#;

/// Returns a home with a worker whose model answers with this text.
fn answering(text: &str) -> TestHome {
    let home = TestHome::new();
    home.write("hello.worker", HELLO);
    home.write("hello.json", json!([{ "turns": [{ "text": text }] }]).to_string());
    home
}

const RUN: [&str; 4] = ["run", "hello.worker", "-m", "scripted:hello.json"];

/// A model's server that keeps each request byte for byte.
struct RawServer {
    model: String,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl RawServer {
    fn start(answers: Vec<Vec<u8>>) -> RawServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = format!("compat:http://{}/v1#small", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for (stream, answer) in listener.incoming().zip(answers) {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if line.trim().is_empty() {
                        break;
                    }
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                kept.lock().unwrap().push(body);
                let _ = stream.write_all(&answer);
            }
        });
        RawServer { model, bodies }
    }

    fn body(&self, number: usize) -> Vec<u8> {
        self.bodies.lock().unwrap()[number - 1].clone()
    }
}

/// Runs a line of a shell in the working directory of a home. `$A` is the program.
fn shell(home: &TestHome, line: &str) -> Said {
    let almoner = home.command(&[]);
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(home.work()).env("A", almoner.get_program());
    for (name, value) in almoner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Said::of(command.stdin(Stdio::null()).output().unwrap())
}

/// Numbers that jump for no reason of the user: learning-unlimited/ESP-Website#2631, e-gob/SIMPLE#113.
#[test]
fn own_commands_take_no_number_of_the_inbox() {
    let home = TestHome::with_clerk(WRITE);
    for card in ["1", "2", "3"] {
        let said = home.almoner(&CLERK).expect(7);
        assert!(said.err.contains(&format!("waits for you: message {card}\n")), "{}", said.err);
        // Any other command in between changes nothing of it.
        home.almoner(&["store", &format!("name{card}=1")]).expect(0);
        assert!(home.almoner(&["inbox"]).expect(0).out.contains(&format!("  {card}  approval")));
        home.almoner(&["approve", card]).expect(0);
        home.almoner(&["resume"]).expect(0);
    }
    // The commands stand between the messages, under numbers that can be typed as well.
    let all = home.almoner(&["inbox", "--all"]).expect(0).out;
    for line in [
        "   0  command",
        "   1  approval",
        " 1.1  command",
        " 1.2  command",
        "   2  approval",
        "   3  approval",
    ] {
        assert!(all.contains(line), "{line} in\n{all}");
    }
    assert!(home.almoner(&["inbox", "1.2"]).expect(0).out.contains("approve 1"));
    let said = home.almoner(&["why", "1.2"]).expect(0).out;
    assert!(said.contains("you said: almoner approve 1"), "{said}");
    // A wrong number names what waits.
    let said = home.almoner(&["approve", "9"]).expect(4).err;
    assert!(said.contains("nothing waits for you"), "{said}");
    home.almoner(&CLERK).expect(7);
    for wrong in ["0", "9", "1.2"] {
        let said = home.almoner(&["approve", wrong]).expect(4).err;
        assert!(said.contains("message 4 waits for you: `almoner inbox 4`"), "{wrong}: {said}");
    }
}

/// Reports of results that a program spoils: diegosouzapw/OmniRoute#12186, kepano/defuddle#103.
#[test]
fn result_keeps_its_own_characters_in_pipes_and_files() {
    let text =
        "Prix\u{202f}: 12\u{a0}€, \u{1F469}\u{200D}\u{1F467}, می\u{200c}خواهم, ❤\u{fe0f}, a\u{200b}b\r\nzwei";
    let home = answering(text);
    // The last line is ended, and nothing else is added.
    assert_eq!(home.almoner(&RUN).expect(0).out, format!("{text}\n"));
    assert_eq!(home.almoner(&[&RUN[..], &["--json"]].concat()).expect(0).json()["value"], text);
    let said = home.almoner(&["ask", "What?", "-m", "scripted:hello.json"]).expect(0);
    assert_eq!(said.out, format!("{text}\n"));
    // Characters that act on a terminal are written out, except in a file that the user names.
    let hostile = "\u{1b}[2Jred\u{9b}31m \u{202e}x\u{2066}\rback\u{7f}";
    let home = answering(hostile);
    let shown = "\\u{1B}[2Jred\\u{9B}31m \\u{202E}x\\u{2066}\\u{D}back\\u{7F}\n";
    assert_eq!(home.almoner(&RUN).expect(0).out, shown);
    assert_eq!(home.almoner(&[&RUN[..], &["--json"]].concat()).expect(0).json()["value"], hostile);
    let said = home.almoner(&[&RUN[..], &["--output", "out.txt"]].concat()).expect(0);
    assert_eq!((said.out.as_str(), home.read("out.txt").as_str()), ("", hostile));
    assert!(said.err.contains("out.txt has the result ("), "{}", said.err);
    // A finished run writes it again.
    home.almoner(&["resume", "last", "-o", "again.txt"]).expect(0);
    assert_eq!(home.read("again.txt"), hostile);
    // A file that cannot be written is known before the model is asked.
    let runs = home.almoner(&["runs"]).expect(0).out;
    let said = home.almoner(&[&RUN[..], &["-o", "no/such/dir/x"]].concat()).expect(4);
    assert!(said.err.contains("cannot write no/such/dir/x: there is no directory no/such/dir"), "{said:?}");
    home.almoner(&[&RUN[..], &["-o", "."]].concat()).expect(2);
    std::os::unix::fs::symlink("no/such/file", home.path("dangling")).unwrap();
    home.almoner(&[&RUN[..], &["-o", "dangling"]].concat()).expect(4);
    // The system lets no user make a file there.
    assert_ne!(home.almoner(&[&RUN[..], &["-o", "/proc/self/x"]].concat()).code, 0);
    assert_eq!(home.almoner(&["runs"]).expect(0).out, runs);
}

#[test]
fn terminal_shows_spaces_and_joiners_in_context() {
    let home = answering(
        "12\u{a0}€ می\u{200c}خواهم ❤\u{fe0f} \u{1F469}\u{200D}\u{1F467}; lone\u{a0}\u{a0} x\u{200d}y \u{1b}[2J",
    );
    let mut terminal = Terminal::open(&home, &RUN);
    terminal.press("");
    let (_, screen) = terminal.end();
    let shown = "12\u{a0}€ می\u{200c}خواهم ❤\u{fe0f} \u{1F469}\u{200D}\u{1F467}; lone\\u{A0}\\u{A0} x\\u{200D}y \\u{1B}[2J";
    assert!(screen.contains(shown), "{screen}");
}

/// The wish of google/adk-python#2732, pydantic/pydantic-ai#2045 and langgenius/dify#8260.
#[test]
fn trace_shows_the_bytes_that_a_model_was_sent() {
    let answers = vec![calls("out_list", "{\"path\": \".\"}"), says("done"), says("unused")];
    let server = RawServer::start(answers);
    let home = TestHome::new();
    home.write("lister.worker", "---\nslots: { out: dir }\n---\nLook.\n");
    home.write("out/a.txt", "x");
    home.write("doc.txt", "Grüße, 12\u{a0}€ \u{202e}turned\n");
    home.almoner(&["run", "lister.worker", "doc.txt", "-e", "out=out", "-m", &server.model]).expect(0);
    for (which, number) in [("1", 1), ("2", 2), ("last", 2)] {
        let said = home.almoner(&["trace", "r1", "--request", which]).expect(0);
        let sent = server.body(number);
        // A pipe gets the JSON itself, with controls of the terminal as JSON writes them.
        let read = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
        assert_eq!(read(said.out.as_bytes()), read(&sent));
        assert!(said.out.contains("12\u{a0}€") && !said.out.contains('\u{202e}'), "{}", said.out);
        assert!(said.err.contains(&format!("request {number} of 2, r1#")), "{}", said.err);
        assert!(
            said.err.contains("/v1/chat/completions") && said.err.contains("is not shown"),
            "{}",
            said.err
        );
        // A file gets every byte.
        home.almoner(&["trace", "--request", which, "-o", "sent.json"]).expect(0);
        assert_eq!(std::fs::read(home.path("sent.json")).unwrap(), sent);
        let all = home.almoner(&["trace", "last", "--request", which, "--json"]).expect(0).json();
        assert_eq!(all["body"].as_str().unwrap().as_bytes(), sent);
        assert_eq!((all["number"].as_u64(), all["is_answered"].as_bool()), (Some(number as u64), Some(true)));
    }
    for (wrong, code) in [("0", 4), ("3", 4), ("x", 2)] {
        let said = home.almoner(&["trace", "r1", "--request", wrong]).expect(code).err;
        assert!(said.contains("help: "), "{said}");
    }
    // A model in this program gets the request as it is recorded.
    let home = answering("hi");
    home.almoner(&RUN).expect(0);
    let said = home.almoner(&["trace", "--request", "last"]).expect(0);
    assert!(said.out.contains("Say hello.") && said.err.contains("as it is recorded"), "{said:?}");
}

/// Reported for earendil-works/pi#5571, openai/codex#20919, openai/codex#27019 and cline/cline#9073.
#[test]
fn ask_goes_on_without_silent_standard_input() {
    let home = answering("an answer");
    let begun = Instant::now();
    let mut child =
        home.command(&["ask", "hi", "-m", "scripted:hello.json"]).stdin(Stdio::piped()).spawn().unwrap();
    // The parent keeps the pipe open and writes nothing.
    let open = child.stdin.take();
    let said = Said::of(child.wait_with_output().unwrap()).expect(0);
    drop(open);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(said.out, "an answer\n");
    assert!(
        said.err.contains("nothing has come yet") && said.err.contains("asking without it"),
        "{}",
        said.err
    );
    // Text that comes later than the first moment is still read.
    let said = shell(&home, "(sleep 2; echo late) | $A ask hi -m scripted:hello.json").expect(0);
    assert!(said.err.contains("nothing has come yet") && !said.err.contains("without it"), "{}", said.err);
    assert!(home.trace("r2").to_string().contains("stdin"));
    // Nothing is said where nothing is waited for.
    for quiet in [
        "$A ask hi -m scripted:hello.json </dev/null",
        "echo x | $A ask hi -m scripted:hello.json",
        "$A ask hi -m scripted:hello.json <&-",
    ] {
        assert!(!shell(&home, quiet).expect(0).err.contains("standard input"), "{quiet}");
    }
}

/// Reported for pantsbuild/pants#5385 and subethaedit/SubEthaEdit#224.
#[test]
fn document_that_only_the_command_can_open_is_read() {
    let home = answering("ok");
    let document = |run: &str| {
        let attachments = home.trace(run)["run"]["input"]["attachments"].clone();
        (attachments[0]["name"].as_str().unwrap().to_owned(), attachments[0]["bytes"].as_u64().unwrap())
    };
    home.write("in/letter.txt", "hello");
    let lines: [(&str, &str, u64); 7] = [
        ("$A run hello.worker <(echo x) -m scripted:hello.json", "pipe", 2),
        ("$A run hello.worker /dev/stdin -m scripted:hello.json < in/letter.txt", "letter.txt", 5),
        ("echo abc | $A run hello.worker /dev/stdin -m scripted:hello.json", "stdin", 4),
        ("echo abc | $A run hello.worker - -m scripted:hello.json", "stdin", 4),
        ("exec 7<in/letter.txt; $A run hello.worker /proc/self/fd/7 -m scripted:hello.json", "letter.txt", 5),
        ("cd in && $A run ../hello.worker letter.txt -m scripted:../hello.json", "letter.txt", 5),
        ("HOME=$PWD $A run hello.worker '~/in/letter.txt' -m scripted:hello.json", "letter.txt", 5),
    ];
    for (i, (line, name, bytes)) in lines.into_iter().enumerate() {
        assert_eq!(shell(&home, line).expect(0).out, "ok\n", "{line}");
        let found = document(&format!("r{}", i + 1));
        assert!(found.0.starts_with(name), "{line}: {found:?}");
        assert_eq!(found.1, bytes, "{line}");
    }
    // Two pipes are two documents.
    let said = shell(&home, "$A run hello.worker <(echo one) <(echo two) -m scripted:hello.json").expect(0);
    assert_eq!(said.out, "ok\n");
}

/// Reported of other programs: IBM/ado#166, teemtee/tmt#136, valohai/valohai-cli#164, neuro-inc/apolo-cli#374.
#[test]
fn last_and_no_word_mean_the_newest_run() {
    let home = TestHome::with_clerk(WRITE);
    let staged: Vec<&str> =
        CLERK.iter().map(|word| if *word == "out=out:rw" { "out=out:stage" } else { word }).collect();
    let staged = [&staged[..], &["--allow", "out.write"]].concat();
    for (verb, forms) in [
        ("diff", &[&["diff"][..], &["diff", "last"]][..]),
        ("why", &[&["why"], &["why", "last"]]),
        ("export", &[&["export"], &["export", "last"]]),
        ("undo", &[&["undo", "--dry-run"], &["undo", "last", "--dry-run"]]),
    ] {
        home.almoner(&staged).expect(0);
        let newest = home.almoner(&["runs", "-n1", "--json"]).expect(0).json()[0]["number"].to_string();
        let run = format!("r{newest}");
        let named = [&[verb, run.as_str()][..], &forms[0][1..]].concat();
        let expected = home.almoner(&named).expect(0).out;
        for form in forms {
            assert_eq!(home.almoner(form).expect(0).out, expected, "{form:?}");
        }
        home.almoner(&["discard"]).expect(0);
    }
    home.almoner(&staged).expect(0);
    assert!(home.almoner(&["apply", "last"]).expect(0).out.contains("a.md"));
    assert_eq!(home.read("out/a.md"), "text\n");
    let said = home.almoner(&["diff", "lats"]).expect(2).err;
    assert!(said.contains("`last` is the newest"), "{said}");
}

/// Reported of other programs: mag37/dockcheck#267, getnf/getnf#18, tuttleofx/TuttleOFX#136, proffapt/gsync#4.
#[test]
fn entries_are_named_in_every_usual_way() {
    let three = r#"{"calls": [
        {"name": "out_write", "arguments": {"path": "a.md", "content": "a"}},
        {"name": "out_write", "arguments": {"path": "b.md", "content": "b"}},
        {"name": "out_write", "arguments": {"path": "c.md", "content": "c"}}]}"#;
    for (words, written) in [
        (&["--only", "1-2"][..], &["a.md", "b.md"][..]),
        (&["1-2"], &["a.md", "b.md"]),
        (&["1,3"], &["a.md", "c.md"]),
        (&["--only", "1", "--only", "3"], &["a.md", "c.md"]),
        (&["--only=2-3"], &["b.md", "c.md"]),
    ] {
        let home = TestHome::with_clerk(three);
        home.almoner(&CLERK).expect(7);
        home.almoner(&[&["approve", "1"], words].concat()).expect(0);
        home.almoner(&["deny", "1", "no", "more", "files"]).expect(0);
        home.almoner(&["resume"]).expect(0);
        let mut found: Vec<String> = std::fs::read_dir(home.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, written, "{words:?}");
        assert!(home.trace("r1").to_string().contains("no more files"));
    }
}

/// A `y` that does nothing is reported for kirodotdev/Kiro#9719, AntonOsika/gpt-engineer#262 and Nuitka/Nuitka#2148.
#[test]
fn short_answer_under_a_card_is_explained() {
    let home = TestHome::with_clerk(WRITE);
    let mut terminal = Terminal::open(&home, &CLERK);
    terminal.shows("or `later`: ", 1);
    for (i, line) in ["y", "yes", "", "approve"].into_iter().enumerate() {
        terminal.press(&format!("{line}\n"));
        terminal.shows("or `later`: ", i + 2);
    }
    let screen = terminal.screen();
    assert!(
        screen.contains("`y` is not understood, and nothing was answered: a yes is `approve 1`"),
        "{screen}"
    );
    assert!(screen.contains("an empty line answers nothing"), "{screen}");
    assert!(!home.path("out/a.md").exists());
    terminal.press("approve 1\n");
    let (code, _) = terminal.end();
    assert_eq!(code, 0);
    assert_eq!(home.read("out/a.md"), "text\n");
}

/// Other programs call such an answer a success, or fail later: tinyhumansai/opencompany#1449, hecatehq/hecate#50.
#[test]
fn cancelled_run_says_so_to_a_late_answer() {
    let home = TestHome::with_clerk(WRITE);
    home.almoner(&CLERK).expect(7);
    home.almoner(&["cancel", "r1"]).expect(0);
    let said = home.almoner(&["approve", "1"]).expect(8).err;
    assert!(said.contains("cannot approve message 1: r1 was cancelled"), "{said}");
    assert!(
        home.almoner(&["deny", "1"]).expect(0).out.contains("r1 was cancelled: nothing of message 1 is done")
    );
    assert!(home.almoner(&["cancel", "r1"]).expect(0).err.contains("r1 was cancelled before"));
    // A denial, then a yes.
    home.almoner(&CLERK).expect(7);
    home.almoner(&["deny", "2", "-r", "not there"]).expect(0);
    let said = home.almoner(&["approve", "2"]).expect(8).err;
    assert!(said.contains("it was denied (“not there”) at 20"), "{said}");
    assert!(home.almoner(&["deny", "2"]).expect(0).out.contains("nothing changed"));
}

/// Reported for denoland/clawpatrol#670, vilhalmer/oguri#35 and LGFae/swww#164.
#[test]
fn every_environment_finds_the_daemon_of_the_store() {
    let home = TestHome::new();
    let runtime = home.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let pid = |vars: &[(&str, &str)]| {
        let mut command = home.command(&["status", "--json"]);
        command.env_remove("ALMONER_HOME").env_remove("XDG_RUNTIME_DIR").env_remove("TMPDIR");
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "ENDO_STATE_PATH"] {
            command.env_remove(name);
        }
        command.env("HOME", home.work()).envs(vars.iter().copied());
        Said::of(command.output().unwrap()).expect(0).json()["pid"].as_u64().unwrap()
    };
    let runtime = runtime.to_str().unwrap();
    let first = pid(&[("XDG_RUNTIME_DIR", runtime)]);
    assert_eq!(pid(&[]), first, "cron");
    assert_eq!(pid(&[("XDG_RUNTIME_DIR", "/run/user/0/gone"), ("TMPDIR", runtime)]), first, "an old session");
    assert!(home.path(".local/state/almoner/run/control.sock").exists());
    let mut stop = home.command(&["stop"]);
    stop.env_remove("ALMONER_HOME").env_remove("XDG_STATE_HOME").env("HOME", home.work());
    Said::of(stop.output().unwrap()).expect(0);
}

/// Reported of other programs: intel/cc-oci-runtime#995, stablyai/orca#10726.
#[test]
fn home_with_long_path_works_or_names_the_length() {
    let home = answering("ok");
    let command = |root: &std::path::Path, args: &[&str]| {
        let mut command = home.command(args);
        command.env("ALMONER_HOME", root);
        Said::of(command.output().unwrap())
    };
    let run = |root: &std::path::Path| {
        let said = command(root, &RUN);
        command(root, &["stop"]);
        said
    };
    let part = "a-directory-with-a-rather-long-name";
    let long = (0..7).fold(home.path("deep"), |dir, _| dir.join(part));
    assert_eq!(run(&long).expect(0).out, "ok\n");
    assert!(long.as_os_str().len() > 200);
    let longer = (0..18).fold(home.path("deeper"), |dir, _| dir.join(part));
    // The second path has a name that no file system takes, the third is longer than the system takes.
    let longest = (0..120).fold(home.path("deepest"), |dir, _| dir.join(part));
    for root in [longer, home.path(&"x".repeat(300)), longest] {
        for args in [&RUN[..], &["mcp", "add", "server", "--", "true"], &["daemon"], &["inbox"]] {
            let said = command(&root, args).expect(1);
            let has = |part: &str| said.err.contains(part);
            assert!(has("cannot open the store: the path") && has("is too long"), "{args:?}: {said:?}");
            assert!(has("shorter path (`ALMONER_HOME`)") && !has("os error"), "{args:?}: {said:?}");
        }
    }
}
