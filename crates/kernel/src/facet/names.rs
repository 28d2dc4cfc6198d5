//! Methods of name containers: agents, directories of names, mailboxes and messages.

use std::collections::{BTreeMap, BTreeSet};

use super::args::{self, Args};
use super::follow::Follow;
use super::locator::Locator;
use super::plan::{Action, Need, Plan, ReadFormat, TakeBytes, Then};
use super::present::{self, Here, behind, way};
use super::refusal::Refusal;
use crate::command::{Act, Fault, NameAct};
use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId};
use crate::name::{NameError, NamePath};
use crate::name_lookup::{NameContainer, PathTarget, View};
use crate::proposal::Value;
use crate::query;
use crate::table;
use crate::txn::ReadTxn;

/// A place that has names, and the agent that looks at it.
pub(super) struct NameView<'t> {
    pub(super) txn: &'t mut dyn ReadTxn,
    /// The view of the agent that called.
    pub(super) view: View,
    /// The target of the call.
    pub(super) target: FormulaId,
    /// The target as a name container.
    pub(super) here: Here,
}

impl NameView<'_> {
    /// Returns the plan for a call that only reads; `None` for any other method.
    pub(super) fn look(&mut self, method: &str, args: Args<'_>) -> Result<Option<Plan>, Refusal> {
        if let Some(plan) = self.cross(method, args)? {
            return Ok(Some(plan));
        }
        let value = match method {
            "has" => Value::bool(self.tail(&whole(args.rest()?)?)?.is_some()),
            "identify" => match self.tail(&whole(args.rest()?)?)? {
                Some(PathTarget::Formula(id)) => Value::string(id.to_string()),
                _ => Value::undefined(),
            },
            "locate" => match self.tail(&whole(args.rest()?)?)? {
                Some(PathTarget::Formula(id)) => {
                    Value::string(Locator::from_formula(self.txn, &id)?.to_string())
                }
                _ => Value::undefined(),
            },
            "list" => {
                let here = self.inner(args.rest()?)?;
                Value::array(here.view.list(self.txn, &here.hub)?.into_iter().map(Value::string))
            }
            "listIdentifiers" => {
                let here = self.inner(args.rest()?)?;
                let ids: BTreeSet<FormulaId> =
                    entries(self.txn, &here)?.into_iter().map(|(_, id)| id).collect();
                Value::array(ids.into_iter().map(|id| Value::string(id.to_string())))
            }
            "listLocators" => {
                let here = self.inner(args.rest()?)?;
                let mut all = BTreeMap::new();
                for (name, id) in entries(self.txn, &here)? {
                    all.insert(name, Value::string(Locator::from_formula(self.txn, &id)?.to_string()));
                }
                Value::record_from_map(all)
            }
            "lookup" => return self.lookup(&args.path(0)?).map(Some),
            "maybeLookup" => {
                let path = args.path(0)?;
                let head = path.names().first().map_or("", String::as_str);
                match self.here.entry(self.txn, head)? {
                    Some(_) => return self.lookup(&path).map(Some),
                    None => Value::undefined(),
                }
            }
            "reverseLocate" => {
                let id = args.text(0)?.parse::<Locator>()?.id;
                self.names_of(&id)?
            }
            "reverseIdentify" => {
                let id = args.text(0)?.parse()?;
                self.names_of(&id)?
            }
            "reverseLookup" => match args.get(0).and_then(Value::as_reference) {
                Some(id) => self.names_of(&id.clone())?,
                None => Value::array([]),
            },
            "followNameChanges" => {
                let follow = Follow::Names { agent: self.view.agent, target: self.target };
                return Ok(Some(Plan::need(Need::Follow(follow))));
            }
            "followLocatorNameChanges" => {
                let given = args.text(0)?;
                let locator = given.parse::<Locator>()?;
                if entries(self.txn, &self.here)?.iter().all(|(_, id)| *id != locator.id) {
                    return Err(Refusal::Argument(format!("nothing here has the locator {given:?}")));
                }
                let follow = Follow::Locator { agent: self.view.agent, target: self.target, locator };
                return Ok(Some(Plan::need(Need::Follow(follow))));
            }
            "readText" => return self.read(&args.path(0)?).map(Some),
            "maybeReadText" => {
                let path = args.path(0)?;
                match self.tail(&path)? {
                    Some(_) => return self.read(&path).map(Some),
                    None => Value::undefined(),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Plan::Value(value)))
    }

    /// Returns the plan for a call that changes names; `None` for any other method.
    pub(super) fn change(&mut self, method: &str, args: Args<'_>) -> Result<Option<Plan>, Refusal> {
        if !matches!(
            method,
            "storeIdentifier"
                | "storeLocator"
                | "storeValue"
                | "storeBlob"
                | "remove"
                | "move"
                | "copy"
                | "makeDirectory"
                | "writeText"
        ) {
            return Ok(None);
        }
        let agent = self.view.agent;
        let (base, before) = match self.here.hub {
            NameContainer::Agent(_) => (None, vec![]),
            NameContainer::Directory { .. } if query::holds(self.txn, &agent, &self.target)? => {
                (Some(self.target), vec![])
            }
            // The agent does not hold a directory that it reached through another agent's grant. The agent writes
            // there along that path, as long as the grant is open.
            NameContainer::Directory { .. } => (None, way(self.txn, self.view, &self.target)?),
            NameContainer::Mailbox { .. } | NameContainer::Message { .. } => {
                let what = "the names in a mailbox are not for choosing".to_owned();
                return Err(Fault::NotAllowed(what).into());
            }
        };
        let mut then = Then::Nothing;
        let mut bytes = None;
        let act = match method {
            "storeIdentifier" | "storeLocator" => {
                let path = behind(&before, &args.path(0)?)?;
                let given = args.text(1)?;
                if method == "storeLocator" {
                    given.parse::<Locator>()?;
                }
                NameAct::StoreIdentifier { id: args::held(self.txn, &self.view.agent, &given)?, path }
            }
            "storeValue" => NameAct::StoreValue {
                value: args.get(0).cloned().unwrap_or(Value::Undefined),
                path: behind(&before, &args.path(1)?)?,
            },
            "storeBlob" => {
                let Some(reader) = args.get(0).and_then(Value::as_reference).copied() else {
                    return Ok(None);
                };
                let Some(path) = args.maybe_path(1)? else {
                    let what = "bytes without a name are not kept: say the name as well";
                    return Err(Refusal::Argument(what.to_owned()));
                };
                let take = TakeBytes { reader, actor: agent, base, path: behind(&before, &path)? };
                return Ok(Some(Plan::need(Need::Take(take))));
            }
            "remove" => NameAct::Remove { path: behind(&before, &whole(args.rest()?)?)? },
            "move" => {
                NameAct::Move { from: behind(&before, &args.path(0)?)?, to: behind(&before, &args.path(1)?)? }
            }
            "copy" => {
                NameAct::Copy { from: behind(&before, &args.path(0)?)?, to: behind(&before, &args.path(1)?)? }
            }
            "makeDirectory" => {
                then = Then::Object { interface: "EndoDirectory".into() };
                NameAct::MakeDirectory { path: behind(&before, &args.path(0)?)? }
            }
            _ => {
                let text = args.text(1)?.into_bytes();
                let act = NameAct::StoreBlob {
                    hash: BlobHash::of(&text),
                    bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
                    path: behind(&before, &args.path(0)?)?,
                };
                bytes = Some(text);
                act
            }
        };
        let act = match base {
            Some(base) => NameAct::Within { base, act: Box::new(act) },
            None => act,
        };
        let next = Action { actor: agent, act: Act::Name(act), then };
        Ok(Some(match bytes {
            Some(bytes) => Plan::need(Need::Bytes { bytes, next: Box::new(next) }),
            None => Plan::Act(Box::new(next)),
        }))
    }

    fn lookup(&mut self, path: &NamePath) -> Result<Plan, Refusal> {
        let (found, through) = self.here.walk(self.txn, path)?;
        let value = present::found(self.txn, self.view, found)?;
        Ok(match through.is_empty() || value.references().is_empty() {
            true => Plan::Value(value),
            false => Plan::Through { value, through },
        })
    }

    /// Returns the entry at the last name of the path, if there is one. The names before it must exist.
    fn tail(&mut self, path: &NamePath) -> Result<Option<PathTarget>, Refusal> {
        let (before, last) = path.split();
        self.here.at_end(self.txn, before)?.entry(self.txn, last)
    }

    fn inner(&mut self, path: Option<NamePath>) -> Result<Here, Refusal> {
        self.here.at_end(self.txn, path.as_ref().map_or(&[], NamePath::names))
    }

    fn names_of(&mut self, id: &FormulaId) -> Result<Value, Refusal> {
        let names = entries(self.txn, &self.here)?.into_iter().filter(|(_, each)| each == id);
        Ok(Value::array(names.map(|(name, _)| Value::string(name))))
    }

    fn read(&mut self, path: &NamePath) -> Result<Plan, Refusal> {
        let (found, _) = self.here.walk(self.txn, path)?;
        let PathTarget::Formula(id) = found else {
            return Err(Refusal::Argument(format!("{:?} is no blob", path.to_string())));
        };
        blob(self.txn, self.view, &id, ReadFormat::Text)?
            .ok_or_else(|| Refusal::Argument(format!("{:?} is no blob", path.to_string())))
    }
}

/// Returns the names in a hub that stand for formulas.
pub(super) fn entries(txn: &mut dyn ReadTxn, here: &Here) -> Result<Vec<(String, FormulaId)>, Refusal> {
    let mut all = Vec::new();
    for name in here.view.list(txn, &here.hub)? {
        if let Some(PathTarget::Formula(id)) = here.entry(txn, &name)? {
            all.push((name, id));
        }
    }
    Ok(all)
}

/// Returns the plan that reads a blob; `None` if the formula is no blob.
pub(super) fn blob(
    txn: &mut dyn ReadTxn,
    view: View,
    id: &FormulaId,
    read_as: ReadFormat,
) -> Result<Option<Plan>, Refusal> {
    let reached = table::reach(txn, id)?.ok_or(Fault::Dangling(*id))?;
    if let Some(finding) = reached.refusal("text", view.now_ms) {
        return Err(Fault::Revoked(finding.message).into());
    }
    Ok(match reached.formula {
        Formula::Blob { hash, bytes } => Some(Plan::need(Need::Read { hash, bytes, read_as })),
        _ => None,
    })
}

fn whole(path: Option<NamePath>) -> Result<NamePath, Refusal> {
    path.ok_or_else(|| NameError::Path.into())
}
