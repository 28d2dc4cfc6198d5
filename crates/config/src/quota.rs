//! The quota for the bytes that are stored beside the store.

use control::exit::{Exit, Failure};

/// The environment variable that sets the quota.
const VARIABLE: &str = "ALMONER_BLOB_QUOTA";

/// The default quota: 16 GiB.
const DEFAULT_QUOTA: u64 = 16 << 30;

/// Returns the maximum number of bytes beside the store. Beyond it, the daemon refuses uploads from clients.
///
/// # Errors
/// When the variable is no number of bytes.
pub fn blob_quota() -> Result<u64, Failure> {
    match std::env::var_os(VARIABLE) {
        None => Ok(DEFAULT_QUOTA),
        Some(said) => {
            let said = said.to_string_lossy();
            parse(&said).ok_or_else(|| {
                let shown = passable::visible_line(&said).into_owned();
                Failure::new(Exit::Usage, format!("{VARIABLE} is `{shown}`, which is no number of bytes"))
                    .help(format!("a number, with K, M, G or T behind it if you like: `{VARIABLE}=16G`"))
            })
        }
    }
}

/// Parses a number of bytes with an optional suffix, which stands for a power of 1024.
fn parse(said: &str) -> Option<u64> {
    let (digits, shift) = match said.char_indices().next_back()? {
        (at, 'K' | 'k') => (said.get(..at)?, 10),
        (at, 'M' | 'm') => (said.get(..at)?, 20),
        (at, 'G' | 'g') => (said.get(..at)?, 30),
        (at, 'T' | 't') => (said.get(..at)?, 40),
        _ => (said, 0),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_count_accepts_digits_with_binary_suffix_only() {
        for (said, expected) in [
            ("0", Some(0)),
            ("1000", Some(1000)),
            ("1K", Some(1024)),
            ("2m", Some(2 << 20)),
            ("16G", Some(16 << 30)),
            ("1T", Some(1 << 40)),
            ("", None),
            ("G", None),
            ("-1", None),
            ("+1", None),
            ("1.5G", None),
            ("1GB", None),
            ("1 G", None),
            ("lots", None),
            ("99999999999999999999", None),
            ("99999999999T", None),
            ("1\u{212a}", None),
        ] {
            assert_eq!(parse(said), expected, "{said:?}");
        }
    }
}
