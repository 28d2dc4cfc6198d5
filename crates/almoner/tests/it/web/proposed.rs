//! The card of code that somebody proposes: what is missing is told at each slot, and a copy says how it differs.

use super::let_in;
use super::pages::looked_at_with;
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
