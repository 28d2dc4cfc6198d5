//! Tests of the limits of models: long replies, cut calls, and conversations that outgrow the model's window.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::bad_input::server::{Answer, Server, calls, events, says, status};
use crate::test_home::{Said, TestHome};

/// The window of the strict server, in tokens.
const WINDOW: usize = 32_768;

/// The size of each file that a model reads, in bytes.
const FILE_BYTES: usize = 6000;

/// Returns the number of tokens that the strict server counts in a request.
fn tokens(body: &Value) -> usize {
    body.to_string().len() / 4
}

/// Returns the refusal of a request that is too long, in the words of vLLM.
fn too_long(body: &Value) -> Answer {
    let message = format!(
        "This model's maximum context length is {WINDOW} tokens. However, your messages resulted in {} tokens.",
        tokens(body)
    );
    let error = json!({"error": {"message": message, "type": "BadRequestError", "code": 400}});
    status("400 Bad Request", "content-type: application/json\r\n", &error.to_string())
}

/// Returns the text of the model's last message or result.
fn last_text(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap_or_default().to_owned()
}

fn cut(delta: &Value) -> Answer {
    let finish = json!({"choices": [{"delta": {}, "finish_reason": "length"}],
                        "usage": {"prompt_tokens": 20, "completion_tokens": 2048}});
    events(&[json!({"choices": [{ "delta": delta }]}), finish], true)
}

fn cut_call(arguments: &str) -> Answer {
    cut(
        &json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "out_write", "arguments": arguments}}]}),
    )
}

fn reader_home() -> TestHome {
    let home = TestHome::new();
    home.write(
        "reader.worker",
        "---\nslots: { docs: dir }\nlimits: { turns: 400, tokens: 100M, wall: 2h }\n---\nRead every file. The word is TASKWORD.\n",
    );
    for number in 0..200 {
        let line = format!("file {number} holds the word w{number}. ");
        home.write(&format!("docs/{number}.txt"), line.repeat(FILE_BYTES / line.len()));
    }
    home
}

/// A strict server, and a model that reads one file after the other. In the end the model reads the first file again, as
/// the reference in its conversation said. The server says nothing of its window beforehand.
#[derive(Default)]
struct Strict {
    answered: usize,
    /// The reference to the result of the first call, once the conversation has one.
    first: Option<String>,
}

impl Strict {
    fn answer(&mut self, body: &Value) -> Answer {
        if body.is_null() {
            return status("404 Not Found", "", "{}");
        }
        if tokens(body) > WINDOW {
            return too_long(body);
        }
        self.first = self.first.take().or_else(|| first_reference(body));
        self.answered += 1;
        match self.answered {
            turn @ 1..=200 => calls("docs_read", &json!({"path": format!("{}.txt", turn - 1)}).to_string()),
            201 => {
                let first = self.first.as_ref().expect("the first result came to be a reference");
                calls("read_result", &json!({"result": first, "bytes": 400}).to_string())
            }
            _ => {
                let page: Value = serde_json::from_str(&last_text(body)).unwrap();
                says(&page["text"].as_str().unwrap()[..40])
            }
        }
    }
}

/// Returns the reference to the first file's result in a request, such as `#3`.
fn first_reference(body: &Value) -> Option<String> {
    body["messages"].as_array()?.iter().find_map(|message| {
        let result: Value = serde_json::from_str(message["content"].as_str()?).ok()?;
        result["begins"].as_str()?.starts_with("file 0 ").then_some(())?;
        Some(result["next"].as_str()?.split('"').nth(1)?.to_owned())
    })
}

#[test]
fn run_of_200_turns_ends_well_in_a_small_window() {
    let home = reader_home();
    let mut strict = Strict::default();
    let server = Server::start(move |_, body| strict.answer(body));
    let said = home.almoner(&["run", "reader.worker", "-e", "docs=docs", "-m", &server.model()]).expect(0);
    assert!(said.out.contains("file 0 holds the word w0"), "{}", said.out);

    let requests: Vec<Value> = server.requests().into_iter().filter(|body| !body.is_null()).collect();
    // Each refusal is followed by one repetition, and most turns need none.
    let refused = requests.iter().filter(|body| tokens(body) > WINDOW).count();
    assert!(refused <= 2, "{refused} requests were too long");
    assert_eq!(requests.len(), 202 + refused);
    for body in &requests {
        let messages = body["messages"].as_array().unwrap();
        // The task and the newest result stay.
        assert!(messages[0]["content"].as_str().unwrap().contains("TASKWORD"));
        let calls =
            messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        let ids: Vec<&str> = calls.map(|call| call["id"].as_str().unwrap()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "each call has an id of its own");
    }
    for (at, body) in requests.iter().filter(|body| tokens(body) <= WINDOW).enumerate().take(200).skip(1) {
        assert!(last_text(body).contains(&format!("word w{}.", at - 1)), "{at}: {}", last_text(body));
    }
    // Old results came to be references first.
    assert!(requests.iter().any(|body| body.to_string().contains("left_out")));
    let trace = home.almoner(&["trace", "r1"]).expect(0).out;
    let shrunk: Vec<&str> = trace.lines().filter(|line| line.contains(" shrunk ")).collect();
    assert!(!shrunk.is_empty() && shrunk[0].contains("are shown as references"), "{trace}");
    assert!(shrunk.iter().all(|line| line.contains(&format!("at most {WINDOW} tokens"))), "{shrunk:?}");
    let used = home.trace("r1")["run"]["used"]["input_tokens"].as_u64().unwrap();
    assert!(used > 1_000_000, "the tokens of a server that counts none are estimated: {used}");
}

/// A daemon that the test kills.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn shorter_conversation_survives_a_killed_daemon() {
    let home = reader_home();
    let is_down = Arc::new(AtomicBool::new(false));
    let (down, mut strict) = (Arc::clone(&is_down), Strict::default());
    let server = Server::start(move |_, body| match down.load(Ordering::Relaxed) {
        true => status("500 Internal Server Error", "", "down"),
        false => {
            // The server goes down some turns after the first shrinking.
            down.store(strict.answered == 40, Ordering::Relaxed);
            strict.answer(body)
        }
    });
    let daemon = Daemon(home.doomed_daemon(""));
    while std::os::unix::net::UnixStream::connect(home.root().join("run/control.sock")).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = home.almoner(&["run", "reader.worker", "-e", "docs=docs", "-m", &server.model()]).expect(1);
    assert!(said.err.contains("r1 stalled"), "{}", said.err);
    let before = server.requests().pop().unwrap();
    assert!(before.to_string().contains("left_out"));
    drop(daemon);
    is_down.store(false, Ordering::Relaxed);
    let asked = server.requests().len();
    assert!(home.almoner(&["resume", "r1"]).expect(0).out.contains("file 0 holds the word w0"));
    // The first request after the crash is the one that had no answer.
    assert_eq!(server.requests()[asked]["messages"], before["messages"]);
}

#[test]
fn parallel_large_results_are_cut_to_the_window() {
    // appstrate/appstrate#464, UKGovernmentBEIS/inspect_ai#3600: the newest results alone are too long.
    let home = reader_home();
    let large = "a long line of text\n".repeat(3000);
    for number in 0..10 {
        home.write(&format!("docs/{number}.txt"), &large);
    }
    let read = |number: usize| {
        let arguments = json!({"path": format!("{number}.txt")}).to_string();
        json!({"index": number, "id": format!("c{number}"), "function": {"name": "docs_read", "arguments": arguments}})
    };
    let all: Vec<Value> = (0..10).map(read).collect();
    let finish = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    let first = events(&[json!({"choices": [{"delta": {"tool_calls": all}}]}), finish], true);
    let mut answered = 0;
    let server = Server::start(move |_, body| {
        if body.is_null() {
            return status("404 Not Found", "", "{}");
        }
        if tokens(body) > WINDOW {
            return too_long(body);
        }
        answered += 1;
        if answered == 1 { first.clone() } else { says("read") }
    });
    let said = home.almoner(&["run", "reader.worker", "-e", "docs=docs", "-m", &server.model()]).expect(0);
    assert_eq!(said.out, "read\n");
    let last = server.requests().pop().unwrap();
    let results: Vec<Value> =
        last["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").cloned().collect();
    assert_eq!(results.len(), 10);
    for result in results {
        let shown: Value = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
        assert_eq!((&shown["truncated"], &shown["total"]), (&json!(true), &json!(large.len())));
        assert!(shown["next"].as_str().unwrap().starts_with("read_result("));
    }
}

#[test]
fn request_that_cannot_shrink_says_so() {
    let home = TestHome::new();
    home.write("w.worker", "Answer.\n");
    home.write("large.txt", "many words ".repeat(20_000));
    let server = Server::start(
        |_, body| if body.is_null() { status("404 Not Found", "", "") } else { too_long(body) },
    );
    let said = home.almoner(&["run", "w.worker", "large.txt", "-m", &server.model()]).expect(1);
    assert!(
        said.err.contains("does not fit the model's context") && said.err.contains("32768"),
        "{}",
        said.err
    );
    assert!(said.err.contains("give it less at once"), "{}", said.err);
    assert_eq!(server.requests().iter().filter(|body| !body.is_null()).count(), 1);
}

#[test]
fn reply_limit_is_the_models_own_unless_the_worker_says_less() {
    let home = TestHome::new();
    home.write("plain.worker", "Answer.\n");
    home.write("short.worker", "---\nlimits: { answer: 500 }\n---\nAnswer.\n");
    home.write("poor.worker", "---\nlimits: { tokens: 3000 }\n---\nAnswer.\n");
    let server = Server::saying(vec![says("hello")]);
    for (worker, expected) in
        [("plain.worker", json!(null)), ("short.worker", json!(500)), ("poor.worker", json!(3000))]
    {
        home.almoner(&["run", worker, "-m", &server.model()]).expect(0);
        assert_eq!(server.requests().pop().unwrap()["max_tokens"], expected, "{worker}");
    }
    // The user knows the server better.
    home.write_config(&format!(
        "[models.limits]\n\"{}\" = {{ context = 8192, output = 300 }}\n",
        server.model()
    ));
    home.almoner(&["run", "short.worker", "-m", &server.model()]).expect(0);
    assert_eq!(server.requests().pop().unwrap()["max_tokens"], 300);
}

#[test]
fn cut_call_is_reported_and_may_be_longer() {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nWrite it.\n");
    std::fs::create_dir(home.path("out")).unwrap();
    let server = Server::saying(vec![
        cut_call("{\"path\": \"a.md\", \"content\": \"word word"),
        // lobehub/lobehub#13817: nothing of the arguments came.
        cut_call(""),
        calls("out_write", "{\"path\": \"a.md\", \"content\": \"all of it\"}"),
        says("done"),
    ]);
    let model = server.model();
    let run = ["run", "w.worker", "-e", "out=out:rw", "--allow", "out.write", "-m", &model];
    assert_eq!(home.almoner(&run).expect(0).out, "done\n");
    assert_eq!(home.read("out/a.md"), "all of it");
    let requests = server.requests();
    for (at, words) in [(1, "cut off after 38 bytes"), (2, "cut off after 0 bytes")] {
        let told = last_text(&requests[at]);
        for part in ["tool/cut", words, "2048 tokens", "in parts", "out_append"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!requests[at].to_string().contains("EOF"), "{told}");
    }
    // The server's own default cut the reply, so the next one may be longer.
    let limits: Vec<&Value> = requests.iter().map(|body| &body["max_tokens"]).collect();
    assert_eq!(limits, [&json!(null), &json!(4096), &json!(4096), &json!(null)]);
    // Arguments that cannot be read go back in an object, because servers refuse anything else (can1357/oh-my-pi#11104).
    let call = &requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"];
    let sent: Value = serde_json::from_str(call.as_str().unwrap()).unwrap();
    assert!(sent["unreadable"].as_str().unwrap().starts_with("{\"path\": \"a.md\""), "{sent}");
}

#[test]
fn cut_answers_end_with_the_last_finding_and_one_change() {
    let home = TestHome::new();
    home.write("w.worker", "---\nlimits: { answer: 2048 }\n---\nAnswer.\n");
    let (thought, words) = (json!({"content": ""}), json!({"content": "word ".repeat(2000)}));
    for (delta, says_what) in [(words, "the answer was cut off"), (thought, "used up before one began")] {
        let server = Server::saying(vec![cut(&delta)]);
        let said = home.almoner(&["run", "w.worker", "-m", &server.model()]).expect(6);
        assert_eq!(server.requests().len(), 4);
        for part in [says_what, "in 3 repairs", "2048 tokens", "raise `answer: 2048` under `limits:`"] {
            assert!(said.err.contains(part), "{part}: {}", said.err);
        }
        assert_eq!(said.out, "", "half an answer is no result");
    }
}

#[test]
fn reply_cut_by_the_budget_asks_for_more() {
    let home = TestHome::new();
    home.write("w.worker", "---\nlimits: { tokens: 2000 }\n---\nAnswer.\n");
    let server = Server::saying(vec![cut(&json!({"content": "word word"})), says("all of it")]);
    home.almoner(&["run", "w.worker", "-m", &server.model()]).expect(7);
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("2068 of 2000 tokens are used"), "{card}");
    home.almoner(&["approve", "1", "--tokens", "50k"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "all of it\n");
    let limits: Vec<Value> = server.requests().iter().map(|body| body["max_tokens"].clone()).collect();
    assert_eq!(limits, [json!(2000), json!(4096)]);
    assert!(last_text(&server.requests()[1]).contains("cut off"));
}

/// Runs a reader of `d/a.txt` on scripted turns.
fn look_up(turns: &Value) -> (TestHome, Said) {
    let home = TestHome::new();
    home.write("d/a.txt", "x\n");
    home.write("r.worker", "---\nslots: { docs: dir rw }\n---\nRead.\n");
    home.write("s.json", json!([{ "turns": turns }]).to_string());
    let said = home.almoner(&[
        "run",
        "r.worker",
        "-e",
        "docs=./d:rw",
        "--allow",
        "docs.edit",
        "-m",
        "scripted:s.json",
    ]);
    (home, said)
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

#[test]
fn lookups_that_find_nothing_are_no_repairs() {
    let missing = ["README.md", "readme.md", "README", "docs/README.md", "doc/index.md", "src"];
    let mut turns: Vec<Value> =
        missing.iter().map(|path| call("docs_read", &json!({ "path": path }))).collect();
    // NousResearch/hermes-agent#77761, cynative/cynative#296: all look-ups of a turn find nothing.
    let part = |n: usize| json!({"name": "docs_read", "arguments": {"path": format!("part{n}.md")}});
    turns.push(json!({"calls": (0..4).map(part).collect::<Vec<_>>()}));
    // Lexus2016/hermes-agent-evolution#1112: edits and other look-ups that find nothing, one after the other.
    turns.push(call("docs_glob", &json!({"pattern": "*.md"})));
    turns.push(call("docs_list", &json!({"path": "none"})));
    turns.push(call("docs_edit", &json!({"path": "a.txt", "old": "y", "new": "z"})));
    turns.push(call("docs_edit", &json!({"path": "b.txt", "old": "y", "new": "z"})));
    turns.push(call("docs_read", &json!({"path": "a.txt"})));
    turns.push(json!({"text": "found"}));
    let (home, said) = look_up(&json!(turns));
    assert_eq!(said.expect(0).out, "found\n");
    let stats = home.almoner(&["stats", "--json"]).expect(0).json();
    assert_eq!(stats["repairs"]["turns"], 0, "{stats}");
}

#[test]
fn refused_calls_still_end_the_run_after_three_repairs() {
    // SWE-agent/mini-swe-agent#863: format errors in a row are limited.
    let turns: Vec<Value> = (0..6)
        .map(|n| call("docs_read", &json!({"path": format!("../{n}.txt")})))
        .chain([json!({"text": "no"})])
        .collect();
    let (_, said) = look_up(&json!(turns));
    let said = said.expect(6);
    assert!(said.err.contains("in 3 repairs: the path holds `..`"), "{}", said.err);
    assert!(said.err.contains("say in the worker file what is allowed: a path relative"), "{}", said.err);
}

#[test]
fn same_useless_call_is_reported_as_repeated() {
    // HKUDS/nanobot#2298, charmbracelet/crush#2130, openclaw/openclaw#68923
    let home = TestHome::new();
    home.write("d/a.txt", "x\n");
    home.write("r.worker", "---\nslots: { docs: dir rw }\n---\nRead.\n");
    let read = || calls("docs_read", "{\"path\": \"b.txt\"}");
    let glob = || calls("docs_glob", "{\"pattern\": \"*.md\"}");
    let server = Server::saying(vec![
        read(),
        read(),
        read(),
        glob(),
        glob(),
        calls("docs_write", "{\"path\": \"b.txt\", \"content\": \"y\"}"),
        read(),
        says("done"),
    ]);
    let model = server.model();
    let run = ["run", "r.worker", "-e", "docs=d:rw", "--allow", "docs.write", "-m", &model];
    assert_eq!(home.almoner(&run).expect(0).out, "done\n");
    let requests = server.requests();
    let told: Vec<String> = requests.iter().skip(1).map(last_text).collect();
    let is_told: Vec<bool> = told.iter().map(|text| text.contains("call/repeated")).collect();
    assert_eq!(is_told, [false, true, true, false, true, false, false], "{told:?}");
    assert!(
        told[1].contains("made once before, the last time as #") && told[2].contains("made 2 times before"),
        "{told:?}"
    );
    assert!(told[1].contains("another call, or an answer without it"), "{told:?}");
    // A file that is not there is an answer, and no refusal.
    assert!(told[0].starts_with("{\"failed\":"), "{}", told[0]);
}

#[test]
fn call_written_as_text_is_no_success() {
    let home = TestHome::new();
    home.write("d/a.txt", "x\n");
    home.write("r.worker", "---\nslots: { docs: dir }\n---\nRead.\n");
    home.write("plain.worker", "Answer.\n");
    let text = "<tool_call>\n{\"name\": \"docs_read\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>";
    let server =
        Server::saying(vec![says(text), calls("docs_read", "{\"path\": \"a.txt\"}"), says("it says x")]);
    let said = home.almoner(&["run", "r.worker", "-e", "docs=d", "-m", &server.model()]).expect(0);
    assert_eq!(said.out, "it says x\n");
    let told = last_text(&server.requests()[1]);
    assert!(told.contains("output/call-as-text") && told.contains("`docs_read`"), "{told}");

    let server = Server::saying(vec![says(text)]);
    let said = home.almoner(&["run", "r.worker", "-e", "docs=d", "-m", &server.model()]).expect(6);
    assert!(said.out.is_empty() && said.err.contains("use a model that can make calls"), "{}", said.err);
    // A worker without such a tool may write about calls.
    let server = Server::saying(vec![says(text)]);
    assert!(
        home.almoner(&["run", "plain.worker", "-m", &server.model()]).expect(0).out.contains("docs_read")
    );
}

#[test]
fn endowed_program_may_be_called_by_its_full_path() {
    // NVIDIA/OpenShell#765, nextlevelbuilder/goclaw#1140: `/usr/bin/python3` is a link.
    let home = TestHome::new();
    let real = std::fs::canonicalize("/bin/ls").unwrap();
    let (link, other) = (home.path("lister"), home.path("other"));
    for path in [&link, &other] {
        std::os::unix::fs::symlink(&real, path).unwrap();
    }
    home.write("p.worker", "---\nslots: { tools: program }\n---\nRun.\n");
    let [path, other, real] = [&link, &other, &real].map(|path| path.to_str().unwrap());
    let argv = |program: &str| call("tools_run", &json!({"argv": [program, "--version"]}));
    let turns = json!([argv(path), argv("lister"), argv(real), argv(other), {"text": "done"}]);
    home.write("s.json", json!([{ "turns": turns }]).to_string());
    let endow = format!("tools=program:{path}");
    let run = ["run", "p.worker", "-e", &endow, "--allow", "tools.run", "-m", "scripted:s.json"];
    home.almoner(&run).expect(0);
    let steps = home.trace("r1")["steps"].clone();
    let outcomes =
        steps.as_array().unwrap().iter().filter_map(|step| step["entry"]["completion"].as_object());
    let outcomes: Vec<String> = outcomes.map(|outcome| serde_json::to_string(outcome).unwrap()).collect();
    let is_run: Vec<bool> =
        outcomes.iter().map(|outcome| !outcome.contains("programs/not-endowed")).collect();
    // A link of another name is another program, for programs that do what their name says.
    assert_eq!(is_run, [true, true, true, false], "{outcomes:?}");
}

/// Users of other programs found such words confusing: noobaa/noobaa-core#7790, charmbracelet/fantasy#304,
/// AtomicBot-ai/atomic-agent#182.
#[test]
fn mismatch_is_reported_in_plain_words() {
    let home = TestHome::new();
    home.write("p.worker", "---\nslots: { tools: program }\n---\nRun.\n");
    home.write("form.worker", "---\noutput: { names: [string] }\n---\nNames.\n");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let server = Server::start(move |number, body| {
        kept.lock().unwrap().push(body.to_string());
        if number == 0 { calls("tools_run", "{\"argv\": \"ls -l\"}") } else { says("done") }
    });
    let model = server.model();
    home.almoner(&["run", "p.worker", "-e", "tools=program:ls", "-m", &model]).expect(0);
    let server = Server::saying(vec![says("{\"names\": null}")]);
    let said = home.almoner(&["run", "form.worker", "-m", &server.model()]).expect(6);
    assert!(said.err.contains("`names`: expected a list of texts, found null"), "{}", said.err);
    let told = seen.lock().unwrap()[1].clone();
    assert!(told.contains("`argv`: expected a list of texts"), "{told}");
    for text in [told, said.err] {
        assert!(!text.contains("copyArray") && !text.contains("Must be"), "{text}");
    }
}
