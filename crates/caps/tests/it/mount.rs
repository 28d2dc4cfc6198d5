//! Directories as the user's own clients use them: lookups, changes, and that nothing leads out.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use caps::mount::{MAX_BYTES, MAX_TEXT_BYTES, Mount};
use kernel::grant::Attenuation;
use proptest::prelude::*;

/// Returns a folder with a mount in it, and other files beside the mount.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for dir in ["root/sub/deep", "outside"] {
        fs::create_dir_all(place.path().join(dir)).unwrap();
    }
    for (file, text) in [
        ("root/a.md", "a"),
        ("root/b.key", "key"),
        ("root/sub/b.md", "b"),
        ("root/sub/deep/c.md", "c"),
        ("outside/secret.md", "CANARY"),
    ] {
        fs::write(place.path().join(file), text).unwrap();
    }
    for (link, to) in [
        ("root/out", "../outside"),
        ("root/out.md", "../outside/secret.md"),
        ("root/in", "sub"),
        ("root/in.md", "sub/b.md"),
        ("root/sub/up", ".."),
        ("root/sub/up.md", "../a.md"),
        ("root/abs", "/"),
    ] {
        symlink(to, place.path().join(link)).unwrap();
    }
    place
}

fn open(place: &Path) -> Mount {
    let path = place.join("root");
    Mount::open(path.to_str().unwrap(), false, &Attenuation::default()).unwrap()
}

fn way(path: &str) -> Vec<String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the outcome of a call, in a line.
fn said<T: std::fmt::Debug>(outcome: Result<T, kernel::proposal::Finding>) -> String {
    match outcome {
        Ok(value) => format!("{value:?}"),
        Err(finding) => finding.rule,
    }
}

fn names(mount: &Mount, path: &str) -> String {
    match mount.list(&way(path)) {
        Ok(all) => all
            .iter()
            .map(|entry| format!("{}{}", entry.name, if entry.is_directory { "/" } else { "" }))
            .collect::<Vec<_>>()
            .join(" "),
        Err(finding) => finding.rule,
    }
}

fn text(mount: &Mount, path: &str) -> String {
    match mount.read(&way(path), MAX_TEXT_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(finding) => finding.rule,
    }
}

#[test]
fn lookups_see_files_and_links_inside_the_mount() {
    let place = place();
    let mount = open(place.path());
    assert_eq!(names(&mount, ""), "a.md b.key in/ in.md sub/");
    assert_eq!(names(&mount, "in"), "b.md deep/ up/ up.md");
    assert_eq!(names(&mount, "a.md"), "file/not-a-directory");
    assert_eq!(names(&mount, "nothing"), "file/missing");
    assert_eq!(text(&mount, "in.md"), "b");
    assert_eq!(text(&mount, "sub/up.md"), "a");
    assert_eq!(text(&mount, "sub"), "mount/kind");
    for (path, there) in [
        ("", true),
        ("a.md", true),
        ("sub/deep", true),
        ("in/b.md", true),
        ("nothing", false),
        ("nothing/x", false),
        ("a.md/x", false),
        ("out", false),
        ("out.md", false),
        ("abs/etc", false),
    ] {
        assert_eq!(said(mount.has(&way(path))), there.to_string(), "{path}");
    }
    let looked = mount.look_up(&way("in/deep")).unwrap();
    assert_eq!((looked.place, looked.is_directory), (way("sub/deep"), true));
    assert_eq!(said(mount.maybe_read(&way("nothing"), MAX_TEXT_BYTES)), "None");
}

#[test]
fn changes_write_move_and_remove_files() {
    let place = place();
    let mount = open(place.path());
    let root = place.path().join("root");
    mount.make_directory(&way("new/er")).unwrap();
    mount.make_directory(&way("new/er")).unwrap();
    mount.write(&way("new/er/x.md"), b"one", MAX_TEXT_BYTES).unwrap();
    mount.write(&way("new/er/x.md"), b"two", MAX_TEXT_BYTES).unwrap();
    assert_eq!(text(&mount, "new/er/x.md"), "two");
    assert_eq!(said(mount.write(&way("gone/x.md"), b"", MAX_TEXT_BYTES)), "file/missing");
    assert_eq!(said(mount.write(&way("sub"), b"", MAX_TEXT_BYTES)), "file/directory");
    assert_eq!(said(mount.write(&way("big"), b"1234", 3)), "mount/size");
    assert_eq!(said(mount.rename(&way("new/er/x.md"), &way("a.md"))), "()");
    assert_eq!(text(&mount, "a.md"), "two");
    assert_eq!(said(mount.rename(&way("new"), &way("sub/moved"))), "()");
    assert_eq!(names(&mount, "sub/moved"), "er/");
    assert_eq!(said(mount.rename(&way("nothing"), &way("x"))), "file/missing");
    assert_eq!(said(mount.rename(&way("in"), &way("x"))), "mount/kind");
    assert_eq!(said(mount.remove(&way("sub/moved"))), "file/failed");
    assert_eq!(said(mount.remove(&way("sub/moved/er"))), "()");
    assert_eq!(said(mount.remove(&way("sub/moved"))), "()");
    assert_eq!(said(mount.remove(&way("a.md"))), "()");
    assert_eq!(said(mount.remove(&way("a.md"))), "file/missing");
    assert_eq!(said(mount.remove(&[])), "mount/itself");
    // The link itself is removed, not its target.
    assert_eq!(said(mount.remove(&way("out.md"))), "()");
    assert!(place.path().join("outside/secret.md").exists());
    assert!(
        fs::read_dir(&root)
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().starts_with(".almoner-") })
    );
}

#[test]
fn changes_follow_no_links() {
    let place = place();
    let mount = open(place.path());
    for path in ["in/x.md", "out/x.md", "in.md", "out.md", "abs/tmp/x.md", "sub/up/x.md"] {
        assert_eq!(said(mount.write(&way(path), b"x", MAX_TEXT_BYTES)), "file/link", "{path}");
    }
    assert_eq!(said(mount.remove(&way("out/secret.md"))), "file/link");
    assert_eq!(said(mount.rename(&way("a.md"), &way("out/a.md"))), "file/link");
    assert_eq!(said(mount.rename(&way("out/secret.md"), &way("x.md"))), "file/link");
    assert_eq!(said(mount.make_directory(&way("out/x"))), "file/link");
    assert_eq!(fs::read_dir(place.path().join("outside")).unwrap().count(), 1);
}

#[test]
fn entered_part_cannot_be_left() {
    let place = place();
    let part = || open(place.path()).enter(&way("sub")).unwrap();
    assert_eq!(names(&part(), ""), "b.md deep/");
    // A link out of the part leads out, although it stays in the directory.
    for path in ["up", "up.md", "up/a.md"] {
        assert_eq!(said(part().has(&way(path))), "false", "{path}");
        assert_eq!(text(&part(), path), "file/escape", "{path}");
    }
    let up = || ["..".to_owned(), "a.md".to_owned()];
    assert_eq!(said(part().has(&up())), "path/parent");
    assert_eq!(said(part().read(&up(), MAX_BYTES)), "path/parent");
    assert_eq!(said(part().write(&up(), b"x", MAX_TEXT_BYTES)), "path/parent");
    assert_eq!(said(part().rename(&way("b.md"), &up())), "path/parent");
    // A place is entered name by name, and no link is a place.
    for place_ in ["in", "out", "sub/up", "abs", "a.md"] {
        let refused = open(place.path()).enter(&way(place_)).err().map(|finding| finding.rule);
        assert!(refused.is_some(), "{place_}");
    }
    assert!(open(place.path()).enter(&["..".to_owned()]).is_err());
    assert!(open(place.path()).enter(&["sub/up".to_owned()]).is_err());
}

#[test]
fn read_only_mount_refuses_changes() {
    let place = place();
    let mount = open(place.path()).read_only();
    let before = fs::metadata(place.path().join("root")).unwrap().mtime_nsec();
    for outcome in [
        mount.write(&way("a.md"), b"x", MAX_TEXT_BYTES),
        mount.write(&way("new.md"), b"x", MAX_TEXT_BYTES),
        mount.remove(&way("a.md")),
        mount.rename(&way("a.md"), &way("c.md")),
        mount.make_directory(&way("d")),
    ] {
        assert_eq!(said(outcome), "mount/read-only");
    }
    let part = open(place.path()).read_only().enter(&way("sub")).unwrap();
    assert_eq!(said(part.write(&way("b.md"), b"x", MAX_TEXT_BYTES)), "mount/read-only");
    assert_eq!(text(&mount, "a.md"), "a");
    assert_eq!(fs::metadata(place.path().join("root")).unwrap().mtime_nsec(), before);
}

#[test]
fn files_outside_the_attenuation_are_invisible() {
    let place = place();
    let attenuation =
        Attenuation { suffixes: [".md".to_owned()].into(), max_bytes: Some(3), ..Attenuation::default() };
    let path = place.path().join("root");
    let mount = Mount::open(path.to_str().unwrap(), false, &attenuation).unwrap();
    assert_eq!(names(&mount, ""), "a.md in/ in.md sub/");
    assert_eq!(text(&mount, "b.key"), "dir/suffix");
    assert_eq!(said(mount.has(&way("b.key"))), "false");
    assert_eq!(said(mount.write(&way("c.key"), b"x", MAX_TEXT_BYTES)), "dir/suffix");
    assert_eq!(said(mount.write(&way("c.md"), b"1234", MAX_TEXT_BYTES)), "mount/size");
    assert_eq!(said(mount.rename(&way("a.md"), &way("a.key"))), "dir/suffix");
    assert_eq!(said(mount.rename(&way("b.key"), &way("b.md"))), "dir/suffix");
    assert_eq!(said(mount.remove(&way("b.key"))), "dir/suffix");
    let part = Mount::open(path.to_str().unwrap(), false, &attenuation).unwrap().enter(&way("sub")).unwrap();
    assert_eq!(said(part.write(&way("c.key"), b"x", MAX_TEXT_BYTES)), "dir/suffix");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn arbitrary_names_never_lead_out(names in prop::collection::vec(prop_oneof![
        4 => prop::sample::select(vec![
            "..", ".", "", "/", "../..", "/etc", "\\..", "%2e%2e", "．．", "\0", "~", "out", "up", "abs", "in", "sub",
            "a.md", "out.md", "secret.md", "outside", "up.md", "proc", "etc", "deep", "\u{202e}",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ], 1..6)) {
        for part in ["", "sub"] {
            let place = place();
            let mount = || open(place.path()).enter(&way(part)).unwrap();
            let read = mount().read(&names, MAX_BYTES).unwrap_or_default();
            prop_assert!(!String::from_utf8_lossy(&read).contains("CANARY"), "{names:?}");
            let _ = mount().write(&names, b"overwritten", MAX_TEXT_BYTES);
            let _ = mount().rename(&names, &["taken.md".to_owned()]);
            let _ = mount().make_directory(&names);
            let _ = mount().remove(&names);
            if let Ok(looked) = mount().look_up(&names) {
                prop_assert!(looked.place.iter().all(|name| name != ".."), "{names:?}");
            }
            prop_assert_eq!(fs::read(place.path().join("outside/secret.md")).unwrap(), b"CANARY", "{:?}", &names);
            prop_assert_eq!(fs::read_dir(place.path().join("outside")).unwrap().count(), 1, "{:?}", &names);
            prop_assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "{:?}", &names);
        }
    }
}

#[test]
fn swapped_part_never_leads_out() {
    let place = place();
    let root = place.path().join("root");
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/secret.md"), "inside").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Now a directory, now a link that leads out.
            while !is_over.load(Ordering::SeqCst) {
                let _ = fs::rename(root.join("real"), root.join("swap"));
                let _ = fs::remove_file(root.join("swap"));
                let _ = symlink("../outside", root.join("link"));
                let _ = fs::rename(root.join("link"), root.join("swap"));
                let _ = fs::remove_file(root.join("swap"));
                let _ = fs::rename(root.join("swap"), root.join("real"));
            }
        });
        for _ in 0..500 {
            let mount = open(place.path());
            for part in ["real", "swap"] {
                let through = mount.read(&way(&format!("{part}/secret.md")), MAX_BYTES).unwrap_or_default();
                assert_ne!(through, b"CANARY");
                let _ = mount.write(&way(&format!("{part}/new.md")), b"x", MAX_TEXT_BYTES);
                let _ = mount.remove(&way(&format!("{part}/secret.md.gone")));
                let Ok(inner) = open(place.path()).enter(&way(part)) else { continue };
                assert_ne!(inner.read(&way("secret.md"), MAX_BYTES).unwrap_or_default(), b"CANARY");
                let _ = inner.write(&way("new.md"), b"x", MAX_TEXT_BYTES);
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
    assert_eq!(fs::read_dir(place.path().join("outside")).unwrap().count(), 1);
    assert_eq!(fs::read(place.path().join("outside/secret.md")).unwrap(), b"CANARY");
}

#[test]
fn list_all_fails_on_unusable_names() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    for name in [&b"not\xffutf8.md"[..], b"a\\b.md", b"bell\x07.md"] {
        let place = place();
        let mount = open(place.path());
        let before: Vec<String> = mount.list(&[]).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(mount.list_all(&[]).unwrap().len(), before.len());
        fs::write(place.path().join("root").join(OsStr::from_bytes(name)), "x").unwrap();
        // Looking goes on without it; keeping does not.
        assert_eq!(mount.list(&[]).unwrap().len(), before.len());
        assert_eq!(said(mount.list_all(&[]).map(drop)), "mount/name", "{name:?}");
    }
}
