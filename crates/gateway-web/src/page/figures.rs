//! Figures as people read them.

/// The smallest number whose digits are grouped.
const MIN_GROUPED: u64 = 10_000;

/// Returns a number with its digits in groups of three, if it has five or more. The blanks between them break no line.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if number < MIN_GROUPED {
        return digits;
    }
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push('\u{202f}');
        }
        shown.push(digit);
    }
    shown
}

/// Returns a number with its noun, in the singular or the plural.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped() {
        for (number, shown) in [
            (0, "0"),
            (9_999, "9999"),
            (10_000, "10\u{202f}000"),
            (200_000, "200\u{202f}000"),
            (1_234_567, "1\u{202f}234\u{202f}567"),
        ] {
            assert_eq!(grouped(number), shown);
        }
        assert_eq!(
            (counted(1, "event", "events"), counted(0, "event", "events")),
            ("1 event".into(), "0 events".into())
        );
    }
}
