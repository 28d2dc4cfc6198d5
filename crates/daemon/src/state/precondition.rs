//! The state that a user saw before consenting to an act. The kernel checks this precondition in the transaction of
//! the act.

use std::collections::BTreeMap;

use kernel::command::MailAct;
use kernel::{FormulaId, NamePath};

use control::protocol::SeenEndowment;

/// The state that a user has seen. Parts that the request does not mention are not checked.
#[derive(Default)]
pub struct Expected {
    names: Vec<(NamePath, Option<FormulaId>)>,
    edits: Option<u64>,
}

impl Expected {
    /// Returns the precondition for endowing a definition: what each name stands for, also the name of the result.
    pub fn for_endowment(
        seen: SeenEndowment,
        names: &BTreeMap<String, NamePath>,
        result: Option<&NamePath>,
    ) -> Expected {
        let of_slots = seen.names.into_iter();
        let of_slots = of_slots.filter_map(|(slot, id)| Some((names.get(&slot)?.clone(), Some(id))));
        let of_result = result.map(|path| (path.clone(), seen.result));
        Expected { names: of_slots.chain(of_result).collect(), edits: Some(seen.done) }
    }

    /// Returns the precondition that a name stands for this formula.
    pub fn name(path: NamePath, id: FormulaId) -> Expected {
        Expected { names: vec![(path, Some(id))], edits: None }
    }

    /// Returns the precondition for editing a definition.
    pub fn for_edit(edits: Option<u64>) -> Expected {
        Expected { names: vec![], edits }
    }

    /// Returns the act with this precondition attached. With an empty precondition, the act is unchanged.
    pub fn guard(self, act: MailAct) -> MailAct {
        match self {
            Expected { names, edits: None } if names.is_empty() => act,
            Expected { names, edits: done } => MailAct::IfUnchanged { seen: names, done, act: Box::new(act) },
        }
    }
}
