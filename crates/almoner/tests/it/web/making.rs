//! A worker that a run wants to make, on its card in a browser: what it would get, what only a person can fill, and its
//! text as the person has changed it.

use serde_json::json;

use super::let_in;
use super::pages::looked_at_with;
use crate::home::Home;

const BOSS: &str = "---\ncreates: true\nslots: { docs: dir }\n---\nUse what you need.\n";
const SOURCE: &str =
    "---\ndescription: Judges one deck.\nslots: { docs: dir, place: dir rw }\n---\nJudge it.\n";

fn made(scripts: bool) {
    let home = Home::new();
    home.write("boss.worker", BOSS);
    for dir in ["docs", "out"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    let create = json!({ "name": "create_worker", "arguments": { "name": "judge", "source": SOURCE } });
    let call = json!({ "name": "judge", "arguments": {} });
    let write = json!({ "name": "place_write", "arguments": { "path": "v.md", "content": "pass\n" } });
    let script = json!([
        { "worker": "boss", "turns": [{ "calls": [create] }, { "calls": [call] }, { "text": "done" }] },
        { "worker": "judge", "turns": [{ "calls": [write] }, { "text": "judged" }] },
    ]);
    home.write("script.json", script.to_string());
    home.almoner(&["run", "boss.worker", "-e", "docs=docs", "-m", "scripted:script.json"]).expect(7);
    let (browser, _) = let_in(&home, scripts, "/m/1");
    browser.says("What it would get");
    browser.says("what its maker has as docs");
    browser.says("Its maker has nothing for it: only you can fill it.");
    looked_at_with(&browser, if scripts { "making" } else { "making-without-scripts" }, scripts);
    // What cannot be is told on the card, and what was written stays.
    browser.write("textbox", "What fills place", "https://own.example");
    browser.press("button", "Edit it before you approve");
    browser.write("textbox", "Its text", "Be kind.");
    browser.press("button", "Approve");
    browser.says("wants dir rw");
    assert!(home.almoner(&["inbox", "1"]).expect(0).out.contains("judge"), "nothing was answered");
    let field = browser.find("textbox", "What fills place");
    assert_eq!(browser.value(&field), "https://own.example");
    let fill = format!("{}{}:rw", "\u{E003}".repeat(19), home.path("out").display());
    browser.write_into(&field, &fill);
    browser.press("button", "Approve");
    browser.says("✓ approved");
    let said = home.almoner(&["resume"]).expect(7);
    assert!(!said.out.contains("error"), "{said:?}");
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("the user has changed its file"), "{trace}");
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert!(grants.contains("place") && grants.contains(&home.path("out").display().to_string()), "{grants}");
    browser.clean(&["422"]);
}

#[test]
fn a_person_fills_and_changes_what_a_run_makes_with_scripts() {
    made(true);
}

#[test]
fn a_person_fills_and_changes_what_a_run_makes_without_scripts() {
    made(false);
}
