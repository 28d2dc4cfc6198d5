//! The choice between versions of the same text, usually as plain text and as HTML.
//!
//! The plain text is preferred. But senders leave it blank, or write into it only that the mail is in HTML. So its
//! words are compared with those of the HTML, in their order and with the signs of numbers. If one version has all of
//! the other, it stands alone. Otherwise both are given.

use std::collections::BTreeSet;

use crate::DocumentError;
use crate::reading::{Reading, count, is_blank};

/// The maximum number of bytes of versions that are compared in one mail. Versions may stand in versions, and would be
/// compared again in each. Further versions are all given.
const MAX_COMPARED: usize = 64 << 20;

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
/// `compared` counts the bytes that were compared.
pub(super) fn choose(
    into: &mut Reading,
    versions: Vec<Version>,
    compared: &mut usize,
) -> Result<(), DocumentError> {
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
        (Some(plain), Some(html)) => choose_of_two(into, plain, html, compared)?,
        (Some(only), None) | (None, Some(only)) => into.append(only)?,
        (None, None) => {}
    }
    others.into_iter().try_for_each(|other| into.append(other))
}

fn choose_of_two(
    into: &mut Reading,
    plain: Reading,
    html: Reading,
    compared: &mut usize,
) -> Result<(), DocumentError> {
    let (plain_body, html_body) = (plain.body(), html.body());
    *compared = compared.saturating_add(plain_body.len()).saturating_add(html_body.len());
    let is_comparable = *compared <= MAX_COMPARED;
    let (mut plain_links, mut html_links) = (BTreeSet::new(), BTreeSet::new());
    if is_comparable {
        (plain_links, html_links) = (links(&plain_body), links(&html_body));
    }
    if is_comparable && is_part(comparable_words(&html_body), comparable_words(&plain_body)) {
        into.append(plain)?;
        let links = html_links.difference(&plain_links).count();
        if links > 0 {
            let links = count(links, "link target", "link targets");
            into.note(&format!("left out: {links} of the HTML version of a mail"))?;
        }
        return into.append_notes(html);
    }
    if is_comparable
        && plain_links.is_subset(&html_links)
        && is_part(comparable_words(&plain_body), comparable_words(&html_body))
    {
        into.append(html)?;
        return into.append_notes(plain);
    }
    into.append(plain)?;
    into.push_block("--- the same mail in HTML differs: ---")?;
    into.append(html)
}

/// Returns whether the words of one text are all in the other, in the same order.
fn is_part<'a>(mut words: impl Iterator<Item = &'a str>, mut of: impl Iterator<Item = &'a str>) -> bool {
    // A hyphen and a minus have several characters.
    let plain = |char: char| if is_dash(char) { '-' } else { char };
    let same = |one: &str, other: &str| one == other || one.chars().map(plain).eq(other.chars().map(plain));
    // A sign that stands alone belongs to the word behind it, so it is not passed over.
    let is_end = |word: &str, other: &str| same(word, other) || other.chars().all(is_sign);
    words.all(|word| of.find(|other| is_end(word, other)).is_some_and(|other| same(word, other)))
}

/// Returns the words of a text in their order, without those of link targets. The signs of a number are part of it.
fn comparable_words(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let tokens = line.split_whitespace().map(after_link).enumerate();
        tokens.filter_map(|(at, token)| word(token, at == 0))
    })
}

/// Returns a token without the marks and the punctuation around it. A sign at the start of a line is a bullet.
fn word(token: &str, is_first: bool) -> Option<&str> {
    let is_core = |char: char| char.is_alphanumeric() || is_currency(char) || matches!(char, '%' | '‰' | '°');
    let Some(from) = token.find(is_core) else {
        return (!is_first && token.chars().count() == 1 && token.contains(is_sign)).then_some(token);
    };
    let to = token.rfind(is_core).and_then(|at| Some(at + token.get(at..)?.chars().next()?.len_utf8()))?;
    let (before, core, after) = (token.get(..from)?, token.get(from..to)?, token.get(to..)?);
    let is_number = |char: char| char.is_numeric() || is_currency(char);
    let signs = match core.starts_with(is_number) {
        true => {
            before.len() - before.trim_end_matches(|char| is_sign(char) || matches!(char, '.' | ',')).len()
        }
        false => 0,
    };
    // Some programs write the minus behind the number.
    let behind = match (core.ends_with(is_number), after.chars().next()) {
        (true, Some(sign)) if is_dash(sign) || sign == '+' => sign.len_utf8(),
        _ => 0,
    };
    token.get(from - signs..to + behind)
}

fn is_sign(char: char) -> bool {
    is_dash(char)
        || matches!(char, '+' | '±' | '(' | '<' | '>' | '=' | '~' | '≤' | '≥' | '≠' | '≈' | '×' | '÷' | '/')
}

fn is_dash(char: char) -> bool {
    matches!(char, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

fn is_currency(char: char) -> bool {
    matches!(char, '$' | '¢'..='¥' | '\u{20a0}'..='\u{20cf}' | '֏' | '฿' | '﷼' | '﹩' | '＄' | '￠' | '￡' | '￥' | '￦')
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
            choose(&mut reading, versions, &mut 0).unwrap();
            assert_eq!(reading.text(), expected);
        };
        use VersionKind::{Html, Other, Plain};
        check(&[(Plain, "Pay 88.50 EUR."), (Html, "Pay 88.50 EUR")], "Pay 88.50 EUR.\n");
        check(&[(Plain, " \u{a0}\n"), (Html, "Pay 88.50")], "Pay 88.50\n");
        check(&[(Html, "Pay 88.50"), (Plain, "")], "Pay 88.50\n");
        check(&[(Plain, "Pay"), (Html, "\u{200b}")], "Pay\n");
        check(
            &[(Plain, "See the HTML version"), (Html, "Amount due: 88.50 EUR")],
            "See the HTML version\n\n--- the same mail in HTML differs: ---\n\nAmount due: 88.50 EUR\n",
        );
        check(
            &[(Plain, "one two three four 88.50"), (Html, "one two three four 88.05")],
            "one two three four 88.50\n\n--- the same mail in HTML differs: ---\n\none two three four 88.05\n",
        );
        check(&[(Plain, "* Pay *now*\n> 5 EUR"), (Html, "- Pay now\n5 EUR!")], "* Pay *now*\n> 5 EUR\n");
        check(&[(Plain, "Pay 5"), (Html, "Please: Pay 5 EUR")], "Please: Pay 5 EUR\n");
        check(&[(Plain, "2–3 days"), (Html, "2-3 days")], "2–3 days\n");
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

    #[test]
    fn versions_that_differ_in_a_sign_or_in_order_are_both_given() {
        for (plain, html) in [
            ("balance -100 EUR", "balance 100 EUR"),
            ("balance 100 EUR", "balance \u{2212}100 EUR"),
            ("balance (100)", "balance 100"),
            ("pay $100", "pay €100"),
            ("pay 100", "pay £100"),
            ("grows by 5%", "grows by 5"),
            ("at 10:30", "at 10 30"),
            ("at 1.50", "at 1,50"),
            ("temperature -.5", "temperature .5"),
            ("Ada pays Bob 5", "Bob pays Ada 5"),
            ("pay 5 or 6", "pay 6 or 5"),
            ("100 - 50", "100 50"),
            ("100-", "100"),
            ("5 5 6", "5 6 6"),
        ] {
            let mut reading = Reading::new(&Limits::default());
            let versions = [(plain, VersionKind::Plain), (html, VersionKind::Html)].map(|(text, kind)| {
                let mut part = reading.part();
                part.push(text).unwrap();
                Version { reading: part, kind }
            });
            choose(&mut reading, versions.into(), &mut 0).unwrap();
            assert!(reading.text().contains(plain) && reading.text().contains(html), "{}", reading.text());
        }
    }

    #[test]
    fn versions_beyond_the_compared_bytes_are_both_given() {
        let mut reading = Reading::new(&Limits::default());
        let versions = [VersionKind::Plain, VersionKind::Html].map(|kind| {
            let mut part = reading.part();
            part.push("same").unwrap();
            Version { reading: part, kind }
        });
        choose(&mut reading, versions.into(), &mut MAX_COMPARED.clone()).unwrap();
        assert_eq!(reading.text(), "same\n\n--- the same mail in HTML differs: ---\n\nsame\n");
    }
}
