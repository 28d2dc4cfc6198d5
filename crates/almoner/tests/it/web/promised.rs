//! Tests of pending answers that a form hands on: the asking guest receives them when they come.

use super::let_in;
use super::pages::looked_at_with;
use crate::sends::wait_for_mail;
use crate::test_home::TestHome;

fn submit_promises(scripts: bool) {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    home.almoner(&["request", "fae", "a map", "--result", "map"]).expect(0);
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    let form = [
        "form",
        "@host",
        "What is to come?",
        "later:M.promise()",
        "either:M.eref(M.remotable())",
        "now:M.eref(M.remotable())",
        "--result",
        "got",
    ];
    fae(&form);
    let number = wait_for_mail(&home, "form");
    let (browser, door) = let_in(&home, scripts, &format!("/m/{number}"));
    browser.says("What is to come?");
    looked_at_with(&browser, if scripts { "promised" } else { "promised-without-scripts" }, scripts);
    // One picker each; where a promise is asked for, nothing that has come is offered.
    let offered = |field: usize| {
        let script = format!(
            "return [...document.querySelectorAll('[name=f{field}] option')].slice(1).map(one => one.textContent.split(' ')[0]).join(' ')"
        );
        browser.run(&script)
    };
    assert_eq!((offered(0), offered(1)), ("map".into(), offered(2)));
    assert!(offered(1).as_str().unwrap().contains("counter"), "{}", offered(1));
    for (field, name) in [(0, "map"), (1, "map"), (2, "counter")] {
        browser.run(&format!(
            "const list = document.querySelector('select[name=f{field}]'); const one = [...list.options].find(one => one.textContent.startsWith('{name} ')); list.value = one.value; list.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        ));
    }
    browser.press("button", "Send the answer");
    browser.says("What you answered");
    // The promise is pending, and later becomes the answer.
    let inbox = fae(&["inbox", "--json"]).json();
    let asked = inbox.as_array().unwrap().iter().find(|one| one["mail"]["envelope"]["kind"] == "request");
    let asked = asked.unwrap()["number"].to_string();
    fae(&["eval", "'here be dragons'", "--name", "drawn"]);
    fae(&["resolve", &asked, "drawn"]);
    for part in ["later", "either"] {
        let said = fae(&["eval", &format!("got.{part}"), "got=got"]).out;
        assert!(said.contains("here be dragons"), "{part}: {said}");
    }
    let said = fae(&["eval", "E(got.now).incr()", "got=got"]).out;
    assert!(said.contains('1'), "{said}");
    browser.go(&door.page(&format!("/m/{number}")));
    browser.says("What it asked for");
    browser.says("counter");
    browser.clean(&[]);
}

#[test]
fn pending_promise_is_passed_on_with_scripts() {
    submit_promises(true);
}

#[test]
fn pending_promise_is_passed_on_without_scripts() {
    submit_promises(false);
}
