//! Tests of capabilities in JSON: they stand there by their identifiers and never by their names.

use serde_json::{Value, json};

use super::{Browser, let_in};
use crate::test_home::TestHome;

const LEFT: char = '\u{E012}';

/// An object whose interface is called otherwise.
const LEDGER: &str = "makeExo('Ledger', M.interface('Ledger', { add: M.call(M.nat()).returns(M.number()) }), { add(n) { return Number(n); } })";

/// Returns a guest's form with these fields, and its number; its host has a counter and a ledger.
fn asked(fields: &[&str]) -> (TestHome, u64) {
    let home = TestHome::new();
    for (name, code) in [("counter", crate::sends::COUNTER), ("ledger", LEDGER)] {
        home.almoner(&["eval", code, "--name", name]).expect(0);
    }
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let form = [&["--as", "agent-fae", "form", "@host", "Say"][..], fields, &["--result", "answer"]].concat();
    home.almoner(&form).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    (home, number)
}

fn inserts(browser: &Browser, name: &str, into: &str) {
    browser.choose(&format!("Insert one of your names into {into}"), name);
    browser.press("button", &format!("Insert it into {into}"));
}

/// Returns which capabilities stand in a text, each by its identifier.
fn inserted(text: &str) -> Vec<String> {
    text.split("\"ref\":\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

fn capabilities_in_json(scripts: bool) {
    let (home, number) = asked(&["key:M.key()=The key", "any:M.any()=Anything"]);
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    browser.says("a key (comparable, no promises or errors)");
    browser.press("button", "Insert it into The key");
    browser.says("choose one of your names first");
    browser.write("textbox", "The key", r#"{"who": [?, ?]}"#);
    inserts(&browser, "counter · Counter", "The key");
    browser.says("counter · Counter");
    inserts(&browser, "ledger · Ledger", "The key");
    browser.says("ledger · Ledger");
    browser.press("radio", "JSON");
    if scripts {
        // Where the caret stands; and there one goes on.
        browser.write("textbox", "JSON", &format!("[1]{LEFT}"));
        browser.keys(",");
        inserts(&browser, "counter · Counter", "JSON");
        let there = browser.wait(|| (browser.focused() == "JSON").then_some(()));
        assert!(there.is_some(), "one goes on in the text, not at {}", browser.focused());
        browser.keys(",2");
    } else {
        browser.write("textbox", "JSON", "[1,?,2]");
        inserts(&browser, "counter · Counter", "JSON");
    }
    let text = |name: &str| browser.value(&browser.find("textbox", name));
    let both = browser.wait(|| Some(inserted(&text("The key"))).filter(|all| all.len() == 2));
    let both = both.unwrap_or_else(|| panic!("two of them stand in {}", text("The key")));
    assert!(text("JSON").starts_with("[1,{\"@qclass\":\"remotable\",") && text("JSON").ends_with("},2]"));
    assert_eq!(inserted(&text("JSON")), both[..1]);
    // The inserted capability stays the same, although its name now means another one.
    for (from, to) in [("counter", "mine"), ("ledger", "counter")] {
        home.almoner(&["move", from, to]).expect(0);
    }
    if scripts {
        browser.reload();
        browser.says("mine · Counter");
        assert_eq!(inserted(&text("The key")), both);
    }
    super::pages::looked_at_with(&browser, if scripts { "json" } else { "json-without-scripts" }, scripts);
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0);
    let value = &got.json()["promise"]["value"];
    let who = value["key"]["who"].as_array().unwrap_or_else(|| panic!("{}", got.out));
    let is_one = |one: &Value| one["@qclass"] == "remotable" && one["ref"].is_string();
    assert!(who.len() == 2 && who.iter().all(is_one) && who[0] != who[1], "{}", got.out);
    assert_eq!((&value["any"][0], &value["any"][2]), (&json!(1), &json!(2)), "{}", got.out);
    // The guest receives grants of its own. They lead to the picked objects, and not to the objects that have these
    // names now.
    let grants = home.almoner(&["grants", "--json"]).expect(0);
    let target = |one: &Value| {
        let all = grants.json();
        let grant = all.as_array().unwrap().iter().find(|grant| grant["id"] == one["ref"]);
        grant.unwrap_or_else(|| panic!("{one} is no grant: {}", grants.out))["target"].clone()
    };
    assert_eq!(target(&value["any"][1]), target(&who[0]), "{}", grants.out);
    assert_ne!(target(&who[1]), target(&who[0]), "{}", grants.out);
    browser.clean(&[]);
}

#[test]
fn capabilities_are_inserted_into_json_with_scripts() {
    capabilities_in_json(true);
}

#[test]
fn capabilities_are_inserted_into_json_without_scripts() {
    capabilities_in_json(false);
}

/// Checks that, regardless of the text, only capabilities with a name of the user's are sent, and only those that
/// fit.
#[test]
fn identifier_without_a_name_is_refused() {
    let (home, number) = asked(&["key:M.key()=The key"]);
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    inserts(&browser, "counter", "The key");
    browser.says("counter · Counter");
    home.almoner(&["remove", "counter"]).expect(0);
    browser.press("button", "Send the answer");
    browser.says("Nothing was sent: 1 of the fields does not fit");
    browser.says("expected the identifier of a capability that can be picked here");
    browser.says("nothing that you have a name for");
    // While one writes it is said as well, to those who do not see it too.
    let area = browser.find("textbox", "The key");
    let is_wrong = || browser.attribute(&area, "aria-invalid").is_some();
    assert!(is_wrong());
    browser.write_into(&area, &"\u{E003}".repeat(200));
    browser.write_into(&area, "1");
    assert!(browser.wait(|| (!is_wrong()).then_some(())).is_some());
    let error = r#",{"@qclass":"error","name":"E","message":"m"}]"#;
    browser.write_into(&area, &format!("{}[1{error}", "\u{E003}"));
    browser.says("comparable, no promises or errors), found a list of 2 elements with an error (E: m) in it");
    assert!(browser.wait(|| is_wrong().then_some(())).is_some());
    browser.write_into(&area, &"\u{E003}".repeat(error.len() + 1));
    browser.write_into(&area, "]");
    assert!(browser.wait(|| (!is_wrong()).then_some(())).is_some());
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    browser.clean(&["422"]);
}
