//! Looking behind identifiers: what a grant was used for, what refers to what, what leads to what; and who may look.

use serde_json::{Value as Json, json};

use crate::home::Home;
use crate::wire::Control;

/// A run that has read something private, could send mail, and has written a file; and a guest who holds nothing of it.
fn home() -> (Home, Control) {
    let home = Home::new();
    home.write("w.worker", "---\nslots: { docs: dir, mail: outbox, out: dir rw }\n---\nWork.\n");
    home.write("docs/a.md", "a\n");
    home.write("spool/.keep", "");
    let calls = json!([
        { "name": "docs_read", "arguments": { "path": "a.md" } },
        { "name": "out_write", "arguments": { "path": "b.md", "content": "b\n" } }
    ]);
    home.write("script.json", json!([{ "turns": [{ "calls": calls }, { "text": "done" }] }]).to_string());
    let model = format!("scripted:{}", home.path("script.json").display());
    home.write_config(&format!("[models]\nprivate = [{}]\n", json!(model)));
    let run = ["run", "w.worker", "-m", &model, "-edocs=docs?private", "-email=spool", "-eout=out:rw"];
    home.almoner(&[&run[..], &["--allow", "out.write"]].concat()).expect(0);
    home.almoner(&["mkguest", "fae"]).expect(0);
    let control = Control::open(&home);
    (home, control)
}

#[track_caller]
fn look(control: &mut Control, look: Json) -> Json {
    let answer = control.ask(&json!({ "request": "look", "look": look }));
    assert_ne!(answer["response"], "failed", "{answer}");
    answer["body"].clone()
}

/// The grant that fills a slot.
fn of_slot(control: &mut Control, slot: &str) -> Json {
    let grants = look(control, json!({ "look": "grants" }));
    grants.as_array().unwrap().iter().find(|grant| grant["slot"] == slot).unwrap().clone()
}

#[test]
fn a_grant_tells_what_it_was_used_for() {
    let (_home, mut control) = home();
    let grant = of_slot(&mut control, "out");
    let told = look(&mut control, json!({ "look": "grant", "grant": grant["number"] }));
    assert_eq!((&told["calls"], &told["runs"]), (&json!(1), &json!([1])), "{told}");
    assert_eq!((&told["last"][0]["method"], &told["last"][0]["outcome"]), (&json!("write"), &json!("done")));
    let unused = of_slot(&mut control, "mail");
    let told = look(&mut control, json!({ "look": "grant", "grant": unused["number"] }));
    assert_eq!((&told["calls"], &told["runs"]), (&json!(0), &json!([])), "{told}");
}

#[test]
fn a_formula_tells_what_leads_to_it_and_only_to_whoever_may_see_it() {
    let (home, mut control) = home();
    let grant = of_slot(&mut control, "out");
    let told = look(&mut control, json!({ "look": "formula", "id": grant["target"] }));
    assert_eq!(told["called"]["kind"], "mount", "{told}");
    assert_eq!(told["grants"][0]["number"], grant["number"], "{told}");
    let of = told["referred_by"].as_array().unwrap();
    assert!(of.iter().any(|one| one["label"] == "target" && one["other"]["id"] == grant["id"]), "{told}");
    let called = look(&mut control, json!({ "look": "called", "ids": [grant["id"]] }));
    assert_eq!((&called[0]["grant"]["slot"], &called[0]["target"]), (&json!("out"), &grant["target"]));
    home.almoner(&["why", grant["id"].as_str().unwrap()]).expect(0);
    for wanted in [
        json!({ "look": "formula", "id": grant["target"] }),
        json!({ "look": "called", "ids": [grant["id"]] }),
        json!({ "look": "graph", "focus": grant["target"] }),
        json!({ "look": "origin", "thing": grant["id"] }),
        json!({ "look": "kept", "thing": grant["id"] }),
        json!({ "look": "grant", "grant": grant["number"] }),
    ] {
        let asked = json!({ "agent": "profile-for-fae", "request": "look", "look": wanted });
        assert_eq!(control.ask(&asked)["response"], "failed", "{wanted}");
    }
}

#[test]
fn the_graph_of_a_run_tells_what_could_leave() {
    let (_home, mut control) = home();
    let graph = look(&mut control, json!({ "look": "graph", "focus": "r1" }));
    let labels = |links: &Json| -> Vec<String> {
        let of =
            |at: &Json| graph["links"][at.as_u64().unwrap() as usize]["label"].as_str().unwrap().to_owned();
        links.as_array().unwrap().iter().map(of).collect()
    };
    let risks = graph["risks"].as_array().unwrap();
    assert_eq!(risks.len(), 1, "{graph}");
    assert_eq!(labels(&risks[0]["secrets"]), ["docs"]);
    assert_eq!(labels(&risks[0]["outlets"]), ["mail"]);
    // The run is over: it is nothing that the person's names or open runs lead to.
    let own = look(&mut control, json!({ "look": "graph" }));
    assert_eq!((&own["nodes"][0]["kind"], &own["risks"]), (&json!("host"), &json!([])), "{own}");
    assert!(own["nodes"].as_array().unwrap().iter().all(|node| node["kind"] != "spool"), "{own}");
}
