//! Times: how long ago or how soon, with the exact time behind it. The script shows them in the reader's time zone.

use maud::{Markup, html};

use super::context;

/// The number of milliseconds in a second.
const SECOND: u64 = 1000;

/// Returns a time as a reader says it, such as `3 min ago`. The title has the exact time.
pub fn when(ms: i64) -> Markup {
    html! {
        time datetime=(kernel::time::iso(ms)) title=(kernel::time::shown(ms)) data-ago {
            @match context::now_ms() { Some(now) => (distance(ms, now)), None => (to_the_minute(ms)) }
        }
    }
}

/// Returns a time to the minute, for sentences such as `until 2026-11-25 09:30`.
pub fn at(ms: i64) -> Markup {
    html! {
        time datetime=(kernel::time::iso(ms)) title=(kernel::time::shown(ms)) data-at { (to_the_minute(ms)) " UTC" }
    }
}

fn to_the_minute(ms: i64) -> String {
    let iso = kernel::time::iso(ms);
    iso.get(..16).unwrap_or(&iso).replace('T', " ")
}

/// Returns how far a time is from now. A time that is more than a week away is shown as a date.
///
/// The script has the same rule (`shell.js`).
fn distance(ms: i64, now: i64) -> String {
    let far = now.abs_diff(ms) / SECOND;
    let days = |count: u64| if count == 1 { "1 day".to_owned() } else { format!("{count} days") };
    let long = match far {
        0..60 => return if ms > now { "in a moment" } else { "just now" }.to_owned(),
        60..3600 => format!("{} min", far / 60),
        3600..86_400 => format!("{} h", far / 3600),
        86_400..604_800 => days(far / 86_400),
        _ => return kernel::time::iso(ms).chars().take(10).collect(),
    };
    if ms > now { format!("in {long}") } else { format!("{long} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::context::PageContext;

    #[test]
    fn distance_has_the_largest_unit() {
        const NOW: i64 = 1_791_279_000_000;
        let check = |seconds: i64, expected: &str| assert_eq!(distance(NOW + seconds * 1000, NOW), expected);
        check(0, "just now");
        check(-59, "just now");
        check(-60, "1 min ago");
        check(-3599, "59 min ago");
        check(-7200, "2 h ago");
        check(-86_400, "1 day ago");
        check(-6 * 86_400, "6 days ago");
        check(-7 * 86_400, "2026-09-29");
        check(30, "in a moment");
        check(180, "in 3 min");
        check(43_200, "in 12 h");
        check(30 * 86_400, "2026-11-05");
    }

    #[test]
    fn exact_time_stands_behind_the_distance() {
        const NOW: i64 = 1_791_279_000_123;
        let context = PageContext { now_ms: Some(NOW), home: None };
        let drawn = crate::page::context::within(context, || when(NOW - 180_000));
        for part in
            ["datetime=\"2026-10-06T09:27:00.123Z\"", "title=\"2026-10-06 09:27:00 UTC\"", ">3 min ago<"]
        {
            assert!(drawn.0.contains(part), "{part}: {}", drawn.0);
        }
        // Without a clock, the time itself is shown.
        assert!(when(NOW).0.contains(">2026-10-06 09:30<"));
    }
}
