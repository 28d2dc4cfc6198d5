//! Findings reach the model as the result of exactly the call that they are about, as data, with every provider. The
//! user reads the same words.

use std::collections::BTreeMap;

use model::{Call, MalformedCall, Message, Reply, Request};
use serde_json::{Value as Json, json};

use crate::bad_input::server::{Server, events, says};
use crate::test_home::TestHome;
use crate::wire::Control;

const WORKER: &str = "---\nslots: { mail: dir, out: dir rw, outbox: outbox }\n---\nDo it.\n";
const WHY: &str = "not to that archive";

/// Returns the calls of the model's first turn: id, tool, arguments, and the rule that something was found by. The
/// last has arguments that are no JSON.
fn calls() -> Vec<(&'static str, &'static str, String, &'static str)> {
    let json = |value: Json| value.to_string();
    vec![
        ("c-out", "out_write", json(json!({ "path": "../x.md", "content": "x" })), "path/parent"),
        ("c-read", "mail_read", json(json!({ "path": "letter.txt" })), ""),
        ("c-pay", "pay", json(json!({ "amount": 7 })), "tool/unknown"),
        (
            "c-to",
            "outbox_send",
            json(json!({ "to": "a@b, c@d", "subject": "s", "body": "b" })),
            "outbox/several",
        ),
        ("c-type", "out_write", json(json!({ "path": 7, "content": "x" })), "tool/arguments"),
        (
            "c-ask",
            "outbox_send",
            json(json!({ "to": "a@b.example", "subject": "s", "body": "b" })),
            "host/denied",
        ),
        ("c-gone", "mail_list", json(json!({ "path": "no-such-folder" })), "file/missing"),
        ("c-json", "out_write", "{\"path\": ".to_owned(), "tool/json"),
    ]
}

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("clerk.worker", WORKER);
    home.write("mail/letter.txt", "Dear all\n");
    for dir in ["out", "outbox"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    home
}

/// Runs the clerk with this model until the run ends: its call asks, and the user denies it. Returns the model's last
/// request.
fn run(home: &TestHome, model: &str) -> Request {
    let args =
        ["run", "clerk.worker", "-e", "mail=mail", "-e", "out=out:rw", "-e", "outbox=outbox", "-m", model];
    home.almoner(&args).expect(7);
    home.almoner(&["deny", "1", "-r", WHY]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
    requests(home).pop().unwrap()
}

/// Returns everything that the model of the first run was asked, as it was recorded.
fn requests(home: &TestHome) -> Vec<Request> {
    let mut control = Control::open(home);
    let steps = home.trace("r1")["steps"].take();
    let prompted =
        steps.as_array().unwrap().iter().map(|step| &step["entry"]).filter(|e| e["entry"] == "prompted");
    prompted
        .map(|entry| {
            let blob = control.ask(&json!({ "request": "blob", "hash": entry["request"] }));
            serde_json::from_str(blob["body"].as_str().unwrap()).unwrap()
        })
        .collect()
}

/// Returns everything that was found, by rule: as the trace has it.
fn found(home: &TestHome) -> BTreeMap<String, Json> {
    let mut found = BTreeMap::new();
    for step in home.trace("r1")["steps"].as_array().unwrap() {
        let entry = &step["entry"];
        let completion = &entry["completion"];
        let lists = [&entry["findings"], &completion["findings"], &completion["refused"], completion];
        for finding in lists.into_iter().filter_map(Json::as_array).flatten() {
            found.insert(finding["rule"].as_str().unwrap().to_owned(), finding.clone());
        }
        for one in [completion, &completion["failed"], &completion["finding"]] {
            if let Some(rule) = one["rule"].as_str() {
                found.insert(rule.to_owned(), one.clone());
            }
        }
    }
    found
}

/// Checks that each call has its own result, and that the result holds the recorded finding as data, part for part.
#[track_caller]
fn check(home: &TestHome, results: &[(String, String)]) {
    let found = found(home);
    assert_eq!(results.len(), calls().len());
    let text = home.almoner(&["trace", "r1"]).expect(0).out;
    for (id, _, _, rule) in calls() {
        let (_, content) =
            results.iter().find(|(of, _)| *of == id).unwrap_or_else(|| panic!("{id}: {results:?}"));
        if rule.is_empty() {
            assert_eq!(content, "Dear all\n");
            continue;
        }
        let told: Json = serde_json::from_str(content).unwrap_or_else(|e| panic!("{id}: {e} in {content}"));
        let told = told["refused"].as_array().or(told["failed"].as_array()).unwrap();
        let told =
            told.iter().find(|finding| finding["rule"] == rule).unwrap_or_else(|| panic!("{id}: {told:?}"));
        let recorded = found.get(rule).unwrap_or_else(|| panic!("{rule} is not in {found:?}"));
        // The marks of quoted words are for the renderer only.
        let mut recorded = recorded.clone();
        for marks in ["quoted", "allowed_quoted"] {
            recorded.as_object_mut().unwrap().remove(marks);
        }
        assert_eq!(*told, recorded, "{id}: the model is told what was recorded");
        // A finding of a gate or a check says where it applies, and which value would be allowed.
        for part in ["at", "allowed"] {
            assert!(rule == "host/denied" || told[part].is_string(), "{id} says no `{part}`: {told}");
        }
        // The person reads the same words.
        for part in ["rule", "message", "at", "counter_example", "allowed"] {
            if let Some(words) = told[part].as_str() {
                let shown = passable::visible_line(words).into_owned();
                assert!(text.contains(&shown), "{id}: `{shown}` is not in\n{text}");
            }
        }
    }
    assert!(found["path/parent"]["counter_example"].is_string() && found["host/denied"]["message"] == WHY);
}

fn results(request: &Request) -> Vec<(String, String)> {
    let result = |message: &Message| match message {
        Message::ToolResult { id, content, is_error, .. } => {
            assert_eq!(*is_error, content.starts_with("{\""), "{content}");
            Some((id.clone(), content.clone()))
        }
        _ => None,
    };
    request.messages.iter().filter_map(result).collect()
}

/// Returns the model's first reply, as a provider gives it.
fn reply() -> Reply {
    let mut reply = Reply { stop: model::Stop::Calls, ..Reply::default() };
    for (id, name, arguments, _) in calls() {
        let (id, name) = (id.to_owned(), name.to_owned());
        match serde_json::from_str(&arguments) {
            Ok(arguments) => reply.calls.push(Call::new(id, name, arguments)),
            Err(e) => reply.malformed.push(MalformedCall { id, name, arguments, reason: e.to_string() }),
        }
    }
    reply
}

#[test]
fn openai_model_receives_findings_as_tool_results() {
    let home = home();
    let server = Server::start(|number, _| match number {
        0 => {
            let call = |(index, (id, name, arguments, _)): (usize, (&str, &str, String, &str))| json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
            let calls: Vec<Json> = calls().into_iter().enumerate().map(call).collect();
            let finish = json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] });
            events(&[json!({ "choices": [{ "delta": { "tool_calls": calls } }] }), finish], true)
        }
        _ => says("done"),
    });
    run(&home, &server.model());
    // The request as the server received it.
    let sent = server.requests().pop().unwrap();
    let results: Vec<(String, String)> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| {
            let part = |name: &str| message[name].as_str().unwrap().to_owned();
            (part("tool_call_id"), part("content"))
        })
        .collect();
    check(&home, &results);
}

#[test]
fn scripted_and_replayed_models_receive_the_same_findings() {
    let scripted = home();
    let turn = |(_, name, arguments, rule): (&str, &str, String, &str)| match rule {
        "tool/json" => json!({ "name": name, "arguments": format!("!{arguments}") }),
        _ => json!({ "name": name, "arguments": serde_json::from_str::<Json>(&arguments).unwrap() }),
    };
    let turns: Vec<Json> = calls().into_iter().map(turn).collect();
    scripted.write("script.json", json!([{ "turns": [{ "calls": turns }, { "text": "done" }] }]).to_string());
    let request = run(&scripted, "scripted:script.json");
    // The script numbers its calls; they are in their places.
    let numbered: Vec<(String, String)> = results(&request)
        .into_iter()
        .zip(calls())
        .enumerate()
        .map(|(index, ((id, content), (ours, ..)))| {
            assert_eq!(id, format!("call_0_{index}"));
            (ours.to_owned(), content)
        })
        .collect();
    check(&scripted, &numbered);

    // The replay finds a recorded reply by the hash of its request. It answers only if the request holds exactly
    // these findings.
    let replayed = home();
    let mut first = requests(&scripted).remove(0);
    let mut second = request;
    let recorded = reply();
    let named = |kind: &str, home: &TestHome, file: &str| format!("{kind}:{}", home.path(file).display());
    for message in &mut second.messages {
        match message {
            Message::Assistant { calls, .. } => {
                calls.iter_mut().zip(self::calls()).for_each(|(call, (id, ..))| call.id = id.to_owned());
            }
            Message::ToolResult { id, content, .. } => {
                let index: usize = id.rsplit('_').next().unwrap().parse().unwrap();
                *id = self::calls()[index].0.to_owned();
                // The scripted model has its own reason for malformed JSON, and a finding names the model.
                *content = content.replace("scripted as malformed", &recorded.malformed[0].reason).replace(
                    &named("scripted", &scripted, "script.json"),
                    &named("replay", &replayed, "recorded.jsonl"),
                );
            }
            Message::User { .. } => {}
        }
    }
    // The cost of a reply counts toward the token limit of the next request.
    second.max_tokens = first.max_tokens;
    let done = Reply { text: "done".to_owned(), ..Reply::default() };
    let lines = [(&mut first, &recorded), (&mut second, &done)]
        .map(|(request, reply)| json!({ "request_hash": request.hash(), "reply": reply }).to_string() + "\n");
    replayed.write("recorded.jsonl", lines.concat());
    let request = run(&replayed, "replay:recorded.jsonl");
    check(&replayed, &results(&request));
}

#[test]
fn card_and_model_show_the_same_findings() {
    let home = home();
    home.write("out/a.md", "old\n");
    let call = json!({ "name": "out_write", "arguments": { "path": "a.md", "content": "new\n" } });
    home.write("script.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    let args = ["run", "clerk.worker", "-e", "mail=mail", "-e", "out=out:rw", "-e", "outbox=outbox"];
    home.almoner(&[&args[..], &["-m", "scripted:script.json"]].concat()).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    // The card has quotation marks where the model is told backticks.
    let plain = |text: &str| text.replace(['`', '“', '”'], "");
    let flat = card.replace("\n      ┆ ", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let flat = plain(&flat);
    let found = found_in_verdicts(&home);
    assert!(!found.is_empty());
    for finding in found {
        for part in ["rule", "message", "at", "counter_example", "allowed"] {
            if let Some(words) = finding[part].as_str() {
                assert!(flat.contains(&plain(words)), "{words:?} is not in\n{card}");
            }
        }
    }
}

/// Returns the findings in the verdicts of the gates.
fn found_in_verdicts(home: &TestHome) -> Vec<Json> {
    let steps = home.trace("r1")["steps"].take();
    let judged =
        steps.as_array().unwrap().iter().map(|step| &step["entry"]).filter(|e| e["entry"] == "judged");
    judged.flat_map(|entry| entry["verdict"]["findings"].as_array().unwrap().clone()).collect()
}
