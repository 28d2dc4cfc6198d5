//! The usage of grants outside of runs: the calls that code and clients made through them.
//!
//! The journal of a run records the run's calls. But no journal names the grant when code calls objects of other
//! code, or acts in the store. This module counts such calls under every grant on the way. So the giver of a grant
//! can see how it was used, even when the code is long gone.

pub(crate) mod write;

use std::collections::BTreeSet;

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::id::FormulaId;
use crate::table;
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table};

/// The number of latest calls that are kept one by one.
pub const MAX_CALLS: usize = 20;

/// The maximum number of characters of a method's name that are kept. The caller chooses the name.
const MAX_METHOD_LEN: usize = 100;

/// A call through a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrantUse {
    /// The time of the call, in milliseconds since 1970.
    pub at_ms: i64,
    /// The code or the agent that called.
    pub by: FormulaId,
    /// The method, as the caller named it.
    pub method: Untrusted,
    /// Whether the call was refused before it had any effect.
    pub refused: bool,
}

impl GrantUse {
    /// Returns the record of a call. A long method name is cut.
    pub fn new(at_ms: i64, by: FormulaId, method: &str, refused: bool) -> GrantUse {
        let method = Untrusted::new(method.chars().take(MAX_METHOD_LEN).collect::<String>());
        GrantUse { at_ms, by, method, refused }
    }
}

/// The usage of a grant outside of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrantUsage {
    /// The number of calls that were made or tried.
    pub calls: u64,
    /// The number of calls that were refused.
    pub refused: u64,
    /// The latest calls, at most [`MAX_CALLS`], the newest at the end.
    pub last: Vec<GrantUse>,
}

impl GrantUsage {
    /// Adds one call.
    pub fn add(&mut self, call: GrantUse) {
        self.calls = self.calls.saturating_add(1);
        self.refused = self.refused.saturating_add(call.refused.into());
        self.last.push(call);
        self.cut();
    }

    /// Adds later usage.
    pub fn merge(&mut self, later: GrantUsage) {
        self.calls = self.calls.saturating_add(later.calls);
        self.refused = self.refused.saturating_add(later.refused);
        self.last.extend(later.last);
        self.last.sort_by_key(|call| call.at_ms);
        self.cut();
    }

    fn cut(&mut self) {
        let over = self.last.len().saturating_sub(MAX_CALLS);
        self.last.drain(..over);
    }
}

fn key(grant: &FormulaId) -> Vec<u8> {
    [b"used ", &grant.number[..]].concat()
}

/// Returns the usage of a grant outside of runs.
///
/// # Errors When the store fails.
pub fn load(txn: &mut dyn ReadTxn, grant: &FormulaId) -> Result<GrantUsage, StoreFault> {
    Ok(table::load(txn, Table::Meta, &NO_OWNER, &key(grant))?.unwrap_or_default())
}

/// Returns every grant that a call of `id` uses: the grants on the way to it, and the grants through which it was
/// found.
///
/// # Errors
///
/// When the store fails.
pub fn grants(
    txn: &mut dyn ReadTxn,
    id: &FormulaId,
    through: &[FormulaId],
) -> Result<BTreeSet<FormulaId>, StoreFault> {
    let mut all: BTreeSet<FormulaId> = through.iter().copied().collect();
    for one in std::iter::once(id).chain(through) {
        if let Some(reached) = table::reach(txn, one)? {
            all.extend(reached.grants.iter().chain(&reached.through).map(|grant| grant.id));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_calls_are_kept_and_all_are_counted() {
        let by = FormulaId { number: [1; 32], node: [0; 32] };
        let call = |at_ms: i64| GrantUse::new(at_ms, by, &"m".repeat(300), at_ms % 10 == 0);
        let (mut one, mut other, mut all) =
            (GrantUsage::default(), GrantUsage::default(), GrantUsage::default());
        for at_ms in 0..60 {
            if at_ms < 30 { &mut one } else { &mut other }.add(call(at_ms));
            all.add(call(at_ms));
        }
        one.merge(other);
        assert_eq!(one, all);
        assert_eq!((all.calls, all.refused, all.last.len()), (60, 6, MAX_CALLS));
        assert_eq!(all.last.last(), Some(&call(59)));
        assert!(all.last.iter().all(|call| call.method.raw().len() == MAX_METHOD_LEN));
    }
}
