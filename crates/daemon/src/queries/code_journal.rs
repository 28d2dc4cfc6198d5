//! The journal of endowed code, as shown to the agent that endowed the code.

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

/// The maximum number of entries in one page.
const PAGE_SIZE: usize = 1_000;

/// Returns a page of the journal of code. `thing` is the name or identifier of the code, its result, or an object
/// that it made.
///
/// # Errors
/// When `thing` does not come from code, or another agent endowed the code.
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
        // A journal may be long, so only a page is read.
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

/// Lets this program's engine make the objects of the code again, no matter which engine version the code began in.
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
