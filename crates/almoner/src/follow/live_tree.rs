//! The live display of a run at a terminal: one tree, redrawn whenever something changes.

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
    /// Returns an empty tree, or `None` if this terminal cannot draw a tree.
    pub fn begin() -> Option<LiveTree> {
        output::can_draw().then(|| LiveTree { tree: Tree::default(), drawn: ScreenLines::default() })
    }

    /// Adds runs that were loaded from the daemon.
    pub fn add_runs(&mut self, runs: &[Run]) {
        runs.iter().for_each(|run| self.tree.add_run(run));
    }

    /// Applies a change to the tree, and loads the runs that the tree does not know yet.
    pub fn apply_change(&mut self, acting: &Session<'_>, change: &Change) {
        let run = match change {
            Change::Step { run, .. } | Change::RunFinished { run, .. } => Some(*run),
            _ => None,
        };
        if self.tree.apply_change(change) {
            for run in run.map(|run| self.tree.above(run)).unwrap_or_default() {
                // If a run cannot be loaded now, it is loaded after its next step.
                if let Ok(run) = self.load_runs(acting, run) {
                    self.add_runs(&run);
                }
            }
        }
    }

    /// Loads the summary of a run, without its documents. The list is empty if the run does not exist.
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

    /// Sets the current activity of a run's model. The text must already be made visible.
    pub fn set_activity(&mut self, run: RunNumber, what: String) {
        self.tree.set_activity(run, what);
    }

    /// Draws the tree at the end of the screen.
    pub fn draw(&mut self) {
        let tree = &self.tree;
        self.drawn.draw(|rows| tree.lines(rows));
    }

    /// Erases the tree, so that other lines can be printed.
    pub fn erase(&mut self) {
        self.drawn.erase();
    }
}
