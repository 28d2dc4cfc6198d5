//! Decimal numbers in text that a user writes.

/// Returns a decimal number from its text. Returns `None` for words such as `NaN`, and for a number that is too large
/// for a double.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let plain =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plain.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}
