//! The forms of times: the form that Endo writes, and the form for users.

use jiff::SignedDuration;
use jiff::civil::date;

/// Returns a time in milliseconds since 1970 in the form `2026-10-06T09:30:00.000Z`. A time outside of the years 0 to
/// 9999 becomes the nearest time inside.
pub fn iso(ms: i64) -> String {
    // 0000-01-01 to 9999-12-31.
    let ms = ms.clamp(-62_167_219_200_000, 253_402_300_799_999);
    // The range of a `Timestamp` ends a day before the year 9999 does, so a civil date is used.
    let at = date(1970, 1, 1).at(0, 0, 0, 0).saturating_add(SignedDuration::from_millis(ms));
    format!("{at:.3}Z")
}

/// Returns a time in the form for users, to the second: `2026-10-06 09:30:00 UTC`.
pub fn shown(ms: i64) -> String {
    let iso = iso(ms);
    let (to_the_second, _) = iso.split_at_checked(19).unwrap_or((&iso, ""));
    format!("{} UTC", to_the_second.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::{iso, shown};

    #[test]
    fn times_are_written_as_endo_writes_them() {
        let check = |ms: i64, expected: &str| assert_eq!(iso(ms), expected);
        check(0, "1970-01-01T00:00:00.000Z");
        check(-1, "1969-12-31T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_791_279_000_123, "2026-10-06T09:30:00.123Z");
        check(i64::MIN, "0000-01-01T00:00:00.000Z");
        check(i64::MAX, "9999-12-31T23:59:59.999Z");
        assert_eq!(shown(1_791_279_000_123), "2026-10-06 09:30:00 UTC");
    }
}
