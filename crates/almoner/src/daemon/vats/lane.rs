//! The code of one agent, one after the other, in a process that nobody shares.

use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use kernel::command::Act;
use kernel::run::{RunOutcome, Trouble};
use passable::Untrusted;

use super::super::log;
use super::super::world::Shared;
use super::parcel::Parcel;
use super::process::{Process, Reserve, Undone};

/// After how long without work the process goes.
const IDLE: Duration = Duration::from_secs(30);

/// How often code is begun whose process goes under it.
const ATTEMPTS: u32 = 4;

/// Works until there is nothing to do, or the daemon ends.
pub fn work(shared: &Weak<Shared>, reserve: &Reserve, parcels: &Receiver<Parcel>) {
    let mut process: Option<Process> = None;
    loop {
        let parcel = match parcels.recv_timeout(IDLE) {
            Ok(parcel) => parcel,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        };
        let Some(outcome) = run(&mut process, shared, reserve, &parcel) else { return };
        let Some(shared) = shared.upgrade() else { return };
        settle(&shared, &parcel, outcome);
        drop(shared);
        // The next agent need not wait for a process.
        reserve.fill();
    }
}

/// Runs code to its end, in the process that there is, in one of the reserve, or in new ones. `None` if the daemon ends:
/// it stays parked, and is taken up when the daemon is there again.
fn run(
    process: &mut Option<Process>,
    shared: &Weak<Shared>,
    reserve: &Reserve,
    parcel: &Parcel,
) -> Option<RunOutcome> {
    for attempt in 0..ATTEMPTS {
        let taken = match process.take() {
            Some(process) => Ok(process),
            None if attempt == 0 => reserve.take(),
            None => reserve.start(),
        };
        let mut running = match taken {
            Ok(running) => running,
            Err(trouble) => return Some(RunOutcome::Failed(trouble)),
        };
        match running.evaluate(parcel, &|| is_stopping(shared)) {
            Ok(outcome) => {
                *process = running.is_well().then_some(running);
                return Some(outcome);
            }
            Err(Undone::Stopped) => return None,
            // It has done nothing but compute, so it can begin again.
            Err(Undone::Lost) => {}
        }
    }
    Some(RunOutcome::Failed(Trouble {
        code: "vat/crashed".to_owned(),
        message: Untrusted::new(format!("its process ended by itself, {ATTEMPTS} times")),
        help: "`almoner doctor` says whether guest code can be confined here".to_owned(),
    }))
}

fn is_stopping(shared: &Weak<Shared>) -> bool {
    shared.upgrade().is_none_or(|shared| shared.is_stopping())
}

/// Records what came of it. What cannot be kept is a failure that says so.
fn settle(shared: &Shared, parcel: &Parcel, outcome: RunOutcome) {
    let record = |outcome| shared.apply_as(shared.root, None, Act::Evaluated { eval: parcel.eval, outcome });
    let was_done = matches!(outcome, RunOutcome::Done(_));
    if let Err(failure) = record(outcome) {
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
    }
}
