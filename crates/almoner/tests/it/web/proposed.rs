//! The card of code that somebody proposes: what is missing is told at each slot, and a copy says how it differs.

use super::let_in;
use super::pages::looked_at_with;
use super::visitor::Visitor;
use crate::home::Home;
use crate::sends::wait_for_mail;

fn proposed(scripts: bool) {
    let home = Home::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.write("sum.js", "[s1, s2, s10]");
    let slots = ["--slot", "s10:any", "--slot", "s1:any", "--slot", "s2:any"];
    home.almoner(&[&["--as", "agent-fae", "define", "sum.js"], &slots[..]].concat()).expect(0);
    let number = wait_for_mail(&home, "definition");
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    // In the order in which a person counts.
    let order = "return [...document.querySelectorAll('fieldset.slot > legend')].map(one => one.textContent.split(' ').pop()).join(' ')";
    assert_eq!(browser.run(order), "s1 s2 s10");
    browser.press("button", "Show what this would grant");
    browser.says("nothing fills the slots `s1`, `s2`, `s10`");
    let errors = "return [...document.querySelectorAll('.slot .error')].filter(one => one.textContent.includes('nothing fills this slot')).length";
    assert_eq!(browser.run(errors), 3);
    looked_at_with(&browser, if scripts { "missing" } else { "missing-without-scripts" }, scripts);
    browser.press("button", "Edit a copy");
    browser.write("textbox", "Its text", "; [s2]");
    browser.press("button", "Propose the copy to myself");
    browser.says("in answer to message");
    browser.says("How it differs from what it is a copy of");
    browser.says("- [s1, s2, s10]");
    browser.press("link", &format!("message {number}"));
    browser.says("What came of it");
    browser.clean(&["422"]);
}

#[test]
fn what_is_missing_is_told_at_each_slot_and_a_copy_says_how_it_differs_with_scripts() {
    proposed(true);
}

#[test]
fn what_is_missing_is_told_at_each_slot_and_a_copy_says_how_it_differs_without_scripts() {
    proposed(false);
}

/// What the card of this text says of its slot `counter`.
#[track_caller]
fn told(home: &Home, visitor: &Visitor, source: &str, expected: &str) {
    home.write("proposed.js", source);
    let define = ["--as", "agent-fae", "define", "proposed.js", "--slot", "counter:M.remotable('Counter')"];
    home.almoner(&define).expect(0);
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let numbers = all.as_array().unwrap().iter().filter_map(|one| one["number"].as_u64());
    let number = numbers.max().unwrap();
    let page = visitor.get(&format!("/m/{number}"), &[]);
    assert_eq!(page.status, 200, "{}", page.body);
    let told = super::visitor::between(&page.body, "id=\"analysis\"", "</section>");
    assert!(told.contains(expected), "{expected:?} is not in {told}");
}

#[test]
fn what_code_does_with_a_slot_is_told() {
    let home = Home::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let visitor = Visitor::new(&home);
    for (source, expected) in [
        ("E(counter).incr(); fetch(1)", "it calls <bdi class=\"foreign\" dir=\"ltr\">incr</bdi>"),
        ("E(counter).incr(); fetch(1)", "fetch</bdi>: using them fails"),
        ("E(counter)", "does something with it that the text does not tell"),
        ("'counter'", "it never uses this"),
        ("counter(", "nothing is known of what it does with this"),
        ("\ncounter(", "it is no program, and would fail: line 2, column 9"),
    ] {
        told(&home, &visitor, source, expected);
    }
}

/// Whatever is proposed, its card is there, and the daemon goes on.
#[test]
fn text_without_end_is_told_as_such_and_harms_nobody() {
    let home = Home::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let visitor = Visitor::new(&home);
    let pid = home.almoner(&["status", "--json"]).expect(0).json()["pid"].clone();
    assert!(pid.is_u64(), "{pid}");
    for (source, expected) in [
        // Deeper than any stack.
        ("(".repeat(600_000), "more than can be looked through"),
        ("`${".repeat(150_000), "it is no program"),
        ("(".repeat(60_000), "it is no program"),
        ("(a=>".repeat(20_000), "it is no program"),
        ("import ".repeat(20_000), "it is no program"),
        (
            format!("{}counter.incr()", "!".repeat(20_000)),
            "it calls <bdi class=\"foreign\" dir=\"ltr\">incr</bdi>",
        ),
    ] {
        told(&home, &visitor, &source, expected);
    }
    assert_eq!(home.almoner(&["status", "--json"]).expect(0).json()["pid"], pid, "it is the same daemon");
}
