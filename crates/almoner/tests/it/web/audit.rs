//! The log of events comes at once; whether it is whole comes when that is known.

use super::let_in;
use super::visitor::{Visitor, between};
use crate::test_home::{TRIAGE, TestHome};

fn lived_in() -> TestHome {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    home
}

#[test]
fn audit_log_is_verified_separately_from_its_page() {
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
fn audit_log_is_verified_behind_a_link_without_scripts() {
    let home = lived_in();
    let (browser, _) = let_in(&home, false, "/audit");
    browser.press("link", "Verify the log");
    browser.says("each follows the one before");
    browser.press("link", "The events");
    browser.find("link", "Verify the log");
    browser.clean(&[]);
}

/// Checks that an event links to an object only while the object exists, and that a page of older events leads back.
#[test]
fn event_links_resolve_and_older_events_lead_back() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    super::fill(&home, 120);
    home.almoner(&["store", "gone=1", "kept=1"]).expect(0);
    home.almoner(&["remove", "gone"]).expect(0);
    home.almoner(&["gc"]).expect(0);
    let visitor = Visitor::new(&home);
    let page = visitor.get("/audit", &[]).body;
    let links: Vec<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let things: Vec<&&str> = links.iter().filter(|link| link.starts_with("/thing?id=")).collect();
    assert!(page.contains("gone") && !things.is_empty(), "{page}");
    for link in things {
        assert_eq!(visitor.get(link, &[]).status, 200, "{link}");
    }
    let older = between(&page, "href=\"/audit?before=", "\"");
    let older = visitor.get(&format!("/audit?before={older}"), &[]).body;
    let newer = between(&older, "href=\"/audit?before=", "\">Newer").rsplit("before=").next().unwrap();
    let newest: u64 = between(&page, "id=\"e-", "\"").parse().unwrap();
    let again = visitor.get(&format!("/audit?before={newer}"), &[]).body;
    assert!(older.contains("The newest events"), "{older}");
    assert!(between(&again, "id=\"e-", "\"").parse::<u64>().unwrap() <= newest, "{again}");
    assert!(again.contains("id=\"e-") && again != older, "{again}");
}
