//! What a person has seen before saying yes, as the kernel checks it in the transaction that does it.

use std::collections::BTreeMap;

use kernel::command::MailAct;
use kernel::{FormulaId, NamePath};

use control::protocol::SeenEndowment;

/// What was seen; of what nobody says that he has seen it, nothing is checked.
#[derive(Default)]
pub struct AsSeen {
    names: Vec<(NamePath, Option<FormulaId>)>,
    done: Option<u64>,
}

impl AsSeen {
    /// What was seen of a definition that is endowed with these names, and of the name for the result.
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

    /// What one name stood for.
    pub fn name(path: NamePath, id: FormulaId) -> AsSeen {
        AsSeen { names: vec![(path, Some(id))], done: None }
    }

    /// What was seen of a definition that is edited.
    pub fn edited(done: Option<u64>) -> AsSeen {
        AsSeen { names: vec![], done }
    }

    /// An act, if all of it is still so.
    pub fn act(self, act: MailAct) -> MailAct {
        match self {
            AsSeen { names, done: None } if names.is_empty() => act,
            AsSeen { names, done } => MailAct::AsSeen { seen: names, done, act: Box::new(act) },
        }
    }
}
