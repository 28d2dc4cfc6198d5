//! Tests of servers that ask to slow down: all runs wait, hold nothing meanwhile, and go on by themselves.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::bad_input::server::{Server, says, status};
use crate::test_home::TestHome;

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("hello.worker", "Say hello.\n");
    home
}

/// Waits until a command prints such a text.
#[track_caller]
pub(crate) fn await_line(home: &TestHome, command: &[&str], text: &str) -> String {
    let begun = Instant::now();
    loop {
        let said = home.almoner(command).out;
        if said.contains(text) {
            return said;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no {text:?} in {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A server that refuses the first request and asks for an hour.
fn busy_for_an_hour() -> Server {
    Server::start(|number, _| match number {
        0 => status("429 Too Many Requests", "retry-after: 3600\r\n", "slow"),
        _ => says("hello"),
    })
}

/// Other programs fail for good (builderz-labs/marketing-dashboard#11) or say nothing (NousResearch/hermes-agent#1835).
#[test]
fn rate_limited_run_names_its_server_until_resumed() {
    let (home, server) = (home(), busy_for_an_hour());
    home.almoner(&["run", "hello.worker", "--detach", "-m", &server.model()]).expect(0);
    await_line(&home, &["runs"], "waits until");
    let trace = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(trace.contains(&format!("the server of {} asks to slow down", server.model())), "{trace}");
    let status = home.almoner(&["status"]).expect(0).out;
    assert!(status.contains("waiting r1 waits until") && status.contains("slow down"), "{status}");
    // Another run of the same model asks nothing meanwhile.
    home.almoner(&["run", "hello.worker", "--detach", "-m", &server.model()]).expect(0);
    await_line(&home, &["trace", "r2"], "asks to slow down");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "hello\n");
    assert!(server.requests().len() >= 2);
}

#[test]
fn limited_run_goes_on_after_its_time_and_a_restart() {
    let (home, server) = (home(), busy_for_an_hour());
    home.almoner(&["run", "hello.worker", "--detach", "-m", &server.model()]).expect(0);
    await_line(&home, &["runs"], "waits until");
    home.later(Duration::from_secs(600));
    assert!(home.almoner(&["runs"]).out.contains("waits until"));
    home.later(Duration::from_secs(3600));
    await_line(&home, &["runs"], "done");
    assert_eq!(server.requests().len(), 2);
    // The time of the wait is no work of the run.
    let trace = home.trace("r1");
    assert!(trace["steps"].to_string().contains("suspended"), "{trace}");
    // A cancelled run waits for nothing.
    let server = busy_for_an_hour();
    home.almoner(&["run", "hello.worker", "--detach", "-m", &server.model()]).expect(0);
    await_line(&home, &["trace", "r2"], "asks to slow down");
    home.almoner(&["cancel", "r2"]).expect(0);
    assert!(!home.almoner(&["status"]).expect(0).out.contains("waiting r"), "it waits on");
}

/// Parallel tasks fail as a group in other programs (Astro-Han/pawwork#1348, strelov1/freehire#11).
#[test]
fn items_share_the_limit_of_their_server() {
    let home = home();
    for number in 0..8 {
        home.write(&format!("in/{number}.txt"), format!("document {number}"));
    }
    let refused: Arc<Mutex<Option<Instant>>> = Arc::default();
    let early = Arc::new(Mutex::new(0));
    let (first, count) = (Arc::clone(&refused), Arc::clone(&early));
    let server = Server::start(move |_, _| {
        let mut first = first.lock().unwrap();
        let slow = || status("429 Too Many Requests", "retry-after: 2\r\n", "slow");
        match *first {
            None => {
                *first = Some(Instant::now());
                slow()
            }
            Some(since) if since.elapsed() < Duration::from_millis(1900) => {
                *count.lock().unwrap() += 1;
                slow()
            }
            Some(_) => says("hello"),
        }
    });
    home.almoner(&["run", "hello.worker", "in", "--each", "-j4", "-m", &server.model()]).expect(0);
    // Requests that were under way at the first refusal are refused too, and nothing else asks in vain.
    assert!(*early.lock().unwrap() <= 3, "{} asked too early", early.lock().unwrap());
    assert!(server.requests().len() <= 8 + 4, "{}", server.requests().len());
}
