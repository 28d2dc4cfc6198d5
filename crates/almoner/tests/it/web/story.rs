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

/// A run that waits for its answer.
#[test]
fn what_happens_elsewhere_is_seen_and_nothing_that_was_typed_is_lost() {
    let home = asked();
    let (browser, door) = let_in(&home, true, "/m/1");
    browser.says("wants to do this");
    let reason = "because I say so";
    browser.write("textbox", "If not, why", reason);
    let first = browser.new_tab();
    browser.go(&door.page("/m/1"));
    browser.says("wants to do this");
    // Answered from a terminal: the tab in which nothing was typed shows it, the other one is told and loses nothing.
    home.almoner(&["approve", "1"]).expect(0);
    browser.says("✓ approved");
    browser.tab(&first);
    browser.says("This has changed while you were here");
    assert_eq!(browser.value(&browser.find("textbox", "If not, why")), reason);
    browser.press("button", "Approve");
    browser.says("Nothing was answered");
    browser.clean(&["409"]);
}

#[test]
fn offline_and_back_and_a_draft_outlives_the_daemon() {
    let home = asked();
    let (browser, door) = let_in(&home, true, "/chat");
    browser.says("Begin another");
    browser.write("textbox", "What you say", "half a sen");
    home.almoner(&["stop"]).expect(0);
    browser.says("offline");
    home.almoner(&["status"]).expect(0);
    // The page is the same one, and hears again what happens.
    let back = browser.wait(|| (!browser.text().contains("offline")).then_some(()));
    assert!(back.is_some(), "{}", browser.text());
    assert_eq!(browser.value(&browser.find("textbox", "What you say")), "half a sen");
    browser.reload();
    assert_eq!(browser.value(&browser.find("textbox", "What you say")), "half a sen");
    browser.go(&door.page("/"));
    browser.says("Needs you 1");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    browser.press("link", "#");
    browser.clean(&[
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
        "ERR_CONNECTION_RESET",
    ]);
}

fn talks(scripts: bool) {
    let home = Home::new();
    home.write("talk.json", r#"[{"turns": [{"text": "Good day."}, {"text": "It is <b>four</b>."}]}]"#);
    let (browser, _) = let_in(&home, scripts, "/chat");
    let model = format!("scripted:{}", home.path("talk.json").display());
    browser.write("textbox", "Model", &model);
    browser.write("textbox", "What you say", "Hello");
    browser.press("button", "Begin");
    if !scripts {
        browser.wait(|| {
            browser.reload();
            browser.text().contains("Good day.").then_some(())
        });
    }
    browser.says("Good day.");
    browser.write("textbox", "What you say", "Two and two?");
    browser.press("button", "Say it");
    if !scripts {
        browser.wait(|| {
            browser.reload();
            browser.text().contains("four").then_some(())
        });
    }
    browser.says("It is <b>four</b>.");
    browser.press("button", "End this conversation");
    browser.says("done · model");
    browser.clean(&[]);
}

#[test]
fn a_conversation_with_scripts() {
    talks(true);
}

#[test]
fn a_conversation_without_scripts() {
    talks(false);
}
