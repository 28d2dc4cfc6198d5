//! Tests of a run's staged changes in a browser, where the user applies them in parts.

use super::let_in;
use super::pages::looked_at_with;
use crate::hunks::{lines, staged};

/// Applies the staged changes without one file and one hunk, then applies these, and discards the copy.
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

    // The file is not as the browser shows it any more, so nothing is done before the user has seen it.
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
    // A change that somebody else made in the same way was not applied.
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

/// Discards the marked changes after a confirmation. Also sets and clears all marks at once.
fn thrown_away(scripts: bool) {
    let home = staged();
    let (browser, _) = let_in(&home, scripts, "/r/r1/diff");
    let marked = || browser.run("return document.querySelectorAll('input[name=only]:checked').length");
    assert_eq!(marked(), 2);
    browser.press("button", "Mark none");
    assert!(browser.wait(|| (marked() == 0).then_some(())).is_some(), "{}", marked());
    browser.press("button", "Apply those that are marked");
    browser.says("no file was marked");
    // A file without any of its hunks is told of beside the marks, which stay.
    browser.press("checkbox", &home.path("out/long.md").display().to_string());
    for number in 1..=3 {
        browser.press("checkbox", &format!("hunk {number} of 3"));
    }
    browser.press("button", "Discard those that are marked");
    browser.says("no hunk of");
    assert_eq!(marked(), 1);
    browser.press("checkbox", "hunk 2 of 3");
    browser.press("button", "Discard those that are marked");
    browser.says("Throw away what is marked?");
    browser.says("1 file");
    assert!(home.almoner(&["diff", "r1"]).expect(0).out.contains("LINE 20"), "not before the second word");
    browser.press("button", "Throw it away for good");
    browser.says("hunk 2 of 2");
    browser.press("button", "Mark all");
    assert!(browser.wait(|| (marked() == 2).then_some(())).is_some(), "{}", marked());
    browser.press("button", "Apply those that are marked");
    browser.says("It was applied");
    assert_eq!(home.read("out/long.md"), lines(&[2, 38]));
    browser.clean(&["422"]);
}

#[test]
fn marked_changes_are_discarded_with_scripts() {
    thrown_away(true);
}

#[test]
fn marked_changes_are_discarded_without_scripts() {
    thrown_away(false);
}

#[test]
fn staged_copy_is_applied_in_parts_with_scripts() {
    in_parts(true);
}

#[test]
fn staged_copy_is_applied_in_parts_without_scripts() {
    in_parts(false);
}
