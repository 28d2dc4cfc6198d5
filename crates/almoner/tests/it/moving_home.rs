//! A backup of a whole home, and the home that is made of it at another place.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::terminal::Terminal;
use crate::test_home::{Said, TestHome, copy};

const VALUE: &str = "tok-moving-swordfish-91";

/// The runs of a home that moves, each with its model's calls.
const RUNS: [(&str, &str, &str); 3] = [
    ("write", "out: dir rw", r#"{"name": "out_write", "arguments": {"path": "a.txt", "content": "waited"}}"#),
    ("stage", "out: dir rw", r#"{"name": "out_write", "arguments": {"path": "b.txt", "content": "staged"}}"#),
    ("secret", "run: program", r#"{"name": "run_run", "arguments": {"argv": ["printenv", "TOKEN"]}}"#),
];

fn run(home: &TestHome, name: &str, endow: &str) -> Said {
    let (worker, script) = (format!("{name}.worker"), format!("scripted:{name}.json"));
    let mut args = vec!["run", &worker, "-m", &script, "-e", endow];
    if name == "stage" {
        args.extend(["--allow", "out.write"]);
    }
    home.almoner(&args)
}

/// Returns a home with a waiting card, a staged change, a secret that a waiting card uses, and settings with paths.
fn home() -> TestHome {
    let home = TestHome::new();
    for (name, slots, call) in RUNS {
        home.write(&format!("{name}.worker"), format!("---\nslots: {{ {slots} }}\n---\nDo it.\n"));
        let turns = format!(r#"[{{"turns": [{{"calls": [{call}]}}, {{"text": "done"}}]}}]"#);
        home.write(&format!("{name}.json"), turns);
    }
    home.write("out/kept.txt", "kept\n");
    home.write("tell", "#!/bin/sh\n");
    fs::set_permissions(home.path("tell"), fs::Permissions::from_mode(0o755)).unwrap();
    let work = home.work().display().to_string();
    home.write_config(&format!("# notes\n[notify]\ncommand = [\"{work}/tell\", \"{{text}}\"]\n"));
    let policy = "@id(\"never\")\n@reason(\"it is closed\")\n@must_deny(\"dir.write on=WORK path=never/a.txt\")\n\
        forbid (principal, action == Action::\"dir.write\", resource)\n\
        when { context has file && context.file like \"WORK/never/*\" };\n";
    fs::write(home.root().join("config/policy.cedar"), policy.replace("WORK", &work)).unwrap();
    let servers = r#"{"servers": {"foreign": {"command": "WORK/tell", "args": ["--now"], "net": true}}}"#;
    fs::write(home.root().join("config/mcp.json"), servers.replace("WORK", &work)).unwrap();
    home.piped(&["secret", "set", "github"], VALUE.as_bytes()).expect(0);
    run(&home, "write", "out=out:rw").expect(7);
    run(&home, "stage", "out=out:stage").expect(0);
    run(&home, "secret", "run=program:printenv?env.TOKEN=secret:github").expect(7);
    home.write("almoner.toml", "[workers.write]\nendow = { out = \"./out:rw\" }\n");
    let digest = home.almoner(&["trust", "almoner.toml", "--json"]).expect(0).json()["digest"].clone();
    home.almoner(&["trust", "almoner.toml", "--yes", digest.as_str().unwrap()]).expect(0);
    home
}

/// Returns an empty home, to whose working directory that of another home has moved.
fn moved(from: &TestHome) -> TestHome {
    let to = TestHome::new();
    copy(&from.work(), &to.work());
    to
}

fn map(from: &TestHome, to: &TestHome) -> String {
    format!("{}={}", from.work().display(), to.work().display())
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() { left.push(path) } else { found.push(path) }
        }
    }
    found
}

fn result_of(home: &TestHome, run: &str) -> String {
    let trace = home.trace(run);
    let steps = trace["steps"].as_array().unwrap().iter().map(|step| &step["entry"]);
    steps.filter(|entry| entry["entry"] == "completed").map(Json::to_string).collect()
}

#[test]
fn moved_home_goes_on_where_the_old_one_was() {
    let old = home();
    let said = old.almoner(&["backup", "home.tar.gz", "--with-key"]).expect(0);
    for words in
        ["holds the home as it is now", "your own directories", "warning: it holds the key of the vault"]
    {
        assert!(said.err.contains(words), "{}", said.err);
    }
    assert_eq!(old.path("home.tar.gz").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    old.almoner(&["stop"]).expect(0);
    let new = moved(&old);
    let (backup, map) = (new.path("home.tar.gz"), map(&old, &new));
    // The old directories are gone, as on another machine.
    fs::rename(old.work(), old.work().with_file_name("gone")).unwrap();
    let backup = backup.to_str().unwrap();
    let said = new.almoner(&["restore", backup, "--map", &map]).expect(7);
    assert!(said.err.contains("nobody is at a terminal to say yes"), "{}", said.err);
    assert!(!new.root().join("state").exists() && !new.root().exists(), "nothing is written before a yes");
    let said =
        new.almoner(&["restore", backup, "--map", &map, "--map", "/never/there=/x", "--yes"]).expect(2);
    assert!(said.err.contains("nothing in the backup names /never/there"), "{}", said.err);
    assert!(!new.root().exists(), "nothing is written for a map that is mistyped");
    let said = new.almoner(&["restore", backup, "--map", &map, "--yes"]).expect(0);
    let (from, to) = (old.work().display().to_string(), new.work().display().to_string());
    for words in [
        format!("{}  →  {}", old.root().join("state").display(), new.root().join("state").display()),
        format!("{from}/out  →  {to}/out"),
        "is there; g1 `out`".to_owned(),
        "1 staged copy, inside of the home".to_owned(),
        "waiting for you: 2 messages".to_owned(),
        format!("tool servers that it may start or ask\n  “foreign”  {to}/tell --now; with network"),
        format!("starts for each notification: {to}/tell {{text}}"),
        "policies\n  forbids  “never”\n  1 policy, 1 example".to_owned(),
        format!("line 3: command = [\"{from}/tell\", \"{{text}}\"]"),
        format!("now: command = [\"{to}/tell\", \"{{text}}\"]"),
        format!("{from}/almoner.toml  →  {to}/almoner.toml"),
        "printenv".to_owned(),
    ] {
        assert!(said.out.contains(&words), "no {words} in\n{}", said.out);
    }
    // The waiting card is approved, and its call is made at the new place.
    new.almoner(&["approve", "1"]).expect(0);
    new.almoner(&["resume"]);
    assert_eq!(new.read("out/a.txt"), "waited");
    // The staged change is applied there.
    let diff = new.almoner(&["diff", "r2"]).expect(0).out;
    assert!(diff.contains("+staged"), "{diff}");
    new.almoner(&["apply", "r2"]).expect(0);
    assert_eq!(new.read("out/b.txt"), "staged");
    // The secret is used, and shows nowhere.
    new.almoner(&["approve", "2"]).expect(0);
    new.almoner(&["resume"]);
    let result = result_of(&new, "r3");
    assert!(result.contains("⟦secret github⟧") && result.contains("status 0"), "{result}");
    assert!(!old.work().exists(), "nothing was written at the old place");
    for (file, words) in [("config.toml", format!("{to}/tell")), ("policy.cedar", format!("{to}/never/*"))] {
        let text = fs::read_to_string(new.root().join("config").join(file)).unwrap();
        assert!(text.contains(&words) && !text.contains(&from), "{text}");
    }
    assert!(new.almoner(&["trust", "--list"]).expect(0).out.contains(&to));
    assert!(new.almoner(&["grants"]).expect(0).out.contains(&format!("{to}/out")));
    assert!(!new.almoner(&["grants"]).expect(0).out.contains(&from));
    let audit = new.almoner(&["audit", "verify"]).expect(0);
    assert!(audit.out.contains("each follows the one before"), "{audit:?}");
    assert!(new.almoner(&["audit", "-n", "100"]).expect(0).out.contains("directories moved with the home"));
    let report = new.almoner(&["doctor", "place", "settings", "daemon", "policy", "--json"]).json();
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    let staging = new.root().join("state.restoring");
    assert!(!staging.exists() && !new.root().join("config.restoring").exists());
}

#[test]
fn backup_without_the_key_keeps_secrets_closed() {
    let old = home();
    old.almoner(&["backup", "home.tar.gz"]).expect(0);
    let key = old.root().join("state/vault.key");
    let new = moved(&old);
    let said = new.almoner(&["restore", "home.tar.gz", "--map", &map(&old, &new), "--yes"]).expect(0);
    assert!(
        said.out.contains("stays closed") && said.out.contains("its key is not in this backup"),
        "{}",
        said.out
    );
    let own = new.root().join("state/vault.key");
    assert!(!own.exists());
    // The run with the secret waits on, until the key is put beside the vault.
    new.almoner(&["approve", "2"]).expect(0);
    new.almoner(&["resume"]);
    assert!(!result_of(&new, "r3").contains("status 0"));
    let restored = format!("`cp vault.key {}`", own.display());
    let begun = format!("`mv --backup=numbered -T {0} {0}.without-key`", own.with_extension("age").display());
    for (args, code) in [
        (&["doctor", "daemon"][..], 1),
        (&["secret", "set", "other"], 1),
        (&["secret", "list"], 1),
        (&["unlock"], 1),
        (&["export", "r3"], 1),
    ] {
        let Said { out, err, .. } = new.piped(args, b"x").expect(code);
        let said = format!("{out}{err}");
        for words in ["the key of the vault is missing: neither", &restored, &begun] {
            assert!(said.contains(words), "{args:?}: {said}");
        }
    }
    assert!(new.almoner(&["doctor", "daemon"]).out.contains("✗ vault"));
    let said = new.almoner(&["backup", "closed.tar.gz", "--with-key"]).expect(1);
    assert!(said.err.contains(&restored) && !new.path("closed.tar.gz").exists(), "{}", said.err);
    // The daemon need not begin again to find the key.
    new.write("told.worker", format!("---\n---\nSay {VALUE}.\n"));
    new.write("told.json", r#"[{"turns": [{"text": "done"}]}]"#);
    new.almoner(&["run", "told.worker", "-m", "scripted:told.json"]);
    fs::copy(&key, &own).unwrap();
    // The first command that needs the vault opens it, and its values are redacted from then on.
    let exported = new.almoner(&["export", "last"]).expect(0).out;
    assert!(exported.contains("\"Say ") && !exported.contains(VALUE), "{exported}");
    new.almoner(&["unlock"]).expect(0);
    assert!(new.almoner(&["doctor", "daemon"]).out.contains("✓ vault"));
    // An open vault gives its key also when the file with it is gone, and doctor says that it is gone.
    fs::remove_file(&own).unwrap();
    assert!(new.almoner(&["doctor", "daemon"]).out.contains("✗ vault"));
    let said = new.almoner(&["backup", "open.tar.gz", "--with-key"]).expect(0);
    assert!(said.err.contains("warning: it holds the key"), "{}", said.err);
    let third = moved(&new);
    third.almoner(&["restore", "open.tar.gz", "--map", &map(&new, &third), "--yes"]).expect(0);
    assert!(third.almoner(&["secret", "list"]).expect(0).out.contains("github"));
    fs::copy(&key, &own).unwrap();
    new.almoner(&["resume"]);
    assert!(result_of(&new, "r3").contains("status 0"), "{}", result_of(&new, "r3"));
    let bytes = fs::read(old.path("home.tar.gz")).unwrap();
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text).unwrap();
    let secret = fs::read_to_string(&key).unwrap();
    assert!(!String::from_utf8_lossy(&text).contains(secret.trim()));
}

#[test]
fn person_at_the_terminal_decides() {
    let old = home();
    old.almoner(&["backup", "home.tar.gz"]).expect(0);
    let new = moved(&old);
    for (answer, code) in [("n\n", 5), ("y\n", 0)] {
        let mut terminal = Terminal::open(&new, &["restore", "home.tar.gz"]);
        terminal.shows("make this home of the backup?", 1);
        terminal.press(answer);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, code, "{screen}");
        assert_eq!(new.root().join("state/store").exists(), code == 0);
    }
    // Without `--map`, the grants lead where they led.
    assert!(new.almoner(&["grants"]).expect(0).out.contains(&old.work().display().to_string()));
}

/// Another program's copies, archives that lead out, and files that were cut short.
#[test]
fn damaged_and_hostile_archives_are_refused() {
    let old = TestHome::new();
    old.almoner(&["status"]).expect(0);
    old.almoner(&["backup", "good.tar.gz"]).expect(0);
    let good = fs::read(old.path("good.tar.gz")).unwrap();
    let new = TestHome::new();
    let header = header_of(&good);
    new.write("text.tar.gz", "no archive");
    new.write("empty.tar.gz", "");
    new.write("cut.tar.gz", &good[..good.len() / 2]);
    let mut changed = good.clone();
    let at = changed.len() / 2;
    changed[at] ^= 0x55;
    new.write("changed.tar.gz", &changed);
    new.write("foreign.tar.gz", archive(&[("hello.txt", Kind::File(b"hello"))]));
    let with = |name: &'static str, kind: Kind<'static>| {
        let first = ("almoner-backup.json", Kind::File(header.as_slice()));
        archive(&[
            first,
            ("state", Kind::Dir),
            ("state/stages", Kind::Dir),
            ("state/stages/s", Kind::Dir),
            (name, kind),
        ])
    };
    new.write("noindex.tar.gz", with("state/stages/s/a.txt", Kind::File(b"a")));
    for (at, (name, kind)) in [
        ("../evil.txt", Kind::File(b"evil")),
        ("/tmp/evil.txt", Kind::File(b"evil")),
        ("state/../../evil.txt", Kind::File(b"evil")),
        ("state/run/control.sock", Kind::File(b"evil")),
        ("state/store/link", Kind::Link("/etc/passwd")),
        ("state/stages/s/link", Kind::Link("/etc")),
        ("state/stages/s/link", Kind::Link("../../../..")),
        ("state/stages/s/pipe", Kind::Pipe),
        ("state/stages/missing/a.txt", Kind::File(b"evil")),
        ("state/vault.age", Kind::HardLink("/etc/passwd")),
        // A name on the way could be another link.
        ("state/stages/s/link", Kind::Link("p/p/../../file")),
    ]
    .into_iter()
    .enumerate()
    {
        new.write(&format!("evil{at}.tar.gz"), with(name, kind));
    }
    let later =
        String::from_utf8(header.clone()).unwrap().replace("\"almoner_backup\": 1", "\"almoner_backup\": 99");
    let state = format!("\"state\": {}", Json::from(old.root().join("state").to_str().unwrap()));
    for (name, path) in [("root", "/"), ("nowhere", ""), ("up", "/a/../b"), ("control", "/a\\u0001b")] {
        let header = String::from_utf8(header.clone()).unwrap();
        assert!(header.contains(&state), "{header}");
        let header = header.replace(&state, &format!("\"state\": \"{path}\""));
        new.write(
            &format!("{name}.tar.gz"),
            archive(&[("almoner-backup.json", Kind::File(header.as_bytes()))]),
        );
    }
    new.write("later.tar.gz", archive(&[("almoner-backup.json", Kind::File(later.as_bytes()))]));
    for (names, code, words) in [
        (vec!["text", "empty", "foreign"], 6, "it is no backup of Almoner"),
        (vec!["cut", "changed", "noindex"], 6, "it is damaged"),
        (vec!["root", "nowhere", "up", "control"], 6, "it names no directory of a home"),
        (vec!["later"], 1, "a later build made it"),
        (vec!["missing"], 4, "No such file"),
        (
            vec![
                "evil0", "evil1", "evil2", "evil3", "evil4", "evil5", "evil6", "evil7", "evil8", "evil9",
                "evil10",
            ],
            6,
            "it holds an entry that no backup of Almoner has",
        ),
    ] {
        for name in names {
            let said = new.almoner(&["restore", &format!("{name}.tar.gz"), "--yes"]);
            assert_eq!(said.code, code, "{name}: {}", said.err);
            assert!(said.err.contains(words) && said.err.contains("help: "), "{name}: {}", said.err);
            assert_eq!(said.err.matches(&format!("{name}.tar.gz")).count(), 1, "{}", said.err);
            assert!(!new.root().join("state").exists() && !new.root().join("config").exists(), "{name}");
            let left = fs::read_dir(new.root()).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{name} left something");
        }
    }
    assert!(!new.work().join("../evil.txt").exists());
    let said = new.almoner(&["restore", old.path("good.tar.gz").to_str().unwrap(), "--yes"]).expect(0);
    assert!(said.out.contains("waiting for you: 0 messages"), "{}", said.out);
}

/// Another user could change what is unpacked there.
#[test]
fn restore_refuses_a_directory_that_others_may_change() {
    let old = TestHome::new();
    old.almoner(&["status"]).expect(0);
    old.almoner(&["backup", "home.tar.gz"]).expect(0);
    let (backup, new) = (old.path("home.tar.gz"), TestHome::new());
    let backup = backup.to_str().unwrap();
    fs::create_dir_all(new.root()).unwrap();
    let staging = new.root().join("state.restoring");
    fs::create_dir(new.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(new.path("elsewhere"), &staging).unwrap();
    let said = new.almoner(&["restore", backup, "--yes"]);
    assert!(said.code != 0 && said.err.contains("state.restoring"), "{said:?}");
    assert_eq!(fs::read_dir(new.path("elsewhere")).unwrap().count(), 0);
    fs::remove_file(&staging).unwrap();
    // The remains of a killed restore, with permissions that another program has changed, are closed again.
    fs::create_dir(&staging).unwrap();
    fs::set_permissions(&staging, fs::Permissions::from_mode(0o777)).unwrap();
    new.almoner(&["restore", backup, "--yes"]).expect(0);
}

/// An entry of an archive that a test makes.
enum Kind<'a> {
    File(&'a [u8]),
    Dir,
    Link(&'a str),
    HardLink(&'a str),
    Pipe,
}

/// Makes an archive with names that no honest program writes.
fn archive(entries: &[(&str, Kind<'_>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, kind) in entries {
        let mut head = tar::Header::new_old();
        let bytes: &[u8] = match kind {
            Kind::File(bytes) => bytes,
            _ => b"",
        };
        head.set_entry_type(match kind {
            Kind::File(_) => tar::EntryType::Regular,
            Kind::Dir => tar::EntryType::Directory,
            Kind::Link(_) => tar::EntryType::Symlink,
            Kind::HardLink(_) => tar::EntryType::Link,
            Kind::Pipe => tar::EntryType::Fifo,
        });
        head.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        if let Kind::Link(target) | Kind::HardLink(target) = kind {
            head.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        head.set_mode(0o700);
        head.set_size(bytes.len() as u64);
        head.set_cksum();
        tar.append(&head, bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn header_of(backup: &[u8]) -> Vec<u8> {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(backup));
    let mut first = tar.entries().unwrap().next().unwrap().unwrap();
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut first, &mut text).unwrap();
    text
}

#[test]
fn home_that_holds_something_is_never_replaced() {
    let home = TestHome::new();
    home.almoner(&["status"]).expect(0);
    home.almoner(&["backup", "home.tar.gz"]).expect(0);
    let before = home.almoner(&["audit"]).expect(0).out;
    let said = home.almoner(&["restore", "home.tar.gz", "--yes"]).expect(8);
    assert!(said.err.contains("holds something already") && said.err.contains("--store"), "{}", said.err);
    let said = home.almoner(&["restore", "home.tar.gz", "--store", "--yes"]).expect(8);
    assert!(
        said.err.contains("a daemon uses the store") && said.err.contains("`almoner stop`"),
        "{}",
        said.err
    );
    assert_eq!(home.almoner(&["audit"]).expect(0).out, before);
    let new = TestHome::new();
    fs::create_dir_all(new.root().join("config")).unwrap();
    fs::write(new.root().join("config/config.toml"), "").unwrap();
    let file = home.path("home.tar.gz");
    new.almoner(&["restore", file.to_str().unwrap(), "--yes"]).expect(8);
    assert!(!new.root().join("state").exists());
}

#[test]
fn killed_restore_leaves_nothing_half_done() {
    let old = home();
    old.almoner(&["backup", "home.tar.gz", "--with-key"]).expect(0);
    for point in ["restore.unpacked", "restore.prepared", "restore.state_moved"] {
        let new = moved(&old);
        let args = ["restore", "home.tar.gz", "--map", &map(&old, &new), "--yes"];
        let killed = new.command(&args).env("FAILPOINTS", format!("{point}=return")).output().unwrap();
        assert_eq!(Said::of(killed).code, 128 + 9, "{point}");
        let (state, config) = (new.root().join("state"), new.root().join("config"));
        if point == "restore.state_moved" {
            // The next command of any kind completes the restore.
            assert!(state.exists() && !config.exists(), "{point}");
        } else {
            assert!(!state.exists() && !config.exists(), "{point}");
            new.almoner(&args).expect(0);
        }
        assert_eq!(
            new.almoner(&["runs", "--all", "--json"]).expect(0).json().as_array().unwrap().len(),
            3,
            "{point}"
        );
        assert!(config.join("policy.cedar").exists(), "{point}");
        let left = fs::read_dir(new.root()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("restor")).collect();
        assert!(left.is_empty(), "{point}: {left:?}");
        assert!(!state.join("restore.json").exists());
    }
}

/// The daemon works while it is copied, and the copy is the home of one moment.
#[test]
fn backup_of_a_busy_home_is_consistent() {
    let old = home();
    let script = r#"[{"turns": [{"calls": [{"name": "out_write", "arguments": {"path": "N.txt", "content": "x"}}]}, {"text": "done"}]}]"#;
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut runs = 0;
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                old.write("busy.json", script.replace('N', &runs.to_string()));
                let args = ["run", "stage.worker", "-m", "scripted:busy.json", "-e", "out=out:stage"];
                old.almoner(&[&args[..], &["--allow", "out.write"]].concat()).expect(0);
                runs += 1;
            }
            runs
        });
        for n in 0..4 {
            old.almoner(&["backup", &format!("{n}.tar.gz"), "--with-key"]).expect(0);
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(busy.join().unwrap() > 0);
    });
    for n in 0..4 {
        let new = moved(&old);
        new.almoner(&["restore", &format!("{n}.tar.gz"), "--map", &map(&old, &new), "--yes"]).expect(0);
        let runs = new.almoner(&["runs", "--all", "--json"]).expect(0).json();
        for run in runs.as_array().unwrap() {
            let number = run["number"].as_u64().unwrap();
            if run["name"] != "stage" || run["state"]["state"] != "finished" {
                continue;
            }
            let diff = new.almoner(&["diff", &format!("r{number}")]).expect(0).out;
            assert!(diff.contains("+x") || diff.contains("+staged"), "{n}: r{number}: {diff}");
        }
        new.almoner(&["audit", "verify"]).expect(0);
    }
}

#[test]
fn backup_names_the_omitted_files_and_replaces_no_file() {
    let home = home();
    let report = home.almoner(&["backup", "a.tar.gz", "--json"]).expect(0).json();
    assert_eq!(report["has_key"], json!(false));
    let without = TestHome::new();
    let said = without.almoner(&["backup", "a.tar.gz", "--with-key"]).expect(0);
    assert!(said.err.contains("there is no vault, and so no key of one"), "{}", said.err);
    // A daemon that is killed leaves one file, which the next backup uses again.
    without.almoner(&["stop"]).expect(0);
    let killed =
        without.command(&["backup", "b.tar.gz"]).env("FAILPOINTS", "backup.rows_copied=return").output();
    assert!(Said::of(killed.unwrap()).err.contains("no backup was made"));
    assert!(without.path("b.tar.gz.unfinished").exists() && !without.path("b.tar.gz").exists());
    without.almoner(&["backup", "b.tar.gz"]).expect(0);
    assert!(!without.path("b.tar.gz.unfinished").exists() && without.path("b.tar.gz").exists());
    let left_out = report["left_out"].to_string();
    for words in ["sockets", "the log of the daemon", "the key of the vault"] {
        assert!(left_out.contains(words), "{left_out}");
    }
    home.write("there/kept.txt", "kept");
    for (to, code, says) in [
        ("a.tar.gz", 8, "is there already"),
        ("there", 8, "is there already"),
        ("no/such/dir.tar.gz", 4, "No such file or directory"),
        ("", 2, "path"),
    ] {
        let said = home.almoner(&["backup", to]).expect(code);
        assert!(said.err.contains(says) && said.err.contains("help: "), "{to}: {}", said.err);
        assert!(said.err.contains(to) && !said.err.contains("at path"), "{to}: {}", said.err);
    }
    for inside in ["b.tar.gz", "state/b.tar.gz", "config/b.tar.gz"] {
        let inside = home.root().join(inside);
        let said = home.almoner(&["backup", inside.to_str().unwrap()]).expect(2);
        assert!(said.err.contains("lies in the home itself"), "{}", said.err);
        assert!(!inside.exists(), "{inside:?}");
    }
    assert_eq!(home.read("there/kept.txt"), "kept");
    let names = files_below(&home.work());
    assert!(
        !names.iter().any(|path| path.file_name().unwrap().to_string_lossy().starts_with(".tmp")),
        "{names:?}"
    );
}
