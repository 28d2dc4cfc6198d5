//! Blobs beside the store: unreferenced blobs are deleted, and a quota limits the rest.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::test_home::{Said, TestHome};

/// Returns the sizes of all files beside the store.
fn sizes(home: &TestHome) -> Vec<u64> {
    let mut sizes = Vec::new();
    for shelf in std::fs::read_dir(home.root().join("state/store/blobs")).unwrap() {
        for file in std::fs::read_dir(shelf.unwrap().path()).unwrap() {
            sizes.push(file.unwrap().metadata().unwrap().len());
        }
    }
    sizes.sort_unstable();
    sizes
}

fn daemon(home: &TestHome, quota: &str) -> std::process::Child {
    let mut command = home.command(&["daemon", "--idle", "120"]);
    let child = command.env("ALMONER_BLOB_QUOTA", quota).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !Path::new(&home.root().join("run/control.sock")).exists() {
        assert!(Instant::now() < end, "the daemon does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

#[test]
fn invalid_quota_is_refused_at_startup() {
    let home = TestHome::new();
    for said in ["lots", "-1", "1.5G", "", "99999999999999999999T"] {
        let output = home.command(&["daemon"]).env("ALMONER_BLOB_QUOTA", said).output().unwrap();
        let said = Said::of(output).expect(2);
        assert!(
            said.err.contains("no number of bytes") && said.err.contains("ALMONER_BLOB_QUOTA=16G"),
            "{said:?}"
        );
    }
    assert!(!home.root().join("state/store").exists());
}

#[test]
fn full_quota_refuses_uploads_but_not_runs() {
    let home = TestHome::new();
    home.write("big.txt", vec![b'x'; 3000]);
    home.write("small.txt", "small");
    home.write("hello.worker", "Say hello.\n");
    home.write("hello.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    let mut daemon = daemon(&home, "2K");
    home.almoner(&["store", "a=@small.txt"]).expect(0);
    let said = home.almoner(&["store", "b=@big.txt"]);
    assert!(said.code != 0, "{said:?}");
    assert!(said.err.contains("do not fit") && said.err.contains("ALMONER_BLOB_QUOTA"), "{said:?}");
    assert_eq!(sizes(&home), [5]);
    let said = home.almoner(&["run", "hello.worker", "-m", "scripted:hello.json"]).expect(0);
    assert!(said.out.contains("hello"), "{said:?}");
    home.almoner(&["stop"]).expect(0);
    daemon.wait().unwrap();
}

#[test]
fn unreferenced_blobs_are_removed_and_others_kept() {
    let home = TestHome::new();
    home.write("hello.worker", "Say hello.\n");
    home.write("hello.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    home.write("kept.txt", vec![b'k'; 11_111]);
    home.write("gone.txt", vec![b'g'; 22_222]);
    home.almoner(&["store", "kept=@kept.txt", "gone=@gone.txt"]).expect(0);
    home.almoner(&["run", "hello.worker", "-m", "scripted:hello.json"]).expect(0);
    let before = sizes(&home);
    assert!(before.contains(&22_222) && before.contains(&11_111), "{before:?}");
    home.almoner(&["remove", "gone"]).expect(0);
    // The uploader could still have been about to name the blob. The next daemon process knows that it was not.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["list"]).expect(0);
    let end = Instant::now() + Duration::from_secs(60);
    while sizes(&home).contains(&22_222) {
        assert!(Instant::now() < end, "it is still there");
        std::thread::sleep(Duration::from_millis(200));
    }
    let after: Vec<u64> = before.into_iter().filter(|size| *size != 22_222).collect();
    assert_eq!(sizes(&home), after, "something else has gone");
    home.almoner(&["show", "kept"]).expect(0);
    let said = home.almoner(&["doctor", "daemon"]);
    assert!(said.out.contains("all readable"), "{said:?}");
}
