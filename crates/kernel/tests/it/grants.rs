//! Grants: revoking, narrowing, sharing, holding.

use std::collections::BTreeSet;

use kernel::command::{Act, Fault, GrantAct, Move, Reply, Target};
use kernel::formula::Formula;
use kernel::grant::Attenuation;
use kernel::proposal::Decision;
use kernel::run::{Completion, Entry, RunOutcome, State};
use kernel::{FormulaId, GrantNumber, Number, Value, query, table};

use crate::agents::{bind, copy, path, remove, request, resolve, send, start, store, string};
use crate::fixture::{Fixture, completion, done, env, program};

fn attenuate(name: &str, methods: &[&str], attenuation: Attenuation, to: &str) -> Act {
    let methods = methods.iter().map(|m| (*m).to_owned()).collect();
    Act::Grant(GrantAct::Attenuate {
        path: path(name),
        is: None,
        methods,
        attenuation,
        expires_ms: None,
        to: path(to),
        force: false,
    })
}

fn up_to(bytes: u64, suffixes: &[&str]) -> Attenuation {
    let suffixes = suffixes.iter().map(|s| (*s).to_owned()).collect();
    Attenuation { suffixes, max_bytes: Some(bytes), ..Attenuation::default() }
}

/// Returns a run of the host's whose slot `out` is bound to one of its names.
fn run_with(w: &mut Fixture, name: &str) -> kernel::RunNumber {
    let target = Target::Named { path: path(name) };
    let start = start(program("clerk"), vec![bind("out", target, &["read", "write"])]);
    match w.apply(Act::Start(Box::new(start))).reply {
        Reply::Started { run } => run,
        other => panic!("{other:?}"),
    }
}

/// Returns how a proposal that was allowed by the gates went.
fn tried(w: &mut Fixture, run: kernel::RunNumber, method: &str) -> String {
    let (step, outcome) = w.propose(run, "out", method, Decision::Allow);
    match (outcome.begun.len(), completion(&w.journal(run), step)) {
        (1, None) => "effect_started".to_owned(),
        (0, Some(Completion::Refused(findings))) => findings.last().unwrap().rule.clone(),
        other => panic!("{other:?}"),
    }
}

/// Gives `cap` to one guest, which passes it on to another, which sends it back: the host has it as `back`. The number
/// of the grant with which that began.
fn passed_on(w: &mut Fixture) -> u64 {
    let (fae, eve) = (w.guest("fae"), w.guest("eve"));
    let host = w.host;
    w.as_agent(host, send("fae", &[("g", "cap"), ("eve", "eve")]));
    let given = w.id(fae, "@mail/0/g");
    let number = table::grant(&mut w.store, &given).unwrap().unwrap().number;
    w.as_agent(fae, copy("@mail/0/eve", "eve"));
    w.as_agent(fae, send("eve", &[("g", "@mail/0/g")]));
    w.as_agent(eve, copy("@mail/0/g", "g"));
    w.as_agent(eve, send("@host", &[("g", "g")]));
    let letter = w.last(host).number;
    w.as_agent(host, copy(&format!("@mail/{letter}/g"), "back"));
    number.0
}

#[test]
fn revoked_grant_lets_only_begun_effects_complete() {
    // The run's own grant, and one that came to it through two other agents; with and without a restart.
    for (restart, by_way_of_others) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut w = Fixture::new();
        w.mount("cap");
        let first = by_way_of_others.then(|| passed_on(&mut w));
        let run = run_with(&mut w, if by_way_of_others { "back" } else { "cap" });
        let (begun, _) = w.propose(run, "out", "write", Decision::Allow);
        let (asked, _) = w.propose(run, "out", "write", Decision::Ask);
        let message = *w.open_mail().last().unwrap();
        w.answer(message, kernel::command::Choice::Approve { for_run: false });
        let grant = first.unwrap_or_else(|| w.last_grant(w.host).number.0);
        assert_eq!(w.revoke(grant), Reply::Done);
        if restart {
            w.apply(Act::Recover);
        }
        assert_eq!(w.revoke(grant), Reply::AlreadySettled);
        // The approved call does not begin any more; the model reads why.
        w.advance(run, vec![Move::Begin { proposal: asked }]);
        let Some(Completion::Refused(findings)) = completion(&w.journal(run), asked) else {
            panic!("refused")
        };
        assert_eq!(findings[0].rule, "grant/revoked");
        assert_eq!(tried(&mut w, run, "read"), "grant/revoked");
        w.advance(run, vec![Move::Complete { proposal: begun, completion: done() }]);
        w.advance(run, vec![Move::Finish { outcome: RunOutcome::Done(Value::null()) }]);
        let what = format!("restart: {restart}, by way of others: {by_way_of_others}");
        assert!(matches!(w.run(run).state, State::Finished { .. }), "{what}");
    }
}

#[test]
fn revoking_is_transitive() {
    let mut w = Fixture::new();
    w.mount("cap");
    let (fae, eve) = (w.guest("fae"), w.guest("eve"));
    let host = w.host;
    w.as_agent(host, send("fae", &[("g", "cap"), ("eve", "eve")]));
    let given = w.id(fae, "@mail/0/g");
    let number = table::grant(&mut w.store, &given).unwrap().unwrap().number;
    w.as_agent(fae, copy("@mail/0/eve", "eve"));
    w.as_agent(fae, send("eve", &[("g", "@mail/0/g")]));
    let passed_on = w.id(eve, "@mail/0/g");
    let by_fae = w.last_grant(fae);
    assert_eq!((by_fae.id, by_fae.holder, by_fae.target), (passed_on, eve, given));
    // A run of the host uses the grant that came back to it.
    w.as_agent(eve, copy("@mail/0/g", "g"));
    w.as_agent(eve, send("@host", &[("g", "g")]));
    let letter = w.last(host).number;
    w.as_agent(host, copy(&format!("@mail/{letter}/g"), "back"));
    let run = run_with(&mut w, "back");
    assert_eq!(tried(&mut w, run, "write"), "effect_started");
    assert_eq!(w.revoke(number.0), Reply::Done);
    for id in [given, passed_on] {
        assert_eq!(w.behind(id), Err("grant/revoked".to_owned()));
    }
    assert_eq!(tried(&mut w, run, "write"), "grant/revoked");
    assert!(w.fault(eve, send("@host", &[("g", "g")])).contains("was revoked"));
    let cap = w.id(host, "cap");
    assert!(w.behind(cap).is_ok(), "what was given away is still the giver's");
}

#[test]
fn narrowing_adds_up_along_a_chain() {
    let mut w = Fixture::new();
    w.mount("cap");
    let host = w.host;
    w.as_agent(host, attenuate("cap", &["read", "write"], up_to(100, &[".md", ".txt"]), "a"));
    w.as_agent(host, attenuate("a", &["read", "remove"], up_to(500, &[".md"]), "b"));
    let run = run_with(&mut w, "b");
    assert_eq!(tried(&mut w, run, "read"), "effect_started");
    // `write` is not in the nearer grant, `remove` not in the farther one, nor in the endowment.
    assert_eq!(tried(&mut w, run, "write"), "grant/method");
    assert_eq!(tried(&mut w, run, "remove"), "grant/method");
    let held = w.run(run).grants["out"];
    let reached = table::reach(&mut w.store, &held).unwrap().unwrap();
    assert_eq!(reached.grants.len(), 3);
    assert_eq!(reached.grant().unwrap().attenuation, up_to(100, &[".md"]));
    let now = env(w.ticks).now_ms();
    assert!(reached.refusal("read", now).is_none());
    assert_eq!(reached.refusal("remove", now).unwrap().rule, "grant/method");
    w.as_agent(host, store(string("x"), "data"));
    assert!(w.fault(host, attenuate("data", &[], up_to(1, &[]), "c")).contains("is data"));
}

/// Returns the same, with more said of it.
fn narrow(name: &str, is: Option<FormulaId>, attenuation: Attenuation, expires_ms: Option<i64>) -> Act {
    let (path, to, methods) = (path(name), path("less"), vec!["read".to_owned()]);
    Act::Grant(GrantAct::Attenuate { path, is, methods, attenuation, expires_ms, to, force: false })
}

#[test]
fn narrowing_refuses_a_changed_name_and_expires_on_time() {
    let mut w = Fixture::new();
    w.mount("cap");
    w.mount("other");
    let host = w.host;
    let (cap, other) = (w.id(host, "cap"), w.id(host, "other"));
    let plain = Attenuation::default;
    let stale = w.fault(host, narrow("cap", Some(other), plain(), None));
    assert_eq!(stale, Fault::NotAsSeen { path: "cap".to_owned() }.to_string());
    // A grant that claims to lead to a copy would let changes pass without a question.
    let staged = Attenuation { staged_from: Some("/etc".to_owned()), ..plain() };
    assert!(w.fault(host, narrow("cap", Some(cap), staged, None)).contains("belongs to a run"));
    let end = env(w.ticks + 3).now_ms();
    w.as_agent(host, narrow("cap", Some(cap), plain(), Some(end)));
    let less = w.id(host, "less");
    assert!(w.behind(less).is_ok());
    for _ in 0..3 {
        w.apply(Act::Recover);
    }
    assert_eq!(w.behind(less), Err("grant/expired".to_owned()));
    assert!(w.behind(cap).is_ok());
}

#[test]
fn narrowing_a_promise_narrows_its_result() {
    let mut w = Fixture::new();
    w.mount("cap");
    let (fae, host) = (w.guest("fae"), w.host);
    w.as_agent(fae, request("@host", "something", Some("wished")));
    let number = w.last(host).number;
    // Nothing has come of it: there is nothing to take away from.
    let pending = w.fault(fae, narrow("wished", None, Attenuation::default(), None));
    assert!(pending.contains("nothing has come of wished"), "{pending}");
    w.as_agent(host, resolve(number.0, "cap"));
    w.as_agent(fae, narrow("wished", None, Attenuation::default(), None));
    let less = w.id(fae, "less");
    let reached = table::reach(&mut w.store, &less).unwrap().unwrap();
    assert_eq!(
        reached.id,
        w.id(host, "cap"),
        "whoever uses it comes to the thing itself, through both grants"
    );
    assert_eq!(reached.grants.len(), 2);
    let now = env(w.ticks).now_ms();
    assert!(reached.refusal("read", now).is_none());
    assert_eq!(reached.refusal("write", now).unwrap().rule, "grant/method");
    // The narrower grant ends with the grant that it was made from.
    let given = w.last_grant(host).number.0;
    w.revoke(given);
    assert_eq!(w.behind(less), Err("grant/revoked".to_owned()));
}

#[test]
fn joined_attenuations_keep_the_limits_of_both() {
    let check = |a: Attenuation, b: Attenuation, expected: Attenuation| {
        assert_eq!(a.join(&b), expected);
        assert_eq!(b.join(&a), expected);
    };
    let only = |suffixes: &[&str]| Attenuation { max_bytes: None, ..up_to(0, suffixes) };
    check(Attenuation::default(), Attenuation::default(), Attenuation::default());
    check(up_to(5, &[]), up_to(9, &[".md"]), up_to(5, &[".md"]));
    check(only(&[".md", ".txt"]), only(&[".txt", ".pdf"]), only(&[".txt"]));
    check(only(&[".md"]), only(&[".note.md"]), only(&[".note.md"]));
    let none = only(&[".md"]).join(&only(&[".pdf"]));
    let names = ["a.md", "a.pdf", "a.md.pdf", "/"];
    let fits = |name: &&str| *name != "/" && none.suffixes.iter().any(|suffix| name.ends_with(suffix));
    assert!(!none.suffixes.is_empty() && !names.iter().any(fits), "no file has both");
}

#[test]
fn token_gives_its_holder_one_grant() {
    let mut w = Fixture::new();
    w.mount("cap");
    let (fae, eve) = (w.guest("fae"), w.guest("eve"));
    let host = w.host;
    let (token, wrong) = (Number([7; 32]), Number([8; 32]));
    let share = |token, expires_ms| Act::Grant(GrantAct::Share { path: path("cap"), token, expires_ms });
    let accept = |token| Act::Grant(GrantAct::Accept { token, path: path("cap") });
    w.as_agent(host, share(token, i64::MAX));
    let no = Fault::NoToken.to_string();
    assert_eq!(w.fault(fae, accept(wrong)), no);
    let Reply::Made { id } = w.as_agent(fae, accept(token)) else { panic!("made") };
    let grant = w.last_grant(host);
    assert_eq!((grant.id, grant.holder, w.id(fae, "cap")), (id, fae, id));
    assert_eq!(w.fault(eve, accept(token)), no, "a token is used once");
    assert_eq!(w.fault(fae, accept(token)), no);
    w.revoke(grant.number.0);
    assert!(w.behind(id).is_err());
    let late = Number([9; 32]);
    let soon = env(w.ticks + 3).now_ms();
    w.as_agent(host, share(late, soon));
    w.apply(Act::Recover);
    assert_eq!(w.fault(eve, accept(late)), no, "a token ends");
}

#[test]
fn agent_holds_formulas_by_name_mail_or_grant() {
    let mut w = Fixture::new();
    w.mount("cap");
    let fae = w.guest("fae");
    let host = w.host;
    w.as_agent(host, send("fae", &[("g", "cap")]));
    let given = w.id(fae, "@mail/0/g");
    let message = w.id(fae, "@mail/0");
    let holds = |w: &mut Fixture, ids: &[FormulaId]| -> Vec<bool> {
        ids.iter().map(|id| w.holds(fae, *id)).collect()
    };
    assert_eq!(holds(&mut w, &[given, message]), [true, true]);
    w.as_agent(fae, crate::agents::dismiss(0));
    assert_eq!(holds(&mut w, &[given, message]), [true, false], "a grant is held while it is there");
    w.as_agent(fae, store(string("x"), "x"));
    let x = w.id(fae, "x");
    w.as_agent(fae, copy("x", "y"));
    w.as_agent(fae, remove("x"));
    assert_eq!(holds(&mut w, &[x]), [true], "by its other name");
    w.as_agent(fae, remove("y"));
    assert_eq!(holds(&mut w, &[x]), [false]);
    assert!(matches!(w.formula(given), Formula::Grant { .. }));
}

#[test]
fn grants_are_numbered_and_revoked_by_their_giver() {
    let mut w = Fixture::new();
    w.mount("cap");
    let fae = w.guest("fae");
    let host = w.host;
    w.as_agent(host, send("fae", &[("g", "cap")]));
    w.as_agent(fae, send("@host", &[("g", "@mail/0/g")]));
    let numbers = |w: &mut Fixture, agent: FormulaId| -> Vec<u64> {
        query::grants(&mut w.store, &agent.number).unwrap().iter().map(|g| g.number.0).collect()
    };
    let mine = numbers(&mut w, host);
    assert_eq!(mine, (1..=mine.len() as u64).collect::<Vec<_>>());
    assert_eq!(numbers(&mut w, fae), [1]);
    let beyond = GrantNumber(2);
    assert_eq!(w.fault(fae, Act::Grant(GrantAct::Revoke { grant: beyond })), "there is no grant g2");
    w.as_agent(fae, Act::Grant(GrantAct::Revoke { grant: GrantNumber(1) }));
    let given = w.id(fae, "@mail/0/g");
    assert!(w.behind(given).is_ok(), "the host's first grant is another one");
}

#[test]
fn expired_grant_is_refused() {
    let mut w = Fixture::new();
    let run = w.start();
    let held = w.run(run).grants["out"];
    let mut grant = table::grant(&mut w.store, &held).unwrap().unwrap();
    grant.expires_ms = Some(env(w.ticks + 1).now_ms());
    let owner = w.host.number;
    table::save(&mut w.store, kernel::txn::Table::Grant, &owner, &held.number, &grant, None).unwrap();
    assert_eq!(tried(&mut w, run, "write"), "grant/expired");
    let all: BTreeSet<_> = w.journal(run).iter().map(|step| step.entry.name()).collect();
    assert!(!all.contains("effect_started"));
    let judged = w.journal(run).into_iter().any(|step| matches!(step.entry, Entry::Judged { .. }));
    assert!(judged);
}

#[test]
fn grants_are_listed_for_every_identifier_prefix() {
    let mut w = Fixture::new();
    w.mount("cap");
    let host = w.host;
    let before = query::grants(&mut w.store, &host.number).unwrap().len();
    // Identifiers begin with their time: at this one, as the keys of the numbers do.
    let then = i64::from(b'n') << 40;
    for n in 0..3 {
        let act = attenuate("cap", &["read"], Attenuation::default(), &format!("g{n}"));
        let command = kernel::command::Command { actor: host, act, said: None };
        let env = kernel::env::Env::new(then + n, [n as u8 + 1; 32]);
        kernel::apply(&mut w.store, &env, command).unwrap();
    }
    let all = query::grants(&mut w.store, &host.number).unwrap();
    assert_eq!(all.len(), before + 3);
    assert_eq!(all.iter().filter(|grant| grant.id.number[0] == b'n').count(), 3);
}

#[test]
fn event_log_verifies_for_a_grant_revoked_later() {
    use kernel::audit::{RecordStatus, check_record};
    use kernel::event::Change;
    let mut w = Fixture::new();
    let host = w.host;
    w.mount("cap");
    w.guest("fae");
    w.as_agent(host, send("fae", &[("cap", "cap")]));
    let grant = w.last_grant(host);
    w.revoke(grant.number.0);
    let mut told = Vec::new();
    for event in w.events() {
        let what = match &event.change {
            Change::Granted { grant: id, .. } if *id == grant.id => "granted",
            Change::Revoked { number } if *number == grant.number => "revoked",
            _ => continue,
        };
        told.push((what, check_record(&mut w.store, &host, &event).unwrap()));
    }
    assert_eq!(told, [("granted", RecordStatus::Intact), ("revoked", RecordStatus::Intact)]);
}
