//! Tests of the stream of events: missed events come once and in order.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::visitor::Visitor;
use crate::test_home::TestHome;

/// A browser's stream of events.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Begins one behind the event that was seen last.
    fn open(visitor: &Visitor, last: &str) -> Stream {
        let mut stream = TcpStream::connect(("127.0.0.1", visitor.door.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "GET /events?after=0 HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nLast-Event-ID: {last}\r\nConnection: \
             close\r\n\r\n",
            visitor.door.host, visitor.cookie
        );
        stream.write_all(head.as_bytes()).unwrap();
        Stream(BufReader::new(stream))
    }

    /// Returns the next line that begins so, without that; `None` at the end.
    fn line(&mut self, begins: &str) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(rest) = line.trim_end().strip_prefix(begins) {
                return Some(rest.to_owned());
            }
        }
    }

    /// Returns the events up to this number, each with its number and its data.
    fn until(&mut self, last: u64) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        while all.last().is_none_or(|(id, _)| *id < last) {
            let id = self.line("id: ").expect("more events").parse().unwrap();
            all.push((id, self.line("data: ").unwrap()));
        }
        all
    }
}

/// Returns the number of the last event.
fn last(home: &TestHome) -> u64 {
    let said = crate::wire::Control::open(home).ask(&serde_json::json!({ "request": "last_event" }));
    said["body"].as_u64().unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn missed_events_are_replayed_once_in_order() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    super::fill(&home, 5);
    let visitor = Visitor::new(&home);
    let cut = last(&home);
    // The connection is cut in the middle, and more happens.
    let seen = Stream::open(&visitor, "0").until(cut);
    super::fill(&home, 40);
    let end = last(&home);
    assert!(end >= cut + 40, "{cut} {end}");
    let half = seen[seen.len() / 2].0;
    let missed = Stream::open(&visitor, &half.to_string()).until(end);
    let all = Stream::open(&visitor, "0").until(end);
    let expected: Vec<(u64, String)> = all.iter().filter(|(id, _)| *id > half).cloned().collect();
    assert_eq!(missed, expected);
    let first: Vec<(u64, String)> = all.iter().filter(|(id, _)| *id <= cut).cloned().collect();
    assert_eq!(seen, first);
    assert!(all.windows(2).all(|two| two[0].0 < two[1].0), "{all:?}");
}

#[test]
fn stream_with_an_unknown_cursor_gets_a_resync() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let visitor = Visitor::new(&home);
    let end = last(&home);
    let mut stream = Stream::open(&visitor, "1000000");
    assert_eq!(stream.line("id: "), Some(end.to_string()));
    assert_eq!(stream.line("event: "), Some("resync".to_owned()));
    // Later events come as for every other client.
    super::fill(&home, 1);
    assert_eq!(stream.until(last(&home))[0].0, end + 1);
}

#[test]
fn ended_session_receives_no_more_events() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let (visitor, other) = (Visitor::new(&home), Visitor::new(&home));
    let mut stream = Stream::open(&visitor, &last(&home).to_string());
    stream.line("retry: ").unwrap();
    assert_eq!(other.send("/sessions", "session=1").status, 303);
    super::fill(&home, 1);
    assert_eq!(stream.line("data: "), None);
}
