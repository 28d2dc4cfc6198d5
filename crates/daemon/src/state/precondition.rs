//! The state that a person has seen before saying yes: a precondition that the kernel checks in the transaction of
//! the act.

use std::collections::BTreeMap;

use kernel::command::MailAct;
use kernel::{FormulaId, NamePath};

use control::protocol::SeenEndowment;

/// The state that a person has seen. Parts that the request does not mention are not checked.
#[derive(Default)]
pub struct AsSeen {
    names: Vec<(NamePath, Option<FormulaId>)>,
    done: Option<u64>,
}

impl AsSeen {
    /// Returns the precondition for a definition that is endowed with these names, and for the name of the result.
    pub fn endowed(
        seen: SeenEndowment,
        names: &BTreeMap<String, NamePath>,
        result: Option<&NamePath>,
    ) -> AsSeen {
        let of_slots = seen.names.into_iter();
        let of_slots = of_slots.filter_map(|(slot, id)| Some((names.get(&slot)?.clone(), Some(id))));
        let of_result = result.map(|path| (path.clone(), seen.result));
        AsSeen { names: of_slots.chain(of_result).collect(), done: Some(seen.done) }
    }

    /// Returns the precondition that a name stands for this formula.
    pub fn name(path: NamePath, id: FormulaId) -> AsSeen {
        AsSeen { names: vec![(path, Some(id))], done: None }
    }

    /// Returns the precondition for a definition that is edited.
    pub fn edited(done: Option<u64>) -> AsSeen {
        AsSeen { names: vec![], done }
    }

    /// Returns an act, if all of it is still so.
    pub fn act(self, act: MailAct) -> MailAct {
        match self {
            AsSeen { names, done: None } if names.is_empty() => act,
            AsSeen { names, done } => MailAct::AsSeen { seen: names, done, act: Box::new(act) },
        }
    }
}
