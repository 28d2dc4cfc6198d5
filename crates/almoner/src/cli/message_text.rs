//! Text with references in it: `Here is @report for you`, `@report:draft`, `@@` for an @.

use kernel::NamePath;
use passable::Untrusted;

use control::exit::{Exit, Failure};

/// Text in pieces, with a name behind each but the last.
#[derive(Debug, Default, PartialEq)]
pub struct MessageText {
    /// The pieces: one more than there are names.
    pub strings: Vec<Untrusted>,
    /// The names under which the reader finds the things that are sent.
    pub names: Vec<String>,
    /// The things that are sent, by names of the sender's.
    pub paths: Vec<NamePath>,
}

/// Parses text with references. An `@` within a word, as in an address, is plain text.
///
/// # Errors
/// When the text behind an `@` is no valid name.
pub fn parse_message_text(text: &str) -> Result<MessageText, Failure> {
    let mut pieces = MessageText::default();
    let mut piece = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        piece.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let in_a_word = piece.chars().next_back().is_some_and(|c| c.is_alphanumeric());
        if let Some(more) = behind.strip_prefix('@') {
            piece.push('@');
            rest = more;
            continue;
        }
        let (name, more) = split_word(behind, |c| c.is_alphanumeric() || "-_./".contains(c));
        if in_a_word || name.is_empty() {
            piece.push('@');
            rest = behind;
            continue;
        }
        let (edge, more) = match more
            .strip_prefix(':')
            .map(|edge| split_word(edge, |c| c.is_alphanumeric() || "-_".contains(c)))
        {
            Some((edge, more)) if !edge.is_empty() => (edge, more),
            _ => (name.rsplit('/').next().unwrap_or(name), more),
        };
        let path = NamePath::parse(name).map_err(|e| {
            Failure::new(Exit::Usage, format!("@{name}: {e}"))
                .help("`@name` is a name of yours; `@@` is an @")
        })?;
        pieces.strings.push(Untrusted::new(std::mem::take(&mut piece)));
        pieces.names.push(edge.to_owned());
        pieces.paths.push(path);
        rest = more;
    }
    piece.push_str(rest);
    pieces.strings.push(Untrusted::new(piece));
    Ok(pieces)
}

/// Splits a text after its longest prefix of the given characters. Full stops and slashes at the end of the prefix
/// belong to the sentence, and go to the second part.
fn split_word(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let end = text[..end].trim_end_matches(['.', '/']).len();
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let pieces = parse_message_text(text).unwrap();
        let mut shown = Vec::new();
        for (i, string) in pieces.strings.iter().enumerate() {
            shown.push(string.raw().to_owned());
            if let Some(path) = pieces.paths.get(i) {
                shown.push(format!("{path} as {}", pieces.names[i]));
            }
        }
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn references_are_split_from_surrounding_text() {
        check("plain", &["plain"]);
        check("", &[""]);
        check("Here is @report for you", &["Here is ", "report as report", " for you"]);
        check("@a@b", &["", "a as a", "", "b as b", ""]);
        check("see @mine/report:draft.", &["see ", "mine/report as draft", "."]);
        check("the end is @report.", &["the end is ", "report as report", "."]);
        check("@v1.2: yes", &["", "v1.2 as v1.2", ": yes"]);
    }

    #[test]
    fn at_sign_without_a_reference_is_plain_text() {
        check("to ada@example.com", &["to ada@example.com"]);
        check("@@home and a @ b", &["@home and a @ b"]);
        check("(@)", &["(@)"]);
    }

    #[test]
    fn invalid_reference_name_is_refused() {
        assert_eq!(parse_message_text("@a//b").unwrap_err().exit, Exit::Usage);
    }
}
