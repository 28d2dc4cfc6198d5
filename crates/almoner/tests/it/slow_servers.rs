//! Tests of servers that are slow, or that only seem to answer. They hold up nobody else, and come to an end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::bad_input::wait_until;
use crate::test_home::TestHome;

/// A server that answers each request in a thread of its own, as slowly as it likes.
struct SlowServer {
    url: String,
    /// The number of requests so far.
    requests: Arc<AtomicUsize>,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

impl SlowServer {
    /// Starts a server. `answer` writes the answer; an error means that the client has gone.
    fn start(answer: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> SlowServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let (count, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, count, answer) = (stream.unwrap(), Arc::clone(&count), Arc::clone(&answer));
                std::thread::spawn(move || {
                    read_request(&stream);
                    count.fetch_add(1, Ordering::SeqCst);
                    let _ = answer(&mut stream);
                });
            }
        });
        SlowServer { url, requests }
    }

    fn model(&self) -> String {
        format!("compat:{}#m", self.url)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn read_request(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let _ = reader.read_exact(&mut vec![0; length]);
}

fn delta(text: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

/// Writes parts of a stream with a pause before each, for ever.
fn drip(stream: &mut TcpStream, pause_ms: u64, part: impl Fn(usize) -> String) -> std::io::Result<()> {
    for number in 0.. {
        std::thread::sleep(Duration::from_millis(pause_ms));
        stream.write_all(part(number).as_bytes())?;
    }
    Ok(())
}

/// A server that writes a delta now and then, for ever.
fn endless() -> SlowServer {
    SlowServer::start(|stream| {
        stream.write_all(HEAD.as_bytes())?;
        drip(stream, 300, |number| delta(&format!("word {number} ")))
    })
}

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("hello.worker", "Say hello.\n");
    home.write("hello.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    home
}

/// Checks that a run with another model is done at once.
#[track_caller]
fn another_run_is_done(home: &TestHome) {
    let begun = Instant::now();
    let said = home.almoner(&["run", "hello.worker", "-m", "scripted:hello.json"]).expect(0);
    assert_eq!(said.out, "hello\n");
    assert!(begun.elapsed() < Duration::from_secs(10), "it took {:?}", begun.elapsed());
}

/// Reported of other programs: openai/codex#5870 (one slow task holds up the work behind it), crewAIInc/crewAI#207 (a
/// sixth agent waits for hours), NorthlandPositronics/Cogtrix#1734 (waiting calls hold every thread of the pool).
#[test]
fn slow_answers_hold_up_no_other_run() {
    let (home, server) = (home(), endless());
    home.write("write.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    let call = r#"{"calls": [{"name": "out_write", "arguments": {"path": "a.txt", "content": "a"}}]}"#;
    home.write("write.json", format!(r#"[{{"turns": [{call}, {{"text": "written"}}]}}]"#));
    std::fs::create_dir(home.path("out")).unwrap();
    let write = ["run", "write.worker", "-e", "out=out:rw", "--detach", "-m", "scripted:write.json"];
    home.almoner(&write).expect(0);
    wait_until("the call asks", || {
        home.almoner(&["inbox", "--json"]).expect(0).json() != serde_json::json!([])
    });
    // More runs than may wait for one server, and far more than may be at work.
    for _ in 0..40 {
        home.almoner(&["run", "hello.worker", "--detach", "-m", &server.model()]).expect(0);
    }
    wait_until("the server has its requests", || server.requests() >= 32);
    another_run_is_done(&home);
    home.almoner(&["approve", "1"]).expect(0);
    wait_until("the approved call is made", || home.path("out/a.txt").exists());
    // Another server has its places too.
    let other = endless();
    home.almoner(&["run", "hello.worker", "--detach", "-m", &other.model()]).expect(0);
    wait_until("the other server is asked", || other.requests() == 1);
    assert_eq!(server.requests(), 32, "the others stand in the queue");
    // After a restart, the same runs are driven first.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["status"]).expect(0);
    another_run_is_done(&home);
    // A run that ends makes room for the next one of the queue.
    wait_until("the server has its requests again", || server.requests() >= 64);
    for number in 2..42 {
        home.almoner(&["cancel", &format!("r{number}")]).expect(0);
    }
    // The calls of cancelled runs end, and so do those of the queue.
    let at_work =
        || home.almoner(&["status", "--json"]).expect(0).json()["at_work"].as_array().unwrap().len();
    wait_until("only the run at the other server goes on", || at_work() == 1);
}

type Answer = fn(&mut TcpStream) -> std::io::Result<()>;

/// Reported of other programs: earendil-works/pi#5558 (comments keep a stalled stream open for ever),
/// mateaix/mateclaw#597 (an answer that stops in its middle), openonion/connectonion#1116 (no time limit at all),
/// BerriAI/litellm#34821 (comments before a slow first token).
#[test]
fn stalling_server_stalls_the_run_with_a_finding() {
    let cases: [(&str, Answer, &str); 7] = [
        (
            "silence after the head",
            |stream| {
                stream.write_all(HEAD.as_bytes())?;
                drip(stream, 60_000, |_| String::new())
            },
            "nothing of an answer",
        ),
        ("no head", |stream| drip(stream, 60_000, |_| String::new()), "nothing of an answer"),
        (
            "a head without an end",
            |stream| {
                stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
                drip(stream, 100, |number| format!("x-{number}: y\r\n"))
            },
            "nothing of an answer",
        ),
        (
            "comments",
            |stream| {
                stream.write_all(HEAD.as_bytes())?;
                drip(stream, 50, |_| ": keep-alive\n\n".to_owned())
            },
            "nothing of an answer",
        ),
        (
            "the same delta again and again",
            |stream| {
                stream.write_all(HEAD.as_bytes())?;
                drip(stream, 50, |_| delta("."))
            },
            "bytes of an answer",
        ),
        (
            "one byte now and then",
            |stream| {
                stream.write_all(HEAD.as_bytes())?;
                let event = delta(&"x".repeat(1000));
                drip(stream, 500, |number| event[number % event.len()..][..1].to_owned())
            },
            "bytes of an answer",
        ),
        (
            "a whole answer, one byte now and then",
            |stream| {
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{";
                stream.write_all(head.as_bytes())?;
                drip(stream, 500, |_| "\"".to_owned())
            },
            "of an answer",
        ),
    ];
    let home = home();
    home.write_config("[models]\nsilence = \"2s\"\npace = 6000\n");
    for (name, answer, words) in cases {
        let server = SlowServer::start(answer);
        let begun = Instant::now();
        let said = home.almoner(&["run", "hello.worker", "-m", &server.model()]);
        assert!(begun.elapsed() < Duration::from_secs(25), "{name}: {:?}", begun.elapsed());
        assert_eq!(said.out, "", "{name}: {}", said.err);
        assert_ne!(said.code, 0, "{name}");
        let origin = server.url.trim_end_matches("/v1");
        let finding = format!("the server at {origin} is too slow: it sent ");
        assert!(said.err.contains(&finding) && said.err.contains(words), "{name}: {}", said.err);
        assert!(said.err.contains("`silence` and `pace`"), "{name}: {}", said.err);
        assert_eq!(server.requests(), 1, "{name}: it was asked again");
    }
    let runs = home.almoner(&["runs"]).expect(0).out;
    assert!(runs.matches("stalled").count() >= 7, "{runs}");
}

/// Reported of other programs: oobabooga/textgen#2645 (twelve minutes for a first token), olimorris/
/// codecompanion.nvim#223 (one token a second), NousResearch/hermes-agent#79168 (a slow first turn is taken for a hang).
#[test]
fn slow_but_honest_server_is_waited_for() {
    let home = home();
    // A second stands for four minutes.
    home.write_config("[models]\nsilence = \"5s\"\n");
    let server = SlowServer::start(|stream| {
        std::thread::sleep(Duration::from_millis(1200));
        stream.write_all(HEAD.as_bytes())?;
        for comment in 0..12 {
            std::thread::sleep(Duration::from_millis(100));
            stream.write_all(format!(": waiting {comment}\n\n").as_bytes())?;
        }
        for word in ["one ", "token ", "after ", "the ", "other"] {
            std::thread::sleep(Duration::from_millis(700));
            stream.write_all(delta(word).as_bytes())?;
        }
        let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        stream.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes())
    });
    let said = home.almoner(&["run", "hello.worker", "-m", &server.model()]).expect(0);
    assert_eq!(said.out, "one token after the other\n");
}

#[test]
fn endless_answer_ends_with_the_time_of_the_run() {
    let (home, server) = (home(), endless());
    home.write("short.worker", "---\nlimits: { wall: 2s }\n---\nSay hello.\n");
    let said = home.almoner(&["run", "short.worker", "-m", &server.model()]);
    let said = said.expect(7);
    assert_eq!(said.out, "");
    let card = home.almoner(&["inbox", "1"]).expect(0).out;
    assert!(card.contains("the limit of 2 s of work is reached"), "{card}");
}
