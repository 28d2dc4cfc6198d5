//! Tests of the pages of names: an action there applies to the name that is shown.

use super::visitor::{Visitor, between};
use crate::test_home::TestHome;

/// Returns every name that there is.
fn names(home: &TestHome) -> Vec<String> {
    let all = home.almoner(&["list", "--json"]).expect(0).json();
    let name = |row: &serde_json::Value| row["name"].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(name).filter(|name| !name.starts_with('@')).collect()
}

/// Returns the value of a hidden field in the form of a page.
fn carried(page: &str, name: &str) -> String {
    between(page, &format!("name=\"{name}\" value=\""), "\"").to_owned()
}

/// Checks that blanks belong to a name: an action on one name does not affect another that differs by them.
#[test]
fn name_change_applies_to_the_exact_name_and_shown_value() {
    let home = TestHome::new();
    home.almoner(&["store", "--force", "vital=kept", "vital =junk"]).expect(0);
    let visitor = Visitor::new(&home);
    let page = visitor.get("/names/vital%20", &[]).body;
    let is = carried(&page, "is");
    let sent = visitor.send("/names", &format!("do=remove&path=vital%20&is={is}"));
    assert_eq!(sent.status, 303, "{}", sent.body);
    assert_eq!(names(&home), ["vital"]);
    // The name stands for another object by now, so the daemon refuses the action.
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

/// Checks that a name is refused if it looks like another, or if it hides characters. A user who insists sees these
/// characters.
#[test]
fn name_with_hidden_characters_is_refused_and_escaped() {
    let home = TestHome::new();
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

/// Checks that a directory, an agent and a name in a nested directory have pages that describe them, and can be
/// renamed.
#[test]
fn directory_agent_and_nested_name_have_pages() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkdir", "shelf", "shelf/box"]).expect(0);
    home.almoner(&["store", "shelf/box/note=1", "r4=1"]).expect(0);
    let visitor = Visitor::new(&home);
    let get = |path: &str| {
        let page = visitor.get(path, &[]);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        page.body
    };
    for (path, verbs) in [
        ("/names/shelf", 3),
        ("/names/shelf/box", 3),
        ("/names/agent-fae", 3),
        ("/names/shelf/box/note", 3),
        // A name that every agent has stays.
        ("/names/@mail", 1),
    ] {
        let page = get(path);
        let has =
            ["move", "copy", "remove"].iter().filter(|verb| page.contains(&format!("value=\"{verb}\"")));
        assert_eq!(has.count(), verbs, "{path}: {page}");
        let name = path.strip_prefix("/names/").unwrap();
        assert!(page.contains(&format!("<title>Names: {name} · Almoner</title>")), "{path}: {page}");
        let (why, leads) = (between(&page, "/why?thing=", "\""), between(&page, "/graph?focus=", "\""));
        assert_eq!(why.replace("%3A", ":"), leads.replace("%3A", ":"), "{path}: {page}");
        if !path.ends_with("note") {
            let thing = get(&format!("/thing?id={leads}"));
            assert!(thing.contains("Who holds it") && thing.contains("Why it is kept"), "{path}: {thing}");
            // It goes by its own path of names.
            assert!(thing.contains(&format!("<h1><bdi dir=\"ltr\">{name}</bdi></h1>")), "{path}: {thing}");
        }
    }
    // A name that reads like a run is asked about as itself, and told of.
    let page = get("/names/r4");
    assert!(page.contains("is read as run r4") && !page.contains("/why?thing=r4\""), "{page}");
    for (path, to) in [("shelf", "rack"), ("agent-fae", "agent-kim")] {
        let is = carried(&get(&format!("/names/{path}")), "is");
        assert_eq!(visitor.send("/names", &format!("do=move&path={path}&to={to}&is={is}")).status, 303);
        get(&format!("/names/{to}"));
    }
}

/// Checks that the user can go through many names page by page, or search them by a part.
#[test]
fn many_names_are_paged_and_searchable() {
    let home = TestHome::new();
    let all: Vec<String> = (0..250).map(|at| format!("thing-{at:03}=1")).collect();
    home.almoner(&[&["store"][..], &all.iter().map(String::as_str).collect::<Vec<_>>()].concat()).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    super::fill(&home, 60);
    let visitor = Visitor::new(&home);
    let names = |path: &str| {
        let page = visitor.get(path, &[]).body;
        let list = between(&page, "id=\"list\"", "</table>");
        (list.matches("thing-").count() / 2, page)
    };
    let (first, page) = names("/names");
    assert!(first < 100 && page.contains("1 to 100 of 252"), "{first}: {page}");
    assert!(page.len() < 60_000, "{}", page.len());
    let (last, page) = names("/names?find=&from=200");
    assert!(last == 52 && page.contains("201 to 252 of 252"), "{last}: {page}");
    let (found, page) = names("/names?find=ING-12");
    assert!(found == 10 && !page.contains("Further names"), "{found}: {page}");
    // The references to an agent that writes much are shown by numbers, a few at a time.
    let page = visitor.get("/names/fae", &[]).body;
    assert!(page.contains("href=\"/m/") && page.matches("href=\"/m/").count() <= 41, "{page}");
    assert!(page.len() < 40_000, "{}", page.len());
    let (before, _) = page.split_once("&amp;all=yes").expect("a link to all");
    let more = before.rsplit("/thing?id=").next().unwrap();
    let page = visitor.get(&format!("/thing?id={more}&all=yes"), &[]).body;
    assert!(page.matches("href=\"/m/").count() > 50, "{page}");
}
