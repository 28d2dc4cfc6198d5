//! The queries of an agent about names, objects, messages and promises.

use kernel::FormulaId;
use kernel::name_lookup::PathTarget;

use crate::queries::{code_journal, endowments, inspect, mail, names, origin, picks};
use crate::runs::{narrow, proposal};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::protocol::{Look, Response};

/// The maximum number of names in one answer.
const MAX_NAMES: usize = 1000;

/// Answers an agent's query.
///
/// # Errors
/// When the requested object does not exist, or the agent may not see it.
pub fn answer(daemon: &HostDaemon, agent: FormulaId, look: Look) -> Result<Response, Failure> {
    let view = daemon.view(agent);
    Ok(match look {
        Look::Names { path } => Response::Names(daemon.query(|txn| names::names(txn, &view, path.as_ref()))?),
        Look::NamePage { path, find, from, limit } => {
            Response::NamePage(daemon.query(|txn| {
                names::name_page(txn, &view, path.as_ref(), (&find, from, limit.min(MAX_NAMES)))
            })?)
        }
        Look::Object { path } => {
            let found = daemon.query(|txn| view.resolve(txn, &path))?;
            Response::Object(Box::new(names::object_view(daemon, &view, found)?))
        }
        Look::Identifier { path } => {
            Response::Identifier(daemon.query(|txn| match view.resolve(txn, &path)? {
                PathTarget::Formula(id) => Ok(Some(id)),
                PathTarget::Data(_) => Ok(None),
            })?)
        }
        Look::Grants => Response::Grants(daemon.query(|txn| names::grants(txn, &view))?),
        Look::Message { number } => {
            let letter = mail::message(daemon, agent, number)?;
            Response::Message(Box::new(names::message_view(daemon, &view, letter)?))
        }
        Look::Promise { promise, wait } => Response::Promise(names::promise(daemon, agent, &promise, wait)?),
        Look::Origin { thing } => Response::Why(origin::origin(daemon, &view, &thing)?),
        Look::Code { thing, from } => Response::Code(code_journal::journal(daemon, &view, &thing, from)?),
        Look::Picks => Response::Picks(daemon.query(|txn| picks::all(txn, &view))?),
        Look::Narrowable { path, by } => {
            Response::Narrowable(Box::new(narrow::narrowable(daemon, &view, &path, by.as_deref())?))
        }
        Look::Proposed { number } => {
            Response::Proposed(Box::new(proposal::load_proposal(daemon, agent, number)?))
        }
        Look::Endowed { number } => Response::Endowed(endowments::endowments(daemon, agent, number)?),
        Look::RetentionPaths { thing } => {
            Response::RetentionPaths(names::retention_paths(daemon, &view, &thing)?)
        }
        Look::FormulaSummaries { ids } => {
            Response::FormulaSummaries(inspect::summaries(daemon, &view, &ids)?)
        }
        Look::Formula { id } => Response::Formula(Box::new(inspect::formula(daemon, &view, &id)?)),
        Look::Grant { grant } => Response::Grant(Box::new(inspect::grant(daemon, &view, grant)?)),
        Look::Graph { focus } => Response::Graph(Box::new(inspect::graph(daemon, &view, focus.as_deref())?)),
    })
}
