//! A copy of the store, and the way back to it.

use std::os::unix::fs::PermissionsExt as _;

use crate::test_home::{TRIAGE, TestHome};

#[test]
fn backup_can_be_restored() {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).out;
    home.almoner(&["backup", "copy"]).expect(0);
    let mode = home.path("copy").metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "others can read the copy: {mode:o}");
    // Work goes on, and then the disk eats the store.
    home.almoner(&["deny", "1"]).expect(0);
    home.almoner(&["resume"]).expect(5);
    home.almoner(&["stop"]).expect(0);
    let store = home.root().join("state/store");
    std::fs::write(store.join("almoner.sqlite"), "gone").unwrap();
    let said = home.almoner(&["runs"]).expect(1);
    assert!(
        said.err.contains("the newest backup is of") && said.err.contains("--store --yes"),
        "{}",
        said.err
    );
    // The advice of the command restores the store, and the rest of the home stays.
    std::fs::write(home.root().join("state/kept.txt"), "kept").unwrap();
    let said = home.almoner(&["restore", "copy", "--store", "--yes"]).expect(0);
    assert!(said.out.contains("waiting for you: 1 message"), "{}", said.out);
    let (_, kept) = said.err.split_once("the earlier store is kept in ").unwrap();
    assert_eq!(std::fs::read_to_string(format!("{}/almoner.sqlite", kept.trim())).unwrap(), "gone");
    assert_eq!(std::fs::read_to_string(home.root().join("state/kept.txt")).unwrap(), "kept");
    assert_eq!(home.almoner(&["runs", "--all", "--json"]).expect(0).out, runs);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(home.path("out/summary.md").exists());
    let report = home.almoner(&["doctor", "place", "settings", "daemon", "disk", "policy", "--json"]).json();
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
}
