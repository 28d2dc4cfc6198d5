//! The detection of environment variables whose values look like secrets.

/// The words in a variable's name that suggest a secret.
const WORDS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "CREDENTIAL", "PRIVATE"];

/// The endings of a variable's name that suggest a secret.
const ENDINGS: &[&str] = &["_KEY", "_PAT", "_PASS", "_PWD"];

/// Returns whether a variable looks like a secret, by its name or by its value.
pub fn is_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let named =
        WORDS.iter().any(|word| upper.contains(word)) || ENDINGS.iter().any(|ending| upper.ends_with(ending));
    // An empty, very short or path-like value is no secret, even if the name suggests one.
    let plain = value.is_empty() || value.starts_with(['/', '.', '~']) || value.len() < 4;
    let found = policy::Secrets::default().inspect([("value", &kernel::Value::from(value))]);
    (named && !plain) || !found.is_empty()
}
