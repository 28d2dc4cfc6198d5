//! Tests of tool servers (MCP) at an address: the daemon posts a key to its own server and to no other.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::test_home::{Said, TestHome};

/// A request, as the server was sent it.
#[derive(Clone, Debug)]
struct Heard {
    head: String,
    body: Json,
}

/// A server of this machine that answers each message in the same way.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Server {
    fn new(answer: impl Fn(&Heard) -> String + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let Some(request) = read(&mut stream) else { continue };
                told.lock().unwrap().push(request.clone());
                // A client that goes away is no trouble of ours.
                let _ = stream.write_all(answer(&request).as_bytes());
            }
        });
        Server { port, heard }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Heard> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(Heard { body: serde_json::from_str(body).unwrap_or_default(), head });
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn json_reply(body: &Json) -> String {
    reply("200 OK", "content-type: application/json\r\nmcp-session-id: s-1\r\n", &body.to_string())
}

/// Returns the result that both forms of the protocol give to a request after the greeting.
fn result(request: &Json) -> Option<Json> {
    let tool = json!({ "name": "echo", "description": "Says a word again.", "inputSchema": {
        "type": "object", "properties": { "word": { "type": "string" } }, "required": ["word"] } });
    Some(match request["method"].as_str()? {
        // It may be kept for a day, the server says. It is not.
        "tools/list" => {
            json!({ "tools": [tool], "resultType": "complete", "ttlMs": 86_400_000, "cacheScope": "public" })
        }
        "tools/call" => {
            let word = request["params"]["arguments"]["word"].as_str().unwrap_or_default();
            json!({ "content": [{ "type": "text", "text": format!("you said {word}") }], "resultType": "complete" })
        }
        _ => return None,
    })
}

/// Answers as a server of the protocol before 2026: greeted with `initialize`, and with streams of events.
fn legacy(heard: &Heard) -> String {
    let (id, body) = (&heard.body["id"], &heard.body);
    let stream = |message: Json| {
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "x" } });
        let text = format!("event: message\ndata: {progress}\n\nid: 7\ndata: {message}\n\n");
        reply("200 OK", "content-type: text/event-stream\r\nmcp-session-id: s-1\r\n", &text)
    };
    match (body["method"].as_str(), id.is_null()) {
        (_, true) => reply("202 Accepted", "", ""),
        (Some("initialize"), _) => stream(json!({ "jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": body["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "legacy", "version": "1" } } })),
        (Some("server/discover"), _) => {
            reply("400 Bad Request", "content-type: text/plain\r\n", "no session")
        }
        _ => stream(json!({ "jsonrpc": "2.0", "id": id, "result": result(body) })),
    }
}

/// Answers as a server of the protocol of 2026-07-28: without a greeting, and each message names its version.
fn modern(heard: &Heard) -> String {
    let (id, body) = (&heard.body["id"], &heard.body);
    let result = match body["method"].as_str() {
        Some("server/discover") => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "resultType": "complete",
            "ttlMs": 0, "cacheScope": "private" }),
        _ => result(body).unwrap_or_default(),
    };
    json_reply(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn home(server: &Server, options: &[&str]) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { far: mcp }\n---\nUse the tools.\n");
    let call = json!({ "name": "far_echo", "arguments": { "word": "hello" } });
    home.write("script.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    home.almoner(&[&["mcp", "add", "web", &server.url()][..], options].concat()).expect(0);
    home
}

fn run(home: &TestHome, more: &[&str]) -> Said {
    home.almoner(&[&["run", "w.worker", "-m", "scripted:script.json"][..], more].concat())
}

fn completed(home: &TestHome) -> String {
    let trace = home.trace("r1");
    let steps = trace["steps"].as_array().unwrap().iter().map(|step| &step["entry"]);
    steps
        .filter(|entry| entry["entry"] == "completed")
        .map(|entry| format!("{entry}\n").replace('\\', ""))
        .collect()
}

#[test]
fn web_server_is_called_with_its_key_in_both_protocols() {
    for (form, is_modern) in [(legacy as fn(&Heard) -> String, false), (modern, true)] {
        let server = Server::new(form);
        let home = home(&server, &["--key", "KEY"]);
        let missing = home.almoner(&["mcp", "tools", "web"]).expect(1);
        let set = format!("`almoner secret set KEY --for http://127.0.0.1:{}`", server.port);
        assert!(
            missing.err.contains("the server web: there is no secret `KEY`") && missing.err.contains(&set),
            "{}",
            missing.err
        );
        assert!(server.heard().is_empty(), "{missing:?}");
        let origin = format!("http://127.0.0.1:{}", server.port);
        home.piped(&["secret", "set", "KEY", "--for", &origin, "--key", "file"], b"hunter2-periwinkle")
            .expect(0);
        run(&home, &["-e", "far=mcp:web[echo]"]).expect(7);
        let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
        assert!(card.contains("hello") && !card.contains("periwinkle"), "{card}");
        home.almoner(&["approve", "1"]).expect(0);
        home.almoner(&["resume"]).expect(0);
        assert!(completed(&home).contains("you said hello"), "{}", completed(&home));
        let heard = server.heard();
        let calls: Vec<_> = heard.iter().filter(|heard| heard.body["method"] == "tools/call").collect();
        assert_eq!(calls.len(), 1);
        assert!(heard.iter().all(|heard| heard.head.contains("authorization: bearer hunter2-periwinkle")));
        assert!(calls[0].head.contains("mcp-protocol-version: 202"), "{}", calls[0].head);
        assert_eq!(calls[0].head.contains("mcp-name: echo"), is_modern, "{}", calls[0].head);
        assert!(calls[0].head.contains("mcp-session-id: s-1"));
    }
}

#[test]
fn redirects_and_misleading_names_are_not_followed() {
    let other = Server::new(modern);
    let url = other.url();
    let server = Server::new(move |_| reply("307 Temporary Redirect", &format!("location: {url}\r\n"), ""));
    let home = home(&server, &[]);
    let said = home.almoner(&["mcp", "tools", "web"]).expect(1);
    assert!(said.err.contains("with the status 307 and leads to http://127.0.0.1:"), "{}", said.err);
    assert!(said.err.contains("almoner mcp remove web"), "{}", said.err);
    assert!(other.heard().is_empty() && !server.heard().is_empty());
    // A name that leads to this machine is not the server that was meant.
    home.almoner(&["mcp", "add", "named", "http://localhost.example:9/mcp", "--address", "127.0.0.1"])
        .expect(0);
    home.almoner(&["mcp", "tools", "named"]).expect(1);
    for bad in ["ftp://a.example", "https://user@a.example", "https://a.example/#x"] {
        home.almoner(&["mcp", "add", "bad", bad]).expect(2);
    }
}

#[test]
fn web_server_with_an_invalid_answer_is_refused() {
    for (answer, words) in [
        (
            reply("500 No", "", "the database is down"),
            "it answered with the status 500: the database is down",
        ),
        (
            reply("200 OK", "content-type: application/json\r\n", "{}"),
            "its answer to `initialize` cannot be used: it has no `result` and no `error`",
        ),
        (
            reply("200 OK", "content-type: text/event-stream\r\n", "data: nothing\n\n"),
            "its answer to `initialize` cannot be used: its stream of events ended without the answer",
        ),
        (
            reply("200 OK", "content-type: text/html\r\n", "<p>Hello</p>"),
            "its answer to `initialize` cannot be used: it is a web page (text/html), and no JSON",
        ),
        (
            reply("202 Accepted", "", ""),
            "its answer to `initialize` cannot be used: it has the status 202 and no message",
        ),
        (reply("404 Not Found", "", ""), "it answered with the status 404"),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{".to_owned(),
            "its answer to `initialize` cannot be used: it broke off before its end",
        ),
        (String::new(), "it closed the connection before it answered `initialize`"),
        (
            reply(
                "400 Bad Request",
                "content-type: application/json\r\n",
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2099-01-01"]}}}"#,
            ),
            "it speaks the version 2099-01-01 of the protocol, and Almoner speaks 2026-07-28, 2025-11-25",
        ),
    ] {
        let server = Server::new(move |_| answer.clone());
        let home = home(&server, &[]);
        let said = home.almoner(&["mcp", "tools", "web"]).expect(1);
        assert!(said.err.contains(&format!("the server web: {words}")), "{words}: {}", said.err);
    }
}

#[test]
fn refused_key_is_reported_at_once_with_the_servers_words() {
    for (status, body, words) in [
        (
            "401 Unauthorized",
            r#"{"error":"invalid_token","error_description":"The token expired"}"#,
            "status 401: The token expired",
        ),
        ("403 Forbidden", "<h1>Not for you</h1>", "status 403: Not for you"),
        ("401 Unauthorized", "", "it does not let Almoner in: status 401"),
    ] {
        let server = Server::new(move |_| reply(status, "www-authenticate: Bearer\r\n", body));
        let home = home(&server, &[]);
        let begun = std::time::Instant::now();
        // A person can log in where a server asks for it.
        let code = if status.starts_with("401") { 7 } else { 1 };
        let said = home.almoner(&["mcp", "tools", "web"]).expect(code);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(said.err.contains("almoner mcp change web --key web-key"), "{}", said.err);
        assert_eq!(server.heard().len(), 1, "{status}: it is not asked again");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// Returns the answer of an older server to a message.
fn greeted(heard: &Heard, headers: &str) -> String {
    let (id, body) = (&heard.body["id"], &heard.body);
    let answer = |result: Json| {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        reply("200 OK", &format!("content-type: application/json\r\n{headers}"), &message.to_string())
    };
    match (body["method"].as_str(), id.is_null()) {
        (_, true) => reply("202 Accepted", "", ""),
        (Some("server/discover"), _) => reply("400 Bad Request", "", "no session"),
        (Some("initialize"), _) => answer(json!({ "protocolVersion": "2025-06-18", "capabilities": {} })),
        _ => answer(result(body).unwrap_or_default()),
    }
}

/// modelcontextprotocol/rust-sdk#733, anthropics/claude-code#55970: 404 for a session that is over.
#[test]
fn expired_session_begins_anew_and_a_session_is_ended() {
    let calls = std::sync::atomic::AtomicU32::new(0);
    let server = Server::new(move |heard| {
        let is_call = heard.body["method"] == "tools/call";
        if is_call && calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            let error = json!({ "jsonrpc": "2.0", "id": "server-error", "error": { "code": -32600, "message": "Session not found" } });
            return reply("404 Not Found", "content-type: application/json\r\n", &error.to_string());
        }
        greeted(heard, "mcp-session-id: s-9\r\n")
    });
    let home = home(&server, &[]);
    let call = json!({ "name": "far_echo", "arguments": { "word": "hello" } });
    let turns = json!([{ "turns": [{ "calls": [call.clone()] }, { "calls": [call] }, { "text": "done" }] }]);
    home.write("script.json", turns.to_string());
    run(&home, &["-e", "far=mcp:web[echo:reads]"]).expect(0);
    let came = completed(&home);
    // The first call fails on a session that was just begun; the next one begins another.
    assert!(came.contains("you said hello"), "{came}");
    let begun = std::time::Instant::now();
    while !server.heard().iter().any(|heard| heard.head.starts_with("delete ")) {
        assert!(begun.elapsed() < Duration::from_secs(20), "the session is not ended: {:?}", server.heard());
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = server.heard().into_iter().find(|heard| heard.head.starts_with("delete ")).unwrap();
    assert!(ended.head.contains("mcp-session-id: s-9"), "{}", ended.head);
}

#[test]
fn broken_stream_is_taken_up_where_it_ended() {
    let server = Server::new(|heard| {
        let stream = |text: &str| reply("200 OK", "content-type: text/event-stream\r\n", text);
        if heard.head.starts_with("get ") {
            assert!(heard.head.contains("last-event-id: e-7"), "{}", heard.head);
            let result = json!({ "content": [{ "type": "text", "text": "taken up" }] });
            // The call is the fourth request: the question, the greeting, the list, the call.
            let message = json!({ "jsonrpc": "2.0", "id": 4, "result": result });
            return stream(&format!("id: e-8\ndata: {message}\n\n"));
        }
        match heard.body["method"] == "tools/call" {
            true => stream("retry: 50\nid: e-7\ndata:\n\n: and gone\n"),
            false => greeted(heard, ""),
        }
    });
    let home = home(&server, &[]);
    run(&home, &["-e", "far=mcp:web[echo:reads]"]).expect(0);
    assert!(completed(&home).contains("taken up"), "{}: {:?}", completed(&home), server.heard());
}

#[test]
fn answer_with_another_identifier_or_a_query_is_understood() {
    let server = Server::new(|heard| {
        let answer = greeted(heard, "");
        // A server that gives every answer the same identifier.
        match answer.split_once("\r\n\r\n") {
            Some((_, body)) if body.starts_with('{') => {
                let mut message: Json = serde_json::from_str(body).unwrap();
                message["id"] = json!(0);
                reply("200 OK", "content-type: application/json\r\n", &message.to_string())
            }
            _ => answer,
        }
    });
    let home = home(&server, &[]);
    let url = format!("{}?project_ref=abc", server.url());
    home.almoner(&["mcp", "add", "asked", &url, "--header", "x-region=eu", "--header", "X-Team=a"]).expect(0);
    home.almoner(&["mcp", "tools", "asked"]).expect(0);
    let heard = server.heard();
    assert!(heard[0].head.starts_with("post /mcp?project_ref=abc "), "{}", heard[0].head);
    assert!(
        heard[0].head.contains("x-region: eu") && heard[0].head.contains("x-team: a"),
        "{}",
        heard[0].head
    );
}

#[test]
fn missing_secret_of_a_header_is_named() {
    let server = Server::new(modern);
    let home = home(&server, &["--header", "X-Key=secret:OTHER"]);
    let set = format!("almoner secret set OTHER --for http://127.0.0.1:{}", server.port);
    let said = home.almoner(&["mcp", "tools", "web"]).expect(1);
    assert!(said.err.contains("there is no secret `OTHER`") && said.err.contains(&set), "{}", said.err);
    let said = run(&home, &["-e", "far=mcp:web[echo:reads]"]).expect(1);
    assert!(said.err.contains("there is no secret `OTHER`") && said.err.contains(&set), "{}", said.err);
    // The line works.
    let words: Vec<&str> = set.split(' ').skip(1).collect();
    home.piped(&[&words[..], &["--key", "file"]].concat(), b"hunter2-periwinkle").expect(0);
    home.almoner(&["mcp", "tools", "web"]).expect(0);
    assert!(server.heard().iter().all(|heard| heard.head.contains("x-key: hunter2-periwinkle")));
}

/// A server that hangs up in a call (QwenLM/qwen-code#7147, anthropics/claude-code#86875).
#[test]
fn connection_closed_in_a_call_is_said_as_it_is() {
    let server = Server::new(|heard| match heard.body["method"] == "tools/call" {
        true => String::new(),
        false => modern(heard),
    });
    let home = home(&server, &[]);
    run(&home, &["-e", "far=mcp:web[echo:reads]"]).expect(0);
    let came = completed(&home);
    let says = "the server web, tool `echo`: it closed the connection before it answered `tools/call`";
    assert!(
        came.contains(says) && came.contains("may have been done") && came.contains("mcp/gone"),
        "{came}"
    );
}

/// Servers that refuse the newest version, and name theirs (hkr04/cpp-mcp#10, corezoid/corezoid-ai-plugin#98).
#[test]
fn server_that_refuses_the_newest_version_is_greeted_with_its_own() {
    let server = Server::new(|heard| {
        let (id, params) = (&heard.body["id"], &heard.body["params"]);
        if heard.body["method"] != "initialize" || params["protocolVersion"] == "2024-11-05" {
            return greeted(heard, "");
        }
        let data = json!({ "supported": ["2024-11-05"], "requested": params["protocolVersion"] });
        let error = json!({ "code": -32602, "message": "Unsupported protocol version", "data": data });
        json_reply(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    });
    let home = home(&server, &[]);
    home.almoner(&["mcp", "tools", "web"]).expect(0);
}

/// Programs of others say that the token expired, or nothing (anthropics/claude-code#68720, #44652).
#[test]
fn lacking_scope_is_named_with_the_line_to_log_in() {
    let challenge = "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"files:write\"\r\n";
    let server = Server::new(move |_| reply("403 Forbidden", challenge, ""));
    let home = home(&server, &[]);
    let said = home.almoner(&["mcp", "tools", "web"]).expect(1);
    assert!(said.err.contains("status 403; its login lacks the scope `files:write`"), "{}", said.err);
    assert!(said.err.contains("almoner mcp login web --scope files:write"), "{}", said.err);
}

/// A process that ends with the test.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn real_web_server_can_be_called() {
    let program = crate::endo::tools().join("node_modules/.bin/mcp-server-everything");
    assert!(program.exists(), "{} is not there: `cargo xtask tools` installs it", program.display());
    // The port was free a moment ago. If another process takes it meanwhile, this test fails, and nothing worse
    // happens.
    let port = crate::ports::free_port();
    let mut command = std::process::Command::new(program);
    command.arg("streamableHttp").env("PORT", port.to_string());
    let quiet = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let _running = Running(quiet.spawn().unwrap());
    let begun = std::time::Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never listens");
        std::thread::sleep(Duration::from_millis(20));
    }
    let home = home(&Server { port, heard: Arc::default() }, &[]);
    let call = json!({ "name": "far_echo", "arguments": { "message": "hello" } });
    let data = json!({ "name": "far_get-structured-content", "arguments": { "location": "Chicago" } });
    let turns = json!([{ "turns": [{ "calls": [call] }, { "calls": [data] }, { "text": "done" }] }]);
    home.write("script.json", turns.to_string());
    run(&home, &["-e", "far=mcp:web[echo:reads,get-structured-content:reads]"]).expect(0);
    let came = completed(&home);
    assert!(came.contains("Echo: hello") && came.contains("temperature"), "{came}");
}
