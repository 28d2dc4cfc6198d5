//! The words of a settings file that look like secrets, and the names of the vault for them.

use config::secret_variables::is_secret;

/// Returns whether a variable or a header holds a secret, by its name or its value.
pub fn holds_secret(name: &str, value: &str) -> bool {
    // `postgresql://user:password@host`, and headers within a value.
    let in_address = value.split_once("://").is_some_and(|(_, rest)| {
        rest.split('/')
            .next()
            .and_then(|host| host.split_once('@'))
            .is_some_and(|(user, _)| user.contains(':'))
    });
    in_address || value.contains("Bearer ") || value.contains("Basic ") || is_secret(name, value)
}

/// Returns the name of a secret, made of words.
pub fn secret_name(words: &[&str]) -> String {
    let name = words.join("_").to_ascii_uppercase();
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Returns whether a text can be the name of a variable, an option or a header.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
