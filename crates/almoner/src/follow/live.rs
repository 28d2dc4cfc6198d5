//! Following at a terminal: one tree, drawn anew whenever something changes.

use kernel::RunNumber;
use kernel::event::Change;
use kernel::run::Run;

use crate::client::Client;
use crate::session::Acting;
use crate::ui::output;
use crate::ui::output::Drawn;
use control::ask::unexpected;
use control::exit::Failure;
use control::protocol::{Request, Response};
use control::show::live::Tree;

/// The tree that is drawn while a run is followed.
pub struct Live {
    tree: Tree,
    drawn: Drawn,
    client: Option<Client>,
}

impl Live {
    /// Returns a tree of nothing, if this terminal can draw one.
    pub fn begin() -> Option<Live> {
        output::can_draw().then(|| Live { tree: Tree::default(), drawn: Drawn::default(), client: None })
    }

    /// Takes note of runs that were there before.
    pub fn know(&mut self, runs: &[Run]) {
        runs.iter().for_each(|run| self.tree.know(run));
    }

    /// Takes note of a change.
    pub fn hear(&mut self, acting: &Acting<'_>, change: &Change) {
        let run = match change {
            Change::Step { run, .. } | Change::RunFinished { run, .. } => Some(*run),
            _ => None,
        };
        if self.tree.hear(change) {
            for run in run.map(|run| self.tree.above(run)).unwrap_or_default() {
                // Who cannot be asked now is asked after the next step.
                if let Ok(run) = self.look(acting, run) {
                    self.know(&run);
                }
            }
        }
    }

    /// Returns the summary of a run, as lists have it, without its documents.
    fn look(&mut self, acting: &Acting<'_>, run: RunNumber) -> Result<Vec<Run>, Failure> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => acting.connect()?,
        };
        let below = Some(RunNumber(run.0.saturating_add(1)));
        let answer = client.ask(Request::Runs { limit: 1, below, roots: false })?;
        self.client = Some(client);
        match answer {
            Response::Runs(mut runs) => {
                runs.retain(|found| found.number == run);
                Ok(runs)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Takes note of a model's progress, as text that has been made visible.
    pub fn does(&mut self, run: RunNumber, what: String) {
        self.tree.does(run, what);
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
