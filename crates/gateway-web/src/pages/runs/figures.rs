//! Figures of runs, in the form in which pages show them.

use std::collections::BTreeMap;

use control::exit::Failure;
use control::inspect::FormulaSummary;
use control::protocol::Look;
use control::show::card::source;
use control::show::money;
use kernel::provenance::Provenance;
use kernel::run::{Run, Usage};
use kernel::{FormulaId, GrantNumber};
use maud::{Markup, html};
use passable::Untrusted;

use crate::page::figures::grouped;
pub use crate::page::link::called;
use crate::page::parts;
use crate::page_request::{PageRequest, take};

/// The maximum number of formulas in one request.
const BATCH_SIZE: usize = 200;

/// The maximum number of sources that are named in a row.
const MAX_SOURCES: usize = 4;

/// The user's names for the objects that runs use.
#[derive(Default)]
pub struct ObjectNames(BTreeMap<FormulaId, FormulaSummary>);

impl ObjectNames {
    /// Returns the user's names for the grants of these runs, and for their principals.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub fn of<'a>(asked: &PageRequest, runs: impl Iterator<Item = &'a Run>) -> Result<ObjectNames, Failure> {
        let mut ids: Vec<FormulaId> =
            runs.flat_map(|run| run.grants.values().copied().chain(run.principal)).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut known = BTreeMap::new();
        for some in ids.chunks(BATCH_SIZE) {
            let called = take!(asked.look(Look::FormulaSummaries { ids: some.to_vec() })?, FormulaSummaries);
            known.extend(called.into_iter().map(|one| (one.id, one)));
        }
        Ok(ObjectNames(known))
    }

    /// Returns the summary of a formula.
    pub fn get(&self, id: &FormulaId) -> Option<&FormulaSummary> {
        self.0.get(id)
    }

    /// Returns the number of a grant, if the user gave it.
    pub fn grant(&self, id: &FormulaId) -> Option<GrantNumber> {
        self.get(id)?.grant.as_ref().map(|row| row.grant.number)
    }
}

/// Returns the principal of a run, for whom the run works.
pub fn principal(known: &ObjectNames, run: &Run) -> Markup {
    html! {
        @match run.principal {
            None => "you",
            Some(id) => @match known.get(&id) {
                Some(one) => (called(one)),
                None => (parts::line(&Untrusted::new(run.name.clone()))),
            }
        }
    }
}

/// Returns a duration in words.
pub fn took(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{:.1} s", ms as f64 / 1e3),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} days", ms / 86_400_000),
    }
}

/// Returns the tokens that models have read and written, and their cost.
pub fn usage(usage: &Usage) -> String {
    format!(
        "{} tokens in, {} out{}",
        grouped(usage.input_tokens),
        grouped(usage.output_tokens),
        money::cost_suffix(usage.usd_micros)
    )
}

/// Returns the sources of a provenance, in one line.
pub fn depends(provenance: &Provenance) -> Markup {
    let more = provenance.sources.len().saturating_sub(MAX_SOURCES);
    html! {
        @if !provenance.sources.is_empty() {
            "depends on "
            @for (at, one) in provenance.sources.iter().take(MAX_SOURCES).enumerate() {
                @if at > 0 { ", " }
                (parts::line(&Untrusted::new(source(one))))
            }
            @if more > 0 { " and " (more) " more" }
            @if provenance.is_private() { " (private)" }
        }
    }
}

/// Returns the used share of a limit, as a bar with its figures.
pub fn meter(label: &str, used: u64, most: u64, words: &str) -> Markup {
    html! {
        dt { (label) }
        dd {
            meter min="0" max=(most.max(1)) value=(used.min(most.max(1))) aria-label=(label) { (words) }
            " " (words)
        }
    }
}
