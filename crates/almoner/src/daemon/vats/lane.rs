//! The code of one agent, one after the other, in a process that nobody shares.

use std::sync::Weak;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use kernel::FormulaId;
use kernel::command::Act;
use kernel::run::{RunOutcome, Trouble};
use passable::Untrusted;

use super::super::log;
use super::super::world::Shared;
use super::parcel::{self, Parcel, Parked};
use super::process::{Process, Reserve, Undone};

/// After how long without work the process goes.
const IDLE: Duration = Duration::from_secs(30);

/// How often code is begun whose process goes under it.
const ATTEMPTS: u32 = 4;

/// How long nothing is tried when no process can be started.
const PAUSE: Duration = Duration::from_secs(5);

/// Works until there is nothing to do, or the daemon ends. Whatever it leaves undone stays parked.
pub fn work(shared: &Weak<Shared>, reserve: &Reserve, evals: &Receiver<FormulaId>) {
    let mut process: Option<Process> = None;
    while let Ok(eval) = evals.recv_timeout(IDLE) {
        let Some(now) = shared.upgrade().filter(|shared| !shared.is_stopping()) else { return };
        let parcel = match now.read(|txn| parcel::of(txn, &eval)) {
            Ok(Parked::Ready(parcel)) => parcel,
            // It was cancelled meanwhile.
            Ok(Parked::Waits(_) | Parked::Never) => continue,
            // Whoever hands out work sees that nobody works, and begins anew.
            Err(_) => return,
        };
        drop(now);
        match run(&mut process, shared, reserve, &parcel) {
            Ran::To(outcome) => {
                let Some(shared) = shared.upgrade() else { return };
                if !settle(&shared, &parcel, outcome) {
                    return;
                }
            }
            Ran::Not => return,
            Ran::NoProcess(why) => {
                log::line(&format!("guest code waits: {why}"));
                if let Some(shared) = shared.upgrade() {
                    shared.news.rest(PAUSE);
                }
                return;
            }
        }
        // The next agent need not wait for a process.
        reserve.fill();
    }
}

/// How far code got.
enum Ran {
    /// To an outcome.
    To(RunOutcome),
    /// Nowhere: the daemon ends.
    Not,
    /// Nowhere: no process can be started, and why.
    NoProcess(String),
}

/// Runs code to its end, in the process that there is, in one of the reserve, or in new ones.
fn run(process: &mut Option<Process>, shared: &Weak<Shared>, reserve: &Reserve, parcel: &Parcel) -> Ran {
    for attempt in 0..ATTEMPTS {
        let taken = match process.take() {
            Some(process) => Ok(process),
            None if attempt == 0 => reserve.take(),
            None => reserve.start(),
        };
        let mut running = match taken {
            Ok(running) => running,
            Err(why) => return Ran::NoProcess(why),
        };
        match running.evaluate(parcel, &|| is_stopping(shared)) {
            Ok(outcome) => {
                *process = running.is_well().then_some(running);
                return Ran::To(outcome);
            }
            Err(Undone::Stopped) => return Ran::Not,
            // It has done nothing but compute, so it can begin again.
            Err(Undone::Lost) => {}
        }
    }
    Ran::To(RunOutcome::Failed(Trouble {
        code: "vat/crashed".to_owned(),
        message: Untrusted::new(format!("its process ended by itself, {ATTEMPTS} times")),
        help: "`almoner doctor` says whether guest code can be confined here".to_owned(),
    }))
}

fn is_stopping(shared: &Weak<Shared>) -> bool {
    shared.upgrade().is_none_or(|shared| shared.is_stopping())
}

/// Records what came of it; whether that is done. What cannot be kept is a failure that says so.
fn settle(shared: &Shared, parcel: &Parcel, outcome: RunOutcome) -> bool {
    let record = |outcome| shared.apply_as(shared.root, None, Act::Evaluated { eval: parcel.eval, outcome });
    let was_done = matches!(outcome, RunOutcome::Done(_));
    let Err(failure) = record(outcome) else { return true };
    let said = failure.message.raw().to_owned();
    let kept = was_done && {
        let trouble = Trouble {
            code: "vat/result".to_owned(),
            message: Untrusted::new(format!("its result cannot be kept: {said}")),
            help: "let it return less".to_owned(),
        };
        record(RunOutcome::Failed(trouble)).is_ok()
    };
    if !kept {
        log::line(&format!("what came of code {} is not recorded: {said}", parcel.eval.short()));
    }
    kept
}
