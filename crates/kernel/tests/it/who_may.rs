//! The permissions for every kind of command, by a host, by a host's host, and by a guest.

use std::collections::BTreeSet;

use kernel::command::{
    Act, Advance, AgentKind, AnswerAll, AnswerApproval, Cancel, Choice, MailAct, ProvideAgent, TimerAct,
};
use kernel::run::{ResultGoesTo, RunOutcome};
use kernel::{FormulaId, MessageNumber, RunNumber, Value};

use crate::agents::{code, define, endow, mail, path, program_of, start};
use crate::fixture::{Fixture, text};

/// Returns the acts that a guest may not do, each with its error message.
fn acts(eval: FormulaId, agent: FormulaId) -> Vec<(Act, &'static str)> {
    let started = start(program_of("w"), vec![]);
    let number = MessageNumber(0);
    let goes_to = ResultGoesTo::Host;
    let answer = AnswerApproval {
        text: text("approve 0"),
        message: number,
        entries: None,
        choice: Choice::Approve { for_run: false },
        addition: None,
    };
    let answer_all = AnswerAll {
        text: text("approve 0-1"),
        approvals: vec![],
        choice: Choice::Approve { for_run: false },
    };
    let provide =
        ProvideAgent { kind: AgentKind::Guest, name: Some(path("x")), agent_name: None, introduced: vec![] };
    let endow_worker =
        MailAct::EndowWorker { number, start: Box::new(started.clone()), goes_to, result_name: None };
    let cancel = |what| Act::Cancel { what, reason: text("") };
    vec![
        (Act::Start(Box::new(started)), "only a host can start runs"),
        (Act::Advance(Advance { run: RunNumber(1), moves: vec![] }), "only a host can have runs"),
        (Act::Answer(answer), "only a host can approve"),
        (Act::AnswerAll(answer_all), "only a host can approve"),
        (Act::Resume { runs: vec![RunNumber(1)], named: None }, "only a host can resume runs"),
        (Act::Apply { run: RunNumber(1), files: vec![] }, "only a host can apply what runs changed"),
        (Act::Discard { run: RunNumber(1), files: vec![] }, "only a host can discard what runs changed"),
        (Act::Forget { run: RunNumber(1) }, "only a host can forget runs"),
        (Act::Undo { run: RunNumber(1), files: vec![] }, "only a host can undo what runs changed"),
        (Act::OpenAgentJournal { agent }, "only the daemon can keep the journals of agents"),
        (Act::Recover, "only a host can take up the outbox"),
        (Act::Provide(provide), "only a host can make agents"),
        (cancel(Cancel::Run { run: RunNumber(1) }), "only a host can cancel runs"),
        (cancel(Cancel::Name { path: path("@self") }), "a guest cancels only what it asked for itself"),
        (
            Act::Evaluated { eval, outcome: RunOutcome::Done(Value::null()) },
            "only the daemon can say what code came to",
        ),
        (Act::Collect { budget: 1, pinned: BTreeSet::new() }, "only the daemon can collect"),
        (Act::Timer(TimerAct::Tick { budget: 1 }), "only the daemon can tell of ticks"),
        (
            Act::Timer(TimerAct::Make { path: path("t"), interval_ms: 1_000, label: text("t") }),
            "only a host can make timers",
        ),
        (endow(0, &[], goes_to), "only a host can endow"),
        (mail(endow_worker), "only a host can endow"),
        (mail(MailAct::Edit { number, program: code("x", &[]) }), "only a host can endow"),
        (mail(MailAct::Grant { number, goes_to }), "only a host can agree to an evaluation"),
    ]
}

#[test]
fn guest_acts_reserved_for_hosts_are_refused() {
    let mut w = Fixture::new();
    let (fae, eve) = (w.guest("fae"), w.guest("eve"));
    // A definition lies in the guest's own mailbox, and a run of the host's is open: neither helps.
    w.start();
    let mail_of_eve = define(code("x", &[]), None);
    w.ask(eve, mail_of_eve);
    let evaluate =
        MailAct::Evaluate { vat: None, source: text("1"), names: vec![], paths: vec![], result_name: None };
    let (eval, _) = w.parked(w.host, mail(evaluate));
    for (act, told) in acts(eval, w.host) {
        assert_eq!(w.fault(fae, act), format!("not allowed: {told}"));
    }
}

#[test]
fn daemon_acts_are_refused_to_other_hosts() {
    let mut w = Fixture::new();
    let second = w.agent(AgentKind::Host, "second");
    let evaluate = || {
        mail(MailAct::Evaluate {
            vat: None,
            source: text("1"),
            names: vec![],
            paths: vec![],
            result_name: None,
        })
    };
    let (eval, _) = w.parked(second, evaluate());
    for (act, told) in acts(eval, w.host).into_iter().filter(|(_, told)| told.contains("daemon")) {
        assert_eq!(w.fault(second, act.clone()), format!("not allowed: {told}"));
        w.as_agent(w.host, act);
    }
}

#[test]
fn withheld_result_asks_the_host_of_the_code() {
    let mut w = Fixture::new();
    w.mount("cap");
    let host = w.host;
    let second = w.agent(AgentKind::Host, "second");
    w.as_agent(host, crate::agents::send("second", &[("cap", "cap")]));
    let Ok(kernel::command::Outcome { reply: kernel::command::Reply::Agent { agent: fae, .. }, .. }) = w
        .try_as(
            second,
            Act::Provide(ProvideAgent {
                kind: AgentKind::Guest,
                name: Some(path("fae")),
                agent_name: None,
                introduced: vec![],
            }),
        )
    else {
        panic!("an agent")
    };
    w.ask(fae, define(code("d", &[("d", kernel::Pattern::remotable("dir"))]), None));
    let number = w.last(second).number.0;
    let (eval, _) = w.parked(second, endow(number, &[("d", "@mail/0/cap")], ResultGoesTo::GuestData));
    let kernel::formula::Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    let before = w.letters(host).len();
    w.evaluated(eval, Value::remotable(endowments["d"]));
    assert_eq!(w.letters(host).len(), before, "the store's host has nothing to do with it");
    let card = w.last(second);
    assert!(card.mail.needs_you && matches!(card.body(), Some(kernel::message::Body::Release { .. })));
}
