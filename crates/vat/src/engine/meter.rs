//! The meter: the resources that one vat has used, and the first limit that it exceeded.
//!
//! The allocator, the engine's interrupt handler and the loop over jobs use the meter. A fault is permanent. Guest
//! code can catch the exception that it sees. But at the next check of the meter the code ends, and its turn has no
//! effect outside.

use std::cell::Cell;

use crate::{FaultKind, Limits};

/// The number of steps that the engine takes between two calls of its interrupt handler.
pub(crate) const FUEL_PORTION: u64 = 10_000;
/// The number of steps that one promise job costs in addition, so that empty jobs use up the fuel too.
const JOB_FUEL: u64 = 20;
/// The number of bytes at the end of the stack that guest code may not use. This is more than any of the realm's own
/// functions needs. So no such function fails half way because a guest called it with little stack left.
const STACK_RESERVE: usize = 48 << 10;

/// A monotonic clock, in milliseconds since any fixed time.
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

    /// Begins an order with full fuel and time. The stack is counted from the caller's frame.
    pub(crate) fn begin(&self) {
        self.fuel.set(self.limits.fuel);
        self.deadline.set((self.clock)().saturating_add(self.limits.wall_ms));
        self.stack_base.set(stack_address());
    }

    /// Returns the first limit that was exceeded, if any.
    pub(crate) fn fault(&self) -> Option<FaultKind> {
        self.fault.get()
    }

    /// Records a fault, unless there is one already.
    pub(crate) fn fail(&self, kind: FaultKind) {
        if self.fault.get().is_none() {
            self.fault.set(Some(kind));
        }
    }

    /// Takes a portion of fuel and checks the clock. Returns whether the code must stop.
    pub(crate) fn interrupted(&self) -> bool {
        self.burn(FUEL_PORTION);
        if (self.clock)() > self.deadline.get() {
            self.fail(FaultKind::Time);
        }
        self.fault.get().is_some()
    }

    /// Counts one promise job. Only some jobs check the clock. Returns whether the code must stop.
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

    /// Returns the number of heap bytes in use.
    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    /// Requests more bytes, and returns whether they fit. Every larger block is requested here, and so is the stack
    /// trace that every error gets. So a nearly full stack is noticed even if guest code catches that error.
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

    /// Checks how much of the stack is left.
    pub(crate) fn check_stack(&self) {
        if self.stack_base.get().saturating_sub(stack_address())
            > self.limits.stack.saturating_sub(STACK_RESERVE)
        {
            self.fail(FaultKind::Stack);
        }
    }

    /// Returns bytes to the budget.
    pub(crate) fn shrink(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes));
    }
}

/// Returns the approximate address of the stack's current end.
#[inline(never)]
fn stack_address() -> usize {
    let mark = 0u8;
    std::ptr::from_ref(std::hint::black_box(&mark)).addr()
}
