//! Tests that the doctor's page runs the checks of `almoner doctor`.

use super::let_in;
use super::visitor::Visitor;
use crate::test_home::TestHome;

/// Returns the identifiers of the checks of `almoner doctor`.
fn ids(home: &TestHome) -> Vec<String> {
    let found = home.almoner(&["doctor", "--json"]).json();
    let checks = found["checks"].as_array().expect("checks").clone();
    checks.iter().map(|check| check["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn doctor_page_shows_every_check_with_scripts() {
    let home = TestHome::new();
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
fn doctor_page_links_to_every_check_without_scripts() {
    let home = TestHome::new();
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
        "Rules of the machine's administrator",
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

/// Checks that a model is tried by any name that the user has for it. An unknown model is told at its field and
/// begins no run.
#[test]
fn model_can_be_tried_by_name_and_an_unknown_one_is_refused() {
    let home = TestHome::new();
    home.write("rel.json", r#"[{"turns": [{"text": "ready"}]}]"#);
    let model = format!("scripted:{}", home.path("rel.json").display());
    home.write_config(&format!("[models]\ndefault = \"fast\"\n[models.names]\nfast = {model:?}\n"));
    let visitor = Visitor::new(&home);
    let page = visitor.get("/models", &[]).body;
    for shown in ["the one in your settings", "your name for scripted:", "Try fast"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    for (model, says) in [
        ("nonsense", "nonsense"),
        ("%3Cb%3Ex", "&lt;b&gt;x"),
        ("scripted:rel.json", "does not begin at the root"),
        ("scripted:/nowhere/x.json", "/nowhere/x.json"),
    ] {
        let answer = visitor.send("/models", &format!("model={model}"));
        assert!(answer.status == 422 && answer.body.contains(says), "{model}: {}", answer.body);
        assert!(answer.body.contains("id=\"model-error\" role=\"alert\""), "{model}: {}", answer.body);
    }
    assert!(home.almoner(&["runs", "--json"]).expect(0).json().as_array().unwrap().is_empty());
    for (at, model) in ["fast", ""].iter().enumerate() {
        let answer = visitor.send("/models", &format!("model={model}"));
        let run = format!("r{}", at + 1);
        assert_eq!((answer.status, answer.header("location")), (303, Some(format!("/r/{run}").as_str())));
        assert_eq!(home.almoner(&["resume", &run]).expect(0).out, "ready\n");
    }
    // The doctor's report about the model is about the one that runs use.
    let said = home.almoner(&["doctor", "model"]).expect(0).out;
    assert!(said.contains("rel.json") && said.contains("in your settings"), "{said}");
}
