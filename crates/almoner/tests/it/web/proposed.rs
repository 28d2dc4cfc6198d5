//! Tests of the card of proposed code: each slot tells that its object is missing, and a copy shows its differences.

use super::let_in;
use super::pages::looked_at_with;
use super::visitor::{Visitor, between};
use crate::sends::wait_for_mail;
use crate::test_home::TestHome;

fn proposed(scripts: bool) {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.write("sum.js", "[s1, s2, s10]");
    let slots = ["--slot", "s10:any", "--slot", "s1:any", "--slot", "s2:any"];
    home.almoner(&[&["--as", "agent-fae", "define", "sum.js"], &slots[..]].concat()).expect(0);
    let number = wait_for_mail(&home, "definition");
    let (browser, _) = let_in(&home, scripts, &format!("/m/{number}"));
    // In the order in which a person counts.
    let order = "return [...document.querySelectorAll('fieldset.slot > legend')].map(one => one.textContent.split(' ').pop()).join(' ')";
    assert_eq!(browser.run(order), "s1 s2 s10");
    browser.press("button", "Show what this would grant");
    browser.says("nothing fills the slots `s1`, `s2`, `s10`");
    let errors = "return [...document.querySelectorAll('.slot .error')].filter(one => one.textContent.includes('nothing fills this slot')).length";
    assert_eq!(browser.run(errors), 3);
    looked_at_with(&browser, if scripts { "missing" } else { "missing-without-scripts" }, scripts);
    if scripts {
        // A filled slot is not marked as missing any more, also for screen readers. Each picker names its slot.
        let wrong = "return document.querySelectorAll('.pick [aria-invalid]').length";
        assert_eq!(browser.run(wrong), 6, "three fields, and the menus behind them");
        browser.choose("One of your names for s2", "counter");
        assert_eq!((browser.run(errors), browser.run(wrong)), (2.into(), 4.into()));
    }
    // Another choice after the preview is not endowed.
    for slot in ["s0", "s1", "s2"] {
        browser.run(&format!(
            "const list = document.querySelector('[name={slot}]'); list.value = [...list.options].at(-1).value;
             list.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        ));
    }
    browser.press("button", "Show what this would grant");
    browser.says("What you would grant");
    browser.says("Its result goes to you and, if it is data, to fae");
    browser.press("radio", "To you alone");
    if scripts {
        let gone = browser.wait(|| browser.all("button", "Endow it").is_empty().then_some(()));
        assert!(gone.is_some(), "{}", browser.text());
    } else {
        browser.press("button", "Endow it");
        browser.says("What is otherwise now");
        browser.says("- Its result goes to you and, if it is data, to fae");
        browser.says("+ Its result goes to you alone.");
    }
    // An invalid copy is told of beside the typed text.
    browser.press("button", "Edit a copy");
    browser.run("document.getElementById('copy').value = '--- no code'");
    browser.press("button", "Propose the copy to myself");
    browser.says("code does not begin with ---");
    assert_eq!(browser.value(&browser.find("textbox", "Its text")), "--- no code");
    browser.run("document.getElementById('copy').value = '[s1, s2, s10]; [s2]'");
    browser.press("button", "Propose the copy to myself");
    browser.says("in answer to message");
    browser.says("Your changed copy of");
    browser.says("How it differs from what it is a copy of");
    browser.says("- [s1, s2, s10]");
    browser.press("link", &format!("message {number}"));
    browser.says("What came of it");
    browser.clean(&["409", "422"]);
}

#[test]
fn unfilled_slots_and_changed_copies_are_shown_with_scripts() {
    proposed(true);
}

#[test]
fn unfilled_slots_and_changed_copies_are_shown_without_scripts() {
    proposed(false);
}

/// Proposes this source, and checks the card's text about its slot `counter`.
#[track_caller]
fn expect_analysis(home: &TestHome, visitor: &Visitor, source: &str, expected: &str) {
    home.write("proposed.js", source);
    let define = ["--as", "agent-fae", "define", "proposed.js", "--slot", "counter:M.remotable('Counter')"];
    home.almoner(&define).expect(0);
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let numbers = all.as_array().unwrap().iter().filter_map(|one| one["number"].as_u64());
    let number = numbers.max().unwrap();
    let page = visitor.get(&format!("/m/{number}"), &[]);
    assert_eq!(page.status, 200, "{}", page.body);
    let told = between(&page.body, "<article ", "</article>");
    assert!(told.contains(expected), "{expected:?} is not in {told}");
}

#[test]
fn card_describes_how_code_uses_a_slot() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let visitor = Visitor::new(&home);
    for (source, expected) in [
        ("E(counter).incr(); fetch(1)", "it calls <bdi class=\"foreign\" dir=\"ltr\">incr</bdi>"),
        ("E(counter).incr(); fetch(1)", "fetch</bdi>: using them fails"),
        ("E(counter)", "does something with it that the text does not tell"),
        ("'counter'", "it never uses this"),
        ("counter(", "nothing is known of what it does with this"),
        ("\ncounter(", "This program would fail"),
    ] {
        expect_analysis(&home, &visitor, source, expected);
    }
}

/// Checks that any proposed text has its card, and that the daemon goes on.
#[test]
fn oversized_code_is_described_and_daemon_survives() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let visitor = Visitor::new(&home);
    let pid = home.almoner(&["status", "--json"]).expect(0).json()["pid"].clone();
    assert!(pid.is_u64(), "{pid}");
    for (source, expected) in [
        // Deeper than any stack.
        ("(".repeat(600_000), "more than can be looked through"),
        ("`${".repeat(150_000), "This program would fail"),
        ("(".repeat(60_000), "This program would fail"),
        ("(a=>".repeat(20_000), "This program would fail"),
        ("import ".repeat(20_000), "This program would fail"),
        (
            format!("{}counter.incr()", "!".repeat(20_000)),
            "it calls <bdi class=\"foreign\" dir=\"ltr\">incr</bdi>",
        ),
    ] {
        expect_analysis(&home, &visitor, &source, expected);
    }
    assert_eq!(home.almoner(&["status", "--json"]).expect(0).json()["pid"], pid, "it is the same daemon");
}

/// Returns the values of a page's hidden fields and the first choice of each slot, as its form sends them.
#[track_caller]
fn granted(visitor: &Visitor, path: &str, chosen: &str) -> String {
    let shown = visitor.send(path, &format!("do=look&{chosen}"));
    assert_eq!(shown.status, 200, "{}", shown.body);
    let seen = between(&shown.body, "name=\"_seen\" value=\"", "\"");
    format!("do=endow&_seen={seen}&{chosen}")
}

/// Checks that the shown action is done once, however often it is sent, and not at all after somebody else has done
/// it.
#[test]
fn shown_endowment_is_granted_once() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    for counter in ["counter", "ledger"] {
        home.almoner(&["eval", crate::sends::COUNTER, "--name", counter]).expect(0);
    }
    home.write("count.js", "E(c).incr()");
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    fae(&["define", "count.js", "--slot", "c:M.remotable('Counter')"]).expect(0);
    let number = wait_for_mail(&home, "definition").to_string();
    let visitor = Visitor::new(&home);
    let page = format!("/m/{number}");
    let id = |name: &str| {
        home.almoner(&["show", name, "--json"]).expect(0).json()["id"].as_str().unwrap().to_owned()
    };
    let counter = format!("s0={}", id("counter"));
    let counted = |expected: &str| {
        home.almoner(&["eval", "1"]).expect(0);
        assert_eq!(crate::sends::evaluated(&home, &["E(c).add(0n)", "c=counter"]), expected);
    };
    let sent = granted(&visitor, &page, &counter);
    let all: Vec<u16> = std::thread::scope(|scope| {
        let send = || visitor.send(&page, &sent);
        let threads: Vec<_> = (0..5).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().status).collect()
    });
    assert_eq!(all.iter().filter(|status| **status == 303).count(), 1, "{all:?}");
    assert_eq!(all.iter().filter(|status| **status == 409).count(), 4, "{all:?}");
    let begun = std::time::Instant::now();
    while crate::sends::evaluated(&home, &["E(c).add(0n)", "c=counter"]) != "1" {
        assert!(begun.elapsed() < crate::sends::TIMEOUT / 6);
    }
    // Somebody else has done it since it was shown.
    let sent = granted(&visitor, &page, &counter);
    home.almoner(&["endow", &number, "c=counter", "--result", "r"]).expect(0);
    home.almoner(&["show", "r", "--wait"]).expect(0);
    let late = visitor.send(&page, &sent);
    assert_eq!(late.status, 409, "{}", late.body);
    counted("2");
    // A user who has seen this can do it once more.
    let sent = granted(&visitor, &page, &format!("{counter}&result=again"));
    assert_eq!(visitor.send(&page, &sent).status, 303);
    home.almoner(&["show", "again", "--wait"]).expect(0);
    counted("3");
    // A name of something else is not lost without a word.
    let named = format!("{counter}&result=ledger");
    let refused = visitor.send(&page, &format!("do=look&{named}"));
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("`ledger` is the name of something of yours"), "{}", refused.body);
    let replaced = between(&refused.body, "name=\"replaced\" value=\"", "\"").to_owned();
    let sent = granted(&visitor, &page, &format!("{named}&replaced={replaced}"));
    // It stands for something else by now.
    home.almoner(&["copy", "counter", "ledger"]).expect(0);
    assert!(matches!(visitor.send(&page, &sent).status, 409 | 422));
    let now = visitor.send(&page, &format!("do=look&{named}"));
    let replaced = between(&now.body, "name=\"replaced\" value=\"", "\"").to_owned();
    let sent = granted(&visitor, &page, &format!("{named}&replaced={replaced}"));
    assert_eq!(visitor.send(&page, &sent).status, 303);
    assert_eq!(home.almoner(&["show", "ledger", "--wait"]).expect(0).out.trim(), "4");
    // A copy is made once as well, and its author is told once.
    let shown = visitor.get(&page, &[]).body;
    let done = between(&shown, "name=\"_done\" value=\"", "\"").to_owned();
    let copy = format!("do=edit&source=1&_done={done}");
    let letters = || fae(&["inbox", "--all", "--json"]).expect(0).json().as_array().unwrap().len();
    let before = letters();
    assert_eq!(visitor.send(&page, &copy).status, 303);
    for again in [copy.as_str(), "do=edit&source=1"] {
        assert_eq!(visitor.send(&page, again).status, 409);
    }
    assert_eq!(letters(), before + 1);
}

/// Sends this form, checks the status and the texts of the answer, and returns its page.
#[track_caller]
fn sends(visitor: &Visitor, page: &str, body: &str, status: u16, says: &[&str]) -> String {
    let answer = visitor.send(page, body);
    assert_eq!(answer.status, status, "{body}: {}", answer.body);
    for says in says {
        assert!(answer.body.contains(says), "{body}: {says:?} is not in {}", answer.body);
    }
    answer.body
}

/// Returns a form's text as it is sent.
fn form(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// Checks that a worker gets exactly the grants that are shown: places with all links followed, and documents by
/// their content.
#[test]
fn worker_gets_exactly_the_previewed_endowment() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.write("t.json", r#"[{"turns": [{"text": "done"}]}]"#);
    home.write(
        "w.worker",
        "---\ninput: { count: number }\nattachments: { max: 2 }\nslots: { out: dir rw, post: outbox }\napprove: { out.write: ask }\n---\nWork.\n",
    );
    home.almoner(&["--as", "agent-fae", "define", "w.worker", "--result", "r"]).expect(0);
    let page = format!("/m/{}", wait_for_mail(&home, "definition"));
    for dir in ["d1", "d2"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    let (link, document) = (home.path("lnk"), home.path("a.md"));
    std::os::unix::fs::symlink(home.path("d1"), &link).unwrap();
    std::fs::write(&document, "1234").unwrap();
    let real = |name: &str| std::fs::canonicalize(home.work()).unwrap().join(name).display().to_string();
    let field = |name: &str, text: &str| format!("&{name}={}", form(text));
    let chosen = field("t0", &format!("{}:rw", link.display()))
        + &field("t1", &home.path("post").display().to_string())
        + &field("in/count", "5")
        + &field("documents", &document.display().to_string())
        + &field("model", &format!("scripted:{}", home.path("t.json").display()))
        + &field("allow", "out.append\nout.write\npost.send");
    let visitor = Visitor::new(&home);
    let look = |says: &[&str]| {
        let shown = sends(&visitor, &page, &format!("do=look{chosen}"), 200, says);
        format!("do=endow&_seen={}{chosen}", between(&shown, "name=\"_seen\" value=\"", "\""))
    };
    let digest = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..8].to_owned();
    let first = look(&[
        &real("d1"),
        "which is not there yet and is made",
        "append, which changes something, without asking you: you have said so.",
        ".write, and are asked all the same: the file wants it.",
        ".send, and are asked all the same: it sends.",
        &format!("(4 bytes, digest {})", digest("1234")),
        "{&quot;count&quot;:5}",
        "can come to <bdi dir=\"ltr\">fae</bdi> in the result",
        "You give the result no name",
    ]);
    assert!(!home.path("post").exists(), "to look makes nothing");
    let runs = || home.almoner(&["runs", "--json"]).expect(0).json().as_array().unwrap().len();
    // The document is another one, as long as the first and of its name.
    std::fs::write(&document, "5678").unwrap();
    let otherwise = [format!("digest {}", digest("5678")), "this is not what you saw".to_owned()];
    sends(&visitor, &page, &first, 409, &otherwise.each_ref().map(String::as_str));
    // The link leads elsewhere.
    let second = look(&[]);
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(home.path("d2"), &link).unwrap();
    sends(&visitor, &page, &second, 409, &[&real("d2")]);
    assert_eq!((runs(), home.path("post").exists()), (0, false));
    let third = look(&[]);
    assert_eq!(visitor.send(&page, &third).status, 303);
    assert_eq!(runs(), 1);
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert!(grants.contains(&real("d2")) && !grants.contains("lnk"), "{grants}");
    // Its page, that of its run and those of its grants call its text alike.
    let text = std::fs::read_to_string(home.path("w.worker")).unwrap();
    let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
    for path in [page.as_str(), "/r/r1", "/grants/g1"] {
        let body = visitor.get(path, &[]).body;
        assert!(body.contains(&digest), "{path}: {body}");
    }
    let number = page.trim_start_matches("/m/");
    assert!(home.almoner(&["inbox", number]).expect(0).out.contains(&digest));
    let came = visitor.get(&page, &[]).body;
    let came = between(&came, "id=\"endowed-title\"", "</section>");
    for says in ["/r/r1", "/grants/g1", "/grants/g2"] {
        assert!(came.contains(says), "{says} is not in {came}");
    }
}

/// Checks that a slot offers and accepts exactly the objects that fit its pattern, for every kind of pattern.
#[test]
fn slot_offers_and_accepts_only_values_matching_its_pattern() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    for (name, code) in [
        ("counter", crate::sends::COUNTER),
        ("ledger", "makeExo('Ledger', M.interface('Ledger', {}), {})"),
        ("plain", "Far('Remotable', {})"),
        ("four", "4"),
        ("nine", "9"),
        ("word", "'word'"),
    ] {
        home.almoner(&["eval", code, "--name", name]).expect(0);
    }
    home.almoner(&["request", "fae", "a map", "--result", "map"]).expect(0);
    home.write("use.js", "1");
    let counter = "M.remotable('Counter')";
    let patterns = [
        ("1..5", "four"),
        ("string", "word"),
        ("M.or('word', 9)", "nine word"),
        ("M.and(M.remotable('Counter'), M.not(M.string()))", "counter plain"),
        ("M.opt(M.remotable('Counter'))", "counter plain"),
        ("M.or(M.remotable('Counter'), M.string())", "counter plain word"),
        ("M.eref(M.remotable('Counter'))", "counter map plain"),
        ("M.promise()", "map"),
        (counter, "counter plain"),
        ("M.eq(9)", "nine"),
        ("M.arrayOf(M.remotable('Counter'))", ""),
    ];
    let slots: Vec<String> =
        patterns.iter().enumerate().map(|(at, (pattern, _))| format!("s{at}:{pattern}")).collect();
    let slots: Vec<&str> = slots.iter().flat_map(|slot| ["--slot", slot.as_str()]).collect();
    home.almoner(&[&["--as", "agent-fae", "define", "use.js"], &slots[..]].concat()).expect(0);
    let number = wait_for_mail(&home, "definition");
    let page = format!("/m/{number}");
    let visitor = Visitor::new(&home);
    let shown = visitor.get(&page, &[]).body;
    let mut ids = std::collections::BTreeMap::new();
    for (at, (pattern, expected)) in patterns.iter().enumerate() {
        let menu = between(&shown, &format!("name=\"s{at}\""), "</select>");
        let mut offered: Vec<&str> = Vec::new();
        for option in menu.split("<option value=\"").skip(2) {
            let (id, rest) = option.split_once('"').unwrap();
            let name = rest.split('>').nth(1).unwrap().split(" · ").next().unwrap();
            ids.insert(name, id);
            offered.push(name);
        }
        offered.sort_unstable();
        assert_eq!(offered.join(" "), *expected, "{pattern}");
    }
    for says in ["a whole number from 1 to 5", "Something that fits: ", "A capability with the interface "] {
        assert!(shown.contains(says), "{says} is not in {shown}");
    }
    // An object that does not fit is told of before anything can be granted.
    let refused = format!("do=look&s0={}", ids["nine"]);
    sends(&visitor, &page, &refused, 422, &["slot `s0`: your `nine` does not fit", "this does not fit"]);
    // In the terminal the user may choose a pending promise, and its result is checked when it comes.
    home.write("later.js", "'it began'");
    let later = ["--as", "agent-fae", "define", "later.js", "--slot", "c:M.remotable('Counter')"];
    home.almoner(&later).expect(0);
    let other = home.almoner(&["inbox", "--json"]).expect(0).json();
    let other = other.as_array().unwrap().iter().filter_map(|one| one["number"].as_u64()).max().unwrap();
    home.almoner(&["endow", &other.to_string(), "c=map", "--result", "early", "--to", "me"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    let asked = fae(&["inbox", "--json"]).expect(0).json()[0]["number"].to_string();
    fae(&["eval", "42", "--name", "answer"]).expect(0);
    fae(&["resolve", &asked, "answer"]).expect(0);
    let early = home.almoner(&["show", "early", "--wait"]);
    assert!(early.code != 0 && format!("{early:?}").contains("slot `c`"), "{early:?}");
    // The page of the definition shows each outcome, also one without a name that goes to the user alone.
    let body = visitor.get(&format!("/m/{other}"), &[]).body;
    let came = between(&body, "id=\"endowed-title\"", "</section>");
    assert!(came.contains("It failed: ") && came.contains("slot `c`") && came.contains("early"), "{came}");
    home.almoner(&["endow", &other.to_string(), "c=counter", "--to", "me"]).expect(0);
    let begun = std::time::Instant::now();
    let came = loop {
        let body = visitor.get(&format!("/m/{other}"), &[]).body;
        let came = between(&body, "id=\"endowed-title\"", "</section>").to_owned();
        if came.contains("it began") {
            break came;
        }
        assert!(begun.elapsed() < crate::sends::TIMEOUT / 6, "{came}");
    };
    let journal = between(&came, "href=\"/code?id=", "\"");
    assert!(came.contains("your <bdi dir=\"ltr\">counter</bdi>") && came.contains("/grants/g"), "{came}");
    let journal = visitor.get(&format!("/code?id={journal}"), &[]);
    assert!(journal.status == 200 && journal.body.contains("What it sent"), "{}", journal.body);
    // It was endowed: it cannot be sent back any more.
    assert!(!visitor.get(&format!("/m/{other}"), &[]).body.contains("Send it back with this note"));
}
