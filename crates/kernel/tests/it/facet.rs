//! Endo's method surface: the result of every method, against a store.

use std::collections::{BTreeMap, BTreeSet};

use kernel::command::{Binding, Command, Start, Target};
use kernel::facet::{self, Facet, Follow, Foreign, Live, ModulesIn, Need, Plan, Planning, Refusal, Support};
use kernel::formula::{Sealed, Tree};
use kernel::modules::Modules;
use kernel::name_lookup::View;
use kernel::run::{Input, Shape};
use kernel::{BlobHash, FormulaId, MessageNumber, NamePath, Pattern, Value, table};

use crate::fixture::{env, methods, program, text};
use crate::map_store::MapStore;

mod files;
mod surface;
mod table_of_calls;

/// A store with a host and its guest `fae`, and the labels that replace identifiers in texts.
struct FacetFixture {
    store: MapStore,
    ticks: u64,
    host: FormulaId,
    fae: FormulaId,
    labels: Vec<String>,
    /// The interfaces and methods that were called and not refused for their names.
    called: BTreeSet<(&'static str, String)>,
    /// The plans that calls led to: the interface, the method, and the sort of plan.
    planned: BTreeSet<(&'static str, String, &'static str)>,
}

impl FacetFixture {
    fn new() -> FacetFixture {
        let mut store = MapStore::default();
        let host = kernel::genesis(&mut store, &env(0)).unwrap();
        let mut desk = FacetFixture {
            store,
            ticks: 0,
            host,
            fae: host,
            labels: vec![],
            called: BTreeSet::new(),
            planned: BTreeSet::new(),
        };
        let made = desk.call("host", "", "provideGuest", r#"["fae", {agentName: "fae-agent"}]"#);
        assert!(made.starts_with("remotable("), "{made}");
        desk.fae = desk.id(host, "fae-agent");
        desk.labels.clear();
        desk.called.clear();
        desk.planned.clear();
        desk
    }

    fn view(&self, agent: FormulaId) -> View {
        View { agent, now_ms: env(self.ticks).now_ms() }
    }

    fn id(&mut self, agent: FormulaId, path: &str) -> FormulaId {
        self.view(agent).identify(&mut self.store, &NamePath::parse(path).unwrap()).unwrap()
    }

    fn agent(&self, who: &str) -> FormulaId {
        match who {
            "host" => self.host,
            "fae" => self.fae,
            other => panic!("{other}"),
        }
    }

    /// Returns the arguments: `$ref PATH`, `$id PATH` and `$loc PATH` stand for the target of the path, `$pattern
    /// PATTERN` for a pattern.
    fn arguments(&mut self, agent: FormulaId, text: &str) -> Vec<Value> {
        let value = Value::parse(text).unwrap();
        value.as_array().unwrap().iter().map(|value| self.fill(agent, value)).collect()
    }

    fn fill(&mut self, agent: FormulaId, value: &Value) -> Value {
        match value {
            Value::Record(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), self.fill(agent, value)));
                Value::record(fields.collect::<Vec<_>>()).unwrap()
            }
            Value::Array(all) => {
                Value::array(all.iter().map(|value| self.fill(agent, value)).collect::<Vec<_>>())
            }
            Value::String(_) => match value.as_str().and_then(|text| text.split_once(' ')) {
                Some(("$ref", path)) => Value::remotable(self.id(agent, path)),
                // The locator of an object that the host shares, with the only token that is ever drawn here.
                Some(("$token", path)) => {
                    let id = self.id(self.host, path);
                    let locator = facet::Locator::from_formula(&mut self.store, &id).unwrap();
                    let token = Some(kernel::id::Number([7; 32]));
                    Value::string(facet::Locator { token, ..locator }.to_string())
                }
                Some(("$pattern", pattern)) => Pattern::parse(pattern).unwrap().to_value(),
                Some(("$error", message)) => Value::error("Error", message),
                Some(("$id", path)) => Value::string(self.id(agent, path).to_string()),
                Some(("$loc", path)) => {
                    let id = self.id(agent, path);
                    Value::string(facet::Locator::from_formula(&mut self.store, &id).unwrap().to_string())
                }
                _ => value.clone(),
            },
            _ => value.clone(),
        }
    }

    /// Calls a method of the target of a path, or of the agent itself if the path is empty, and carries out the plan.
    fn call(&mut self, who: &str, target: &str, method: &str, args: &str) -> String {
        let agent = self.agent(who);
        let target = if target.is_empty() { agent } else { self.id(agent, target) };
        let args = self.arguments(agent, args);
        let reached = table::reach(&mut self.store, &target).unwrap().unwrap();
        let facet = facet::facet(reached.formula.kind());
        if facet.methods.contains_key(method) {
            self.called.insert((facet.name, method.to_owned()));
        }
        let view = self.view(agent);
        let before = self.store.clone();
        let plan = facet::plan(&mut self.store, &view, &target, method, &args);
        assert_eq!(self.store, before, "planning changes nothing");
        if let Ok(plan) = &plan {
            let came_to = match plan {
                Plan::Act(_) => "command",
                Plan::Need(need) if matches!(**need, Need::Files(_)) => "files",
                _ => "other",
            };
            self.planned.insert((facet.name, method.to_owned(), came_to));
        }
        let said = plan.and_then(|plan| self.carry_out(plan));
        let said = said.unwrap_or_else(|refusal| format!("{}: {refusal}", refusal.class()));
        self.labelled(&said)
    }

    fn carry_out(&mut self, plan: Plan) -> Result<String, Refusal> {
        let (said, action) = match plan {
            Plan::Value(value) => return Ok(format!("{value:?}")),
            Plan::Through { value, through } => {
                return Ok(format!("{value:?} through {} grants", through.len()));
            }
            Plan::Live(value) => return Ok(format!("{:?}", value.map_references(&mut shown))),
            Plan::Act(action) => (String::new(), *action),
            Plan::Need(need) => match *need {
                Need::Bytes { bytes, next } => (format!("{} bytes, ", bytes.len()), *next),
                Need::Read { bytes, read_as, .. } => return Ok(format!("read {bytes} bytes as {read_as:?}")),
                Need::Seal(seal) => {
                    let sealed =
                        |_| Sealed { method: "test".to_owned(), nonce: String::new(), bytes: String::new() };
                    let secrets = seal.secrets.iter().map(|(name, secret)| (name.clone(), sealed(secret)));
                    let secrets: BTreeMap<_, _> = secrets.collect();
                    let said = format!("seal {:?}, ", secrets.keys().collect::<Vec<_>>());
                    (said, seal.with(secrets)?)
                }
                Need::Deliver(to) => {
                    return Ok(format!("deliver to {} through {} grants", to.number, to.through.len()));
                }
                Need::Token(draw) => ("draw, ".to_owned(), draw.with([7; 32])),
                Need::ParseWorker(parse) => {
                    let name = parse.source().raw().lines().nth(1).unwrap_or_default().to_owned();
                    let mut worker = program("clerk");
                    worker.definition = BlobHash::of(parse.source().raw().as_bytes());
                    (format!("parse {name:?}, "), parse.with(worker, BTreeMap::new()))
                }
                Need::StartWorker(need) => {
                    let bindings = need.bindings.iter().map(|(slot, path)| Binding {
                        slot: slot.clone(),
                        target: Target::Named { path: path.clone() },
                        methods: methods(&["*"]),
                        attenuation: Default::default(),
                        allow: BTreeSet::new(),
                        ask: BTreeSet::new(),
                    });
                    let start = Start {
                        text: text("endow"),
                        worker: need.worker.clone(),
                        shape: Shape::Single,
                        private: false,
                        model: "scripted:x".to_owned(),
                        input: Input {
                            values: Value::record_from_map(BTreeMap::new()),
                            attachments: vec![],
                            items: vec![],
                            origins: vec![],
                            earlier: None,
                        },
                        bindings: bindings.collect(),
                        key: None,
                    };
                    (format!("start {}, ", need.worker.name), need.with(start))
                }
                Need::Digest { .. } => return Ok("digest".to_owned()),
                Need::Stream { bytes, .. } => return Ok(format!("stream {bytes} bytes")),
                Need::Take(take) => ("take, ".to_owned(), take.with(BlobHash::of(b"taken"), 5)),
                Need::Files(call) => return Ok(self.files(&call)),
                Need::Directory(bind) => {
                    let path = format!("/real{}", bind.path);
                    (format!("look for {:?}, ", bind.path), bind.with(path))
                }
                Need::Tree(keep) => {
                    let tree = Tree { hash: BlobHash::of(b"tree"), sha256: "5eed".to_owned() };
                    ("keep, ".to_owned(), keep.with(tree))
                }
                Need::Stage(stage) => (format!("copy {} and ", self.files(&stage.from)), stage.make),
                Need::Follow(follow) => return self.follow(follow),
                Need::Watch(watch) => {
                    return Ok(format!("watch {:?}, begins: {}", watch.timer, watch.begins));
                }
                Need::Modules(make) => {
                    let from = match &make.origin {
                        ModulesIn::Bytes(_) => "bytes".to_owned(),
                        ModulesIn::Value(value) => format!("{value:?}"),
                        ModulesIn::Files(call) => self.files(call),
                    };
                    let modules = Modules {
                        packed: make.packed,
                        hash: BlobHash::of(b"modules"),
                        bytes: 7,
                        entry: text("index.js"),
                        env: make.env.clone(),
                    };
                    (format!("unpack {from} as {:?} with {:?}, ", make.packed, make.env), make.with(modules))
                }
                Need::Terminate => return Ok("terminate".to_owned()),
            },
        };
        self.ticks += 1;
        let mut after = self.store.clone();
        let command = Command { actor: action.actor, act: action.act, said: None };
        let outcome = kernel::apply(&mut after, &env(self.ticks), command)?;
        self.store = after;
        Ok(format!("{said}{:?}", facet::result(&action.then, &outcome.reply)))
    }

    /// Returns the planned file operation and its place, or the reason why it is refused.
    fn files(&mut self, call: &facet::FileCall) -> String {
        let now_ms = env(self.ticks).now_ms();
        match facet::check_access(&mut self.store, now_ms, call) {
            Ok(ground) => {
                let through = call.through.len();
                format!("{:?} in {:?} through {through} grants", call.op, ground.formula)
            }
            Err(refusal) => format!("{}: {refusal}", refusal.class()),
        }
    }

    /// Returns the entries that exist when following begins.
    fn follow(&mut self, follow: Follow) -> Result<String, Refusal> {
        Ok(match follow {
            Follow::Names { agent, target } => {
                let view = self.view(agent);
                let names = facet::names(&mut self.store, &view, &target)?;
                let shown: Vec<&str> = names.entries.iter().map(|(name, _)| name.as_str()).collect();
                let first = names.entries.first().map(|(name, id)| facet::added(name, id));
                let events = names.events.is_some();
                format!("follow names {shown:?}, with events {events}, first {first:?}")
            }
            Follow::Locator { locator, .. } => format!("follow the names of {locator}"),
            Follow::Messages { agent } => {
                let (all, next) = facet::messages(&mut self.store, &agent, MessageNumber(0), 100)?;
                format!("follow messages after {} of them, from {next}", all.len())
            }
        })
    }

    /// Returns the same text with names for identifiers, which are numbered in the order in which they occur.
    fn labelled(&mut self, text: &str) -> String {
        let node = format!("{}", kernel::id::Number(self.host.node));
        let text = text.replace(&node, "NODE");
        let text: String = text
            .split("FormulaId(")
            .enumerate()
            .map(|(i, part)| if i == 0 { part.to_owned() } else { part.replacen(')', "", 1) })
            .collect();
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let digits = rest.find(|c: char| !matches!(c, '0'..='9' | 'a'..='f')).unwrap_or(rest.len());
            if digits == 64 || digits == 8 {
                let (digits, tail) = rest.split_at(digits);
                out.push_str(&self.label(&digits[digits.len() - 8..]));
                rest = tail;
            } else {
                let step = digits.max(c.len_utf8());
                out.push_str(&rest[..step]);
                rest = &rest[step..];
            }
        }
        out
    }

    fn label(&mut self, short: &str) -> String {
        for (id, name) in [(self.host, "HOST"), (self.fae, "FAE")] {
            if id.short() == short {
                return name.to_owned();
            }
        }
        let at = self.labels.iter().position(|known| known == short).unwrap_or_else(|| {
            self.labels.push(short.to_owned());
            self.labels.len() - 1
        });
        format!("#{at}")
    }
}

/// A reference as the tables show it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Shown(String);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn shown(live: &Live) -> Shown {
    Shown(match live {
        Live::Formula(id) => format!("{id:?}"),
        Live::Settled(promise) => format!("whether {promise:?} was kept"),
        Live::Dismissed { number, .. } => format!("once {number} is dismissed"),
    })
}

/// Returns the facets of all kinds of formulas that have one, by kind, and the one of those that have none.
fn facets() -> Vec<(&'static str, &'static Facet)> {
    facet::kinds().chain(["promise"]).map(|kind| (kind, facet::facet(kind))).collect()
}
