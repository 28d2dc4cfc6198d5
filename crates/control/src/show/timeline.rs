//! The timeline of a run and its children: a bar for each activity that took time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kernel::run::{Entry, Run, State, Step};
use kernel::{MessageNumber, RunNumber};
use passable::visible_line;

/// The width of the bars, in columns.
const COLUMNS: usize = 40;

/// A period in which a model, a tool or the user was active or awaited.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The run in which the period falls.
    pub run: RunNumber,
    /// The step at which the period began, or the proposal that it concerns.
    pub step: u64,
    /// The kind of activity.
    pub kind: Kind,
    /// The activity in a word, which may quote foreign text.
    pub what: String,
    /// The start, in milliseconds since 1970.
    pub from: i64,
    /// The end, in milliseconds since 1970.
    pub to: i64,
}

/// The kind of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model answers.
    Model,
    /// A called method runs.
    Tool,
    /// The run waits for the user.
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

/// Returns a family of runs as bars over time. A wait for the user is always drawn short.
pub fn render(family: &[(Run, Vec<Step>)], now_ms: i64) -> String {
    let Some((root, _)) = family.first() else { return String::new() };
    let spans = family_spans(family, now_ms);
    let scale = Scale::of(&spans);
    let seconds = |ms: i64| ms as f64 / 1000.0;
    let mut out = format!("{} `{}`\n", root.number, visible_line(&root.name));
    for span in &spans {
        let (from, to) = (scale.column(span.from), scale.column(span.to).max(scale.column(span.from) + 1));
        let mut bar: String = " ".repeat(from);
        bar.extend(std::iter::repeat_n(span.kind.mark(), to - from));
        bar.extend(std::iter::repeat_n(' ', COLUMNS.saturating_sub(to)));
        let took = span.to - span.from;
        let _ = writeln!(
            out,
            "{:>8.2} s │{bar}│ {:<5} {} {:.2} s",
            seconds(span.from - root.started_ms),
            span.run.to_string(),
            visible_line(&span.what),
            seconds(took)
        );
    }
    let of = |kind: Kind| seconds(total(&spans, kind));
    let _ = writeln!(
        out,
        "█ models {:.2} s   ▒ tools {:.2} s   · waiting for you {:.2} s (drawn short)",
        of(Kind::Model),
        of(Kind::Tool),
        of(Kind::You)
    );
    out
}

/// Returns the spans of a family of runs up to now, ordered by their start.
pub fn family_spans(family: &[(Run, Vec<Step>)], now_ms: i64) -> Vec<Span> {
    let mut spans: Vec<Span> =
        family.iter().flat_map(|(run, steps)| self::spans(run, steps, now_ms)).collect();
    spans.sort_by_key(|span| (span.from, span.run, span.to));
    spans
}

/// Returns the total time of all spans of a kind, in milliseconds. Overlapping time counts once.
pub fn total(spans: &[Span], kind: Kind) -> i64 {
    let mut times: Vec<(i64, i64)> =
        spans.iter().filter(|span| span.kind == kind).map(|span| (span.from, span.to)).collect();
    times.sort_unstable();
    let (mut sum, mut until) = (0, i64::MIN);
    for (from, to) in times {
        sum += to.saturating_sub(from.max(until)).max(0);
        until = until.max(to);
    }
    sum
}

/// A span that has begun but not ended.
struct OpenSpan {
    step: u64,
    kind: Kind,
    what: String,
    from: i64,
}

/// The open and the finished spans of one run.
struct Spans {
    run: RunNumber,
    open: Vec<OpenSpan>,
    done: Vec<Span>,
}

impl Spans {
    fn open(&mut self, step: u64, kind: Kind, what: String, from: i64) {
        self.open.push(OpenSpan { step, kind, what, from });
    }

    /// Ends the matching open spans at the given time.
    fn close(&mut self, at: i64, is_meant: impl Fn(&OpenSpan) -> bool) {
        for one in self.open.extract_if(.., |one| is_meant(one)) {
            let OpenSpan { step, kind, what, from } = one;
            self.done.push(Span { run: self.run, step, kind, what, from, to: at.max(from) });
        }
    }
}

/// Returns the spans of a journal. A span that has not ended lasts until now.
fn spans(run: &Run, steps: &[Step], now_ms: i64) -> Vec<Span> {
    let Some(last) = steps.last() else { return vec![] };
    let mut calls: BTreeMap<u64, String> = BTreeMap::new();
    let mut spans = Spans { run: run.number, open: vec![], done: vec![] };
    let mut before = last.at_ms;
    for step in steps {
        let at = step.at_ms;
        let of = |proposal: u64, kind: Kind| move |one: &OpenSpan| (one.step, one.kind) == (proposal, kind);
        let is_model = |one: &OpenSpan| one.kind == Kind::Model;
        let words = |message: &MessageNumber| format!("message {message}");
        match &step.entry {
            Entry::Prompted { model, .. } => {
                // The model of an earlier prompt has never answered. The run stopped waiting for it at the previous
                // step at the latest.
                spans.close(before, is_model);
                spans.open(step.number, Kind::Model, model.clone(), at);
            }
            Entry::Replied { prompted, .. } => spans.close(at, of(*prompted, Kind::Model)),
            // A request that was too long gets no answer.
            Entry::Stalled { .. } | Entry::Suspended { .. } | Entry::Shrunk { .. } => {
                spans.close(at, is_model)
            }
            Entry::Proposed { proposal, .. } => {
                calls.insert(step.number, format!("{}.{}", proposal.slot, proposal.method));
            }
            Entry::OutcomeUnknown { proposal, message } => {
                // A call that was cut off no longer runs. Its end is unknown, but was at the previous step at the
                // latest.
                spans.close(before, of(*proposal, Kind::Tool));
                spans.open(*proposal, Kind::You, words(message), at);
            }
            Entry::Judged { proposal, message: Some(message), .. }
            | Entry::Questioned { proposal, message } => {
                spans.open(*proposal, Kind::You, words(message), at);
            }
            Entry::Answered { proposal, .. } | Entry::OutcomeConfirmed { proposal, .. } => {
                spans.close(at, of(*proposal, Kind::You));
            }
            Entry::Exhausted { message, .. } => spans.open(step.number, Kind::You, words(message), at),
            Entry::Raised { message, .. } | Entry::Held { message, .. } => {
                spans.close(at, |one| one.kind == Kind::You && one.what == words(message));
            }
            // If a call starts a worker, its time appears as the spans of the worker's run.
            Entry::EffectStarted { proposal, child: None } => {
                let what = calls.get(proposal).cloned().unwrap_or_default();
                spans.open(*proposal, Kind::Tool, what, at);
            }
            Entry::Completed { proposal, .. } => spans.close(at, |one| one.step == *proposal),
            Entry::Finished { .. } => spans.close(at, |_| true),
            _ => {}
        }
        before = at;
    }
    // If the journal is only a part, the later ends of spans are unknown.
    let is_whole = last.number.saturating_add(1) >= run.next_step;
    let goes_on = is_whole && !run.is_finished();
    let is_stalled = matches!(run.state, State::Stalled { .. });
    spans.close(now_ms.max(before), |one| goes_on && (one.kind == Kind::You || !is_stalled));
    spans.close(before, |_| true);
    spans.done
}

/// A scale from time to columns. It is linear while a model or a tool is active. All other time is compressed.
pub struct Scale {
    /// Points in time, each with the length of the scale before it.
    points: Vec<(i64, f64)>,
}

impl Scale {
    /// Returns the scale for the given spans.
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
        // A wait is drawn with at most a tenth of the length of all activity.
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

    /// Returns the part of the scale before a point in time, from 0 to 1.
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

    /// Returns two runs. The first called a worker, asked for approval of a write, and waited a day for the answer.
    /// The second is the run of that worker.
    fn family() -> Vec<(Run, Vec<Step>)> {
        serde_json::from_str(include_str!("fixtures/family.json")).unwrap()
    }

    #[test]
    fn every_activity_has_a_bar() {
        insta::assert_snapshot!(render(&family(), 0));
        assert_eq!(render(&[], 0), "");
    }

    #[test]
    fn open_span_lasts_until_now() {
        let mut family = family();
        let steps = &mut family[0].1;
        let answered = steps.iter().position(|step| matches!(step.entry, Entry::Answered { .. })).unwrap();
        steps.truncate(answered);
        let asks = |step: &&Step| matches!(step.entry, Entry::Judged { message: Some(_), .. });
        let (asked, last) = (steps.iter().find(asks).unwrap().at_ms, steps.last().unwrap().at_ms);
        let total_at = |family: &[(Run, Vec<Step>)], now| total(&family_spans(family, now), Kind::You);
        // A part of a journal contains no information about the present.
        assert_eq!(total_at(&family[..1], asked + 30_000), last - asked);
        family[0].0.next_step = family[0].1.last().unwrap().number + 1;
        assert_eq!(total_at(&family[..1], asked + 30_000), last - asked, "it is over");
        family[0].0.state = State::Waiting;
        assert_eq!(total_at(&family[..1], asked + 30_000), 30_000);
        assert!(render(&family[..1], asked + 30_000).contains("waiting for you 30.00 s"));
        // A clock that was set back causes no negative times.
        assert_eq!(total_at(&family[..1], 0), last - asked);
    }

    #[test]
    fn call_with_unknown_outcome_counts_as_waiting_for_user() {
        let mut family = family();
        let (run, steps) = &mut family[0];
        let is_begun = |step: &Step| matches!(step.entry, Entry::EffectStarted { child: None, .. });
        let begun = steps.iter().position(is_begun).unwrap();
        let Entry::EffectStarted { proposal, .. } = steps[begun].entry else { panic!("begun") };
        steps.truncate(begun + 1);
        let mut doubted = steps[begun].clone();
        doubted.number += 1;
        doubted.at_ms += 60_000;
        doubted.entry = Entry::OutcomeUnknown { proposal, message: kernel::MessageNumber(3) };
        let now = doubted.at_ms + 5_000;
        steps.push(doubted);
        run.next_step = steps.last().unwrap().number + 1;
        run.state = State::Waiting;
        let spans = family_spans(&family[..1], now);
        assert_eq!(total(&spans, Kind::Tool), 0, "{spans:?}");
        let you = spans.iter().filter(|span| span.kind == Kind::You && span.what == "message 3");
        assert_eq!(you.map(|span| span.to - span.from).collect::<Vec<_>>(), [5_000]);
    }

    #[test]
    fn overlapping_waits_count_once() {
        let span = |kind, from, to| Span { run: RunNumber(1), step: 1, kind, what: String::new(), from, to };
        let spans = [
            span(Kind::You, 10, 60),
            span(Kind::You, 0, 20),
            span(Kind::You, 30, 40),
            span(Kind::You, 100, 110),
            span(Kind::Tool, 0, 5),
        ];
        assert_eq!(total(&spans, Kind::You), 70);
        assert_eq!(total(&spans, Kind::Tool), 5);
        assert_eq!(total(&spans, Kind::Model), 0);
    }

    #[test]
    fn journal_tree_shows_children_below_their_step() {
        insta::assert_snapshot!(crate::show::journal::tree(&family()));
        assert_eq!(crate::show::journal::tree(&[]), "");
    }
}
