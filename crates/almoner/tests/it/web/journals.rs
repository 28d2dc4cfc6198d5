//! Tests of the pages of runs: long journals, batches in every view, staged changes, and searches.

use serde_json::json;

use super::let_in;
use super::pages::looked_at_with;
use super::visitor::{Visitor, between};
use crate::directories::{ALLOWED, calls, done, home, run};
use crate::test_home::{TRIAGE, TestHome};

#[test]
fn long_journal_shows_its_newest_steps_and_links_to_older() {
    let look = || calls(&vec![("out_list", json!({})); 12]);
    let mut turns: Vec<_> = (0..12).map(|_| look()).collect();
    turns.push(calls(&[("out_write", json!({ "path": "new.md", "content": "at last" }))]));
    turns.push(done());
    let home = home(json!(turns));
    home.write(
        "clerk.worker",
        "---\nslots: { out: dir rw }\nlimits: { turns: 50, calls: 500 }\n---\nDo it.\n",
    );
    run(&home, "out:rw", &[]).expect(7);
    let visitor = Visitor::new(&home);
    for view in ["tree", "timeline", "raw"] {
        let mut path = format!("/r/r1?view={view}");
        let page = visitor.get(&path, &[]).body;
        assert!(page.len() < 700_000, "{view} takes {} bytes", page.len());
        // The step that waits is the newest, and so it is on the first page.
        let waits = if view == "raw" { "new.md" } else { "href=\"/m/1\"" };
        assert!(between(&page, "id=\"view\"", "</section>").contains(waits), "{view}: {page}");
        assert!(!page.contains("href=\"/r/r1/step/1\""), "{view}");
        for _ in 0..5 {
            let page = visitor.get(&path, &[]).body;
            if page.contains("href=\"/r/r1/step/1\"") {
                path.clear();
                break;
            }
            let (before, _) =
                page.split_once("\" rel=\"prev\">Older steps").unwrap_or_else(|| panic!("{view}: {page}"));
            path = before.rsplit('"').next().unwrap().replace("&amp;", "&");
        }
        assert_eq!(path, "", "the first step of the {view} is never shown");
    }
}

#[test]
fn batch_views_show_children_with_their_cost() {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    let visitor = Visitor::new(&home);
    let raw = visitor.get("/r/r1?view=raw", &[]).body;
    for run in 2..=11 {
        assert!(raw.contains(&format!("href=\"/r/r{run}/step/")), "r{run}: {raw}");
    }
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let tree = visitor.get("/r/r1", &[]).body;
    let tokens: Vec<&str> =
        tree.split("data-label=\"Tokens\">").skip(1).map(|rest| between(rest, "", "<")).collect();
    let took: Vec<&str> =
        tree.split("data-label=\"Took\">").skip(1).map(|rest| between(rest, "", "<")).collect();
    assert!(
        tokens.len() == 5 && tokens.iter().all(|count| count.parse::<u64>().is_ok_and(|count| count > 0)),
        "{tokens:?}"
    );
    assert!(
        took.len() == 5 && took.iter().all(|took| took.ends_with(" ms") || took.ends_with(" s")),
        "{took:?}"
    );
}

#[test]
fn staged_copy_is_shown_as_its_source_directory() {
    let home = crate::hunks::staged();
    let visitor = Visitor::new(&home);
    let page = visitor.get("/r/r1", &[]).body;
    assert!(page.contains("changes go to a staged copy, until you apply them"), "{page}");
    assert!(!page.contains("you endowed it with"), "nobody has said so: {page}");
    let grant = visitor.get("/grants/g1", &[]).body;
    let copy = format!("staged copy of directory {}", home.path("out").display());
    assert!(grant.contains(&copy) && !grant.contains("/stages/"), "{grant}");
    // Which file each call was about.
    assert!(
        grant.contains("data-label=\"With\"><bdi class=\"foreign\" dir=\"ltr\">long.md</bdi>"),
        "{grant}"
    );
    let why = home.almoner(&["why", "g1"]).expect(0).out.replace("\n", " ");
    assert!(why.contains("staged copy of directory") && !why.contains("/stages/"), "{why}");
}

#[test]
fn diff_page_shows_a_move_once_and_marks_conflicts() {
    let home = home(json!([
        calls(&[("out_move", json!({ "from": "a.md", "to": "sub/through.md" }))]),
        calls(&[
            ("out_move", json!({ "from": "sub/through.md", "to": "sub/z.md" })),
            ("out_write", json!({ "path": "new.md", "content": "new\n" })),
            ("out_write", json!({ "path": "other.md", "content": "other\n" })),
            ("out_write", json!({ "path": "b.md", "content": "theirs\n" })),
            ("out_remove", json!({ "path": "sub/c.rs" })),
        ]),
        done(),
    ]));
    run(&home, "out:stage", &ALLOWED).expect(0);
    home.write("out/b.md", "mine\n");
    let (browser, _) = let_in(&home, true, "/r/r1/diff");
    browser.says("5 files: 2 new, 1 removed, 1 moved, 1 in conflict");
    let (from, to) = (home.path("out/a.md"), home.path("out/sub/z.md"));
    browser.find("checkbox", &format!("{} → {}", from.display(), to.display()));
    assert_eq!(
        browser.all("checkbox", &from.display().to_string()).len(),
        1,
        "the other end is no entry of its own"
    );
    browser.says("Moved as it is");
    browser.says("What is there now");
    browser.says("-mine");
    // The buttons stay in view, and cover no file at the end of the page.
    let bar = "const bar = document.querySelector('form.card > .buttons').getBoundingClientRect();
               return bar.top >= 0 && bar.bottom <= innerHeight";
    assert_eq!(browser.run(bar), json!(true));
    looked_at_with(&browser, "staged-move", true);
    browser.press("button", "Apply those that are marked");
    browser.says("It was applied");
    assert_eq!(home.read("out/sub/z.md"), "one two\n");
    assert!(!home.path("out/a.md").exists() && !home.path("out/sub/through.md").exists());
    assert_eq!(home.read("out/b.md"), "mine\n");
    assert!(home.almoner(&["diff", "r1"]).out.contains("CONFLICT"));
    browser.clean(&[]);
}

#[test]
fn runs_and_grants_are_found_by_partial_text() {
    let home = TestHome::new();
    let slots: Vec<String> = (0..101).map(|at| format!("s{at}: dir")).collect();
    home.write("Scribe.worker", format!("---\nslots: {{ {} }}\n---\nDo it.\n", slots.join(", ")));
    home.write("script.json", json!([{ "turns": [done()] }]).to_string());
    home.write("in/a.md", "a");
    let given: Vec<String> = (0..101).map(|at| format!("-es{at}=in")).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    home.almoner(&[&["run", "Scribe.worker", "-m", "scripted:script.json"], &given[..]].concat()).expect(0);
    let visitor = Visitor::new(&home);
    let listed = |path: &str| visitor.get(path, &[]).body.contains("href=\"/r/r1\"");
    assert!(listed("/runs?worker=scribe") && listed("/runs?worker=CRIB") && !listed("/runs?worker=clerk"));
    // The next page keeps the search.
    let page = visitor.get("/grants?state=all&find=in", &[]).body;
    let older = between(&page, "<p><a href=\"/grants?", "\"").replace("&amp;", "&");
    assert!(older.contains("find=in"), "{older}");
    let older = visitor.get(&format!("/grants?{older}"), &[]).body;
    assert!(older.contains("id=\"g1\"") && !older.contains("id=\"g2\""), "{older}");
}

#[test]
fn empty_page_explains_how_to_start() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    for (path, says) in [
        ("/", "Start a run: <code>almoner run FILE</code>"),
        ("/runs", "No runs yet. <a href=\"/runs/new\">Run a worker</a>"),
        ("/runs?state=stalled", "No run is stalled."),
        ("/grants", "<code>almoner run FILE -e out=./out:rw</code>"),
    ] {
        let page = visitor.get(path, &[]).body;
        assert!(page.contains(says), "{path}: {page}");
    }
}
