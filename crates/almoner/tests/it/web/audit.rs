//! The log of events comes at once; whether it is whole comes when that is known.

use super::let_in;
use super::visitor::Visitor;
use crate::home::{Home, TRIAGE};

fn lived_in() -> Home {
    let home = Home::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    home
}

#[test]
fn the_log_is_verified_apart_from_its_page() {
    let home = lived_in();
    let visitor = Visitor::new(&home);
    let page = visitor.get("/audit", &[]).body;
    assert!(page.contains("data-load=\"/audit/verified\"") && page.contains("id=\"e-"), "{page}");
    assert!(!page.contains("each follows the one before"), "{page}");
    let verified = visitor.get("/audit/verified", &[]).body;
    assert!(verified.contains("each follows the one before"), "{verified}");
    // Who asks for a line wants to know it now.
    let end = home.almoner(&["audit", "verify", "--json"]).expect(0).json()["end"].clone();
    let line = format!("{}:{}", end["seq"], end["hash"].as_str().unwrap());
    let found = visitor.get(&format!("/audit?contains={line}"), &[]).body;
    assert!(found.contains("It is in the log") && found.contains("each follows the one before"), "{found}");
    let (browser, _) = let_in(&home, true, "/audit");
    browser.says("each follows the one before");
    super::pages::looked_at(&browser, "audit-verified");
    browser.clean(&[]);
}

#[test]
fn the_log_is_verified_behind_a_link_without_scripts() {
    let home = lived_in();
    let (browser, _) = let_in(&home, false, "/audit");
    browser.press("link", "Verify the log");
    browser.says("each follows the one before");
    browser.press("link", "The events");
    browser.find("link", "Verify the log");
    browser.clean(&[]);
}
