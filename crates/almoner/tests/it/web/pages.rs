//! Tests of every page for every user: accessibility by axe, the look in both themes at three widths, and the
//! keyboard.

use super::{Browser, Door, let_in};
use crate::kill_sweep::Sample;
use crate::test_home::TestHome;

/// The widths at which pages are looked at: a phone, 400 % of a small window, a desk.
const WIDTHS: [u32; 3] = [320, 768, 1280];

/// Looks at a page in both themes at all widths. No part of it may stick out sideways.
#[track_caller]
pub(crate) fn looked_at(browser: &Browser, name: &str) {
    looked_at_with(browser, name, true);
}

/// Looks at a page as [`looked_at`] does. Without scripts it leaves out axe, which is a script itself.
#[track_caller]
pub(crate) fn looked_at_with(browser: &Browser, name: &str, scripts: bool) {
    // A new element is paler for a moment.
    let still = || browser.run("return document.getAnimations().length === 0") == true;
    assert!(browser.wait(|| still().then_some(())).is_some(), "{name} never stands still");
    // The short check looks at one theme, uses axe and the keyboard at one width, and takes no pictures. Theme and
    // width change with the commit.
    let sample = Sample::from_env();
    for dark in [false, true].into_iter().filter(|dark| sample.tries(u64::from(*dark), 2)) {
        for (index, width) in (0..).zip(WIDTHS) {
            browser.look(width, dark);
            let theme = if dark { "dark" } else { "light" };
            let over = browser
                .run("return document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(over, serde_json::json!(0), "{name} at {width} pixels is {over} too wide");
            // On a phone nothing is looked at through a slit.
            let hidden = browser.run(
                "return [...document.querySelectorAll('.wide:has(> .stack)')].filter(one => one.scrollWidth > one.clientWidth).length",
            );
            assert!(
                width > 320 || hidden == 0,
                "{name} at {width} pixels has {hidden} tables that are too wide"
            );
            if sample.is_full() {
                browser.picture(&format!("{name}-{theme}-{width}"));
            }
            if scripts && sample.tries(index, 3) {
                browser.axe(&format!("{name}, {theme}, {width} pixels"));
                reachable_by_keyboard(browser, &format!("{name} at {width} pixels"));
            }
        }
    }
    browser.look(1200, false);
}

/// Checks that the key Tab leads to everything on the page that can be operated, shows where it is, and is never caught.
#[track_caller]
fn reachable_by_keyboard(browser: &Browser, name: &str) {
    // Of a group of radio buttons, Tab leads to one, and the arrow keys to the others.
    let count = browser.run(
        "const shown = one => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
         const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')];
         const groups = new Set();
         window.wanted = all.filter(one => {
           if (one.tabIndex < 0 || one.matches(':disabled') || one.type === 'hidden' || !shown(one)) return false;
           if (one.type !== 'radio') return true;
           const group = (one.form && one.form.id) + ' ' + one.name;
           return !groups.has(group) && groups.add(group);
         });
         window.reached = new Set(); window.unseen = [];
         document.addEventListener('focusin', event => {
           const one = event.target;
           const style = getComputedStyle(one);
           const marked = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
           if (one !== document.body && !marked) window.unseen.push(one.outerHTML.slice(0, 120));
           window.reached.add(one.type === 'radio' ? (one.form && one.form.id) + ' ' + one.name : one);
         });
         document.activeElement.blur();
         window.scrollTo(0, 0);
         return window.wanted.length;",
    );
    let count = usize::try_from(count.as_u64().unwrap()).unwrap();
    let missed = || {
        browser.run(
            "return window.wanted.filter(one =>
               !window.reached.has(one.type === 'radio' ? (one.form && one.form.id) + ' ' + one.name : one))
               .map(one => one.outerHTML.slice(0, 200))",
        )
    };
    // Scrolled parts of the page are stops too.
    for _ in 0..3 {
        browser.keys(&"\u{E004}".repeat(count + 10));
        if missed() == serde_json::json!([]) {
            break;
        }
    }
    assert_eq!(missed(), serde_json::json!([]), "{name}: the keyboard does not reach everything");
    assert_eq!(browser.run("return window.unseen"), serde_json::json!([]), "{name}: the focus is not seen");
    browser.run("document.activeElement.blur(); window.scrollTo(0, 0); return true");
}

/// Looks at these pages of a home in which a run waits. Each has a name, a path and a text that the page shows.
#[track_caller]
fn all_of(pages: &[(&str, &str, &str)], and_then: impl FnOnce(&TestHome, &Browser, &Door)) {
    let home = TestHome::with_inbox();
    home.almoner(&crate::test_home::TRIAGE).expect(7);
    let (browser, door) = let_in(&home, true, "/");
    for (name, path, says) in pages {
        browser.go(&door.page(path));
        browser.says(says);
        looked_at(&browser, name);
    }
    and_then(&home, &browser, &door);
    browser.clean(&[]);
}

#[test]
fn run_pages_are_accessible() {
    let pages = [
        ("inbox", "/", "Needs you"),
        ("approval", "/m/1", "Approve"),
        ("runs", "/runs", "triage"),
        ("run", "/r/r1", "triage"),
        ("run-timeline", "/r/r1?view=timeline", "triage"),
        ("run-raw", "/r/r1?view=raw", "triage"),
        ("step", "/r/r1/step/21", "proposed"),
    ];
    all_of(&pages, |home, browser, door| {
        bars_are_in_sight(browser, door);
        // Of several calls some are answered: these are folded, and the heading of each other one ticks it.
        home.almoner(&["approve", "1", "--only", "1,2"]).expect(0);
        browser.go(&door.page("/m/1"));
        browser.says("6 calls: 2 approved, 4 open");
        browser.find("button", "Approve the ticked calls");
        let folded = "return [...document.querySelectorAll('.call')].map(one => !!one.querySelector(':scope > details:not([open]):not(.sources)'))";
        assert_eq!(browser.run(folded), serde_json::json!([true, true, false, false, false, false]));
        let third = || browser.run("return document.querySelector('[name=entry][value=\"2\"]').checked");
        browser.find("checkbox", "3 Write ");
        // Its words come from a document, so it starts unticked.
        assert_eq!(third(), false);
        browser.press("heading", "3 Write");
        assert_eq!(third(), true);
        looked_at(browser, "partly-answered");
        home.almoner(&["approve", "1"]).expect(0);
        home.almoner(&["resume"]).expect(0);
        for (name, path, says) in [("undo", "/r/r1/undo", "Undo r1"), ("answered", "/m/1", "✓ approved")] {
            browser.go(&door.page(path));
            browser.says(says);
            looked_at(browser, name);
        }
        hijacked_card_fits(home, browser, door);
    });
}

/// Checks that the card of a hijacked clerk has its warning on the first screen, and fits below it.
#[track_caller]
fn hijacked_card_fits(home: &TestHome, browser: &Browser, door: &Door) {
    let encoded = std::fs::read(home.path("encoded/5-mail-from-supplier.eml")).unwrap();
    std::fs::write(home.path("mail/6-mail-encoded.eml"), encoded).unwrap();
    let run = ["run", "clerk.worker", "-e", "mail=mail", "-e", "out=out:rw", "-e", "outbox=outbox"];
    home.almoner(&[&run[..], &["-m", "scripted:hijacked.json"]].concat()).expect(7);
    let number = crate::sends::wait_for_mail(home, "approval");
    browser.look(1280, false);
    browser.go(&door.page(&format!("/m/{number}")));
    browser.says("clerk wants to send 2 mails and write 1 file");
    let measured = browser.run(
        "const top = one => one.getBoundingClientRect().top + scrollY, warning = document.querySelector('.dangers');
         return [document.getElementById('card').getBoundingClientRect().height, top(warning),
           document.querySelectorAll('[name=entry]').length, document.querySelectorAll('[name=entry]:checked').length,
           document.querySelector('.answers').getBoundingClientRect().bottom <= innerHeight, document.title];",
    );
    let [height, top] = [0, 1].map(|at| measured[at].as_f64().unwrap());
    assert!(height <= 1100.0 && top <= 300.0, "{measured}");
    // All three calls carry words of the mail: none is ticked. The answers are in view.
    assert_eq!(
        (&measured[2], &measured[3], &measured[4]),
        (&3.into(), &0.into(), &true.into()),
        "{measured}"
    );
    assert!(measured[5].as_str().unwrap().contains("clerk wants to send 2 mails"), "{measured}");
    browser.look(1200, false);
}

/// Checks that the bars of a timeline take about half of its width, or stand below their lines where there is no
/// room. A row stays one line.
#[track_caller]
fn bars_are_in_sight(browser: &Browser, door: &Door) {
    browser.go(&door.page("/r/r1?view=timeline"));
    browser.says("triage");
    for (width, least, most, high) in [(1280, 0.4, 0.5, 45.0), (390, 0.9, 1.0, 90.0)] {
        browser.look(width, false);
        let measured = browser.run(
            "const all = document.querySelector('.timeline').getBoundingClientRect().width;
             return [...document.querySelectorAll('.timeline tbody tr')].map(row => {
               const bar = row.querySelector('svg').getBoundingClientRect();
               return [bar.left >= 0 && bar.right <= innerWidth, bar.width / all, row.getBoundingClientRect().height];
             });",
        );
        for row in measured.as_array().unwrap() {
            let (part, height) = (row[1].as_f64().unwrap(), row[2].as_f64().unwrap());
            let fits = row[0] == true && (least..=most).contains(&part) && height <= high;
            assert!(fits, "{row} at {width}");
        }
    }
    browser.look(1200, false);
}

#[test]
fn holdings_pages_are_accessible() {
    let pages = [
        ("chat", "/chat", "Begin another"),
        ("names", "/names", "Names"),
        ("graph", "/graph", "What leads to what"),
        ("grants", "/grants", "out"),
        ("grant", "/grants/g1", "g1"),
        ("why", "/why?thing=r1", "r1"),
    ];
    all_of(&pages, |_, _, _| {});
}

#[test]
fn system_pages_are_accessible() {
    let pages = [
        ("workers", "/workers", "triage"),
        ("models", "/models", "scripted"),
        ("policy", "/policy", "Policy"),
        ("audit", "/audit", "Audit"),
        ("doctor", "/doctor", "Doctor"),
        ("settings", "/settings", "In force"),
        ("new-run", "/runs/new?worker=r1", "Run it"),
        ("sessions", "/sessions", "until"),
    ];
    all_of(&pages, |_, _, _| {});
}

#[test]
fn code_grant_and_cancelled_run_are_described_correctly() {
    let home = crate::inspecting::endowed_counter();
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let grant = grants.as_array().unwrap().iter().find(|grant| grant["slot"] == "count").unwrap();
    let number = format!("g{}", grant["number"]);
    let (browser, door) = let_in(&home, true, "/grants");
    let says = |path: &str, all: &[&str], none: &[&str]| {
        browser.go(&door.page(path));
        all.iter().for_each(|one| browser.says(one));
        let text = browser.text();
        none.iter().for_each(|one| assert!(!text.contains(one), "{path} says {one:?}: {text}"));
    };
    says(
        "/grants",
        &["counter: an object that code has made", "that has ended"],
        &["a export", "someone who is gone"],
    );
    let one = ["counter: an object", "that has ended", "What it was used for 1"];
    says(&format!("/grants/{number}"), &one, &["Nothing yet", "a export"]);
    looked_at(&browser, "grant-of-code");
    says("/names/counter", &["that has ended"], &["You have granted it to nobody"]);
    says(&format!("/why?thing={number}"), &["fae proposed", "you said: almoner endow"], &["store"]);

    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nWork.\n");
    let calls = serde_json::json!([{ "name": "out_write", "arguments": { "path": "a", "content": "a" } }]);
    home.write("script.json", serde_json::json!([{ "turns": [{ "calls": calls }] }]).to_string());
    home.almoner(&["run", "w.worker", "-m", "scripted:script.json", "-eout=out:rw"]).expect(7);
    let run = home.almoner(&["runs", "--json"]).expect(0).json()[0]["number"].as_u64().unwrap();
    home.almoner(&["cancel", &format!("r{run}"), "-r", "not today"]).expect(0);
    for path in ["/runs", "/runs?state=cancelled", &format!("/r/r{run}")] {
        says(path, &["cancelled: not today"], &["failed:"]);
    }
    browser.clean(&[]);
}

/// Cards that ask, each from another agent.
#[test]
fn request_cards_are_accessible() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    home.write("count.js", "E(count).incr()");
    fae(&[
        "define",
        "count.js",
        "--slot",
        "count:M.remotable('Counter')=What to count with",
        "--result",
        "r",
    ]);
    fae(&["request", "@host", "something to count with", "--result", "wished"]);
    fae(&["send", "@host", "a word"]);
    let (browser, door) = let_in(&home, true, "/");
    let letters = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    for letter in letters.as_array().unwrap() {
        let kind = letter["message"]["body"]["type"].as_str().unwrap();
        if ["definition", "request", "package"].contains(&kind) {
            browser.go(&door.page(&format!("/m/{}", letter["number"])));
            browser.says("fae");
            looked_at(&browser, kind);
        }
    }
    browser.clean(&[]);
}

/// Checks the cards of a guest's code: one about a withheld result, and one about code that the guest wants to run
/// itself.
#[test]
fn code_cards_are_accessible() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkdir", "notes"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    home.write("code.js", "c");
    fae(&["define", "code.js", "--slot", "c:any", "--result", "r"]);
    let definition = crate::sends::wait_for_mail(&home, "definition").to_string();
    home.almoner(&["endow", &definition, "c=notes"]).expect(0);
    let release = crate::sends::wait_for_mail(&home, "release");
    fae(&["store", "x:=1"]);
    fae(&["request-evaluation", "x + 1", "x", "--result", "more"]);
    let evaluation = crate::sends::wait_for_mail(&home, "eval-request");
    let (browser, door) = let_in(&home, true, "/");
    for (name, number, says) in [("release", release, "fae"), ("evaluation", evaluation, "x + 1")] {
        browser.go(&door.page(&format!("/m/{number}")));
        browser.says(says);
        looked_at(&browser, name);
    }
    // Each is answered as it stands there.
    browser.press("button", "Allow this to run");
    browser.says("✓ answered");
    assert_eq!(fae(&["show", "more", "--wait"]).out.trim(), "2");
    browser.go(&door.page(&format!("/m/{release}")));
    browser.press("button", "Give it away");
    browser.says("✓ answered");
    let shown = fae(&["show", "r", "--wait"]);
    assert!(!shown.out.is_empty(), "{shown:?}");
    browser.clean(&[]);
}

/// Checks the cards of runs that cannot go on: one about the unknown outcome of a call, and one about a used-up
/// limit.
#[test]
fn blocked_run_cards_are_accessible() {
    let home = crate::doubt::cut_off();
    home.almoner(&["resume"]).expect(7);
    let (browser, door) = let_in(&home, true, "/m/2");
    browser.says("happened");
    looked_at(&browser, "doubt");
    browser.go(&door.page("/r/r1"));
    browser.says("asks you whether a call happened: message 2");
    browser.go(&door.page("/m/2"));
    browser.press("button", "It happened");
    browser.says("it happened");
    home.almoner(&["resume"]).expect(0);
    home.write("w.worker", "---\nslots: { out: dir rw }\nlimits: { turns: 1 }\n---\nWrite.\n");
    home.write("turns.json", r#"[{"turns": [{"calls": [{"name": "out_list"}]}, {"text": "all done"}]}]"#);
    home.almoner(&["run", "w.worker", "-e", "out=in:rw", "-m", "scripted:turns.json"]).expect(7);
    let budget = crate::sends::wait_for_mail(&home, "budget");
    browser.go(&door.page(&format!("/m/{budget}")));
    browser.says("asks for 1 turn more");
    looked_at(&browser, "budget");
    browser.press("button", "Give it");
    browser.says("✓");
    home.almoner(&["resume"]).expect(0);
    browser.clean(&[]);
}

#[test]
fn inbox_and_message_are_reachable_by_keyboard() {
    let home = TestHome::with_inbox();
    home.almoner(&crate::test_home::TRIAGE).expect(7);
    let (browser, door) = let_in(&home, true, "/");
    browser.says("Needs you");
    browser.keys("j");
    assert!(browser.focused().contains("#1"), "{}", browser.focused());
    // Enter.
    browser.keys("\u{E007}");
    browser.says("wants to write");
    assert_eq!(browser.at(), door.page("/m/1"));
    browser.keys("g");
    browser.says("Needs you");
    browser.clean(&[]);
}
