//! Events name the user and the machine that recorded them.

use kernel::command::{Act, Command, NameAct};
use kernel::env::Env;
use kernel::event::{Change, Event, Recorder};
use kernel::{BlobHash, query};
use passable::Untrusted;

use crate::agents::path;
use crate::fixture::{Fixture, env};

fn recorder(user: &str, host: &str) -> Recorder {
    Recorder { user: Untrusted::new(user), host: Untrusted::new(host) }
}

/// Makes a directory, as a daemon of this user on this machine does.
fn make(w: &mut Fixture, name: &str, by: Option<&Recorder>) {
    w.ticks += 1;
    let env: Env = match by {
        Some(by) => env(w.ticks).recorded_by(by.clone()),
        None => env(w.ticks),
    };
    let act = Act::Name(NameAct::MakeDirectory { path: path(name) });
    kernel::apply(&mut w.store, &env, Command { actor: w.host, act, said: None }).unwrap();
}

fn events(w: &mut Fixture, after: u64, limit: usize) -> Vec<Event> {
    query::events(&mut w.store, &w.host.number, after, limit).unwrap()
}

#[test]
fn event_names_the_user_and_machine_that_recorded_it() {
    let mut w = Fixture::new();
    let (ada, moved) = (recorder("ada", "desk"), recorder("ada", "laptop"));
    let before = events(&mut w, 0, 100).len();
    make(&mut w, "a", Some(&ada));
    make(&mut w, "b", Some(&ada));
    // The store has moved to another machine, and back.
    make(&mut w, "c", Some(&moved));
    make(&mut w, "d", Some(&ada));
    let all = events(&mut w, 0, 100);
    let opened: Vec<_> = all.iter().filter(|event| matches!(event.change, Change::Opened { .. })).collect();
    assert_eq!(opened.len(), 3, "one event for each change, not for each command");
    let named = |name: &str| {
        let found =
            all.iter().find(|event| matches!(&event.change, Change::Named { name: own, .. } if own == name));
        found.and_then(|event| event.by.clone())
    };
    assert_eq!(named("a"), Some(ada.clone()));
    assert_eq!(named("b"), Some(ada.clone()));
    assert_eq!(named("c"), Some(moved.clone()));
    assert_eq!(named("d"), Some(ada.clone()));
    assert!(all.iter().take(before).all(|event| event.by.is_none()), "nobody named these");
    // A page that begins anywhere names the same.
    for event in &all {
        assert_eq!(events(&mut w, event.seq - 1, 1)[0].by, event.by, "event {}", event.seq);
    }
    // The names are a part of the chain.
    let mut prev = BlobHash([0; 32]);
    for event in &all {
        assert!(event.verify(prev));
        prev = event.hash;
    }
    let mut forged = opened[1].clone();
    forged.change = Change::Opened { by: recorder("eve", "laptop") };
    assert!(!forged.verify(forged.prev));
}
