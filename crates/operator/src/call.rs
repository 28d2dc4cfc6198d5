//! A call as policies see it.

use std::collections::{BTreeMap, BTreeSet};

use kernel::proposal::{Caller, Effect, Value};
use kernel::provenance::Source;
use policy::{Context, Destination};

use crate::vocabulary::{Action, Type};

/// The maximum number of views of one call, which are combinations of names, paths and servers. A search names every
/// file that it reads.
const MAX_VIEWS: usize = 1 << 16;

/// A call as policies see it, from a proposal that is judged or from an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The method, such as `dir.write`.
    pub method: String,
    /// The worker's name.
    pub worker: String,
    /// The names of the object of the call, at least one.
    pub names: Vec<String>,
    /// The slot through which the call is made.
    pub slot: String,
    /// The effect: `reads`, `changes` or `sends`.
    pub effect: String,
    /// The caller: `model` or `code`.
    pub caller: String,
    /// Whether the call depends on a source other than the user and models: a document, another run, another agent.
    pub untrusted: bool,
    /// The sources on which the call depends: `document NAME`, `model NAME`, `run r17`, `agent`, `host`.
    pub sources: BTreeSet<String>,
    /// Whether the content of a file would be lost.
    pub replaces: bool,
    /// Whether a party outside this machine learns the arguments, even if the call only reads.
    pub tells: bool,
    /// The paths within the object of the call.
    pub paths: Vec<String>,
    /// The number of bytes that would be written or sent.
    pub bytes: Option<u64>,
    /// The servers that would be reached, each with scheme, host, port, verb and route.
    pub servers: Vec<Server>,
    /// The program that would be started.
    pub program: Option<String>,
    /// The argument vector of the program.
    pub argv: Option<Vec<String>>,
    /// The arguments that policies can see.
    pub args: BTreeMap<String, Argument>,
    /// The arguments that policies cannot see exactly. If there are any, the call is refused.
    pub unseen: Vec<String>,
}

/// A server as policies see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// The scheme, such as `https`.
    pub scheme: Option<String>,
    /// The host, in lower case.
    pub host: Option<String>,
    /// The port.
    pub port: Option<i64>,
    /// The HTTP method, such as `GET`.
    pub verb: Option<String>,
    /// The path of the request.
    pub route: Option<String>,
}

/// An argument as policies see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Bool(bool),
    /// A set of texts.
    Texts(BTreeSet<String>),
}

/// One view of a call: one name, one path and one server. Policies judge each view by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: Option<&'a str>,
    pub(crate) server: Option<&'a Server>,
}

impl Call {
    /// Returns the call of a proposal that is judged.
    pub(crate) fn of(context: &Context<'_>, action: &Action) -> Call {
        let Context { proposal, facts, subject, .. } = context;
        let mut call = Call {
            method: format!("{}.{}", subject.kind, proposal.method),
            worker: context.worker.to_owned(),
            names: subject.names.clone(),
            slot: proposal.slot.clone(),
            effect: proposal.effect.as_words().to_owned(),
            caller: match proposal.caller {
                Caller::Model => "model".to_owned(),
                Caller::Code => "code".to_owned(),
            },
            untrusted: proposal.provenance.sources.iter().any(is_stranger),
            sources: proposal.provenance.sources.iter().map(source).collect(),
            replaces: facts.overwrites.is_some(),
            tells: facts.tells(),
            bytes: facts.bytes,
            servers: facts.destinations.iter().map(Server::of).collect(),
            program: facts.program.as_ref().map(|program| program.path.clone()),
            argv: facts.program.as_ref().map(|program| program.argv.clone()),
            ..Call::default()
        };
        for path in &facts.paths {
            call.paths.push(path.path.clone());
            call.paths.extend(path.leads_to.clone());
        }
        for (at, (name, kind, _)) in action.params.iter().enumerate() {
            let (Some(kind), Some(value)) = (kind, proposal.args.get(at)) else { continue };
            match (argument(*kind, value), value) {
                (Some(seen), _) => drop(call.args.insert(name.clone(), seen)),
                (None, Value::Undefined) => {}
                (None, _) => call.unseen.push(name.clone()),
            }
        }
        call
    }

    /// Returns every view of the call, or `None` if there are too many.
    pub(crate) fn views(&self) -> Option<Vec<View<'_>>> {
        let paths: Vec<_> = some_or_none(self.paths.iter().map(String::as_str));
        let servers: Vec<_> = some_or_none(self.servers.iter());
        let count = self.names.len().checked_mul(paths.len())?.checked_mul(servers.len())?;
        if count > MAX_VIEWS {
            return None;
        }
        let mut views = Vec::with_capacity(count);
        for name in &self.names {
            for path in &paths {
                views.extend(servers.iter().map(|server| View { name, path: *path, server: *server }));
            }
        }
        Some(views)
    }

    /// Returns the argument vector as one line that can be read in one way only.
    pub(crate) fn command(&self) -> Option<String> {
        let plain = |word: &str| !word.is_empty() && !word.contains([' ', '"', '\\', '\n', '\t', '\r']);
        let words = self.argv.as_ref()?.iter();
        let words = words.map(|word| if plain(word) { word.clone() } else { format!("{word:?}") });
        Some(words.collect::<Vec<_>>().join(" "))
    }
}

impl Server {
    fn of(destination: &Destination) -> Server {
        Server {
            scheme: Some(destination.scheme.clone()),
            host: Some(destination.host.clone()),
            port: Some(i64::from(destination.port)),
            verb: Some(destination.method.clone()),
            route: Some(destination.path.clone()),
        }
    }
}

/// Returns all items, or a single `None` if there are no items.
fn some_or_none<T>(items: impl Iterator<Item = T>) -> Vec<Option<T>> {
    let mut all: Vec<_> = items.map(Some).collect();
    if all.is_empty() {
        all.push(None);
    }
    all
}

/// Returns a value as policies see it, or `None` if they cannot see it exactly.
fn argument(kind: Type, value: &Value) -> Option<Argument> {
    match kind {
        Type::Text => Some(Argument::Text(value.as_str()?.to_owned())),
        Type::Bool => Some(Argument::Bool(value.as_bool()?)),
        Type::Integer => whole(value).map(Argument::Integer),
        Type::Texts => {
            let texts = value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned));
            Some(Argument::Texts(texts.collect::<Option<_>>()?))
        }
    }
}

/// The largest number up to which JavaScript represents every whole number exactly.
const SAFE: f64 = 9_007_199_254_740_991.0;

fn whole(value: &Value) -> Option<i64> {
    if let Some(big) = value.as_bigint() {
        return big.to_string().parse().ok();
    }
    let number = value.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    (number.fract() == 0.0 && number.abs() <= SAFE).then_some(number as i64)
}

/// Returns whether a source is neither the user nor a model. A model is a source of every call that it makes, so it
/// does not count here.
fn is_stranger(source: &Source) -> bool {
    !matches!(source, Source::Host | Source::Model(_))
}

/// Returns a source as policies write it.
fn source(source: &Source) -> String {
    match source {
        Source::Host => "host".to_owned(),
        Source::Model(name) => format!("model {name}"),
        Source::Document { name, .. } => format!("document {name}"),
        Source::Run(number) => format!("run {number}"),
        Source::Agent(_) => "agent".to_owned(),
    }
}

/// Returns the effect for which a word stands in policies.
pub(crate) fn effect_of(word: &str) -> Option<Effect> {
    [Effect::Observe, Effect::Modify, Effect::Commit].into_iter().find(|effect| effect.as_words() == word)
}
