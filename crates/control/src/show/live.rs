//! A run and its descendants as a tree, which is drawn again whenever a part of it changes.

use std::collections::BTreeMap;

use kernel::RunNumber;
use kernel::event::Change;
use kernel::run::{Run, Usage};
use passable::visible_line;

use super::money;

/// The known state of one run.
#[derive(Clone, Debug)]
struct Row {
    name: String,
    parent: Option<RunNumber>,
    doing: String,
    used: Usage,
    is_over: bool,
}

/// The known part of the tree.
#[derive(Debug, Default)]
pub struct Tree {
    rows: BTreeMap<RunNumber, Row>,
}

impl Tree {
    /// Adds a run in the state that the store has, or updates its usage.
    pub fn add_run(&mut self, run: &Run) {
        let row = self.rows.entry(run.number).or_insert_with(|| Row {
            name: visible_line(&run.name).into_owned(),
            parent: run.parent.map(|parent| parent.run),
            doing: super::journal::state(run),
            used: run.used,
            is_over: false,
        });
        row.used = run.used;
        if run.is_finished() {
            (row.is_over, row.doing) = (true, super::journal::state(run));
        }
    }

    /// Applies a change to the tree. Returns whether the usage of the run may have changed.
    pub fn apply_change(&mut self, change: &Change) -> bool {
        match change {
            Change::RunStarted { run, name, parent } => {
                let name = visible_line(name).into_owned();
                let doing = "begins".to_owned();
                let row = Row { name, parent: *parent, doing, used: Usage::default(), is_over: false };
                self.rows.entry(*run).or_insert(row);
                false
            }
            Change::Step { run, entry, line, .. } => {
                if let Some(doing) = doing(entry, &line.visible_line()) {
                    self.set_activity(*run, doing);
                }
                entry == "replied"
            }
            Change::RunFinished { run, ok } => {
                if let Some(row) = self.rows.get_mut(run) {
                    row.is_over = true;
                    if *ok {
                        row.doing = "done".to_owned();
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Sets the present activity of a run. The text was escaped for a terminal before.
    pub fn set_activity(&mut self, run: RunNumber, what: String) {
        if let Some(row) = self.rows.get_mut(&run).filter(|row| !row.is_over) {
            row.doing = what;
        }
    }

    /// Returns the runs whose usage includes that of this run: the run itself and its ancestors.
    pub fn above(&self, run: RunNumber) -> Vec<RunNumber> {
        let up = |run: &RunNumber| self.rows.get(run).and_then(|row| row.parent);
        // A parent has a lower number than its child, so this ends.
        std::iter::successors(Some(run), |run| up(run).filter(|parent| parent < run))
            .filter(|run| self.rows.contains_key(run))
            .collect()
    }

    /// Returns one line for each run, with children below their parents. If there are more than `most` runs, finished
    /// children are left out first, and then the last runs. The last line says how many were left out.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let mut below: BTreeMap<Option<RunNumber>, Vec<RunNumber>> = BTreeMap::new();
        for (run, row) in &self.rows {
            let parent = row.parent.filter(|parent| parent < run && self.rows.contains_key(parent));
            below.entry(parent).or_default().push(*run);
        }
        let has_room = self.rows.len() <= most;
        let room = if has_room { most } else { most.max(2) - 1 };
        // The newest run is at the bottom of the stack, so that older runs are listed first.
        let on = |parent, depth| {
            let runs = below.get(&parent).into_iter().flatten().rev();
            runs.map(move |run| (*run, depth)).collect::<Vec<(RunNumber, usize)>>()
        };
        let (mut lines, mut waiting) = (Vec::new(), on(None, 0));
        while let Some((run, depth)) = waiting.pop().filter(|_| lines.len() < room) {
            let Some(row) = self.rows.get(&run) else { continue };
            if has_room || depth == 0 || !row.is_over {
                lines.push(format!("{}{}", "  ".repeat(depth), row.line(run)));
                waiting.extend(on(Some(run), depth + 1));
            }
        }
        let hidden = self.rows.len() - lines.len();
        if hidden > 0 {
            lines.push(format!("  and {hidden} more"));
        }
        lines
    }
}

impl Row {
    fn line(&self, run: RunNumber) -> String {
        let Row { name, doing, used, .. } = self;
        let tokens = used.input_tokens.saturating_add(used.output_tokens);
        let figures = match tokens {
            0 => String::new(),
            tokens => format!("  {tokens} tokens{}", money::cost_suffix(used.usd_micros)),
        };
        format!("{run} `{name}`{figures}  {doing}")
    }
}

/// Returns the activity of a run after a step, or `None` if the step does not change it.
fn doing(entry: &str, line: &str) -> Option<String> {
    Some(match entry {
        "prompted" | "proposed" | "rejected" => line.to_owned(),
        "suspended" => format!("waits {line}"),
        "replied" => "has an answer".to_owned(),
        "judged" if line.starts_with("ask") => format!("waits for you: {line}"),
        "effect_started" if line.is_empty() => "at work on it".to_owned(),
        "effect_started" => format!("called a worker {line}"),
        "stalled" => format!("stalled: {line}"),
        "finished" => line.to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use passable::Untrusted;

    fn step(run: u64, entry: &str, line: &str) -> Change {
        Change::Step {
            run: RunNumber(run),
            step: 1,
            entry: entry.to_owned(),
            line: Untrusted::new(line),
            digest: kernel::BlobHash([0; 32]),
        }
    }

    fn started(run: u64, name: &str, parent: Option<u64>) -> Change {
        Change::RunStarted { run: RunNumber(run), name: name.to_owned(), parent: parent.map(RunNumber) }
    }

    fn tree() -> Tree {
        let mut tree = Tree::default();
        for change in [
            started(1, "sort", None),
            started(2, "sort", Some(1)),
            started(3, "sort", Some(1)),
            started(4, "judge\u{1b}[2J", Some(3)),
            step(2, "prompted", "asks local"),
            step(3, "effect_started", "as r4"),
            step(4, "proposed", "out.write"),
            step(4, "judged", "ask: message 7"),
            step(2, "finished", "done"),
            Change::RunFinished { run: RunNumber(2), ok: true },
        ] {
            tree.apply_change(&change);
        }
        if let Some(row) = tree.rows.get_mut(&RunNumber(1)) {
            row.used = Usage { input_tokens: 1200, output_tokens: 34, usd_micros: 5600, ..Usage::default() };
        }
        tree
    }

    #[test]
    fn live_tree_shows_children_below_parents() {
        insta::assert_snapshot!(tree().lines(10).join("\n"), @r"
        r1 `sort`  1234 tokens, $0.0056  begins
          r2 `sort`  done
          r3 `sort`  called a worker as r4
            r4 `judge\u{1B}[2J`  waits for you: ask: message 7
        ");
    }

    #[test]
    fn finished_children_are_hidden_first_in_little_room() {
        insta::assert_snapshot!(tree().lines(3).join("\n"), @r"
        r1 `sort`  1234 tokens, $0.0056  begins
          r3 `sort`  called a worker as r4
          and 2 more
        ");
        assert_eq!(tree().lines(0).len(), 2);
    }

    #[test]
    fn usage_change_affects_run_and_its_ancestors() {
        assert_eq!(tree().above(RunNumber(4)), [RunNumber(4), RunNumber(3), RunNumber(1)]);
        assert_eq!(tree().above(RunNumber(9)), []);
    }
}
