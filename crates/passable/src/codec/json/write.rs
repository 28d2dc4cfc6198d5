//! The JSON writer, whose output is byte for byte that of JavaScript's `JSON.stringify`.

use crate::codec::scan::before_escape;
use crate::text::Text;

/// Writes a string, with a prefix inside the quotes.
pub(crate) fn write_string(out: &mut String, prefix: &str, text: &Text) {
    out.push('"');
    out.push_str(prefix);
    match text.as_str() {
        Some(text) => write_escaped(out, text),
        None => {
            for unit in char::decode_utf16(text.units()) {
                match unit {
                    Ok(char) => write_escaped(out, char.encode_utf8(&mut [0; 4])),
                    Err(lone) => out.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
                }
            }
        }
    }
    out.push('"');
}

fn write_escaped(out: &mut String, mut text: &str) {
    loop {
        let (plain, rest) = text.split_at_checked(before_escape(text.as_bytes())).unwrap_or((text, ""));
        out.push_str(plain);
        let Some((&byte, _)) = rest.as_bytes().split_first() else { return };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x09 => out.push_str("\\t"),
            0x0A => out.push_str("\\n"),
            0x0C => out.push_str("\\f"),
            0x0D => out.push_str("\\r"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        text = rest.get(1..).unwrap_or_default();
    }
}

/// Writes a whole number.
pub(crate) fn write_integer(out: &mut String, number: impl itoa::Integer) {
    out.push_str(itoa::Buffer::new().format(number));
}

/// Writes a finite number; `-0` is written as `0`.
pub(crate) fn write_number(out: &mut String, number: f64) {
    if number.abs() < 1e15 && number as i64 as f64 == number {
        return write_integer(out, number as i64);
    }
    // The standard library is not used here: where two shortest texts are equally near, JavaScript takes the even
    // one.
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(number);
    match shortest.split_once('e') {
        None => out.push_str(shortest.strip_suffix(".0").unwrap_or(shortest)),
        Some((mantissa, exponent)) => write_scientific(out, mantissa, exponent.parse().unwrap_or_default()),
    }
}

/// Writes a number whose mantissa has one digit before its point.
fn write_scientific(out: &mut String, mantissa: &str, exponent: i32) {
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count() as i32;
    let zeros = |out: &mut String, count: i32| (0..count).for_each(|_| out.push('0'));
    let plain = |out: &mut String| out.extend(mantissa.chars().filter(char::is_ascii_digit));
    if mantissa.starts_with('-') && (-6..21).contains(&exponent) {
        out.push('-');
    }
    match exponent {
        -6..0 => {
            out.push_str("0.");
            zeros(out, -1 - exponent);
            plain(out);
        }
        // A number that comes here is so large that all of its digits stand before the point.
        0..21 => {
            plain(out);
            zeros(out, exponent + 1 - digits);
        }
        _ => {
            out.push_str(mantissa.strip_suffix(".0").unwrap_or(mantissa));
            out.push_str(if exponent < 0 { "e-" } else { "e+" });
            write_integer(out, exponent.unsigned_abs());
        }
    }
}

/// Returns fields in the order in which JavaScript writes an object's own properties after sorting. Array indices
/// come first, by number, and then all other names by UTF-16 units.
pub(crate) fn property_order<T>(fields: &[(Text, T)]) -> impl Iterator<Item = &(Text, T)> {
    let is_index = |name: &Text| array_index(name).is_some();
    // Almost no record has array indices as names, so nothing is collected before one has been seen.
    let any = fields.iter().any(|(name, _)| is_index(name));
    let mut indices: Vec<_> = match any {
        true => fields.iter().filter(|(name, _)| is_index(name)).collect(),
        false => Vec::new(),
    };
    indices.sort_by_key(|(name, _)| array_index(name));
    indices.into_iter().chain(fields.iter().filter(move |(name, _)| !any || !is_index(name)))
}

fn array_index(name: &Text) -> Option<u32> {
    let bytes = name.as_bytes();
    let canonical = matches!(bytes, [b'0'] | [b'1'..=b'9', ..]) && bytes.iter().all(u8::is_ascii_digit);
    if !canonical || bytes.len() > 10 {
        return None;
    }
    name.as_str()?.parse::<u32>().ok().filter(|index| *index < u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_javascript() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (3e300, "3e+300"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (9007199254740992.0, "9007199254740992"),
            (1e21, "1e+21"),
            (123456789012345680000.0, "123456789012345680000"),
            (0.000001, "0.000001"),
            (0.0000001, "1e-7"),
            (1.5e-9, "1.5e-9"),
            (0.1, "0.1"),
            (-1234.5678, "-1234.5678"),
            (1.25e15, "1250000000000000"),
            (-1.5e16, "-15000000000000000"),
            (-1.5e-6, "-0.0000015"),
            (-1.5e-7, "-1.5e-7"),
            // These numbers are equally near to two shortest texts.
            (-1180027741824.0 - 0.28125, "-1180027741824.2812"),
            (1125899906842624.0 + 0.25, "1125899906842624.2"),
            (9.0 / f64::from(1 << 23), "0.0000010728836059570312"),
        ] {
            let mut out = String::new();
            write_number(&mut out, number);
            assert_eq!(out, expected);
        }
    }
}
