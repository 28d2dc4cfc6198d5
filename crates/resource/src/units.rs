//! Numbers with units as people write them, such as `10MiB`, `200k`, `10_000` or `1h30m`.

use std::borrow::Cow;

/// Returns a number of bytes, or `None` if the text is none. The unit may be missing, or is `B`, `kB`, `MB`, `GB`,
/// `TB` (powers of 1000), `KiB`, `MiB`, `GiB` or `TiB` (powers of 1024).
pub fn bytes(text: &str) -> Option<u64> {
    let text = ungrouped(text);
    let (number, unit) = split(&text)?;
    let factor = match unit {
        "" | "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TB" => 1_000_000_000_000,
        "TiB" => 1 << 40,
        _ => return None,
    };
    scale(number, factor)
}

/// Returns a count, or `None` if the text is none. The number may be followed by `k` or `M`.
pub fn count(text: &str) -> Option<u64> {
    let text = ungrouped(text);
    let (number, unit) = split(&text)?;
    let factor = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        _ => return None,
    };
    scale(number, factor)
}

/// Returns a duration in milliseconds, or `None` if the text is none. Each number is followed by `ms`, `s`, `m`, `h`
/// or `d`, and larger units come first.
pub fn duration_ms(text: &str) -> Option<u64> {
    let text = ungrouped(text);
    let mut rest = text.trim();
    let mut total = 0u64;
    let mut last = u64::MAX;
    while !rest.is_empty() {
        let (number, tail) = split(rest)?;
        let width = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(width)?;
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        if factor >= last {
            return None;
        }
        last = factor;
        total = total.checked_add(scale(number, factor)?)?;
        rest = tail.trim_start();
    }
    (last != u64::MAX).then_some(total)
}

/// Returns a number of bytes as [`bytes`] reads it, in the largest unit that gives a whole number.
pub fn typed_bytes(bytes: u64) -> String {
    let units = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let whole = units.iter().find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or_else(|| bytes.to_string(), |(name, unit)| format!("{}{name}", bytes / unit))
}

/// Returns a number of bytes for people, with at most one decimal: `900 B`, `12.5 KiB`, `64 MiB`.
pub fn rounded_bytes(bytes: u64) -> String {
    let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((name, unit)) = units.iter().find(|(_, unit)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let tenths = u128::from(bytes) * 10 / u128::from(*unit);
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        part => format!("{}.{part} {name}", tenths / 10),
    }
}

/// Returns a duration as [`duration_ms`] reads it, in the largest unit that gives a whole number.
pub fn typed_duration(ms: u64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let whole = units.iter().find(|(_, unit)| ms > 0 && ms.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{ms}ms"), |(name, unit)| format!("{}{name}", ms / unit))
}

/// Returns an amount in dollars as decimal digits, given in millionths of a dollar. There are at least two decimals,
/// and no further zeros at the end.
pub fn typed_dollars(micros: u64) -> String {
    let cents = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let short = cents.trim_end_matches('0');
    let missing = 2usize.saturating_sub(short.len() - short.find('.').map_or(0, |at| at + 1));
    format!("{short}{}", "0".repeat(missing))
}

/// Returns a text without the `_` between groups of digits. A `_` at any other place stays, so that no number is read.
fn ungrouped(text: &str) -> Cow<'_, str> {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let between = |at: usize| at > 0 && is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1));
    if !text.contains('_') {
        return Cow::Borrowed(text);
    }
    text.char_indices().filter(|(at, char)| *char != '_' || !between(*at)).map(|(_, char)| char).collect()
}

/// Returns the digits before and after the point of the number at the beginning, and the text after the number.
fn split(text: &str) -> Option<((&str, &str), &str)> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let text = text.trim();
    let (whole, rest) = text.split_at_checked(digits(text))?;
    let (part, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(digits(rest)).filter(|(part, _)| !part.is_empty())?,
        None => ("", rest),
    };
    (!whole.is_empty()).then_some(((whole, part), rest.trim_start()))
}

/// Returns a decimal number multiplied by a factor. The result must be exact: `1.5k` is 1500, and `1.0005k` is `None`
/// instead of a rounded number.
fn scale((whole, part): (&str, &str), factor: u64) -> Option<u64> {
    let part = part.trim_end_matches('0');
    let tens = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part: u64 = if part.is_empty() { 0 } else { part.parse().ok()? };
    let part = part.checked_mul(factor)?;
    (part % tens == 0).then_some(())?;
    whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(part / tens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_amounts_are_read_back() {
        for n in [0, 1, 999, 1000, 1024, 1536, 60_000, 61_000, 3_600_000, 1 << 20, 5 << 30, 86_400_000] {
            assert_eq!(bytes(&typed_bytes(n)), Some(n));
            assert_eq!(duration_ms(&typed_duration(n)), Some(n));
        }
        for (micros, text) in [(500_000, "0.50"), (1, "0.000001"), (12_340_000, "12.34"), (2_000_000, "2.00")]
        {
            assert_eq!(typed_dollars(micros), text);
        }
    }

    #[test]
    fn amounts_with_units_are_read() {
        for (text, expected) in [
            ("0", Some(0)),
            ("512", Some(512)),
            ("10MiB", Some(10 << 20)),
            ("10 MiB", Some(10 << 20)),
            ("2kB", Some(2_000)),
            ("1.5GiB", Some(3 << 29)),
            ("1TiB", Some(1 << 40)),
            ("10MB", Some(10_000_000)),
            ("10mb", None),
            ("10M", None),
            ("1.", None),
            (".5MB", None),
            ("-1", None),
            ("1e9", None),
            ("0.0001kB", None),
            ("99999999999GiB", None),
            ("1.00000000000000000000000000001GB", None),
            ("", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
        for (text, expected) in [
            ("200k", Some(200_000)),
            ("1.5M", Some(1_500_000)),
            ("7", Some(7)),
            ("7K", None),
            ("10_000", Some(10_000)),
            ("1_000_000", Some(1_000_000)),
            ("_10", None),
            ("10_", None),
            ("1__0", None),
            ("10,000", None),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
        for (text, expected) in [
            ("10m", Some(600_000)),
            ("1h30m", Some(5_400_000)),
            ("1h 30m", Some(5_400_000)),
            ("0.5s", Some(500)),
            ("250ms", Some(250)),
            ("7d", Some(604_800_000)),
            ("10", None),
            ("30m1h", None),
            ("1m1m", None),
            ("", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(duration_ms(text), expected, "{text}");
        }
    }
}
