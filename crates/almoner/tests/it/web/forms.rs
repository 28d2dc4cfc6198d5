//! Tests of forms: each control, errors at their fields, and kept input.

use serde_json::json;

use super::pages::looked_at_with;
use super::{Browser, let_in};
use crate::test_home::TestHome;

/// Returns a guest's form with a field for each kind of control.
pub(super) fn asked() -> (TestHome, u64) {
    let home = TestHome::new();
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["store", "plain:=1"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fields = [
        "title:string=What it is called",
        "retries:1..5=How often",
        "big:M.bigint()=Many digits",
        "sure:boolean=Whether you are sure",
        "mode:fast|slow=How",
        "note:M.opt(M.string())=Anything else",
        "tags:M.arrayOf(M.string())=Words for it",
        "either:M.or(M.string(), M.number())=Words or a number",
        "place:M.splitRecord({ town: M.string(), zip: M.nat() })=Where",
        "weights:M.recordOf(M.string(), M.number())=Weights by name",
        "with:M.remotable('Counter')=What to count with",
        "key:secret=The key",
        "spare:secret?=Another key",
        "photo:M.byteArray()=A picture",
    ];
    let form =
        [&["--as", "agent-fae", "form", "@host", "Settings, please"][..], &fields, &["--result", "answer"]]
            .concat();
    home.almoner(&form).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    (home, number)
}

fn filled(browser: &Browser) {
    browser.write("textbox", "What it is called", "A <b>title</b>");
    browser.write("textbox", "How often", "9");
    browser.write("textbox", "Many digits", "123456789012345678901234567890");
    browser.press("radio", "yes");
    browser.press("radio", "\"slow\"");
    browser.press("radio", "text");
    browser.write("textbox", "text", "words");
    browser.write("textbox", "town", "Ghent");
    browser.write("textbox", "The key", "open sesame");
    // The first of these is that of a text, which is left out.
    browser.write_into(&browser.all("radio", "fill it in")[1], " ");
}

fn a_form(scripts: bool) {
    let (home, number) = asked();
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    browser.says("Settings, please");
    filled(&browser);
    let is_wrong = |wrong: bool| {
        let retries = browser.find("textbox", "How often");
        let said = || browser.attribute(&retries, "aria-invalid").is_some() == wrong;
        assert!(browser.wait(|| said().then_some(())).is_some(), "not {wrong}");
    };
    // An error is told early, also to users of screen readers.
    is_wrong(scripts);
    if scripts {
        // An object that gets a name meanwhile can be picked, and no typed text is lost.
        home.almoner(&["eval", crate::sends::COUNTER, "--name", "newer"]).expect(0);
        let offered = "return [...document.querySelectorAll('.pick option')].some(one => one.textContent.startsWith('newer '))";
        assert!(browser.wait(|| (browser.run(offered) == true).then_some(())).is_some());
        assert_eq!(browser.value(&browser.find("textbox", "town")), "Ghent");
    }
    browser.press("button", "Send the answer");
    // Each error is told at its field, with its part. Only a secret has to be typed again.
    browser.says("from 1 to 5");
    browser.says("Nothing was sent: 5 of the fields do not fit");
    browser.says("Where, zip: fill this in: a whole number, 0 or more");
    browser.says("What to count with: fill this in: a capability (Counter)");
    browser.says("A picture: fill this in: bytes");
    browser.says("Field name: title");
    let retries = browser.find("textbox", "How often");
    assert_eq!(browser.attribute(&retries, "aria-invalid").as_deref(), Some("true"));
    assert_eq!(browser.value(&browser.find("textbox", "town")), "Ghent");
    assert_eq!(browser.value(&browser.find("textbox", "The key")), "");
    assert_eq!(browser.value(&browser.find("textbox", "Another key")), "", "it still stands there");
    looked_at_with(&browser, if scripts { "form" } else { "form-without-scripts" }, scripts);
    browser.write("textbox", "How often", "\u{E003}3");
    is_wrong(!scripts);
    browser.write("textbox", "zip", "9000");
    browser.write("textbox", "The key", "open sesame");
    browser.write("textbox", "Another key", "open barley");
    browser.choose("What to count with", "counter");
    if scripts {
        // Neither the visible part of a picker nor its menu is marked as wrong any more.
        let wrong = "return document.querySelectorAll('.pick [aria-invalid]').length";
        assert!(browser.wait(|| (browser.run(wrong) == 0).then_some(())).is_some());
    }
    std::fs::write(home.path("photo.png"), b"\x00\x01\xff").unwrap();
    browser.hand_over("Take the bytes of a file for A picture", &[home.path("photo.png")]);
    if scripts {
        browser.says("3 bytes, SHA-256");
    }
    browser.press("button", "Send the answer");
    let got = browser.wait(|| {
        let letters = home.almoner(&["inbox", "--json"]).json();
        (letters.as_array().map(Vec::len) == Some(0)).then_some(())
    });
    assert!(got.is_some(), "{}", browser.text());
    for secret in ["open sesame", "open barley"] {
        assert!(!browser.text().contains(secret));
    }
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0);
    let value = &got.json()["promise"]["value"];
    for (field, expected) in [
        ("title", json!("A <b>title</b>")),
        ("retries", json!(3)),
        ("sure", json!(true)),
        ("mode", json!("slow")),
        ("tags", json!([])),
        ("either", json!("words")),
    ] {
        assert_eq!(value[field], expected, "{field}: {}", got.out);
    }
    assert_eq!(value["place"]["town"], json!("Ghent"), "{}", got.out);
    assert_eq!(value["note"]["@qclass"], json!("undefined"), "left out: {}", got.out);
    assert_eq!(value["photo"], json!({ "@qclass": "bytes", "base64": "AAH/" }), "{}", got.out);
    assert_eq!(value["spare"]["@qclass"], json!("remotable"), "it is sealed: {}", got.out);
    assert!(!got.out.contains("open "), "{}", got.out);
    browser.clean(&["422"]);
}

#[test]
fn form_is_filled_and_submitted_with_scripts() {
    a_form(true);
}

#[test]
fn form_is_filled_and_submitted_without_scripts() {
    a_form(false);
}

/// Checks that each row that does not fit has a message of its own, while the user types and when the form is sent.
fn check_row_errors(scripts: bool) {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let deep = format!("deep:{}M.nat(){}=Deep", "M.arrayOf(".repeat(8), ")".repeat(8));
    let fields = ["marks:M.arrayOf(M.number())=Marks", &deep];
    home.almoner(&[&["--as", "agent-fae", "form", "@host", "Say"][..], &fields, &["--result", "r"]].concat())
        .expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    browser.says("Marks");
    for (row, text) in [("1", "one"), ("2", "2"), ("3", "three")] {
        browser.press("button", "Add a row to Marks");
        browser.write("textbox", row, text);
    }
    if scripts {
        // The third is told of, though the first does not fit either.
        browser.says("found the text \"three\"");
    }
    // A list in a list, eight deep.
    let mut said = "Deep".to_owned();
    for _ in 0..8 {
        let button = format!("Add a row to {said}");
        browser.press("button", &button);
        said = format!("1 of {said}");
    }
    browser.press("button", "Send the answer");
    browser.says("Nothing was sent: 3 of the fields do not fit");
    browser.says("found the text \"one\"");
    browser.says("found the text \"three\"");
    looked_at_with(&browser, if scripts { "rows-told" } else { "rows-told-without-scripts" }, scripts);
    if scripts {
        // A reload shows the form with the typed text, and sends nothing a second time.
        browser.reload();
        let first = || (browser.value(&browser.find("textbox", "1")) == "one").then_some(());
        assert!(browser.wait(first).is_some(), "{}", browser.text());
        assert!(!browser.text().contains("Nothing was sent"), "{}", browser.text());
    }
    browser.clean(&["422"]);
}

#[test]
fn invalid_row_shows_its_own_error_with_scripts() {
    check_row_errors(true);
}

#[test]
fn invalid_row_shows_its_own_error_without_scripts() {
    check_row_errors(false);
}
