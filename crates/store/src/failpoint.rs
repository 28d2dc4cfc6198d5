//! Points at which a test can kill the process, as `kill -9` would.
//!
//! With the feature `failpoints`, the environment variable `FAILPOINTS` gives the action at each point, in the
//! notation of the `fail` crate. The action `return` means SIGKILL: `FAILPOINTS="store.after_commit=16*off->return"`
//! kills the process right after its 17th commit. Without the feature, the points do nothing, and the variable is not
//! read.

/// The points of this crate that one write with a blob passes, in this order.
pub const NAMES: [&str; 4] =
    ["blob.before_rename", "blob.after_rename", "store.before_commit", "store.after_commit"];

/// The points that a sweep passes for each file.
pub const SWEEP: [&str; 2] = ["sweep.before_remove", "sweep.after_remove"];

/// Arms the points that `FAILPOINTS` names. Later calls do nothing. [`Store::open`](crate::Store::open) calls this
/// function.
#[cfg(feature = "failpoints")]
pub fn install() -> Result<(), String> {
    use std::sync::OnceLock;
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let spec = std::env::var("FAILPOINTS").unwrap_or_default();
        for one in spec.split(';').filter(|one| !one.trim().is_empty()) {
            let (name, actions) = one.split_once('=').ok_or_else(|| format!("no `=` in `{one}`"))?;
            fail::cfg(name.trim(), actions.trim())?;
        }
        Ok(())
    });
    installed.clone()
}

/// Kills the process if the point is armed.
#[cfg(feature = "failpoints")]
pub fn reach(name: &'static str) {
    let reached = || -> () { fail::fail_point!(name, |_| kill()) };
    reached();
}

/// Returns whether the point is armed, for points at which the caller does something else than end the process.
#[cfg(feature = "failpoints")]
pub fn is_armed(name: &'static str) -> bool {
    let armed = || -> bool {
        fail::fail_point!(name, |_| true);
        false
    };
    armed()
}

/// Returns `false`, because without the feature no point is armed.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn is_armed(_name: &'static str) -> bool {
    false
}

/// Does nothing, because the feature is off.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn reach(_name: &'static str) {}

#[cfg(feature = "failpoints")]
fn kill() {
    use rustix::process::{Signal, getpid, kill_process};
    if kill_process(getpid(), Signal::KILL).is_err() {
        std::process::abort();
    }
}
