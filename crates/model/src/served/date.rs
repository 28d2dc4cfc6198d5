//! `Retry-After`: seconds, or a date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// How long a server asks to wait, at `now`. `None` for what is neither a number of seconds nor a date; a date that
/// is over asks for no time at all.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(date(value)?.duration_since(now).unwrap_or_default()),
    }
}

/// A date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<SystemTime> {
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.split(' ');
    let mut next = || parts.next();
    let day: u64 = next()?.parse().ok()?;
    let month = next()?;
    let month = 1 + MONTHS.iter().position(|name| *name == month)? as u64;
    let year: u64 = next()?.parse().ok()?;
    let clock: Vec<u64> = next()?.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = *clock.as_slice() else { return None };
    let is_one = next() == Some("GMT")
        && (1970..=9999).contains(&year)
        && (1..=31).contains(&day)
        && hours < 24
        && minutes < 60
        && seconds <= 60;
    if !is_one {
        return None;
    }
    let seconds = days(year, month, day)? * 86_400 + hours * 3600 + minutes * 60 + seconds;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Days since 1970-01-01. Years are counted from March, so that a leap day is the last of its year.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let before = 365 * year + year / 4 - year / 100 + year / 400;
    // March 1st of year 0 is 719,468 days before 1970.
    (before + (153 * month + 2) / 5 + day).checked_sub(1 + 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_nothing_else() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, expected) in [
            ("7", Some(7.0)),
            (" 0.5 ", Some(0.5)),
            ("-1", None),
            ("nan", None),
            ("1e300", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0.0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30.0)),
            ("Tue, 08 Nov 1994 08:49:37 GMT", Some(172_800.0)),
            ("Sun, 06 Nov 1993 08:49:37 GMT", Some(0.0)),
            ("Thu, 29 Feb 1996 00:00:00 GMT", Some(41_440_223.0)),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", None),
            ("Sun, 06 Nov 18446744073709551615 08:49:37 GMT", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, now).map(|wait| wait.as_secs_f64()), expected, "{value}");
        }
    }
}
