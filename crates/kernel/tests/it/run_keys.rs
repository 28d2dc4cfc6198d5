//! Keys of runs: a key starts one run of its agent, whatever becomes of the run.

use kernel::command::{Act, AgentKind, Fault, Reply};
use kernel::run_key::{KeyedRequest, RequestPart};
use kernel::{FormulaId, RunNumber, query};

use crate::agents::start;
use crate::fixture::{Fixture, program};
use crate::runs::finish;

fn keyed(key: &str, parts: &[(&str, &str)]) -> Act {
    let part = |(name, digest): &(&str, &str)| RequestPart {
        name: (*name).to_owned(),
        digest: (*digest).to_owned(),
    };
    let mut start = start(program("w"), vec![]);
    start.key = Some(KeyedRequest { key: key.parse().unwrap(), parts: parts.iter().map(part).collect() });
    Act::Start(Box::new(start))
}

const PARTS: [(&str, &str); 2] = [("worker", "1"), ("document 1", "2")];

fn runs(w: &mut Fixture, host: FormulaId) -> Vec<RunNumber> {
    query::runs(&mut w.store, &host.number, None, 100).unwrap().into_iter().map(|run| run.number).collect()
}

#[test]
fn repeated_key_gets_the_run_and_changes_nothing() {
    let mut w = Fixture::new();
    let host = w.host;
    let Reply::Started { run } = w.apply(keyed("k", &PARTS)).reply else { panic!("started") };
    let events = w.events();
    assert_eq!(w.apply(keyed("k", &PARTS)).reply, Reply::AlreadyStarted { run });
    assert!(w.apply(keyed("k", &PARTS)).ready.is_empty(), "the run is not driven twice");
    assert_eq!((w.events(), runs(&mut w, host)), (events, vec![run]));
    // The key outlives the end of the run, and the removal of its documents.
    w.advance(run, vec![finish("done")]);
    w.apply(Act::Forget { run });
    w.collect(1000);
    assert_eq!(w.apply(keyed("k", &PARTS)).reply, Reply::AlreadyStarted { run });
    let Reply::Started { run: other } = w.apply(keyed("k2", &PARTS)).reply else { panic!("started") };
    assert_eq!(runs(&mut w, host), [other, run]);
}

#[test]
fn key_of_another_run_is_a_conflict() {
    let mut w = Fixture::new();
    let host = w.host;
    let Reply::Started { run } = w.apply(keyed("k", &PARTS)).reply else { panic!("started") };
    let events = w.events();
    for (parts, part) in [
        (&[("worker", "9"), ("document 1", "2")][..], "worker"),
        (&[("worker", "1"), ("document 1", "9")], "document 1"),
        (&[("worker", "1")], "document 1"),
        (&[("worker", "1"), ("document 1", "2"), ("document 2", "3")], "document 2"),
    ] {
        let refused = w.try_apply(keyed("k", parts)).unwrap_err();
        let expected = Fault::KeyConflict { key: "k".parse().unwrap(), run, part: part.to_owned() };
        assert_eq!(refused, expected);
    }
    assert_eq!((w.events(), runs(&mut w, host)), (events, vec![run]));
}

#[test]
fn each_host_has_keys_of_its_own() {
    let mut w = Fixture::new();
    let host = w.host;
    let sub = w.agent(AgentKind::Host, "sub");
    for host in [host, sub] {
        assert!(matches!(w.as_agent(host, keyed("k", &PARTS)), Reply::Started { .. }));
        assert!(matches!(w.as_agent(host, keyed("k", &PARTS)), Reply::AlreadyStarted { .. }));
        assert_eq!(runs(&mut w, host).len(), 1);
    }
}
