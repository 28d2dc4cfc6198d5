//! Tests that only models with permission read private data.

use serde_json::json;

use crate::test_home::TestHome;

const READER: &str = "---\nslots: { docs: dir, out: dir rw }\n---\nRead.\n";
const RUN: [&str; 4] = ["run", "reader.worker", "-mscripted:script.json", "-eout=out:rw"];

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("reader.worker", READER);
    home.write("docs/a.md", "hunter2\n");
    home.write("deck.txt", "deck\n");
    let call = |name: &str, arguments| json!({ "calls": [{ "name": name, "arguments": arguments }] });
    let turns = json!([
        call("docs_read", json!({ "path": "a.md" })),
        call("out_write", json!({ "path": "b.md", "content": "seen" })),
        { "text": "done" },
    ]);
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home
}

/// Sets the models that may read private data. The daemon reads this setting when it starts.
fn may_read(home: &TestHome, models: &[&str]) {
    home.write_config(&format!("[models]\nprivate = {}\n", json!(models)));
}

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(more).copied().collect()
}

#[test]
fn private_data_for_an_unapproved_model_refuses_the_run() {
    let home = home();
    home.write("chief.worker", "---\nslots: { reader: worker }\n---\nHave it read.\n");
    home.write("coder.worker", "---\nslots: { repo: git }\n---\nRead.\n");
    let git = ["run", "coder.worker", "-mscripted:script.json", "-erepo=git:docs?private"];
    let nested = [
        "run",
        "chief.worker",
        "-mscripted:script.json",
        "-ereader.out=out:rw",
        "-ereader.docs=docs?private",
    ];
    for words in [
        run(&["-edocs=docs?private"]),
        run(&["-edocs=docs", "--private", "deck.txt"]),
        nested.to_vec(),
        git.to_vec(),
    ] {
        let said = home.almoner(&words);
        assert_ne!(said.code, 0, "{words:?}");
        assert!(said.err.contains("may not") && said.err.contains("private = ["), "{words:?}: {}", said.err);
        // The same is said of the look ahead.
        assert_ne!(home.almoner(&[&words[..], &["--dry-run"]].concat()).code, 0, "{words:?}");
    }
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json(), json!([]));
    // Data that is not private goes to any model.
    home.almoner(&run(&["-edocs=docs"])).expect(7);
    let script = format!("scripted:{}", home.path("script.json").display());
    may_read(&home, &[&script]);
    home.almoner(&run(&["-edocs=docs?private"])).expect(7);
    let planned = home.almoner(&run(&["-edocs=docs?private", "--dry-run"])).expect(0).out;
    assert!(planned.contains("; private"), "{planned}");
    // Of several models each must be one that may.
    let several = [
        "run",
        "reader.worker",
        "-mscripted:script.json,openai:gpt-4.1",
        "-eout=out:rw",
        "-edocs=docs?private",
    ];
    assert!(home.almoner(&several).err.contains("openai:gpt-4.1"));
}

/// Returns how often the model of the run has answered.
fn replies(home: &TestHome) -> usize {
    home.almoner(&["trace", "r1"]).expect(0).out.matches(" replied ").count()
}

#[test]
fn model_no_longer_approved_receives_no_private_data() {
    let home = home();
    let script = format!("scripted:{}", home.path("script.json").display());
    may_read(&home, &[&script]);
    home.almoner(&run(&["-edocs=docs?private"])).expect(7);
    assert_eq!(replies(&home), 2);
    may_read(&home, &[]);
    home.almoner(&["approve", "1"]).expect(0);
    let said = home.almoner(&["resume", "r1"]);
    assert!(said.err.contains("may not read that"), "{}", said.err);
    assert_eq!(replies(&home), 2);
    may_read(&home, &[&script]);
    home.almoner(&["resume", "r1"]).expect(0);
}

#[test]
fn private_flag_holds_for_each_item_of_a_batch() {
    let home = home();
    home.write("v.worker", "---\nslots: { m: model }\n---\nAsk it.\n");
    let ask = json!({ "name": "m", "arguments": { "input": { "prompt": "what is it?" } } });
    let turns = json!([{ "calls": [ask] }, { "text": "done" }]);
    home.write(
        "v.json",
        json!([{ "worker": "v", "turns": turns }, { "turns": [{ "text": "told" }] }]).to_string(),
    );
    home.write("remote.json", json!([{ "turns": [{ "text": "told" }] }]).to_string());
    home.write("in/a.txt", "secret plans\n");
    let script = format!("scripted:{}", home.path("v.json").display());
    may_read(&home, &[&script]);
    let each = [
        "run",
        "v.worker",
        "in/a.txt",
        "--each",
        "--private",
        "-mscripted:v.json",
        "-em=model:scripted:remote.json",
    ];
    home.almoner(&each).expect(0);
    let item = home.trace("r2").to_string();
    assert!(item.contains("model/private") && !item.contains("told"), "{item}");
}
