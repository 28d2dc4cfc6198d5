//! What cards say before a yes, and what becomes of an answer that comes too late.

use super::visitor::{Visitor, between};
use crate::home::Home;
use crate::sends::wait_for_mail;

/// A home with a guest, a counter, and what the guest may be handed of it.
fn home() -> Home {
    let home = Home::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["narrow", "counter", "small", "--methods", "incr"]).expect(0);
    home
}

/// The number of the card about what came of this code of the guest's, which was given `own` as `c`, and that of the code.
#[track_caller]
fn withheld(home: &Home, source: &str, own: &str) -> (u64, u64) {
    home.write("code.js", source);
    home.almoner(&["--as", "agent-fae", "define", "code.js", "--slot", "c:any"]).expect(0);
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let is_code = |one: &&serde_json::Value| one["message"]["body"]["type"] == "definition";
    let numbers = all.as_array().unwrap().iter().filter(is_code).filter_map(|one| one["number"].as_u64());
    let code = numbers.max().unwrap();
    home.almoner(&["endow", &code.to_string(), &format!("c={own}")]).expect(0);
    (wait_for_mail(home, "release"), code)
}

/// The text of a page, without how it is set.
pub(super) fn text(page: &str) -> String {
    let pieces = page.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    let text: String = pieces.collect();
    text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[test]
fn a_withheld_result_names_what_would_be_given_away_and_is_answered_once() {
    let home = home();
    let visitor = Visitor::new(&home);
    for (source, own, gives, along) in [
        (
            "c",
            "counter",
            "counter: an object that code has made, recorded as Counter. It can do: add, incr.",
            "",
        ),
        ("c", "small", "small: an object that code has made, recorded as Counter. It can do: incr.", ""),
        (
            "({ n: 1, s: '‹2›', c })",
            "counter",
            "counter: an object that code has made, recorded as Counter. It can do: add, incr.",
            "\"c\": ‹1: counter›,\n  \"n\": 1,\n  \"s\": \"‹2›\"",
        ),
        (
            "[Far('Hi', { hi() {} }), c]",
            "counter",
            "an object that code has made, recorded as Hi. It can do: every method that it has.",
            "‹1›,\n  ‹2: counter›",
        ),
    ] {
        let (number, code) = withheld(&home, source, own);
        let path = format!("/m/{number}");
        let page = visitor.get(&path, &[]).body;
        let shown = text(&page);
        for says in [gives, along, "Who would get itfae", &format!("The programmessage {code}")] {
            assert!(shown.contains(says), "{source}: {says:?} is not in {shown}");
        }
        assert!(page.contains(&format!("href=\"/m/{code}\"")), "{page}");
        // The same in a terminal, in long lines.
        let card = home.almoner(&["inbox", &number.to_string()]).expect(0).out.replace("\n      ┆ ", "");
        let named = gives.split(". It can do: ").next().unwrap();
        assert!(card.contains(&format!("! 1: {named}; it can do:")), "{source}: {card}");
        assert!(along.lines().all(|line| card.contains(line.trim())), "{source}: {card}");
        // Who has said no has said no, whatever is pressed on a page from before.
        let seen = between(&page, "name=\"_seen\" value=\"", "\"").to_owned();
        assert_eq!(visitor.send(&path, "do=reject&reason=mine").status, 303);
        let late = visitor.send(&path, &format!("do=approve&_seen={seen}"));
        assert_eq!(late.status, 409, "{}", late.body);
        assert!(late.body.contains("this was answered before"), "{}", late.body);
        let again = visitor.send(&path, "do=reject&reason=mine");
        assert_eq!(again.status, 409, "{}", again.body);
        let grants = home.almoner(&["--as", "agent-fae", "list"]).expect(0).out;
        assert!(!grants.contains("counter"), "{grants}");
    }
}

#[test]
fn a_yes_to_what_is_withheld_is_for_what_was_shown_under_the_names_of_then() {
    let home = home();
    let visitor = Visitor::new(&home);
    let (number, code) = withheld(&home, "({ c })", "counter");
    let path = format!("/m/{number}");
    let seen = |body: &str| between(body, "name=\"_seen\" value=\"", "\"").to_owned();
    let before = seen(&visitor.get(&path, &[]).body);
    home.almoner(&["move", "counter", "ledger"]).expect(0);
    let late = visitor.send(&path, &format!("do=approve&_seen={before}"));
    assert_eq!(late.status, 409, "{}", late.body);
    assert!(text(&late.body).contains("ledger: an object that code has made"), "{}", late.body);
    assert_eq!(visitor.send(&path, &format!("do=approve&_seen={}", seen(&late.body))).status, 303);
    // What it came to stands on the page of the program in words.
    let page = text(&visitor.get(&format!("/m/{code}"), &[]).body);
    assert!(page.contains("\"c\": ‹ledger›"), "{page}");
    assert!(!page.contains("@qclass"), "{page}");
}

#[test]
fn a_request_to_run_code_names_what_it_would_use_and_a_yes_is_for_what_was_shown() {
    let home = home();
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    home.almoner(&["send", "fae", "take @small"]).expect(0);
    let inbox = fae(&["inbox", "--all", "--json"]).json();
    fae(&["adopt", &inbox[0]["number"].to_string(), "small"]);
    fae(&["request-evaluation", "E(small).incr()", "small", "--result", "r"]);
    let number = wait_for_mail(&home, "eval-request");
    let visitor = Visitor::new(&home);
    let path = format!("/m/{number}");
    let before = visitor.get(&path, &[]).body;
    for says in [
        "small: an object that code has made, recorded as Counter. It can do: incr.",
        "What it comes to goes to whoever asks, if it is data; you are asked before",
    ] {
        assert!(text(&before).contains(says), "{says:?} is not in {}", text(&before));
    }
    let card = home.almoner(&["inbox", &number.to_string()]).expect(0).out.replace("\n      ┆ ", "");
    let uses =
        "uses small:\n      │ small: an object that code has made, recorded as Counter; it can do: incr";
    assert!(card.contains(uses), "{card}");
    // What is called otherwise meanwhile is read again.
    let seen = |body: &str| between(body, "name=\"_seen\" value=\"", "\"").to_owned();
    home.almoner(&["move", "small", "tiny"]).expect(0);
    let late = visitor.send(&path, &format!("do=approve&_seen={}", seen(&before)));
    assert_eq!(late.status, 409, "{}", late.body);
    assert!(text(&late.body).contains("tiny: an object that code has made"), "{}", late.body);
    // What was revoked says so.
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let own = grants.as_array().unwrap().iter().find(|one| one["slot"] == "small").unwrap();
    home.almoner(&["revoke", &format!("g{}", own["number"])]).expect(0);
    let page = visitor.get(&path, &[]).body;
    assert!(text(&page).contains("Nothing can be done with it: the grant of `small` was revoked."), "{page}");
    assert!(!page.contains("value=\"approve\"") && page.contains("A yes would come to nothing"), "{page}");
    assert_eq!(visitor.send(&path, &format!("do=approve&_seen={}", seen(&page))).status, 403);
    home.almoner(&["deny", &number.to_string()]).expect(0);
    // Of what failed it is said why.
    fae(&["request-evaluation", "Promise.reject(Error('no more paper'))", "--result", "q"]);
    let path = format!("/m/{}", wait_for_mail(&home, "eval-request"));
    let page = visitor.get(&path, &[]).body;
    assert_eq!(visitor.send(&path, &format!("do=approve&_seen={}", seen(&page))).status, 303);
    home.almoner(&["--as", "agent-fae", "show", "q", "--wait"]);
    let page = text(&visitor.get(&path, &[]).body);
    assert!(page.contains("It came to nothing. Whoever asked was told: "), "{page}");
}

#[test]
fn what_can_come_to_nothing_has_no_button_that_says_yes() {
    let home = super::writes(&[("a@b.example", "one")]);
    let visitor = Visitor::new(&home);
    let shown = visitor.get("/m/1", &[]).body;
    assert!(shown.contains("value=\"approve\""), "{shown}");
    let seen = between(&shown, "name=\"_seen\" value=\"", "\"").to_owned();
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let own = grants.as_array().unwrap().iter().find(|one| one["slot"] == "outbox").unwrap();
    home.almoner(&["revoke", &format!("g{}", own["number"])]).expect(0);
    let late = visitor.send("/m/1/answer", &format!("do=approve&_seen={seen}"));
    assert_eq!(late.status, 409, "{}", late.body);
    let page = visitor.get("/m/1", &[]).body;
    assert!(
        text(&page).contains("A yes would come to nothing: the grant of `outbox` was revoked."),
        "{page}"
    );
    assert!(!page.contains("value=\"approve\"") && page.contains("value=\"deny\""), "{page}");
}

#[test]
fn a_run_is_given_the_amounts_that_are_written_on_its_card() {
    let home = Home::new();
    home.write("w.worker", "---\nslots: { out: dir rw }\nlimits: { turns: 1 }\n---\nWrite.\n");
    std::fs::create_dir(home.path("out")).unwrap();
    let list = serde_json::json!({ "calls": [{ "name": "out_list" }] });
    let turns = serde_json::json!([{ "turns": [list, list, { "text": "all done" }] }]);
    home.write("turns.json", turns.to_string());
    home.almoner(&["run", "w.worker", "-e", "out=out:rw", "-m", "scripted:turns.json"]).expect(7);
    let visitor = Visitor::new(&home);
    let page = visitor.get("/m/1", &[]).body;
    let seen = between(&page, "name=\"_seen\" value=\"", "\"").to_owned();
    let bad = visitor.send("/m/1/answer", &format!("do=approve&_seen={seen}&more-turns=2&more-wall=soon"));
    assert_eq!(bad.status, 422, "{}", bad.body);
    // What was written is there again.
    assert!(
        bad.body.contains("write it like `--wall 10m`") && bad.body.contains("value=\"soon\""),
        "{}",
        bad.body
    );
    let said = visitor.send("/m/1/answer", &format!("do=approve&_seen={seen}&more-turns=2&more-wall=10m"));
    assert_eq!(said.status, 303, "{}", said.body);
    let trace = home.trace("r1");
    assert_eq!(
        (&trace["run"]["limits"]["turns"], &trace["run"]["limits"]["wall_ms"]),
        (&3.into(), &4_200_000.into())
    );
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "all done\n");
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).out;
    assert!(all.contains("approve 1 --turns 2 --wall 10m"), "{all}");
}
