//! Amounts of money as text.

/// Returns an amount in dollars, given in millionths of a dollar. It is rounded up to a hundredth of a cent.
pub fn dollars(micros: u64) -> String {
    let parts = micros.div_ceil(100);
    format!("${}.{:04}", parts / 10_000, parts % 10_000)
}

/// Returns the amount with a comma in front, to follow other figures. The text is empty for an amount of 0.
pub fn cost_suffix(micros: u64) -> String {
    if micros == 0 { String::new() } else { format!(", {}", dollars(micros)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollar_amount_is_rounded_up() {
        for (micros, shown) in [(1, ", $0.0001"), (123_456, ", $0.1235"), (2_000_000, ", $2.0000"), (0, "")] {
            assert_eq!(cost_suffix(micros), shown);
        }
        assert!(dollars(u64::MAX).starts_with('$'));
    }
}
