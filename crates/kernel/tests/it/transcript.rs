//! A person's commands as messages: each answers the message that it is about, and shows its outcome.

use std::collections::BTreeMap;

use kernel::audit::RecordStatus;
use kernel::command::{Act, AgentKind, Cancel, Choice, CommandSubject, FieldValue, GrantAct, MailAct, Reply};
use kernel::event::Change;
use kernel::grant::Grant;
use kernel::message::{Body, Mail};
use kernel::outcome::{CommandOutcome, OutcomeValue};
use kernel::proposal::Decision;
use kernel::run::{ResultGoesTo, Run, RunOutcome, State, Trouble};
use kernel::{FormulaId, GrantNumber, MessageNumber, Pattern, RunNumber, Value, query, table};
use resource::Resource;

use crate::agents::{
    adopt, bind, code, define, dismiss, endow, field, form, mail, path, program_of, reject, remove, request,
    resolve, send, start, store, string, worker,
};
use crate::fixture::{Fixture, program, text};

/// Does it as a person says it.
fn say(w: &mut Fixture, actor: FormulaId, act: Act) -> Reply {
    w.try_said(actor, Some("do"), act).unwrap().reply
}

/// Returns the details of an agent's last command: the message that it answers, its run, its grant, and its outcome.
fn last_command(
    w: &mut Fixture,
    agent: FormulaId,
) -> (Option<u64>, Option<RunNumber>, Option<GrantNumber>, Option<CommandOutcome>) {
    let letters = w.letters(agent);
    let is_command = |letter: &&query::MailboxEntry| matches!(letter.body(), Some(Body::Command { .. }));
    let last = letters.iter().rev().find(is_command).expect("a command");
    let answers = last.mail.envelope.reply_to.map(|id| {
        query::number_of_message(&mut w.store, &agent, &id).unwrap().expect("a message of the same mailbox").0
    });
    let Some(Body::Command { run, grant, .. }) = last.body() else { panic!("a command") };
    (answers, *run, *grant, last.mail.outcome.clone())
}

fn done(to: Option<OutcomeValue>) -> Option<CommandOutcome> {
    Some(CommandOutcome::Done { to })
}

fn evaluate(source: &str) -> Act {
    let source = text(source);
    mail(MailAct::Evaluate { vat: None, source, names: vec![], paths: vec![], result_name: None })
}

fn failed(w: &mut Fixture, eval: FormulaId, why: &str) {
    let trouble = Trouble { code: "vat/threw".to_owned(), message: text(why), help: String::new() };
    w.apply(Act::Evaluated { eval, outcome: RunOutcome::Failed(trouble) });
}

fn parked(reply: &Reply) -> FormulaId {
    match reply {
        Reply::CodeQueued { eval, .. } => *eval,
        other => panic!("{other:?}"),
    }
}

#[test]
fn command_replies_to_its_message_with_its_outcome() {
    let mut w = Fixture::new();
    let (host, fae) = (w.host, w.guest("fae"));
    w.as_agent(host, store(string("five"), "five"));
    let submit = |number: u64| {
        let value = FieldValue::Value { value: string("x") };
        let values = BTreeMap::from([("n".to_owned(), value)]);
        mail(MailAct::Submit { number: MessageNumber(number), values })
    };
    let reply = |number: u64| {
        let number = MessageNumber(number);
        mail(MailAct::Reply { number, strings: vec![text("hello")], names: vec![], paths: vec![] })
    };
    let asks = [
        request("@host", "a number", None),
        request("@host", "another", None),
        mail(MailAct::Form(form("@host", vec![field("n", Pattern::string())]))),
        send("@host", &[("five", "@self")]),
        request("@host", "a third", None),
    ];
    let first = w.letters(host).len() as u64;
    for ask in asks {
        w.as_agent(fae, ask);
    }
    let sent = |number: u64| done(Some(OutcomeValue::Message { number: MessageNumber(number) }));
    for (act, about, came) in [
        (resolve(first, "five"), first, done(None)),
        // Somebody was first.
        (resolve(first, "five"), first, Some(CommandOutcome::NoChange)),
        (reject(first + 1, "no"), first + 1, done(None)),
        (submit(first + 2), first + 2, sent(first + 5)),
        (reply(first + 3), first + 3, sent(first + 6)),
        (adopt(first + 3, "five", "mine"), first + 3, done(None)),
        (dismiss(first + 4), first + 4, done(None)),
    ] {
        say(&mut w, host, act);
        assert_eq!(last_command(&mut w, host), (Some(about), None, None, came));
    }
    say(&mut w, host, mail(MailAct::DismissAll));
    assert!(matches!(
        last_command(&mut w, host),
        (None, None, None, Some(CommandOutcome::Done { to: Some(OutcomeValue::Dismissed { .. }) }))
    ));
    say(&mut w, host, remove("five"));
    assert_eq!(last_command(&mut w, host), (None, None, None, done(None)));
}

#[test]
fn code_outcome_stays_with_its_command_after_collection() {
    let mut w = Fixture::new();
    let host = w.host;
    let mut evals = Vec::new();
    for source in ["1 + 1", "throw Error('x')", "Far('o', {})"] {
        let reply = say(&mut w, host, evaluate(source));
        assert_eq!(last_command(&mut w, host).3, Some(CommandOutcome::Running));
        evals.push(parked(&reply));
    }
    let numbers: Vec<_> = w.letters(host).iter().rev().take(3).map(|letter| letter.number).collect();
    let mut events = w.events().len();
    w.evaluated(evals[0], Value::number(2.0));
    failed(&mut w, evals[1], "x");
    let handle = w.host_part("@self");
    // Code may come to a formula that it holds; here it comes to data without a reference.
    w.evaluated(evals[2], Value::array(vec![]));
    assert!(w.is_there(handle));
    // Nothing of the code is left.
    w.collect(1000);
    assert!(evals.iter().all(|eval| !w.is_there(*eval)));
    let of = |w: &mut Fixture, number: MessageNumber| {
        query::message(&mut w.store, &host, number).unwrap().unwrap().mail.outcome
    };
    let value = |value: Value| done(Some(OutcomeValue::Value { value }));
    assert_eq!(of(&mut w, numbers[2]), value(Value::number(2.0)));
    assert_eq!(of(&mut w, numbers[1]), Some(CommandOutcome::Failed { why: text("x") }));
    assert_eq!(of(&mut w, numbers[0]), value(Value::array(vec![])));
    // An event tells the readers of each command about its outcome.
    let mut came: Vec<_> = w.events().split_off(events).into_iter().map(|event| event.change).collect();
    came.retain(|change| matches!(change, Change::CommandCompleted { .. }));
    events = came.len();
    assert_eq!(events, 3);
    // No command waits for an outcome any more, and a dismissed command shows none.
    let rows = w.store.rows(kernel::txn::Table::Meta);
    assert!(!rows.iter().any(|(key, _)| key.windows(5).any(|part| part == b"came ")), "{rows:?}");
    w.as_agent(host, dismiss(numbers[2].0));
    assert_eq!(of(&mut w, numbers[2]), None);
}

#[test]
fn request_command_shows_the_answer() {
    let mut w = Fixture::new();
    let (host, fae) = (w.host, w.guest("fae"));
    w.as_agent(host, store(string("five"), "five"));
    let asked = |w: &mut Fixture, what: &str| {
        say(w, fae, request("@host", what, Some(what)));
        let number = w.letters(fae).iter().rev().nth(1).unwrap().number;
        assert_eq!(last_command(w, fae).3, Some(CommandOutcome::WaitingForAnswer { number: Some(number) }));
        w.last(host).number.0
    };
    let number = asked(&mut w, "a");
    w.as_agent(host, resolve(number, "five"));
    let five = done(Some(OutcomeValue::Value { value: string("five") }));
    assert_eq!(last_command(&mut w, fae).3, five);
    // The same call attaches to the answered call.
    say(&mut w, fae, request("@host", "a", Some("a")));
    assert_eq!(last_command(&mut w, fae).3, five);
    let number = asked(&mut w, "b");
    w.as_agent(host, reject(number, "not today"));
    assert_eq!(last_command(&mut w, fae).3, Some(CommandOutcome::Refused { why: text("not today") }));
}

/// The agent that asks is the one that lets the code run. The result finds no question, and the daemon collects the promise.
#[test]
fn dismissed_question_ends_its_command_while_code_runs() {
    let mut w = Fixture::new();
    let host = w.host;
    let source = text("a + b");
    say(
        &mut w,
        host,
        mail(MailAct::RequestEvaluation { source, names: vec![], paths: vec![], result_name: None }),
    );
    let number = w.letters(host).iter().rev().nth(1).unwrap().number;
    let waits = Some(CommandOutcome::WaitingForAnswer { number: Some(number) });
    assert_eq!(last_command(&mut w, host).3, waits);
    let granted = mail(MailAct::Grant { number, goes_to: ResultGoesTo::Host });
    let (eval, _) = w.parked(host, granted);
    w.as_agent(host, dismiss(number.0));
    failed(&mut w, eval, "enough");
    w.collect(1000);
    let why = text("the question was dismissed before its answer came");
    assert_eq!(last_command(&mut w, host).3, Some(CommandOutcome::Failed { why }));
    assert!(w.events().into_iter().any(|event| matches!(event.change, Change::CommandCompleted { .. })));
}

#[test]
fn endow_command_replies_to_the_proposal() {
    let mut w = Fixture::new();
    let (host, fae) = (w.host, w.guest("fae"));
    w.ask(fae, define(code("code", &[]), None));
    let number = w.last(host).number.0;
    let eval = parked(&say(&mut w, host, endow(number, &[], ResultGoesTo::Host)));
    assert_eq!(last_command(&mut w, host), (Some(number), None, None, Some(CommandOutcome::Running)));
    w.evaluated(eval, string("for the host alone"));
    let value = string("for the host alone");
    assert_eq!(last_command(&mut w, host).3, done(Some(OutcomeValue::Value { value })));
    // A worker: its run says how it stands, and goes back to the command, which goes back to the proposal.
    w.ask(fae, define(worker("w", &[]), None));
    let number = w.last(host).number.0;
    let start = Box::new(start(program_of("w"), vec![]));
    let goes_to = ResultGoesTo::Host;
    let act = MailAct::EndowWorker { number: MessageNumber(number), start, goes_to, result_name: None };
    let Reply::Started { run } = w.as_agent(host, mail(act)) else { panic!("started") };
    assert_eq!(last_command(&mut w, host), (Some(number), Some(run), None, None));
    let source = w.run(run).source;
    assert_eq!(query::message(&mut w.store, &host, source).unwrap(), Some(w.last(host)));
}

#[test]
fn ended_grant_or_run_records_the_ending_command() {
    let mut w = Fixture::new();
    let host = w.host;
    let run = w.start();
    let source = w.run(run).source;
    let given = w.last_grant(host);
    assert!(given.revoked_by.is_none());
    let revoke = Act::Grant(GrantAct::Revoke { grant: given.number });
    say(&mut w, host, revoke.clone());
    let number = w.last(host).number;
    assert_eq!(last_command(&mut w, host), (Some(source.0), None, Some(given.number), done(None)));
    assert_eq!(w.last_grant(host).revoked_by, Some(number));
    // A second time it changes nothing.
    say(&mut w, host, revoke);
    assert_eq!(last_command(&mut w, host).3, Some(CommandOutcome::NoChange));
    assert_eq!(w.last_grant(host).revoked_by, Some(number));
    // The log still tells that grants are as they were given, and that this was revoked.
    for event in w.events() {
        let kept = kernel::audit::check_record(&mut w.store, &host, &event).unwrap();
        assert!(matches!(kept, RecordStatus::Intact | RecordStatus::Uncovered), "{event:?}");
    }

    // The grant of that run is revoked, so another run calls a worker.
    let run = w.start();
    let source = w.run(run).source;
    let (step, _) = w.propose(run, "reader", "call", Decision::Allow);
    let child = match &w.run(run).open[&step] {
        kernel::run::Phase::Called { child } => *child,
        other => panic!("{other:?}"),
    };
    let cancel = || Act::Cancel { what: Cancel::Run { run }, reason: text("enough") };
    say(&mut w, host, cancel());
    let number = w.last(host).number;
    assert_eq!(last_command(&mut w, host), (Some(source.0), Some(run), None, done(None)));
    for ended in [run, child] {
        assert_eq!(w.run(ended).cancelled_by, Some(number));
    }
    say(&mut w, host, cancel());
    assert_eq!(w.run(run).cancelled_by, Some(number));
    // A name for the promised result of a run stands for the same run.
    let target = vec![bind("d", kernel::command::Target::Resource(Resource::directory("/d")), &["read"])];
    let Reply::Started { run } = w.apply(Act::Start(Box::new(start(program("w"), target)))).reply else {
        panic!("started")
    };
    let (result, source) = (w.run(run).result, w.run(run).source);
    w.give_name(host, "result", result);
    say(&mut w, host, Act::Cancel { what: Cancel::Name { path: path("result") }, reason: text("enough") });
    assert_eq!(last_command(&mut w, host), (Some(source.0), Some(run), None, done(None)));
}

#[test]
fn cancelled_run_of_another_host_records_no_command() {
    let mut w = Fixture::new();
    let sub = w.agent(AgentKind::Host, "sub");
    let act = Act::Start(Box::new(start(program("w"), vec![])));
    let Reply::Started { run } = w.as_agent(sub, act) else { panic!("started") };
    let found = table::run(&mut w.store, &sub.number, run).unwrap().unwrap();
    w.give_name(w.host, "theirs", found.id);
    let host = w.host;
    say(&mut w, host, Act::Cancel { what: Cancel::Name { path: path("theirs") }, reason: text("enough") });
    let found = table::run(&mut w.store, &sub.number, run).unwrap().unwrap();
    assert!(found.cancelled.is_some() && found.cancelled_by.is_none());
}

#[test]
fn resume_and_answer_commands_show_their_outcome() {
    let mut w = Fixture::new();
    let host = w.host;
    let run = w.start();
    let source = w.run(run).source;
    let trouble = Trouble { code: "model/refused".to_owned(), message: text("no"), help: String::new() };
    w.advance(run, vec![kernel::command::Move::Stall { trouble }]);
    assert!(matches!(w.run(run).state, State::Stalled { .. }));
    let resume = || Act::Resume { runs: vec![run], named: Some(run) };
    say(&mut w, host, resume());
    assert_eq!(last_command(&mut w, host), (Some(source.0), Some(run), None, done(None)));
    say(&mut w, host, resume());
    assert_eq!(last_command(&mut w, host).3, Some(CommandOutcome::NoChange));
    w.propose(run, "out", "write", Decision::Ask);
    let card = w.open_mail()[0];
    w.answer(card, Choice::Deny { reason: text("no") });
    assert_eq!(last_command(&mut w, host), (Some(card.0), Some(run), None, done(None)));
}

#[test]
fn refused_command_is_recorded_with_its_reason() {
    let mut w = Fixture::new();
    let (host, fae) = (w.host, w.guest("fae"));
    w.as_agent(fae, request("@host", "a number", None));
    let number = w.last(host).number;
    let run = w.start();
    let (cause, grant) = (w.run(run).source, w.last_grant(host));
    let letters = w.letters(host).len();
    for (about, expected) in [
        (CommandSubject::message(number), (Some(number.0), None, None)),
        (CommandSubject::run(run), (Some(cause.0), Some(run), None)),
        (CommandSubject::grant(grant.number), (Some(cause.0), None, Some(grant.number))),
        // An attempt is also recorded if its message or run does not exist.
        (CommandSubject::message(MessageNumber(99)), (None, None, None)),
        (CommandSubject::run(RunNumber(99)), (None, None, None)),
        (CommandSubject::default(), (None, None, None)),
    ] {
        let before = (w.run(run), w.last_grant(host));
        say(&mut w, host, Act::Refused { about, why: text("no such name") });
        let (answers, of, grant, came) = last_command(&mut w, host);
        assert_eq!((answers, of, grant), expected);
        assert_eq!(came, Some(CommandOutcome::Refused { why: text("no such name") }));
        assert_eq!((w.run(run), w.last_grant(host)), before);
    }
    assert_eq!(w.letters(host).len(), letters + 6);
    // Guests keep their refused commands as well.
    say(&mut w, fae, Act::Refused { about: CommandSubject::default(), why: text("no") });
    assert_eq!(last_command(&mut w, fae).3, Some(CommandOutcome::Refused { why: text("no") }));
}

/// Rows of a store that knew nothing of all this, and rows that need it not.
#[test]
fn older_rows_are_read_and_new_rows_omit_empty_fields() {
    let number = format!("\"{}\"", "01".repeat(32));
    let id = format!("\"{}:{}\"", "01".repeat(32), "02".repeat(32));
    let mail = format!(
        r#"{{"envelope":{{"id":{number},"kind":"command","from":{number},"to":{number},"sent_ms":1,"reply_to":null}},"message":null,"answers":{{}},"needs_you":false,"dismissed_ms":null}}"#
    );
    let command = r#"{"type":"command","verb":"run","text":"run w","run":null,"made":null}"#;
    let grant = format!(
        r#"{{"id":{id},"number":1,"target":{id},"words":"w","holder":{id},"owner":{number},"slot":"s","methods":["read"],"attenuation":{{"suffixes":[],"max_bytes":null}},"allow":[],"ask":[],"source":null,"given_ms":1,"expires_ms":null,"revoked_ms":null}}"#
    );
    let read: Mail = serde_json::from_str(&mail).unwrap();
    assert_eq!((read.outcome.clone(), serde_json::to_string(&read).unwrap()), (None, mail));
    let read: Body = serde_json::from_str(command).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), command);
    let read: Grant = serde_json::from_str(&grant).unwrap();
    assert_eq!((read.revoked_by, serde_json::to_string(&read).unwrap()), (None, grant));
    let mut w = Fixture::new();
    let run = w.start();
    let mut row = serde_json::to_value(w.run(run)).unwrap();
    assert!(row.as_object_mut().unwrap().remove("cancelled_by").is_none());
    assert_eq!(serde_json::from_value::<Run>(row).unwrap(), w.run(run));
}
