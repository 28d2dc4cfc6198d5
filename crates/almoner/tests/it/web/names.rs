//! The pages of names: what is done there is done to the name that is shown.

use super::visitor::{Visitor, between};
use crate::home::Home;

/// Every name that there is.
fn names(home: &Home) -> Vec<String> {
    let all = home.almoner(&["list", "--json"]).expect(0).json();
    let name = |row: &serde_json::Value| row["name"].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(name).filter(|name| !name.starts_with('@')).collect()
}

/// What the form of a page carries beside what one writes there.
fn carried(page: &str, name: &str) -> String {
    between(page, &format!("name=\"{name}\" value=\""), "\"").to_owned()
}

/// Blanks belong to a name: what is done to one is done to no other that differs by them.
#[test]
fn a_name_is_taken_away_as_it_is_shown_and_as_it_was_seen() {
    let home = Home::new();
    home.almoner(&["store", "--force", "vital=kept", "vital =junk"]).expect(0);
    let visitor = Visitor::new(&home);
    let page = visitor.get("/names/vital%20", &[]).body;
    let is = carried(&page, "is");
    let sent = visitor.send("/names", &format!("do=remove&path=vital%20&is={is}"));
    assert_eq!(sent.status, 303, "{}", sent.body);
    assert_eq!(names(&home), ["vital"]);
    // What it stood for is something else by now, so nothing is done to it.
    let is = carried(&visitor.get("/names/vital", &[]).body, "is");
    home.almoner(&["remove", "vital"]).expect(0);
    home.almoner(&["store", "vital=new"]).expect(0);
    for act in ["do=remove", "do=move&to=other", "do=copy&to=other"] {
        let sent = visitor.send("/names", &format!("{act}&path=vital&is={is}"));
        assert_eq!(sent.status, 409, "{act}: {}", sent.body);
        assert!(sent.body.contains("something else by now"), "{act}: {}", sent.body);
    }
    assert_eq!(names(&home), ["vital"]);
}

/// A name that cannot be told from another, or from what it seems to be, is refused; who insists sees what there is to it.
#[test]
fn a_name_that_hides_something_is_refused_and_shown_as_it_is() {
    let home = Home::new();
    home.almoner(&["store", "counter=1", "p q=1"]).expect(0);
    let visitor = Visitor::new(&home);
    for (name, says) in [
        ("counter.", "looks like"),
        ("counte%CC%81r", "looks like"),
        ("p++q", "that nobody sees"),
        ("x%E2%80%AE", "that nobody sees"),
    ] {
        let sent = visitor.send("/names", &format!("do=store&name={name}&value=1"));
        assert_eq!(sent.status, 409, "{name}: {}", sent.body);
        // The way out is the one that the page has.
        assert!(sent.body.contains(says) && !sent.body.contains("--force"), "{name}: {}", sent.body);
        assert!(sent.body.contains("name=\"force\""), "{name}: {}", sent.body);
    }
    home.almoner(&["store", "--force", "counter =2", "p  q=2", "\u{202e}x=2"]).expect(0);
    for page in ["/names", "/graph"] {
        let page = visitor.get(page, &[]).body;
        for shown in ["counter·", "p··q", "\\u{202E}x"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!page.contains('\u{202e}'), "{page}");
    }
}
