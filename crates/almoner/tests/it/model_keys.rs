//! Keys of models by name, and the user's own names for models.

use serde_json::json;

use crate::bad_input::server::{Server, calls, says};
use crate::test_home::{Said, TestHome};

const KEY: &str = "sk-work-periwinkle-77";

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("hello.worker", "---\ndescription: Says hello.\n---\nSay hello.\n");
    home.write("judged.worker", "---\nslots: { judge: model }\nlimits: { depth: 1 }\n---\nHave it judged.\n");
    let call =
        json!({ "calls": [{ "name": "judge", "arguments": { "input": { "prompt": "Is it good?" } } }] });
    home.write("own.json", json!([{ "turns": [call, { "text": "done" }] }]).to_string());
    home
}

/// Returns where a server is, as secrets are pinned to it.
fn origin(server: &Server) -> String {
    server.url().strip_suffix("/v1").unwrap().to_owned()
}

fn key_for(home: &TestHome, server: &str) {
    home.piped(&["secret", "set", "work", "--for", server], KEY.as_bytes()).expect(0);
}

fn named() -> Option<String> {
    Some(KEY.to_owned())
}

#[test]
fn model_is_called_only_with_its_named_key() {
    let home = home();
    let server = Server::saying(vec![says("hello")]);
    let keyed = format!("{}?key=work", server.model());
    let run = |model: &str| {
        let mut command = home.command(&["run", "hello.worker", "-m", model]);
        // A key of the environment is there, and is not meant.
        Said::of(command.env("ALMONER_COMPAT_KEY", "sk-environment").output().unwrap())
    };
    let missing = run(&keyed).expect(4);
    assert!(
        missing.err.contains("there is no secret `work`") && missing.err.contains("--for"),
        "{}",
        missing.err
    );
    key_for(&home, "https://api.example.com");
    let elsewhere = run(&keyed);
    assert!(
        elsewhere.code != 0 && elsewhere.err.contains("is not for http://127.0.0.1"),
        "{}",
        elsewhere.err
    );
    assert!(server.requests().is_empty());
    key_for(&home, &origin(&server));
    run(&keyed).expect(0);
    assert_eq!(server.keys(), [named()]);
    // The vault's own key for that server, and one of the environment, go where no key was named.
    run(&server.model()).expect(0);
    assert_eq!(server.keys().last().unwrap().as_deref(), Some("sk-environment"));
    // The journal has the name of the chosen key.
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("?key=work") && !trace.contains(KEY), "{trace}");
    let wrong = run("ollama:m?key=work").expect(2);
    assert!(wrong.err.contains("names a secret of the vault"), "{}", wrong.err);

    // A model in a slot has its own budget and its own key.
    let judged = |fill: &str| {
        home.almoner(&["run", "judged.worker", "-mscripted:own.json", "-e", &format!("judge=model:{fill}")])
    };
    judged(&format!("{}?key=work&tokens=5k", server.model())).expect(0);
    assert_eq!(server.keys().last().unwrap(), &named());
    assert!(home.almoner(&["grants"]).expect(0).out.contains("?key=work"));
    let wrong = judged("scripted:own.json?key=work").expect(2);
    assert!(wrong.err.contains("names a secret of the vault"), "{}", wrong.err);
    let gone = judged(&format!("{}?key=other", server.model())).expect(4);
    assert!(gone.err.contains("there is no secret `other`"), "{}", gone.err);
}

#[test]
fn run_waits_for_a_missing_key_and_tries_no_other() {
    let home = home();
    let server = Server::saying(vec![calls("docs_read", r#"{"path": "a.md"}"#), says("done")]);
    key_for(&home, &origin(&server));
    home.write("two.worker", "---\nslots: { docs: dir }\napprove: { docs.read: ask }\n---\nRead it.\n");
    home.write("docs/a.md", "a");
    let keyed = format!("{}?key=work", server.model());
    home.almoner(&["run", "two.worker", "-m", &keyed, "-e", "docs=docs"]).expect(7);
    home.almoner(&["secret", "remove", "work"]).expect(0);
    home.almoner(&["approve", "1"]).expect(0);
    let mut command = home.command(&["resume", "r1"]);
    let said = Said::of(command.env("ALMONER_COMPAT_KEY", "sk-environment").output().unwrap()).expect(1);
    assert!(said.err.contains("there is no secret `work`") && said.err.contains("resume"), "{}", said.err);
    assert_eq!(server.requests().len(), 1);
    key_for(&home, &origin(&server));
    home.almoner(&["resume", "r1"]).expect(0);
    assert_eq!(server.keys(), [named(), named()]);
}

#[test]
fn configured_model_name_includes_its_key() {
    let home = home();
    let (fast, work) = (Server::saying(vec![says("fast")]), Server::saying(vec![says("work")]));
    key_for(&home, &origin(&work));
    let judge = json!(work.model());
    home.write_config(&format!(
        "[models]\ndefault = \"fast\"\n[models.names]\nfast = {}\njudge = {{ model = {judge}, key = \"work\", private = true, price = {{ input = 3, output = 3 }} }}\n",
        json!(fast.model())
    ));
    let listed = home.almoner(&["models"]).expect(0).out;
    assert!(listed.contains("?key=work, may read what is private"), "{listed}");
    assert_eq!(home.almoner(&["models", "list", "--json"]).expect(0).json()["names"]["fast"], fast.model());
    let run = |model: &[&str], more: &[&str]| home.almoner(&[&["run", "hello.worker"], model, more].concat());
    assert_eq!(run(&[], &[]).expect(0).out, "fast\n");
    assert_eq!(run(&["-m", "judge"], &[]).expect(0).out, "work\n");
    assert_eq!(run(&["-m", "judge"], &["--private"]).expect(0).out, "work\n");
    assert_eq!((fast.keys(), work.keys()), (vec![None], vec![named(), named()]));
    // Without the key it is another model, and the setting for private data does not name it.
    let kept = run(&["-m", &work.model()], &["--private"]);
    assert!(kept.code != 0 && kept.err.contains("may not"), "{}", kept.err);
    let said = run(&["-m", "jugde"], &[]).expect(2);
    assert!(said.err.contains("did you mean `judge`?"), "{}", said.err);
    // In a slot, with a limit in money, since a price was given.
    let judged = ["run", "judged.worker", "-mscripted:own.json", "-e", "judge=model:judge?usd=1"];
    home.almoner(&judged).expect(0);
    assert_eq!(work.keys().len(), 3);
    let said =
        home.almoner(&["run", "judged.worker", "-mscripted:own.json", "-e", "judge=model:jugde"]).expect(2);
    assert!(said.err.contains("did you mean `judge`?"), "{}", said.err);
    // A worker file that asks for it by that name does not get it.
    home.write("asks.worker", "---\nmodel: judge\n---\nSay hello.\n");
    home.almoner(&["run", "asks.worker"]).expect(0);
    assert_eq!(work.keys().len(), 3);
    // A project's file may name it, once it is trusted.
    home.write("almoner.toml", "[workers.hello]\nmodel = \"judge\"\n");
    let digest = home.almoner(&["trust", "--json"]).expect(0).json()["digest"].as_str().unwrap().to_owned();
    home.almoner(&["trust", "--yes", &digest]).expect(0);
    assert_eq!(run(&[], &[]).expect(0).out, "work\n");
    // An error in the file is shown with its line.
    home.write_config("[models.names]\nfast = { model = \"ollama:m\", key = \"work\" }\n");
    let said = run(&["-m", "fast"], &[]);
    assert!(said.code != 0 && said.err.contains("config.toml:2"), "{}", said.err);
}
