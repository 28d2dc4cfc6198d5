//! Variables whose values look like secrets.

/// The words of a variable's name that promise a secret.
const WORDS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "API_KEY", "CREDENTIAL", "PRIVATE"];

/// Returns whether a setting looks like a secret: by its name, or by its value.
pub fn is_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let named =
        WORDS.iter().any(|word| upper.contains(word)) || upper.ends_with("_KEY") || upper.ends_with("_PAT");
    // A path, a number or a switch is no secret, under any name.
    let plain = value.is_empty() || value.starts_with(['/', '.', '~']) || value.len() < 4;
    let found = policy::Secrets::default().inspect([("value", &kernel::Value::from(value))]);
    (named && !plain) || !found.is_empty()
}
