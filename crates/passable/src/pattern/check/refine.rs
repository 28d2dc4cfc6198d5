//! The conditions of the refinements.

use std::cmp::Ordering;

use num_bigint::BigInt;

use crate::codec::exact::is_big_beyond_safe;
use crate::pattern::{Comparison, Matcher, Pattern, Refinement};
use crate::value::{Reference, Value};

/// The largest number up to which a double represents every whole number exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Describes the value that a refinement expects, for a value that it refuses.
pub(super) fn expected<C: Reference>(refinement: Refinement, value: &Value<C>) -> String {
    let said = Pattern::<C>::refine(refinement).describe();
    match (refinement, value) {
        (Refinement::Integer, Value::Number(number)) if number.abs() > MAX_SAFE => {
            format!("{said} from -{MAX_SAFE} to {MAX_SAFE}")
        }
        _ => said,
    }
}

pub(super) fn holds<C>(refinement: Refinement, value: &Value<C>) -> bool {
    match (refinement, value) {
        (Refinement::Integer, Value::Number(number)) => number.fract() == 0.0 && number.abs() <= MAX_SAFE,
        (Refinement::Exact, Value::Number(_)) => true,
        (Refinement::Integer | Refinement::Exact, Value::BigInt(number)) => is_big_beyond_safe(number),
        (Refinement::Multiline | Refinement::Secret, Value::String(_)) => true,
        (Refinement::Date, Value::String(_)) => value.as_str().is_some_and(is_date),
        (Refinement::DateTime, Value::String(_)) => value.as_str().is_some_and(is_date_time),
        (Refinement::Email, Value::String(_)) => value.as_str().is_some_and(is_email),
        (Refinement::Uri, Value::String(_)) => value.as_str().is_some_and(is_uri),
        _ => false,
    }
}

/// Returns whether a conjunction is the pattern of numbers that keep their digits: the kind `number`, [`Refinement::Integer`]
/// or [`Refinement::Exact`], and perhaps bounds.
///
/// Such a conjunction takes big integers too, although the kind alone refuses them, as upstream does.
pub(super) fn is_exact_number<C: Reference>(parts: &[Pattern<C>]) -> bool {
    let is_number = |part: &Pattern<C>| match part.matcher() {
        Matcher::Kind(kind) => kind == "number",
        Matcher::Refine(Refinement::Integer | Refinement::Exact) | Matcher::Compare(_, Value::Number(_)) => {
            true
        }
        _ => false,
    };
    let is_exact = |part: &Pattern<C>| {
        matches!(part.matcher(), Matcher::Refine(Refinement::Integer | Refinement::Exact))
    };
    parts.iter().all(is_number) && parts.iter().any(is_exact)
}

/// Returns the part of a conjunction for numbers that a big integer beyond 2^53 does not match.
pub(super) fn refusing_part<'p, C: Reference>(
    parts: &'p [Pattern<C>],
    number: &BigInt,
) -> Option<&'p Pattern<C>> {
    parts.iter().find(|part| match part.matcher() {
        Matcher::Compare(comparison, Value::Number(bound)) => !is_within(number, *comparison, *bound),
        _ => false,
    })
}

/// Returns whether a big integer beyond 2^53 is within a bound.
fn is_within(number: &BigInt, comparison: Comparison, bound: f64) -> bool {
    let order = if bound.is_infinite() {
        if bound > 0.0 { Ordering::Less } else { Ordering::Greater }
    } else {
        // A bound with a fraction is below 2^53, so its fraction decides nothing.
        match format!("{bound:.0}").parse::<BigInt>() {
            Ok(bound) => number.cmp(&bound),
            Err(_) => return false,
        }
    };
    match comparison {
        Comparison::Lt => order.is_lt(),
        Comparison::Lte => order.is_le(),
        Comparison::Gte => order.is_ge(),
        Comparison::Gt => order.is_gt(),
    }
}

/// Reads a number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let (time, offset) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, None),
        None => match time.rfind(['+', '-']).and_then(|at| time.split_at_checked(at)) {
            Some((time, offset)) => (time, offset.get(1..)),
            None => return false,
        },
    };
    let (whole, fraction) = match time.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (time, "0"),
    };
    let below = |text: &str, limit: u32| digits(text, 2).is_some_and(|value| value < limit);
    let clock: Vec<&str> = whole.split(':').collect();
    // RFC 3339 allows a leap second.
    let clock = matches!(clock.as_slice(), [h, m, s] if below(h, 24) && below(m, 60) && below(s, 61));
    let offset = offset.is_none_or(|offset| {
        offset.split_once(':').is_some_and(|(hours, minutes)| below(hours, 24) && below(minutes, 60))
    });
    let fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_date(date) && clock && offset && fraction
}

fn has_blank(text: &str) -> bool {
    text.chars().any(|char| char.is_whitespace() || char.is_control())
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !domain.contains('@') && !has_blank(text)
    })
}

fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && !rest.is_empty()
            && !has_blank(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_any_size_match_within_their_bounds() {
        for (pattern, number, matches) in [
            ("M.and(M.number(), M.refine('integer'))", "9007199254740993n", true),
            ("M.and(M.number(), M.refine('integer'))", "5n", false),
            ("M.and(M.number(), M.refine('integer'), M.gte(0))", "18446744073709551616n", true),
            ("M.and(M.number(), M.refine('integer'), M.gte(0))", "-18446744073709551616n", false),
            ("M.and(M.number(), M.refine('integer'), M.lte(5))", "9007199254740993n", false),
            ("M.and(M.number(), M.refine('integer'), M.lt(1.5))", "-9007199254740993n", true),
            ("M.and(M.number(), M.refine('exact'))", "9007199254740993n", true),
            ("M.and(M.number(), M.refine('exact'))", "0.5", true),
            ("M.number()", "9007199254740993n", false),
        ] {
            let (read, value) =
                (Pattern::<crate::NoRef>::parse(pattern).unwrap(), Value::parse(number).unwrap());
            assert_eq!(read.matches(&value), matches, "{pattern} {number}");
            let json = read.write_json(&value);
            assert!(!matches || read.read_json(&json).unwrap() == value, "{pattern} {json}");
        }
    }

    #[test]
    fn refinements_accept_good_and_refuse_bad_values() {
        for (refinement, good, bad) in [
            (
                Refinement::Date,
                &["2026-11-20", "2024-02-29", "2000-02-29"][..],
                &["2023-02-29", "1900-02-29", "2026-13-01", "2026-1-1", "+026-01-01", ""][..],
            ),
            (
                Refinement::DateTime,
                &["2026-11-20T17:42:00Z", "2026-11-20t17:42:00.123+01:00", "2016-12-31T23:59:60Z"],
                &["2026-11-20", "2026-11-20T17:42Z", "2026-11-20T24:00:00Z", "2026-11-20T17:42:00"],
            ),
            (Refinement::Email, &["a@b", "é@example.org"], &["a", "@b", "a@", "a@b@c", "a @b"]),
            (Refinement::Uri, &["https://x.org/", "mailto:a@b"], &["//x", "1a:b", "a:", "a:b c"]),
        ] {
            for text in good {
                assert!(holds(refinement, &Value::<crate::NoRef>::string(*text)), "{refinement:?} {text}");
            }
            for text in bad {
                assert!(!holds(refinement, &Value::<crate::NoRef>::string(*text)), "{refinement:?} {text}");
            }
        }
    }
}
