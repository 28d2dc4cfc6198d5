//! Tests of the main story: a user reads a question, answers it, and sees its outcome.

use std::time::Duration;

use serde_json::json;

use super::{enter, let_in, writes};
use crate::test_home::TestHome;

fn asked() -> TestHome {
    writes(&[("a@b.example", "one"), ("c@d.example", "two")])
}

fn answers(scripts: bool) {
    let home = asked();
    let (browser, door) = let_in(&home, scripts, "/");
    browser.press("link", "#1");
    browser.says("a@b.example");
    browser.write("textbox", "Reason for denying", "write to c@d.example instead");
    browser.press("button", "Deny");
    browser.says("✗ Denied: clerk");
    // The repaired call takes the place of the denied one, and says what differs.
    home.almoner(&["resume"]);
    if !scripts {
        browser.reload();
    }
    browser.says("It asks again, in message 2.");
    browser.says("What differs from the call that you denied");
    browser.says("- a@b.example");
    browser.says("+ c@d.example");
    browser.go(&door.page("/"));
    browser.press("link", "#2");
    browser.says("c@d.example");
    browser.press("checkbox", "Send a mail to “c@d.example”");
    browser.press("button", "More answers");
    browser.press("button", "Approve for this run");
    browser.says("✓ Approved for this run");
    home.almoner(&["resume"]).expect(0);
    assert_eq!(std::fs::read_dir(home.path("outbox")).unwrap().count(), 1);
    browser.clean(&[]);
}

#[test]
fn approval_is_answered_with_scripts() {
    answers(true);
}

#[test]
fn approval_is_answered_without_scripts() {
    answers(false);
}

/// Checks that a page shows events from elsewhere and keeps the typed text, at a run that waits for its answer.
#[test]
fn change_in_another_tab_is_shown_and_typed_text_is_kept() {
    let home = asked();
    let (browser, door) = let_in(&home, true, "/m/1");
    browser.says("wants to send a mail");
    let reason = "because I say so";
    browser.write("textbox", "Reason for denying", reason);
    let first = browser.new_tab();
    browser.go(&door.page("/m/1"));
    browser.says("wants to send a mail");
    // Answered in one tab: the other one is told and loses nothing.
    browser.press("checkbox", "Send a mail");
    browser.press("button", "Approve");
    browser.says("✓ Approved");
    browser.tab(&first);
    browser.says("This has changed while you were here");
    assert_eq!(browser.value(&browser.find("textbox", "Reason for denying")), reason);
    browser.press("checkbox", "Send a mail");
    browser.press("button", "Approve");
    browser.says("Nothing was answered");
    browser.clean(&["409"]);
}

/// Checks that an open form stays as it is, so that a button never does anything else than it says.
#[test]
fn form_answered_elsewhere_keeps_its_buttons_and_text() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to eat"]);
    let number = crate::sends::wait_for_mail(&home, "request");
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    browser.says("something to eat");
    browser.write("textbox", "Reason (whoever asked will read it)", "not before noon");
    home.almoner(&["reject", &number.to_string(), "-r", "no"]).expect(0);
    browser.says("This has changed while you were here");
    assert_eq!(
        browser.value(&browser.find("textbox", "Reason (whoever asked will read it)")),
        "not before noon"
    );
    browser.press("button", "Refuse");
    browser.says("That was not done");
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0);
    let letter = all.json().as_array().unwrap().iter().find(|one| one["number"] == number).unwrap().clone();
    assert!(!letter["message"].is_null() && !letter.to_string().contains("dismissed\":true"), "{letter}");
    browser.clean(&["409"]);
}

/// Checks that the page outlives a lost network, and the end and the kill of the daemon, without losing anything.
#[test]
fn draft_survives_offline_time_and_daemon_restart() {
    let home = asked();
    let (browser, door) = let_in(&home, true, "/chat");
    browser.says("Begin another");
    browser.write("textbox", "What you say", "half a sen");
    let is_back = |after: &str| {
        let back = browser.wait(|| (!browser.text().contains("offline")).then_some(()));
        assert!(back.is_some(), "{after}: {}", browser.text());
        assert_eq!(browser.value(&browser.find("textbox", "What you say")), "half a sen", "{after}");
    };
    home.almoner(&["stop"]).expect(0);
    browser.says("offline");
    home.almoner(&["status"]).expect(0);
    is_back("the end of the daemon");
    let pid = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_u64().unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    browser.says("offline");
    home.almoner(&["status"]).expect(0);
    is_back("a daemon that was killed");
    browser.reload();
    assert_eq!(browser.value(&browser.find("textbox", "What you say")), "half a sen");
    browser.go(&door.page("/"));
    browser.says("Needs you 1");
    // The page repeats a request that fails, so that it does not stay as it was.
    let network = |offline: bool| {
        let conditions =
            json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        browser.devtools("Network.emulateNetworkConditions", &conditions);
    };
    network(true);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to eat"]);
    browser.says("offline");
    assert!(!browser.text().contains("something to eat"), "{}", browser.text());
    network(false);
    browser.says("something to eat");
    browser.wait(|| (!browser.text().contains("offline")).then_some(())).expect("it is not offline");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    browser.press("link", "#");
    browser.clean(&[
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
        "ERR_CONNECTION_RESET",
        "ERR_INTERNET_DISCONNECTED",
        "ERR_NETWORK_CHANGED",
    ]);
}

fn talks(scripts: bool) {
    let home = TestHome::new();
    home.write(
        "talk.json",
        r#"[{"turns": [{"text": "Good day."}, {"text": "It is <b>four</b>, **truly**."}]}]"#,
    );
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
    if scripts {
        // Shift and Enter break the line, and Enter sends.
        browser.write("textbox", "What you say", "\u{E008}\u{E007}\u{E008}Now.\u{E007}");
    } else {
        browser.press("button", "Say it");
    }
    if !scripts {
        browser.wait(|| {
            browser.reload();
            browser.text().contains("four").then_some(())
        });
    }
    // Markdown becomes a text style, and markup stays text.
    browser.says("It is <b>four</b>, truly.");
    browser.press("button", "End this conversation");
    browser.press("button", "End it");
    browser.says("You ended this conversation.");
    browser.clean(&[]);
}

#[test]
fn conversation_works_with_scripts() {
    talks(true);
}

#[test]
fn conversation_works_without_scripts() {
    talks(false);
}

/// The turns of the clerk's model: it sends a mail, is denied, repairs it, and sends once more. At last it tries
/// again after its grant was revoked.
const CLERK: &str = r#"[{"worker": "clerk", "turns": [
    {"calls": [{"name": "outbox_send", "arguments": {"to": "a@b.example", "subject": "s", "body": "one"}}]},
    {"calls": [{"name": "outbox_send", "arguments": {"to": "c@d.example", "subject": "s", "body": "two"}}]},
    {"calls": [{"name": "outbox_send", "arguments": {"to": "c@d.example", "subject": "s", "body": "two"}}]},
    {"calls": [{"name": "outbox_send", "arguments": {"to": "e@f.example", "subject": "s", "body": "three"}}]},
    {"text": "done"}
]}]"#;

/// The time between the effects and the question why.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// Waits for a message of this kind that needs the person, as an inbox without scripts is looked at: again and again.
#[track_caller]
fn waits_for(home: &TestHome, kind: &str) -> u64 {
    crate::sends::wait_for_mail(home, kind)
}

/// Plays the story, from a guest's proposal to the revocation of a grant.
fn the_story(scripts: bool) {
    let home = TestHome::new();
    for counter in ["counter", "ledger"] {
        home.almoner(&["eval", crate::sends::COUNTER, "--name", counter]).expect(0);
    }
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.write("count.js", "E(count).incr()");
    home.almoner(&[
        "--as",
        "agent-fae",
        "define",
        "count.js",
        "--slot",
        "count:M.remotable('Counter')=What to count with",
        "--result",
        "r",
    ])
    .expect(0);
    let (browser, door) = let_in(&home, scripts, "/");

    // The user reads a guest's proposal, its effects, and the grants of each choice.
    let proposal = waits_for(&home, "definition");
    browser.press("link", &format!("#{proposal}"));
    browser.says("E(count).incr()");
    browser.says("fae");
    browser.says("incr");
    browser.choose("One of your names", "counter");
    browser.press("button", "Show what this would grant");
    browser.says("What you would grant");
    browser.says("counter");
    browser.press("button", "Endow it");
    let counted = |name: &str| crate::sends::evaluated(&home, &["E(c).add(0n)", &format!("c={name}")]);
    let done = browser.wait(|| (counted("counter") == "1").then_some(()));
    assert!(done.is_some(), "{}", browser.text());
    assert_eq!(counted("ledger"), "0", "the other one was not handed over");

    // A worker uses its grants: its call is denied with a reason, repaired, and approved for this run.
    home.write("clerk.json", CLERK);
    home.write(
        "clerk.worker",
        "---\ndescription: Writes mails.\nslots:\n  outbox: outbox\n---\nSend the mails.\n",
    );
    std::fs::create_dir(home.path("outbox")).unwrap();
    let model = format!("scripted:{}", home.path("clerk.json").display());
    let outbox = format!("outbox={}", home.path("outbox").display());
    home.almoner(&["run", "clerk.worker", "-e", &outbox, "-m", &model, "--detach"]).expect(0);
    let sent = || std::fs::read_dir(home.path("outbox")).unwrap().count();
    let first = waits_for(&home, "approval");
    browser.go(&door.page(&format!("/m/{first}")));
    browser.write("textbox", "Reason for denying", "write to c@d.example");
    browser.press("button", "Deny");
    browser.says("✗ Denied: clerk");
    let second = waits_for(&home, "approval");
    browser.go(&door.page(&format!("/m/{second}")));
    browser.says("c@d.example");
    browser.press("checkbox", "Send a mail");
    browser.press("button", "More answers");
    browser.press("button", "Approve for this run");
    browser.says("✓ Approved for this run");
    // The same call needs no answer. Another call asks again, and waits as long as it takes.
    let third = waits_for(&home, "approval");
    assert!(third > second && sent() == 2, "message {third}, {} sent", sent());
    // A week goes by, and the daemon has started anew: nothing was answered meanwhile, and the session is over.
    home.later(WEEK);
    assert_eq!(sent(), 2);
    assert_eq!(waits_for(&home, "approval"), third);
    let door = enter(&browser, &home, scripts, "/why");

    // One finds out why it happened.
    let file = std::fs::read_dir(home.path("outbox")).unwrap().next().unwrap().unwrap().path();
    browser.write("textbox", "A run", &file.display().to_string());
    browser.press("button", "Ask why");
    browser.says("clerk");
    browser.says(&format!("message {second}"));

    // The user revokes the grant of the effect, and the next call fails.
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let grants = grants.as_array().unwrap();
    let number = &grants.iter().find(|grant| grant["slot"] == "outbox").unwrap()["number"];
    browser.go(&door.page("/grants"));
    browser.press("link", &format!("g{number}"));
    browser.press("button", &format!("Revoke g{number}"));
    browser.says("revoked");
    browser.go(&door.page(&format!("/m/{third}")));
    // Nothing would come of a yes any more, and none is offered.
    browser.says("A yes would come to nothing: the grant of `outbox` was revoked.");
    browser.press("button", "Deny");
    home.almoner(&["resume"]);
    let refused = browser.wait(|| {
        let trace = home.almoner(&["trace", "r1"]).out;
        (trace.contains("denied") && trace.contains("finished")).then_some(())
    });
    assert!(refused.is_some(), "{}", home.almoner(&["trace", "r1"]).out);
    assert_eq!(sent(), 2);
    browser.go(&door.page("/r/r1"));
    browser.says("revoked");
    // The journal knows of the week.
    let steps = home.trace("r1")["steps"].take();
    let at = |step: Option<&serde_json::Value>| step.and_then(|step| step["at_ms"].as_i64()).unwrap();
    let steps = steps.as_array().unwrap();
    let took = at(steps.last()) - at(steps.first());
    assert!(took >= i64::try_from(WEEK.as_millis()).unwrap(), "{took} ms");
    browser.clean(&[
        "409",
        "422",
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
    ]);
}

#[test]
fn proposal_is_endowed_used_and_revoked_with_scripts() {
    the_story(true);
}

#[test]
fn proposal_is_endowed_used_and_revoked_without_scripts() {
    the_story(false);
}
