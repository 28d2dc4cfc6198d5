//! Following at a terminal: one tree, drawn anew whenever something changes.

use kernel::RunNumber;
use kernel::event::Change;
use kernel::run::Run;

use crate::session::Session;
use crate::ui::output;
use crate::ui::output::ScreenLines;
use control::ask::unexpected;
use control::exit::Failure;
use control::protocol::{Request, Response};
use control::show::live::Tree;

/// The tree that is drawn while a run is followed.
pub struct LiveTree {
    tree: Tree,
    drawn: ScreenLines,
}

impl LiveTree {
    /// Returns a tree of nothing, if this terminal can draw one.
    pub fn begin() -> Option<LiveTree> {
        output::can_draw().then(|| LiveTree { tree: Tree::default(), drawn: ScreenLines::default() })
    }

    /// Takes note of runs that were there before.
    pub fn add_runs(&mut self, runs: &[Run]) {
        runs.iter().for_each(|run| self.tree.add_run(run));
    }

    /// Takes note of a change.
    pub fn apply_change(&mut self, acting: &Session<'_>, change: &Change) {
        let run = match change {
            Change::Step { run, .. } | Change::RunFinished { run, .. } => Some(*run),
            _ => None,
        };
        if self.tree.apply_change(change) {
            for run in run.map(|run| self.tree.above(run)).unwrap_or_default() {
                // Who cannot be asked now is asked after the next step.
                if let Ok(run) = self.load_runs(acting, run) {
                    self.add_runs(&run);
                }
            }
        }
    }

    /// Returns the summary of a run, as lists have it, without its documents.
    fn load_runs(&mut self, acting: &Session<'_>, run: RunNumber) -> Result<Vec<Run>, Failure> {
        let below = Some(RunNumber(run.0.saturating_add(1)));
        let answer = acting.ask(Request::Runs { limit: 1, below, roots: false })?;
        match answer {
            Response::Runs(mut runs) => {
                runs.retain(|found| found.number == run);
                Ok(runs)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Takes note of a model's progress, as text that has been made visible.
    pub fn set_activity(&mut self, run: RunNumber, what: String) {
        self.tree.set_activity(run, what);
    }

    /// Draws it at the end of the screen.
    pub fn draw(&mut self) {
        let tree = &self.tree;
        self.drawn.draw(|rows| tree.lines(rows));
    }

    /// Makes room for other things.
    pub fn erase(&mut self) {
        self.drawn.erase();
    }
}
