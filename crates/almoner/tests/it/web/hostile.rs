//! Words that would be markup, that hide, or that pose as something else: on every page that there is.

use std::collections::BTreeSet;

use super::http::ask;
use super::visitor::{Visitor, between};
use super::{Door, writes};
use crate::test_home::TestHome;

/// Text that ends the element around it, starts elements of its own, moves a terminal's cursor, turns the direction,
/// and hides.
const HOSTILE: &str = "</bdi></pre></textarea><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[2K\r\u{1b}]8;;http://x\u{7}\u{9b}2J\
     \u{202e}evil\u{2066}\u{200b}\u{e0041}\u{fe0f}\u{a0}\u{3164}\u{2028}";

/// None of these may stand on a page as it is.
const RAW: &[&str] = &[
    "<script>alert",
    "<img src=x",
    "</bdi></pre>",
    "\u{1b}",
    "\r",
    "\u{7}",
    "\u{9b}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{e0041}",
    "\u{fe0f}",
    "\u{a0}",
    "\u{3164}",
    "\u{2028}",
];

/// Returns a home in which those words stand wherever somebody else can put them.
fn said_everywhere() -> TestHome {
    let home = writes(&[("a@b.example", HOSTILE), ("a@b.example", "two")]);
    let script = serde_json::json!([{ "turns": [{ "text": HOSTILE }] }]);
    home.write("talk.json", script.to_string());
    home.write("w.worker", format!("---\nslots: {{}}\n---\nSay it.\n{HOSTILE}\n"));
    // A file with these characters is no text, and so no document.
    home.write("doc.txt", HOSTILE.replace(['\u{1b}', '\u{7}', '\u{9b}'], ""));
    home.almoner(&["run", "w.worker", "doc.txt", "-m", "scripted:talk.json"]).expect(0);
    home.almoner(&["deny", "1", "-r", HOSTILE]).expect(0);
    home.almoner(&["resume", "r1"]).expect(7);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    home.write("code.js", format!("// {}\nE(c).list()", HOSTILE.replace(['\r', '\u{2028}'], "")));
    fae(&["send", "@host", HOSTILE]);
    fae(&["request", "@host", HOSTILE, "--result", "a"]);
    fae(&["form", "@host", HOSTILE, &format!("a:string={HOSTILE}"), "--result", "b"]);
    fae(&["define", "code.js", "--slot", &format!("c:any={HOSTILE}"), "--result", "d"]);
    fae(&["eval", "--name", "e", &format!("'{}'", HOSTILE.replace(['\r', '\u{2028}'], ""))]);
    home.almoner(&["store", &format!("kept={HOSTILE}")]).expect(0);
    home.almoner(&["eval", "--name", "thrown", &format!("throw Error({})", serde_json::json!(HOSTILE))]);
    home
}

/// Returns the pages to which a page leads.
fn links(body: &str) -> impl Iterator<Item = String> {
    let all = body.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let ours = all.filter(|path| path.starts_with('/') && !path.starts_with("/assets/"));
    ours.map(|path| path.split('#').next().unwrap_or("").replace("&amp;", "&"))
}

#[test]
fn foreign_text_is_escaped_on_every_page() {
    let home = said_everywhere();
    // The name that a browser gives itself is foreign text as well.
    let door = Door::of(&home, "/");
    let origin = door.page("");
    let headers =
        [("Host", door.host.as_str()), ("Origin", &origin), ("User-Agent", "<script>alert(1)</script>")];
    assert_eq!(ask(door.port, "POST", "/login", &headers, &format!("code={}", door.code)).status, 303);
    let visitor = Visitor::new(&home);
    let mut seen = BTreeSet::new();
    let mut next =
        vec!["/".to_owned(), "/?kind=command".to_owned(), "/nothing/<script>alert(1)</script>".to_owned()];
    let mut shown = BTreeSet::new();
    while let Some(path) = next.pop() {
        // An agent has itself below each of its names; the doctor takes its time, and looks at this machine.
        if path.contains("%40") || path.starts_with("/doctor/") || !seen.insert(path.clone()) {
            continue;
        }
        let page = visitor.get(&path, &[]);
        for raw in RAW {
            assert!(!page.body.contains(raw), "{path}: {raw:?} in {}", page.body);
        }
        if page.body.contains(r"\u{202E}evil") {
            shown.insert(path.split(['?']).next().unwrap_or("").split('/').nth(1).unwrap_or("").to_owned());
        }
        next.extend(links(&page.body));
    }
    assert!(seen.len() > 60, "{seen:?}");
    // The text was visible: on cards, in the journal, under names, in the graph of references, and so on.
    for part in ["", "m", "r", "names", "why"] {
        assert!(shown.contains(part), "{part:?}: {shown:?} of {seen:?}");
    }
    let card = visitor.get("/m/1", &[]).body;
    for written in ["&lt;/bdi&gt;&lt;/pre&gt;", r"\u{1B}[2K", r"\u{202E}evil\u{2066}\u{200B}", r"\u{E0041}"] {
        assert!(card.contains(written), "{written} in {card}");
    }
}

/// Checks that a link spells out its host if this host looks like another one.
#[test]
fn confusable_host_in_a_link_is_written_out() {
    let home = writes(&[("a@b.example", "Log in: https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com/login")]);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&[
        "--as",
        "agent-fae",
        "send",
        "@host",
        "see https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com/",
    ])
    .expect(0);
    let visitor = Visitor::new(&home);
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let number = all.as_array().unwrap().iter().find(|one| one["message"]["body"]["type"] == "package");
    let number = &number.unwrap_or_else(|| panic!("{all}"))["number"];
    for path in ["/m/1".to_owned(), format!("/m/{number}"), "/".to_owned()] {
        let body = visitor.get(&path, &[]).body;
        assert!(body.contains("the link leads to <code>xn--80ak6aa92e.com</code>"), "{path}: {body}");
    }
}

/// Checks that a card shows everything that an approval is for, also without the scripts that fold it.
#[test]
fn card_shows_the_whole_text_to_be_approved() {
    let long = format!("{}the very end", "A long text, in which anything may stand. ".repeat(3000));
    let home = writes(&[("a@b.example", &long)]);
    let card = Visitor::new(&home).get("/m/1", &[]).body;
    let body = between(&card, "aria-label=\"argument body\"", "</pre>");
    assert!(body.ends_with(&long), "{} of {} bytes", body.len(), long.len());
    // Folded is it by the script alone: the page itself has it open.
    assert!(card.contains("data-must-open open"), "it is open where no script folds it");
}

/// Checks that the model is told the reason of a denial word for word. The user reads the same on the card and in the
/// journal.
#[test]
fn denial_reason_reaches_the_model_word_for_word() {
    const WHY: &str = "not to this address: ask accounting first";
    let home = writes(&[("a@b.example", "one"), ("c@d.example", "two")]);
    let visitor = Visitor::new(&home);
    let card = visitor.get("/m/1", &[]).body;
    assert!(card.contains("the model will read it"), "{card}");
    let seen = between(&card, "name=\"_seen\" value=\"", "\"").to_owned();
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}&do=deny&reason={WHY}")).status, 303);
    home.almoner(&["resume"]).expect(7);
    assert!(visitor.get("/m/1", &[]).body.contains(WHY));
    let run = visitor.get("/r/r1", &[]).body;
    let told: BTreeSet<String> = links(&run).filter(|path| path.starts_with("/r/r1/step/")).collect();
    let said: Vec<&String> = told.iter().filter(|path| visitor.get(path, &[]).body.contains(WHY)).collect();
    assert!(!said.is_empty(), "{told:?}");
    // And the model has been told exactly that.
    let trace = home.trace("r1").to_string();
    assert!(trace.contains(WHY), "{trace}");
}

/// Checks that an approval for the whole run is for exactly the shown call. A call that reaches further asks anew,
/// and the approval does not answer it.
#[test]
fn approval_for_the_run_does_not_cover_a_wider_call() {
    let home = writes(&[("a@b.example", "one"), ("a@b.example", "one"), ("evil@c.example", "one")]);
    let visitor = Visitor::new(&home);
    let sent = || std::fs::read_dir(home.path("outbox")).unwrap().count();
    let answer = |number: u64, what: &str| {
        let card = visitor.get(&format!("/m/{number}"), &[]).body;
        let seen = between(&card, "name=\"_seen\" value=\"", "\"").to_owned();
        visitor.send(&format!("/m/{number}/answer"), &format!("_seen={seen}&do={what}&entry=0"))
    };
    assert_eq!(answer(1, "run").status, 303);
    home.almoner(&["resume"]).expect(7);
    assert_eq!(sent(), 2, "the same again was not asked about");
    let number = crate::sends::wait_for_mail(&home, "approval");
    assert!(visitor.get(&format!("/m/{number}"), &[]).body.contains("evil@c.example"));
    // Who waits gets no yes either, however long.
    home.later(std::time::Duration::from_secs(30 * 24 * 3600));
    assert_eq!((sent(), crate::sends::wait_for_mail(&home, "approval")), (2, number));
}
