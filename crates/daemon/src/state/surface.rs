//! The surface over which the command came that this thread carries out.
//!
//! One thread carries out one request from its beginning to its end, so the surface belongs to the thread. The drivers
//! of runs have none.

use std::cell::Cell;

use kernel::event::Surface;

thread_local! {
    static SURFACE: Cell<Option<Surface>> = const { Cell::new(None) };
}

/// Returns the surface of the request that this thread carries out, if it carries out one.
pub fn current() -> Option<Surface> {
    SURFACE.get()
}

/// Carries out a request that came over a surface.
pub fn over<T>(surface: Surface, work: impl FnOnce() -> T) -> T {
    let _reset = Reset(SURFACE.replace(Some(surface)));
    work()
}

/// Puts the earlier surface back, also when the work panics.
struct Reset(Option<Surface>);

impl Drop for Reset {
    fn drop(&mut self) {
        SURFACE.set(self.0);
    }
}
