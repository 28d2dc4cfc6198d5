//! `almoner apply` after `almoner undo`: an undo takes nothing away for good.
//!
//! Reported of other programs: zed-industries/zed#28676 (what was restored cannot be undone), QwenLM/qwen-code#2342,
//! kolega-ai/kolega-code#273 (a copy is made before the old state is restored).

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::directories::{calls, changes, done, home};
use crate::kill_sweep::{AFTER, BEFORE, Doomed, until_it_survives};
use crate::test_home::{Said, TestHome};

/// Returns everything below `out`: the content and the mode of files, and directories.
fn tree(home: &TestHome) -> BTreeMap<String, (Vec<u8>, u32)> {
    fn gather(root: &Path, at: &Path, all: &mut BTreeMap<String, (Vec<u8>, u32)>) {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_dir() {
                all.insert(format!("{name}/"), (vec![], 0));
                gather(root, &path, all);
            } else {
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                all.insert(name, (std::fs::read(&path).unwrap(), mode));
            }
        }
    }
    let (mut all, root) = (BTreeMap::new(), home.path("out"));
    gather(&root, &root, &mut all);
    all
}

fn set_mode(home: &TestHome, path: &str, mode: u32) {
    std::fs::set_permissions(home.path(path), PermissionsExt::from_mode(mode)).unwrap();
}

fn run_program(argv: &[&str]) -> Json {
    calls(&[("tools_run", json!({ "argv": argv }))])
}

/// Runs a worker with programs in the staged copy of `out`.
fn run(home: &TestHome, out: &str) -> Said {
    home.write("clerk.worker", "---\nslots: { tools: program, out: dir rw }\n---\nDo it.\n");
    let slot = format!("out={out}");
    let tools = "tools=program:cp,mv,mkdir,rm?dir=@out";
    home.almoner(&[
        "run",
        "clerk.worker",
        "-m",
        "scripted:script.json",
        "-e",
        &slot,
        "-e",
        tools,
        "--allow",
        "tools.run",
    ])
}

#[test]
fn apply_after_undo_gives_back_all_that_the_run_left() {
    let by_programs = json!([
        run_program(&["cp", "-p", "tool.sh", "copy.sh"]),
        run_program(&["mkdir", "-p", "made/deep"]),
        run_program(&["cp", "noise.bin", "made/deep/noise.bin"]),
        run_program(&["mv", "b.md", "made/b.md"]),
        run_program(&["rm", "gone.sh"]),
        calls(&[("out_write", json!({ "path": "a.md", "content": "by the model\n" }))]),
        calls(&[("out_move", json!({ "from": "sub/c.rs", "to": "sub/d.rs" }))]),
        done()
    ]);
    for turns in [by_programs, changes()] {
        let home = home(turns);
        home.write("out/noise.bin", (0..=255).collect::<Vec<u8>>());
        home.write("out/tool.sh", "#!/bin/sh\n");
        home.write("out/gone.sh", "#!/bin/sh\necho gone\n");
        for script in ["out/tool.sh", "out/gone.sh"] {
            set_mode(&home, script, 0o755);
        }
        set_mode(&home, "out/b.md", 0o640);
        let before = tree(&home);
        run(&home, "out:stage").expect(0);
        home.almoner(&["apply", "r1"]).expect(0);
        let after = tree(&home);
        assert_ne!(before, after);
        for _ in 0..2 {
            let said = home.almoner(&["undo", "r1"]).expect(0).out;
            let undone = tree(&home);
            let is_there = |(path, file): (&String, &(Vec<u8>, u32))| undone.get(path) == Some(file);
            assert!(before.iter().all(is_there), "{said}\n{before:?}\n{undone:?}");
            // A sweep takes what no row names.
            home.almoner(&["gc"]).expect(0);
            let diff = home.almoner(&["diff", "r1"]).expect(0).out;
            assert!(!diff.contains("CANNOT BE APPLIED"), "{diff}");
            home.almoner(&["apply", "r1"]).expect(0);
            assert_eq!(tree(&home), after);
        }
        // Both ways leave alone a file that somebody has changed since.
        home.write("out/a.md", "mine\n");
        home.almoner(&["undo", "r1"]).expect(8);
        assert_eq!(home.read("out/a.md"), "mine\n");
        home.almoner(&["apply", "r1"]).expect(8);
        assert_eq!(home.read("out/a.md"), "mine\n");
    }
}

#[test]
fn undo_of_work_too_large_to_keep_needs_a_yes() {
    let home = home(json!([run_program(&["cp", "large.bin", "more.bin"]), done()]));
    let large = [b'x'; 5000];
    home.write("out/large.bin", large);
    run(&home, "out:stage?max=4KiB").expect(0);
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!(std::fs::read(home.path("out/more.bin")).unwrap(), large);
    for args in [&["undo", "r1", "--dry-run"][..], &["undo", "r1"]] {
        let said = home.almoner(args).expect(8).out;
        assert!(said.contains("4.8 KiB") && said.contains("up to 4 KiB is kept"), "{said}");
        assert!(said.contains("almoner undo r1 --only more.bin --yes"), "{said}");
        assert!(home.path("out/more.bin").exists());
    }
    home.almoner(&["undo", "r1", "--only", "more.bin", "--yes"]).expect(0);
    assert!(!home.path("out/more.bin").exists());
    let diff = home.almoner(&["diff", "r1"]).expect(0).out;
    assert!(diff.contains("CANNOT BE APPLIED") && diff.contains("put back with `--yes`"), "{diff}");
    assert!(diff.contains("4.8 KiB") && !diff.contains("--- /dev/null\n+++ /dev/null"), "{diff}");
    home.almoner(&["apply", "r1"]).expect(8);
}

#[test]
fn apply_after_an_interrupted_undo_loses_nothing() {
    for point in [BEFORE, AFTER] {
        until_it_survives(point, 2, |nth| {
            let home = home(json!([run_program(&["cp", "a.md", "new.md"]), done()]));
            run(&home, "out:stage").expect(0);
            home.almoner(&["apply", "r1"]).expect(0);
            let after = tree(&home);
            home.almoner(&["stop"]).expect(0);
            let mut daemon = Doomed::start(&home, point, nth);
            home.almoner(&["undo", "r1"]);
            let died = daemon.dies_within(Duration::from_secs(1));
            daemon.end();
            home.almoner(&["undo", "r1"]).expect(0);
            assert!(!home.path("out/new.md").exists(), "{point} {nth}");
            home.almoner(&["gc"]).expect(0);
            home.almoner(&["apply", "r1"]).expect(0);
            assert_eq!(tree(&home), after, "{point} {nth}");
            died
        });
    }
}

/// A run in the directory itself has no copy. The journal names the bytes that an undo takes, so that they are kept.
#[test]
fn undone_work_of_a_run_without_a_copy_is_kept() {
    let home = home(json!([
        calls(&[("out_write", json!({ "path": "n.md", "content": "hours of work\n" }))]),
        done()
    ]));
    crate::directories::run(&home, "out:rw", &["--allow", "out.write"]).expect(0);
    home.almoner(&["undo", "r1"]).expect(0);
    assert!(!home.path("out/n.md").exists());
    home.almoner(&["gc"]).expect(0);
    let kept = home.trace("r1").to_string();
    let digest = kernel::BlobHash::of(b"hours of work\n").to_string();
    assert!(kept.contains(&format!("\"kept\":\"{digest}\"")), "{kept}");
}
