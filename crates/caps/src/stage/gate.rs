//! The gate of staged copies: calls that change them wait while a backup reads them all.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The state of the gate.
struct GateState {
    /// The number of calls at work.
    inside: usize,
    is_closed: bool,
}

static STATE: Mutex<GateState> = Mutex::new(GateState { inside: 0, is_closed: false });
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, GateState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call that changes a staged copy. It ends when the value is dropped.
#[derive(Debug)]
pub struct StageCall(());

/// The closed gate. It opens when the value is dropped.
#[derive(Debug)]
pub struct ClosedGate(());

/// Begins a call that changes a staged copy. If the gate is closed, this waits until it opens.
pub fn begin_call() -> StageCall {
    let mut state = lock();
    while state.is_closed {
        state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.inside += 1;
    StageCall(())
}

/// Closes the gate and waits for the calls at work. Returns `None` if they do not end in time, or if the gate stays
/// closed by another caller.
pub fn close_gate(timeout: Duration) -> Option<ClosedGate> {
    let end = Instant::now() + timeout;
    let mut state = lock();
    // The gate of another caller opens first.
    state = wait_until(state, end, |state| !state.is_closed)?;
    state.is_closed = true;
    drop(state);
    // From here on, dropping the value opens the gate again.
    let closed = ClosedGate(());
    drop(wait_until(lock(), end, |state| state.inside == 0)?);
    Some(closed)
}

fn wait_until(
    mut state: MutexGuard<'static, GateState>,
    end: Instant,
    is_reached: impl Fn(&GateState) -> bool,
) -> Option<MutexGuard<'static, GateState>> {
    while !is_reached(&state) {
        let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        state = CHANGED.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    Some(state)
}

impl Drop for StageCall {
    fn drop(&mut self) {
        lock().inside -= 1;
        CHANGED.notify_all();
    }
}

impl Drop for ClosedGate {
    fn drop(&mut self) {
        lock().is_closed = false;
        CHANGED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn closed_gate_waits_for_calls_and_holds_new_ones_up() {
        let call = begin_call();
        assert!(close_gate(Duration::from_millis(5)).is_none(), "a call is at work");
        drop(call);
        let closed = close_gate(Duration::from_secs(60)).unwrap();
        let has_begun = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _call = begin_call();
                has_begun.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!has_begun.load(Ordering::SeqCst));
            drop(closed);
        });
        assert!(has_begun.load(Ordering::SeqCst));
    }
}
