//! Tests of programs as a capability, over the whole path: gates, cards, answers, the sandbox.
//!
//! The corpus of attacks lies in `tests/attacks/programs`. Each file names a call and the observable effect of its
//! success. It also names the control, a call that succeeds unconfined, unless this is the same call.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agents::newest;
use crate::kill_sweep::{AFTER, Doomed};
use crate::test_home::{Said, TestHome};

const BINARY: &str = env!("CARGO_BIN_EXE_almoner");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    #[serde(skip)]
    name: String,
    /// The kind of attack that this is an example of.
    #[expect(dead_code, reason = "for those who read the files")]
    why: String,
    argv: Vec<String>,
    happens: Observable,
    /// The call that shows that it works unconfined, where the same one could not.
    control: Option<Vec<String>>,
    /// `root`: others cannot do it unconfined either.
    only: Option<String>,
    /// How long to wait before looking.
    #[serde(default)]
    wait_ms: u64,
}

/// The observable effect of a successful attack.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Observable {
    /// A file is not there any more.
    Removed(String),
    /// The content of a file has changed.
    Changed(String),
    /// A file was made.
    Made(String),
    /// Everybody may do everything to a file.
    Open(String),
    /// A file is older than it is.
    Old(String),
    /// The program says this.
    Prints(String),
}

/// Returns every attack that can be tried by this user on this machine, by name.
fn attacks() -> Vec<Attack> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attacks/programs");
    let mut all: Vec<Attack> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let attack: Attack =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            Attack { name: path.file_stem().unwrap().to_string_lossy().into_owned(), ..attack }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let root = rustix::process::getuid().is_root();
    let there = |program: &str| ["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists());
    all.retain(|attack| (attack.only.is_none() || root) && there(&attack.argv[0]));
    assert!(all.len() > 30, "the corpus is not there");
    all
}

/// Victims: for each attack a directory that is handed over, and one that is not.
struct Field {
    inside: PathBuf,
    outside: PathBuf,
    words: BTreeMap<&'static str, String>,
}

impl Field {
    fn new(root: &Path, words: &BTreeMap<&'static str, String>) -> Field {
        Field { inside: root.join("inside"), outside: root.join("outside"), words: words.clone() }
    }

    /// Puts everything for one attack in its place, as it was.
    fn set(&self, name: &str) {
        let (inside, outside) = (self.inside.join(name), self.outside.join(name));
        let _ = std::fs::remove_dir_all(&inside);
        let _ = std::fs::remove_dir_all(&outside);
        for dir in [inside, outside.join("root"), outside.join("home/.ssh")] {
            std::fs::create_dir_all(dir).unwrap();
        }
        for (file, text) in [
            ("secret", "hunter2-secret"),
            ("root/precious", "precious"),
            ("home/precious", "precious"),
            ("home/.ssh/id_rsa", "hunter2-key"),
        ] {
            let path = outside.join(file);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn fill(&self, name: &str, text: &str) -> String {
        let mut text = text.to_owned();
        let own = [
            ("inside", self.inside.join(name)),
            ("outside", self.outside.join(name)),
            ("home", self.outside.join(name).join("home")),
            ("name", PathBuf::from(name)),
        ];
        for (word, path) in own {
            text = text.replace(&format!("{{{word}}}"), path.to_str().unwrap());
        }
        for (word, value) in &self.words {
            text = text.replace(&format!("{{{word}}}"), value);
        }
        text
    }

    fn argv(&self, name: &str, argv: &[String]) -> Vec<String> {
        argv.iter().map(|word| self.fill(name, word)).collect()
    }

    /// Returns whether the attack has succeeded, as far as its effect shows. `printed` is the program's output.
    fn happened(&self, attack: &Attack, printed: &str) -> bool {
        let path = |path: &str| PathBuf::from(self.fill(&attack.name, path));
        match &attack.happens {
            Observable::Removed(file) => !path(file).exists(),
            Observable::Made(file) => path(file).exists(),
            Observable::Changed(file) => std::fs::read(path(file)).unwrap_or_default() != b"hunter2-secret",
            Observable::Open(file) => std::fs::metadata(path(file)).unwrap().mode() & 0o777 == 0o777,
            Observable::Old(file) => std::fs::metadata(path(file)).unwrap().mtime() < 1_000_000,
            Observable::Prints(text) => printed.contains(text),
        }
    }
}

/// Writes a worker with programs, whose model makes these calls.
fn programs(home: &TestHome, calls: &[Vec<String>]) {
    home.write("w.worker", "---\nslots:\n  tools: program\n---\nUse the tools.\n");
    script(home, calls);
}

fn script(home: &TestHome, calls: &[Vec<String>]) {
    let calls: Vec<Value> =
        calls.iter().map(|argv| json!({ "name": "tools_run", "arguments": { "argv": argv } })).collect();
    let turns = json!([{ "turns": [{ "calls": calls }, { "text": "done" }] }]);
    home.write("calls.json", turns.to_string());
}

fn run(home: &TestHome, endow: &str, more: &[&str]) -> Said {
    let endow = format!("tools=program:{endow}");
    home.almoner(&[&["run", "w.worker", "-e", &endow, "-m", "scripted:calls.json"], more].concat())
}

/// Returns the outcome of each call of a run, in order.
fn outcomes(home: &TestHome, run: &str) -> Vec<Value> {
    let trace = home.trace(run);
    let steps = trace["steps"].as_array().unwrap();
    let kind = |step: &Value, kind: &str| step["entry"]["entry"] == kind;
    steps
        .iter()
        .filter(|step| kind(step, "proposed"))
        .map(|proposed| {
            let done = steps
                .iter()
                .find(|step| kind(step, "completed") && step["entry"]["proposal"] == proposed["number"]);
            done.map_or(Value::Null, |step| step["entry"]["completion"].clone())
        })
        .collect()
}

#[test]
fn program_attacks_need_approval_and_the_sandbox_stops_them() {
    let home = TestHome::new();
    let attacks = attacks();
    // The daemon's environment has a secret that no program may get.
    let daemon = home
        .command(&["daemon", "--idle", "120"])
        .env("ALMONER_TRIAL_SECRET", "hunter2-environment")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut daemon = daemon.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let abstract_name = format!("almoner-attack-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap();
    let _unix = UnixListener::bind_addr(&address).unwrap();
    let words = BTreeMap::from([
        ("almoner", BINARY.to_owned()),
        ("address", listener.local_addr().unwrap().to_string()),
        ("abstract", abstract_name),
        ("daemon", daemon.id().to_string()),
        ("home_of_almoner", home.root().to_str().unwrap().to_owned()),
        ("store", home.root().join("state/store").to_str().unwrap().to_owned()),
        ("socket", home.root().join("run/control.sock").to_str().unwrap().to_owned()),
    ]);
    let field = Field::new(&home.work(), &words);
    attacks.iter().for_each(|attack| field.set(&attack.name));
    let calls: Vec<_> = attacks.iter().map(|attack| field.argv(&attack.name, &attack.argv)).collect();
    programs(&home, &calls);
    let endow = format!("sh,bash,env,{BINARY}?dir=inside:rw&memory=500MiB&time=20s");
    // Nothing lifts the question, not even the user's `--allow`.
    run(&home, &endow, &["--allow", "tools.run"]).expect(7);
    for attack in &attacks {
        assert!(!field.happened(attack, ""), "{} came about before anybody was asked", attack.name);
    }
    let card = home.almoner(&["inbox", "1", "--json"]).expect(0).json().to_string();
    for argv in &calls {
        // As it is written in JSON, and that again as text in the JSON of the card.
        let quoted = |text: &str| {
            let json = Value::from(text).to_string();
            json[1..json.len() - 1].to_owned()
        };
        let last = quoted(argv.last().unwrap());
        assert!(card.contains(&quoted(&last)), "{argv:?} is not on the card: {card}");
    }
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    std::thread::sleep(Duration::from_millis(attacks.iter().map(|attack| attack.wait_ms).max().unwrap_or(0)));
    let outcomes = outcomes(&home, "r1");
    assert_eq!(outcomes.len(), attacks.len());
    let mut wrong = Vec::new();
    for (attack, outcome) in attacks.iter().zip(&outcomes) {
        let said = outcome.to_string();
        if !outcome["done"].is_object() {
            wrong.push(format!("{} did not run: {said}", attack.name));
        } else if field.happened(attack, &said) {
            wrong.push(format!("{} came about in the sandbox: {said}", attack.name));
        }
    }
    // The controls come last, since they damage the files that the attacks must leave alone.
    for attack in &attacks {
        field.set(&attack.name);
        let argv = field.argv(&attack.name, attack.control.as_ref().unwrap_or(&attack.argv));
        let output = Command::new(&argv[0])
            .args(&argv[1..])
            .current_dir(field.inside.join(&attack.name))
            .env("HOME", field.fill(&attack.name, "{home}"))
            .env("ALMONER_TRIAL_SECRET", "hunter2-environment")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        std::thread::sleep(Duration::from_millis(attack.wait_ms));
        let said = String::from_utf8_lossy(&output.stdout);
        if !field.happened(attack, &said) {
            let complaint = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!("{} does not come about unconfined: {said} {complaint}", attack.name));
        }
    }
    home.almoner(&["stop"]).expect(0);
    daemon.wait().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn harmless_program_runs_within_its_directory() {
    let home = TestHome::new();
    home.write("in/a.txt", "one\nneedle\n");
    home.write("beside.txt", "needle\n");
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    programs(
        &home,
        &[
            words(&["grep", "-rn", "needle", "."]),
            words(&["grep", "needle", "../beside.txt"]),
            words(&["wc", "a.txt"]),
        ],
    );
    // Without the user's `--allow`, the daemon asks about a program that could change something.
    run(&home, "grep?dir=in", &[]).expect(7);
    run(&home, "grep?dir=in", &["--allow", "tools.run"]).expect(0);
    let all = outcomes(&home, "r2");
    let done = |at: usize| all[at]["done"]["value"].to_string();
    assert!(done(0).contains("./a.txt:2:needle") && !done(0).contains("beside"), "{all:?}");
    assert!(done(1).contains("Permission denied") && !done(1).contains("needle"), "{all:?}");
    assert!(all[2]["refused"].to_string().contains("programs/not-endowed"), "{all:?}");
}

#[test]
fn program_modified_after_approval_is_refused() {
    let home = TestHome::new();
    home.write("bin/tool", "#!/bin/sh\necho first\n");
    let tool = home.path("bin/tool");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    programs(&home, &[vec!["tool".to_owned()]]);
    run(&home, "bin/tool", &[]).expect(7);
    std::fs::write(&tool, "#!/bin/sh\necho second\n").unwrap();
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    let said = home.trace("r1").to_string();
    assert!(said.contains("is not the program that was endowed") && !said.contains("second"), "{said}");
    // Endowed anew, the program is its present file. A script's text decides its effects, so the daemon asks in spite
    // of `--allow`.
    run(&home, "bin/tool", &["--allow", "tools.run"]).expect(7);
    home.almoner(&["approve", &newest(&home, None, "approval")]).expect(0);
    home.almoner(&["resume"]);
    assert!(outcomes(&home, "r2")[0]["done"].to_string().contains("second"));
}

/// Checks the moment between the yes and the start: the yes is recorded, the daemon is killed, the program is replaced,
/// and the next daemon takes up the approved call.
#[test]
fn program_replaced_between_approval_and_start_is_refused() {
    let mut refused = 0;
    for nth in 1..=6 {
        let home = TestHome::new();
        home.write("bin/tool", "#!/bin/sh\necho first\n");
        let tool = home.path("bin/tool");
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        programs(&home, &[vec!["tool".to_owned()]]);
        run(&home, "bin/tool", &[]).expect(7);
        home.almoner(&["stop"]).expect(0);
        let mut doomed = Doomed::start(&home, AFTER, nth);
        home.almoner(&["approve", "1"]);
        let has_died = doomed.dies_within(Duration::from_secs(2));
        // A file in the place of the other one, as an update or an attacker puts it there.
        home.write("bin/new", "#!/bin/sh\necho second\n");
        std::fs::set_permissions(home.path("bin/new"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(home.path("bin/new"), &tool).unwrap();
        let before = home.trace("r1")["steps"].to_string();
        let is_approved = before.contains("\"answered\"");
        let is_begun = before.contains("\"effect_started\"");
        home.almoner(&["resume"]);
        let after = home.trace("r1").to_string();
        assert!(!after.contains("second"), "commit {nth}: the other program ran: {after}");
        if is_approved && !before.contains("first") {
            let finding = after.contains("is not the program that was endowed");
            // A call that had begun may have been made, and is left to its user.
            assert!(finding || is_begun, "commit {nth}: {after}");
            refused += u32::from(finding);
        }
        if !has_died {
            break;
        }
    }
    assert!(refused > 0, "no kill came between the yes and the start");
}

/// Returns a home with a script and a shell of its own that reads it, the usual shell, and the path of the own one.
fn home_with_own_interpreter() -> (TestHome, PathBuf, PathBuf) {
    let home = TestHome::new();
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    let reader = home.path("readers/sh");
    std::fs::create_dir_all(reader.parent().unwrap()).unwrap();
    std::fs::copy(&shell, &reader).unwrap();
    home.write("bin/tool", format!("#!{}\necho it ran\n", reader.display()));
    std::fs::set_permissions(home.path("bin/tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
    (home, shell, reader)
}

/// The same moment for the program that reads a script: the yes is recorded, and another one lies in its place.
#[test]
fn interpreter_replaced_between_approval_and_start_is_refused() {
    let (home, shell, reader) = home_with_own_interpreter();
    programs(&home, &[vec!["tool".to_owned()]]);
    run(&home, "bin/tool", &[]).expect(7);
    home.almoner(&["stop"]).expect(0);
    // The first commit is the answer.
    let mut doomed = Doomed::start(&home, AFTER, 1);
    home.almoner(&["approve", "1"]);
    assert!(doomed.dies_within(Duration::from_secs(20)));
    let mut other = std::fs::read(&shell).unwrap();
    other.push(0);
    home.write("readers/new", other);
    std::fs::set_permissions(home.path("readers/new"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(home.path("readers/new"), &reader).unwrap();
    home.almoner(&["resume"]);
    let said = home.trace("r1").to_string();
    assert!(said.contains("\"answered\"") && !said.contains("\"effect_started\""), "{said}");
    assert!(said.contains("what reads it is not what it was") && !said.contains("it ran"), "{said}");
}

#[test]
fn interpreter_is_approved_with_its_script() {
    let (home, shell, reader) = home_with_own_interpreter();
    std::fs::create_dir_all(home.path("work")).unwrap();
    programs(&home, &[vec!["tool".to_owned()]]);
    // The daemon refuses to endow a script together with write access to its interpreter.
    let said = run(&home, "bin/tool?dir=readers:rw", &[]);
    assert!(said.code != 0 && said.err.contains("is read by") && said.err.contains("which it could change"));
    // The control: the approved script runs if its interpreter is unchanged, and the card names the interpreter.
    run(&home, "bin/tool?dir=work:rw", &["--allow", "tools.run"]).expect(7);
    let card = home.almoner(&["inbox", "1", "--json"]).expect(0).json().to_string();
    assert!(card.contains("is a script") && card.contains(reader.to_str().unwrap()), "{card}");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    assert!(outcomes(&home, "r1")[0]["done"].to_string().contains("it ran"), "{:?}", outcomes(&home, "r1"));
    // Changed after the yes, it does not.
    run(&home, "bin/tool?dir=work:rw", &["--allow", "tools.run"]).expect(7);
    let mut other = std::fs::read(&shell).unwrap();
    other.push(0);
    std::fs::remove_file(&reader).unwrap();
    std::fs::write(&reader, other).unwrap();
    std::fs::set_permissions(&reader, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.almoner(&["approve", &newest(&home, None, "approval")]).expect(0);
    home.almoner(&["resume"]);
    let said = home.trace("r2").to_string();
    assert!(said.contains("what reads it is not what it was") && !said.contains("it ran"), "{said}");
}

#[test]
fn call_naming_a_protected_file_asks_despite_allow() {
    let home = TestHome::new();
    home.write("in/.env", "KEY=1");
    home.write("in/a.txt", "one");
    std::os::unix::fs::symlink(".env", home.path("in/harmless")).unwrap();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (argv, code) in [
        (words(&["cat", "a.txt"]), 0),
        (words(&["cat", ".env"]), 7),
        (words(&["cat", "harmless"]), 7),
        (words(&["grep", "--file=.env", "a.txt"]), 7),
        (words(&["cat", home.path("in/.env").to_str().unwrap()]), 7),
    ] {
        programs(&home, std::slice::from_ref(&argv));
        let said = run(&home, "cat,grep?dir=in", &["--allow", "tools.run"]);
        assert_eq!(said.code, code, "{argv:?}: {said:?}");
    }
    let card = newest(&home, None, "approval");
    let card = home.almoner(&["inbox", &card, "--json"]).expect(0).json().to_string();
    assert!(card.contains("holds keys or passwords") && card.contains(".env"), "{card}");
}

#[test]
fn renamed_launcher_starts_no_other_program() {
    let home = TestHome::new();
    let there =
        |name: &str| ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(name)).find(|it| it.exists());
    let env = std::fs::canonicalize(there("env").unwrap()).unwrap();
    std::fs::create_dir_all(home.path("bin")).unwrap();
    // The same program by three names.
    for name in ["env", "env-tool", "tool"] {
        std::fs::copy(&env, home.path("bin").join(name)).unwrap();
    }
    let words = |name: &str| [name, "/bin/echo", "it started"].map(str::to_owned).to_vec();
    programs(&home, &[words("env"), words("env-tool"), words("tool")]);
    run(&home, "bin/env,bin/env-tool,bin/tool", &[]).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    let all = outcomes(&home, "r1");
    let started = |at: usize| all[at]["done"]["value"]["body"].as_str().unwrap().contains("it started");
    assert!(started(0), "the control: {all:?}");
    assert!(!started(1) && !started(2), "{all:?}");
}

#[test]
fn git_runs_no_repository_command_and_asks_if_writable() {
    let home = TestHome::new();
    home.write("repo/a.txt", "one\n");
    home.write("repo/.gitattributes", "*.txt diff=shout\n");
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args([
            "-C",
            home.path("repo").to_str().unwrap(),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
        ]);
        let output = command.args(words).stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    git(&["config", "diff.shout.textconv", "echo it was started; cat"]);
    git(&["config", "alias.shout", "!echo it was started"]);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (argv, control) in [(&["log", "-p"][..], true), (&["show"], true), (&["status"], false)] {
        assert_eq!(git(argv).contains("it was started"), control, "the control: {argv:?}");
        programs(&home, &[[&["git"][..], argv].concat()].map(|argv| words(&argv)));
        // The daemon asks about a writable directory in spite of `--allow`.
        run(&home, "git?dir=repo:rw", &["--allow", "tools.run"]).expect(7);
        let said = run(&home, "git?dir=repo", &["--allow", "tools.run", "--json"]).expect(0).json();
        let run = said["run"].as_str().unwrap_or_default().to_owned();
        let did = outcomes(&home, &run)[0]["done"]["value"]["body"].as_str().unwrap().to_owned();
        let did: Value = serde_json::from_str(did.trim_start_matches('#')).unwrap();
        let did = did["stdout"].as_str().unwrap().to_owned();
        assert!(!did.contains("it was started"), "{argv:?}: {did}");
        assert!(argv[0] != "status" || did.contains("nothing to commit"), "{did}");
    }
    // A command that is none of Git's reading commands may be any alias.
    programs(&home, &[words(&["git", "shout"])]);
    run(&home, "git?dir=repo", &["--allow", "tools.run"]).expect(7);
    assert!(git(&["shout"]).contains("it was started"), "the control");
}

#[test]
fn leftovers_of_a_killed_daemon_are_removed_at_next_start() {
    let home = TestHome::new();
    let place = home.path("tmp");
    std::fs::create_dir_all(&place).unwrap();
    let with = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("TMPDIR", &place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let there = || std::fs::read_dir(&place).unwrap().count();
    let becomes = |count: usize| {
        let patience = (0..600).find(|_| {
            std::thread::sleep(Duration::from_millis(100));
            there() == count
        });
        assert!(patience.is_some(), "{count} directories were expected, there are {}", there());
    };
    programs(&home, &[vec!["sleep".to_owned(), "300".to_owned()]]);
    let mut daemon = with(&["daemon", "--idle", "120"]);
    // A client that finds none starts one itself.
    while !home.root().join("run/control.sock").exists() {
        assert!(daemon.try_wait().unwrap().is_none(), "the daemon has ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (endow, model) = ("tools=program:sleep?time=300s", "scripted:calls.json");
    let mut client = with(&["run", "w.worker", "-e", endow, "-m", model, "--allow", "tools.run"]);
    becomes(1);
    for child in [&mut client, &mut daemon] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // The control: no other process removes it.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(there(), 1);
    let mut next = with(&["daemon", "--idle", "120"]);
    becomes(0);
    home.almoner(&["stop"]).expect(0);
    next.wait().unwrap();
}

#[test]
fn invalid_program_endowment_is_refused() {
    let home = TestHome::new();
    programs(&home, &[]);
    home.write("bin/tool", "#!/bin/sh\n");
    std::fs::set_permissions(home.path("bin/tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
    home.write("in/text", "no program");
    let root = home.root().to_str().unwrap().to_owned();
    home.almoner(&["status"]).expect(0);
    std::fs::create_dir_all(home.root().join("config")).unwrap();
    for (endow, word) in [
        ("bin/tool?dir=bin:rw".to_owned(), "which it could change"),
        (format!("sh?dir={root}"), "the daemon keeps its own files there"),
        (format!("sh?dir={root}/state/store:rw"), "the daemon keeps its own files there"),
        (format!("sh?dir={root}/config:rw"), "the daemon keeps its own files there"),
        (format!("sh?dir={root}/run"), "the daemon keeps its own files there"),
        ("sh?dir=/".to_owned(), "the daemon keeps its own files there"),
        ("sh?dir=nowhere".to_owned(), "cannot be bound"),
        ("in/text".to_owned(), "not a file that can be run"),
        ("./in".to_owned(), "not a file that can be run"),
        ("no-such-program-anywhere".to_owned(), "there is no program"),
    ] {
        let said = run(&home, &endow, &[]);
        assert!(said.code != 0 && said.err.contains(word), "{endow}: {said:?}");
    }
    let bound = home.almoner(&["run", "w.worker", "-e", "tools=in", "-m", "scripted:calls.json"]);
    assert!(bound.code != 0 && bound.err.contains("wants program"), "{bound:?}");
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json()["runs"].as_array().map_or(0, Vec::len), 0);
}

#[test]
fn slot_cannot_be_bound_to_files_of_the_daemon() {
    let home = TestHome::new();
    let root = home.root().to_str().unwrap().to_owned();
    home.write("r.worker", "---\nslots:\n  files: dir\n---\nRead.\n");
    home.write("w.worker", "---\nslots:\n  files: dir rw\n---\nWrite.\n");
    home.write("s.worker", "---\nslots:\n  files: outbox\n---\nSend.\n");
    script(&home, &[]);
    home.almoner(&["status"]).expect(0);
    std::fs::create_dir_all(home.root().join("mine")).unwrap();
    let run = |worker: &str, path: &str, end: &str| {
        let endow = format!("files={path}{end}");
        home.almoner(&["run", worker, "-e", &endow, "-m", "scripted:calls.json"])
    };
    for (worker, end) in [("r.worker", ""), ("w.worker", ":rw"), ("s.worker", "")] {
        for path in ["", "/config", "/config/new", "/state", "/state/store", "/run", "/mine/../config"] {
            let said = run(worker, &format!("{root}{path}"), end);
            let refused = said.err.contains("the daemon keeps its own files there");
            assert!(said.code != 0 && refused, "{worker} {path}: {said:?}");
        }
        run(worker, &format!("{root}/mine"), end).expect(0);
    }
    assert!(!home.root().join("config/new").exists());
}

#[test]
fn doctor_proves_each_restriction() {
    let home = TestHome::new();
    let report = home.almoner(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    for (kind, held, least) in [
        ("sandbox/", "no program ", 25),
        ("model-host/", "no local model ", 15),
        ("document-reader/", "no reader of documents ", 15),
    ] {
        let of_kind: Vec<(&str, &Value)> = checks
            .iter()
            .filter_map(|check| Some((check["id"].as_str()?.strip_prefix(kind)?, check)))
            .collect();
        assert!(of_kind.len() > least, "{report}");
        for (name, check) in of_kind {
            let said = check["evidence"].as_str().unwrap();
            // A restriction that could not be tried is not said to hold.
            let is_held = check["ok"] == true && said.starts_with(held);
            let is_untried =
                check["ok"] == false && check["untried"] == true && said.starts_with("not tried");
            assert!(is_held != is_untried, "{check}");
            // Every user can try the checks that need neither privileges nor a special file system.
            let may_fail = ["debug", "namespaces", "keys", "flags", "watch", "lease"].contains(&name);
            assert!(may_fail || said.starts_with(held), "{check}");
            assert!(!said.trim_end().ends_with(':'), "how it was held is not known: {check}");
        }
    }
}
