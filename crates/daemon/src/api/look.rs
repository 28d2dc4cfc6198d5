//! Questions of an agent about names, objects, messages and promises.

use kernel::FormulaId;
use kernel::hub::Found;

use crate::queries::{code_journal, endowments, inspect, mail, origin, pickable, things};
use crate::runs::{narrow, proposal};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::protocol::{Look, Response};

/// How many names one answer has at most.
const PAGE: usize = 1000;

/// Answers an agent's query.
///
/// # Errors
/// When there is no such thing, or the agent may not see it.
pub fn look(daemon: &HostDaemon, agent: FormulaId, look: Look) -> Result<Response, Failure> {
    let view = daemon.view(agent);
    Ok(match look {
        Look::Names { path } => Response::Names(daemon.look(|txn| things::names(txn, &view, path.as_ref()))?),
        Look::NamePage { path, find, from, limit } => Response::NamePage(
            daemon
                .look(|txn| things::name_page(txn, &view, path.as_ref(), (&find, from, limit.min(PAGE))))?,
        ),
        Look::Thing { path } => {
            let found = daemon.look(|txn| view.resolve(txn, &path))?;
            Response::Thing(Box::new(things::thing(daemon, &view, found)?))
        }
        Look::Identifier { path } => {
            Response::Identifier(daemon.look(|txn| match view.resolve(txn, &path)? {
                Found::Formula(id) => Ok(Some(id)),
                Found::Data(_) => Ok(None),
            })?)
        }
        Look::Grants => Response::Grants(daemon.look(|txn| things::grants(txn, &view))?),
        Look::Letter { number } => {
            let letter = mail::letter(daemon, agent, number)?;
            Response::Letter(Box::new(things::letter_view(daemon, &view, letter)?))
        }
        Look::Promise { promise, wait } => Response::Promise(things::promise(daemon, agent, &promise, wait)?),
        Look::Origin { thing } => Response::Why(origin::origin(daemon, &view, &thing)?),
        Look::Code { thing, from } => Response::Code(code_journal::journal(daemon, &view, &thing, from)?),
        Look::Picks => Response::Picks(daemon.look(|txn| pickable::all(txn, &view))?),
        Look::Narrowable { path, by } => {
            Response::Narrowable(Box::new(narrow::narrowable(daemon, &view, &path, by.as_deref())?))
        }
        Look::Proposed { number } => Response::Proposed(Box::new(proposal::proposed(daemon, agent, number)?)),
        Look::Endowed { number } => Response::Endowed(endowments::endowed(daemon, agent, number)?),
        Look::Kept { thing } => Response::Kept(things::kept(daemon, &view, &thing)?),
        Look::Called { ids } => Response::Called(inspect::called(daemon, &view, &ids)?),
        Look::Formula { id } => Response::Formula(Box::new(inspect::formula(daemon, &view, &id)?)),
        Look::Grant { grant } => Response::Grant(Box::new(inspect::grant(daemon, &view, grant)?)),
        Look::Graph { focus } => Response::Graph(Box::new(inspect::graph(daemon, &view, focus.as_deref())?)),
    })
}
