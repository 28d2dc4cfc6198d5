//! The doctor's page examines what `almoner doctor` does.

use super::let_in;
use crate::home::Home;

/// What `almoner doctor` names.
fn ids(home: &Home) -> Vec<String> {
    let found = home.almoner(&["doctor", "--json"]).json();
    let checks = found["checks"].as_array().expect("checks").clone();
    checks.iter().map(|check| check["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn all_that_the_doctor_examines_is_on_the_page_with_scripts() {
    let home = Home::new();
    let ids = ids(&home);
    assert!(ids.len() > 10, "{ids:?}");
    let (browser, _) = let_in(&home, true, "/doctor");
    // Each restriction is tried, and a busy machine takes its time for that.
    for id in &ids {
        let shown = || browser.text().contains(&format!("{id}: "));
        assert!(
            (0..6).any(|_| browser.wait(|| shown().then_some(())).is_some()),
            "{id} in {}",
            browser.text()
        );
    }
    super::pages::looked_at(&browser, "doctor-examined");
    browser.clean(&[]);
}

#[test]
fn all_that_the_doctor_examines_is_behind_links_without_scripts() {
    let home = Home::new();
    let ids = ids(&home);
    let (browser, door) = let_in(&home, false, "/doctor");
    let mut seen = String::new();
    for title in [
        "Where things lie",
        "Settings",
        "Daemon and store",
        "Disk",
        "Models",
        "Sandbox",
        "Policy",
        "These pages",
    ] {
        browser.press("link", &format!("Examine: {title}"));
        browser.find("link", "All parts");
        seen += &browser.text();
        browser.go(&door.page("/doctor"));
    }
    for id in &ids {
        assert!(seen.contains(&format!("{id}: ")), "{id} in {seen}");
    }
    browser.clean(&[]);
}
