//! Calls of agents that are not about names or mail: identity, making agents, sharing, cancelling. Also the calls of
//! the root of the store.

use passable::Untrusted;

use super::args::{self, Args, field};
use super::files::{FileCall, FileOp};
use super::locator::Locator;
use super::plan::{self, BindDirectory, DrawToken, KeepTree, Need, Plan, StageTree, Then, token_hash};
use super::present;
use super::refusal::Refusal;
use crate::command::{Act, AgentKind, Cancel, Fault, GrantAct, NameAct, ProvideAgent, ProvidedObject};
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::name::{NameError, NamePath};
use crate::name_lookup::{PathTarget, View};
use crate::proposal::Value;
use crate::table;
use crate::txn::ReadTxn;

/// The time after which an unused sharing token expires: seven days.
const TOKEN_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Returns the plan of such a call to an agent, or `None` for any other call.
pub(super) fn plan(
    txn: &mut dyn ReadTxn,
    view: View,
    method: &str,
    args: Args<'_>,
) -> Result<Option<Plan>, Refusal> {
    let agent = view.agent;
    Ok(Some(match method {
        "handle" => {
            let row = table::formula(txn, &agent)?.ok_or(Fault::Dangling(agent))?;
            let own = row.formula.agent().ok_or(Fault::Dangling(agent))?;
            Plan::Value(present::object(&own.handle, &Formula::Handle { agent }))
        }
        "lookupById" => {
            let id = args::held(txn, &agent, &args.text(0)?)?;
            Plan::Value(present::found(txn, view, PathTarget::Formula(id))?)
        }
        "provideMount" => Plan::need(Need::Directory(BindDirectory {
            path: args.text(0)?,
            actor: agent,
            at: args.path(1)?,
            read_only: read_only(args, 2)?,
        })),
        "provideScratchMount" => {
            let thing = ProvidedObject::Scratch { read_only: read_only(args, 1)? };
            Plan::Act(Box::new(plan::provide(agent, thing, args.path(0)?, "EndoMount")))
        }
        "provideWorker" => {
            Plan::Act(Box::new(plan::provide(agent, ProvidedObject::Vat, args.path(0)?, "EndoWorker")))
        }
        "storeTree" => match args.get(0).and_then(Value::as_reference) {
            Some(tree) => Plan::need(Need::Tree(KeepTree { tree: *tree, actor: agent, at: args.path(1)? })),
            None => return Ok(None),
        },
        "stageTree" => {
            let path = args.path(0)?;
            let thing = ProvidedObject::Scratch { read_only: false };
            let make = plan::provide(agent, thing, args.path(1)?, "EndoMount");
            let target = view.identify(txn, &path)?;
            let through = view.grants_on(txn, None, &path)?;
            let from = FileCall { target, through, op: FileOp::Snapshot };
            Plan::need(Need::Stage(StageTree { from, make }))
        }
        "makeTimer" => super::timers::make(agent, args)?,
        "getFormulaGraph" => Plan::Value(super::graph::graph(txn, view)?),
        "provideGuest" => provide(agent, AgentKind::Guest, args)?,
        "provideHost" => provide(agent, AgentKind::Host, args)?,
        "cancel" => {
            let reason = match args.get(1) {
                Some(Value::Error(error)) => error.message.to_str_lossy().into_owned(),
                _ => String::new(),
            };
            let what = Cancel::Name { path: args.path(0)? };
            Plan::act(agent, Act::Cancel { what, reason: Untrusted::new(reason) }, Then::Nothing)
        }
        "locateForSharing" => {
            let path = args.rest()?.ok_or(NameError::Path)?;
            let id = view.identify(txn, &path)?;
            Plan::need(Need::Token(DrawToken {
                actor: agent,
                path,
                locator: Locator::from_formula(txn, &id)?,
                expires_ms: view.now_ms.saturating_add(TOKEN_MS),
            }))
        }
        "adoptFromLocator" => {
            let (given, path) = (args.text(0)?, args.path(1)?);
            let locator: Locator = given.parse()?;
            let act = match &locator.token {
                Some(token) => Act::Grant(GrantAct::Accept { token: token_hash(token), path }),
                None => {
                    let id = args::held(txn, &agent, &given)?;
                    Act::Name(NameAct::StoreIdentifier { id, path })
                }
            };
            Plan::act(agent, act, Then::Nothing)
        }
        _ => return Ok(None),
    }))
}

fn read_only(args: Args<'_>, at: usize) -> Result<bool, Refusal> {
    let options = args.options(at, &["readOnly"])?;
    let said = options.and_then(|options| field(options, "readOnly"));
    let flag = said.map(|value| {
        value.as_bool().ok_or_else(|| Refusal::Argument("readOnly must be a boolean".to_owned()))
    });
    Ok(flag.transpose()?.unwrap_or(false))
}

fn provide(agent: FormulaId, kind: AgentKind, args: Args<'_>) -> Result<Plan, Refusal> {
    let options = args.options(1, &["agentName", "introducedNames"])?;
    let option = |name| options.and_then(|options| field(options, name));
    let introduced = match option("introducedNames") {
        None => vec![],
        Some(names) => args::record(names, "introducedNames")?
            .iter()
            .map(|(mine, theirs)| Ok((args::text(&Value::String(mine.clone()))?, args::text(theirs)?)))
            .collect::<Result<_, Refusal>>()?,
    };
    let one = |value: &Value| Ok::<_, Refusal>(NamePath::new([args::text(value)?])?);
    let act = ProvideAgent {
        kind,
        name: args.get(0).map(one).transpose()?,
        agent_name: option("agentName").map(one).transpose()?,
        introduced,
    };
    let interface = match kind {
        AgentKind::Guest => "EndoGuest",
        AgentKind::Host => "EndoHost",
    };
    Ok(Plan::act(agent, Act::Provide(act), Then::Agent { interface: interface.into() }))
}

/// Returns the plan of a call to the root of the store, or `None` for any other call.
pub(super) fn endo(
    txn: &mut dyn ReadTxn,
    id: &FormulaId,
    root: &Formula,
    method: &str,
) -> Result<Option<Plan>, Refusal> {
    let Formula::Endo { host, least_authority, .. } = root else { return Ok(None) };
    let mut object = |id: &FormulaId| {
        let row = table::formula(txn, id)?.ok_or(Fault::Dangling(*id))?;
        Ok::<_, Refusal>(present::object(id, &row.formula))
    };
    Ok(Some(Plan::Value(match method {
        "ping" => Value::string("pong"),
        "host" => object(host)?,
        "leastAuthority" => object(least_authority)?,
        "nodeId" => Value::string(Number(id.node).to_string()),
        "revivePins" => Value::undefined(),
        "terminate" => return Ok(Some(Plan::need(Need::Terminate))),
        _ => return Ok(None),
    })))
}
