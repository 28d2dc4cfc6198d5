//! The wall clock. No other module reads the current time for the user.

use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that sets how many milliseconds a test's clock is ahead of the machine's clock.
#[cfg(feature = "failpoints")]
const AHEAD: &str = "ALMONER_AHEAD_MS";

/// Returns the current time, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX).saturating_add(ahead())
}

/// Returns the number of milliseconds by which the clock is ahead, so that tests need not wait for weeks.
#[cfg(feature = "failpoints")]
fn ahead() -> i64 {
    use std::sync::OnceLock;
    static READ: OnceLock<i64> = OnceLock::new();
    *READ.get_or_init(|| std::env::var(AHEAD).ok().and_then(|ms| ms.parse().ok()).unwrap_or(0))
}

/// Returns 0: without failpoints, the machine's clock is used unchanged.
#[cfg(not(feature = "failpoints"))]
fn ahead() -> i64 {
    0
}
