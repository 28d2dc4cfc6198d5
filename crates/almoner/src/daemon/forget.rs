//! `forget` and `gc`: what a run worked on goes, and so do bytes that nothing names.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kernel::RunNumber;
use kernel::command::{Act, Said};
use passable::Untrusted;

use super::desk::Desk;
use super::{changes, listing, stage};
use control::exit::{Exit, Failure};
use control::protocol::Freed;

/// Forgets what a run and all that it started worked on. What others have too stays; bytes go with the next sweep.
///
/// It is done child by child, the run that a person names last: what is cut off is done by asking again.
///
/// # Errors
/// When there is no such run, it is a part of another one, is not over, or has staged changes that nobody has decided
/// about.
pub fn forget(desk: &Desk, text: Untrusted, run: RunNumber) -> Result<Vec<RunNumber>, Failure> {
    let found = listing::one(&desk.daemon, run)?;
    if let Some(parent) = found.parent {
        return Err(Failure::new(Exit::Usage, format!("{run} is a part of {}", parent.run))
            .help(format!("`almoner forget {}` forgets both", parent.run)));
    }
    let family: BTreeSet<RunNumber> = changes::whole_family(desk, run)?;
    let copies: Vec<PathBuf> = stage::copies(desk, &found);
    if copies.iter().any(|copy| copy.exists()) {
        return Err(Failure::new(Exit::Conflict, format!("{run} has staged changes"))
            .help(format!("`almoner apply {run}` or `almoner discard {run}` first")));
    }
    let forgotten: Vec<RunNumber> = family.into_iter().rev().collect();
    for one in &forgotten {
        let said = (*one == run).then(|| Said { verb: "forget".to_owned(), text: text.clone() });
        desk.apply_as(desk.daemon.host, said, Act::Forget { run: *one })?;
    }
    // Nor is it remembered by what is still to run.
    desk.daemon.memory.forget();
    Ok(forgotten)
}

/// How often whoever waits looks whether the daemon ends.
const LOOK: Duration = Duration::from_millis(200);

/// Clearing up that people have asked for: the gardener does it, and says what came of it.
#[derive(Default)]
pub struct Errands(Mutex<Vec<Sender<Result<Freed, Failure>>>>);

impl Errands {
    /// Has everything collected and swept that can be, and waits for it.
    ///
    /// # Errors
    /// When the store fails, or the daemon ends first.
    pub fn ask(&self, ends: &dyn Fn() -> bool) -> Result<Freed, Failure> {
        let (send, done) = channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(send);
        loop {
            match done.recv_timeout(LOOK) {
                Ok(freed) => return freed,
                Err(RecvTimeoutError::Timeout) if !ends() => {}
                Err(_) => {
                    return Err(Failure::new(Exit::NoDaemon, "the daemon ends")
                        .help("ask again; what was not removed stays, and nothing else is lost"));
                }
            }
        }
    }

    /// Who waits.
    pub fn take(&self) -> Vec<Sender<Result<Freed, Failure>>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
