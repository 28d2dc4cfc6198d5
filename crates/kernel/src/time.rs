//! Times as Endo writes them, and as people read them.

/// Milliseconds since 1970 as `2026-10-06T09:30:00.000Z`. Years outside of 0 to 9999 are held at the nearest end.
pub fn iso(ms: i64) -> String {
    // 0000-01-01 to 9999-12-31.
    let ms = ms.clamp(-62_167_219_200_000, 253_402_300_799_999);
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

/// The same as people read it, to the second: `2026-10-06 09:30:00 UTC`.
pub fn shown(ms: i64) -> String {
    let iso = iso(ms);
    let (to_the_second, _) = iso.split_at_checked(19).unwrap_or((&iso, ""));
    format!("{} UTC", to_the_second.replace('T', " "))
}

/// The date that is so many days after 1970-01-01, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from 0000-03-01, so that the leap day is the last of its year, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
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
