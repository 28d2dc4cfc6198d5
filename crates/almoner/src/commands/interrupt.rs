//! Ctrl-C while a run is followed: the run is left as it is, and the person is told how to come back to it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use kernel::{MessageNumber, RunNumber};
use signal_hook::consts::SIGINT;
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::{Handle, Signals};

use super::acting::Acting;
use control::exit::{Exit, Failure};

/// Whether Ctrl-C ends this process at once, as it does where nobody waits for it.
static AT_ONCE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// As long as this lives, the first Ctrl-C is told to whoever waits; one more ends the process at once.
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

/// What a person is told who has stopped following a run: what becomes of it, and how to come back.
pub fn failure(acting: &Acting<'_>, run: RunNumber, pending: &BTreeSet<MessageNumber>) -> Failure {
    let again = format!("{} follows it again", acting.command(&format!("resume {run}")));
    let Some(first) = pending.first() else {
        return Failure::new(Exit::Interrupted, format!("interrupted; {run} goes on")).help(again);
    };
    let list: Vec<String> = pending.iter().map(ToString::to_string).collect();
    let message = format!("interrupted; {run} waits for you: message {}", list.join(", "));
    Failure::new(Exit::Interrupted, message)
        .help(format!("{} lets it be done, {again}", acting.command(&format!("approve {first}"))))
}
