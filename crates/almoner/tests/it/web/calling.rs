//! Tests of the methods of an object on its page, and of a method call by a form.

use super::let_in;
use super::pages::looked_at_with;
use crate::test_home::TestHome;

const FOLLOWED: &str = "makeExo('Followed', M.interface('Followed', {\n  all: M.call(M.string()).rest(M.any()).returns(M.string()),\n  \
                        odd: M.call().rest(M.string()).returns(M.string()),\n  only: M.call().rest([]).returns(M.string()),\n}), \
                        { all(...all) { return all.join('|'); }, odd() { return ''; }, only() { return ''; } })";

/// Calls methods of a directory and of an object of code, and checks their results.
fn called(scripts: bool) {
    let home = TestHome::new();
    std::fs::create_dir(home.path("notes")).unwrap();
    std::fs::write(home.path("notes/a.txt"), "what it says").unwrap();
    home.almoner(&["mount", home.path("notes").to_str().unwrap(), "notes"]).expect(0);
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    let (browser, door) = let_in(&home, scripts, "/names/notes");
    browser.find("heading", "What it can be asked");
    browser.says("readText");
    looked_at_with(&browser, if scripts { "methods" } else { "methods-without-scripts" }, scripts);
    browser.press("link", "Call readText");
    browser.find("heading", "Call a method of notes");
    // An argument that does not fit is told beside its field, and nothing is called.
    browser.press("button", "Call it");
    browser.says("Nothing was called");
    if scripts {
        // Loaded again it is the form, and nothing is sent a second time.
        browser.reload();
        browser.find("heading", "Call a method of notes");
        assert!(!browser.text().contains("Nothing was called"), "{}", browser.text());
    }
    browser.press("radio", "text");
    browser.write("textbox", "text", "a.txt");
    looked_at_with(&browser, if scripts { "call" } else { "call-without-scripts" }, scripts);
    browser.press("button", "Call it");
    arrives(&browser, "what it says");
    // An object of code has the guard that its maker gave it.
    browser.go(&door.page("/names/counter"));
    browser.says("This is its guard");
    looked_at_with(&browser, if scripts { "guarded" } else { "guarded-without-scripts" }, scripts);
    browser.press("link", "Call add");
    browser.write("textbox", "Argument 1", "-1");
    browser.press("button", "Call it");
    browser.says("Nothing was called");
    if scripts {
        // Told while one writes, by the code that reads the form when it is sent.
        browser.write("textbox", "Argument 1", "x");
        browser.says("found the text \"-1x\"");
        browser.write("textbox", "Argument 1", "\u{E003}");
    }
    browser.write("textbox", "Argument 1", &format!("{}41", "\u{E003}".repeat(3)));
    browser.write("textbox", "Your name for what comes of it", "sum");
    browser.press("button", "Call it");
    arrives(&browser, "41");
    // The further arguments are a list, and each element of it becomes one argument.
    home.almoner(&["eval", FOLLOWED, "--name", "followed"]).expect(0);
    browser.go(&door.page("/call?path=followed&method=all"));
    browser.write("textbox", "Argument 1", "a");
    browser.press("button", "Add a row to Further arguments");
    browser.press("radio", "text");
    browser.write("textbox", "text", "b");
    browser.press("button", "Call it");
    arrives(&browser, "a|b");
    // Where a guard lets no list through, that is said, and nothing is dropped.
    browser.go(&door.page("/call?path=followed&method=odd"));
    browser.write("textbox", "Further arguments", "b");
    browser.press("button", "Call it");
    browser.says("Further arguments: further arguments are a list");
    browser.go(&door.page("/call?path=followed&method=only"));
    assert!(browser.all("textbox", "Further arguments").is_empty(), "there may be none");
    // Without one it is asked by a name that is written.
    home.almoner(&["eval", "Far('Plain', { twice: n => n * 2n })", "--name", "plain"]).expect(0);
    browser.go(&door.page("/names/plain"));
    browser.says("only that code knows its methods");
    browser.press("link", "Call a method of it");
    browser.write("textbox", "Method", "twice");
    browser.press("button", "Add a row to Arguments");
    browser.press("radio", "big integer");
    browser.write("textbox", "big integer", "21");
    browser.press("button", "Call it");
    arrives(&browser, "42");
    assert_eq!(crate::sends::evaluated(&home, &["E(c).incr()", "c=counter"]), "42");
    home.almoner(&["show", "sum"]).expect(0);
    // A name that has come to mean something else meanwhile is not called.
    browser.go(&door.page("/call?path=counter&method=incr"));
    browser.says("It takes nothing");
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "other"]).expect(0);
    home.almoner(&["copy", "other", "counter"]).expect(0);
    browser.press("button", "Call it");
    browser.says("stands for something else now");
    browser.go(&door.page("/call?path=nothing"));
    browser.says("nothing");
    browser.go(&door.page("/call?path=notes&method=format"));
    browser.says("it has no method `format`");
    browser.clean(&["422", "409", "404"]);
}

/// Waits until the page of a call shows its result. Without scripts it loads the page again.
fn arrives(browser: &super::Browser, words: &str) {
    let found = browser.wait(|| {
        if browser.text().contains(words) && browser.at().contains("/thing?id=") {
            return Some(());
        }
        if browser.at().contains("/thing?id=")
            && browser.run("return !document.documentElement.matches('.scripted')") == true
        {
            browser.reload();
        }
        None
    });
    assert!(found.is_some(), "{words} at {}: {}", browser.at(), browser.text());
}

#[test]
fn method_is_called_by_a_form_with_scripts() {
    called(true);
}

#[test]
fn method_is_called_by_a_form_without_scripts() {
    called(false);
}
