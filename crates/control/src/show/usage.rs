//! The usage of a run, as text.

use kernel::run::Usage;
use resource::units;

use super::money;

/// Returns the usage of a run in words: tokens, the part of them that is estimated, money, and stored bytes.
pub fn describe(used: &Usage) -> String {
    let estimated = estimated_suffix(used.estimated_tokens);
    let kept = match used.kept_bytes {
        0 => String::new(),
        bytes => format!(", {} kept", units::rounded_bytes(bytes)),
    };
    let (input, output, cost) = (used.input_tokens, used.output_tokens, money::cost_suffix(used.usd_micros));
    format!("{input} tokens in, {output} out{estimated}{cost}{kept}")
}

/// Returns a suffix with the number of tokens that are estimated, or an empty text.
pub fn estimated_suffix(tokens: u64) -> String {
    match tokens {
        0 => String::new(),
        tokens => format!(" ({tokens} estimated)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimated_tokens_and_stored_bytes_are_named() {
        let counted = Usage { input_tokens: 12, output_tokens: 3, ..Usage::default() };
        assert_eq!(describe(&counted), "12 tokens in, 3 out");
        let estimated = Usage { estimated_tokens: 15, usd_micros: 500_000, kept_bytes: 12_800, ..counted };
        assert_eq!(describe(&estimated), "12 tokens in, 3 out (15 estimated), $0.5000, 12.5 KiB kept");
    }
}
