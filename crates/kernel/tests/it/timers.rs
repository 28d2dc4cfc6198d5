//! Timers: ticks that follow from the clock, and who is told of them.

use kernel::command::{Act, AgentKind, Cancel, GrantAct, Reply, TimerAct};
use kernel::message::Body;
use kernel::timer::{self, MAX_INTERVAL_MS, MAX_ITEMS, MAX_LABEL_LEN};
use kernel::txn::{NO_OWNER, ReadTxn as _, Table};
use kernel::{FormulaId, Value};

use crate::agents::{copy, dismiss, path, remove, send};
use crate::fixture::{Fixture, text};

fn make(name: &str, interval_ms: u64) -> Act {
    Act::Timer(TimerAct::Make { path: path(name), interval_ms, label: text("tea") })
}

fn subscribe(timer: FormulaId) -> Act {
    Act::Timer(TimerAct::Subscribe { timer })
}

fn unsubscribe(timer: FormulaId) -> Act {
    Act::Timer(TimerAct::Unsubscribe { timer })
}

/// Advances the clock, lets the daemon send the ticks that are due, and returns how many subscribers it told.
fn later(w: &mut Fixture, ms: u64) -> u64 {
    w.ticks += ms;
    let host = w.host;
    match w.as_agent(host, Act::Timer(TimerAct::Tick { budget: 100 })) {
        Reply::Ticked { count, done: true } => count,
        other => panic!("{other:?}"),
    }
}

/// Returns the text of an agent's last message, and its tick with the number of missed ones.
fn last_tick(w: &mut Fixture, agent: FormulaId) -> (String, Option<(f64, f64)>) {
    let Body::Package { strings, ids, .. } = w.last_body(agent) else { panic!("no package") };
    let brought = ids.first().map(|id| match w.formula(*id) {
        kernel::formula::Formula::Marshal { value } => {
            let field = |name: &str| value.get(name).and_then(Value::as_f64).unwrap();
            assert_eq!(value.get("label"), Some(&Value::string("tea")));
            (field("tick"), field("missed"))
        }
        other => panic!("{other:?}"),
    });
    (strings.iter().map(|text| text.raw()).collect(), brought)
}

/// Returns whether no tick is scheduled.
fn is_quiet(w: &mut Fixture) -> bool {
    let due = timer::next_due(&mut w.store).unwrap().is_none();
    let rows = w.store.range(Table::Meta, &NO_OWNER, b"due ", b"due!", usize::MAX, false).unwrap();
    assert_eq!(due, rows.is_empty());
    due
}

#[test]
fn each_tick_is_a_message_and_missed_ticks_are_combined() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, make("clock", 1_000));
    let clock = w.id(host, "clock");
    assert!(is_quiet(&mut w), "a timer of which nobody is told is no work");
    assert_eq!(w.as_agent(host, subscribe(clock)), Reply::Done);
    assert_eq!(w.as_agent(host, subscribe(clock)), Reply::AlreadySettled);
    let before = w.letters(host).len();
    assert_eq!(later(&mut w, 500), 0);
    assert_eq!(w.letters(host).len(), before);
    assert_eq!(later(&mut w, 500), 1);
    assert_eq!(last_tick(&mut w, host), ("Tick 1 of tea: ".to_owned(), Some((1.0, 0.0))));
    assert_eq!(later(&mut w, 0), 0, "it is told once");
    assert_eq!(later(&mut w, 1_000), 1);
    assert_eq!(last_tick(&mut w, host).1, Some((2.0, 0.0)));
    // The daemon did not run for a while.
    assert_eq!(later(&mut w, 2_000), 1);
    let text = "Tick 4 of tea (1 tick before it was missed): ";
    assert_eq!(last_tick(&mut w, host), (text.to_owned(), Some((4.0, 1.0))));
    assert_eq!(later(&mut w, 3_600_000), 1);
    let text = "Tick 3604 of tea (3599 ticks before it were missed): ";
    assert_eq!(last_tick(&mut w, host), (text.to_owned(), Some((3604.0, 3599.0))));
    assert_eq!(w.letters(host).len(), before + 4);
    assert_eq!(w.as_agent(host, unsubscribe(clock)), Reply::Done);
    assert_eq!(w.as_agent(host, unsubscribe(clock)), Reply::AlreadySettled);
    assert!(is_quiet(&mut w));
    assert_eq!(later(&mut w, 10_000), 0);
    // An agent that subscribes again is told of the ticks from then on.
    w.as_agent(host, subscribe(clock));
    assert_eq!(later(&mut w, 1_000), 1);
    assert_eq!(last_tick(&mut w, host).1, Some((3615.0, 0.0)));
}

/// Returns a guest that is subscribed to a timer of its host's, by a grant.
fn guest_with_clock(w: &mut Fixture) -> (FormulaId, FormulaId) {
    let (host, fae) = (w.host, w.guest("fae"));
    w.as_agent(host, make("clock", 1_000));
    w.as_agent(host, send("fae", &[("clock", "clock")]));
    w.as_agent(fae, copy("@mail/0/clock", "clock"));
    let granted = w.id(fae, "clock");
    assert_eq!(w.as_agent(fae, subscribe(granted)), Reply::Done);
    assert_eq!(later(w, 1_000), 1);
    assert_eq!(last_tick(w, fae).1, Some((1.0, 0.0)));
    (fae, granted)
}

#[test]
fn subscription_ends_once_on_revocation_or_cancellation() {
    let revoke = |w: &mut Fixture| {
        w.revoke(1);
    };
    let cancel = |w: &mut Fixture| {
        let host = w.host;
        let what = Cancel::Name { path: path("clock") };
        w.as_agent(host, Act::Cancel { what, reason: text("") });
    };
    let check = |end: &dyn Fn(&mut Fixture), says: &str| {
        let mut w = Fixture::new();
        let (fae, granted) = guest_with_clock(&mut w);
        end(&mut w);
        // It is told at once, not with the next tick.
        assert_eq!(later(&mut w, 1), 1, "{says}");
        let (text, tick) = last_tick(&mut w, fae);
        assert!(text.starts_with("No more ticks come of a timer: ") && text.contains(says), "{text}");
        assert_eq!(tick, None);
        assert!(is_quiet(&mut w), "{says}");
        let letters = w.letters(fae).len();
        assert_eq!(later(&mut w, 10_000), 0, "{says}");
        assert_eq!(w.letters(fae).len(), letters);
        let refused = w.fault(fae, subscribe(granted));
        assert!(refused.contains(says), "{says}: {refused}");
    };
    check(&revoke, "revoked");
    check(&cancel, "cancelled");
}

#[test]
fn timer_is_cancelled_only_by_its_maker_or_root() {
    // Who made it, and who ends it by a name that leads to the timer itself.
    for (maker, actor, ended) in
        [("root", "root", true), ("bob", "bob", true), ("bob", "root", true), ("root", "bob", false)]
    {
        let mut w = Fixture::new();
        let (root, bob) = (w.host, w.agent(AgentKind::Host, "bob"));
        let agent = |name: &str| if name == "root" { root } else { bob };
        w.as_agent(agent(maker), make("clock", 1_000));
        let clock = w.id(agent(maker), "clock");
        if maker != actor {
            w.give_name(agent(actor), "theirs", clock);
        }
        let what = Cancel::Name { path: path(if maker == actor { "clock" } else { "theirs" }) };
        w.as_agent(agent(actor), Act::Cancel { what, reason: text("") });
        let tried = w.try_as(agent(maker), subscribe(clock)).map(|outcome| outcome.reply);
        let said = tried.as_ref().err().map(ToString::to_string);
        assert_eq!(
            said.is_some_and(|said| said.contains("was cancelled")),
            ended,
            "{maker} {actor}: {tried:?}"
        );
        assert_eq!(tried.is_ok(), !ended);
    }
}

#[test]
fn early_check_does_not_disturb_the_next_tick() {
    // A grant of the same timer to somebody else is revoked, and the timer is looked at: nothing comes of that.
    let mut w = Fixture::new();
    let (fae, _) = guest_with_clock(&mut w);
    let (host, eve) = (w.host, w.guest("eve"));
    w.as_agent(host, send("eve", &[("clock", "clock")]));
    let theirs = w.id(eve, "@mail/0/clock");
    w.as_agent(eve, subscribe(theirs));
    let number = w.last_grant(host).number.0;
    w.revoke(number);
    assert_eq!(later(&mut w, 1), 1);
    assert_eq!(last_tick(&mut w, eve).1, None);
    assert_eq!(later(&mut w, 1_000), 1);
    assert_eq!(last_tick(&mut w, fae).1, Some((2.0, 0.0)));
}

#[test]
fn timers_and_subscriptions_are_limited() {
    let mut w = Fixture::new();
    let (host, fae) = (w.host, w.guest("fae"));
    let check = |w: &mut Fixture, who: FormulaId, act: Act, says: &str| {
        let refused = w.fault(who, act);
        assert!(refused.contains(says), "{refused}");
    };
    check(&mut w, host, make("t", 9), "10 to");
    check(&mut w, host, make("t", MAX_INTERVAL_MS + 1), "10 to");
    check(&mut w, fae, make("t", 1_000), "only a host can make timers");
    let label = text(&"x".repeat(MAX_LABEL_LEN + 1));
    let long = TimerAct::Make { path: path("t"), interval_ms: 1_000, label };
    check(&mut w, host, Act::Timer(long), "at most 200 bytes");
    check(&mut w, fae, Act::Timer(TimerAct::Tick { budget: 1 }), "only the daemon can tell of ticks");
    w.as_agent(host, make("fast", 999));
    let fast = w.id(host, "fast");
    check(&mut w, host, subscribe(fast), "1000 milliseconds or more");
    check(&mut w, fae, subscribe(fast), "is not held");
    let own = w.id(host, "@self");
    check(&mut w, host, subscribe(own), "this is no timer");
    for n in 1..MAX_ITEMS {
        w.as_agent(host, make(&format!("t{n}"), 1_000));
        let timer = w.id(host, &format!("t{n}"));
        w.as_agent(host, subscribe(timer));
    }
    check(&mut w, host, make("more", 1_000), "100 timers already");
    // One that was cancelled goes no more.
    let what = Cancel::Name { path: path("fast") };
    w.as_agent(host, Act::Cancel { what, reason: text("") });
    w.as_agent(host, make("more", 1_000));
    let more = w.id(host, "more");
    w.as_agent(host, subscribe(more));
    let again = w.id(host, "t1");
    w.as_agent(host, unsubscribe(again));
    w.as_agent(host, subscribe(again));
    // The same timer by another grant is another subscription.
    let narrow = GrantAct::Attenuate {
        is: None,
        expires_ms: None,
        force: false,
        path: path("t1"),
        methods: vec!["subscribe".to_owned()],
        attenuation: Default::default(),
        to: path("narrow"),
    };
    w.as_agent(host, Act::Grant(narrow));
    let narrow = w.id(host, "narrow");
    check(&mut w, host, subscribe(narrow), "subscribed to 100 timers already");
    // Everybody is told, as many at a time as is asked for.
    w.ticks += 1_500;
    let tick = |w: &mut Fixture, budget| w.as_agent(w.host, Act::Timer(TimerAct::Tick { budget }));
    assert_eq!(tick(&mut w, 60), Reply::Ticked { count: 60, done: false });
    assert_eq!(tick(&mut w, 60), Reply::Ticked { count: 40, done: true });
}

#[test]
fn subscribed_timer_is_kept_until_its_subscriber_goes() {
    let mut w = Fixture::new();
    let (fae, granted) = guest_with_clock(&mut w);
    let host = w.host;
    let clock = w.id(host, "clock");
    w.as_agent(host, remove("clock"));
    w.as_agent(fae, remove("clock"));
    w.as_agent(fae, dismiss(0));
    w.as_agent(host, dismiss(0));
    w.collect(1_000);
    assert!(w.is_there(granted) && w.is_there(clock), "it is what ticks come of");
    assert_eq!(later(&mut w, 1_000), 1);
    assert_eq!(last_tick(&mut w, fae).1, Some((2.0, 0.0)));
    // Without the guest, no agent is told of ticks any more, at no moment of the guest's removal.
    w.as_agent(host, remove("fae"));
    for n in 0..200 {
        later(&mut w, 300);
        w.apply(Act::Collect { budget: 1 + n % 3, pinned: Default::default() });
    }
    assert!(!w.is_there(fae) && !w.is_there(granted) && !w.is_there(clock));
    assert!(is_quiet(&mut w));
    let rows = w.store.range(Table::Meta, &host.number, b"timer ", b"timer!", 10, false).unwrap();
    assert!(rows.is_empty(), "nothing is left of a timer that is gone");
}

#[test]
fn clock_set_back_repeats_no_tick() {
    let mut w = Fixture::new();
    let (fae, _) = guest_with_clock(&mut w);
    later(&mut w, 5_000);
    assert_eq!(last_tick(&mut w, fae).1, Some((6.0, 4.0)));
    let letters = w.letters(fae).len();
    w.ticks -= 3_000;
    for _ in 0..3 {
        assert_eq!(later(&mut w, 900), 0);
    }
    assert_eq!(w.letters(fae).len(), letters);
    assert_eq!(later(&mut w, 1_400), 1);
    assert_eq!(last_tick(&mut w, fae).1, Some((7.0, 0.0)));
}
