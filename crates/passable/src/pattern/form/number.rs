//! Numbers that a user has typed. A number is rejected if its conversion to a double would silently change it.

use num_bigint::BigInt;

use crate::codec::exact::is_big_beyond_safe;
use crate::codec::read_bigint;
use crate::pattern::{Mismatch, Pattern, number_text};
use crate::text::Text;
use crate::value::{Reference, Value};

/// Returns the number that a text writes, or `None` if the text is no number.
pub(super) fn read(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => crate::decimal::decimal(text),
    }
}

/// Returns a whole number beyond 2^53 as a big integer, if the pattern takes such numbers.
pub(super) fn long_integer<C: Reference>(text: &str, pattern: &Pattern<C>) -> Option<Value<C>> {
    let digits = Text::from(text.strip_prefix('+').unwrap_or(text));
    let number = read_bigint(&digits).ok().filter(is_big_beyond_safe)?;
    let value = Value::bigint(number);
    pattern.matches(&value).then_some(value)
}

/// Rejects a text whose number a double cannot keep.
///
/// Such a number has more digits than a double, or is so small that it becomes zero. Decimal fractions are rounded to
/// the nearest double, as is usual.
pub(super) fn confirm_kept(text: &str, number: f64) -> Result<(), Mismatch> {
    match keeps(text, number) {
        true => Ok(()),
        false => {
            let nearest = number_text(number);
            let expected = format!("a number that can be kept as it is written; the nearest is {nearest}");
            Err(Mismatch::new("cannot be kept", expected, crate::visible_line(text)))
        }
    }
}

fn keeps(text: &str, number: f64) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    if number == 0.0 {
        return !mantissa.bytes().any(|digit| matches!(digit, b'1'..=b'9'));
    }
    // The digits are compared only for whole numbers, because decimal fractions are rounded.
    let Ok(whole) = text.strip_prefix('+').unwrap_or(text).parse::<BigInt>() else { return true };
    // JavaScript writes a large number with zeros in place of the digits that it does not know.
    whole.to_string() == number_text(number) || is_exactly(&whole, number)
}

/// Returns whether a double is exactly this integer.
fn is_exactly(whole: &BigInt, number: f64) -> bool {
    format!("{number:.0}") == whole.to_string()
}

/// Rejects JSON if a number in it has become another number in the value that was read. A number that became a big
/// integer keeps all its digits.
pub(super) fn confirm_json<C: Reference>(text: &str, value: &Value<C>) -> Result<(), Mismatch> {
    for number in numbers(text) {
        let Some(read) = read(number) else { continue };
        let is_whole = |number: &str| number.parse::<BigInt>().is_ok_and(|whole| has(value, &whole));
        if let (Err(mismatch), false) = (confirm_kept(number, read), is_whole(number)) {
            return Err(mismatch);
        }
    }
    Ok(())
}

/// Returns the numbers in a JSON text, as they are written there.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    let is_part = move |letter: char| {
        if quoted {
            quoted = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            return false;
        }
        quoted = letter == '"';
        letter.is_ascii_digit() || matches!(letter, '+' | '-' | '.' | 'e' | 'E')
    };
    let mut is_part = is_part;
    let words = text.split(move |letter| !is_part(letter));
    words.filter(|word| word.starts_with(|first: char| first == '-' || first.is_ascii_digit()))
}

fn has<C: Reference>(value: &Value<C>, number: &BigInt) -> bool {
    match value {
        Value::BigInt(own) => **own == *number,
        Value::Array(array) => array.iter().any(|element| has(element, number)),
        Value::Record(record) => record.iter().any(|(_, value)| has(value, number)),
        Value::Tagged(tagged) => has(tagged.payload(), number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_number_is_kept_exactly_or_refused() {
        for (text, kept) in [
            ("0", true),
            ("-0", true),
            ("0.0e9", true),
            ("1e-400", false),
            ("-0.5e-999", false),
            ("9007199254740992", true),
            ("9007199254740993", false),
            ("-9007199254740993", false),
            ("+9007199254740994", true),
            ("00012", true),
            ("0.1", true),
            ("9007199254740993.5", true),
            ("123456789012345680000", true),
            ("123456789012345683968", true),
            ("123456789012345683969", false),
            ("1e300", true),
        ] {
            let number = read(text).unwrap();
            assert_eq!(confirm_kept(text, number).is_ok(), kept, "{text} {number:?}");
        }
        assert!(read("1e400").is_none() && read("0x1").is_none());
    }

    #[test]
    fn numbers_are_found_in_json() {
        let found: Vec<&str> = numbers(r#"{"a1": [1, -2.5e+3], "e\"9": true, "\\": 7}"#).collect();
        assert_eq!(found, ["1", "-2.5e+3", "7"]);
    }
}
