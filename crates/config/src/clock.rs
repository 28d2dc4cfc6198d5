//! The wall clock: the only place where this program learns the time for its users.

use std::time::{SystemTime, UNIX_EPOCH};

/// How far a test's clock is ahead of the machine's, in milliseconds.
#[cfg(feature = "failpoints")]
const AHEAD: &str = "ALMONER_AHEAD_MS";

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX).saturating_add(ahead())
}

/// Tests do not wait for weeks.
#[cfg(feature = "failpoints")]
fn ahead() -> i64 {
    use std::sync::OnceLock;
    static READ: OnceLock<i64> = OnceLock::new();
    *READ.get_or_init(|| std::env::var(AHEAD).ok().and_then(|ms| ms.parse().ok()).unwrap_or(0))
}

/// Returns 0: the machine's clock is right.
#[cfg(not(feature = "failpoints"))]
fn ahead() -> i64 {
    0
}
