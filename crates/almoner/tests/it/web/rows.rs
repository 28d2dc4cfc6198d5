//! Tests of rows in a form: the user adds, removes and moves them by mouse, by keyboard, and without scripts. The
//! typed text outlives it all.

use serde_json::{Value, json};

use super::{Browser, let_in};
use crate::test_home::TestHome;

const ALT: char = '\u{E00A}';
const UP: char = '\u{E013}';
const DOWN: char = '\u{E015}';
const RIGHT: char = '\u{E014}';
const SPACE: char = '\u{E00D}';
const ENTER: char = '\u{E007}';

/// Returns a guest's form with these fields, and its number.
fn asked(fields: &[&str]) -> (TestHome, u64) {
    let home = TestHome::new();
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let form = [&["--as", "agent-fae", "form", "@host", "Say"][..], fields, &["--result", "answer"]].concat();
    home.almoner(&form).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    (home, number)
}

fn answered(home: &TestHome) -> Value {
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0);
    got.json()["promise"]["value"].clone()
}

/// Returns the texts in the rows of words, in order.
fn row_texts(browser: &Browser) -> Vec<String> {
    let mut all = Vec::new();
    for number in 1..10 {
        match browser.all("textbox", &number.to_string()).first() {
            Some(row) => all.push(browser.value(row)),
            None => break,
        }
    }
    all
}

#[track_caller]
fn reads(browser: &Browser, expected: &[&str]) {
    let reads = browser.wait(|| (row_texts(browser) == expected).then_some(()));
    assert!(reads.is_some(), "{:?} instead of {expected:?}", row_texts(browser));
}

fn add(browser: &Browser, number: usize, text: &str) {
    browser.press("button", "Add a row to Words");
    browser.write("textbox", &number.to_string(), text);
}

fn moved(scripts: bool) {
    let (home, number) = asked(&["words:M.arrayOf(M.string())=Words", "set:M.setOf(M.string())=A set"]);
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    for (at, text) in ["a", "b", "c"].into_iter().enumerate() {
        add(&browser, at + 1, text);
    }
    browser.press("button", "Move row 3 of Words up");
    reads(&browser, &["a", "c", "b"]);
    browser.press("button", "Move row 1 of Words down");
    reads(&browser, &["c", "a", "b"]);
    browser.press("button", "Remove row 2 of Words");
    reads(&browser, &["c", "b"]);
    // A set has no order, so its rows have no handles to move them.
    browser.press("button", "Add a row to A set");
    browser.press("button", "Add a row to A set");
    browser.find("button", "Remove row 2 of A set");
    assert!(browser.all("button", "Move row 2 of A set").is_empty());
    browser.press("button", "Remove row 2 of A set");
    let gone = browser.wait(|| browser.all("button", "Remove row 2 of A set").is_empty().then_some(()));
    assert!(gone.is_some());
    if scripts {
        // A change of one row can mend the error at another row.
        browser.press("button", "Add a row to A set");
        let second = browser.wait(|| browser.all("textbox", "2").into_iter().nth(1)).unwrap();
        browser.write_into(&browser.all("textbox", "1")[1], "x");
        browser.write_into(&second, "x");
        browser.says("each element once");
        browser.write_into(&browser.all("textbox", "1")[1], "y");
        let gone = browser.wait(|| (!browser.text().contains("each element once")).then_some(()));
        assert!(gone.is_some(), "{}", browser.text());
        assert_eq!(browser.attribute(&second, "aria-invalid"), None);
    }
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    assert_eq!(answered(&home)["words"], json!(["c", "b"]));
    browser.clean(&[]);
}

#[test]
fn rows_are_moved_with_scripts() {
    moved(true);
}

#[test]
fn rows_are_moved_without_scripts() {
    moved(false);
}

#[test]
fn pasted_lines_become_rows() {
    let (home, number) = asked(&["words:M.arrayOf(M.string())=Words"]);
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    add(&browser, 1, "a");
    add(&browser, 2, "z");
    // The text goes in at the caret, which stands at the end. This browser has no clipboard, so the test sends the
    // event of a paste.
    browser.write("textbox", "1", "\u{E010}");
    browser.run(
        "const data = new DataTransfer();
         data.setData('text/plain', 'b\\nc\\r\\n\\nd\\n');
         const paste = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
         document.activeElement.dispatchEvent(paste);",
    );
    reads(&browser, &["ab", "c", "d", "z"]);
    let there = browser.wait(|| (browser.focused() == "3").then_some(()));
    assert!(there.is_some(), "one goes on at the last of them, not at {}", browser.focused());
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    assert_eq!(answered(&home)["words"], json!(["ab", "c", "d", "z"]));
    browser.clean(&[]);
}

/// Checks that a user can fill in and send everything by the keyboard alone.
#[test]
fn form_can_be_filled_by_keyboard_alone() {
    let (home, number) = asked(&[
        "title:string=What it is called",
        "often:1..5=How often",
        "sure:boolean=Whether you are sure",
        "mode:fast|slow=How",
        "note:M.opt(M.string())=Anything else",
        "words:M.arrayOf(M.string())=Words",
        "with:M.remotable('Counter')=What to count with",
    ]);
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    browser.says("Words");
    let press = |key: char| browser.keys(&key.to_string());
    browser.tab_to("What it is called");
    browser.keys("A title");
    browser.tab_to("How often, as a slider");
    press(RIGHT);
    press(RIGHT);
    browser.tab_to("yes");
    press(SPACE);
    browser.tab_to("\"fast\"");
    press(DOWN);
    browser.tab_to("leave it out");
    press(DOWN);
    browser.tab_to("Anything else");
    browser.keys("so");
    for (number, word) in [("1", "one"), ("2", "two"), ("3", "three")] {
        browser.tab_to("Add a row to Words");
        press(SPACE);
        let there = browser.wait(|| (browser.focused() == number).then_some(()));
        assert!(there.is_some(), "the new row has the focus, not {}", browser.focused());
        browser.keys(word);
    }
    // The row that moves keeps the focus, and the typed text goes on there.
    browser.chord(ALT, UP);
    browser.chord(ALT, UP);
    browser.chord(ALT, UP);
    browser.chord(ALT, DOWN);
    let there = browser
        .wait(|| (browser.focused() == "2" && row_texts(&browser) == ["one", "three", "two"]).then_some(()));
    assert!(there.is_some(), "{} {:?}", browser.focused(), row_texts(&browser));
    browser.keys("!");
    browser.tab_to("What to count with");
    press(DOWN);
    press(ENTER);
    browser.tab_to("Send the answer");
    press(ENTER);
    browser.says("✓ answered");
    let got = answered(&home);
    for (field, expected) in [
        ("title", json!("A title")),
        ("often", json!(3)),
        ("sure", json!(true)),
        ("mode", json!("slow")),
        ("note", json!("so")),
        ("words", json!(["one", "three!", "two"])),
    ] {
        assert_eq!(got[field], expected, "{field}: {got}");
    }
    browser.clean(&[]);
}

/// Checks that typed text survives a reload, a change of the rows, and a restart of the daemon.
#[test]
fn half_filled_form_survives_reload_and_restart() {
    let (home, number) = asked(&[
        "title:string=What it is called",
        "either:M.or(M.string(), M.number())=Either",
        "words:M.arrayOf(M.string())=Words",
    ]);
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    browser.write("textbox", "What it is called", "Half a ti");
    // The text for the other kind stays as well.
    browser.press("radio", "text");
    browser.write("textbox", "text", "words");
    browser.press("radio", "a number");
    browser.write("textbox", "a number", "7");
    add(&browser, 1, "a");
    add(&browser, 2, "b");
    browser.press("button", "Move row 2 of Words up");
    reads(&browser, &["b", "a"]);
    let holds = |when: &str| {
        reads(&browser, &["b", "a"]);
        assert_eq!(browser.value(&browser.find("textbox", "What it is called")), "Half a ti", "{when}");
        assert_eq!(browser.value(&browser.find("textbox", "a number")), "7", "{when}");
        browser.press("radio", "text");
        assert_eq!(browser.value(&browser.find("textbox", "text")), "words", "{when}");
        browser.press("radio", "a number");
    };
    browser.reload();
    holds("after a reload");
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["status"]).expect(0);
    browser.wait(|| (!browser.text().contains("offline")).then_some(()));
    holds("after a restart");
    browser.reload();
    holds("after a restart and a reload");
    browser.write("textbox", "What it is called", "tle");
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    let got = answered(&home);
    assert_eq!(got["words"], json!(["b", "a"]));
    assert_eq!(got["either"], json!(7));
    browser.clean(&[
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
        "ERR_CONNECTION_RESET",
    ]);
}

/// Checks the counter below a list that must have a number of fitting rows. It counts as the check does.
fn counted(scripts: bool) {
    let (home, number) = asked(&[
        "marks:M.and(M.arrayOf(M.number()), M.containerHas(M.gte(3), 2n))=Marks",
        "some:M.containerHas(M.number(), 1n)=Some",
    ]);
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    browser.says("0 of 2 needed rows are 3 or more");
    // Without scripts the user presses Enter, which draws the page anew.
    let look = if scripts { "".to_owned() } else { ENTER.to_string() };
    let add = |list: &str| browser.press("button", &format!("Add a row to {list}"));
    add("Marks");
    browser.write("textbox", "1", &format!("4{look}"));
    browser.says("1 of 2 needed rows are 3 or more");
    add("Marks");
    browser.write("textbox", "2", &format!("1{look}"));
    browser.says("1 of 2 needed rows are 3 or more");
    // Rows of any value, first of all of the one that is asked for.
    add("Some");
    browser.press("radio", "text");
    browser.write("textbox", "text", "x");
    browser.write("textbox", "2", &look);
    browser.says("0 of 1 needed row fits: a number");
    browser.press("button", "Send the answer");
    browser.says("Nothing was sent: 2 of the fields do not fit");
    browser.says("a collection with at least 1 of: a number");
    browser.write("textbox", "2", &format!("2{look}"));
    browser.says("2 of 2 needed rows are 3 or more");
    // The list fits now, and its error goes.
    if scripts {
        let gone = || browser.run("return document.getElementById('f0-error').textContent") == json!("");
        assert!(browser.wait(|| gone().then_some(())).is_some(), "{}", browser.text());
    }
    add("Some");
    browser.press("button", "Move row 2 of Some up");
    let moved = browser.wait(|| (!browser.all("button", "Move row 2 of Some up").is_empty()).then_some(()));
    assert!(moved.is_some());
    browser.press("radio", "a number");
    browser.write("textbox", "a number", &format!("7{look}"));
    browser.says("1 of 1 needed row fits: a number");
    super::pages::looked_at_with(
        &browser,
        if scripts { "counted" } else { "counted-without-scripts" },
        scripts,
    );
    browser.press("button", "Remove row 1 of Marks");
    browser.says("1 of 2 needed rows are 3 or more");
    add("Marks");
    browser.write("textbox", "2", "3");
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    let got = answered(&home);
    assert_eq!((&got["marks"], &got["some"]), (&json!([12, 3]), &json!([7, "x"])), "{got}");
    browser.clean(&["422"]);
}

#[test]
fn required_list_elements_are_counted_with_scripts() {
    counted(true);
}

#[test]
fn required_list_elements_are_counted_without_scripts() {
    counted(false);
}

/// Checks that text typed while the daemon draws the rows anew is not lost, and that the focus stays in its place.
#[test]
fn text_typed_while_rows_move_is_kept() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.write(
        "form.json",
        r#"{"words": {"pattern": ["string"], "label": "Words", "default": ["one", "two"]},
            "other": {"pattern": "M.string({ stringLengthLimit: 50 })", "label": "Another"}}"#,
    );
    let file = home.path("form.json").display().to_string();
    home.almoner(&["--as", "agent-fae", "form", "@host", "Say", "--file", &file, "--result", "r"]).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    let (browser, door) = let_in(&home, true, &format!("/m/{number}"));
    reads(&browser, &["one", "two"]);
    browser.run(
        "const soon = window.fetch; window.fetch = (...all) => new Promise(go => setTimeout(go, 700)).then(() => soon(...all)); return true;",
    );
    let is = |expected: &str| {
        let all =
            "return [...document.querySelectorAll('#fill input[type=text]')].map(one => one.value).join('|')";
        let there = browser.wait(|| (browser.run(all) == expected).then_some(()));
        assert!(there.is_some(), "{expected}: {}", browser.run(all));
    };
    // The second row is moved up, and written in at once.
    browser.run(
        "const row = document.querySelectorAll('.item input[type=text]')[1]; row.focus(); row.setSelectionRange(9, 9); return true;",
    );
    browser.chord(ALT, UP);
    browser.keys("xyz");
    is("twoxyz|one|");
    browser.keys("!");
    is("twoxyz!|one|");
    // A row comes while one writes elsewhere.
    browser.press("button", "Add a row to Words");
    browser.write("textbox", "Another", "half");
    browser.find("textbox", "3");
    browser.keys(" and whole");
    is("twoxyz!|one||half and whole");
    // A default row that the user removed does not come back by itself.
    home.write("only.json", r#"{"words": {"pattern": ["string"], "label": "Words", "default": ["one"]}}"#);
    let file = home.path("only.json").display().to_string();
    home.almoner(&["--as", "agent-fae", "form", "@host", "Say more", "--file", &file, "--result", "s"])
        .expect(0);
    browser.go(&door.page(&format!("/m/{}", number + 1)));
    browser.press("button", "Remove row 1 of Words");
    is("");
    browser.reload();
    browser.says("Say more");
    is("");
    browser.clean(&[]);
}
