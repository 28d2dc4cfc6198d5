//! The history of approvals on a card, and the rules that would stop the asking.

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;

/// Returns a home with a worker whose model makes these calls, one a turn; others by their names.
fn home(calls: &[Json], others: &[(&str, Json)]) -> TestHome {
    let home = TestHome::new();
    for dir in ["out", "docs"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    let front = "creates: true\nslots: { out: dir rw, post: outbox, child: worker }";
    home.write("papers.worker", format!("---\n{front}\n---\nWrite.\n"));
    home.write("child.worker", "---\nslots: { place: dir rw }\n---\nWrite.\n");
    home.write("strict.worker", "---\nslots: { out: dir rw }\napprove: { out.append: ask }\n---\nWrite.\n");
    let turns = |calls: &[Json]| -> Json {
        let calls = calls.iter().map(|call| json!({ "calls": [call] }));
        calls.chain([json!({ "text": "done" })]).collect()
    };
    let mut script = vec![json!({ "worker": "papers", "turns": turns(calls) })];
    script.extend(
        others
            .iter()
            .map(|(name, call)| json!({ "worker": name, "turns": turns(std::slice::from_ref(call)) })),
    );
    home.write("script.json", Json::from(script).to_string());
    home
}

const RUN: [&str; 11] = [
    "run",
    "papers.worker",
    "-e",
    "out=out:rw",
    "-e",
    "post=post",
    "-e",
    "child=child.worker",
    "-e",
    "child.place=docs:rw",
    "-mscripted:script.json",
];

fn append(slot: &str, text: &str) -> Json {
    json!({ "name": format!("{slot}_append"), "arguments": { "path": "a.md", "content": text } })
}

/// Returns the newest waiting card, with its history lines joined, and its number.
#[track_caller]
fn asked(home: &TestHome) -> (String, String) {
    let waiting = home.almoner(&["inbox", "--json"]).expect(0).json();
    let number = waiting.as_array().unwrap().iter().filter_map(|one| one["number"].as_u64()).max().unwrap();
    let number = number.to_string();
    let card = home.almoner(&["inbox", &number, "--full"]).expect(0).out;
    let said = card.replace("\n  ┆ ", "").replace("\n      ┆ ", "");
    (said, number)
}

#[test]
fn card_shows_past_answers_and_the_rule_to_avoid_asking() {
    let home = home(&[append("out", "1"), append("out", "2"), append("out", "3"), append("out", "4")], &[]);
    home.almoner(&RUN).expect(7);
    let (first, number) = asked(&home);
    assert!(!first.contains("has asked you about"), "{first}");
    home.almoner(&["approve", &number]).expect(0);
    home.almoner(&["resume"]).expect(7);
    let (_, number) = asked(&home);
    home.almoner(&["deny", &number, "-r", "no"]).expect(0);
    home.almoner(&["resume"]).expect(7);
    let (third, number) = asked(&home);
    let place = home.path("out").display().to_string();
    let says = format!(
        "`papers` or a run of this family has asked you about `out.append` on directory {place} (rw) twice before"
    );
    assert!(third.contains(&says) && third.contains("you said yes once, no once."), "{third}");
    assert!(third.contains("begin the next run with `--allow out.append`."), "{third}");
    // The precondition of an answer does not change with other answers, and the next daemon counts alike.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["approve", &number]).expect(0);
    home.almoner(&["resume"]).expect(7);
    assert!(asked(&home).0.contains("3 times before"), "{}", asked(&home).0);
    // The same worker in another run; another one that does the same was never asked.
    home.almoner(&RUN).expect(7);
    assert!(asked(&home).0.contains("4 times before"), "{}", asked(&home).0);
    home.write("other.json", json!([{ "turns": [{ "calls": [append("out", "1")] }] }]).to_string());
    home.almoner(&["run", "strict.worker", "-e", "out=out:rw", "-mscripted:other.json"]).expect(7);
    assert!(!asked(&home).0.contains("has asked you about"), "{}", asked(&home).0);
    // The advice on the card helps.
    home.almoner(&[&RUN[..], &["--allow", "out.append"]].concat()).expect(0);
}

/// Checks the card of a call that is asked about for the second time.
#[track_caller]
fn second(home: &TestHome, run: &[&str], says: &str) {
    home.almoner(run).expect(7);
    let (_, number) = asked(home);
    home.almoner(&["deny", &number, "-r", "no"]).expect(0);
    home.almoner(&["resume"]);
    home.almoner(run).expect(7);
    let (card, _) = asked(home);
    assert!(card.contains("has asked you about") && card.contains(says), "{says:?} is not in {card}");
}

#[test]
fn card_offers_no_rule_for_sending_or_creating_workers() {
    let send =
        json!({ "name": "post_send", "arguments": { "to": "a@b.example", "subject": "s", "body": "b" } });
    let sends = home(&[send], &[]);
    second(&sends, &RUN, "No rule is offered that would stop the asking: it sends, and what is seen outside");
    let make = json!({ "name": "create_worker", "arguments": { "name": "judge", "source": "Judge it.\n" } });
    let makes = home(&[make], &[]);
    second(&makes, &RUN, "No rule is offered that would stop the asking: it makes workers");
    let strict = home(&[], &[("strict", append("out", "1"))]);
    let run = ["run", "strict.worker", "-e", "out=out:rw", "-mscripted:script.json"];
    second(
        &strict,
        &run,
        "No rule is offered that would stop the asking: the worker's own file wants you to be asked",
    );
}

#[test]
fn offered_rule_names_the_slots_of_the_called_worker() {
    let call = json!({ "name": "child", "arguments": {} });
    let home = home(&[call], &[("child", append("place", "1"))]);
    second(&home, &RUN, "begin the next run with `--allow child.place.append`.");
    home.almoner(&[&RUN[..], &["--allow", "child.place.append"]].concat()).expect(0);
}

#[test]
fn card_offers_a_working_policy_where_no_option_fits() {
    let source = "---\nslots: { place: dir rw }\n---\nWrite.\n";
    let slots = json!({ "place": "out" });
    let arguments = json!({ "name": "judge", "source": source, "slots": slots });
    let make = json!({ "name": "create_worker", "arguments": arguments });
    let call = json!({ "name": "judge", "arguments": {} });
    let home = home(&[make, call], &[("judge", append("place", "1"))]);
    let run = [&RUN[..], &["--allow", "create_worker.create"]].concat();
    second(&home, &run, "write this into your policy file");
    let (_, number) = asked(&home);
    let card = home.almoner(&["inbox", &number, "--json"]).expect(0).json();
    let policy = card["asked"][0]["instead"]["policy"].as_str().unwrap().to_owned();
    let config = home.root().join("config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("policy.cedar"), policy).unwrap();
    home.almoner(&["policy", "check"]).expect(0);
    home.almoner(&run).expect(0);
}
