//! A copy of the store, and the way back to it.

use std::os::unix::fs::PermissionsExt as _;

use crate::test_home::{TRIAGE, TestHome};

#[test]
fn backup_can_be_restored() {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).out;
    home.almoner(&["backup", "copy"]).expect(0);
    for entry in ["copy", "copy/almoner.sqlite", "copy/blobs"] {
        let mode = home.path(entry).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "others can read {entry}: {mode:o}");
    }
    // Work goes on, and then the disk eats the store.
    home.almoner(&["deny", "1"]).expect(0);
    home.almoner(&["resume"]).expect(5);
    home.almoner(&["stop"]).expect(0);
    let store = home.root().join("state/store");
    std::fs::write(store.join("almoner.sqlite"), "gone").unwrap();
    let said = home.almoner(&["runs"]).expect(1);
    assert!(said.err.contains("the newest backup is of") && said.err.contains("cp -a"), "{}", said.err);
    // The advice of the command restores the store.
    std::fs::rename(&store, home.path("damaged")).unwrap();
    let mut copy = std::process::Command::new("cp");
    assert!(copy.arg("-a").arg(home.path("copy")).arg(&store).status().unwrap().success());
    assert_eq!(home.almoner(&["runs", "--all", "--json"]).expect(0).out, runs);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(home.path("out/summary.md").exists());
    let report = home.almoner(&["doctor", "place", "settings", "daemon", "disk", "policy", "--json"]).json();
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
}

#[test]
fn backup_never_overwrites_existing_files() {
    let home = TestHome::new();
    home.write("there/kept.txt", "kept");
    home.write("file", "kept");
    home.write("copy.partial/kept.txt", "kept");
    for (to, code, says) in [
        ("there", 8, "is there already"),
        ("file", 8, "is there already"),
        ("copy", 8, "copy.partial is there already"),
        ("no/such/dir", 4, "No such file or directory"),
        ("", 2, "path"),
    ] {
        let said = home.almoner(&["backup", to]).expect(code);
        assert!(said.err.contains(says) && said.err.contains("help: "), "{to}: {}", said.err);
    }
    assert_eq!(home.read("there/kept.txt"), "kept");
    assert_eq!(home.read("copy.partial/kept.txt"), "kept");
    assert!(!home.path("copy").exists());
}
