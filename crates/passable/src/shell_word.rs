//! Words of command lines that a person pastes into a shell. A file, a server or a model may have chosen such a word.

/// Returns a word with the quotes that a shell needs, so that the shell reads exactly this text.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_quoted_for_the_shell() {
        for (text, shown) in
            [("a=b.c", "a=b.c"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''"), ("$x", "'$x'")]
        {
            assert_eq!(shell_word(text), shown);
        }
    }
}
