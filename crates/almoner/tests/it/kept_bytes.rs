//! Servers that count too little or answer too much: the limits of a run hold, and the store grows with the
//! conversation.

use std::path::Path;

use serde_json::{Value, json};

use crate::bad_input::server::{Answer, Server, status};
use crate::test_home::TestHome;

/// Returns a home with a worker of these limits, which reads files.
fn home(limits: &str) -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("docs")).unwrap();
    let words = "Look at every file. ".repeat(100);
    home.write("reader.worker", format!("---\nslots: {{ docs: dir }}\nlimits: {limits}\n---\n{words}\n"));
    home
}

fn run(model: &str) -> [&str; 6] {
    ["run", "reader.worker", "-e", "docs=docs", "-m", model]
}

/// Returns a whole answer with a text, a call that finds nothing, and the server's counts.
fn answer(number: usize, text: &str, usage: &Value) -> Answer {
    let arguments = json!({ "path": format!("none-{number}.txt") }).to_string();
    let call = json!({"id": format!("c{number}"), "type": "function",
        "function": {"name": "docs_read", "arguments": arguments}});
    let body = json!({
        "choices": [{"message": {"role": "assistant", "content": text, "tool_calls": [call]},
            "finish_reason": "tool_calls"}],
        "usage": usage,
    });
    status("200 OK", "content-type: application/json\r\n", &body.to_string())
}

/// Returns a text that no other answer has.
fn text(number: usize, bytes: usize) -> String {
    format!("Answer {number}. ").chars().cycle().take(bytes).collect()
}

/// Returns the number of bytes in the files of a directory.
fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Reported of other programs: openai/codex#37138 (a budget that a missing count lifts), ding113/claude-code-hub#700 (a
/// compatible server costs nothing) and ollama/ollama#2068 (no count for a prompt that the server had in its cache).
#[test]
fn server_that_counts_too_little_does_not_lift_a_limit() {
    for usage in [
        json!(null),
        json!({"prompt_tokens": 0, "completion_tokens": 0}),
        json!({"prompt_tokens": 1, "completion_tokens": 1}),
        json!({"prompt_tokens": -5, "completion_tokens": -5}),
        json!({"prompt_tokens": 1, "completion_tokens": 0}),
        json!({"prompt_tokens": 1e300, "completion_tokens": 1}),
        json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX}),
    ] {
        let home = home("{ tokens: 2000, turns: 100 }");
        let counts = usage.clone();
        let server = Server::start(move |number, _| answer(number, "I look.", &counts));
        home.almoner(&run(&server.model())).expect(7);
        let asked = server.requests().len();
        assert!((2..=9).contains(&asked), "{usage}: {asked} requests");
        let card = home.almoner(&["inbox", "1"]).expect(0).out;
        assert!(card.contains("of 2000 tokens are used") && card.contains("estimated)"), "{usage}: {card}");
        let trace = home.almoner(&["trace", "r1"]).expect(0).out;
        assert!(trace.lines().filter(|line| line.contains("estimated)")).count() > asked, "{usage}: {trace}");
        assert!(home.almoner(&["stats"]).expect(0).out.contains("estimated)"));
        // The next preview says it.
        let model = server.model();
        let plan = [&run(&model)[..], &["--dry-run"]].concat();
        let shown = home.almoner(&plan).expect(0);
        let said = format!("{}{}", shown.out, shown.err);
        assert!(said.contains("counted too few tokens in r1"), "{said}");
    }
}

#[test]
fn server_that_counts_one_does_not_lift_a_limit_in_money() {
    let home = home("{ usd: 0.01, turns: 100 }");
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1});
    let server = Server::start(move |number, _| answer(number, &text(number, 2000), &usage));
    home.write_config(&format!("[models.prices]\n\"{}\" = {{ input = 3, output = 3 }}\n", server.model()));
    home.almoner(&run(&server.model())).expect(7);
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("of $0.0100 are spent"), "{card}");
    assert!(server.requests().len() < 12, "{}", server.requests().len());
}

#[test]
fn honest_count_is_shown_as_it_is() {
    let home = home("{ tokens: 100k, turns: 3 }");
    let usage = json!({"prompt_tokens": 900, "completion_tokens": 20});
    let server = Server::start(move |number, _| answer(number, "I look.", &usage));
    home.almoner(&run(&server.model())).expect(7);
    let used = home.trace("r1")["run"]["used"].clone();
    assert_eq!((&used["input_tokens"], &used["output_tokens"]), (&json!(2700), &json!(60)));
    assert!(!home.almoner(&["trace", "r1"]).expect(0).out.contains("estimated"));
}

/// Reported of other programs: RooCodeInc/Roo-Code#2308 (checkpoints take hundreds of gigabytes), bytedance/deer-flow#3011
/// (a dozen conversations take 135 GB).
#[test]
fn run_that_keeps_too_much_asks_and_resumes() {
    let home = home("{ kept: 4MiB, tokens: 100M, turns: 100 }");
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 500_000});
    let server = Server::start(move |number, _| match number {
        0..8 => answer(number, &text(number, 600_000), &usage),
        _ => crate::bad_input::server::says("done"),
    });
    home.almoner(&run(&server.model())).expect(7);
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("of 4 MiB are kept for it") && card.contains("A yes adds 4 MiB kept"), "{card}");
    let asked = server.requests().len();
    assert!((2..6).contains(&asked), "{asked}");
    for wrong in ["0", "many", "-1"] {
        let code = home.almoner(&["approve", "1", &format!("--kept={wrong}")]).code;
        assert!(matches!(code, 2 | 8), "{wrong}: {code}");
    }
    home.almoner(&["approve", "1", "--kept", "1GiB"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
    assert_eq!(server.requests().len(), 9);
    let kept = home.trace("r1")["run"]["used"]["kept_bytes"].as_u64().unwrap();
    assert!(kept > 8 * 600_000, "{kept}");
}

#[test]
fn answer_that_is_too_long_ends_with_a_plain_reason() {
    for content_type in ["application/json", "text/event-stream"] {
        let home = home("{ tokens: 100M }");
        let server = Server::start(move |_, _| {
            let words = json!("word ".repeat(2 << 20));
            let body = match content_type {
                "application/json" => {
                    format!(r#"{{"choices":[{{"message":{{"content":{words}}},"finish_reason":"stop"}}]}}"#)
                }
                _ => {
                    let piece = json!({"choices": [{"delta": {"content": "word ".repeat(2000)}}]});
                    format!("data: {piece}\n\n").repeat(1000)
                }
            };
            status("200 OK", &format!("content-type: {content_type}\r\n"), &body)
        });
        let said = home.almoner(&run(&server.model())).expect(1);
        assert!(said.err.contains("the answer is longer than 4 MiB"), "{}", said.err);
        assert!(size(&home.root()) < 3 << 20, "nothing of it is kept: {}", size(&home.root()));
        assert_eq!(server.requests().len(), 1);
    }
}

/// Reported of other programs: langchain-ai/langgraph#7547 and s2b-dev/smart-second-brain#431 (each step keeps the whole
/// conversation again).
#[test]
fn store_grows_linearly_with_the_turns() {
    let home = home("{ tokens: 1000M, turns: 300 }");
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 1000});
    let server = Server::start(move |number, _| match number {
        0..200 => answer(number, &text(number, 3000), &usage),
        _ => crate::bad_input::server::says("done"),
    });
    home.almoner(&run(&server.model())).expect(0);
    let trace = home.trace("r1");
    let kept: Vec<u64> = trace["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["entry"]["usage"]["kept_bytes"].as_u64())
        .collect();
    assert_eq!(kept.len(), 201);
    let sum = |turns: usize| kept.iter().take(turns).sum::<u64>() as f64;
    let ratio = sum(200) / sum(100);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
    // The bodies of all requests together have some 70 MB.
    let sent: usize = server.requests().iter().map(|body| body.to_string().len()).sum();
    assert!(sent > 60_000_000, "{sent}");
    // The log of the database is written back when the daemon stops.
    home.almoner(&["stop"]).expect(0);
    assert!(size(&home.root()) < 8 << 20, "{}", size(&home.root()));
    // Each request can still be shown, also when others have been collected.
    home.almoner(&["gc"]).expect(0);
    for number in [1, 2, 100, 201] {
        let shown = home.almoner(&["trace", "r1", "--request", &number.to_string()]).expect(0).out;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown, server.requests()[number - 1], "{number}");
    }
}

/// A run that removes files has them kept for `undo`. So a loop of short calls could fill the disk.
#[test]
fn files_kept_for_undo_count_towards_the_limit() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    for number in 0..6u8 {
        std::fs::write(home.path(&format!("out/{number}.bin")), vec![b'a' + number; 700 << 10]).unwrap();
    }
    let limits = "{ kept: 2MiB, turns: 100 }";
    home.write("w.worker", format!("---\nslots: {{ out: dir rw }}\nlimits: {limits}\n---\nRemove them.\n"));
    let remove = |number: u8| json!({"name": "out_remove", "arguments": {"path": format!("{number}.bin")}});
    let all: Vec<Value> = (0..6).map(remove).collect();
    home.write("script.json", json!([{"turns": [{"calls": all}, {"text": "done"}]}]).to_string());
    let run = ["run", "w.worker", "-e", "out=out:rw", "--allow", "out.remove", "-m", "scripted:script.json"];
    home.almoner(&run).expect(7);
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("of 2 MiB are kept for it"), "{card}");
    // The call that reaches the limit is the last that happens.
    let left = (0..6).filter(|number| home.path(&format!("out/{number}.bin")).exists()).count();
    assert_eq!(left, 3, "{card}");
    let trace = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(trace.contains("cannot keep what the call would replace"), "{trace}");
    home.almoner(&["cancel", "r1"]).expect(0);
    home.almoner(&["undo", "r1"]).expect(0);
    assert!((0..6).all(|number| home.path(&format!("out/{number}.bin")).exists()));
}
