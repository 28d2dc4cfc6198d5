//! `cargo xtask bench gates`: what judging a call costs.

use anyhow::Result;

use super::library;
use super::table::Row;
use crate::workspace::Workspace;

/// The crates whose benches measure the parts of a verdict.
const PARTS: &[&str] = &["operator"];

pub(super) fn rows(workspace: &Workspace, samples: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for part in PARTS {
        rows.extend(library::rows(workspace, part, samples)?);
    }
    Ok(rows)
}
