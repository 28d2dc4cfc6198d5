//! Tests of the card of a worker that a run wants to make. It shows the grants, the slots that only the user can
//! fill, and the text that the user has edited.

use serde_json::json;

use super::let_in;
use super::pages::looked_at_with;
use crate::test_home::TestHome;

const BOSS: &str = "---\ncreates: true\nslots: { docs: dir }\n---\nUse what you need.\n";
const SOURCE: &str =
    "---\ndescription: Judges one deck.\nslots: { docs: dir, place: dir rw }\n---\nJudge it.\n";

fn made(scripts: bool) {
    let home = TestHome::new();
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
    home.almoner(&["mount", home.path("out").to_str().unwrap(), "notes"]).expect(0);
    let (browser, door) = let_in(&home, scripts, "/m/1");
    browser.says("What you would grant");
    browser.says("What its maker has as docs: ");
    browser.says("It can do: list, read, glob, grep, stat (reads).");
    browser.says("Its maker has nothing for it: only you can fill it.");
    // The user cannot approve before the preview of the grants.
    let yes = "return document.querySelectorAll('button[value=approve], button[value=run]').length";
    assert_eq!(browser.run(yes), 0);
    browser.press("button", "Show what this would grant");
    browser.says("nothing fills the slot `place`");
    looked_at_with(&browser, if scripts { "making" } else { "making-without-scripts" }, scripts);
    // The card tells of an impossible value, and the typed text stays.
    let on_this_machine = "Or something of this machine";
    browser.write("textbox", on_this_machine, "https://own.example");
    browser.press("button", "Show what this would grant");
    browser.says("wants dir rw");
    let field = browser.find("textbox", on_this_machine);
    assert_eq!(browser.value(&field), "https://own.example");
    browser.write_into(&field, &"\u{E003}".repeat(19));
    // The user makes a narrower object out of one of their own.
    browser.press("button", "Make a narrower one for slot place");
    browser.choose("Of which", "notes");
    browser.press("button", "Narrow this one");
    browser.write("textbox", "How often it may be used", "10/min");
    browser.write("textbox", "Your name for it", "few");
    browser.press("button", "Show what it would allow");
    browser.press("button", "Make it, and go back");
    browser.says("few is made, and picked below");
    browser.press("button", "Show what this would grant");
    browser.says("As place it gets your few: ");
    browser.says("Only so far: 10 calls in 1 min.");
    browser.says("You are asked each time before write, append, edit, move, remove, make_directory.");
    // An approval is for the shown text.
    browser.press("button", "Edit it before you approve");
    browser.write("textbox", "Its text", "Be kind.");
    browser.press("button", "Approve");
    // With scripts the preview goes at once, so the answer is not compared with it.
    browser.says(if scripts {
        "Nothing was answered yet"
    } else {
        "Nothing was answered: this is not what you saw"
    });
    browser.says("How your text differs from what was proposed");
    looked_at_with(
        &browser,
        if scripts { "making-granted" } else { "making-granted-without-scripts" },
        scripts,
    );
    assert!(home.almoner(&["inbox"]).expect(0).out.contains("approval"), "nothing was answered");
    browser.press("button", "Approve");
    browser.says("✓ Approved");
    browser.go(&door.page("/m/1"));
    browser.says("What you chose: your few: ");
    browser.says("You have changed its text");
    let said = home.almoner(&["resume"]).expect(7);
    assert!(!said.out.contains("error"), "{said:?}");
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("the user has changed its file"), "{trace}");
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert!(grants.contains("place") && grants.contains(&home.path("out").display().to_string()), "{grants}");
    browser.clean(&["409", "422"]);
}

#[test]
fn created_worker_is_edited_and_endowed_with_scripts() {
    made(true);
}

#[test]
fn created_worker_is_edited_and_endowed_without_scripts() {
    made(false);
}
