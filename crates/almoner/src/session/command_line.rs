//! The command as the user typed it, for the transcript.

/// Returns a word of a command as the transcript shows it.
pub fn transcript_word(word: &str) -> String {
    match word.is_empty() || word.contains(|c: char| c.is_whitespace() || c == '\'' || c == '"') {
        true => format!("{word:?}"),
        false => word.to_owned(),
    }
}

/// Returns the command as the user typed it, for the transcript.
pub fn command_line() -> String {
    std::env::args()
        .enumerate()
        .map(|(i, arg)| match i {
            0 => "almoner".to_owned(),
            _ => transcript_word(&arg),
        })
        .collect::<Vec<_>>()
        .join(" ")
}
