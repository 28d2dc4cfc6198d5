//! Runs that have used up their budget: they ask, wait, and go on where they were.

use serde_json::{Value as Json, json};

use crate::bad_input::server::{Server, says};
use crate::test_home::TestHome;

fn call(name: &str, arguments: &Json) -> Json {
    json!({ "calls": [{ "name": name, "arguments": arguments }] })
}

fn append(text: &str) -> Json {
    call("out_append", &json!({ "path": "log.txt", "content": format!("{text}\n") }))
}

/// Returns a home with a worker of these limits that appends three lines, one a turn.
fn home(limits: &str) -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    let worker = |slots: &str| format!("---\nslots: {slots}\nlimits: {limits}\n---\nWrite three lines.\n");
    home.write("w.worker", worker("{ out: dir rw }"));
    home.write("child.worker", format!("---\nlimits: {limits}\n---\nSay it.\n"));
    home.write("boss.worker", "---\nslots: { child: worker }\n---\nHave it said.\n");
    let script = json!([
        { "worker": "w", "turns": [append("one"), append("two"), append("three"), { "text": "done" }] },
        { "worker": "boss", "turns": [call("child", &json!({})), { "text": "heard" }] },
        { "worker": "child", "turns": [{ "calls": [{ "name": "none" }] }, { "text": "said" }] },
    ]);
    home.write("script.json", script.to_string());
    home
}

const RUN: [&str; 7] =
    ["run", "w.worker", "-e", "out=out:rw", "--allow", "out.append", "-mscripted:script.json"];

const THREE: &str = "one\ntwo\nthree\n";

#[test]
fn run_out_of_budget_asks_and_resumes_in_place() {
    #[track_caller]
    fn check(limits: &str, asks: &str, yes: &[&str], left: usize) {
        let home = home(limits);
        let said = home.almoner(&RUN).expect(7);
        assert!(said.err.contains("waits for you"), "{}", said.err);
        let card = home.almoner(&["inbox", "1"]).expect(0).out;
        assert!(card.contains("has reached a limit and asks for") && card.contains(asks), "{card}");
        assert!(home.almoner(&["runs"]).expect(0).out.contains("asks for more: message 1"));
        let before = home.read("out/log.txt");
        assert_eq!(before.lines().count(), left, "{before}");
        home.almoner(&[&["approve", "1"], yes].concat()).expect(0);
        assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
        assert_eq!(home.read("out/log.txt"), THREE);
        let why = home.almoner(&["why", "1"]).expect(0).out;
        assert!(why.contains("asks for more"), "{why}");
    }
    check("{ turns: 2 }", "the limit of 2 turns is reached", &[], 2);
    check("{ turns: 1 }", "A yes adds 1 turn; a no", &["--turns", "3"], 1);
    // The calls of the reply are made once there is more budget, and not twice.
    check("{ tokens: 20 }", "of 20 tokens are used", &["--tokens", "10k"], 1);
}

#[test]
fn run_out_of_budget_ends_when_denied_or_unattended() {
    let asked = home("{ turns: 1 }");
    asked.almoner(&RUN).expect(7);
    // A raise of nothing is no answer, and neither are options for other questions.
    for wrong in [&["--turns", "0"][..], &["--tokens", "many"], &["--run"], &["-e", "out=out"]] {
        let code = asked.almoner(&[&["approve", "1"], wrong].concat()).code;
        assert!(matches!(code, 2 | 6 | 8), "{wrong:?}: {code}");
    }
    asked.almoner(&["dismiss", "1"]).expect(8);
    asked.almoner(&["deny", "1", "-r", "that is enough"]).expect(0);
    let said = asked.almoner(&["resume", "r1"]).expect(5);
    assert!(said.err.contains("the limit of 1 turns is reached"), "{}", said.err);
    assert_eq!(asked.read("out/log.txt"), "one\n");
    // A second answer changes nothing.
    let said = asked.almoner(&["approve", "1"]).expect(8).err;
    assert!(said.contains("it was denied (“that is enough”)"), "{said}");

    let alone = home("{ turns: 1 }");
    alone.almoner(&[&RUN[..], &["--on-ask", "deny"]].concat()).expect(5);
    assert!(alone.almoner(&["inbox"]).expect(0).out.is_empty());
}

#[test]
fn cancelled_run_withdraws_its_budget_request() {
    let home = home("{ turns: 1 }");
    home.almoner(&RUN).expect(7);
    home.almoner(&["cancel", "r1"]).expect(0);
    assert!(home.almoner(&["inbox"]).expect(0).out.is_empty());
    // There is no answer, so the message must not tell of one.
    let said = home.almoner(&["approve", "1"]).expect(8).err;
    assert!(said.contains("cannot approve message 1: r1 was cancelled"), "{said}");
    assert!(home.almoner(&["cancel", "r1"]).expect(0).err.contains("was cancelled before"));
    assert!(home.almoner(&["inbox", "1"]).expect(0).out.contains("withdrawn"));
}

#[test]
fn child_budget_is_raised_without_charging_its_caller() {
    let home = home("{ turns: 1, tokens: 4k }");
    home.almoner(&["run", "boss.worker", "-m", "scripted:script.json"]).expect(7);
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("(r2) ── child has reached a limit and asks for"), "{card}");
    let tokens = |run: &str| home.trace(run)["run"]["limits"]["tokens"].as_u64().unwrap();
    let before = (tokens("r1"), tokens("r2"));
    home.almoner(&["approve", "1", "--turns", "1", "--tokens", "1000"]).expect(0);
    assert_eq!((tokens("r1"), tokens("r2")), (before.0 + 1000, before.1 + 1000));
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "heard\n");
}

#[test]
fn timed_out_model_call_is_retried_after_more_time_is_granted() {
    let home = home("{ wall: 1s }");
    let server = Server::start(|number, _| {
        if number == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1500));
        }
        says("hello")
    });
    home.almoner(&["run", "child.worker", "-m", &server.model()]).expect(7);
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("the limit of 1 s of work is reached"), "{card}");
    home.almoner(&["approve", "1", "--wall", "10m"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "hello\n");
}

/// Returns a home with a worker that calls itself three times over, each run no deeper than the limit.
fn deep(limits: &str) -> TestHome {
    let home = TestHome::new();
    home.write("down.worker", format!("---\nslots: {{ again: worker }}\nlimits: {limits}\n---\nGo down.\n"));
    let script = json!([{ "worker": "down", "turns": [call("again", &json!({})), { "text": "bottom" }] }]);
    home.write("script.json", script.to_string());
    home
}

const DOWN: [&str; 4] = ["run", "down.worker", "-eagain=self", "-mscripted:script.json"];

fn runs(home: &TestHome) -> usize {
    home.almoner(&["runs", "--all", "--json"]).expect(0).json().as_array().map_or(0, Vec::len)
}

/// Returns the message that waits for an answer, if one does.
fn asks(home: &TestHome) -> Option<String> {
    let letters = home.almoner(&["inbox", "--json"]).expect(0).json();
    letters.get(0).map(|letter| letter["number"].to_string())
}

#[test]
fn run_at_its_depth_limit_asks_for_more_depth() {
    let home = deep("{ depth: 1 }");
    home.almoner(&DOWN).expect(7);
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("(r2) ── down has reached a limit and asks for"), "{card}");
    assert!(card.contains("would start a worker 2 deep; the limit is 1"), "{card}");
    assert!(card.contains("A yes adds 1 level of workers; after a no the run goes on without it"), "{card}");
    assert_eq!(runs(&home), 2);
    // There is a maximum depth that no answer raises.
    let said = home.almoner(&["approve", "1", "--depth", "32"]).expect(8).err;
    assert!(said.contains("at most 32 deep"), "{said}");
    home.almoner(&["approve", "1", "--depth", "2"]).expect(0);
    // Two levels more, and then it asks again: a no is told to its model, and the run goes on.
    home.almoner(&["resume", "r1"]).expect(7);
    assert_eq!(runs(&home), 4);
    let depth = |run: &str| home.trace(run)["run"]["limits"]["depth"].as_u64().unwrap();
    assert_eq!([depth("r1"), depth("r2"), depth("r3"), depth("r4")], [1, 3, 3, 3]);
    let again = asks(&home).unwrap();
    home.almoner(&["deny", &again, "-r", "deep enough"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "bottom\n");
    assert_eq!(runs(&home), 4);
    let last = home.trace("r4").to_string();
    assert!(last.contains("depth/limit") && last.contains(r#""entry":"held""#), "{last}");
}

#[test]
fn depth_request_is_skipped_when_refusal_is_certain() {
    // No person is there to ask.
    let alone = deep("{ depth: 0 }");
    let said = alone.almoner(&[&DOWN[..], &["--on-ask", "deny"]].concat()).expect(0);
    assert_eq!((said.out.as_str(), runs(&alone)), ("bottom\n", 1));
    // There is no deeper to go.
    let end = deep("{ depth: 32, turns: 3, tokens: 1M }");
    assert_eq!(end.almoner(&DOWN).expect(0).out, "bottom\n");
    assert!(end.trace("r33").to_string().contains("depth/limit"));
    end.almoner(&["trace", "r34"]).expect(4);
}

#[test]
fn calls_count_against_the_limit_regardless_of_outcome() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    let worker = "---\nslots: { out: dir rw }\nlimits: { calls: 2 }\n---\nWrite.\n";
    home.write("w.worker", worker);
    let one = |text: &str| append(text)["calls"][0].clone();
    let missing = json!({ "name": "out_read", "arguments": { "path": "none.txt" } });
    let first = json!({ "calls": [one("one"), missing, one("two")] });
    home.write("script.json", json!([{ "worker": "w", "turns": [first, { "text": "done" }] }]).to_string());
    home.almoner(&RUN).expect(7);
    // The calls of one reply stop at the run's limit.
    assert_eq!(home.read("out/log.txt"), "one\n");
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(
        card.contains("the limit of 2 calls is reached") && card.contains("A yes adds 2 calls"),
        "{card}"
    );
    home.almoner(&["approve", "1", "--calls", "9"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
    assert_eq!(home.read("out/log.txt"), "one\ntwo\n");

    let ended = self::home("{ calls: 1 }");
    ended.almoner(&RUN).expect(7);
    ended.almoner(&["deny", "1"]).expect(0);
    assert!(ended.almoner(&["resume", "r1"]).expect(5).err.contains("the limit of 1 calls is reached"));
    assert_eq!(ended.read("out/log.txt"), "one\n");
}

/// Reported of other programs: 0xku/kon#32 and microsoft/vscode#289019 (many alike calls, one question for each).
#[test]
fn batch_out_of_tokens_asks_one_question_at_a_time() {
    let home = TestHome::new();
    home.write("w.worker", "---\nattachments: { max: 1 }\nlimits: { tokens: 60 }\n---\nSum it up.\n");
    home.write("s.json", json!([{ "turns": [{ "text": "y".repeat(400) }] }]).to_string());
    for at in 0..6 {
        home.write(&format!("in/{at}.txt"), "text");
    }
    let mut said = home.almoner(&["run", "w.worker", "in", "--each", "-j1", "-m", "scripted:s.json"]);
    let mut asked = 0;
    while said.code == 7 {
        let open = home.almoner(&["inbox", "--json"]).expect(0).json();
        let open: Vec<&Json> = open.as_array().unwrap().iter().collect();
        assert_eq!(open.len(), 1, "{open:?}");
        asked += 1;
        assert!(asked < 20, "{}", said.err);
        home.almoner(&["approve", &open[0]["number"].to_string(), "--tokens", "1k"]).expect(0);
        said = home.almoner(&["resume", "r1"]);
    }
    assert!(asked > 0 && said.err.contains("6 items: 6 done"), "{asked}: {}", said.err);
}
