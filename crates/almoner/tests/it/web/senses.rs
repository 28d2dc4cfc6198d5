//! For those who get dizzy, and those who are far away.

use serde_json::json;

use super::let_in;
use crate::test_home::TestHome;

#[test]
fn reduced_motion_setting_stops_all_animation() {
    let home = TestHome::with_inbox();
    home.almoner(&crate::test_home::TRIAGE).expect(7);
    let (browser, door) = let_in(&home, true, "/");
    let still = json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] });
    browser.devtools("Emulation.setEmulatedMedia", &still);
    for (path, says) in [
        ("/", "Needs you"),
        ("/m/1", "wants to write"),
        ("/graph", "What leads to what"),
        ("/chat", "Begin another"),
    ] {
        browser.go(&door.page(path));
        browser.says(says);
        // Nothing visible changes by itself. A button's wait before it can be pressed is not visible.
        let moves = browser.run(
            "const found = [];
             for (const one of document.getAnimations()) {
               for (const frame of one.effect.getKeyframes()) {
                 for (const name of Object.keys(frame)) {
                   if (!['offset', 'computedOffset', 'easing', 'composite', 'pointerEvents'].includes(name)) found.push(name);
                 }
               }
             }
             for (const one of document.querySelectorAll('*')) {
               for (const pseudo of [null, '::before', '::after']) {
                 const style = getComputedStyle(one, pseudo);
                 if (style.transitionDuration !== '0s') found.push(one.nodeName + ' ' + style.transitionDuration);
                 if (!['none', 'settle'].includes(style.animationName)) found.push(one.nodeName + ' ' + style.animationName);
                 if (style.scrollBehavior !== 'auto') found.push(one.nodeName + ' scrolls');
               }
             }
             return found;",
        );
        assert_eq!(moves, json!([]), "{path}");
    }
    browser.clean(&[]);
}

#[test]
fn typing_on_a_slow_connection_keeps_text_and_shows_errors() {
    let (home, number) = super::forms::asked();
    let (browser, _) = let_in(&home, true, &format!("/m/{number}"));
    browser.says("Settings, please");
    browser.devtools("Network.enable", &json!({}));
    let slow = json!({ "offline": false, "latency": 300, "downloadThroughput": -1, "uploadThroughput": -1 });
    browser.devtools("Network.emulateNetworkConditions", &slow);
    // Each letter a little after the one before: checks are under way all the time.
    let title = "A title that grows while one waits";
    for letter in title.chars() {
        browser.write("textbox", "What it is called", &letter.to_string());
    }
    browser.write("textbox", "How often", "9");
    browser.write("textbox", "Many digits", "12x");
    browser.write("textbox", "town", "Ghent");
    browser.write("textbox", "zip", "9000");
    browser.says("from 1 to 5");
    let wrong = || {
        browser.run(
            "return [...document.querySelectorAll('[data-error-of]')].filter(one => one.textContent.trim()).map(one => one.dataset.errorOf)",
        )
    };
    // The second and the third field, and no other.
    let settled = browser.wait(|| (wrong() == json!(["f1", "f2"])).then_some(()));
    assert!(settled.is_some(), "{} {}", wrong(), browser.text());
    for (field, value) in [
        ("What it is called", title),
        ("How often", "9"),
        ("Many digits", "12x"),
        ("town", "Ghent"),
        ("zip", "9000"),
    ] {
        assert_eq!(browser.value(&browser.find("textbox", field)), value, "{field}");
    }
    // A field that is mended during the check of its error is not marked as wrong afterwards.
    browser.write("textbox", "How often", "\u{E003}7");
    browser.write("textbox", "How often", "\u{E003}3");
    let mended = browser.wait(|| (wrong() == json!(["f2"])).then_some(()));
    assert!(mended.is_some(), "{} {}", wrong(), browser.text());
    assert_eq!(browser.value(&browser.find("textbox", "How often")), "3");
    browser.clean(&[]);
}
