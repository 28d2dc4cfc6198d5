//! What a run and its children did when: a bar for each thing that took time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kernel::RunNumber;
use kernel::run::{Entry, Run, Step};
use passable::visible_line;

/// How many columns the bars have.
const COLUMNS: usize = 40;

/// Somebody did something, or was waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// In this run.
    pub run: RunNumber,
    /// The step at which it began, or the proposal that it is about.
    pub step: u64,
    /// Who.
    pub kind: Kind,
    /// What, in a word; it may quote foreign text.
    pub what: String,
    /// From when, in milliseconds since 1970.
    pub from: i64,
    /// Until when.
    pub to: i64,
}

/// Who took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model.
    Model,
    /// What was called.
    Tool,
    /// A person, who was waited for.
    You,
}

impl Kind {
    fn mark(self) -> char {
        match self {
            Kind::Model => '█',
            Kind::Tool => '▒',
            Kind::You => '·',
        }
    }
}

/// A family of runs as bars over time. Waiting for a person is drawn short, whatever it took.
pub fn render(family: &[(Run, Vec<Step>)]) -> String {
    let Some((root, _)) = family.first() else { return String::new() };
    let spans = of_family(family);
    let scale = Scale::of(&spans);
    let seconds = |ms: i64| ms as f64 / 1000.0;
    let mut out = format!("{} `{}`\n", root.number, visible_line(&root.name));
    let mut totals = BTreeMap::new();
    for span in &spans {
        let (from, to) = (scale.column(span.from), scale.column(span.to).max(scale.column(span.from) + 1));
        let mut bar: String = " ".repeat(from);
        bar.extend(std::iter::repeat_n(span.kind.mark(), to - from));
        bar.extend(std::iter::repeat_n(' ', COLUMNS.saturating_sub(to)));
        let took = span.to - span.from;
        *totals.entry(span.kind.mark()).or_insert(0_i64) += took;
        let _ = writeln!(
            out,
            "{:>8.2} s │{bar}│ {:<5} {} {:.2} s",
            seconds(span.from - root.started_ms),
            span.run.to_string(),
            visible_line(&span.what),
            seconds(took)
        );
    }
    let of = |kind: Kind| seconds(totals.get(&kind.mark()).copied().unwrap_or(0));
    let _ = writeln!(
        out,
        "█ models {:.2} s   ▒ tools {:.2} s   · waiting for you {:.2} s (drawn short)",
        of(Kind::Model),
        of(Kind::Tool),
        of(Kind::You)
    );
    out
}

/// What of a family of runs took time, in the order in which it began.
pub fn of_family(family: &[(Run, Vec<Step>)]) -> Vec<Span> {
    let mut spans: Vec<Span> = family.iter().flat_map(|(run, steps)| spans(run, steps)).collect();
    spans.sort_by_key(|span| (span.from, span.run, span.to));
    spans
}

/// What of a journal took time. What has not ended has a span to the last step.
fn spans(run: &Run, steps: &[Step]) -> Vec<Span> {
    let Some(last) = steps.last().map(|step| step.at_ms) else { return vec![] };
    let mut calls: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: Vec<(u64, Kind, String, i64)> = Vec::new();
    let mut done = Vec::new();
    let mut close = |open: &mut Vec<(u64, Kind, String, i64)>, step: u64, kind: Kind, at: i64| {
        while let Some(i) = open.iter().position(|(of, one, ..)| (*of, *one) == (step, kind)) {
            let (_, kind, what, from) = open.remove(i);
            done.push(Span { run: run.number, step, kind, what, from, to: at });
        }
    };
    for step in steps {
        let at = step.at_ms;
        match &step.entry {
            Entry::Prompted { model, .. } => open.push((step.number, Kind::Model, model.clone(), at)),
            Entry::Replied { prompted, .. } => close(&mut open, *prompted, Kind::Model, at),
            Entry::Proposed { proposal, .. } => {
                calls.insert(step.number, format!("{}.{}", proposal.slot, proposal.method));
            }
            Entry::Judged { proposal, message: Some(message), .. } | Entry::Doubted { proposal, message } => {
                open.push((*proposal, Kind::You, format!("message {message}"), at));
            }
            Entry::Answered { proposal, .. } | Entry::Vouched { proposal, .. } => {
                close(&mut open, *proposal, Kind::You, at);
            }
            // A call of a worker is that worker's own spans.
            Entry::Begun { proposal, child: None } => {
                let what = calls.get(proposal).cloned().unwrap_or_default();
                open.push((*proposal, Kind::Tool, what, at));
            }
            Entry::Completed { proposal, .. } => {
                close(&mut open, *proposal, Kind::You, at);
                close(&mut open, *proposal, Kind::Tool, at);
            }
            _ => {}
        }
    }
    while let Some((step, kind, ..)) = open.first().cloned() {
        close(&mut open, step, kind, last);
    }
    done
}

/// Time as columns: as long as anybody is at work it runs evenly, and hardly at all while nobody is.
pub struct Scale {
    /// Points in time, with how much of the scale lies before each.
    points: Vec<(i64, f64)>,
}

impl Scale {
    /// The scale for these.
    pub fn of(spans: &[Span]) -> Scale {
        let mut times: Vec<i64> = spans.iter().flat_map(|span| [span.from, span.to]).collect();
        times.sort_unstable();
        times.dedup();
        let is_busy = |from: i64, to: i64| {
            spans.iter().any(|span| span.kind != Kind::You && span.from <= from && to <= span.to)
        };
        let pieces: Vec<(i64, i64, bool)> = times
            .windows(2)
            .filter_map(|pair| <[i64; 2]>::try_from(pair).ok())
            .map(|[from, to]| (from, to, is_busy(from, to)))
            .collect();
        let busy: i64 = pieces.iter().filter(|(.., busy)| *busy).map(|(from, to, _)| to - from).sum();
        // A wait takes a tenth of the work at most.
        let short = (busy as f64 / 10.0).max(1.0);
        let (mut points, mut so_far) = (Vec::new(), 0.0);
        for (from, to, busy) in pieces {
            points.push((from, so_far));
            let took = (to - from) as f64;
            so_far += if busy { took } else { took.min(short) };
        }
        if let Some(last) = times.last() {
            points.push((*last, so_far));
        }
        Scale { points }
    }

    fn column(&self, at: i64) -> usize {
        ((self.part(at) * COLUMNS as f64) as usize).min(COLUMNS - 1)
    }

    /// How much of the scale lies before a point in time: from 0 to 1.
    pub fn part(&self, at: i64) -> f64 {
        let whole = self.points.last().map_or(0.0, |(_, all)| *all).max(1.0);
        let index = self.points.partition_point(|(time, _)| *time < at);
        let before = self.points.get(index).map_or(whole, |(_, so_far)| *so_far);
        before / whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that called a worker, asked for a write, and waited a day for the answer; and that worker's.
    fn family() -> Vec<(Run, Vec<Step>)> {
        serde_json::from_str(include_str!("fixtures/family.json")).unwrap()
    }

    #[test]
    fn what_took_time_has_a_bar() {
        insta::assert_snapshot!(render(&family()));
        assert_eq!(render(&[]), "");
    }

    #[test]
    fn children_stand_below_the_step_that_began_them() {
        insta::assert_snapshot!(crate::show::journal::tree(&family()));
        assert_eq!(crate::show::journal::tree(&[]), "");
    }
}
