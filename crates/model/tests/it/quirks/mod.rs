//! A server of each format that draws its quirks at random. The same seed draws the same quirks.
//!
//! The quirks are those that users of such servers report: reasons that are empty, unknown or in another case, content in
//! parts, odd counts, calls without numbers, characters cut in two, failures within an answer, web pages, and more.
//!
//! `ALMONER_QUIRK_SECONDS` makes the test go on for that long, from a seed that is new each time. `ALMONER_QUIRK_SEED`
//! plays one seed again.

mod chance;
mod drawn_answer;
mod intent;
mod render;
mod seeds;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};

use drawn_answer::DrawnAnswer;
use model::served::{ServedModel, ServerAccess};
use model::{Message, ModelError, Provider, Reply, Request, Retry, Secret};
use seeds::{FORMATS, Seeds};
use serde_json::json;

use crate::server::{Answer, End as ConnectionEnd, Server};

/// The number of seeds that the short check plays for each format.
const SEEDS: u64 = 120;

/// The next answer. One server answers for all seeds of a format.
type Next = Arc<Mutex<Answer>>;

struct Peer {
    served: ServedModel,
    next: Next,
}

impl Peer {
    fn start(reference: &str) -> Self {
        let next: Next =
            Arc::new(Mutex::new(Answer { bytes: Vec::new(), step: 1, end: ConnectionEnd::Close }));
        let said = Arc::clone(&next);
        let server = Server::with(move |_, _| said.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let reference = reference.replace("URL", &server.url).parse().unwrap();
        let key = |name: &str| name.ends_with("_API_KEY").then(|| Secret::new("sk-test"));
        let retry = Retry { tries: 1, sleep: Arc::new(|_| ()) };
        Self { served: ServedModel::open(&reference, &key, retry, &ServerAccess::default()).unwrap(), next }
    }

    fn ask(&self, answer: Answer) -> Result<Reply, ModelError> {
        *self.next.lock().unwrap() = answer;
        let request = Request { messages: vec![Message::user("hi")], ..Request::default() };
        self.served.complete(&request, &mut |_| ())
    }
}

/// Plays one seed: an answer, drawn and served, must have the outcome that it was meant to have.
fn play(peer: &Peer, format: &str, seed: u64) {
    let DrawnAnswer { intent, reason, bytes, step } = DrawnAnswer::draw(format, seed);
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    let outcome = peer.ask(Answer { bytes, step, end: ConnectionEnd::Close });
    if let Some(fault) = intent.fault(&outcome, &reason) {
        panic!("ALMONER_QUIRK_SEED={seed}, {format}: {fault}\nmeant: {intent:?}\n{shown}");
    }
}

#[test]
fn odd_answers_are_read_or_named_in_every_format() {
    let seeds = Seeds::from_env(SEEDS);
    let workers = FORMATS.map(|(format, reference)| {
        std::thread::spawn(move || {
            let peer = Peer::start(reference);
            seeds.play(|seed| play(&peer, format, seed));
        })
    });
    let panics: Vec<_> = workers.into_iter().filter_map(|worker| worker.join().err()).collect();
    assert!(panics.is_empty(), "{} formats have a fault", panics.len());
}

/// An answer that is no answer: a page of a gateway, a body of a failure, nothing at all.
///
/// Other programs show the words of their parser: lynote-ai/humanize-text#55, itlackey/akm#539,
/// adminsyspro/proxcenter-ui#314, huggingface/llm-vscode#99.
#[test]
fn foreign_pages_and_statuses_are_quoted() {
    for (format, reference) in FORMATS {
        let peer = Peer::start(reference);
        let page =
            "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
        let words = json!({"error": {"message": "the cluster is on fire", "type": "x"}}).to_string();
        for (status, kind, body, expected) in [
            ("200 OK", "text/html", page, "502 Bad Gateway"),
            ("200 OK", "text/event-stream", page, "502 Bad Gateway"),
            ("200 OK", "application/x-ndjson", page, "502 Bad Gateway"),
            ("502 Bad Gateway", "text/html", page, "502 Bad Gateway"),
            ("200 OK", "text/event-stream", "upstream connect error", "upstream connect error"),
            ("200 OK", "application/json", words.as_str(), "the cluster is on fire"),
            ("200 OK", "text/event-stream", words.as_str(), "the cluster is on fire"),
            ("503 Busy", "application/json", words.as_str(), "the cluster is on fire"),
            ("400 Bad", "application/json", words.as_str(), "the cluster is on fire"),
        ] {
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
            for bytes in [body.as_bytes().to_vec(), wire::packed(body.as_bytes())] {
                let bytes = [head.as_bytes(), &bytes].concat();
                let error = peer.ask(Answer { bytes, step: 11, end: ConnectionEnd::Close }).unwrap_err();
                let told = error.to_string();
                assert!(told.contains(expected), "{format} {status} {kind}: {told}");
                assert!(told.contains("http://127.0.0.1:"), "{format} {status} {kind}: {told}");
                let parser = ["expected value", "invalid type", "line 1 column"];
                assert!(!parser.iter().any(|words| told.contains(words)), "{format} {status} {kind}: {told}");
            }
        }
    }
}
