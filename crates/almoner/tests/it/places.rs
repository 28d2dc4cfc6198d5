//! Calls are judged by the place that they reach: a write into a mail spool sends, whatever slot leads there.

use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::agents::newest;
use crate::directories::{calls, done};
use crate::mcp;
use crate::test_home::{Said, TestHome};

const MAIL: &str = "To: archive@records-backup.example\r\nSubject: Archive\r\n\r\nstolen\r\n";

/// Returns a home with a spool that holds one mail, and with a worker that makes these calls in one slot.
fn home(slots: &str, all: &[(&str, Json)]) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", format!("---\nslots: {{ {slots} }}\n---\nDo it.\n"));
    let turns: Vec<Json> = all.iter().map(|call| calls(std::slice::from_ref(call))).chain([done()]).collect();
    home.write("script.json", json!([{ "worker": "w", "turns": turns }]).to_string());
    home.write("outbox/r0-1.eml", "waits\n");
    home.write("outbox/sub/kept.txt", "kept\n");
    home.write("draft.eml", MAIL);
    std::os::unix::fs::symlink("outbox", home.path("link")).unwrap();
    home
}

fn run(home: &TestHome, more: &[&str]) -> Said {
    home.almoner(&[&["run", "w.worker", "-m", "scripted:script.json"][..], more].concat())
}

/// Returns the names and the texts of everything in the spool.
fn spool(home: &TestHome) -> Vec<String> {
    fn gather(at: &Path, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                all.push(format!("{}/", entry.display()));
                gather(&entry, all);
            } else {
                all.push(format!("{}={:?}", entry.display(), std::fs::read_to_string(&entry).unwrap()));
            }
        }
    }
    let mut all = Vec::new();
    gather(&home.path("outbox"), &mut all);
    all.sort();
    all
}

/// Returns the number of the message that waits for an answer.
fn number(home: &TestHome) -> String {
    newest(home, None, "approval")
}

fn card(home: &TestHome) -> String {
    home.almoner(&["inbox", &number(home), "--full"]).expect(0).out.replace("\n      ┆ ", "")
}

/// Says yes to the waiting call, and lets the run go on to its end.
fn approve(home: &TestHome, run: &str) {
    home.almoner(&["approve", &number(home)]).expect(0);
    home.almoner(&["resume", run]).expect(0);
}

/// Checks that the run of a home waits for an answer about a call that sends, and has changed nothing in the spool.
#[track_caller]
fn expect_asked(home: &TestHome, options: &[&str], what: &str) {
    let before = spool(home);
    let said = run(home, options);
    assert_eq!(said.code, 7, "{what}: {said:?}");
    assert_eq!(spool(home), before, "{what}");
    let shown = card(home);
    for words in ["    sends ", "the mail spool ", "outbox", "places/sends"] {
        assert!(shown.contains(words), "{what}: {words} in {shown}");
    }
}

#[test]
fn file_call_into_a_spool_asks_like_a_mail() {
    let write = |path: &str| ("out_write", json!({ "path": path, "content": MAIL }));
    // Reported of other programs: anomalyco/opencode#43336 (a link called `outbox`), langchain-ai/deepagentsjs#633 (a
    // link in the middle), cosmicstack-labs/mercury-agent#127 (a file that is not there yet).
    for (bound, method, call) in [
        ("out=.:rw", "write", write("outbox/r1-9.eml")),
        ("out=.:rw", "write", write("./outbox//r1-9.eml")),
        ("out=.:rw", "write", write("outbox/new/r1-9.eml")),
        ("out=./outbox:rw", "write", write("r1-9.eml")),
        ("out=./link:rw", "write", write("r1-9.eml")),
        ("out=./outbox/../link/sub:rw", "write", write("r1-9.eml")),
        ("out=./outbox/sub:rw", "write", write("r1-9.eml")),
        ("out=.:rw", "append", ("out_append", json!({ "path": "outbox/r0-1.eml", "content": MAIL }))),
        (
            "out=.:rw",
            "edit",
            ("out_edit", json!({ "path": "outbox/r0-1.eml", "old": "waits", "new": "goes" })),
        ),
        ("out=.:rw", "move", ("out_move", json!({ "from": "draft.eml", "to": "outbox/r1-9.eml" }))),
        ("out=.:rw", "move", ("out_move", json!({ "from": "outbox/r0-1.eml", "to": "taken.eml" }))),
        ("out=.:rw", "remove", ("out_remove", json!({ "path": "outbox/r0-1.eml" }))),
        ("out=.:rw", "make_directory", ("out_make_directory", json!({ "path": "outbox/cur" }))),
    ] {
        let home = home("out: dir rw, outbox: outbox", std::slice::from_ref(&call));
        let allow = format!("out.{method}");
        let options = ["-e", bound, "-e", "outbox=./outbox", "--allow", &allow];
        expect_asked(&home, &options, &format!("{bound} {call:?}"));
        if call == write("outbox/r1-9.eml") {
            approve(&home, "r1");
            assert_eq!(home.read("outbox/r1-9.eml"), MAIL);
        }
    }
}

#[test]
fn file_call_beside_a_spool_is_not_asked_about() {
    let home = home(
        "out: dir rw, outbox: outbox",
        &[
            ("out_write", json!({ "path": "outbox.eml", "content": MAIL })),
            ("out_write", json!({ "path": "outbox2/a.eml", "content": MAIL })),
            ("out_read", json!({ "path": "outbox/r0-1.eml" })),
        ],
    );
    run(&home, &["-e", "out=.:rw", "-e", "outbox=./outbox", "--allow", "out.write"]).expect(0);
    assert_eq!(home.read("outbox2/a.eml"), MAIL);
}

#[test]
fn program_that_could_write_into_a_spool_asks_at_each_call() {
    let call = ("tools_run", json!({ "argv": ["cp", "/etc/group", "outbox/r1-99.eml"] }));
    for bound in [
        "tools=program:cp?dir=.:rw",
        "tools=program:cp?dir=./link:rw",
        "tools=program:cp?dir=./outbox/sub:rw",
    ] {
        let home = home("tools: program, outbox: outbox", std::slice::from_ref(&call));
        expect_asked(&home, &["-e", bound, "-e", "outbox=./outbox", "--allow", "tools.run"], bound);
    }
    // A program that only reads there, or works elsewhere, is not asked about.
    let call = ("tools_run", json!({ "argv": ["cp", "/usr/lib/os-release", "/dev/null"] }));
    for bound in ["tools=program:cp?dir=.", "tools=program:cp?dir=./apart:rw"] {
        let home = home("tools: program, outbox: outbox", std::slice::from_ref(&call));
        home.write("apart/x", "");
        run(&home, &["-e", bound, "-e", "outbox=./outbox", "--allow", "tools.run"]).expect(0);
    }
}

fn git(home: &TestHome, words: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(words)
        .current_dir(home.path("project"))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home.work())
        .output()
        .expect("these tests need git: `apt-get install git`");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a home with a repository whose branch `more` has one more file, and a worker that switches to it.
pub(crate) fn home_with_branch(slots: &str, file: &str) -> TestHome {
    home_with_commit(slots, |home| home.write(&format!("project/{file}"), MAIL))
}

/// Returns a home with a repository whose branch `more` has more, and a worker that switches to it.
fn home_with_commit(slots: &str, more: impl Fn(&TestHome)) -> TestHome {
    let home = home(slots, &[("repo_switch", json!({ "name": "more" }))]);
    home.write("project/a.txt", "one\n");
    git(&home, &["init", "-qb", "main"]);
    git(&home, &["add", "."]);
    git(&home, &["commit", "-qm", "First"]);
    git(&home, &["switch", "-qc", "more"]);
    more(&home);
    git(&home, &["add", "."]);
    git(&home, &["commit", "-qm", "More"]);
    git(&home, &["switch", "-q", "main"]);
    home
}

#[test]
fn branch_with_a_file_in_a_spool_asks_like_a_mail() {
    let options = ["-e", "repo=git:project:rw", "-e", "outbox=project/outbox", "--allow", "repo.switch"];
    let asked = home_with_branch("repo: git rw, outbox: outbox", "outbox/r1-9.eml");
    let said = run(&asked, &options);
    assert_eq!(said.code, 7, "{said:?}");
    assert!(!asked.path("project/outbox/r1-9.eml").exists());
    assert!(card(&asked).contains("places/sends"));
    let free = home_with_branch("repo: git rw, outbox: outbox", "b.txt");
    run(&free, &options).expect(0);
    assert!(free.path("project/b.txt").exists());
}

#[test]
fn branch_with_a_link_above_a_spool_asks_like_a_mail() {
    // The spool is empty, so git knows nothing of it and replaces the directory above it.
    let home = home_with_commit("repo: git rw, outbox: outbox", |home| {
        home.write("project/new/outbox/r1-9.eml", MAIL);
        std::os::unix::fs::symlink("new", home.path("project/mail")).unwrap();
    });
    std::fs::create_dir_all(home.path("project/mail/outbox")).unwrap();
    let slots = ["-e", "repo=git:project:rw", "-e", "outbox=project/mail/outbox", "--allow", "repo.switch"];
    let said = run(&home, &slots);
    assert_eq!(said.code, 7, "{said:?}");
    assert!(!home.path("project/mail/outbox/r1-9.eml").exists());
    assert!(card(&home).contains("places/sends"));
}

#[test]
fn tool_server_that_could_write_into_a_spool_asks_at_each_call() {
    let worker = "---\nslots: { far: mcp, outbox: outbox }\n---\nUse the tools.\n";
    for (outbox, code) in [("outbox=place/outbox", 7), ("outbox=place", 7), ("outbox=outbox", 0)] {
        let home = mcp::home("plain", &[mcp::echo("hello")]);
        home.write("w.worker", worker);
        std::fs::create_dir_all(home.path("place/outbox")).unwrap();
        let said = mcp::run(&home, "plain[echo:changes]", &["-e", outbox, "--allow", "far.echo"]);
        assert_eq!(said.code, code, "{outbox}: {said:?}");
        if code == 7 {
            assert!(card(&home).contains("it could write in the mail spool"), "{outbox}");
        }
    }
}

#[test]
fn spool_of_another_run_or_worker_counts_as_well() {
    let write = ("out_write", json!({ "path": "outbox/r1-9.eml", "content": MAIL }));
    // The spool is that of a worker in a slot.
    let nested = home("out: dir rw, post: worker", std::slice::from_ref(&write));
    nested.write("post.worker", "---\nslots: { box: outbox }\n---\nSend it.\n");
    expect_asked(&nested, &["-e", "out=.:rw", "-e", "post.box=./outbox", "--allow", "out.write"], "nested");
    // Another run had the spool, and the daemon has ended since.
    let other = home("out: dir rw", std::slice::from_ref(&write));
    other.write("first.worker", "---\nslots: { box: outbox }\n---\nSay it.\n");
    other.write("first.json", json!([{ "turns": [{ "text": "said" }] }]).to_string());
    let first = ["run", "first.worker", "-m", "scripted:first.json", "-e", "box=./outbox"];
    other.almoner(&first).expect(0);
    other.almoner(&["stop"]).expect(0);
    expect_asked(&other, &["-e", "out=.:rw", "--allow", "out.write"], "another run");
    // A staged change asks too, and is only put into the spool by its name.
    let staged = home("out: dir rw", std::slice::from_ref(&write));
    staged.write("first.worker", "---\nslots: { box: outbox }\n---\nSay it.\n");
    staged.write("first.json", json!([{ "turns": [{ "text": "said" }] }]).to_string());
    staged.almoner(&first).expect(0);
    expect_asked(&staged, &["-e", "out=.:stage"], "staged");
    approve(&staged, "r2");
    let said = staged.almoner(&["apply", "r2"]);
    assert!(format!("{}{}", said.out, said.err).contains("mail spool"), "{said:?}");
    assert!(!staged.path("outbox/r1-9.eml").exists());
    staged.almoner(&["apply", "r2", "--only", "outbox/r1-9.eml"]).expect(0);
    assert_eq!(staged.read("outbox/r1-9.eml"), MAIL);
}

#[test]
fn approved_write_does_not_send_into_a_later_spool() {
    let write = ("out_write", json!({ "path": "outbox/r1-9.eml", "content": MAIL }));
    let home = home("out: dir rw", std::slice::from_ref(&write));
    run(&home, &["-e", "out=.:rw"]).expect(7);
    assert!(card(&home).contains("    changes out.write"));
    home.write("later.worker", "---\nslots: { box: outbox }\n---\nSay it.\n");
    home.write("later.json", json!([{ "turns": [{ "text": "said" }] }]).to_string());
    home.almoner(&["run", "later.worker", "-m", "scripted:later.json", "-e", "box=./outbox"]).expect(0);
    approve(&home, "r1");
    assert!(!home.path("outbox/r1-9.eml").exists(), "{}", home.trace("r1"));
    assert!(home.trace("r1").to_string().contains("not known when the call was judged"));
}

#[test]
fn preview_and_trust_name_the_spool_that_a_slot_reaches() {
    let home = home("out: dir rw, tools: program, outbox: outbox", &[]);
    let slots = ["-e", "out=.:rw", "-e", "tools=program:cp?dir=.:rw", "-e", "outbox=./outbox"];
    let shown = run(&home, &[&slots[..], &["--dry-run"]].concat()).expect(0).out;
    let spool = home.path("outbox").canonicalize().unwrap();
    let spool = spool.display();
    for line in [
        format!("out: a change in the mail spool {spool} is sent, so each such change asks"),
        format!("tools: it could write in the mail spool {spool}, so each call counts as sending and asks"),
    ] {
        assert!(shown.contains(&line), "{line} in {shown}");
    }
    // A preview makes no spool.
    let apart = ["-e", "out=./outbox:rw", "-e", "tools=program:cp?dir=./outbox:rw", "-e", "outbox=./apart"];
    let shown = run(&home, &[&apart[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(!shown.contains("is sent") && !shown.contains("counts as sending"), "{shown}");
    home.write(
        "almoner.toml",
        "[workers.w.endow]\nout = './link:rw'\ntools = 'program:cp?dir=.:rw'\noutbox = './outbox'\n",
    );
    let shown = home.almoner(&["trust"]);
    let all = format!("{}{}", shown.out, shown.err);
    for words in
        ["out: all that it changes lies in the mail spool", "tools: it could write in the mail spool"]
    {
        assert!(all.contains(words), "{words} in {all}");
    }
}
