//! Tests of other models in slots: which one answers, its budget, and the data that it may not receive.

use serde_json::{Value as Json, json};

use crate::bad_input::server::{Server, says};
use crate::test_home::TestHome;

const WRITER: &str = "---\nslots: { editor: model, docs: dir }\nlimits: { depth: 2 }\n---\nWrite.\n";
const HELPER: &str = "---\nslots: { writer: worker }\nlimits: { depth: 3 }\n---\nHave it written.\n";

fn ask(prompt: &str) -> Json {
    json!({ "name": "editor", "arguments": { "input": { "prompt": prompt, "system": "Be brief." } } })
}

fn home(calls: &[Json]) -> TestHome {
    let home = TestHome::new();
    home.write("writer.worker", WRITER);
    home.write("helper.worker", HELPER);
    home.write("docs/a.md", "hunter2\n");
    let turns = calls.iter().map(|call| json!({ "calls": [call] }));
    let turns: Json = turns.chain([json!({ "text": "done" })]).collect();
    let call = json!({ "calls": [{ "name": "writer", "arguments": {} }] });
    let helper = json!([call, call, { "text": "done" }]);
    home.write(
        "own.json",
        json!([{ "worker": "writer", "turns": turns }, { "worker": "helper", "turns": helper }]).to_string(),
    );
    let answer =
        json!([{ "says": "Be brief.\n\nShorten", "turns": [{ "text": "the other model's words" }] }]);
    home.write("other.json", answer.to_string());
    home
}

/// Returns the models that were asked, in all runs, in turn.
fn asked(home: &TestHome, runs: usize) -> Vec<String> {
    (1..=runs)
        .flat_map(|run| {
            let trace = home.almoner(&["trace", &format!("r{run}")]).out;
            let asks = trace.lines().filter(|line| line.contains(" prompted "));
            let file = |line: &str| {
                line.split_once(".json").and_then(|(path, _)| path.rsplit('/').next().map(str::to_owned))
            };
            asks.filter_map(file).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn model_in_a_slot_answers_and_is_charged_to_its_caller() {
    let home = home(&[ask("Shorten this.")]);
    let words = [
        "run",
        "writer.worker",
        "-mscripted:own.json",
        "-edocs=docs",
        "-eeditor=model:scripted:other.json?tokens=5k",
    ];
    let planned = home.almoner(&[&words[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(
        planned.contains("editor = model scripted:") && planned.contains("at most 5000 tokens"),
        "{planned}"
    );
    home.almoner(&words).expect(0);
    assert!(home.trace("r1").to_string().contains("the other model's words"));
    assert_eq!(asked(&home, 2), ["own", "own", "other"]);
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
    let used = |run: &Json| {
        run["used"]["input_tokens"].as_u64().unwrap() + run["used"]["output_tokens"].as_u64().unwrap()
    };
    let by_depth =
        |depth: u64| used(runs.as_array().unwrap().iter().find(|run| run["depth"] == depth).unwrap());
    assert!(by_depth(1) > 0 && by_depth(0) > by_depth(1), "{runs}");
}

#[test]
fn model_slot_budget_covers_all_calls_including_children() {
    // Each answer reads and writes some; two calls of each of two runs are more than there is.
    let home =
        home(&[ask("Shorten this, which is long enough."), ask("Shorten this, which is long as well.")]);
    let words = [
        "run",
        "helper.worker",
        "-mscripted:own.json",
        "-ewriter=writer.worker",
        "-ewriter.docs=docs",
        "-ewriter.editor=model:scripted:other.json?tokens=150",
    ];
    home.almoner(&words).expect(0);
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
    let asked: Vec<&Json> = runs.as_array().unwrap().iter().filter(|run| run["name"] == "model").collect();
    let traces: String =
        (1..=runs.as_array().unwrap().len()).map(|run| home.trace(&format!("r{run}")).to_string()).collect();
    let answered: usize = asked
        .iter()
        .map(|run| {
            home.trace(&format!("r{}", run["number"])).to_string().matches(r#""entry":"replied""#).count()
        })
        .sum();
    // The daemon estimates the tokens of a question before it asks.
    assert!(answered < 4 && traces.contains("budget/tokens"), "{answered} answers: {traces}");
}

#[test]
fn model_in_a_slot_receives_no_private_data() {
    let read = json!({ "name": "docs_read", "arguments": { "path": "a.md" } });
    let home = home(&[ask("Shorten what is not private."), read, ask("Shorten hunter2.")]);
    let own = format!("scripted:{}", home.path("own.json").display());
    home.write_config(&format!("[models]\nprivate = {}\n", json!([own])));
    let words = [
        "run",
        "writer.worker",
        "-mscripted:own.json",
        "-edocs=docs?private",
        "-eeditor=model:scripted:other.json",
    ];
    home.almoner(&words).expect(0);
    assert!(home.trace("r1").to_string().contains("model/private"));
    // It was asked once, before.
    assert_eq!(asked(&home, 3).iter().filter(|model| *model == "other").count(), 1);
}

#[test]
fn invalid_model_in_a_slot_is_refused_with_the_reason() {
    let home = home(&[]);
    for (fill, said) in [
        ("editor=docs", "wants model"),
        ("editor=model:nobody:x", "nobody"),
        (
            "editor=model:compat:https://h.example/v1#x?usd=1",
            "the price of compat:https://h.example/v1#x is not known",
        ),
    ] {
        let words = ["run", "writer.worker", "-mscripted:own.json", "-edocs=docs", "-e", fill];
        let told = home.almoner(&words);
        assert!(told.code != 0 && told.err.contains(said), "{fill}: {}", told.err);
    }
    let told = home.almoner(&["run", "writer.worker", "-mscripted:own.json", "-edocs=docs"]).expect(2).err;
    assert!(told.contains("-e editor=model:NAME"), "{told}");
}

#[test]
fn server_model_receives_no_secret_and_asks_for_lookalikes() {
    let shape = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let words = |home: &TestHome, model: &str, more: &[&str]| {
        let editor = format!("editor=model:{model}");
        home.almoner(
            &[&["run", "writer.worker", "-mscripted:own.json", "-edocs=docs", "-e", &editor], more].concat(),
        )
    };
    let pieces = json!({ "name": "editor", "arguments": { "input": { "prompt": "tok-9f3k-sword", "system": "fish-and-chips" } } });
    let with_document = json!({ "name": "editor", "arguments": { "input": { "prompt": "Sum up." }, "attachments": ["keys.txt"] } });
    for (calls, documents, asks, rule) in [
        (vec![pieces], &[][..], false, "secrets/value"),
        (vec![ask("It is tok-9f3k-swordfish-and-chips.")], &[], false, "secrets/stand-in"),
        (vec![ask(&format!("It is {shape}."))], &[], true, "secrets/shape"),
        (vec![with_document], &["keys.txt"], true, "secrets/shape"),
        (vec![ask("Shorten this.")], &[], false, "Shorten this."),
    ] {
        let server = Server::saying(vec![says("short")]);
        let home = home(&calls);
        home.write("keys.txt", format!("key: {shape}\n"));
        home.piped(&["secret", "set", "TOKEN"], b"tok-9f3k-swordfish-and-chips").expect(0);
        words(&home, &server.model(), documents).expect(if asks { 7 } else { 0 });
        let trace = home.trace("r1").to_string();
        assert!(trace.contains(rule), "{rule}: {trace}");
        let is_harmless = !rule.starts_with("secrets/");
        assert_eq!(server.requests().len(), usize::from(is_harmless), "{rule}");
        if asks {
            // A person may know better.
            home.almoner(&["approve", "1"]).expect(0);
            home.almoner(&["resume"]);
            assert_eq!(server.requests().len(), 1, "{rule}");
            // The daemon does not ask about a model that only this machine serves.
            words(&home, "scripted:other.json", documents);
            assert!(!home.trace("r3").to_string().contains("secrets/shape"), "{rule}");
        }
    }
}
