//! Tests of cases that came with a project: they change nothing but copies, and run no program, regardless of their
//! content.

use std::os::unix::fs::symlink;

use serde_json::{Value as Json, json};

use crate::test_home::{Said, TestHome};

/// Returns a home with a case in `work/p`. The case's worker has a slot for a writable directory, and precious files
/// lie beside it.
fn foreign(command: &[&str], more: Json) -> TestHome {
    let home = TestHome::new();
    home.write("victim/kept.txt", "kept\n");
    home.write("victim/gone.txt", "gone\n");
    home.write("p/docs/a.txt", "blue\n");
    home.write("p/x.worker", "---\nslots: { docs: dir, out: dir rw }\n---\nHi.\n");
    home.write("p/x.case/replies.json", r#"[{ "turns": [{ "text": "ok" }] }]"#);
    home.write("p/x.case/result.json", "\"ok\"\n");
    home.write("p/x.case/slots/out/kept.txt", "evil\n");
    let mut case = json!({ "command": command, "calls": [], "made": ["out/gone.txt"] });
    case.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    home.write("p/x.case/case.json", case.to_string());
    home
}

#[track_caller]
fn tried(home: &TestHome) -> Said {
    let said = home.almoner(&["test", "p"]);
    assert_eq!(
        (home.read("victim/kept.txt"), home.read("victim/gone.txt")),
        ("kept\n".into(), "gone\n".into())
    );
    said
}

#[test]
fn case_path_outside_its_copies_is_refused() {
    let up = "../".repeat(30);
    for (out, said) in [
        // In a copy of `docs`, the rest of this path once led to where it leads here.
        (format!("docs/{up}VICTIM"), "leads out of where the case lies"),
        ("docs/../../victim".to_owned(), "leads out of where the case lies"),
        ("../victim".to_owned(), "leads out of where the case lies"),
        ("VICTIM".to_owned(), "leads out of where the case lies"),
        ("link".to_owned(), "leads out of where the case lies"),
        ("docs/link/".to_owned(), "leads out of where the case lies"),
        ("docs/none/../../../victim".to_owned(), "it leads nowhere"),
        ("docs/a.txt".to_owned(), "only directories are written in"),
    ] {
        let home = foreign(&[], json!({}));
        let victim = home.path("victim").display().to_string();
        let out =
            out.replace("VICTIM", if out == "VICTIM" { &victim } else { victim.trim_start_matches('/') });
        let command = ["x.worker", "-e", "docs=docs", "-e", &format!("out={out}:rw")];
        home.write("p/x.case/case.json", json!({ "command": command, "made": ["out/gone.txt"] }).to_string());
        symlink("../victim", home.path("p/link")).unwrap();
        symlink(home.path("victim"), home.path("p/docs/link")).unwrap();
        let told = tried(&home).expect(1).out;
        assert!(told.starts_with("not tried  p/x.case: ") && told.contains(said), "{out}: {told}");
        // Once its user has said so it is tried, and over copies all the same.
        if said.starts_with("leads out") {
            let digest = home.almoner(&["trust", "p/x.case", "--json"]).expect(0).json()["digest"].clone();
            home.almoner(&["trust", "p/x.case", "--yes", digest.as_str().unwrap()]).expect(0);
            assert_eq!(tried(&home).expect(0).out, "same       p/x.case\n", "{out}");
        }
    }
}

#[test]
fn case_reads_only_files_inside_its_directory() {
    for (word, said) in [
        ("t=@../victim/kept.txt", "leads out"),
        ("t=@/etc/hostname", "leads out"),
        ("t=@link/kept.txt", "leads out"),
        ("../victim/kept.txt", "leads out"),
        ("link/kept.txt", "leads out"),
        ("link", "leads out"),
        ("x.case/documents", "leads out"),
        ("../victim/*.txt", "leads nowhere"),
        ("-", "standard input"),
    ] {
        let home = foreign(&["x.worker", "-e", "docs=docs", "-e", "out=new:rw", word], json!({}));
        symlink("../victim", home.path("p/link")).unwrap();
        std::fs::create_dir(home.path("p/x.case/documents")).unwrap();
        symlink("../../../victim/kept.txt", home.path("p/x.case/documents/d.txt")).unwrap();
        let told = tried(&home).expect(1).out;
        assert!(
            told.starts_with("not tried") && (told.contains(said) || told.contains("leads out")),
            "{word}: {told}"
        );
    }
    // `almoner test` refuses a worker outside of the project, and a file of the case that is a link to somewhere
    // else.
    for (command, link) in [("../w.worker", ""), ("x.worker", "slots/out"), ("x.worker", "replies.json")] {
        let home = foreign(&[command, "-e", "docs=docs", "-e", "out=new:rw"], json!({}));
        home.write("w.worker", "---\nslots: { docs: dir, out: dir rw }\n---\nHi.\n");
        home.write("replies.json", home.read("p/x.case/replies.json"));
        home.write("slots/out/kept.txt", "other\n");
        if !link.is_empty() {
            let place = home.path("p/x.case").join(link);
            let _ = std::fs::remove_dir_all(&place).or_else(|_| std::fs::remove_file(&place));
            symlink(home.path(link), place).unwrap();
        }
        let told = tried(&home).expect(1).out;
        assert!(told.starts_with("not tried"), "{command} {link}: {told}");
    }
}

#[test]
fn case_part_that_is_no_regular_file_is_refused() {
    let command = ["x.worker", "-e", "docs=docs", "-e", "out=new:rw"];
    for name in ["case.json", "result.json", "replies.json"] {
        for kind in ["pipe", "endless", "large"] {
            let home = foreign(&command, json!({}));
            let path = home.path("p/x.case").join(name);
            std::fs::remove_file(&path).unwrap();
            match kind {
                "pipe" => pipe(&path),
                "endless" => symlink("/dev/zero", &path).unwrap(),
                _ => std::fs::File::create(&path).unwrap().set_len(65 << 20).unwrap(),
            }
            let told = tried(&home).expect(1).out;
            assert!(told.starts_with("not tried"), "{name} {kind}: {told}");
        }
    }
    // The size of a copy is limited as well.
    let home = foreign(&command, json!({}));
    std::fs::File::create(home.path("p/docs/large")).unwrap().set_len(1 << 40).unwrap();
    assert!(tried(&home).expect(1).out.contains("too much to copy"));
    // A case is no link, however it is named.
    let home = foreign(&command, json!({}));
    symlink("x.case", home.path("p/y.case")).unwrap();
    for name in ["p/y.case", "p/y.case/"] {
        assert!(home.almoner(&["test", name]).expect(1).out.contains("it is a link"));
    }
}

fn pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn accepted_result_is_written_without_following_links() {
    let home = foreign(&["x.worker", "-e", "docs=docs", "-e", "out=new:rw"], json!({}));
    home.write("p/x.case/other.json", "\"no\"\n");
    std::fs::remove_file(home.path("p/x.case/result.json")).unwrap();
    symlink("other.json", home.path("p/x.case/result.json")).unwrap();
    assert_eq!(home.almoner(&["test", "--accept", "p/x.case"]).expect(0).out, "accepted   p/x.case\n");
    assert_eq!(home.read("p/x.case/other.json"), "\"no\"\n");
    assert_eq!(home.read("p/x.case/result.json"), "\"ok\"\n");
    assert!(home.path("p/x.case/result.json").symlink_metadata().unwrap().is_file());
}

#[test]
fn case_runs_programs_only_after_this_version_is_trusted() {
    let home = TestHome::new();
    let call =
        json!({ "call": "tool.run", "arguments": [["sh", "-c", "echo blue > made.txt"]], "came_to": "done" });
    let command = ["x.worker", "-e", "tool=program:sh?exec=yes&dir=work:rw"];
    let case = json!({ "command": command, "calls": [call] });
    home.write("x.worker", "---\nslots: { tool: program }\n---\nHi.\n");
    home.write("work/a.txt", "a\n");
    let turn = json!({ "calls": [{ "name": "tool_run", "arguments": { "argv": call["arguments"][0] } }] });
    home.write("x.case/replies.json", json!([{ "turns": [turn, { "text": "ok" }] }]).to_string());
    home.write("x.case/result.json", "\"ok\"\n");
    home.write("x.case/case.json", case.to_string());
    let refused = |said: Said| {
        assert!(
            said.out.contains("`tool` runs programs, and the case is not trusted: `almoner trust`"),
            "{said:?}"
        );
    };
    refused(home.almoner(&["test"]).expect(1));
    // `almoner trust` shows the authority of the case. No user is here to confirm it.
    let shown = home.almoner(&["trust", "x.case"]).expect(7).out;
    assert!(shown.contains("tool=program:sh?exec=yes") && shown.contains("echo blue > made.txt"), "{shown}");
    let digest =
        home.almoner(&["trust", "x.case", "--json"]).expect(0).json()["digest"].as_str().unwrap().to_owned();
    home.almoner(&["trust", "x.case", "--yes", &digest]).expect(0);
    assert_eq!(home.almoner(&["test"]).expect(0).out, "same       x.case\n");
    assert!(!home.path("work/made.txt").exists());
    assert!(home.almoner(&["trust", "--list"]).expect(0).out.contains("x.case/case.json (as it was)"));
    // The user who accepts a result goes on trusting the case. A change by anybody else ends the trust.
    home.write("x.case/result.json", "\"no\"\n");
    assert_eq!(home.almoner(&["test", "--accept"]).expect(0).out, "accepted   x.case\n");
    assert_eq!(home.almoner(&["test"]).expect(0).out, "same       x.case\n");
    home.write("x.case/case.json", case.to_string().replace("blue", "red"));
    refused(home.almoner(&["test"]).expect(1));
    home.write("x.case/case.json", case.to_string());
    home.almoner(&["trust", "x.case", "--revoke"]).expect(0);
    refused(home.almoner(&["test"]).expect(1));
}

/// Checks that a case may reach the places of its run for the user who saved it, and for no other user.
#[test]
fn locally_saved_case_may_use_the_paths_of_its_run() {
    let home = TestHome::new();
    home.write("docs/a.txt", "blue\n");
    home.write("p/w.worker", "---\nslots: { docs: dir }\n---\nHi.\n");
    home.write("p/script.json", json!([{ "turns": [{ "text": "ok" }] }]).to_string());
    let at = |args: &[&str]| {
        let mut command = home.command(args);
        Said::of(command.current_dir(home.path("p")).output().unwrap())
    };
    at(&["run", "w.worker", "-e", "docs=../docs", "-m", "scripted:script.json"]).expect(0);
    at(&["save", "last", "as", "again"]).expect(0);
    assert_eq!(at(&["test"]).expect(0).out, "same       again.case\n");
    // In another's home it is a case like any other.
    let other = tempfile::tempdir().unwrap();
    let mut command = home.command(&["test"]);
    let said = Said::of(
        command.current_dir(home.path("p")).env("ALMONER_HOME", other.path().join("h")).output().unwrap(),
    );
    assert!(said.expect(1).out.contains("leads out of where the case lies"));
}
