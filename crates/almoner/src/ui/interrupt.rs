//! Ctrl-C while a run is followed. The run is left as it is, and the user is told how to return to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::{Handle, Signals};

/// Whether Ctrl-C ends this process at once, as it does while no [`InterruptWatch`] lives.
static EXITS_IMMEDIATELY: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A watch for Ctrl-C. While it lives, the first Ctrl-C calls its callback, and one more ends the process at once.
pub struct InterruptWatch {
    handle: Option<Handle>,
}

impl InterruptWatch {
    /// Begins to watch. The first Ctrl-C calls `tell` on a separate thread. If the system cannot watch signals,
    /// Ctrl-C ends the process as usual, and nothing is lost.
    pub fn begin(tell: impl FnOnce() + Send + 'static) -> InterruptWatch {
        let at_once = EXITS_IMMEDIATELY.get_or_init(|| {
            let at_once = Arc::new(AtomicBool::new(true));
            let _ = register_conditional_default(SIGINT, Arc::clone(&at_once));
            at_once
        });
        let Ok(mut signals) = Signals::new([SIGINT]) else { return InterruptWatch { handle: None } };
        let handle = signals.handle();
        at_once.store(false, Ordering::SeqCst);
        let watched = Arc::clone(at_once);
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                watched.store(true, Ordering::SeqCst);
                tell();
            }
        });
        InterruptWatch { handle: Some(handle) }
    }
}

impl Drop for InterruptWatch {
    fn drop(&mut self) {
        if let Some(at_once) = EXITS_IMMEDIATELY.get() {
            at_once.store(true, Ordering::SeqCst);
        }
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}
