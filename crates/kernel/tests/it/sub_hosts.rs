//! Hosts that a host made: their runs are theirs, beside those of the store's own host.

use std::collections::BTreeSet;

use kernel::command::{
    Act, Advance, AgentKind, AnswerApproval, Cancel, Choice, Fault, Judgement, MailAct, Move, Outcome,
    ProvideAgent, Reply, Start, Target,
};
use kernel::message::Body;
use kernel::proposal::{Caller, Decision, Effect, Proposal, Verdict};
use kernel::provenance::{Provenance, Source};
use kernel::run::{CallSite, Completion, ResultGoesTo, Run, RunOutcome, State};
use kernel::table::{PromiseRow, Task};
use kernel::{BlobHash, FormulaId, HostRun, MessageNumber, Number, Pattern, RunNumber, query, table};
use resource::Resource;

use crate::agents::{adopt, bind, define, mail, path, program_of, remove, send, start, string, worker};
use crate::fixture::{Fixture, completion, done, text};

/// Returns a store with a host `bob` who has a guest `fae`.
fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let bob = w.agent(AgentKind::Host, "bob");
    let provide = ProvideAgent {
        kind: AgentKind::Guest,
        name: Some(path("fae")),
        agent_name: None,
        introduced: vec![],
    };
    let Reply::Agent { agent: fae, .. } = w.as_agent(bob, Act::Provide(provide)) else { panic!("an agent") };
    w.agents.push(fae);
    (w, bob, fae)
}

fn out() -> Target {
    Target::Resource(Resource::directory("/out"))
}

/// Returns a start of a clerk whose slot `out` is bound to this.
fn clerk(target: Target) -> Start {
    start(program_of("clerk"), vec![bind("out", target, &["read", "write"])])
}

fn started(w: &mut Fixture, actor: FormulaId, act: Act) -> RunNumber {
    match w.as_agent(actor, act) {
        Reply::Started { run } => run,
        other => panic!("{other:?}"),
    }
}

fn run(w: &mut Fixture, host: FormulaId, run: RunNumber) -> Run {
    table::run(&mut w.store, &host.number, run).unwrap().unwrap()
}

fn advance(w: &mut Fixture, host: FormulaId, run: RunNumber, moves: Vec<Move>) -> Outcome {
    w.try_as(host, Act::Advance(Advance { run, moves })).unwrap()
}

/// Proposes to write, through a run of any host's, and returns the step.
fn propose(w: &mut Fixture, host: FormulaId, number: RunNumber, decision: Decision) -> u64 {
    let Run { grants, next_step, .. } = run(w, host, number);
    let proposal = Proposal {
        // Whose run it is says who proposes, and not the proposal.
        principal: w.host,
        run: number,
        grant: grants["out"],
        slot: "out".to_owned(),
        method: "write".to_owned(),
        args: vec![string("a.md"), string("text")],
        effect: Effect::Modify,
        caller: Caller::Model,
        pins: BTreeSet::new(),
        provenance: Provenance::host(),
        traces: vec![],
        givers: vec![],
        place: None,
    };
    let verdict = Verdict { decision, findings: vec![], gates: BlobHash([7; 32]), lift: None };
    let judgement = Judgement { site: CallSite::Write { index: 0 }, proposal, verdict };
    advance(w, host, number, vec![Move::Propose { proposals: vec![judgement] }]);
    next_step
}

fn finish(w: &mut Fixture, host: FormulaId, number: RunNumber) -> Outcome {
    advance(w, host, number, vec![Move::Finish { outcome: RunOutcome::Done(string("kept")) }])
}

#[test]
fn hosts_are_listed_root_first_until_forgotten() {
    let mut w = Fixture::new();
    let root = w.host;
    w.guest("fae");
    let mut expected = vec![root];
    assert_eq!(table::hosts(&mut w.store).unwrap(), expected);
    let (bob, carl) = (w.agent(AgentKind::Host, "bob"), w.agent(AgentKind::Host, "carl"));
    assert_eq!(w.agent(AgentKind::Host, "bob"), bob);
    expected.extend([bob, carl]);
    expected[1..].sort();
    assert_eq!(table::hosts(&mut w.store).unwrap(), expected);
    w.as_agent(root, remove("carl"));
    w.collect(64);
    assert_eq!(table::hosts(&mut w.store).unwrap(), [root, bob]);
}

#[test]
fn runs_of_two_hosts_with_one_number_are_independent() {
    let (mut w, bob, _) = world();
    let root = w.host;
    let first = started(&mut w, root, Act::Start(Box::new(clerk(out()))));
    let second = started(&mut w, bob, Act::Start(Box::new(clerk(out()))));
    assert_eq!((first, second), (RunNumber(1), RunNumber(1)));
    let (one, two) = (run(&mut w, root, first), run(&mut w, bob, second));
    assert_ne!(one.id, two.id);
    for host in [root, bob] {
        let expected = [Task::Drive { run: first }];
        assert_eq!(query::outbox(&mut w.store, &host.number).unwrap(), expected);
        let ready = w.try_as(host, Act::Recover).unwrap().ready;
        assert_eq!(ready, [HostRun { host, run: first }], "each is taken up for its host");
    }
    // Begun effects, questions and answers stay with the host of the run.
    let root_before = (run(&mut w, root, first), w.letters(root).len(), w.events().len());
    let step = propose(&mut w, bob, second, Decision::Ask);
    let card = w.last(bob);
    assert!(card.mail.needs_you && matches!(card.body(), Some(Body::Approval { run, .. }) if *run == second));
    let yes = |message| {
        let choice = Choice::Approve { for_run: false };
        Act::Answer(AnswerApproval { text: text("yes"), message, entries: None, choice, addition: None })
    };
    assert!(w.try_as(root, yes(card.number)).is_err(), "nobody answers in somebody else's mailbox");
    w.as_agent(bob, yes(card.number));
    let begun = advance(&mut w, bob, second, vec![Move::Begin { proposal: step }]).begun;
    assert_eq!(begun[0].proposal().principal, bob);
    let reopened = kernel::reopen(&mut w.store, &bob, begun[0].step()).unwrap();
    assert!(reopened.is_some_and(|begun| begun.reopened()));
    assert!(kernel::reopen(&mut w.store, &root, begun[0].step()).unwrap().is_none());
    advance(&mut w, bob, second, vec![Move::Complete { proposal: step, completion: done() }]);
    finish(&mut w, bob, second);
    assert_eq!((run(&mut w, root, first), w.letters(root).len(), w.events().len()), root_before);
    assert!(query::outbox(&mut w.store, &bob.number).unwrap().is_empty());
    finish(&mut w, root, first);
}

#[test]
fn sub_host_run_result_goes_to_the_proposing_guest() {
    let (mut w, bob, fae) = world();
    let promise = w.ask(fae, define(worker("clerk", &[("out", Pattern::remotable("dir"))]), None));
    let number = w.last(bob).number;
    let goes_to = ResultGoesTo::GuestData;
    let endow = MailAct::EndowWorker { number, start: Box::new(clerk(out())), goes_to, result_name: None };
    let number = started(&mut w, bob, mail(endow));
    assert!(run(&mut w, bob, number).provenance.sources.contains(&Source::Agent(Number(fae.number))));
    finish(&mut w, bob, number);
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("kept") });
    assert!(w.letters(w.host).iter().all(|letter| letter.mail.envelope.kind == "command"));
}

#[test]
fn content_of_another_host_is_untrusted() {
    let (mut w, bob, _) = world();
    let root = w.host;
    let slots = [("out", Pattern::remotable("dir"))];
    for edited in [false, true] {
        w.ask(bob, define(worker("clerk", &slots), None));
        let mut number = w.last(root).number;
        if edited {
            let edit = MailAct::Edit { number, program: worker("clerk", &slots) };
            let Reply::Sent { number: posted } = w.as_agent(root, mail(edit)) else { panic!("sent") };
            number = posted;
        }
        let goes_to = ResultGoesTo::Host;
        let endow =
            MailAct::EndowWorker { number, start: Box::new(clerk(out())), goes_to, result_name: None };
        let number = started(&mut w, root, mail(endow));
        let provenance = run(&mut w, root, number).provenance;
        assert!(provenance.sources.contains(&Source::Agent(Number(bob.number))), "{provenance:?}");
        assert!(provenance.is_untrusted());
    }
    // A host's words to itself are its own.
    let number = started(&mut w, bob, Act::Start(Box::new(clerk(out()))));
    assert!(!run(&mut w, bob, number).provenance.is_untrusted());
}

#[test]
fn grant_to_a_host_can_be_revoked_during_its_run() {
    let (mut w, bob, _) = world();
    let root = w.host;
    w.mount("cap");
    w.as_agent(root, send("bob", &[("cap", "cap")]));
    let grant = w.last_grant(root).number;
    let letter = w.last(bob).number;
    w.as_agent(bob, adopt(letter.0, "cap", "mine"));
    let number = started(&mut w, bob, Act::Start(Box::new(clerk(Target::Named { path: path("mine") }))));
    let begun = propose(&mut w, bob, number, Decision::Allow);
    w.revoke(grant.0);
    let refused = propose(&mut w, bob, number, Decision::Allow);
    let steps = query::journal(&mut w.store, &bob.number, number, 1).unwrap();
    let Some(Completion::Refused(findings)) = completion(&steps, refused) else { panic!("refused") };
    assert_eq!(findings[0].rule, "grant/revoked");
    advance(&mut w, bob, number, vec![Move::Complete { proposal: begun, completion: done() }]);
    finish(&mut w, bob, number);
}

/// Returns a run of each host on one directory of the store's own host, which that host calls `cap`.
fn on_one_directory() -> (Fixture, FormulaId, [RunNumber; 2]) {
    let (mut w, bob, _) = world();
    let root = w.host;
    w.mount("cap");
    w.as_agent(root, send("bob", &[("cap", "cap")]));
    let letter = w.last(bob).number;
    w.as_agent(bob, adopt(letter.0, "cap", "cap"));
    let runs = [root, bob].map(|host| {
        let named = Target::Named { path: path("cap") };
        started(&mut w, host, Act::Start(Box::new(clerk(named))))
    });
    (w, bob, runs)
}

fn cancel(what: Cancel) -> Act {
    Act::Cancel { what, reason: text("enough") }
}

fn is_cancelled(w: &mut Fixture, host: FormulaId, number: RunNumber) -> bool {
    match run(w, host, number).state {
        State::Finished { outcome: RunOutcome::Failed(trouble) } => trouble.code == "run/cancelled",
        _ => false,
    }
}

#[test]
fn host_cancels_its_own_runs_and_root_cancels_all() {
    let by_name = || cancel(Cancel::Name { path: path("cap") });
    let (mut w, bob, [mine, his]) = on_one_directory();
    let root = w.host;
    w.as_agent(bob, by_name());
    assert!(is_cancelled(&mut w, bob, his) && !is_cancelled(&mut w, root, mine));

    let (mut w, bob, [mine, his]) = on_one_directory();
    // A run with a begun effect goes on until the effect completes, and its driver is told which host it belongs to.
    let begun = propose(&mut w, bob, his, Decision::Allow);
    let root = w.host;
    let events = w.events().len();
    let trouble = kernel::run::Trouble { code: "x".to_owned(), message: text("x"), help: String::new() };
    advance(&mut w, bob, his, vec![Move::Stall { trouble }]);
    let outcome = w.try_as(root, by_name()).unwrap();
    assert_eq!(outcome.ready, [HostRun { host: bob, run: his }]);
    assert!(is_cancelled(&mut w, root, mine) && !is_cancelled(&mut w, bob, his));
    advance(&mut w, bob, his, vec![Move::Complete { proposal: begun, completion: done() }]);
    assert!(is_cancelled(&mut w, bob, his));
    assert!(w.events().len() > events, "who cancels has an event of it");
    let ended = query::events(&mut w.store, &bob.number, 0, usize::MAX).unwrap();
    let ended =
        ended.iter().filter(|event| matches!(event.change, kernel::event::Change::RunFinished { .. }));
    assert_eq!(ended.count(), 1, "the host whose run it was reads of its end, once");

    // A number is one's own.
    let (mut w, bob, [mine, his]) = on_one_directory();
    let root = w.host;
    w.as_agent(bob, cancel(Cancel::Run { run: his }));
    assert!(is_cancelled(&mut w, bob, his) && !is_cancelled(&mut w, root, mine));
    assert!(matches!(w.try_as(bob, cancel(Cancel::Run { run: mine })), Err(Fault::NoRun(_))));
}

#[test]
fn forgotten_host_stays_until_its_work_ends() {
    let (mut w, bob, fae) = world();
    let root = w.host;
    let number = started(&mut w, bob, Act::Start(Box::new(clerk(out()))));
    let Run { id, worker, grants, .. } = run(&mut w, bob, number);
    w.as_agent(root, remove("bob"));
    w.collect(64);
    for id in [bob, fae, id, worker, grants["out"]] {
        assert!(w.is_there(id));
    }
    assert_eq!(table::hosts(&mut w.store).unwrap(), [root, bob], "its work is found after a restart");
    assert_eq!(w.try_as(bob, Act::Recover).unwrap().ready, [HostRun { host: bob, run: number }]);
    finish(&mut w, bob, number);
    w.collect(64);
    for id in [bob, fae, id, worker, grants["out"]] {
        assert!(!w.is_there(id));
    }
    assert_eq!(table::hosts(&mut w.store).unwrap(), [root]);
    let journal = query::journal(&mut w.store, &bob.number, number, 1).unwrap();
    assert!(!journal.is_empty(), "what it did is a record");
}

#[test]
fn message_number_is_valid_only_in_its_mailbox() {
    let (mut w, bob, fae) = world();
    w.ask(fae, define(worker("clerk", &[]), None));
    let number = w.last(bob).number;
    let start = Box::new(start(program_of("clerk"), vec![]));
    let goes_to = ResultGoesTo::Host;
    let endow =
        |number| mail(MailAct::EndowWorker { number, start: start.clone(), goes_to, result_name: None });
    let fault = w.fault(w.host, endow(number));
    assert!(fault.starts_with(&format!("message {number} is a ")) || fault.contains("no message"), "{fault}");
    assert!(w.fault(w.host, endow(MessageNumber(99))).contains("no message"));
    started(&mut w, bob, endow(number));
}
