//! The calls that agents make without a run: proposed, judged, begun and completed like the calls of workers.

use std::collections::BTreeSet;

use kernel::agent_journal::{self, CallStatus};
use kernel::code::{CodeEntry, OutcomeSubject, length};
use kernel::command::{
    Act, AgentKind, Cancel, Choice, CodeAct, Fault, Judgement, MailAct, Move, Outcome, Reply,
};
use kernel::formula::Formula;
use kernel::proposal::{Caller, Decision, Effect, Proposal, Verdict};
use kernel::provenance::{Provenance, Source};
use kernel::run::{CallSite, Completion, Origin, Phase, Run, RunOutcome, State};
use kernel::txn::Table;
use kernel::{BlobHash, FormulaId, HostRun, Number, RunNumber, StepRef, Value, query, table};

use crate::agents::{adopt, code, define, endow, mail, path, remove, send, string};
use crate::fixture::{Fixture, completion, done, text};

/// A guest that was given a directory, with the grant of it and the journal of the guest's calls.
struct Fae {
    world: Fixture,
    agent: FormulaId,
    grant: FormulaId,
    at: HostRun,
}

fn open_journal(w: &mut Fixture, agent: FormulaId) -> HostRun {
    match w.apply(Act::OpenAgentJournal { agent }).reply {
        Reply::AgentJournal { at } => at,
        other => panic!("{other:?}"),
    }
}

fn fae() -> Fae {
    let mut w = Fixture::new();
    w.mount("cap");
    let (agent, host) = (w.guest("fae"), w.host);
    w.as_agent(host, send("fae", &[("docs", "cap")]));
    w.as_agent(agent, adopt(0, "docs", "docs"));
    let grant = w.id(agent, "docs");
    let at = open_journal(&mut w, agent);
    Fae { world: w, agent, grant, at }
}

impl Fae {
    fn judgement(&self, decision: Decision, origin: Option<Origin>) -> Judgement {
        Judgement {
            site: CallSite::Direct { origin },
            proposal: Proposal {
                // The kernel does not trust these claims of the proposal.
                principal: self.world.host,
                run: RunNumber(99),
                grant: self.grant,
                slot: "docs".to_owned(),
                method: "write".to_owned(),
                args: vec![string("a.md"), string("text")],
                effect: Effect::Modify,
                caller: Caller::Code,
                pins: BTreeSet::new(),
                provenance: Provenance::default(),
                traces: vec![],
                givers: vec![],
                place: None,
            },
            verdict: Verdict { decision, findings: vec![], gates: BlobHash([7; 32]), lift: None },
        }
    }

    fn try_propose(&mut self, judgement: Judgement) -> Result<Outcome, Fault> {
        self.world.try_advance(self.at.run, vec![Move::Propose { proposals: vec![judgement] }])
    }

    fn propose(&mut self, decision: Decision) -> (StepRef, Outcome) {
        let judgement = self.judgement(decision, None);
        let outcome = self.try_propose(judgement).unwrap();
        match outcome.reply {
            Reply::Proposed { at } => (at, outcome),
            other => panic!("{other:?}"),
        }
    }

    /// Parks code of fae's own and returns it, before its end.
    fn code(&mut self) -> FormulaId {
        let (source, names, paths) = (text("1"), vec![], vec![]);
        let act = MailAct::Evaluate { vat: None, source, names, paths, result_name: Some(path("out")) };
        self.world.parked(self.agent, mail(act)).0
    }

    fn proposed(&mut self, decision: Decision, origin: Origin) -> Reply {
        let judgement = self.judgement(decision, Some(origin));
        self.try_propose(judgement).unwrap().reply
    }

    fn step_of(&mut self, origin: Origin) -> Option<StepRef> {
        agent_journal::step_of(&mut self.world.store, &self.at.host, &origin).unwrap()
    }

    fn completes(&mut self, at: StepRef) {
        let complete = Move::Complete { proposal: at.step, completion: done() };
        self.world.advance(at.run, vec![complete]);
    }

    /// Returns the number of rows that record the steps of sends.
    fn rows_of_sends(&self) -> usize {
        self.world.store.rows(Table::Meta).iter().filter(|(key, _)| key.starts_with(b"send ")).count()
    }

    fn run(&mut self) -> Run {
        self.world.run(self.at.run)
    }

    fn stands(&mut self, at: StepRef) -> CallStatus {
        agent_journal::call_status(&mut self.world.store, &self.at.host.number, at).unwrap()
    }

    /// Returns the rule by which the call was refused.
    fn refused(&mut self, at: StepRef) -> String {
        match completion(&self.world.journal(at.run), at.step) {
            Some(Completion::Refused(findings)) => findings.last().unwrap().rule.clone(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn each_agent_has_one_journal_under_its_host() {
    let mut w = Fixture::new();
    let (fae, second) = (w.guest("fae"), w.agent(AgentKind::Host, "second"));
    let host = w.host;
    let at = open_journal(&mut w, fae);
    assert_eq!(at.host, host);
    assert_eq!(open_journal(&mut w, fae), at, "it is found again");
    assert_eq!(agent_journal::journal_of(&mut w.store, &fae).unwrap(), Some(at));
    let run = w.run(at.run);
    assert_eq!((run.principal, run.worker, run.state.clone()), (Some(fae), fae, State::Waiting));
    assert!(run.is_agent_journal() && run.drive.is_none() && run.cause().is_none());
    assert_eq!(run.provenance, Provenance::of(Source::Agent(Number(fae.number))));
    // A host answers for itself.
    let at = open_journal(&mut w, second);
    assert_eq!(at.host, second);
    assert_eq!(table::run(&mut w.store, &second.number, at.run).unwrap().unwrap().principal, None);
    assert_eq!(open_journal(&mut w, host).host, host);
    for nobody in [w.host_part("@none"), w.host_part("@mail")] {
        assert!(w.try_apply(Act::OpenAgentJournal { agent: nobody }).is_err());
    }
}

#[test]
fn a_call_is_proposed_begun_and_completed_in_the_agents_name() {
    let mut fae = fae();
    let (at, outcome) = fae.propose(Decision::Allow);
    let [begun] = &outcome.begun[..] else { panic!("{:?}", outcome.begun) };
    assert_eq!((begun.step(), begun.proposal().principal), (at, fae.agent));
    assert_eq!(begun.grant().id, fae.grant);
    assert_eq!(fae.world.steps(at.run), "proposed judged effect_started");
    assert_eq!(fae.stands(at), CallStatus::Open);
    let owner = fae.at.host.number;
    let rows = query::outbox(&mut fae.world.store, &owner).unwrap();
    assert_eq!(
        rows,
        [table::Task::Effect { step: at }],
        "between the two commits it is in the outbox, and no run is driven"
    );
    let read = Provenance::of(Source::Document { name: "a.md".to_owned(), hash: BlobHash([1; 32]) });
    let outcome = Completion::Done { value: string("ok"), provenance: read };
    let complete = Move::Complete { proposal: at.step, completion: outcome.clone() };
    fae.world.advance(at.run, vec![complete.clone()]);
    assert!(fae.world.try_advance(at.run, vec![complete]).is_err(), "it completes once");
    assert_eq!(fae.stands(at), CallStatus::Completed(outcome));
    assert!(query::outbox(&mut fae.world.store, &owner).unwrap().is_empty());
    // The provenance of the journal does not grow with its calls.
    let known = Provenance::of(Source::Agent(Number(fae.agent.number)));
    assert_eq!((fae.run().provenance, fae.run().state), (known, State::Waiting));
}

#[test]
fn kernel_checks_the_grant_despite_an_allow_verdict() {
    let mut fae = fae();
    let eve = fae.world.guest("eve");
    fae.world.as_agent(fae.world.host, send("eve", &[("docs", "cap")]));
    let theirs = fae.world.letters(eve).last().map(|_| fae.world.id(eve, "@mail/0/docs")).unwrap();
    let mut foreign = fae.judgement(Decision::Allow, None);
    foreign.proposal.grant = theirs;
    let Reply::Proposed { at } = fae.try_propose(foreign).unwrap().reply else { panic!("proposed") };
    assert_eq!(fae.refused(at), "grant/held");
    // A grant among the arguments counts as well.
    let mut way = fae.judgement(Decision::Allow, None);
    way.proposal.args.push(Value::array([Value::remotable(theirs)]));
    let given = fae.world.last_grant(fae.world.host).number.0;
    let outcome = fae.try_propose(way.clone()).unwrap();
    assert_eq!(outcome.begun.len(), 1);
    fae.world.revoke(given);
    let Reply::Proposed { at } = fae.try_propose(way).unwrap().reply else { panic!("proposed") };
    assert_eq!(fae.refused(at), "grant/revoked");
    // The agent's own grant counts as well.
    let own = table::grant(&mut fae.world.store, &fae.grant.clone()).unwrap().unwrap().number.0;
    let (asked, _) = fae.propose(Decision::Ask);
    let message = *fae.world.open_mail().last().unwrap();
    fae.world.answer(message, Choice::Approve { for_run: false });
    fae.world.revoke(own);
    fae.world.advance(asked.run, vec![Move::Begin { proposal: asked.step }]);
    assert_eq!(fae.refused(asked), "grant/revoked");
    let (at, _) = fae.propose(Decision::Allow);
    assert_eq!(fae.refused(at), "grant/revoked");
}

#[test]
fn narrowed_grant_applies_to_client_and_worker_methods() {
    for (words, method, may) in [
        (&["readText"][..], "read", true),
        (&["read"], "read", true),
        (&["readText"], "list", false),
        (&["list"], "has", true),
        (&["write"], "put", true),
        (&["writeText"], "append", false),
        (&["write"], "append", true),
        (&["write"], "remove", false),
        (&["remove"], "remove", true),
        (&["write"], "burn", false),
    ] {
        let mut fae = fae();
        let act = kernel::command::GrantAct::Attenuate {
            is: None,
            expires_ms: None,
            force: false,
            path: path("cap"),
            methods: words.iter().map(|word| (*word).to_owned()).collect(),
            attenuation: Default::default(),
            to: path("less"),
        };
        let host = fae.world.host;
        fae.world.as_agent(host, Act::Grant(act));
        fae.world.as_agent(host, send("fae", &[("less", "less")]));
        fae.grant = fae.world.id(fae.agent, "@mail/1/less");
        let mut judgement = fae.judgement(Decision::Allow, None);
        judgement.proposal.method = method.to_owned();
        let begun = fae.try_propose(judgement).unwrap().begun.len();
        assert_eq!(begun, usize::from(may), "{words:?} {method}");
    }
}

#[test]
fn endowed_grant_is_used_by_the_host_and_the_code() {
    let mut fae = fae();
    let (host, agent) = (fae.world.host, fae.agent);
    let program = code("d", &[("d", kernel::Pattern::remotable("dir"))]);
    fae.world.ask(agent, define(program, None));
    let number = fae.world.last(host).number.0;
    let (eval, _) =
        fae.world.parked(host, endow(number, &[("d", "cap")], kernel::run::ResultGoesTo::GuestData));
    let Formula::Eval { endowments, .. } = fae.world.formula(eval) else { panic!("an eval") };
    // The promise of endowed code is its host's, so the host is who acts.
    fae.grant = endowments["d"];
    let (at, _) = fae.propose(Decision::Allow);
    assert_eq!(fae.refused(at), "grant/held", "what the host had run is not the guest's");
    fae.at = open_journal(&mut fae.world, host);
    assert_eq!(fae.propose(Decision::Allow).1.begun.len(), 1);
    // The calls of the code itself are in a journal of its own, and its host answers for it.
    let of_code = open_journal(&mut fae.world, eval);
    assert_eq!((of_code.host, of_code == fae.at), (host, false));
    fae.at = of_code;
    assert_eq!(fae.run().principal, Some(eval));
    assert_eq!(fae.propose(Decision::Allow).1.begun.len(), 1);
}

#[test]
fn asked_call_waits_for_the_host_and_then_continues() {
    let mut fae = fae();
    let (at, outcome) = fae.propose(Decision::Ask);
    assert!(outcome.begun.is_empty() && outcome.ready.is_empty());
    assert_eq!(fae.run().state, State::Waiting);
    let message = *fae.world.open_mail().last().unwrap();
    // A journal that does not end has no permission for its whole duration.
    let lasting = fae.world.answer_some(message, None, Choice::Approve { for_run: true });
    assert!(matches!(lasting, Err(Fault::WrongKind { .. })), "{lasting:?}");
    let answered = fae.world.answer_some(message, None, Choice::Approve { for_run: false }).unwrap();
    assert_eq!(answered.ready, [fae.at], "somebody is to drive it");
    assert_eq!(fae.run().state, State::Ready);
    // Later steps of others do not keep the journal from resting, and an approved call does.
    let suspend = |seen| Move::Suspend { seen, why: "nothing is left to do".to_owned() };
    assert_eq!(fae.world.advance(at.run, vec![suspend(0)]).reply, Reply::NotSuspended);
    let begun = fae.world.advance(at.run, vec![Move::Begin { proposal: at.step }]).begun;
    assert_eq!(begun.len(), 1);
    assert_eq!(fae.world.advance(at.run, vec![suspend(0)]).reply, Reply::Done);
    assert_eq!(fae.run().state, State::Waiting);
    fae.world.advance(at.run, vec![Move::Complete { proposal: at.step, completion: done() }]);
    assert_eq!(fae.stands(at), CallStatus::Completed(done()));
    // A no ends it.
    let (at, _) = fae.propose(Decision::Ask);
    let message = *fae.world.open_mail().last().unwrap();
    fae.world.answer(message, Choice::Deny { reason: text("not now") });
    assert_eq!(fae.refused(at), "host/denied");
}

#[test]
fn restated_call_is_found_under_its_new_step() {
    let mut fae = fae();
    let (at, _) = fae.propose(Decision::Ask);
    let message = *fae.world.open_mail().last().unwrap();
    fae.world.answer(message, Choice::Approve { for_run: false });
    let mut judgement = fae.judgement(Decision::Allow, None);
    let digest = Some(BlobHash([3; 32]));
    judgement.proposal.pins =
        BTreeSet::from([kernel::proposal::Pin { kind: "file".to_owned(), name: "a.md".to_owned(), digest }]);
    fae.world.advance(at.run, vec![Move::Restate { proposal: at.step, judgement: Box::new(judgement) }]);
    let CallStatus::Reproposed(new) = fae.stands(at) else { panic!("{:?}", fae.stands(at)) };
    assert_eq!(fae.stands(new), CallStatus::Open);
    assert!(matches!(fae.run().open.get(&new.step), Some(Phase::AwaitingApproval { .. })));
}

#[test]
fn repeated_send_returns_its_first_step() {
    let mut fae = fae();
    let eval = fae.code();
    let origin = |send| Some(Origin { eval, send });
    let (first, second) = (origin(0), origin(1));
    let judgement = fae.judgement(Decision::Allow, first);
    let outcome = fae.try_propose(judgement).unwrap();
    let Reply::Proposed { at } = outcome.reply else { panic!("{:?}", outcome.reply) };
    let before = fae.world.steps(at.run);
    for decision in [Decision::Allow, Decision::Deny] {
        let mut again = fae.judgement(decision, first);
        again.proposal.args[1] = string("other words");
        let outcome = fae.try_propose(again).unwrap();
        assert_eq!(outcome.reply, Reply::AlreadyProposed { at });
        assert!(outcome.begun.is_empty());
        assert_eq!(fae.world.steps(at.run), before);
    }
    assert_eq!(
        agent_journal::step_of(&mut fae.world.store, &fae.at.host, &first.unwrap()).unwrap(),
        Some(at)
    );
    let judgement = fae.judgement(Decision::Allow, second);
    assert_eq!(fae.try_propose(judgement).unwrap().begun.len(), 1, "another send is another call");
}

#[test]
fn send_refused_by_a_concurrent_change_can_be_repeated() {
    let mut fae = fae();
    let origin = Some(Origin { eval: fae.code(), send: 0 });
    let ends = |rule: &str| Completion::Refused(vec![kernel::proposal::Finding::new(rule, "no")]);
    for (rule, is_new) in
        [(agent_journal::CHANGED, true), (agent_journal::CHANGED, true), ("mount/size", false)]
    {
        let judgement = fae.judgement(Decision::Allow, origin);
        let Reply::Proposed { at } = fae.try_propose(judgement).unwrap().reply else { panic!("proposed") };
        let complete = Move::Complete { proposal: at.step, completion: ends(rule) };
        fae.world.advance(fae.at.run, vec![complete]);
        if !is_new {
            let judgement = fae.judgement(Decision::Allow, origin);
            assert_eq!(fae.try_propose(judgement).unwrap().reply, Reply::AlreadyProposed { at }, "{rule}");
        }
    }
}

#[test]
fn send_step_is_known_until_finished_and_recorded() {
    let mut fae = fae();
    let eval = fae.code();
    let origin = |send| Origin { eval, send };
    let heard = |send| {
        let (of, outcome) = (OutcomeSubject::Send(send), "{}".to_owned());
        CodeEntry::Heard { of, outcome, bound: vec![] }
    };
    let record = |fae: &mut Fae, entry: CodeEntry| {
        let from = length(&mut fae.world.store, &eval).unwrap();
        fae.world.apply(Act::Code(CodeAct::Record { eval, from, entries: vec![entry] }))
    };
    let mut steps = Vec::new();
    for send in 0..4 {
        let Reply::Proposed { at } = fae.proposed(Decision::Allow, origin(send)) else { panic!("{send}") };
        steps.push(at);
    }
    let known =
        |fae: &mut Fae| (0..4).filter(|send| fae.step_of(origin(*send)).is_some()).collect::<Vec<_>>();
    // Send 0 is over, and its answer is not recorded: it may be asked for again. The answer of send 1 is recorded,
    // and the send is not over: a query still finds it.
    fae.completes(steps[0]);
    record(&mut fae, heard(1));
    assert_eq!(known(&mut fae), [0, 1, 2, 3]);
    assert_eq!(fae.proposed(Decision::Allow, origin(0)), Reply::AlreadyProposed { at: steps[0] });
    // Both.
    record(&mut fae, heard(0));
    assert_eq!(known(&mut fae), [1, 2, 3]);
    // The code comes to its end: finished sends are forgotten, and no new send is noted.
    fae.completes(steps[1]);
    fae.completes(steps[2]);
    assert_eq!(known(&mut fae), [1, 2, 3]);
    fae.world.evaluated(eval, Value::null());
    assert_eq!(known(&mut fae), [3]);
    assert!(matches!(fae.proposed(Decision::Allow, origin(7)), Reply::Proposed { .. }));
    assert_eq!(fae.rows_of_sends(), 1);
    // It is collected, and nothing is left of it.
    let agent = fae.agent;
    fae.world.as_agent(agent, remove("out"));
    fae.world.collect(1_000);
    assert_eq!(fae.rows_of_sends(), 0);
    assert_eq!(fae.stands(steps[3]), CallStatus::Open, "what it had begun goes on");
}

#[test]
fn agent_journal_refuses_run_moves() {
    let mut fae = fae();
    let finish = Move::Finish { outcome: RunOutcome::Done(Value::null()) };
    let prompt = Move::Prompt { request: BlobHash([1; 32]), model: "m".to_owned() };
    let mut of_a_model = fae.judgement(Decision::Allow, None);
    of_a_model.site = CallSite::Write { index: 0 };
    let one = fae.judgement(Decision::Allow, None);
    for wrong in [
        finish,
        prompt,
        Move::Spawn { index: 0 },
        Move::Propose { proposals: vec![of_a_model] },
        Move::Propose { proposals: vec![one.clone(), one.clone()] },
        Move::Propose { proposals: vec![] },
    ] {
        let told = fae.world.try_advance(fae.at.run, vec![wrong.clone()]);
        assert!(matches!(told, Err(Fault::OutOfOrder { .. })), "{wrong:?}: {told:?}");
    }
    // Nor is a journal started like a run.
    let mut start = crate::agents::start(crate::fixture::program("clerk"), vec![]);
    start.shape = kernel::run::Shape::AgentJournal;
    assert!(fae.world.try_apply(Act::Start(Box::new(start))).is_err());
}

#[test]
fn cancelling_refuses_waiting_calls_and_keeps_the_journal() {
    let mut fae = fae();
    let (begun, _) = fae.propose(Decision::Allow);
    let (asked, _) = fae.propose(Decision::Ask);
    let (approved, _) = fae.propose(Decision::Ask);
    let message = *fae.world.open_mail().last().unwrap();
    fae.world.answer(message, Choice::Approve { for_run: false });
    let cancel = Act::Cancel { what: Cancel::Run { run: fae.at.run }, reason: text("enough") };
    fae.world.apply(cancel);
    assert_eq!((fae.refused(asked), fae.refused(approved)), ("run/cancelled".into(), "run/cancelled".into()));
    assert!(fae.world.open_mail().is_empty());
    assert_eq!(fae.world.store.count(Table::Permission), 0);
    assert!(fae.run().cancelled.is_none() && !fae.run().is_finished());
    fae.world.advance(begun.run, vec![Move::Complete { proposal: begun.step, completion: done() }]);
    assert_eq!(fae.propose(Decision::Allow).1.begun.len(), 1);
}

#[test]
fn agent_journal_ends_with_its_agent() {
    let mut fae = fae();
    let (begun, _) = fae.propose(Decision::Allow);
    let (asked, _) = fae.propose(Decision::Ask);
    let (agent, host) = (fae.agent, fae.world.host);
    fae.world.collect(10_000);
    let id = fae.run().id;
    assert!(fae.world.is_there(agent) && fae.world.is_there(id));
    // Besides its name for the guest, the host has only the mail that it sent to the guest.
    fae.world.as_agent(host, remove("fae"));
    fae.world.as_agent(host, mail(kernel::command::MailAct::DismissAll));
    fae.world.collect(10_000);
    fae.world.collect(10_000);
    assert!(!fae.world.is_there(agent), "a call that waits keeps nobody");
    let run = fae.run();
    assert!(run.is_finished() && run.open.is_empty() && !fae.world.is_there(run.id));
    assert_eq!(fae.refused(asked), "run/cancelled");
    assert!(
        matches!(fae.stands(begun), CallStatus::Completed(Completion::Failed(finding)) if finding.rule == "effect/unknown")
    );
    assert!(query::outbox(&mut fae.world.store, &host.number).unwrap().is_empty());
    assert_eq!(agent_journal::journal_of(&mut fae.world.store, &agent).unwrap(), None);
    // The journal can still be read.
    assert!(fae.world.steps(begun.run).starts_with("proposed judged effect_started"));
}

#[test]
fn open_questions_of_an_agent_are_limited() {
    let mut fae = fae();
    for _ in 0..200 {
        fae.propose(Decision::Ask);
    }
    let (at, _) = fae.propose(Decision::Ask);
    assert_eq!(fae.refused(at), "standing/many");
    assert_eq!(fae.world.open_mail().len(), 200);
    assert_eq!(fae.propose(Decision::Allow).1.begun.len(), 1, "what needs no answer goes on");
}
