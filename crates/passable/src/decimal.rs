//! Decimal numbers in text that a user writes.

/// Reads a decimal number. `None` for other words for numbers, and for a number beyond all that a double holds.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let plain =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plain.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}
