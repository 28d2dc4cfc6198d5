//! Tests of the picker as the user types into it: the matches, the choice, and that nothing else is ever sent.

use serde_json::json;

use super::browser::Browser;
use super::let_in;
use super::pages::looked_at;
use crate::test_home::TestHome;

const DOWN: &str = "\u{E015}";
const UP: &str = "\u{E013}";
const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const BACKSPACE: &str = "\u{E003}";
const ALT: char = '\u{E00A}';

const PICKER: &str = "What to count with";

/// Returns a home with many names, and a form that asks for one of them.
fn asked() -> (TestHome, u64) {
    let home = TestHome::new();
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    // The first letter is one of another alphabet.
    home.almoner(&["copy", "counter", "\u{441}ounter", "--force"]).expect(0);
    for at in 0..120 {
        home.almoner(&["copy", "counter", &format!("tally-{at:03}")]).expect(0);
    }
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "wholly-other"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&[
        "--as",
        "agent-fae",
        "form",
        "@host",
        "Settings, please",
        "with:M.remotable('Counter')=What to count with",
        "words:M.arrayOf(M.string())=Words",
        "more:M.arrayOf(M.remotable('Counter'))=More",
        "--result",
        "answer",
    ])
    .expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    (home, number)
}

fn shown(browser: &Browser) -> Vec<String> {
    let all = browser.run(
        "return [...document.querySelectorAll('[role=option]')].filter(o => o.offsetParent).map(o => o.textContent.split(' ·')[0])",
    );
    all.as_array().into_iter().flatten().map(|one| one.as_str().unwrap_or("").to_owned()).collect()
}

fn sent(browser: &Browser) -> String {
    browser.run("return document.querySelector('.pick select').value").as_str().unwrap_or("").to_owned()
}

#[test]
fn picker_text_filters_and_only_a_picked_option_is_sent() {
    let (home, number) = asked();
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    let field = || browser.find("combobox", PICKER);
    let written = || browser.value(&field());
    browser.write("combobox", PICKER, "COUNT tally-11");
    browser.says("10 fit");
    assert_eq!(shown(&browser).len(), 10);
    looked_at(&browser, "finding");
    assert_eq!(sent(&browser), "");
    // The look at the page has moved the focus, which closes the list. Backspace and a letter open it again.
    browser.write("combobox", PICKER, "\u{E003}1");
    browser.says("10 fit");
    // Enter in an open list sends no form.
    browser.keys(ENTER);
    assert!(browser.at().ends_with(&format!("/m/{number}")));
    browser.keys(DOWN);
    browser.keys(DOWN);
    browser.keys(UP);
    browser.keys(ENTER);
    assert!(written().starts_with("tally-110 · Counter"), "{}", written());
    assert_eq!(shown(&browser), Vec::<String>::new());
    let picked = sent(&browser);
    assert!(!picked.is_empty());
    let detail = browser.attribute(
        &browser.find("link", "What it is, and what it can be asked (opens in a new tab)"),
        "href",
    );
    assert!(detail.is_some_and(|to| to.ends_with(&picked)));
    // Looking around changes nothing; writing on picks nothing any more.
    browser.keys(DOWN);
    browser.keys(DOWN);
    browser.keys(ESCAPE);
    assert_eq!((written().starts_with("tally-110 · "), sent(&browser)), (true, picked));
    browser.write("combobox", PICKER, BACKSPACE);
    assert_eq!(sent(&browser), "");
    browser.chord('\u{E009}', 'a');
    browser.keys("counter");
    browser.says("The first 100 of 123 that fit");
    assert_eq!(shown(&browser)[0], "counter");
    browser.keys("\u{E004}");
    browser.says("Nothing is picked: choose one from the list");
    browser.press("button", "Send the answer");
    browser.says("Nothing was sent");
    browser.says("fill this in: a capability (Counter)");
    // The search text is there again.
    assert_eq!(written(), "counter");
    // The link of the error leads to the field.
    browser.press("link", PICKER);
    assert_eq!(browser.focused(), PICKER);
    browser.keys("\u{441}ounter");
    browser.says("One fits");
    assert!(
        browser
            .run("return document.querySelector('[role=option]').textContent")
            .to_string()
            .contains("look-alike letters")
    );
    browser.keys(ESCAPE);
    assert_eq!(written(), "");
    browser.keys("no such name");
    browser.says("None of your names fits what is written");
    browser.clean(&["422"]);
    drop(home);
}

#[test]
fn picked_option_survives_row_changes_and_a_reload() {
    let (home, number) = asked();
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    let written = || browser.value(&browser.find("combobox", PICKER));
    browser.says(PICKER);
    browser.write("combobox", PICKER, "wholly-other");
    browser.press("option", "wholly-other");
    browser.press("button", "Add a row to Words");
    browser.write("textbox", "1", "one");
    assert!(written().starts_with("wholly-other · "), "{}", written());
    browser.reload();
    let there = browser.wait(|| written().starts_with("wholly-other · ").then_some(()));
    assert!(there.is_some(), "{}", written());
    // A hundred are shown at once, and it is said that there are more.
    browser.choose(PICKER, "counter");
    assert!(written().starts_with("counter · "), "{}", written());
    browser.keys(DOWN);
    browser.says("The first 100 of 123 that fit");
    browser.keys(ESCAPE);
    // A row in which one picks moves as any other does.
    browser.press("button", "Add a row to More");
    browser.choose("1 of More", "counter");
    browser.press("button", "Add a row to More");
    browser.write("combobox", "2 of More", "wholly-other");
    browser.press("option", "wholly-other");
    browser.chord(ALT, UP.chars().next().unwrap());
    let first = || browser.value(&browser.find("combobox", "1 of More"));
    assert!(browser.wait(|| first().starts_with("wholly-other · ").then_some(())).is_some(), "{}", first());
    // The picker shows the first of an object's several names, and not one that looks like it.
    let second = browser.value(&browser.find("combobox", "2 of More"));
    assert!(second.starts_with("counter · "), "{second}");
    // A row that is drawn anew has no parts for browsers without scripts.
    assert_eq!(browser.run("return document.querySelectorAll('.item noscript').length"), 0);
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0).json();
    assert_eq!(got["promise"]["value"]["words"], json!(["one"]));
    browser.clean(&[]);
}
