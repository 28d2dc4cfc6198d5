//! The choice between versions of the same text, usually as plain text and as HTML.
//!
//! The plain text is preferred. But senders leave it blank, or write into it only that the mail is in HTML. So its
//! words are compared with those of the HTML: no word of either is lost.

use std::collections::BTreeSet;

use crate::DocumentError;
use crate::reading::{Reading, count, is_blank};

/// The maximum number of words of the HTML that are listed after the plain text. With more, the whole HTML follows.
const MAX_LISTED: usize = 20;

/// One version of a text.
pub(super) struct Version {
    pub(super) reading: Reading,
    pub(super) kind: VersionKind,
}

/// The kind of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionKind {
    Plain,
    Html,
    /// A version in another format, such as a calendar. It is read beside the others.
    Other,
}

/// Adds the text of a mail of which there are these versions.
pub(super) fn choose(into: &mut Reading, versions: Vec<Version>) -> Result<(), DocumentError> {
    let (mut plain, mut html): (Option<Reading>, Option<Reading>) = (None, None);
    let mut others = Vec::new();
    for Version { reading, kind } in versions {
        let place = match kind {
            VersionKind::Plain => &mut plain,
            VersionKind::Html => &mut html,
            VersionKind::Other => {
                others.push(reading);
                continue;
            }
        };
        // Of two versions of one kind, both are read, unless one is blank.
        match place {
            Some(_) if is_blank(&reading.body()) => into.append_notes(reading)?,
            Some(first) if !is_blank(&first.body()) => others.push(reading),
            _ => *place = Some(reading),
        }
    }
    match (plain, html) {
        (Some(plain), Some(html)) if is_blank(&plain.body()) => {
            into.append(html)?;
            into.append_notes(plain)?;
        }
        (Some(plain), Some(html)) => choose_of_two(into, plain, html)?,
        (Some(only), None) | (None, Some(only)) => into.append(only)?,
        (None, None) => {}
    }
    others.into_iter().try_for_each(|other| into.append(other))
}

fn choose_of_two(into: &mut Reading, plain: Reading, html: Reading) -> Result<(), DocumentError> {
    let (plain_body, html_body) = (plain.body(), html.body());
    let (in_plain, in_html) = (word_set(&plain_body), word_set(&html_body));
    let missing: Vec<&str> = in_html.difference(&in_plain).copied().collect();
    if missing.len() > MAX_LISTED || missing.len() * 4 > in_html.len() {
        if in_plain.is_subset(&in_html) {
            into.append(html)?;
            return into.append_notes(plain);
        }
        into.append(plain)?;
        into.push_block("--- the same mail in HTML has other words: ---")?;
        return into.append(html);
    }
    into.append(plain)?;
    if !missing.is_empty() {
        // These words are in the text, so the person needs no note.
        into.push_block(&format!("[the HTML version of this text also has: {}]", missing.join(" ")))?;
    }
    let links = links(&html_body).difference(&links(&plain_body)).count();
    if links > 0 {
        let links = count(links, "link target", "link targets");
        into.note(&format!("left out: {links} of the HTML version of a mail"))?;
    }
    into.append_notes(html)
}

/// Returns the words of a text, without those of link targets.
fn word_set(text: &str) -> BTreeSet<&str> {
    text.split_whitespace()
        .map(after_link)
        .flat_map(|token| token.split(|char: char| !char.is_alphanumeric() && !matches!(char, '.' | ',')))
        .map(|word| word.trim_matches(['.', ',']))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns the part of a token that is no link target. A word may follow a target without a blank.
fn after_link(token: &str) -> &str {
    match target(token) {
        Some(_) => token.rsplit_once('>').map_or("", |(_, after)| after),
        None => token,
    }
}

fn links(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().filter_map(target).collect()
}

/// Returns the target of a link, if a token is one.
fn target(token: &str) -> Option<&str> {
    let token = token.split_once('>').map_or(token, |(link, _)| link);
    let bare = token.trim_matches(['<', '>', '(', ')', '[', ']', '"', '\'', ',', ';']);
    let is_target =
        bare.starts_with("http://") || bare.starts_with("https://") || bare.starts_with("mailto:");
    is_target.then(|| bare.trim_end_matches(['/', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn no_word_of_a_version_is_lost() {
        let check = |versions: &[(VersionKind, &str)], expected: &str| {
            let mut reading = Reading::new(&Limits::default());
            let versions = versions.iter().map(|(kind, text)| {
                let mut part = reading.part();
                part.push(text).unwrap();
                Version { reading: part, kind: *kind }
            });
            let versions: Vec<_> = versions.collect();
            choose(&mut reading, versions).unwrap();
            assert_eq!(reading.text(), expected);
        };
        use VersionKind::{Html, Other, Plain};
        check(&[(Plain, "Pay 88.50 EUR."), (Html, "Pay 88.50 EUR")], "Pay 88.50 EUR.\n");
        check(&[(Plain, " \u{a0}\n"), (Html, "Pay 88.50")], "Pay 88.50\n");
        check(&[(Html, "Pay 88.50"), (Plain, "")], "Pay 88.50\n");
        check(&[(Plain, "Pay"), (Html, "\u{200b}")], "Pay\n");
        check(
            &[(Plain, "See the HTML version"), (Html, "Amount due: 88.50 EUR")],
            "See the HTML version\n\n--- the same mail in HTML has other words: ---\n\nAmount due: 88.50 EUR\n",
        );
        check(
            &[(Plain, "one two three four 88.50"), (Html, "one two three four 88.05")],
            "one two three four 88.50\n\n[the HTML version of this text also has: 88.05]\n",
        );
        check(&[(Plain, "Pay"), (Html, "Pay"), (Other, "BEGIN:VCALENDAR")], "Pay\n\nBEGIN:VCALENDAR\n");
        check(&[(Other, "BEGIN:VCALENDAR")], "BEGIN:VCALENDAR\n");
        check(
            &[(Plain, "Pay here please"), (Html, "Pay here <https://a.example/x> please")],
            "Pay here please\n[left out: 1 link target of the HTML version of a mail]\n",
        );
        check(
            &[
                (Plain, "Pay here https://a.example/x please"),
                (Html, "Pay here <https://a.example/x> please"),
            ],
            "Pay here https://a.example/x please\n",
        );
    }
}
