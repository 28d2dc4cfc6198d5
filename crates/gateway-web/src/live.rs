//! Live events: one stream of server-sent events per browser, numbered like the event log.
//!
//! An event tells which topics have changed, but not how they look now. The script then loads the page again and
//! takes the new parts from it. So each part is rendered in one way only, and a browser that missed an event soon
//! catches up.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::{Extension, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response as Answered};
use control::protocol::{Request, Response};
use kernel::MessageNumber;
use kernel::event::{Change, Event};
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::guard::sessions::Session;
use crate::refusal::refused;
use crate::serve::{Site, StreamError};

/// The maximum number of events that wait for a slow browser. Beyond this number, the stream ends, and the browser
/// begins a new one.
const MAX_WAITING_EVENTS: usize = 1024;

/// The maximum number of streams at a time. Each stream has a thread.
const MAX_WATCHERS: usize = 64;

/// The longest silence of a stream, in milliseconds. A keep-alive comment then reveals whether the browser is still
/// connected.
const KEEP_ALIVE_INTERVAL_MS: u64 = 15_000;

/// Answers `GET /events?after=SEQ` with all events after that one. If the browser names the last event that it has
/// seen, the stream begins there.
pub async fn events(
    State(site): State<Arc<Site>>,
    Extension(session): Extension<Session>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let asked = query.as_deref().unwrap_or("").split('&').find_map(|pair| pair.strip_prefix("after="));
    let Some(after) = seen.or(asked).unwrap_or("0").parse().ok() else {
        return refused(StatusCode::BAD_REQUEST, "an event's number is wanted");
    };
    if site.watchers.load(Ordering::Relaxed) >= MAX_WATCHERS {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "there are too many streams");
    }
    let (sender, receiver) = channel(MAX_WAITING_EVENTS);
    let thread = std::thread::Builder::new().name("web events".to_owned());
    let spawned = thread.spawn(move || stream_events(&site, session.number, after, &sender));
    if spawned.is_err() {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "there are too many streams");
    }
    let kind = (header::CONTENT_TYPE, "text/event-stream");
    ([kind], Body::from_stream(Stream(receiver))).into_response()
}

fn stream_events(site: &Site, session: u64, after: u64, sender: &Sender<Bytes>) {
    site.watchers.fetch_add(1, Ordering::Relaxed);
    stream_until_closed(site, session, after, sender);
    site.watchers.fetch_sub(1, Ordering::Relaxed);
}

fn stream_until_closed(site: &Site, session: u64, after: u64, sender: &Sender<Bytes>) {
    let mut said = site.backend.now_ms();
    // The time after which a browser connects again.
    let mut first = "retry: 500\n\n".to_owned();
    // A browser that has seen a later event was connected to another store, so it must reload everything.
    let last = match site.backend.ask(session, Request::LastEvent) {
        Ok(Response::LastEvent(last)) => last,
        _ => after,
    };
    if after > last {
        first += &format!("id: {last}\nevent: resync\ndata: {{}}\n\n");
    }
    if sender.try_send(Bytes::from(first)).is_err() {
        return;
    }
    site.backend.follow(after.min(last), &mut |response| {
        // After the session has ended, nothing more is sent.
        if !site.sessions().is_open(session, site.backend.now_ms()) {
            return false;
        }
        let line = match response {
            Some(Response::Event(event)) => event_line(&event, |number| site.backend.notice(number)),
            Some(Response::Text { run, prompted, from, text }) => {
                let to = from.saturating_add(text.raw().len());
                let data = json!({
                    "run": run.to_string(), "prompted": prompted, "from": from, "to": to, "text": text.visible(),
                });
                format!("event: text\ndata: {data}\n\n")
            }
            Some(Response::Progress { run, line }) => {
                let data = json!({ "run": run.to_string(), "line": line.visible_line() });
                format!("event: progress\ndata: {data}\n\n")
            }
            // The absolute difference also works after the clock was set back.
            _ if site.backend.now_ms().abs_diff(said) >= KEEP_ALIVE_INTERVAL_MS => ": here\n\n".to_owned(),
            _ => return !sender.is_closed(),
        };
        said = site.backend.now_ms();
        sender.try_send(Bytes::from(line)).is_ok()
    });
}

/// Returns the line of an event. `notice` gives the sentence about a waiting message.
fn event_line(event: &Event, notice: impl Fn(MessageNumber) -> Option<String>) -> String {
    let (topics, mut news) = about(&event.change);
    if let (Some(news), Change::Message { number, .. }) = (&mut news, &event.change)
        && let Some(words) = notice(*number)
    {
        news.words = words;
    }
    let mut data = json!({ "topics": topics });
    if let Some(News { words, to }) = news {
        data["say"] = json!(words);
        data["to"] = json!(to);
    }
    let written = match &event.change {
        // The streamed text of a reply ends here: the page now shows the stored reply, or none was stored.
        Change::Step { run, entry, .. } if entry == "replied" => Some(run),
        Change::RunFinished { run, .. } => Some(run),
        _ => None,
    };
    if let Some(run) = written {
        data["written"] = json!(run.to_string());
    }
    format!("id: {}\ndata: {data}\n\n", event.seq)
}

/// An announcement, in our own words.
struct News {
    words: String,
    /// The address of its subject.
    to: String,
}

/// Returns the topics that a change concerns, and the announcement, if there is one.
fn about(change: &Change) -> (Vec<String>, Option<News>) {
    let own = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    match change {
        Change::Message { number, needs_you, run, .. } => {
            let mut topics = own(&["inbox"]);
            topics.extend(run.map(|run| format!("run:{run}")));
            let news = || News { words: format!("Message {number} needs you"), to: format!("/m/{number}") };
            (topics, needs_you.then(news))
        }
        Change::Answered { number, .. }
        | Change::CommandCompleted { number }
        | Change::Dismissed { number } => (vec!["inbox".to_owned(), format!("message:{number}")], None),
        Change::RunStarted { run, parent, .. } => {
            let mut topics = vec!["runs".to_owned(), format!("run:{run}")];
            topics.extend(parent.map(|run| format!("run:{run}")));
            (topics, None)
        }
        Change::Step { run, .. } => (vec!["runs".to_owned(), format!("run:{run}")], None),
        Change::RunFinished { run, ok } => {
            let ended = if *ok { "is done" } else { "has failed" };
            let news = News { words: format!("{run} {ended}"), to: format!("/r/{run}") };
            (vec!["runs".to_owned(), format!("run:{run}")], Some(news))
        }
        Change::Granted { .. } | Change::Revoked { .. } | Change::Relocated { .. } => {
            (own(&["grants"]), None)
        }
        Change::Named { .. } | Change::Unnamed { .. } => (own(&["names"]), None),
        Change::Settled { .. } => (own(&["inbox", "names"]), None),
        Change::Genesis { .. } | Change::Opened { .. } | Change::Cancelled { .. } => (own(&["runs"]), None),
    }
}

/// The events that a thread sends, as the body of an answer.
struct Stream(Receiver<Bytes>);

impl futures_core::Stream for Stream {
    type Item = Result<Bytes, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}
