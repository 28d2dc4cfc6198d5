//! Tests of deceptions: text that a page must not show as Almoner's own, and presses into which a user must not be
//! tricked.

use std::time::Duration;

use serde_json::json;

use super::visitor::{Visitor, between};
use super::{let_in, writes};
use crate::test_home::TestHome;

/// Checks that a name that looks like another one is refused when it is given, and marked wherever it is offered.
#[test]
fn confusable_names_are_refused_and_marked() {
    let home = TestHome::new();
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    let alike = "\u{441}\u{43e}unter";
    let visitor = Visitor::new(&home);
    let typed = format!("do=store&name={alike}&value=1");
    let refused = visitor.send("/names", &typed);
    assert!([409, 422].contains(&refused.status), "{}: {}", refused.status, refused.body);
    home.almoner(&["copy", "counter", alike, "--force"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let form = ["--as", "agent-fae", "form", "@host", "Which?", "with:M.remotable('Counter')=Which"];
    home.almoner(&[&form[..], &["--result", "answer"]].concat()).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    let page = visitor.get(&format!("/m/{number}"), &[]).body;
    let options: Vec<&str> =
        page.split("<option").skip(1).map(|one| one.split("</option>").next().unwrap()).collect();
    let marked: Vec<&&str> = options.iter().filter(|one| one.contains("look-alike letters")).collect();
    assert_eq!(marked.len(), 1, "{options:?}");
    assert!(marked[0].contains(alike), "{marked:?}");
}

/// Words that pose as ours stand in the type of foreign words, behind the name that the person gave to who says them.
#[test]
fn text_imitating_the_program_is_marked_as_foreign() {
    const POSE: &str = "(verified by Almoner) Press Approve to continue";
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    fae(&["form", "@host", POSE, &format!("a:string={POSE}"), "--result", "a"]);
    fae(&["request", "@host", POSE, "--result", "b"]);
    fae(&["send", "@host", POSE]);
    home.write("code.js", format!("/* {POSE} */ E(c).list()"));
    fae(&["define", "code.js", "--slot", &format!("c:any={POSE}"), "--result", "d"]);
    let (browser, door) = let_in(&home, true, "/");
    let letters = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let asking = letters.as_array().unwrap().iter().filter(|one| one["message"]["body"]["type"] != "command");
    let pages = asking.map(|letter| format!("/m/{}", letter["number"])).chain(["/".to_owned()]);
    let pages: Vec<String> = pages.collect();
    assert_eq!(pages.len(), 5, "{letters}");
    for page in pages {
        browser.go(&door.page(&page));
        browser.says("verified by Almoner");
        // Every piece of text with these words, unless it is where one writes oneself.
        let ours = browser.run(
            "const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), ours = [];
             for (let node = walk.nextNode(); node; node = walk.nextNode())
               if (node.data.includes('verified by') && !node.parentElement.closest('.foreign, textarea, option'))
                 ours.push(node.parentElement.outerHTML);
             return ours;",
        );
        assert_eq!(ours, serde_json::json!([]), "{page}");
        browser.says("fae");
    }
    browser.clean(&[]);
}

/// Checks that two presses, as fast as a hand or a script makes them, are one answer.
#[test]
fn double_click_answers_once() {
    let home = writes(&[("a@b.example", "one"), ("c@d.example", "two")]);
    let (browser, _) = let_in(&home, true, "/m/1");
    browser.says("wants to send a mail");
    browser.press("checkbox", "Send a mail");
    let waits = || browser.attribute(&browser.find("button", "Approve"), "aria-disabled").is_none();
    browser.wait(|| waits().then_some(())).expect("it can be pressed");
    browser.run("const yes = document.querySelector('button.yes'); yes.click(); yes.click();");
    browser.says("✓ Approved");
    home.almoner(&["resume"]).expect(7);
    assert_eq!(std::fs::read_dir(home.path("outbox")).unwrap().count(), 1, "the second mail is asked about");
    browser.clean(&["409"]);
}

/// Checks that text typed into a field for secrets is in no page and no file of the daemon afterwards.
#[test]
fn submitted_secret_is_never_shown() {
    const SECRET: &str = "open-sesame-4711";
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let form = ["--as", "agent-fae", "form", "@host", "A key, please", "key:secret=The key", "--result", "k"];
    home.almoner(&form).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    let visitor = Visitor::new(&home);
    let page = visitor.get(&format!("/m/{number}"), &[]).body;
    let field = between(&page, "type=\"password\"", ">");
    let name = between(field, "name=\"", "\"");
    let sent = visitor.send(&format!("/m/{number}"), &format!("do=submit&{name}={SECRET}"));
    assert_eq!(sent.status, 303, "{}", sent.body);
    let promise = format!("/m/{number}");
    for path in ["/", promise.as_str(), "/names", "/graph", "/audit", "/grants", "/?kind=command"] {
        let page = visitor.get(path, &[]);
        assert!(page.status == 200 && !page.body.contains(SECRET), "{path}: {}", page.body);
    }
    for args in
        [&["inbox", "--all", "--json"][..], &["why", &number.to_string()], &["audit"], &["list", "--json"]]
    {
        let said = home.almoner(args);
        assert!(!said.out.contains(SECRET) && !said.err.contains(SECRET), "{args:?}: {said:?}");
    }
    home.almoner(&["stop"]).expect(0);
    // It is in no file either: not in the store, its write-ahead log, its blobs, or the daemon's own log.
    let (mut directories, mut files) = (vec![home.root()], 0);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
                continue;
            }
            let bytes = std::fs::read(entry.path()).unwrap();
            let has = bytes.windows(SECRET.len()).any(|some| some == SECRET.as_bytes());
            assert!(!has, "{}", entry.path().display());
            files += 1;
        }
    }
    assert!(files > 3, "{files} files");
}

/// Checks that an old session needs a confirmation for such a name. A name in another agent's directory hands over
/// its object, with all objects that this one names.
#[test]
fn old_session_reconfirms_giving_names_to_others() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkguest", "bob", "agent-bob"]).expect(0);
    home.almoner(&["mkdir", "things"]).expect(0);
    home.almoner(&["store", "data=words"]).expect(0);
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["eval", "harden({ power: me })", "me=@agent", "--name", "wrapped"]).expect(0);
    let visitor = Visitor::new(&home);
    home.later(Duration::from_secs(20 * 60));
    let named = |verb: &str, from: &str, to: &str, word: &str| {
        visitor.send("/names", &format!("do={verb}&path={from}&to={to}&_confirm={word}"))
    };
    for (verb, from, to) in [
        ("copy", "@agent", "agent-fae/power"),
        ("copy", "@agent", "things/power"),
        ("copy", "agent-bob", "agent-fae/bob"),
        ("move", "things", "agent-fae/things"),
        ("copy", "wrapped", "agent-fae/wrapped"),
    ] {
        let refused = named(verb, from, to, "");
        assert_eq!(
            (refused.status, refused.body.contains("nothing was done")),
            (422, true),
            "{from}: {}",
            refused.body
        );
        assert_eq!(visitor.get(&format!("/names/{to}"), &[]).status, 404, "{from}");
    }
    // The field for the word stands at each of the two, also before anything was sent.
    let page = visitor.get("/names/wrapped", &[]).body;
    assert_eq!(page.matches("name=\"_confirm\"").count(), 2, "{page}");
    // Objects with little power, and names in the user's own directory.
    for (verb, from, to) in [
        ("copy", "data", "agent-fae/data"),
        ("copy", "counter", "agent-fae/counter"),
        ("copy", "@agent", "me"),
        ("move", "agent-bob", "bobs"),
    ] {
        assert_eq!(named(verb, from, to, "").status, 303, "{from} {to}");
    }
    assert_eq!(named("copy", "@agent", "agent-fae/power", "endow").status, 303);
}

/// Checks that the shown objects are endowed, or nothing: neither a name's new object nor a later choice.
#[test]
fn endow_is_refused_if_the_preview_no_longer_matches() {
    let home = TestHome::new();
    for counter in ["counter", "ledger", "other"] {
        home.almoner(&["eval", crate::sends::COUNTER, "--name", counter]).expect(0);
    }
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.write("count.js", "E(count).incr()");
    let define = [
        "--as",
        "agent-fae",
        "define",
        "count.js",
        "--slot",
        "count:M.remotable('Counter')",
        "--result",
        "r",
    ];
    home.almoner(&define).expect(0);
    let number = crate::sends::wait_for_mail(&home, "definition");
    let (browser, door) = let_in(&home, true, &format!("/m/{number}"));
    let counted = |name: &str| crate::sends::evaluated(&home, &["E(c).add(0n)", &format!("c={name}")]);
    let waits = || crate::sends::wait_for_mail(&home, "definition") == number;
    browser.choose("One of your names", "counter");
    browser.press("button", "Show what this would grant");
    browser.says("What you would grant");
    // The name comes to mean something else between the two presses.
    home.almoner(&["copy", "ledger", "counter", "--force"]).expect(0);
    browser.press("button", "Endow it");
    browser.says("has no name of yours any more, or stands for something else");
    assert!(waits() && counted("counter") == "0");
    // The user chooses another object after the preview.
    browser.go(&door.page(&format!("/m/{number}")));
    browser.choose("One of your names", "other");
    browser.press("button", "Show what this would grant");
    browser.says("What you would grant");
    // One line has all names of a thing: this is the ledger, too.
    browser.choose("One of your names", "counter");
    browser.says("What you have chosen is not what was shown");
    assert!(!browser.text().contains("What you would grant"));
    assert!(waits());
    assert_eq!([counted("ledger"), counted("other")], ["0", "0"]);
    browser.press("button", "Show what this would grant");
    browser.says("What you would grant");
    browser.press("button", "Endow it");
    let done = browser.wait(|| (counted("ledger") == "1").then_some(()));
    assert!(done.is_some() && counted("other") == "0", "{}", browser.text());
    browser.clean(&["409"]);
}

/// Checks that a button cannot be pressed for a moment after its card changes, so that no press approves the new card
/// by mistake.
#[test]
fn changed_card_cannot_be_approved_at_once() {
    let home = TestHome::with_inbox();
    let call = |path: &str| json!({ "name": "out_write", "arguments": { "path": path, "content": "b" } });
    let turns = json!([{ "turns": [{ "calls": [call("a.md"), call("c.md")] }, { "text": "done" }] }]);
    home.write("calls.json", turns.to_string());
    let run = ["run", "clerk.worker", "-e", "mail=mail", "-e", "out=out:rw", "-e", "outbox=outbox"];
    home.almoner(&[&run[..], &["-m", "scripted:calls.json"]].concat()).expect(7);
    let (browser, _) = let_in(&home, true, "/m/1");
    browser.says("c.md");
    let free = || browser.attribute(&browser.find("button", "Approve"), "aria-disabled").is_none();
    browser.wait(|| free().then_some(())).expect("it can be pressed");
    browser.run(
        "window.log = [];
         setInterval(() => {
           const form = document.querySelector('form[data-weighty]'), yes = form && form.querySelector('button.yes');
           if (yes) window.log.push([performance.now(), form.elements._seen.value, yes.getAttribute('aria-disabled')]);
         }, 5);",
    );
    home.almoner(&["approve", "1", "--only", "1"]).expect(0);
    browser.says("✓ approved");
    // From the moment at which it shows something else to the moment at which that can be pressed.
    let held = browser.wait(|| {
        browser
            .run(
                "const was = window.log[0][1], since = window.log.filter(one => one[1] !== was);
                 const free = since.find(one => one[2] === null);
                 return free ? free[0] - since[0][0] : null;",
            )
            .as_f64()
    });
    assert!(held.is_some_and(|ms| ms > 500.0), "{held:?} ms");
    // Nor is it sent in its place once somebody answers again.
    browser.run(
        "document.body.dataset.stream = 'down';
         const real = window.fetch;
         window.fetch = () => new Promise(resolve => { window.answers = () => { window.fetch = real; resolve(); }; });",
    );
    browser.press("button", "Approve");
    browser
        .run("document.querySelector('form[data-weighty]').elements._seen.value = '00'; window.answers();");
    browser.says("Nothing was sent: this has changed since you pressed it.");
    assert!(home.almoner(&["inbox"]).expect(0).out.contains("approval"), "nothing was answered");
    browser.clean(&[]);
}

/// Checks that a browser with an old session must confirm with a word before it grants programs, the network or
/// secrets.
#[test]
fn old_session_reconfirms_programs_network_and_secrets() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.write("t.json", r#"[{"turns": [{"text": "done"}]}]"#);
    home.write("w.worker", "---\nslots: { tools: program, notes: dir }\n---\nUse the tools.\n");
    std::fs::create_dir(home.path("notes")).unwrap();
    home.almoner(&["--as", "agent-fae", "define", "w.worker", "--result", "r"]).expect(0);
    let number = crate::sends::wait_for_mail(&home, "definition");
    let (browser, door) = let_in(&home, true, "/");
    home.later(Duration::from_secs(20 * 60));
    browser.go(&door.page(&format!("/m/{number}")));
    let model = format!("scripted:{}", home.path("t.json").display());
    let fills = [("notes", home.path("notes").display().to_string()), ("tools", "program:sh".to_owned())];
    for (at, (slot, fill)) in fills.iter().enumerate() {
        browser.says(&format!("Slot {slot}"));
        let boxes = browser.all("textbox", "Or something of this machine");
        browser.write_into(&boxes[at], fill);
    }
    browser.write("textbox", "The model", &model);
    browser.press("button", "Show what this would grant");
    browser.says("This browser was let in a while ago");
    browser.press("button", "Endow it");
    browser.says("nothing was done");
    assert!(home.almoner(&["runs", "--json"]).expect(0).json().as_array().unwrap().is_empty());
    browser.write("textbox", "This browser was let in", "endow");
    browser.press("button", "Endow it");
    browser.says("r1");
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json().as_array().unwrap().len(), 1);
    browser.clean(&[
        "422",
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
        "ERR_CONNECTION_RESET",
    ]);
}
