//! The resources that one vat has used, and the first limit that it exceeded.
//!
//! The allocator, the engine's interrupt handler and the loop over jobs ask the meter. A fault sticks: guest code can
//! catch the exception that it sees. But at the next look at the meter the code ends, and its turn leaves no trace.

use std::cell::Cell;

use crate::{FaultKind, Limits};

/// How many steps the engine takes between two calls of its interrupt handler.
pub(crate) const FUEL_PORTION: u64 = 10_000;
/// The steps that one promise job costs beside its own, so that jobs that do nothing still run out.
const JOB_FUEL: u64 = 20;
/// Code that comes this close to the end of the stack has a fault. The distance is more than any of the realm's own
/// functions needs. So none of them is ever cut short by a guest that called it from the brink.
const STACK_RESERVE: usize = 48 << 10;

/// A clock that only goes forward, in milliseconds from anywhere.
pub type Clock = std::rc::Rc<dyn Fn() -> u64>;

pub(crate) struct Meter {
    pub(crate) limits: Limits,
    clock: Clock,
    used: Cell<usize>,
    fuel: Cell<u64>,
    deadline: Cell<u64>,
    stack_base: Cell<usize>,
    fault: Cell<Option<FaultKind>>,
}

impl Meter {
    pub(crate) fn new(limits: Limits, clock: Clock) -> Meter {
        Meter {
            limits,
            clock,
            used: Cell::new(0),
            fuel: Cell::new(u64::MAX),
            deadline: Cell::new(u64::MAX),
            stack_base: Cell::new(usize::MAX),
            fault: Cell::new(None),
        }
    }

    /// Begins an order: fuel and time are fresh. The stack counts from the caller's frame.
    pub(crate) fn begin(&self) {
        self.fuel.set(self.limits.fuel);
        self.deadline.set((self.clock)().saturating_add(self.limits.wall_ms));
        self.stack_base.set(stack_address());
    }

    /// Returns the first limit that was passed, if any.
    pub(crate) fn fault(&self) -> Option<FaultKind> {
        self.fault.get()
    }

    /// Records a fault, unless there is one already.
    pub(crate) fn fail(&self, kind: FaultKind) {
        if self.fault.get().is_none() {
            self.fault.set(Some(kind));
        }
    }

    /// Takes a portion of fuel and looks at the clock. Whether the code must stop.
    pub(crate) fn interrupted(&self) -> bool {
        self.burn(FUEL_PORTION);
        if (self.clock)() > self.deadline.get() {
            self.fail(FaultKind::Time);
        }
        self.fault.get().is_some()
    }

    /// Counts one promise job. The clock is looked at for some of them only.
    pub(crate) fn job(&self, number: u64) -> bool {
        self.burn(JOB_FUEL);
        if number.is_multiple_of(64) && (self.clock)() > self.deadline.get() {
            self.fail(FaultKind::Time);
        }
        self.fault.get().is_some()
    }

    fn burn(&self, steps: u64) {
        match self.fuel.get().checked_sub(steps) {
            Some(left) => self.fuel.set(left),
            None => self.fail(FaultKind::Fuel),
        }
    }

    /// Bytes of the heap in use.
    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    /// Asks for more bytes. Every larger block comes by here, and with it the account of the stack that every error
    /// gets. So a stack that is nearly used up is seen, even if guest code catches that error.
    pub(crate) fn grow(&self, bytes: usize) -> bool {
        self.check_stack();
        match self.used.get().checked_add(bytes) {
            Some(used) if used <= self.limits.memory => {
                self.used.set(used);
                true
            }
            _ => {
                self.fail(FaultKind::Memory);
                false
            }
        }
    }

    /// Looks how much of the stack is left.
    pub(crate) fn check_stack(&self) {
        if self.stack_base.get().saturating_sub(stack_address())
            > self.limits.stack.saturating_sub(STACK_RESERVE)
        {
            self.fail(FaultKind::Stack);
        }
    }

    /// Gives bytes back.
    pub(crate) fn shrink(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes));
    }
}

/// Returns about where the stack ends now.
#[inline(never)]
fn stack_address() -> usize {
    let mark = 0u8;
    std::ptr::from_ref(std::hint::black_box(&mark)).addr()
}
