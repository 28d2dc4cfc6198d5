//! What a run has staged, looked at in a browser and put in place in parts.

use super::let_in;
use super::pages::looked_at_with;
use crate::hunks::{lines, staged};

/// One file is left out, one hunk of another, and what is left follows; then the rest is thrown away.
fn in_parts(scripts: bool) {
    let home = staged();
    let (browser, door) = let_in(&home, scripts, "/r/r1");
    browser.press("link", "Staged changes");
    browser.says("Nothing of it is in place before you apply it");
    browser.says("hunk 3 of 3");
    let name = if scripts { "staged" } else { "staged-without-scripts" };
    looked_at_with(&browser, name, scripts);
    browser.press("checkbox", &home.path("out/a.md").display().to_string());
    browser.press("checkbox", "hunk 1 of 3");
    browser.press("button", "Apply those that are marked");
    browser.says("It was applied");
    assert_eq!(home.read("out/long.md"), lines(&[20, 38]));
    assert_eq!(home.read("out/a.md"), "one two\n");

    // What is before the browser is not what is there any more: nothing is done before it was seen.
    home.write("out/a.md", "mine\n");
    browser.press("button", "Apply those that are marked");
    browser.says("Nothing was changed");
    browser.says("it was changed meanwhile");
    assert_eq!(home.read("out/long.md"), lines(&[20, 38]));
    browser.press("button", "Apply those that are marked");
    browser.says("It was applied");
    browser.says("✓ applied");
    assert_eq!(home.read("out/long.md"), lines(&[2, 20, 38]));
    assert_eq!(home.read("out/a.md"), "mine\n");
    // What somebody else has made the same was not applied.
    home.write("out/a.md", "one 2\n");
    browser.go(&door.page("/r/r1/diff"));
    browser.says("The place already holds this");

    browser.go(&door.page("/r/r1/diff"));
    browser.press("button", "Discard the whole copy");
    browser.says("Throw the whole copy away?");
    browser.press("button", "Throw it away for good");
    browser.says("done");
    assert_eq!(home.read("out/long.md"), lines(&[2, 20, 38]), "what was applied stays");
    home.almoner(&["diff", "r1"]).expect(8);
    browser.clean(&["409"]);
}

#[test]
fn a_staged_copy_is_applied_in_parts_with_scripts() {
    in_parts(true);
}

#[test]
fn a_staged_copy_is_applied_in_parts_without_scripts() {
    in_parts(false);
}
