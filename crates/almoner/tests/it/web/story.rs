//! The story: a person reads what is asked, answers, and sees what comes of it.

use super::let_in;
use crate::home::Home;

fn asked() -> Home {
    let home = Home::with_inbox();
    let script = r#"[{"turns": [
        {"calls": [{"name": "outbox_send", "arguments": {"to": "a@b.example", "subject": "s", "body": "one"}}]},
        {"calls": [{"name": "outbox_send", "arguments": {"to": "c@d.example", "subject": "s", "body": "two"}}]},
        {"text": "done"}
    ]}]"#;
    home.write("calls.json", script);
    home.almoner(&[
        "run",
        "clerk.worker",
        "-e",
        "mail=mail",
        "-e",
        "out=out:rw",
        "-e",
        "outbox=outbox",
        "-m",
        "scripted:calls.json",
    ])
    .expect(7);
    home
}

fn answers(scripts: bool) {
    let home = asked();
    let (browser, door) = let_in(&home, scripts, "/");
    browser.press("link", "#1");
    browser.says("a@b.example");
    browser.write("textbox", "If not, why", "write to c@d.example instead");
    browser.press("button", "Deny");
    browser.says("denied: write to c@d.example instead");
    home.almoner(&["resume"]);
    browser.go(&door.page("/"));
    browser.press("link", "#3");
    browser.says("c@d.example");
    browser.press("button", "Approve for this run");
    browser.says("approved for this run");
    home.almoner(&["resume"]).expect(0);
    assert_eq!(std::fs::read_dir(home.path("outbox")).unwrap().count(), 1);
    browser.clean(&[]);
}

#[test]
fn a_person_answers_with_scripts() {
    answers(true);
}

#[test]
fn a_person_answers_without_scripts() {
    answers(false);
}
