//! Calls on the store's objects. `kernel::facet` plans them, and this module carries them out.

use std::collections::BTreeMap;

use kernel::code::Reference;
use kernel::command::{Act, CodeAct, Command, Reply};
use kernel::facet::{self, Action, Follow, Live, Need, ParseWorker, Plan, Refusal, StartWorker, Then};
use kernel::formula::Formula;
use kernel::name_lookup::View;
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, Value, table};
use passable::{Remote, Untrusted, to_base64};
use switchboard::{Outcome, Ref};
use worker::definition::Bundle;

use super::batched_writes;
use super::convert;
use super::convert::Interfaces;
use super::iterators::Feed;
use super::object::Object;
use super::object_table::{Context, ObjectTable};
use crate::files::trees;
use crate::queries::mail;
use crate::runs::start;
use crate::state::blobs;
use crate::state::precondition::Expected;
use crate::state::worker_files;
use crate::state::{daemon, sealing};
use control::exit::{Exit, Failure};
use control::protocol::{ModelChoice, Response, RunRequest, StartSpec};

/// The outcome of a call.
enum CallResult {
    /// A value, and the grants through which its references were found.
    Value(Value, Vec<FormulaId>),
    /// An answer that comes later.
    Deferred,
    /// A live value.
    Live(passable::Value<Ref>),
}

/// The reason why a call fails.
pub enum CallError {
    Refusal(Refusal),
    Failure(Box<Failure>),
    Full(switchboard::LimitReached),
    Plain(String),
    /// An error value from a client's object, or from an object that code has made.
    Value(passable::Value<Ref>),
}

impl From<Refusal> for CallError {
    fn from(refusal: Refusal) -> CallError {
        CallError::Refusal(refusal)
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> CallError {
        CallError::Failure(Box::new(failure))
    }
}

impl From<switchboard::LimitReached> for CallError {
    fn from(full: switchboard::LimitReached) -> CallError {
        CallError::Full(full)
    }
}

impl CallError {
    /// Returns the error in the form that the client gets.
    pub(crate) fn to_value(&self) -> passable::Value<Ref> {
        match self {
            CallError::Refusal(refusal) => passable::Value::error(refusal.class(), refusal.to_string()),
            CallError::Failure(failure) => passable::Value::error("Error", failure.message.raw().to_owned()),
            CallError::Full(full) => passable::Value::error("Error", full.to_string()),
            CallError::Value(value) => value.clone(),
            CallError::Plain(message) => passable::Value::error("Error", message.clone()),
        }
    }
}

/// The number of the formula that stands for a client's own object. No real formula has this number.
const FOREIGN_ID: [u8; 32] = [0; 32];

impl ObjectTable {
    /// Calls a method. Returns `None` if the answer comes later.
    pub fn perform(
        &mut self,
        context: &Context<'_>,
        object: &Object,
        method: &str,
        args: &[passable::Value<Ref>],
        answer: Ref,
    ) -> Option<Outcome> {
        match self.try_perform(context, object, method, args, answer) {
            Ok(outcome) => outcome.map(Ok),
            Err(trouble) => Some(Err(trouble.to_value())),
        }
    }

    fn try_perform(
        &mut self,
        context: &Context<'_>,
        object: &Object,
        method: &str,
        args: &[passable::Value<Ref>],
        answer: Ref,
    ) -> Result<Option<passable::Value<Ref>>, CallError> {
        let foreign = self.foreign_reference(args);
        // A client's own object has no formula, so only a few methods can use it.
        let is_refused = foreign.is_some() && !facet::takes_foreign(method);
        let not_durable = || CallError::Plain("not durable: give it a name first".to_owned());
        let given = args.first().and_then(passable::Value::as_reference).copied();
        let original = args;
        let args = args.iter().map(|value| self.to_stored_value(value)).collect::<Vec<_>>();
        if facet::is_command(method) && !is_refused {
            if self.is_full() {
                self.settle(context);
            }
            self.begin(context, object, method, (args, original), answer)?;
            return Ok(None);
        }
        // The calls before this one must be durable first, so that this call sees their effects.
        self.settle(context);
        let daemon = context.daemon;
        let view = daemon.view(object.agent);
        let ((plan, reach), grants) = daemon.read(|txn| {
            let grants = kernel::grant_usage::grants(txn, &object.id, &object.through)?;
            Ok((plan(txn, &view, object, method, &args)?, grants))
        })?;
        // A call on files notes its use of grants itself, because it knows whether a journal records it.
        if !plan.as_ref().is_ok_and(is_of_files) {
            daemon.note_uses(grants, self.caller(object), method, plan.is_err());
        }
        if let Ok(plan) = &plan
            && let Some(to) = batched_writes::delivery(plan)
        {
            // The call is forwarded to code, if its arguments can pass.
            return self.forward_call(context, reach, to, method, original, answer).map(|()| None);
        }
        if is_refused {
            return Err(not_durable());
        }
        self.carry_out_plan(context, reach, plan?, foreign, given, answer)
    }

    /// Returns the caller of an object: the code that sees this table, or else the agent.
    pub(crate) fn caller(&self, object: &Object) -> FormulaId {
        self.code.unwrap_or(object.agent)
    }

    /// Notes the use of grants by a call that no journal records.
    pub(crate) fn note_call(
        &self,
        context: &Context<'_>,
        object: &Object,
        method: &str,
        refused: bool,
    ) -> Result<(), CallError> {
        let by = self.caller(object);
        Ok(context.daemon.note_use(&object.id, &object.through, by, method, refused)?)
    }

    /// Carries out a plan. Returns `None` if the answer comes later.
    pub(crate) fn carry_out_plan(
        &mut self,
        context: &Context<'_>,
        reach: Object,
        plan: Plan,
        foreign: Option<Ref>,
        given: Option<Ref>,
        answer: Ref,
    ) -> Result<Option<passable::Value<Ref>>, CallError> {
        match self.carry_out(context, &reach, plan, foreign, given, answer)? {
            CallResult::Value(value, through) => {
                let through = reach.through.into_iter().chain(through).collect();
                self.make_live(context, &convert::to_live(&value), &Object { through, ..reach }).map(Some)
            }
            CallResult::Deferred => Ok(None),
            CallResult::Live(value) => Ok(Some(value)),
        }
    }

    /// Returns a value of the store with its references made live.
    pub(crate) fn make_live(
        &mut self,
        context: &Context<'_>,
        value: &passable::Value<Live>,
        reach: &Object,
    ) -> Result<passable::Value<Ref>, CallError> {
        let interfaces = match value.references().is_empty() {
            true => Interfaces::new(),
            false => context.daemon.read(|txn| convert::interfaces(txn, value))?,
        };
        Ok(self.show(&mut context.board(), value, &interfaces, reach)?)
    }

    /// Returns the first reference in the arguments that has no formula.
    fn foreign_reference(&self, args: &[passable::Value<Ref>]) -> Option<Ref> {
        let mut all = args.iter().flat_map(passable::Value::references);
        all.find(|reference| self.formula(**reference).is_none()).copied()
    }

    /// Returns a client's value in the form that the store takes.
    pub(crate) fn to_stored_value(&self, value: &passable::Value<Ref>) -> Value {
        let told = convert::rebuild(value, &mut |remote: &Remote<Ref>, _| {
            let foreign = FormulaId { number: FOREIGN_ID, node: FOREIGN_ID };
            // The store ignores the interfaces that a client claims.
            let reference = self.formula(remote.reference).unwrap_or(foreign);
            Ok::<_, std::convert::Infallible>(Remote { reference, iface: None })
        });
        match told {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    fn carry_out(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        plan: Plan,
        foreign: Option<Ref>,
        given: Option<Ref>,
        answer: Ref,
    ) -> Result<CallResult, CallError> {
        let daemon = context.daemon;
        let behalf = self.code_send(answer);
        let act = |context: &Context<'_>, action| act(context, behalf.as_ref(), reach, action);
        let plain = |value| Ok(CallResult::Value(value, vec![]));
        let need = match plan {
            Plan::Value(value) => return plain(value),
            Plan::Live(value) => return Ok(CallResult::Live(self.make_live(context, &value, reach)?)),
            Plan::Through { value, through } => return Ok(CallResult::Value(value, through)),
            Plan::Act(action) => return plain(act(context, *action)?),
            Plan::Need(need) => *need,
        };
        match need {
            Need::Bytes { bytes, next } => {
                blobs::upload(daemon, &bytes)?;
                plain(act(context, *next)?)
            }
            Need::Read { hash, read_as, .. } => plain(read_as.value(&read_blob(context, &hash)?)?),
            Need::Digest { hash } => plain(Value::string(trees::sha256(&read_blob(context, &hash)?))),
            Need::Stream { hash, .. } => {
                let feed = Feed::bytes(read_blob(context, &hash)?);
                Ok(CallResult::Live(self.iterator(&mut context.board(), feed)?))
            }
            Need::Take(take) => match foreign {
                Some(reader) => {
                    self.upload(context, reader, take, reach.clone(), answer)?;
                    Ok(CallResult::Deferred)
                }
                None => Err(CallError::Plain("the reader must be an object of the caller's".to_owned())),
            },
            Need::Files(call) => {
                self.begin_files(context, reach, call, answer)?;
                Ok(CallResult::Deferred)
            }
            Need::Directory(bind) => {
                self.bind_directory(context, reach, bind, answer)?;
                Ok(CallResult::Deferred)
            }
            Need::Tree(keep) => {
                self.keep_tree(context, reach, keep, given, answer)?;
                Ok(CallResult::Deferred)
            }
            Need::Stage(stage) => {
                self.stage_tree(context, reach, stage, answer)?;
                Ok(CallResult::Deferred)
            }
            Need::Modules(make) => {
                self.make_modules(context, reach, make, answer)?;
                Ok(CallResult::Deferred)
            }
            Need::Follow(follow) => {
                let feed = start_feed(context, follow, reach)?;
                Ok(CallResult::Live(self.iterator(&mut context.board(), feed)?))
            }
            Need::Watch(watch) => {
                self.subscribe(context, reach, watch, given)?;
                plain(Value::undefined())
            }
            Need::Seal(seal) => {
                let mut sealed = BTreeMap::new();
                for (name, secret) in &seal.secrets {
                    sealed.insert(name.clone(), sealing::seal(&daemon.vault, daemon.state(), secret.raw())?);
                }
                plain(act(context, seal.with(sealed)?)?)
            }
            Need::Token(draw) => {
                let mut token = [0; 32];
                daemon::random(&mut token)?;
                plain(act(context, draw.with(token))?)
            }
            Need::ParseWorker(parse) => plain(act(context, parse_worker(context, parse)?)?),
            Need::StartWorker(_) if behalf.is_some() => {
                Err(CallError::Plain("code starts no runs: let it define the worker".to_owned()))
            }
            Need::StartWorker(start) => plain(start_worker(context, start)?),
            // A delivery was already forwarded with its arguments, and does not get here.
            Need::Deliver(_) => plain(Value::undefined()),
            Need::Terminate if behalf.is_some() => {
                Err(CallError::Plain("code does not end the daemon".to_owned()))
            }
            Need::Terminate => {
                self.ends_daemon = true;
                plain(Value::undefined())
            }
        }
    }
}

/// Returns the plan of a call, and the agent and the grants through which its answer is reached. The plan is a
/// refusal if a grant through which the object was found has ended.
///
/// # Errors
/// When the store fails.
pub(crate) fn plan(
    txn: &mut dyn ReadTxn,
    view: &View,
    object: &Object,
    method: &str,
    args: &[Value],
) -> Result<(Result<Plan, Refusal>, Object), StoreFault> {
    for grant in &object.through {
        if let Some(finding) = table::reach(txn, grant)?.and_then(|reached| reached.ended(view.now_ms)) {
            let refusal = kernel::command::Fault::Revoked(finding.message);
            return Ok((Err(refusal.into()), object.clone()));
        }
    }
    let mut reach = object.clone();
    // A caller that reaches an agent acts as that agent. The objects in the answer belong to that agent.
    match table::reach(txn, &object.id)?.map(|reached| (reached.id, reached.formula)) {
        Some((id, Formula::Host { .. } | Formula::Guest { .. })) => reach.agent = id,
        Some((_, Formula::Endo { host, .. })) => reach.agent = host,
        _ => {}
    }
    // An object found in a granted object ends with that grant, however many calls lead to it.
    if table::grant(txn, &object.id)?.is_some() && !reach.through.contains(&object.id) {
        reach.through.push(object.id);
    }
    Ok((facet::plan(txn, view, &object.id, method, args), reach))
}

/// Returns whether the plan is a call on files.
pub(crate) fn is_of_files(plan: &Plan) -> bool {
    matches!(plan, Plan::Need(need) if matches!(**need, Need::Files(_)))
}

/// Applies a command, and returns the value of its reply.
pub(crate) fn act(
    context: &Context<'_>,
    behalf: Option<&CodeSend>,
    reach: &Object,
    action: Action,
) -> Result<Value, CallError> {
    let then = action.then.clone();
    let command = CodeSend::command(behalf, context.daemon.root, reach, action);
    // A call on an object has no words of a user for the transcript.
    let outcome = context.daemon.apply_as(command.actor, None, command.act)?;
    Ok(facet::result(&then, &outcome.reply))
}

/// The code that makes a call, and the number of its send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeSend {
    eval: FormulaId,
    send: Option<u32>,
}

impl CodeSend {
    /// Returns the command for an action. On behalf of code, the daemon gives the command, and the kernel carries it
    /// out only once.
    pub(crate) fn command(
        behalf: Option<&CodeSend>,
        root: FormulaId,
        reach: &Object,
        action: Action,
    ) -> Command {
        let Action { actor, act, then } = action;
        match behalf {
            None => Command { actor, act, said: None },
            Some(CodeSend { eval, send }) => {
                let Object { id, agent, through } = reach.clone();
                let reach = Box::new(Reference::Object { id, agent, through });
                let done = CodeAct::Do { eval: *eval, send: *send, actor, then, reach, act: Box::new(act) };
                Command { actor: root, act: Act::Code(done), said: None }
            }
        }
    }
}

impl ObjectTable {
    /// Returns the code on whose behalf a call is made, or `None` for an agent's call.
    pub(crate) fn code_send(&self, answer: Ref) -> Option<CodeSend> {
        let send = self.origins.get(&answer).map(|origin| origin.send);
        self.code.map(|eval| CodeSend { eval, send })
    }
}

/// Returns the bytes of a blob.
pub fn read_blob(context: &Context<'_>, hash: &kernel::BlobHash) -> Result<Vec<u8>, Failure> {
    let blobs = context.daemon.store.blobs();
    blobs.get(hash).map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor`"))
}

fn start_feed(context: &Context<'_>, follow: Follow, reach: &Object) -> Result<Feed, CallError> {
    let daemon = context.daemon;
    Ok(match follow {
        Follow::Names { agent, target } => {
            let view = daemon.view(agent);
            let names = daemon.read(|txn| Ok(facet::names(txn, &view, &target)))??;
            Feed::names(agent, target, names, reach.clone())
        }
        Follow::Locator { agent, target, locator } => {
            let view = daemon.view(agent);
            let names = daemon.read(|txn| Ok(facet::names(txn, &view, &target)))??;
            Feed::names_of(agent, target, names, &locator, reach.clone())
        }
        Follow::Messages { agent } => Feed::messages(Object { agent, ..reach.clone() }),
    })
}

fn parse_worker(context: &Context<'_>, parse: ParseWorker) -> Result<Action, Failure> {
    let source = parse.source().raw().to_owned();
    let name = "worker".to_owned();
    let bundle = Bundle { file: format!("{name}.worker"), name, source, includes: BTreeMap::new() };
    let definition = worker_files::parse(&bundle)?;
    let worker = start::keep_program(context.daemon, &bundle, definition.limits)?;
    Ok(parse.with(worker, mail::slots_of(&definition)))
}

/// Starts a run of a proposed worker, with the model that was set when the daemon started.
fn start_worker(context: &Context<'_>, start: StartWorker) -> Result<Value, CallError> {
    let daemon = context.daemon;
    let no_model = || {
        CallError::Plain(
            "no model is known here: set ALMONER_MODEL for the daemon, or endow on the command line"
                .to_owned(),
        )
    };
    let model = daemon.place.model.clone().ok_or_else(no_model)?;
    // Each host has runs of its own.
    let daemon = &daemon.host_of(start.actor, None)?;
    let (bundle, _) = mail::proposed_program(daemon, start.actor, start.number)?;
    let Some(bundle) = bundle else {
        return Err(CallError::Plain("the message proposes no worker".to_owned()));
    };
    let spec = StartSpec { model: ModelChoice::Reference(model), ..StartSpec::default() };
    let request =
        RunRequest { text: Untrusted::new("endow"), worker: mail::source_of(bundle), spec, key: None };
    let endowed = start::EndowmentStart {
        number: start.number,
        names: start.bindings,
        goes_to: start.goes_to,
        result_name: start.result_name,
        expected: Expected::default(),
        seal: None,
    };
    match start::start_as(daemon, request, endowed)? {
        Response::Reply(reply @ Reply::Started { .. }) => Ok(facet::result(&Then::Promise, &reply)),
        _ => Err(CallError::Plain("the run was not started".to_owned())),
    }
}

/// Returns a piece of a stream as Base64 text.
pub fn stream_piece(bytes: &[u8]) -> Value {
    Value::string(to_base64(bytes))
}
