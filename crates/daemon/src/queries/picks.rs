//! The choices for a requested capability: everything that the agent has a name for. The daemon's own record
//! describes each of them. Only interface names and the content of data are foreign text.

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::name_lookup::{self, PathTarget, View};
use kernel::slot::Requirement;
use kernel::table::{self, PromiseRow};
use kernel::txn::ReadTxn;
use kernel::{FormulaId, NamePath, Value, query};
use passable::{Remote, Untrusted};
use resource::{KINDS, Kind};

use super::methods::Methods;
use super::names::describe;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::view::PickRow;

/// The maximum number of choices.
const MAX_PICKS: usize = 500;

/// The maximum number of characters of a value in its description.
const MAX_VALUE_CHARS: usize = 120;

/// The maximum number of names in the path of a choice.
const MAX_DEPTH: usize = 4;

/// Returns everything that the agent has given a name to, in its directories as well. Special names are left out: an
/// agent's own powers must not be handed on by a slip in a menu.
///
/// # Errors
/// When the store cannot be read.
pub fn all(txn: &mut dyn ReadTxn, view: &View) -> Result<Vec<PickRow>, Fault> {
    Ok(with_values(txn, view)?.into_iter().map(|pick| pick.row).collect())
}

/// A choice, with the value that code gets for it.
pub struct Pick {
    /// The description of the choice.
    pub row: PickRow,
    /// The value that code gets, or `None` if there can be none.
    pub value: Option<Value>,
    /// The formula that the name stands for, behind grants.
    formula: Formula,
}

/// Returns the same as [`all`], each with its value.
///
/// # Errors
/// When the store cannot be read.
pub fn with_values(txn: &mut dyn ReadTxn, view: &View) -> Result<Vec<Pick>, Fault> {
    let mut rows = Vec::new();
    collect_picks(txn, view, &[], &mut rows)?;
    Ok(rows)
}

fn collect_picks(
    txn: &mut dyn ReadTxn,
    view: &View,
    path: &[String],
    rows: &mut Vec<Pick>,
) -> Result<(), Fault> {
    // If the grant of a directory has ended, the directory offers nothing.
    let Ok(hub) = view.container_for(txn, path, "list") else { return Ok(()) };
    for name in view.list(txn, &hub)? {
        if name.starts_with('@') || rows.len() >= MAX_PICKS {
            continue;
        }
        let Ok(Some(PathTarget::Formula(id))) = view.entry(txn, &hub, &name) else { continue };
        let path: Vec<String> = path.iter().cloned().chain([name]).collect();
        let Some(pick) = pick_row(txn, view, &path, id)? else { continue };
        let is_directory = matches!(pick.formula, Formula::Directory { .. });
        rows.push(pick);
        if is_directory && path.len() < MAX_DEPTH {
            collect_picks(txn, view, &path, rows)?;
        }
    }
    Ok(())
}

fn pick_row(
    txn: &mut dyn ReadTxn,
    view: &View,
    path: &[String],
    id: FormulaId,
) -> Result<Option<Pick>, Fault> {
    let Ok(path) = NamePath::new(path.iter().cloned()) else { return Ok(None) };
    let Some(reached) = table::reach(txn, &id)? else { return Ok(None) };
    if reached.ended(view.now_ms).is_some() {
        return Ok(None);
    }
    // A name often stands for a promise that has been kept: the row then describes its result.
    let came = name_lookup::settled_references(txn, &id)?.pop().unwrap_or(id);
    let settled = if came == id { None } else { table::reach(txn, &came)? };
    let formula = settled.as_ref().map_or(&reached.formula, |settled| &settled.formula);
    // The result may be a grant itself: each grant on the way has its limits, and its end.
    let grants: Vec<&Grant> =
        reached.grants.iter().chain(settled.iter().flat_map(|one| &one.grants)).collect();
    if settled.as_ref().is_some_and(|settled| settled.ended(view.now_ms).is_some()) {
        return Ok(None);
    }
    let (kind, mut words) = match formula {
        Formula::Export { eval, .. } => {
            let granted = if grants.is_empty() { "" } else { "granted: " };
            ("object".to_owned(), format!("{granted}made by {}", maker_name(txn, view, eval)?))
        }
        _ => describe(txn, &came)?,
    };
    let limits = grants.iter().flat_map(|grant| grant.attenuation.limit_phrases());
    limits.for_each(|limit| words.push_str(&format!("; {limit}")));
    let allows = |method: &str| grants.iter().all(|grant| grant.allows(method));
    let labels = KINDS.iter().filter(|row| {
        let is_writing = row.kind == Kind::Dir { write: true };
        Requirement::Kind(row.kind).takes(&reached.formula) && (!is_writing || allows("write"))
    });
    let is_promise = matches!(formula, Formula::Promise { .. });
    let pending = is_promise && matches!(table::promise(txn, &reached.id)?, Some(PromiseRow::Pending));
    // A kept promise that leads to no capability holds data, and a broken promise holds nothing.
    let data = (is_promise && !pending) || !Requirement::Capability.takes(formula);
    let Methods { known, has_others: others } = match data || pending {
        true => Methods { known: vec![], has_others: false },
        false => Methods::through(formula, &grants),
    };
    let value = code_value(txn, &came, pending)?;
    if data && let Some(value) = &value {
        words = describe_value(value);
    }
    let row = PickRow {
        path: path.to_string(),
        id,
        kind,
        words: Untrusted::new(words),
        methods: known,
        others,
        pending,
        data,
        labels: labels.map(|row| row.label.to_owned()).collect(),
        interface: interface(txn, &id)?,
    };
    Ok(Some(Pick { row, formula: reached.formula, value }))
}

/// Returns the value that code gets for this formula.
fn code_value(txn: &mut dyn ReadTxn, id: &FormulaId, pending: bool) -> Result<Option<Value>, Fault> {
    if pending {
        return Ok(Some(Value::promise(*id)));
    }
    Ok(match table::reach(txn, id)?.map(|reached| (reached.id, reached.formula)) {
        Some((_, Formula::Marshal { value })) => Some(value),
        Some((end, Formula::Promise { .. })) => match table::promise(txn, &end)? {
            Some(PromiseRow::Fulfilled { value }) => Some(value),
            _ => None,
        },
        Some(_) => Some(Value::remotable(*id)),
        None => None,
    })
}

/// Returns a value in words: its type, and the beginning of its content.
fn describe_value(value: &Value) -> String {
    let text = control::show::value::argument(value);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let head: String = line.chars().take(MAX_VALUE_CHARS).collect();
    let more = if head.len() < line.len() { " …" } else { "" };
    match value {
        // The content of these values already says their type.
        Value::Undefined | Value::Null | Value::Bool(_) => line,
        _ => format!("{}: {head}{more}", value.in_words()),
    }
}

/// Returns, in words, whose code has made an object.
fn maker_name(txn: &mut dyn ReadTxn, view: &View, eval: &FormulaId) -> Result<String, Fault> {
    let author = match table::formula(txn, eval)?.map(|row| row.formula) {
        Some(Formula::Eval { author, .. }) => author,
        _ => return Ok("code".to_owned()),
    };
    if author.0 == view.agent.number {
        return Ok("code of yours".to_owned());
    }
    let author = FormulaId { number: author.0, node: eval.node };
    let formula = table::formula(txn, &author)?.map(|row| row.formula);
    if let Some(Formula::Run { run, .. }) = &formula {
        return Ok(format!("code that {run} proposed"));
    }
    let handle = formula.as_ref().and_then(|formula| formula.agent()).map(|own| own.handle);
    for id in std::iter::once(author).chain(handle) {
        if let Some(name) = super::names::name_of(txn, view, &id)? {
            return Ok(format!("code of {name}"));
        }
    }
    Ok(format!("code of somebody else ({})", author.short()))
}

/// Returns the name of an object's interface, from the daemon's own record. For an object of code, it is the name
/// that was recorded when others could first hold the object. For any other capability, it is the name of its type.
/// Data, evaluations and promises that lead to no object have none, and neither has code that names no interface.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn interface(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<String>, Fault> {
    /// The interface name of an object whose maker has given none.
    const DEFAULT_INTERFACE: &str = "Remotable";
    // A name often stands for a promise that has been kept.
    let id = name_lookup::settled_references(txn, id)?.pop().unwrap_or(*id);
    Ok(match table::reach(txn, &id)?.map(|reached| reached.formula) {
        Some(Formula::Export { interface, .. }) => {
            let name = interface.strip_prefix("Alleged: ").unwrap_or(&interface);
            Some(name.to_owned()).filter(|name| !name.is_empty() && name != DEFAULT_INTERFACE)
        }
        Some(Formula::Promise { .. } | Formula::Eval { .. } | Formula::Marshal { .. }) | None => None,
        Some(formula) => Some(kernel::facet::facet(formula.kind()).name.to_owned()),
    })
}

/// Returns the value with each promise replaced by the capability that it was kept with. Other promises stay. A name
/// often stands for a promise, and the receiver gets its result. The kernel checks the kind of each capability.
///
/// # Errors
/// When the agent does not hold a capability in the value, or the capability is gone.
pub fn with_settled_promises(daemon: &HostDaemon, agent: FormulaId, value: &Value) -> Result<Value, Failure> {
    value.try_map_capabilities(&mut |is_promise, remote: &Remote<FormulaId>| {
        let id = &remote.reference;
        let found = daemon.query(|txn| {
            if !query::holds(txn, &agent, id)? {
                return Ok(None);
            }
            let came = name_lookup::settled_references(txn, id)?.pop().unwrap_or(*id);
            let reached = table::reach(txn, &came)?;
            Ok(reached.map(|reached| (came, matches!(reached.formula, Formula::Promise { .. }))))
        })?;
        match found {
            Some((_, true)) if is_promise => Ok((true, remote.clone())),
            Some((came, pending)) => Ok((pending, Remote { reference: came, iface: None })),
            None => Err(Failure::new(Exit::NotFound, "what you picked is not yours, or is gone")
                .help("nothing was sent; pick again")),
        }
    })
}
