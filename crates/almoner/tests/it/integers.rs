//! Tests of whole numbers beyond 2^53, on their way from the user through models and tools to the result.
//!
//! Such numbers are the identifiers of chat services and databases. Other programs changed them without a word:
//! anthropics/claude-code#78762, NousResearch/hermes-agent#55314, earendil-works/pi#8943,
//! StarRocks/mcp-server-starrocks#36.

use serde_json::json;

use crate::bad_input::server::{Server, calls, says};
use crate::test_home::TestHome;

/// The identifier of a message, a sum beyond 64 bits, and a negative one.
const NUMBERS: [&str; 4] = [
    "9007199254740993",
    "1234567890123456789",
    "115792089237316195423570985008687907853269984665640564039457584007913129639935",
    "-9223372036854775809",
];

/// A server with a tool that says the text of the message in which it was called, and gives a long number back.
const SERVER: &str = r#"
import readline from "node:readline";
const schema = `{"type":"object","properties":{"id":{"type":"integer"},"sum":{"type":"number"}}}`;
const tool = `{"name":"echo","description":"Says a number again.","inputSchema":${schema}}`;
const say = (id, result) => process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    const version = JSON.stringify(params.protocolVersion);
    say(id, `{"protocolVersion":${version},"capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}`);
  }
  if (method === "tools/list") say(id, `{"tools":[${tool}]}`);
  if (method === "tools/call") {
    const text = JSON.stringify(line);
    say(id, `{"content":[{"type":"text","text":${text}}],"structuredContent":{"next":18446744073709551617,"part":0.12345678901234567891}}`);
  }
});
"#;

#[test]
fn long_inputs_reach_prompt_and_model_with_each_digit() {
    let home = TestHome::new();
    home.write("w.worker", "---\ninput: { a: int, b: any }\n---\nLook at {{ input.a }}.\n");
    let server = Server::start(|_, _| says("seen"));
    for number in NUMBERS {
        let (a, b) = (format!("a:={number}"), format!("b:=[{number}, {{\"c\": {number}}}]"));
        home.almoner(&["run", "w.worker", &a, &b, "-m", &server.model()]).expect(0);
        let request = server.requests().pop().unwrap().to_string().replace('\\', "");
        assert!(request.contains(&format!("Look at {number}.")), "{request}");
        assert!(request.contains(&format!(r#""b":[{number},{{"c":{number}}}]"#)), "{request}");
    }
}

#[test]
fn long_numbers_of_results_keep_each_digit() {
    let home = TestHome::new();
    home.write("w.worker", "---\noutput: { id: int, all: [int] }\n---\nAnswer.\n");
    for number in NUMBERS {
        let server = Server::start(move |_, _| says(&format!(r#"{{"id": {number}, "all": [1, {number}]}}"#)));
        let said = home.almoner(&["run", "w.worker", "-m", &server.model()]).expect(0).out;
        assert_eq!(said.matches(number).count(), 2, "{said}");
        let said = home.almoner(&["run", "w.worker", "-m", &server.model(), "--json"]).expect(0).out;
        assert!(said.contains(&format!(r#""id":{number}"#)), "{said}");
    }
}

#[test]
fn long_numbers_reach_tools_and_return_with_each_digit() {
    let home = TestHome::new();
    home.write("ids.mjs", SERVER);
    home.write("w.worker", "---\nslots: { far: mcp }\n---\nUse the tool.\n");
    let script = home.path("ids.mjs").display().to_string();
    let place = home.path(".").display().to_string();
    home.almoner(&["mcp", "add", "ids", "--dir", &place, "--", "node", &script]).expect(0);
    // One run calls the tool with each number in turn: starting the server takes seconds.
    let server = Server::start(move |turn, _| match NUMBERS.get(turn) {
        Some(number) => calls("far_echo", &format!(r#"{{"id": {number}, "sum": {number}}}"#)),
        None => says("done"),
    });
    home.almoner(&["run", "w.worker", "-e", "far=mcp:ids[echo:reads]", "-m", &server.model()]).expect(0);
    let requests = server.requests();
    assert_eq!(requests.len(), NUMBERS.len() + 1);
    for (number, after) in NUMBERS.iter().zip(&requests[1..]) {
        let messages = after["messages"].as_array().unwrap();
        let seen = messages[messages.len() - 2..].iter().map(ToString::to_string).collect::<String>();
        let seen = seen.replace('\\', "");
        assert!(seen.contains(&format!(r#""id":{number}"#)), "the tool got the number: {seen}");
        assert!(seen.contains(&format!(r#""sum":{number}"#)), "the tool got the number: {seen}");
        assert!(seen.contains(r#""next":18446744073709551617"#), "the model got the answer: {seen}");
        assert!(seen.contains(r#""part":"0.12345678901234567891""#), "the model got the answer: {seen}");
    }
}

#[test]
fn input_that_would_lose_digits_or_names_is_refused() {
    let home = TestHome::new();
    home.write("w.worker", "Answer.\n");
    home.write("n.worker", "---\ninput: { x: number }\n---\nAnswer.\n");
    home.write("script.json", json!([{ "turns": [{ "text": "done" }] }]).to_string());
    for (worker, input, words) in [
        ("w.worker", "x:=12345678901234567.89", "12345678901234567.89 has more digits than can be kept"),
        ("w.worker", "x:=[1e400]", "1e400 has more digits"),
        ("w.worker", r#"x:={"a":1,"a":2}"#, r#"the name "a" occurs twice"#),
        ("w.worker", "x:={", "ends before it is complete"),
        ("n.worker", "x:=9007199254740993", "`int` takes whole numbers of any size"),
    ] {
        let said = home.almoner(&["run", worker, input, "-m", "scripted:script.json"]);
        assert!(said.code != 0 && said.err.contains(words), "{input}: {}", said.err);
        assert!(said.err.contains("help:"), "{input}: {}", said.err);
    }
}
