//! Helpers for the acts of agents towards each other.

use std::collections::{BTreeMap, BTreeSet};

use kernel::command::{
    Act, AgentKind, Binding, Define, Fault, Form, GrantAct, MailAct, NameAct, ProvideAgent, Reply, Send,
    Start, Target, Text,
};
use kernel::formula::Formula;
use kernel::message::{Body, Field};
use kernel::name_lookup::{PathTarget, View};
use kernel::query::MailboxEntry;
use kernel::run::{Input, Program, ResultGoesTo, RunOutcome, Shape};
use kernel::slot::Slot;
use kernel::table::PromiseRow;
use kernel::{FormulaId, MessageNumber, NamePath, Pattern, Value, query, table};
use resource::Resource;

use crate::fixture::{Fixture, env, methods, text};

pub(crate) fn path(text: &str) -> NamePath {
    NamePath::parse(text).unwrap()
}

pub(crate) fn mail(act: MailAct) -> Act {
    Act::Mail(Box::new(act))
}

pub(crate) fn string(text: &str) -> Value {
    Value::string(text)
}

pub(crate) fn record(fields: &[(&str, Value)]) -> Value {
    Value::record_from_map(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

pub(crate) fn copy(from: &str, to: &str) -> Act {
    Act::Name(NameAct::Copy { from: path(from), to: path(to) })
}

pub(crate) fn remove(name: &str) -> Act {
    Act::Name(NameAct::Remove { path: path(name) })
}

pub(crate) fn store(value: Value, name: &str) -> Act {
    Act::Name(NameAct::StoreValue { value, path: path(name) })
}

pub(crate) fn request(to: &str, what: &str, result_name: Option<&str>) -> Act {
    let result_name = result_name.map(path);
    mail(MailAct::Request { to: path(to), description: text(what), result_name })
}

pub(crate) fn resolve(number: u64, name: &str) -> Act {
    mail(MailAct::Resolve { number: MessageNumber(number), path: path(name) })
}

pub(crate) fn reject(number: u64, reason: &str) -> Act {
    mail(MailAct::Reject { number: MessageNumber(number), reason: text(reason) })
}

pub(crate) fn dismiss(number: u64) -> Act {
    mail(MailAct::Dismiss { number: MessageNumber(number) })
}

pub(crate) fn adopt(number: u64, edge: &str, name: &str) -> Act {
    mail(MailAct::Adopt { number: MessageNumber(number), edge: edge.to_owned(), path: path(name) })
}

/// Returns an act that sends the target of each name, under a name of the message.
pub(crate) fn send(to: &str, edges: &[(&str, &str)]) -> Act {
    mail(MailAct::Send(Send {
        to: path(to),
        strings: edges.iter().map(|_| text("here: ")).chain([text(".")]).collect(),
        names: edges.iter().map(|(name, _)| (*name).to_owned()).collect(),
        paths: edges.iter().map(|(_, mine)| path(mine)).collect(),
        reply_to: None,
    }))
}

pub(crate) fn slot(pattern: Pattern) -> Slot {
    Slot { label: text("what it is for"), pattern: pattern.to_value() }
}

pub(crate) fn field(name: &str, pattern: Pattern) -> Field {
    Field {
        name: name.to_owned(),
        label: text("what is meant"),
        pattern: pattern.to_value(),
        default: None,
        example: None,
        secret: false,
    }
}

pub(crate) fn code(source: &str, slots: &[(&str, Pattern)]) -> Text {
    let slots = slots.iter().map(|(name, pattern)| ((*name).to_owned(), slot(pattern.clone()))).collect();
    Text { source: text(source), worker: None, slots }
}

/// Returns the program whose worker file has this text.
pub(crate) fn program_of(source: &str) -> Program {
    let mut program = crate::fixture::program("proposed");
    program.definition = kernel::BlobHash::of(source.as_bytes());
    program
}

pub(crate) fn worker(source: &str, slots: &[(&str, Pattern)]) -> Text {
    Text { worker: Some(program_of(source)), ..code(source, slots) }
}

pub(crate) fn define(program: Text, result_name: Option<&str>) -> Act {
    mail(MailAct::Define(Define { to: path("@host"), program, result_name: result_name.map(path) }))
}

pub(crate) fn endow(number: u64, bindings: &[(&str, &str)], goes_to: ResultGoesTo) -> Act {
    let bindings: BTreeMap<_, _> =
        bindings.iter().map(|(slot, name)| ((*slot).to_owned(), path(name))).collect();
    mail(MailAct::EndowCode {
        number: MessageNumber(number),
        bindings,
        vat: None,
        goes_to,
        result_name: None,
    })
}

pub(crate) fn bind(slot: &str, target: Target, names: &[&str]) -> Binding {
    Binding {
        slot: slot.to_owned(),
        target,
        methods: methods(names),
        attenuation: Default::default(),
        allow: BTreeSet::new(),
        ask: BTreeSet::new(),
    }
}

pub(crate) fn start(worker: Program, bindings: Vec<Binding>) -> Start {
    Start {
        text: text("almoner run"),
        worker,
        shape: Shape::Single,
        private: false,
        model: "scripted:x".to_owned(),
        input: Input {
            values: record(&[]),
            attachments: vec![],
            items: vec![],
            origins: vec![],
            earlier: None,
        },
        bindings,
        key: None,
    }
}

pub(crate) fn form(to: &str, fields: Vec<Field>) -> Form {
    Form { to: path(to), description: text("please"), fields, repeatable: false, result_name: None }
}

impl Fixture {
    pub(crate) fn agent(&mut self, kind: AgentKind, name: &str) -> FormulaId {
        let provide = ProvideAgent { kind, name: Some(path(name)), agent_name: None, introduced: vec![] };
        match self.apply(Act::Provide(provide)).reply {
            Reply::Agent { agent, .. } => {
                self.agents.push(agent);
                agent
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn guest(&mut self, name: &str) -> FormulaId {
        self.agent(AgentKind::Guest, name)
    }

    /// Applies an agent's act, which must succeed.
    pub(crate) fn as_agent(&mut self, actor: FormulaId, act: Act) -> Reply {
        self.try_as(actor, act).unwrap().reply
    }

    /// Returns the fault with which an agent's act is refused.
    pub(crate) fn fault(&mut self, actor: FormulaId, act: Act) -> String {
        let before = self.store.clone();
        let fault = self.try_as(actor, act).expect_err("a fault");
        assert_eq!(self.store, before);
        fault.to_string()
    }

    /// Returns a directory of this machine that the host calls `name`.
    pub(crate) fn mount(&mut self, name: &str) -> FormulaId {
        let at = format!("/{name}");
        let run = self.apply(Act::Start(Box::new(start(
            crate::fixture::program("w"),
            vec![bind("d", Target::Resource(Resource::directory(at)), &["read", "write"])],
        ))));
        let Reply::Started { run } = run.reply else { panic!("started") };
        let grant = self.run(run).grants["d"];
        let target = table::grant(&mut self.store, &grant).unwrap().unwrap().target;
        // Only endowments make capabilities. The test gives one a name, as a host would by endowing.
        self.give_name(self.host, name, target);
        let end = kernel::command::Move::Finish { outcome: RunOutcome::Done(Value::null()) };
        self.advance(run, vec![end]);
        target
    }

    /// Puts a name into an agent's directory without asking the kernel whether the agent may.
    pub(crate) fn give_name(&mut self, agent: FormulaId, name: &str, id: FormulaId) {
        let key = [&id.number[..], b"test"].concat();
        table::save(&mut self.store, kernel::txn::Table::Held, &agent.number, &key, &true, None).unwrap();
        self.as_agent(agent, Act::Name(NameAct::StoreIdentifier { id, path: path(name) }));
        kernel::txn::Txn::delete(&mut self.store, kernel::txn::Table::Held, &agent.number, &key).unwrap();
    }

    pub(crate) fn view(&self, agent: FormulaId) -> View {
        View { agent, now_ms: env(self.ticks).now_ms() }
    }

    pub(crate) fn found(&mut self, agent: FormulaId, name: &str) -> Result<PathTarget, Fault> {
        self.view(agent).resolve(&mut self.store, &path(name))
    }

    pub(crate) fn id(&mut self, agent: FormulaId, name: &str) -> FormulaId {
        match self.found(agent, name).unwrap() {
            PathTarget::Formula(id) => id,
            PathTarget::Data(data) => panic!("{name} is {data:?}"),
        }
    }

    /// Returns the formula that a special name of the host stands for.
    pub(crate) fn host_part(&mut self, name: &str) -> FormulaId {
        self.id(self.host, name)
    }

    pub(crate) fn formula(&mut self, id: FormulaId) -> Formula {
        table::formula(&mut self.store, &id).unwrap().expect("a formula").formula
    }

    /// Returns the formula behind all grants, or why it cannot be used.
    pub(crate) fn behind(&mut self, id: FormulaId) -> Result<Formula, String> {
        let now = env(self.ticks).now_ms();
        let reached = table::reach(&mut self.store, &id).unwrap().expect("it leads somewhere");
        match reached.ended(now) {
            Some(finding) => Err(finding.rule),
            None => Ok(reached.formula),
        }
    }

    pub(crate) fn is_there(&mut self, id: FormulaId) -> bool {
        table::formula(&mut self.store, &id).unwrap().is_some()
    }

    pub(crate) fn holds(&mut self, agent: FormulaId, id: FormulaId) -> bool {
        query::holds(&mut self.store, &agent, &id).unwrap()
    }

    /// Returns the names in the hub at the end of a path; the agent's own with an empty one.
    pub(crate) fn list(&mut self, agent: FormulaId, name: &str) -> Vec<String> {
        let names: Vec<String> = match name {
            "" => vec![],
            name => path(name).names().to_vec(),
        };
        let view = self.view(agent);
        let hub = view.container(&mut self.store, &names).unwrap();
        view.list(&mut self.store, &hub).unwrap()
    }

    pub(crate) fn promise(&mut self, id: FormulaId) -> PromiseRow {
        table::promise(&mut self.store, &id).unwrap().expect("a promise")
    }

    pub(crate) fn letters(&mut self, agent: FormulaId) -> Vec<MailboxEntry> {
        query::inbox(&mut self.store, &agent, false).unwrap()
    }

    pub(crate) fn last(&mut self, agent: FormulaId) -> MailboxEntry {
        self.letters(agent).pop().expect("a message")
    }

    pub(crate) fn last_body(&mut self, agent: FormulaId) -> Body {
        self.last(agent).message.expect("it was not dismissed").body
    }

    /// Asks for something and returns the promise.
    pub(crate) fn ask(&mut self, agent: FormulaId, act: Act) -> FormulaId {
        match self.as_agent(agent, act) {
            Reply::RequestSent { promise, .. } => promise,
            other => panic!("{other:?}"),
        }
    }

    /// Endows code and returns it with the promise for its result.
    pub(crate) fn parked(&mut self, actor: FormulaId, act: Act) -> (FormulaId, FormulaId) {
        match self.as_agent(actor, act) {
            Reply::CodeQueued { eval, promise } => (eval, promise),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn evaluated(&mut self, eval: FormulaId, value: Value) -> Reply {
        self.apply(Act::Evaluated { eval, outcome: RunOutcome::Done(value) }).reply
    }

    pub(crate) fn revoke(&mut self, number: u64) -> Reply {
        let grant = kernel::GrantNumber(number);
        self.apply(Act::Grant(GrantAct::Revoke { grant })).reply
    }

    /// Returns the number of the last grant that an agent gave.
    pub(crate) fn last_grant(&mut self, agent: FormulaId) -> kernel::grant::Grant {
        query::grants(&mut self.store, &agent.number).unwrap().pop().expect("a grant")
    }

    /// Collects until nothing is left.
    pub(crate) fn collect(&mut self, budget: u32) -> u64 {
        let mut all = 0;
        for _ in 0..10_000 {
            match self.apply(Act::Collect { budget, pinned: BTreeSet::new() }).reply {
                Reply::Collected { count, done } => {
                    all += count;
                    if done {
                        return all;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        panic!("collection does not end")
    }
}
