//! Tests of cards before an approval, and of answers that come too late.

use super::visitor::{Visitor, between};
use crate::sends::wait_for_mail;
use crate::test_home::TestHome;

/// Returns a home with a guest, a counter, and a narrowed counter for the guest.
fn home() -> TestHome {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", crate::sends::COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["narrow", "counter", "small", "--methods", "incr"]).expect(0);
    home
}

/// Endows code of the guest's with `own` as `c`. Returns the number of the card about its withheld result, and the
/// number of the code's own message.
#[track_caller]
fn withheld(home: &TestHome, source: &str, own: &str) -> (u64, u64) {
    home.write("code.js", source);
    home.almoner(&["--as", "agent-fae", "define", "code.js", "--slot", "c:any"]).expect(0);
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let is_code = |one: &&serde_json::Value| one["message"]["body"]["type"] == "definition";
    let numbers = all.as_array().unwrap().iter().filter(is_code).filter_map(|one| one["number"].as_u64());
    let code = numbers.max().unwrap();
    home.almoner(&["endow", &code.to_string(), &format!("c={own}")]).expect(0);
    (wait_for_mail(home, "release"), code)
}

/// Returns the text of a page, without how it is set.
pub(super) fn text(page: &str) -> String {
    let pieces = page.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    let text: String = pieces.collect();
    text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[test]
fn withheld_result_names_its_capabilities_and_answers_once() {
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
        for says in [
            gives,
            along,
            "What you would grant",
            "Who would get itfae",
            &format!("The programmessage {code}"),
        ] {
            assert!(shown.contains(says), "{source}: {says:?} is not in {shown}");
        }
        assert!(page.contains(&format!("href=\"/m/{code}\"")), "{page}");
        // The same in a terminal, in long lines.
        let card = home.almoner(&["inbox", &number.to_string()]).expect(0).out.replace("\n      ┆ ", "");
        let named = gives.split(". It can do: ").next().unwrap();
        assert!(card.contains(&format!("! 1: {named}; it can do:")), "{source}: {card}");
        assert!(along.lines().all(|line| card.contains(line.trim())), "{source}: {card}");
        // A denial is final, and an approval from an older page does not change it.
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
fn approval_of_a_withheld_result_fails_after_a_rename() {
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
    // The page of the program shows the result in words.
    let page = text(&visitor.get(&format!("/m/{code}"), &[]).body);
    assert!(page.contains("\"c\": ‹ledger›"), "{page}");
    assert!(!page.contains("@qclass"), "{page}");
}

#[test]
fn eval_request_names_its_values_and_approves_only_those() {
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
        "What you would grant",
    ] {
        assert!(text(&before).contains(says), "{says:?} is not in {}", text(&before));
    }
    let card = home.almoner(&["inbox", &number.to_string()]).expect(0).out.replace("\n      ┆ ", "");
    let uses =
        "uses small:\n      │ small: an object that code has made, recorded as Counter; it can do: incr";
    assert!(card.contains(uses), "{card}");
    // After a name changes, the user must read the card again.
    let seen = |body: &str| between(body, "name=\"_seen\" value=\"", "\"").to_owned();
    home.almoner(&["move", "small", "tiny"]).expect(0);
    let late = visitor.send(&path, &format!("do=approve&_seen={}", seen(&before)));
    assert_eq!(late.status, 409, "{}", late.body);
    assert!(text(&late.body).contains("tiny: an object that code has made"), "{}", late.body);
    // The page says that the grant was revoked.
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let own = grants.as_array().unwrap().iter().find(|one| one["slot"] == "small").unwrap();
    home.almoner(&["revoke", &format!("g{}", own["number"])]).expect(0);
    let page = visitor.get(&path, &[]).body;
    assert!(text(&page).contains("Nothing can be done with it: the grant of `small` was revoked."), "{page}");
    assert!(!page.contains("value=\"approve\"") && page.contains("A yes would come to nothing"), "{page}");
    assert_eq!(visitor.send(&path, &format!("do=approve&_seen={}", seen(&page))).status, 403);
    home.almoner(&["deny", &number.to_string()]).expect(0);
    // The page gives the reason of a failure.
    fae(&["request-evaluation", "Promise.reject(Error('no more paper'))", "--result", "q"]);
    let path = format!("/m/{}", wait_for_mail(&home, "eval-request"));
    let page = visitor.get(&path, &[]).body;
    assert_eq!(visitor.send(&path, &format!("do=approve&_seen={}", seen(&page))).status, 303);
    home.almoner(&["--as", "agent-fae", "show", "q", "--wait"]);
    let page = text(&visitor.get(&path, &[]).body);
    assert!(page.contains("It came to nothing. Whoever asked was told: "), "{page}");
}

#[test]
fn card_that_can_no_longer_succeed_has_no_approve_button() {
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
fn budget_card_grants_exactly_the_entered_amounts() {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw }\nlimits: { turns: 1 }\n---\nWrite.\n");
    std::fs::create_dir(home.path("out")).unwrap();
    let list = serde_json::json!({ "calls": [{ "name": "out_list" }] });
    let turns = serde_json::json!([{ "turns": [list, list, { "text": "all done" }] }]);
    home.write("turns.json", turns.to_string());
    home.almoner(&["run", "w.worker", "-e", "out=out:rw", "-m", "scripted:turns.json"]).expect(7);
    let visitor = Visitor::new(&home);
    let page = visitor.get("/m/1", &[]).body;
    assert!(text(&page).contains("What you would grantA yes adds 1 turn"), "{page}");
    let seen = between(&page, "name=\"_seen\" value=\"", "\"").to_owned();
    let bad = visitor.send("/m/1/answer", &format!("do=approve&_seen={seen}&more-turns=2&more-wall=soon"));
    assert_eq!(bad.status, 422, "{}", bad.body);
    // The typed value is there again.
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
