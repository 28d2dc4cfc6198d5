//! Tests of causes and effects: commands link to the messages that they answer, and show their outcomes. Objects go
//! by the user's own names, and `why` leads back to the proposing agent.

use kernel::MessageNumber;
use serde_json::{Value as Json, json};

use super::cards::text;
use super::visitor::Visitor;
use crate::sends::wait_for_mail;
use crate::test_home::TestHome;

/// Returns the number of the newest command whose text has this in it.
#[track_caller]
fn command(home: &TestHome, part: &str) -> MessageNumber {
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let is_it = |one: &&Json| {
        let body = &one["message"]["body"];
        body["type"] == "command" && body["text"].as_str().is_some_and(|text| text.contains(part))
    };
    let numbers = all.as_array().unwrap().iter().filter(is_it).filter_map(|one| one["number"].as_u64());
    numbers.map(MessageNumber).max().unwrap_or_else(|| panic!("no command with {part} in {all}"))
}

/// Returns a home in which a guest has proposed a worker, which the host has given a directory of its own by name,
/// and which asks.
fn home() -> (TestHome, u64) {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.write("note.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    let arguments = json!({ "path": "a.md", "content": "x" });
    let turns = json!([{ "calls": [{ "name": "out_append", "arguments": arguments }] }, { "text": "done" }]);
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    for args in [&["mkguest", "fae", "agent-fae"][..], &["mkdir", "team"], &["mount", "out", "mynotes"]] {
        home.almoner(args).expect(0);
    }
    home.almoner(&["--as", "agent-fae", "define", "note.worker", "--result", "note"]).expect(0);
    // An agent with a name in a directory has a name.
    home.almoner(&["move", "fae", "team/fae"]).expect(0);
    let number = wait_for_mail(&home, "definition");
    home.almoner(&["endow", &number.to_string(), "out=mynotes", "-m", "scripted:script.json"]).expect(7);
    (home, number)
}

#[test]
fn pages_trace_an_effect_to_its_proposal_by_the_users_names() {
    let (home, proposal) = home();
    let visitor = Visitor::new(&home);
    let page = |path: &str| visitor.get(path, &[]).body;
    let says = |path: &str, parts: &[&str]| {
        let page = page(path);
        for part in parts {
            assert!(text(&page).contains(part) || page.contains(part), "{path}: {part:?} is not in {page}");
        }
    };
    let (asked, endowed) = (wait_for_mail(&home, "approval"), command(&home, "endow"));
    let place = home.path("out").display().to_string();
    // The card shows its object by the user's own name.
    let target = format!("mynotes (directory {place} (rw))");
    says(&format!("/m/{asked}"), &[&target, "from run r1 (note)"]);
    let card = home.almoner(&["inbox", &asked.to_string()]).expect(0).out.replace("\n  ┆ ", "");
    assert!(card.replace("\n      ┆ ", "").contains(&target), "{card}");
    says("/", &["team/fae", "r1 (note)"]);
    says(&format!("/m/{proposal}"), &["team/fae proposes a worker", &format!("href=\"/m/{endowed}\"")]);
    home.almoner(&["approve", &asked.to_string()]).expect(0);
    // To look on at a run that goes on by itself is no command; a yes is one.
    home.almoner(&["resume", "r1"]).expect(0);
    let approved = command(&home, "approve");
    says(&format!("/m/{endowed}"), &["What came of it", &format!("href=\"/m/{approved}\"")]);
    // A file, a run and a grant lead to the message with which it began, in words of ours that are plain.
    for thing in [format!("{place}/a.md"), "r1".to_owned(), "g1".to_owned()] {
        let why = page(&format!("/why?thing={}", thing.replace('/', "%2F")));
        let shown = text(&why);
        for part in
            [&format!("message {endowed}")[..], &format!("message {proposal}"), "team/fae", "proposed it"]
        {
            assert!(shown.contains(part), "{thing}: {part:?} is not in {shown}");
        }
        assert!(why.contains(&format!("href=\"/m/{proposal}\"")), "{why}");
    }
    // One was pasted along; and a name that ends with one is found as well.
    assert_eq!(visitor.get("/why?thing=%20r1%20", &[]).status, 200);
    home.write("out/b.md ", "x");
    assert_eq!(visitor.get("/why?thing=nothing%20", &[]).status, 404);
    home.almoner(&["revoke", "g1"]).expect(0);
    let revoked = command(&home, "revoke");
    says("/grants/g1", &[&format!("by <a href=\"/m/{revoked}\"")]);
    says("/why?thing=g1", &[&format!("href=\"/m/{revoked}\"")]);
    says(&format!("/m/{revoked}"), &["done"]);
}

#[test]
fn command_shows_its_outcome_even_if_refused_or_failed() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    for (args, says) in [
        (&["eval", "1+1", "--name", "two"][..], "done: 2"),
        (&["eval", "throw Error('no paper')"], "failed: "),
        (&["eval", "[1, 2]", "--name", "two"], "done: [ ⏎   1, ⏎   2 ⏎ ]"),
        (&["revoke", "g7"], "refused: "),
    ] {
        home.almoner(args);
        let row = |path: &str| text(&visitor.get(path, &[]).body);
        let begun = std::time::Instant::now();
        while !row("/?kind=command").contains(says) {
            assert!(begun.elapsed().as_secs() < 60, "{args:?}: {says} is not in {}", row("/?kind=command"));
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        // In the terminal, too.
        let rows = home.almoner(&["inbox", "--all"]).expect(0).out;
        assert!(rows.contains(&format!(" ({says}")), "{args:?}: {says} is not in {rows}");
        home.almoner(&["dismiss", &command(&home, args[0]).to_string()]).expect(0);
    }
    // A `dismiss` leaves no line, and neither does a failed one.
    let rows = || home.almoner(&["inbox", "--all"]).expect(0).out;
    let before = rows();
    home.almoner(&["dismiss", "99"]).expect(4);
    assert!(rows() == before && !before.contains("dismiss "), "{}", rows());
}
