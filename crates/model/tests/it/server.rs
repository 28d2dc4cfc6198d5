//! A server that says exactly the bytes that a test wants, and breaks off exactly where it wants.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How one connection is answered.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    /// Bytes per write.
    pub(crate) step: usize,
    pub(crate) end: End,
}

/// The event after the bytes.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// The connection is closed in order.
    Close,
    /// Nothing more comes, for a minute.
    Silence,
}

/// Answers connection after connection; the last answer again and again.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn new(answers: Vec<Answer>) -> Self {
        Self::with(move |number, _| answers.get(number).or(answers.last()).unwrap().clone())
    }

    /// Answers by a function of the number of the connection and the request's text.
    pub(crate) fn with(answer: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let request = read_request(&mut stream);
                    seen.lock().unwrap().push(request.clone());
                    let answer = answer(number, &request);
                    for piece in answer.bytes.chunks(answer.step) {
                        if stream.write_all(piece).is_err() {
                            return;
                        }
                    }
                    match answer.end {
                        End::Close => drop(stream.shutdown(Shutdown::Both)),
                        End::Silence => std::thread::sleep(Duration::from_secs(60)),
                    }
                });
            }
        });
        Self { url, requests }
    }

    /// Returns the requests so far, headers and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.trim().parse::<usize>().unwrap());
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(n @ 1..) => bytes.extend_from_slice(&buffer[..n]),
            _ => return text,
        }
    }
}

/// Returns an answer with these headers and this body, whose length is not said.
pub(crate) fn http(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
    let mut bytes = format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body.as_ref());
    Answer { bytes, step: usize::MAX, end: End::Close }
}

pub(crate) fn json(status: &str, body: &str) -> Answer {
    http(status, &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()), body)
}

pub(crate) fn events(body: impl AsRef<[u8]>) -> Answer {
    http("200 OK", "content-type: text/event-stream\r\n", body)
}
