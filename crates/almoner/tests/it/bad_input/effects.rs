//! Tests of granted directories that go away, fill up, or cannot be written, and of one failure among many runs.

use serde_json::json;

use super::server::{Server, calls, says, status};
use super::{RunFixture, check, files, namespace, runs};
use crate::test_home::{Said, TestHome};

/// A worker whose result is written down by a template, without the model's doing.
const FORM: &str = "---
output: { size: number }
slots: { out: dir rw }
write:
  - once: out
    path: new.md
    template: new.j2
---
How large is it?
";

#[test]
fn missing_directory_stalls_the_run_until_restored() {
    let desk = RunFixture::new();
    let home = &desk.home;
    home.almoner(&["approve", &desk.card, "--only", "1"]).expect(0);
    // Not before it waits again: until then the run still has the directory open, wherever that has gone.
    super::wait_until("r2 waits again", || runs(home)[0]["state"].to_string().contains("waiting"));
    assert!(home.path("kept/a.md").exists());
    std::fs::rename(home.path("kept"), home.path("elsewhere")).unwrap();
    home.almoner(&["approve", &desk.card]).expect(0);
    let said = home.almoner(&["resume", "r2"]);
    check(&said, &["resume"], 1, &["r2 stalled", "out", "kept"], "put it back, then `almoner resume`");
    // Nothing was made in its place.
    assert!(!home.path("kept").exists());
    std::fs::rename(home.path("elsewhere"), home.path("kept")).unwrap();
    assert_eq!(home.almoner(&["resume", "r2"]).expect(0).out, "written\n");
    assert_eq!((home.read("kept/a.md"), home.read("kept/b.md")), ("first\n".into(), "second\n".into()));
    super::assert_healthy(home);
}

#[test]
fn full_or_read_only_directory_is_reported_without_half_files() {
    if !namespace::inside("bad_input::effects::full_or_read_only_directory_is_reported_without_half_files") {
        return;
    }
    let desk = RunFixture::in_home(TestHome::new());
    let home = &desk.home;
    let out = home.path("out");
    namespace::small_disk(&out, 64);
    home.write("out/old.md", "old\n");
    namespace::fill(&out.join("filler"));
    let write = |path: &str| json!({"path": path, "content": "word ".repeat(4000)}).to_string();
    let model = |path: &'static str| {
        let write = write(path);
        Server::start(move |number, _| if number == 0 { calls("out_write", &write) } else { says("no room") })
    };
    home.write("form.worker", FORM);
    home.write("new.j2", "{{ items[0].output.size }} is a number that is written out here\n");
    home.write("form.json", r#"[{"turns": [{"json": {"size": 5}}]}]"#);
    let mut servers = Vec::new();
    let mut waiting = Vec::new();
    for why in ["the disk or the quota is full", "the file system is read-only"] {
        let before = files(&out);
        let mut refused = |run: &[&str]| {
            let said = home.almoner(run);
            check(&said, run, 1, &["stalled", why], "put it right, then `almoner resume`");
            assert_eq!(files(&out), before);
            waiting.push(format!("r{}", 3 + waiting.len()));
        };
        for path in ["fresh.md", "old.md"] {
            let server = model(path);
            let name = server.model();
            servers.push(server);
            refused(&["run", "keeper.worker", "-e", "out=out:rw", "--allow", "out.write", "-m", &name]);
        }
        refused(&[
            "run",
            "form.worker",
            "-e",
            "out=out:rw",
            "--allow",
            "out.write",
            "-m",
            "scripted:form.json",
        ]);
        namespace::read_only(&out, true);
    }
    // The waiting writes are done once there is room, and no model is asked again for them.
    namespace::read_only(&out, false);
    std::fs::remove_file(out.join("filler")).unwrap();
    for run in &waiting {
        home.almoner(&["resume", run]).expect(0);
    }
    assert!(servers.iter().all(|server| server.requests().len() == 2));
    assert_eq!(files(&out).len(), 3);
    desk.nothing_lost();
}

/// Reported of other programs: netbirdio/netbird#237, LMMS/lmms#26 (the old file is emptied when the disk is full),
/// vshulcz/deja-vu#808 (an empty file stays).
#[test]
fn full_disk_keeps_the_old_output_and_leaves_no_new_file() {
    if !namespace::inside("bad_input::effects::full_disk_keeps_the_old_output_and_leaves_no_new_file") {
        return;
    }
    let home = TestHome::new();
    home.write("hello.worker", super::HELLO);
    home.write("hello.json", super::SAYS_HELLO);
    home.write("plain.md", "Say what is to be done.\n");
    let out = home.path("out");
    std::fs::create_dir(&out).unwrap();
    namespace::small_disk(&out, 64);
    home.write("out/result.txt", "an older result");
    home.almoner(&[&super::RUN_HELLO[..], &["--output", "fits.txt"]].concat()).expect(0);
    namespace::fill(&out.join("filler"));
    let before = files(&out);
    let plain = home.path("plain.md");
    let hello = [home.path("hello.worker"), home.path("hello.json")].map(|path| path.display().to_string());
    let model = format!("scripted:{}", hello[1]);
    let commands: [&[&str]; 3] = [
        &["run", &hello[0], "-m", &model, "--output", "result.txt"],
        &["new", "made"],
        &["import", plain.to_str().unwrap()],
    ];
    for args in commands {
        let mut command = home.command(args);
        let said = Said::of(command.current_dir(&out).output().unwrap()).expect(1);
        assert!(said.err.contains("the disk is full") && !said.err.contains("os error"), "{said:?}");
        assert_eq!(files(&out), before, "{args:?}");
    }
    // The result is kept, and is written once there is room.
    std::fs::remove_file(out.join("filler")).unwrap();
    home.almoner(&["resume", "last", "--output", "out/result.txt"]).expect(0);
    assert_eq!(home.read("out/result.txt"), home.read("fits.txt"));
}

/// Reported of other programs: ipfs/kubo#3444, ava-labs/firewood#1444 (a disk with room for bytes and none for files).
#[test]
fn program_that_makes_files_in_a_loop_leaves_room_for_others() {
    if !namespace::inside("bad_input::effects::program_that_makes_files_in_a_loop_leaves_room_for_others") {
        return;
    }
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { tools: program }\n---\nDo it.\n");
    let argv = json!(["split", "-b", "1", "-a", "5", "bytes.txt", "part"]);
    let call = json!({ "name": "tools_run", "arguments": { "argv": argv } });
    home.write("s.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    let (small, most) = (home.path("small"), 131_072);
    namespace::disk_of_few_files(&small, 2048, most);
    home.write("small/bytes.txt", vec![b'x'; 200_000]);
    let tools = "tools=program:split?dir=small:rw";
    let said =
        home.almoner(&["run", "w.worker", "-m", "scripted:s.json", "-e", tools, "--allow", "tools.run"]);
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("has room for fewer than 16384 more files"), "{said:?} {trace}");
    let left = rustix::fs::statvfs(&small).unwrap().f_favail;
    assert!(left > 0 && left < 16_384, "{left} of {most}");
    home.write("small/after.txt", "there is still room\n");
}

#[test]
fn stalled_item_does_not_block_the_others() {
    let desk = RunFixture::new();
    let home = &desk.home;
    for name in ["one", "two", "three"] {
        home.write(&format!("mail/{name}.txt"), format!("letter {name}"));
    }
    // The second letter is more than the server bears, until it is mended.
    let mended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let now = std::sync::Arc::clone(&mended);
    let server = Server::start(move |_, request| {
        let body = request.to_string();
        let well = now.load(std::sync::atomic::Ordering::SeqCst);
        if body.contains("letter two") && !well {
            status("401 Unauthorized", "", r#"{"error": "odd"}"#)
        } else {
            says("read")
        }
    });
    let said = home.almoner(&["run", "hello.worker", "mail", "--each", "-m", &server.model()]);
    check(&said, &["run"], 1, &["stalled", "odd"], "almoner resume");
    let all = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
    let states: Vec<String> = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| !run["parent"].is_null())
        .map(|run| run["state"].to_string())
        .collect();
    assert_eq!(states.len(), 3);
    assert_eq!(states.iter().filter(|state| state.contains("finished")).count(), 2, "{states:?}");
    mended.store(true, std::sync::atomic::Ordering::SeqCst);
    home.almoner(&["resume"]).expect(0);
    // The others were not asked again.
    let asked = |name: &str| server.requests().iter().filter(|r| r.to_string().contains(name)).count();
    assert_eq!((asked("letter one"), asked("letter two"), asked("letter three")), (1, 2, 1));
    assert!(runs(home)[0]["state"].to_string().contains("finished"));
    desk.nothing_lost();
}

#[test]
fn document_is_kept_after_its_file_is_deleted() {
    let desk = RunFixture::new();
    let home = &desk.home;
    home.write("letter.txt", "the letter itself");
    home.write("mine.json", r#"[{"turns": []}]"#);
    let run = ["run", "hello.worker", "letter.txt", "-m", "scripted:mine.json"];
    check(&home.almoner(&run), &run, 1, &["r3 stalled"], "almoner resume");
    std::fs::remove_file(home.path("letter.txt")).unwrap();
    home.write("mine.json", r#"[{"contains": "the letter itself", "turns": [{"text": "read"}]}]"#);
    assert_eq!(home.almoner(&["resume", "r3"]).expect(0).out, "read\n");
    desk.nothing_lost();
}

#[test]
fn failed_item_is_reported_beside_the_others() {
    let desk = RunFixture::new();
    let home = &desk.home;
    for name in ["one", "two"] {
        home.write(&format!("mail/{name}.txt"), format!("letter {name}"));
    }
    let server = Server::start(move |_, request| {
        let odd = request.to_string().contains("letter two");
        if odd { status("400 Bad Request", "", "odd") } else { says("read") }
    });
    let said = home.almoner(&["run", "hello.worker", "mail", "--each", "-m", &server.model()]).expect(1);
    let items = said.json()["items"].take();
    assert_eq!(items[0]["output"], "read");
    assert!(items[1]["error"].as_str().unwrap().contains("status 400: odd"), "{items}");
    desk.nothing_lost();
}
