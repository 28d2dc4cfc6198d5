//! A model's server that misbehaves as it is told: HTTP/1.1 on a port of its own, one answer for each request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The server's answer to one request, byte for byte.
pub(crate) type Answer = Vec<u8>;

/// A server. It lives until the test's process ends.
pub(crate) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
    keys: Arc<Mutex<Vec<Option<String>>>>,
}

impl Server {
    /// Starts a server that answers requests one after the other. `answer` gives the answer to each, by its number
    /// from 0 and its body.
    pub(crate) fn start(mut answer: impl FnMut(usize, &Value) -> Answer + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let keys = Arc::new(Mutex::new(Vec::new()));
        let brought = Arc::clone(&keys);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some((body, key)) = read(&stream) else { continue };
                brought.lock().unwrap().push(key);
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(body.clone());
                    seen.len() - 1
                };
                // A client that has gone away is its own trouble.
                let _ = stream.write_all(&answer(number, &body));
            }
        });
        Server { port, requests, keys }
    }

    /// Gives these answers in turn, the last one for ever.
    pub(crate) fn saying(answers: Vec<Answer>) -> Server {
        Server::start(move |number, _| answers[number.min(answers.len() - 1)].clone())
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Returns the value of `-m` for the server's model.
    pub(crate) fn model(&self) -> String {
        format!("compat:{}#small", self.url())
    }

    /// Returns the keys that came with the requests so far.
    pub(crate) fn keys(&self) -> Vec<Option<String>> {
        self.keys.lock().unwrap().clone()
    }

    /// Returns the bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

/// Returns the body of one request, and the key that came with it.
fn read(stream: &TcpStream) -> Option<(Value, Option<String>)> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut key) = (0, None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(n) = line.strip_prefix("content-length:") {
            length = n.trim().parse().unwrap();
        }
        if let Some(given) = line.strip_prefix("authorization: bearer ") {
            key = Some(given.to_owned());
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).ok()? };
    Some((body, key))
}

/// Returns an answer with a status, further header lines, and a body.
pub(crate) fn status(status: &str, headers: &str, body: &str) -> Answer {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Returns a stream of events that ends where the connection does.
pub(crate) fn events(chunks: &[Value], done: bool) -> Answer {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    if done {
        body += "data: [DONE]\n\n";
    }
    raw_events(&body)
}

/// Returns the same from its text.
pub(crate) fn raw_events(body: &str) -> Answer {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// Returns the whole answer `text`.
pub(crate) fn says(text: &str) -> Answer {
    let finish = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    events(&[json!({"choices": [{"delta": {"content": text}}]}), finish], true)
}

/// Returns a call of one tool, its arguments as the model wrote them.
pub(crate) fn calls(tool: &str, arguments: &str) -> Answer {
    let call = json!({"index": 0, "id": "c1", "function": {"name": tool, "arguments": arguments}});
    let finish = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    events(&[json!({"choices": [{"delta": {"tool_calls": [call]}}]}), finish], true)
}

/// Returns a whole answer that calls one tool, with its cost in tokens as the server reports it.
pub(crate) fn costs(tool: &str, arguments: &str, tokens: u64) -> Answer {
    let call = json!({"id": "c1", "type": "function", "function": {"name": tool, "arguments": arguments}});
    let body = json!({
        "choices": [{"message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": tokens - 10, "completion_tokens": 10},
    });
    status("200 OK", "content-type: application/json\r\n", &body.to_string())
}
