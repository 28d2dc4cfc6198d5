//! Every page, for everybody: what axe finds, how it looks in both themes at three widths, and what the keyboard does.

use super::{Browser, let_in};
use crate::home::Home;

/// The widths at which pages are looked at: a phone, 400 % of a small window, a desk.
const WIDTHS: [u32; 3] = [320, 768, 1280];

/// Looks at a page in both themes at all widths; nothing of it may stick out sideways.
#[track_caller]
pub(crate) fn looked_at(browser: &Browser, name: &str) {
    for dark in [false, true] {
        for width in WIDTHS {
            browser.look(width, dark);
            let theme = if dark { "dark" } else { "light" };
            let over = browser
                .run("return document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(over, serde_json::json!(0), "{name} at {width} pixels is {over} too wide");
            browser.picture(&format!("{name}-{theme}-{width}"));
            if width == 1280 {
                browser.axe(&format!("{name}, {theme}"));
            }
        }
    }
    browser.look(1200, false);
}

#[test]
fn pages_can_be_used_by_everybody() {
    let home = Home::with_inbox();
    home.almoner(&crate::home::TRIAGE).expect(7);
    let (browser, door) = let_in(&home, true, "/");
    for (name, path, says) in [
        ("inbox", "/", "Needs you"),
        ("approval", "/m/1", "Approve"),
        ("runs", "/runs", "triage"),
        ("run", "/r/r1", "triage"),
        ("run-timeline", "/r/r1?view=timeline", "triage"),
        ("run-raw", "/r/r1?view=raw", "triage"),
        ("step", "/r/r1/step/21", "proposed"),
        ("chat", "/chat", "Begin another"),
        ("names", "/names", "Names"),
        ("graph", "/graph", "What leads to what"),
        ("grants", "/grants", "out"),
        ("grant", "/grants/g1", "g1"),
        ("why", "/why?thing=r1", "r1"),
        ("workers", "/workers", "triage"),
        ("models", "/models", "scripted"),
        ("policy", "/policy", "Policy"),
        ("audit", "/audit", "Audit"),
        ("doctor", "/doctor", "Doctor"),
        ("sessions", "/sessions", "until"),
    ] {
        browser.go(&door.page(path));
        browser.says(says);
        looked_at(&browser, name);
    }
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    for (name, path, says) in [("undo", "/r/r1/undo", "Undo r1"), ("answered", "/m/1", "✓ approved")] {
        browser.go(&door.page(path));
        browser.says(says);
        looked_at(&browser, name);
    }
    browser.clean(&[]);
}

#[test]
fn the_keyboard_reaches_everything() {
    let home = Home::with_inbox();
    home.almoner(&crate::home::TRIAGE).expect(7);
    let (browser, door) = let_in(&home, true, "/");
    browser.says("Needs you");
    browser.keys("j");
    assert!(browser.focused().contains("#1"), "{}", browser.focused());
    // Enter.
    browser.keys("\u{E007}");
    browser.says("wants to do this");
    assert_eq!(browser.at(), door.page("/m/1"));
    browser.keys("g");
    browser.says("Needs you");
    browser.clean(&[]);
}
