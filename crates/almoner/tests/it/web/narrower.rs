//! Tests of the picker: its offers, and a narrower object that the user makes there.

use serde_json::json;

use super::pages::looked_at_with;
use super::{Browser, let_in};
use crate::test_home::TestHome;

/// An object whose interface is called otherwise.
const LEDGER: &str = "makeExo('Ledger', M.interface('Ledger', { add: M.call(M.nat()).returns(M.number()) }), { add(n) { return Number(n); } })";

/// Returns the groups of a menu, each with its entries.
fn groups(browser: &Browser) -> String {
    let said = browser.run(
        "return [...document.querySelectorAll('optgroup')].map(group => group.label + ': ' +
           [...group.children].map(one => one.text.split(' · ')[0]).join(' ')).join('; ')",
    );
    said.as_str().unwrap().to_owned()
}

#[test]
fn picker_offers_objects_recorded_under_the_interface() {
    let home = TestHome::new();
    for (name, code) in [
        ("counter", crate::sends::COUNTER),
        ("ledger", LEDGER),
        ("thing", "Far('Remotable', { x() { return 1; } })"),
    ] {
        home.almoner(&["eval", code, "--name", name]).expect(0);
    }
    std::fs::create_dir(home.path("dir")).unwrap();
    home.almoner(&["mount", home.path("dir").to_str().unwrap(), "dir"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    fae(&["form", "@host", "Which?", "c:M.remotable('Counter')=What to count with", "--result", "r"]);
    let number = crate::sends::wait_for_mail(&home, "form");
    let (browser, door) = let_in(&home, true, &format!("/m/{number}"));
    let of_counters = "Recorded as Counter: counter; Others, whose interface is not known: thing";
    assert_eq!(groups(&browser), of_counters);
    browser.says("each recorded as something else");
    // The record is the store's: it is there after a restart, when no code has run again.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["status"]).expect(0);
    browser.reload();
    assert_eq!(groups(&browser), of_counters);
    // The form accepts only the objects that it offered, regardless of the user's other objects.
    browser.run("document.querySelector('select').selectedOptions[0].value = 'nonsense'");
    browser.press("button", "Send the answer");
    browser.says("Nothing was sent");
    browser.choose("What to count with", "counter · Counter");
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    // Cards of programs offer the same.
    home.write("count.js", "E(count).incr()");
    fae(&[
        "define",
        "count.js",
        "--slot",
        "count:M.remotable('Counter')=What to count with",
        "--result",
        "d",
    ]);
    let number = crate::sends::wait_for_mail(&home, "definition");
    browser.go(&door.page(&format!("/m/{number}")));
    assert_eq!(groups(&browser), of_counters);
    browser.clean(&[
        "422",
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
    ]);
}

/// Makes a narrower object of code at the picker of a form.
fn a_narrower_counter(scripts: bool) {
    let home = TestHome::new();
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let form = [
        "--as",
        "agent-fae",
        "form",
        "@host",
        "Settings, please",
        "title:string=What it is called",
        "words:M.arrayOf(M.string())=Words",
        "with:M.remotable('Counter')=What to count with",
        "--result",
        "answer",
    ];
    home.almoner(&form).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    browser.write("textbox", "What it is called", "A <b>title</b>");
    browser.press("button", "Add a row to Words");
    browser.write("textbox", "1", "one");
    browser.choose("What to count with", "counter");
    browser.press("button", "Make a narrower one for What to count with");
    browser.says("What stays of what it can do");
    // Its guard was recorded, so the user can choose among its methods and no others.
    browser.press("checkbox", "add");
    browser.write("textbox", "How long it lasts", "soon");
    browser.press("button", "Show what it would allow");
    browser.says("`soon` is not a time");
    browser.write("textbox", "How long it lasts", &format!("{}7d", "\u{E003}".repeat(4)));
    browser.write("textbox", "Your name for it", "small");
    browser.press("button", "Show what it would allow");
    browser.says("Whoever holds it may use your `counter`");
    browser.says("recorded as Counter): incr; for 7 d from when it is made");
    looked_at_with(&browser, if scripts { "narrower" } else { "narrower-without-scripts" }, scripts);
    browser.press("button", "Make it, and go back");
    browser.says("small is made, and picked below");
    assert_eq!(browser.value(&browser.find("textbox", "What it is called")), "A <b>title</b>");
    assert_eq!(browser.value(&browser.find("textbox", "1")), "one");
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0).json();
    assert_eq!(got["promise"]["value"]["words"], json!(["one"]));
    // The new object has only the chosen methods, and the original is as it was.
    assert_eq!(crate::sends::evaluated(&home, &["E(c).incr()", "c=small"]), "1");
    crate::sends::refused(&home, &["E(c).add(1n)", "c=small"], "granted without this method");
    assert_eq!(crate::sends::evaluated(&home, &["E(c).add(1n)", "c=counter"]), "2");
    browser.clean(&["422"]);
}

#[test]
fn narrowed_object_is_created_at_a_picker_with_scripts() {
    a_narrower_counter(true);
}

#[test]
fn narrowed_object_is_created_at_a_picker_without_scripts() {
    a_narrower_counter(false);
}

/// Checks that a narrower directory is made at a slot of a proposed worker. Meanwhile the name of the original comes
/// to mean another directory.
#[test]
fn narrowed_directory_is_created_for_a_slot() {
    let home = TestHome::new();
    for dir in ["big", "other"] {
        std::fs::create_dir(home.path(dir)).unwrap();
        home.almoner(&["mount", home.path(dir).to_str().unwrap(), dir]).expect(0);
    }
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.write("tidy.worker", "---\ndescription: Tidies.\nslots:\n  place: dir rw\n---\nTidy up.\n");
    home.almoner(&["--as", "agent-fae", "define", "tidy.worker", "--result", "r"]).expect(0);
    let number = crate::sends::wait_for_mail(&home, "definition");
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    browser.write("textbox", "Your name for it, if you want one", "outcome");
    browser.press("button", "Make a narrower one for slot place");
    browser.choose("Of which", "big");
    browser.press("button", "Narrow this one");
    browser.press("checkbox", "remove");
    browser.write("textbox", "Only files whose names end so", ".md .txt");
    browser.write("textbox", "The most that all of it may come to", "1MiB");
    browser.write("textbox", "How often it may be used", "10/min");
    browser.write("textbox", "Your name for it", "notes");
    browser.press("button", "Show what it would allow");
    browser.says("only .md .txt; at most 1048576 bytes in all; 10 calls in 1 min");
    // The shown object is made, or nothing.
    home.almoner(&["copy", "other", "big"]).expect(0);
    browser.press("button", "Make it, and go back");
    browser.says("stands for something else");
    browser.choose("Of which", "big");
    browser.press("button", "Narrow this one");
    browser.write("textbox", "Only files whose names end so", ".md");
    browser.press("button", "Show what it would allow");
    browser.says("only .md");
    browser.press("button", "Make it, and go back");
    browser.says("notes is made, and picked below");
    assert_eq!(browser.value(&browser.find("textbox", "Your name for it, if you want one")), "outcome");
    let picked = browser.value(&browser.find("combobox", "One of your names"));
    assert!(picked.starts_with("notes · ") && picked.contains("mount: granted: directory"), "{picked}");
    let shown = home.almoner(&["grants"]).expect(0);
    assert!(shown.out.contains("only .md"), "{}", shown.out);
    browser.clean(&["409", "422"]);
}
