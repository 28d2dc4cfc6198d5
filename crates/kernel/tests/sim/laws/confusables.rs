//! The look-alike index has rows for exactly the names that exist.

use std::collections::BTreeSet;

use kernel::confusables;
use kernel::txn::Table;
use kernel::{FormulaId, id::BlobHash};

use crate::simulation::Simulation;

use super::snapshot::{Snapshot, number};
use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let mut expected = BTreeSet::new();
    for (owner, store, name, _) in &snapshot.names {
        // The key does not depend on the node.
        let store = FormulaId { number: *store, node: BlobHash([0; 32]).0 };
        expected.extend(confusables::skeleton_key(&store, name).map(|key| [&owner[..], &key].concat()));
    }
    let noted: BTreeSet<Vec<u8>> = world
        .store
        .rows(Table::Meta)
        .filter(|(place, _)| place[32..].starts_with(confusables::SKELETON_PREFIX))
        .map(|(place, _)| place.to_vec())
        .collect();
    expect(noted == expected, "looks-are-noted-with-names", || {
        let odd = noted
            .symmetric_difference(&expected)
            .next()
            .map(|key| number(&key[32 + confusables::SKELETON_PREFIX.len()..]));
        format!("{} noted, {} expected, of {:?}", noted.len(), expected.len(), odd.map(|n| n[0]))
    })
}
