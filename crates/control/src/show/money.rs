//! Amounts of money as text.

/// Returns an amount in dollars, given in millionths of a dollar. It is rounded up to a hundredth of a cent, and from a
/// dollar on to a cent.
pub fn dollars(micros: u64) -> String {
    if micros == 0 {
        return "$0".to_owned();
    }
    if micros >= 1_000_000 {
        let cents = micros.div_ceil(10_000);
        return format!("${}.{:02}", cents / 100, cents % 100);
    }
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
        for (micros, shown) in [
            (1, ", $0.0001"),
            (123_456, ", $0.1235"),
            (999_999, ", $1.0000"),
            (2_000_000, ", $2.00"),
            (2_000_001, ", $2.01"),
            (0, ""),
        ] {
            assert_eq!(cost_suffix(micros), shown);
        }
        assert_eq!(dollars(0), "$0");
        assert!(dollars(u64::MAX).starts_with('$'));
    }
}
