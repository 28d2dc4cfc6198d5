//! Ctrl-C while a run is followed: the run is left as it is, and the person is told how to come back to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::{Handle, Signals};

/// Whether Ctrl-C ends this process at once, as it does while no [`Watch`] lives.
static AT_ONCE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A watch for Ctrl-C. While it lives, the first Ctrl-C calls its callback, and one more ends the process at once.
pub struct Watch {
    handle: Option<Handle>,
}

impl Watch {
    /// Begins to watch. `tell` is called, on a thread of its own, at the first Ctrl-C. Where the system does not let
    /// signals be watched, Ctrl-C ends the process as ever, which loses nothing either.
    pub fn begin(tell: impl FnOnce() + Send + 'static) -> Watch {
        let at_once = AT_ONCE.get_or_init(|| {
            let at_once = Arc::new(AtomicBool::new(true));
            let _ = register_conditional_default(SIGINT, Arc::clone(&at_once));
            at_once
        });
        let Ok(mut signals) = Signals::new([SIGINT]) else { return Watch { handle: None } };
        let handle = signals.handle();
        at_once.store(false, Ordering::SeqCst);
        let watched = Arc::clone(at_once);
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                watched.store(true, Ordering::SeqCst);
                tell();
            }
        });
        Watch { handle: Some(handle) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(at_once) = AT_ONCE.get() {
            at_once.store(true, Ordering::SeqCst);
        }
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}
