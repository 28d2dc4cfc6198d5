//! Certificates and public keys in PEM, which anybody may read.

use super::key_text::key_in;

/// The words of the blocks that hold nothing private.
const PUBLIC: &[&str] = &[
    "CERTIFICATE",
    "X509 CERTIFICATE",
    "TRUSTED CERTIFICATE",
    "ATTRIBUTE CERTIFICATE",
    "CERTIFICATE REQUEST",
    "NEW CERTIFICATE REQUEST",
    "X509 CRL",
    "PUBLIC KEY",
    "RSA PUBLIC KEY",
    "EC PUBLIC KEY",
    "DH PARAMETERS",
    "X9.42 DH PARAMETERS",
    "EC PARAMETERS",
    "DSA PARAMETERS",
];

/// The length at which a word beside the blocks may be a key in base64.
const MIN_KEY_LEN: usize = 40;

/// Returns whether a whole text holds certificates or public keys in PEM, and nothing that may be a private key.
pub fn is_public_pem(text: &str) -> bool {
    let mut open: Option<&str> = None;
    let mut has_block = false;
    for line in text.lines().map(str::trim) {
        let words = |begin: &str| line.strip_prefix(begin).and_then(|rest| rest.strip_suffix("-----"));
        match (words("-----BEGIN "), words("-----END "), open) {
            (Some(words), _, None) if PUBLIC.contains(&words) => open = Some(words),
            (_, Some(words), Some(begun)) if words == begun => {
                open = None;
                has_block = true;
            }
            (None, None, Some(_)) if !line.contains("-----") => {}
            (None, None, None) if !line.contains("-----") && !has_long_word(line) => {}
            _ => return false,
        }
    }
    has_block && open.is_none() && key_in(text.as_bytes()).is_none()
}

fn has_long_word(line: &str) -> bool {
    line.split(|letter: char| !letter.is_ascii_alphanumeric() && !"+/=".contains(letter))
        .any(|word| word.len() >= MIN_KEY_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_blocks_are_public() {
        const LINE: &str = "MIIBszCCAVmgAwIBAgIUK1nq8zY0vQ0b1xq5qQ2mK9m8d1gwCgYIKoZIzj0EAwIw";
        let block = |words: &str| format!("-----BEGIN {words}-----\n{LINE}\n-----END {words}-----\n");
        for (text, expected) in [
            (block("CERTIFICATE"), true),
            (format!("# The root\nsubject=CN = a\n{}{}", block("CERTIFICATE"), block("X509 CRL")), true),
            (block("PUBLIC KEY").replace('\n', "\r\n"), true),
            (block("PRIVATE KEY"), false),
            (block("CERTIFICATE") + &block("EC PRIVATE KEY"), false),
            (block("SOMETHING ELSE"), false),
            (format!("{}{LINE}\n", block("CERTIFICATE")), false),
            (format!("-----BEGIN CERTIFICATE-----\n{LINE}\n"), false),
            (
                format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", block("PRIVATE KEY")),
                false,
            ),
            (format!("token=ghp_16C7e42F292c6912E7710c838347Ae178B4a\n{}", block("CERTIFICATE")), false),
            ("A text about certificates.\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_public_pem(&text), expected, "{text}");
        }
    }
}
