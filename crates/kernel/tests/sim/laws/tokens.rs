//! Sharing tokens: each is found by when it ends, and none is kept longer than that once collection is done.

use std::collections::BTreeSet;

use kernel::id::Number;
use kernel::table::{TokenRow, ending_key};
use kernel::txn::{Table, decode_row};

use crate::simulation::Simulation;

use super::snapshot::number;
use super::{Law, expect};

fn tokens(world: &Simulation) -> Vec<(Number, TokenRow)> {
    let rows = world.store.rows(Table::Token);
    rows.map(|(place, row)| (Number(number(&place[32..])), decode_row(Table::Token, row).unwrap())).collect()
}

pub(crate) fn check(world: &Simulation) -> Law {
    let expected: BTreeSet<Vec<u8>> =
        tokens(world).iter().map(|(token, row)| ending_key(row.expires_ms, token)).collect();
    let found: BTreeSet<Vec<u8>> = world
        .store
        .rows(Table::Collector)
        .map(|(place, _)| place[32..].to_vec())
        .filter(|key| key.first() == Some(&b't'))
        .collect();
    expect(found == expected, "a-token-is-found-by-when-it-ends", || {
        format!(
            "{} of {} tokens, {} ends",
            found.intersection(&expected).count(),
            expected.len(),
            found.len()
        )
    })
}

/// Returns the clock has not gone on since `now_ms`, at which the collector was done.
pub(crate) fn none_has_ended(world: &Simulation, now_ms: i64) -> Law {
    for (token, row) in tokens(world) {
        expect(row.expires_ms > now_ms, "no-ended-token-is-kept", || {
            format!("{token} ended at {} and it is {now_ms}", row.expires_ms)
        })?;
    }
    Ok(())
}
