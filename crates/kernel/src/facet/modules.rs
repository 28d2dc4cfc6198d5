//! Programs of modules that an agent runs: from an archive, a bundle, or a tree of files.

use std::collections::BTreeMap;

use super::args::{self, Args, field};
use super::files::{FileCall, FileOp, has_files};
use super::plan::{Action, Need, Plan, Then};
use super::programs::place;
use super::refusal::Refusal;
use crate::command::{Act, Fault, MailAct};
use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId};
use crate::modules::{ModuleFormat, Modules};
use crate::name::NamePath;
use crate::name_lookup::{PathTarget, View};
use crate::proposal::Value;
use crate::query;
use crate::table;
use crate::txn::ReadTxn;

/// The location of the modules of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum ModulesIn {
    /// Bytes beside the store.
    Bytes(BlobHash),
    /// A value in the store.
    Value(Value),
    /// A formula that has files.
    Files(FileCall),
}

/// A call that makes a program of modules.
#[derive(Clone, Debug, PartialEq)]
pub struct MakeModules {
    /// The location of the modules.
    pub origin: ModulesIn,
    /// The form in which they are packed.
    pub packed: ModuleFormat,
    /// The variables that the program is given.
    pub env: BTreeMap<String, String>,
    actor: FormulaId,
    vat: Option<NamePath>,
    powers: Option<NamePath>,
    result_name: Option<NamePath>,
}

impl MakeModules {
    /// Returns the action that makes the program. Its bytes must lie beside the store by then.
    pub fn with(self, modules: Modules) -> Action {
        let MakeModules { actor, vat, powers, result_name, .. } = self;
        let act = MailAct::Make { vat, modules, powers, new_guest: true, result_name };
        Action { actor, act: Act::Mail(Box::new(act)), then: Then::Promise }
    }
}

/// Returns the plan for a call that makes a program of modules; `None` for any other method.
pub(super) fn plan(
    txn: &mut dyn ReadTxn,
    view: View,
    method: &str,
    args: Args<'_>,
) -> Result<Option<Plan>, Refusal> {
    let packed = match method {
        "makeArchive" => ModuleFormat::Archive,
        "makeBundle" => ModuleFormat::Bundle,
        "makeFromTree" => ModuleFormat::Tree,
        _ => return Ok(None),
    };
    let vat = place(txn, view, args, 0)?;
    let path = args.path(1)?;
    let options = args.options(2, &["powersName", "resultName", "env", "workerTrustedShims"])?;
    let option = |name| options.and_then(|options| field(options, name));
    if option("workerTrustedShims").and_then(Value::as_array).is_some_and(|shims| !shims.is_empty()) {
        let what = "workerTrustedShims: nothing is loaded here that could change what other code stands on";
        return Err(Refusal::Argument(what.to_owned()));
    }
    let need = MakeModules {
        origin: origin(txn, view, &path, packed)?,
        packed,
        env: env(option("env"))?,
        actor: view.agent,
        vat,
        powers: option("powersName").map(args::path).transpose()?,
        result_name: option("resultName").map(args::path).transpose()?,
    };
    Ok(Some(Plan::need(Need::Modules(need))))
}

fn env(given: Option<&Value>) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(given) = given else { return Ok(BTreeMap::new()) };
    let variable = |(name, value): &(passable::Text, Value)| {
        let name = args::text(&Value::String(name.clone()))?;
        match value.as_str() {
            Some(text) => Ok((name, text.to_owned())),
            None => Err(Refusal::Argument(format!(
                "env: {name:?} must be text, and is {}",
                passable::with_article(value.kind())
            ))),
        }
    };
    args::record(given, "env")?.iter().map(variable).collect()
}

fn origin(
    txn: &mut dyn ReadTxn,
    view: View,
    path: &NamePath,
    packed: ModuleFormat,
) -> Result<ModulesIn, Refusal> {
    let (found, what) = look(txn, view, path)?;
    match (found, packed) {
        (Some(found @ ModulesIn::Bytes(_)), ModuleFormat::Archive | ModuleFormat::Bundle)
        | (Some(found @ ModulesIn::Value(_)), ModuleFormat::Bundle)
        | (Some(found @ ModulesIn::Files(_)), ModuleFormat::Tree) => Ok(found),
        _ => {
            let hint = "makeArchive takes a blob with an archive, makeBundle a bundle, makeFromTree a tree or a \
                        directory";
            Err(other(path, &format!("{what}, not {}; {hint}", packed.describe())))
        }
    }
}

/// Returns the location of the modules of the program to which a path leads, in any form.
///
/// # Errors
/// When the path leads nowhere, or to something else.
pub fn modules_in(txn: &mut dyn ReadTxn, view: View, path: &NamePath) -> Result<ModulesIn, Refusal> {
    let (found, what) = look(txn, view, path)?;
    let hint = "that is a blob with an archive or a bundle, or a tree of files";
    found.ok_or_else(|| other(path, &format!("{what}, and no program of modules: {hint}")))
}

fn other(path: &NamePath, what: &str) -> Refusal {
    Refusal::Argument(format!("{:?} is {what}", path.to_string()))
}

/// Returns the location of modules at a path, if the value there can hold any, and a description of that value.
fn look(txn: &mut dyn ReadTxn, view: View, path: &NamePath) -> Result<(Option<ModulesIn>, String), Refusal> {
    let id = match view.resolve(txn, path)? {
        PathTarget::Formula(id) => id,
        PathTarget::Data(value) => {
            let what = passable::with_article(value.kind());
            return Ok((Some(ModulesIn::Value(value)), what));
        }
    };
    let reached = table::reach(txn, &id)?.ok_or(Fault::Dangling(id))?;
    let (what, refusal) = (query::describe(&reached.formula), reached.refusal("text", view.now_ms));
    let found = match reached.formula {
        Formula::Blob { hash, .. } => {
            if let Some(finding) = refusal {
                return Err(Fault::Revoked(finding.message).into());
            }
            Some(ModulesIn::Bytes(hash))
        }
        Formula::Marshal { value } => Some(ModulesIn::Value(value)),
        formula if has_files(&formula) => {
            let through = view.grants_on(txn, None, path)?;
            Some(ModulesIn::Files(FileCall { target: id, through, op: FileOp::Snapshot }))
        }
        _ => None,
    };
    Ok((found, what))
}
