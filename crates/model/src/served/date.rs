//! The value of a `Retry-After` header, which is a number of seconds or a date.

use std::time::{Duration, SystemTime};

/// Returns the wait that a server asks for, at the time `now`. The result is `None` if the value is neither a number
/// of seconds nor a date. It is zero for a date in the past.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn retry_after_accepts_only_seconds_and_dates() {
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
            ("Sat, 06 Nov 1993 08:49:37 GMT", Some(0.0)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30.0)),
            ("Sun, 06 Nov 1993 08:49:37 GMT", None),
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
