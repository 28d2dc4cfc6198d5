//! The journal of endowed code, for the agent that endowed it.

use kernel::command::{Act, CodeAct, Fault, Reply};
use kernel::formula::Formula;
use kernel::name_lookup::View;
use kernel::table::{self, EdgeRow};
use kernel::txn::{NO_OWNER, ReadTxn, Table};
use kernel::{FormulaId, NamePath, Number, code};

use crate::state::code_host::engine_version;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::view::CodePage;

/// How many entries are told at a time.
const PAGE_SIZE: usize = 1_000;

/// Returns the journal of the code whose result, or one of whose objects, `thing` is: a name or an identifier.
///
/// # Errors
/// When it is no such thing, or the code was endowed by somebody else.
pub fn journal(daemon: &HostDaemon, view: &View, thing: &str, from: u64) -> Result<CodePage, Failure> {
    let found = daemon.query(|txn| {
        let id = match thing.parse::<FormulaId>() {
            Ok(id) => id,
            Err(_) => view.identify(txn, &NamePath::parse(thing)?)?,
        };
        let Some(eval) = eval_of(txn, &id)? else { return Ok(None) };
        // Only the agent that gave the code its powers may see the answers that the code got through them.
        if !is_endower(txn, &eval, view)? {
            return Err(Fault::NotHeld(id));
        }
        // It may be long, and is asked for page by page.
        let entries = code::page(txn, &eval, from, PAGE_SIZE)?;
        let is_open = table::eval(txn, &eval)?.is_some();
        let modules = match table::formula(txn, &eval)?.map(|row| row.formula) {
            Some(Formula::Eval { modules, .. }) => modules,
            _ => None,
        };
        Ok(Some(CodePage { eval, is_open, modules, entries }))
    })?;
    found.ok_or_else(not_code)
}

/// Has the engine of this program make the code's results again, no matter which engine began it.
///
/// # Errors
/// When the path leads to no result of code, or another agent endowed the code.
pub fn remake(daemon: &HostDaemon, view: &View, path: &NamePath) -> Result<Reply, Failure> {
    let found = daemon.query(|txn| {
        let id = view.identify(txn, path)?;
        match eval_of(txn, &id)? {
            Some(eval) if !is_endower(txn, &eval, view)? => Err(Fault::NotHeld(id)),
            found => Ok(found),
        }
    })?;
    let eval = found.ok_or_else(not_code)?;
    let act = Act::Code(CodeAct::Remake { eval, engine: engine_version() });
    Ok(daemon.apply_as(daemon.root, None, act)?.reply)
}

fn not_code() -> Failure {
    Failure::new(Exit::Invalid, "no code has come to this")
        .help("name the result of `eval` or `endow`, or an object that code has made")
}

fn eval_of(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<FormulaId>, Fault> {
    let Some(reached) = table::reach(txn, id)? else { return Ok(None) };
    match reached.formula {
        Formula::Eval { .. } => return Ok(Some(reached.id)),
        Formula::Export { eval, .. } | Formula::Promise { code: Some(eval), .. } => return Ok(Some(eval)),
        _ => {}
    }
    let number = reached.id.number;
    let edges: Vec<(Vec<u8>, EdgeRow)> =
        table::scan(txn, Table::Edge, &NO_OWNER, &number, &table::prefix_end(&number), PAGE_SIZE, false)?;
    for (_, edge) in edges.into_iter().filter(|(_, edge)| edge.label == "result") {
        if let Some(Formula::Eval { .. }) = table::formula(txn, &edge.from)?.map(|row| row.formula) {
            return Ok(Some(edge.from));
        }
    }
    Ok(None)
}

fn is_endower(txn: &mut dyn ReadTxn, eval: &FormulaId, view: &View) -> Result<bool, Fault> {
    let Some(Formula::Eval { result, .. }) = table::formula(txn, eval)?.map(|row| row.formula) else {
        return Ok(false);
    };
    let promise = table::formula(txn, &result)?.map(|row| row.formula);
    Ok(matches!(promise, Some(Formula::Promise { asker, .. }) if asker == Number(view.agent.number)))
}
