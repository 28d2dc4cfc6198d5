//! A run becomes a worker with a test, from its page.

use serde_json::json;

use super::let_in;
use super::pages::looked_at_with;
use crate::test_home::TestHome;

fn saved(scripts: bool) {
    let home = TestHome::new();
    home.write("w.worker", "---\ninput: { n: int }\n---\nSay it {{ input.n }} times.\n");
    home.write("script.json", r#"[{"turns": [{"text": "blue blue"}]}]"#);
    home.write("letter.txt", "a letter\n");
    home.almoner(&["run", "w.worker", "letter.txt", "n:=2", "-m", "scripted:script.json"]).expect(0);
    let place = home.path("kept here");
    std::fs::create_dir(&place).unwrap();
    let (browser, _) = let_in(&home, scripts, "/r/r1");
    browser.press("link", "Save as a test");
    browser.says("Save r1 as a test");
    // The page tells of the error, and the typed text stays.
    browser.write("textbox", "Name", "twice");
    browser.write("textbox", "Directory", "kept here");
    browser.press("button", "Show what would be written");
    browser.says("write the whole path, beginning with /");
    assert_eq!(browser.value(&browser.find("textbox", "Name")), "twice");
    let prefix = place.display().to_string();
    let rest = prefix.strip_suffix("kept here").unwrap();
    browser.write("textbox", "Directory", &format!("\u{E011}{rest}"));
    browser.press("button", "Show what would be written");
    let files = [
        "twice.worker",
        "twice.case/replies.json",
        "twice.case/documents/letter.txt",
        "twice.case/case.json",
    ];
    for file in files {
        browser.says(&place.join(file).display().to_string());
    }
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "only looked at so far");
    looked_at_with(&browser, if scripts { "save" } else { "save-without-scripts" }, scripts);
    browser.press("button", "Write these");
    browser.says("almoner test");
    for file in files {
        assert!(place.join(file).is_file(), "{file}");
    }
    // The saved test passes, and finds a difference.
    let worker = place.join("twice.worker").display().to_string();
    let tried = home.almoner(&["test", &worker]).expect(0);
    assert!(tried.out.starts_with("same"), "{}", tried.out);
    std::fs::write(place.join("twice.case/result.json"), json!("red").to_string()).unwrap();
    home.almoner(&["test", &worker]).expect(1);
    // Nothing is replaced.
    let before = std::fs::read_to_string(&worker).unwrap();
    browser.press("link", "r1");
    browser.press("link", "Save as a test");
    browser.write("textbox", "Name", "twice");
    browser.write("textbox", "Directory", &prefix);
    browser.press("button", "Show what would be written");
    browser.says("is there already");
    assert_eq!(std::fs::read_to_string(&worker).unwrap(), before);
    browser.clean(&["422", "409"]);
}

#[test]
fn run_is_saved_with_scripts() {
    saved(true);
}

#[test]
fn run_is_saved_without_scripts() {
    saved(false);
}

#[test]
fn unseen_save_or_protected_directory_is_refused() {
    let home = TestHome::new();
    home.write("w.worker", "---\n---\nx\n");
    home.write("script.json", r#"[{"turns": [{"text": "y"}]}]"#);
    home.almoner(&["run", "w.worker", "-m", "scripted:script.json"]).expect(0);
    let visitor = super::visitor::Visitor::new(&home);
    let work = home.work().display().to_string();
    let state = home.root().join("state").display().to_string();
    for (what, body, status) in [
        ("unseen", format!("do=save&name=a&dir={work}"), 409),
        ("seen as something else", format!("do=save&_seen=00&name=a&dir={work}"), 409),
        ("another name", format!("name=../a&dir={work}"), 422),
        ("no directory", "name=a".to_owned(), 422),
        ("the daemon's own", format!("name=a&dir={state}"), 422),
    ] {
        let answer = visitor.send("/r/r1/save", &body);
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
    }
    assert!(!home.path("a.worker").exists());
}
