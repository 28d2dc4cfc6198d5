//! Programs that work in the staged copy of another slot: `-e tools=program:make?dir=@repo`.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::test_home::{Said, TestHome};

const WORKER: &str = "---\nslots: { tools: program, repo: dir rw }\n---\nDo it.\n";

fn run_program(argv: &[&str]) -> Json {
    json!({ "name": "tools_run", "arguments": { "argv": argv } })
}

fn write(path: &str, content: &str) -> Json {
    json!({ "name": "repo_write", "arguments": { "path": path, "content": content } })
}

/// Returns a home whose model makes these calls one after the other.
fn home(calls: &[Json]) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    let mut turns: Vec<Json> = calls.iter().map(|call| json!({ "calls": [call] })).collect();
    turns.push(json!({ "text": "done" }));
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home.write("repo/a.md", "one\n");
    home.write("repo/b.md", "two\n");
    home.write("repo/old/c.md", "three\n");
    home.write("beside.md", "beside\n");
    home
}

fn run(home: &TestHome, tools: &str, repo: &str, more: &[&str]) -> Said {
    let (tools, repo) = (format!("tools=program:{tools}"), format!("repo={repo}"));
    let args = ["run", "w.worker", "-m", "scripted:script.json", "-e", &tools, "-e", &repo];
    home.almoner(&[&args[..], &["--allow", "tools.run"], more].concat())
}

/// Returns all files in the directory, by path.
fn files(home: &TestHome) -> String {
    let mut all: Vec<String> = Vec::new();
    let mut ways = vec![home.path("repo")];
    while let Some(way) = ways.pop() {
        for entry in std::fs::read_dir(&way).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(home.path("repo")).unwrap().display().to_string();
            if path.is_dir() && !path.is_symlink() {
                all.push(format!("{name}/"));
                ways.push(path);
            } else {
                all.push(format!("{name}={:?}", std::fs::read_to_string(&path).unwrap_or_default()));
            }
        }
    }
    all.sort();
    all.join(" ")
}

const BEFORE: &str = r#"a.md="one\n" b.md="two\n" old/ old/c.md="three\n""#;
const AFTER: &str = r#"a.md="two\n" b.md="two by model\n" made/ made/deep/ made/deep/d.md="two by model\n" model.md="m\n" tail.md="m\n""#;

/// Changes by a program in place and by new files, changes by the model, and changes of either's files by the other.
fn calls() -> Vec<Json> {
    vec![
        run_program(&["cp", "b.md", "a.md"]),
        write("b.md", "two by model\n"),
        run_program(&["mkdir", "-p", "made/deep"]),
        run_program(&["cp", "b.md", "made/deep/d.md"]),
        write("model.md", "m\n"),
        run_program(&["cp", "model.md", "tail.md"]),
        run_program(&["rm", "-r", "old"]),
    ]
}

#[test]
fn program_and_model_changes_are_one_diff() {
    let home = home(&calls());
    run(&home, "cp,mkdir,rm?dir=@repo", "repo:stage", &[]).expect(0);
    assert_eq!(files(&home), BEFORE, "nothing changes before it is applied");
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    for part in [
        "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-one\n+two\n",
        "--- a/b.md\n+++ b/b.md\n@@ -1 +1 @@\n-two\n+two by model\n",
        "+++ b/made/deep/d.md",
        "+++ b/model.md",
        "+++ b/tail.md",
        "--- a/old/c.md\n+++ /dev/null\n",
    ] {
        assert!(diff.contains(part), "{part}\nis not in\n{diff}");
    }
    let one = home.almoner(&["diff", "r1", "--only", "tail.md"]).expect(0).out;
    assert!(one.contains("b/tail.md") && !one.contains("a.md"), "{one}");
    home.almoner(&["apply", "r1", "--only", "a.md"]).expect(0);
    assert_eq!(home.read("repo/a.md"), "two\n");
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!(files(&home), AFTER);
    let left = std::fs::read_dir(home.root().join("state/stages")).map_or(0, |found| found.count());
    assert_eq!(left, 0, "the copy and its record are not needed any more");
    let again = home.almoner(&["diff", "r1"]).expect(0).out;
    assert!(again.contains("APPLIED") && again.contains("tail.md"), "{again}");
    let why = home.almoner(&["why", "repo/tail.md"]).expect(0).out;
    assert!(why.contains("you had r1 applied") && why.contains("by a program that worked there"), "{why}");
    for _ in 0..2 {
        let undone = home.almoner(&["undo", "r1"]).expect(0).out;
        assert_eq!(files(&home), BEFORE, "{undone}");
        assert!(!undone.contains("cannot be undone"), "{undone}");
        home.almoner(&["undo", "r1"]).expect(0);
        assert_eq!(files(&home), BEFORE);
        // An undo is not the end of the work.
        home.almoner(&["apply", "r1"]).expect(0);
        assert_eq!(files(&home), AFTER);
    }
}

#[test]
fn discarded_program_changes_leave_nothing() {
    let home = home(&calls());
    run(&home, "cp,mkdir,rm?dir=@repo", "repo:stage", &[]).expect(0);
    home.almoner(&["discard", "r1", "--only", "tail.md"]).expect(0);
    assert!(!home.almoner(&["diff", "r1"]).expect(0).out.contains("tail.md"));
    home.almoner(&["discard", "r1"]).expect(0);
    assert_eq!(files(&home), BEFORE);
    assert_eq!(std::fs::read_dir(home.root().join("state/stages")).unwrap().count(), 0);
    home.almoner(&["diff", "r1"]).expect(8);
}

#[test]
fn program_reaches_nothing_beside_the_staged_copy() {
    let home = home(&[]);
    let real = |name: &str| home.path(name).to_str().unwrap().to_owned();
    let calls = [
        run_program(&["cp", "b.md", &real("beside.md")]),
        run_program(&["cp", "b.md", &real("repo/a.md")]),
        run_program(&["cat", &real("repo/a.md")]),
        run_program(&["cp", "b.md", "link.md"]),
    ];
    let turns = calls.iter().map(|call| json!({ "calls": [call] })).chain([json!({ "text": "done" })]);
    home.write("script.json", json!([{ "turns": turns.collect::<Vec<_>>() }]).to_string());
    std::os::unix::fs::symlink(home.path("beside.md"), home.path("repo/link.md")).unwrap();
    let before = files(&home);
    run(&home, "cp,cat?dir=@repo", "repo:stage", &[]).expect(0);
    assert_eq!((files(&home), home.read("beside.md").as_str()), (before, "beside\n"));
    let trace = home.trace("r1").to_string();
    assert!(trace.matches("Permission denied").count() >= 4, "{trace}");
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    assert!(diff.contains("changed nothing"), "{diff}");
}

#[test]
fn changes_that_cannot_be_applied_are_said_and_stay() {
    let home = home(&[run_program(&["ln", "-s", "a.md", "made.md"]), run_program(&["cp", "b.md", "new.md"])]);
    run(&home, "cp,ln?dir=@repo", "repo:stage", &[]).expect(0);
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    assert!(diff.contains("CANNOT BE APPLIED `made.md`: it is a symbolic link now"), "{diff}");
    let applied = home.almoner(&["apply", "r1"]).expect(8).out;
    assert!(applied.contains("NOT applied  `made.md`") && applied.contains("repo/new.md"), "{applied}");
    assert_eq!(home.read("repo/new.md"), "two\n");
    assert!(home.almoner(&["diff", "r1"]).expect(0).out.contains("made.md"));
    home.almoner(&["discard", "r1"]).expect(0);
    assert_eq!(home.read("repo/new.md"), "two\n", "an applied change stays");
}

#[test]
fn protected_file_of_a_program_is_applied_only_by_name() {
    // The name of the file is in no argument, so no gate asks.
    let home = home(&[run_program(&["cp", "-r", "template/.", "."])]);
    home.write("repo/template/.npmrc", "token\n");
    home.write("repo/template/plain.md", "plain\n");
    run(&home, "cp?dir=@repo", "repo:stage", &[]).expect(0);
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    assert!(diff.contains("CANNOT BE APPLIED") && diff.contains("`--only .npmrc` applies it"), "{diff}");
    home.almoner(&["apply", "r1"]).expect(8);
    assert_eq!(home.read("repo/plain.md"), "plain\n");
    assert!(!home.path("repo/.npmrc").exists());
    home.almoner(&["apply", "r1", "--only", ".npmrc"]).expect(0);
    assert_eq!(home.read("repo/.npmrc"), "token\n");
}

#[test]
fn protected_end_of_a_move_is_applied_only_by_its_own_name() {
    // The person allows the move. The program then changes the file, whose name is in no argument, so no gate asks.
    let moved = json!({ "name": "repo_move", "arguments": { "from": "a.md", "to": ".npmrc" } });
    let home = home(&[moved, run_program(&["cp", "-r", "template/.", "."])]);
    home.write("repo/template/.npmrc", "token\n");
    let before = files(&home);
    run(&home, "cp?dir=@repo", "repo:stage", &[]).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    for only in [&["--only", "a.md"][..], &[]] {
        let said = home.almoner(&[&["apply", "r1"], only].concat()).expect(8).out;
        assert!(said.contains("`--only .npmrc` applies it"), "{said}");
        assert!(said.contains("the other end of its move, `.npmrc`"), "{said}");
        assert_eq!(files(&home), before);
    }
    home.almoner(&["apply", "r1", "--only", ".npmrc"]).expect(0);
    assert_eq!(home.read("repo/.npmrc"), "token\n");
    assert!(!home.path("repo/a.md").exists());
}

#[test]
fn preview_and_card_name_the_staged_copy() {
    let home = home(&[run_program(&["cp", "b.md", "a.md"])]);
    let plan = run(&home, "cp?dir=@repo", "repo:stage", &["--dry-run"]).expect(0).out;
    assert!(plan.contains("in the staged copy of slot repo (rw)"), "{plan}");
    assert!(!home.root().join("state/stages").exists(), "a preview copies nothing");
    let args = [
        "run",
        "w.worker",
        "-m",
        "scripted:script.json",
        "-e",
        "tools=program:cp?dir=@repo",
        "-e",
        "repo=repo:stage",
    ];
    home.almoner(&args).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("program cp in the staged copy of slot repo (rw)"), "{card}");
    run(&home, "cp?dir=@repo:ro", "repo:stage", &[]).expect(0);
    assert!(home.almoner(&["diff", "r2"]).expect(0).out.contains("changed nothing"));
}

#[test]
fn slot_that_is_not_staged_is_refused_by_name() {
    let home = home(&[]);
    for (tools, repo, words) in [
        ("cp?dir=@nothing", "repo:stage", "no slot `nothing` is bound"),
        ("cp?dir=@repo", "repo:rw", "slot `repo` is not staged"),
        ("cp?dir=@tools", "repo:stage", "only a directory can be staged"),
        ("cp?dir=@", "repo:stage", "names no slot"),
        ("cp?dir=repo:rw", "repo:stage", "reaches the same directory"),
    ] {
        let said = run(&home, tools, repo, &[]).expect(2).err;
        assert!(said.contains(words) && said.contains("help"), "{tools}: {said}");
    }
    home.write("g.worker", "---\nslots: { tools: program, repo: git rw }\n---\nDo it.\n");
    let args = [
        "run",
        "g.worker",
        "-m",
        "scripted:script.json",
        "-e",
        "tools=program:cp?dir=@repo",
        "-e",
        "repo=git:repo:rw",
    ];
    let said = home.almoner(&args).expect(2).err;
    assert!(said.contains("is a repository, and only a directory can be staged"), "{said}");
}

#[test]
fn changes_of_a_killed_program_are_in_the_diff() {
    let home = home(&[
        write("model.md", "m\n"),
        run_program(&["cp", "b.md", "a.md"]),
        run_program(&["sleep", "300"]),
    ]);
    let quiet = |args: &[&str]| {
        let mut command = home.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut daemon = quiet(&["daemon", "--idle", "120"]);
    while !home.root().join("run/control.sock").exists() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut client = quiet(&[
        "run",
        "w.worker",
        "-m",
        "scripted:script.json",
        "-e",
        "tools=program:cp,sleep?dir=@repo&time=300s",
        "-e",
        "repo=repo:stage",
        "--allow",
        "tools.run",
    ]);
    let stages = home.root().join("state/stages");
    let copy = || {
        let found = std::fs::read_dir(&stages).ok()?.flatten();
        found.map(|entry| entry.path()).find(|path| path.is_dir())
    };
    let is_changed = || {
        copy()
            .is_some_and(|copy| std::fs::read_to_string(copy.join("a.md")).is_ok_and(|text| text == "two\n"))
    };
    let patience = (0..600).find(|_| {
        std::thread::sleep(Duration::from_millis(100));
        is_changed()
    });
    assert!(patience.is_some(), "the program did not run");
    // The third call is under way now, and leaves a file half done.
    std::thread::sleep(Duration::from_millis(500));
    for child in [&mut client, &mut daemon] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    std::fs::write(copy().unwrap().join("half.md"), "half").unwrap();
    home.almoner(&["resume"]);
    home.almoner(&["cancel", "r1"]);
    let diff = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        Some(home.almoner(&["diff", "r1"])).filter(|said| said.code == 0)
    });
    let diff = diff.expect("the run has ended").out;
    for part in ["b/model.md", "b/half.md", "-one\n+two\n"] {
        assert!(diff.contains(part), "{part}\nis not in\n{diff}");
    }
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!((home.read("repo/half.md").as_str(), home.read("repo/a.md").as_str()), ("half", "two\n"));
    home.almoner(&["undo", "r1"]).expect(0);
    assert_eq!(files(&home), BEFORE);
}
