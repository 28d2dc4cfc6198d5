//! Addresses of pages, and links to them.

use std::fmt::Display;

use control::inspect::FormulaSummary;
use control::show::reason::WhyTarget;
use kernel::{FormulaId, GrantNumber, MessageNumber, StepRef};
use maud::{Markup, html};
use passable::visible_line;

use super::parts;
use super::short_path::description;

/// Encodes a text as a part of a query.
pub fn query(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Encodes a text as one segment of a path.
fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns the address of the page for a path of names. The empty path gives the page of all names.
pub fn names<'a>(path: impl IntoIterator<Item = &'a String>) -> String {
    path.into_iter().fold("/names".to_owned(), |so_far, name| format!("{so_far}/{}", segment(name)))
}

/// Returns the address of the page of a formula.
pub fn formula(id: &FormulaId) -> String {
    format!("/thing?id={id}")
}

/// Returns a link to the page of an object. The link has the user's own name for the object, or else its description.
pub fn called(one: &FormulaSummary) -> Markup {
    html! {
        @match (&one.name, one.message, one.run) {
            (None, Some(number), _) => (message(number)),
            (None, None, Some(run)) => { "run " (parts::run(run)) }
            _ => a href=(formula(&one.target)) {
                @match &one.name {
                    Some(name) => (parts::name(name)),
                    None => (description(&one.words)),
                }
            },
        }
    }
}

/// Returns a link to the page that tells where something comes from.
pub fn why(thing: impl Display) -> Markup {
    let thing = thing.to_string();
    html! { a href={ "/why?thing=" (query(&thing)) } aria-label={ "Why " (visible_line(&thing)) } { "why" } }
}

/// Returns a link to a step.
pub fn step(at: StepRef) -> Markup {
    html! { a href={ "/r/" (at.run) "/step/" (at.step) } { (at) } }
}

/// Returns a link to a message.
pub fn message(number: MessageNumber) -> Markup {
    html! { a href={ "/m/" (number) } { "message " (number) } }
}

/// Returns a link to a grant.
pub fn grant(number: GrantNumber) -> Markup {
    html! { a href={ "/grants/" (number) } { (number) } }
}

/// Returns the address of the page for the subject of a reason, if it has a page.
pub fn reason_address(what: &str) -> Option<String> {
    if let Some(number) = what.strip_prefix("message ") {
        let number: MessageNumber = number.parse().ok()?;
        return Some(format!("/m/{number}"));
    }
    if let Some(grant) = what.strip_prefix("grant ") {
        // A grant that someone else gave is named by a few digits of its identifier.
        return Some(match grant.parse::<GrantNumber>() {
            Ok(number) => format!("/grants/{number}"),
            Err(_) => format!("/grants?find={}", query(grant)),
        });
    }
    // The subject of `r3, item 2` is r3.
    match what.split_once(',').map_or(what, |(first, _)| first).parse() {
        Ok(WhyTarget::Run(run)) => Some(format!("/r/{run}")),
        Ok(WhyTarget::Step(at)) => Some(format!("/r/{}/step/{}", at.run, at.step)),
        Ok(WhyTarget::Message(number)) => Some(format!("/m/{number}")),
        _ => None,
    }
}

/// Returns the subject of a reason, as a link if it has a page.
pub fn reason(what: &str) -> Markup {
    match reason_address(what) {
        Some(to) => html! { a href=(to) { (visible_line(what)) } },
        None => parts::word(what),
    }
}

/// Returns our own text, with a link for each message, run, step or grant that it names.
pub fn ours(words: &str) -> Markup {
    html! {
        @for (piece, to) in pieces(words) {
            @match to { Some(to) => a href=(to) { (visible_line(piece)) }, None => (visible_line(piece)) }
        }
    }
}

/// Splits our own text into pieces. A piece that names something with a page comes with the page's address.
fn pieces(words: &str) -> Vec<(&str, Option<String>)> {
    let (mut all, mut plain, mut at) = (Vec::new(), 0, 0);
    // The start of a word that may be the kind of the next number.
    let mut before: Option<(usize, &str)> = None;
    for word in words.split_inclusive(' ') {
        let bare = word.trim_start_matches('(');
        let start = at + (word.len() - bare.len());
        let name = bare.trim_end_matches([' ', ',', '.', ';', ':', ')']);
        at += word.len();
        let numbered = before.and_then(|(from, kind)| Some((from, number_address(kind, name)?)));
        let found = numbered.or_else(|| Some((start, name_address(name)?)));
        before = matches!(bare, "message " | "grant ").then_some((start, name));
        if let Some((from, to)) = found {
            let end = start + name.len();
            all.push((words.get(plain..from).unwrap_or_default(), None));
            all.push((words.get(from..end).unwrap_or_default(), Some(to)));
            plain = end;
        }
    }
    all.push((words.get(plain..).unwrap_or_default(), None));
    all.retain(|(piece, _)| !piece.is_empty());
    all
}

/// Returns the address of the message or grant with this number.
fn number_address(kind: &str, number: &str) -> Option<String> {
    match kind {
        "message" => reason_address(&format!("message {number}")),
        _ => number.parse().ok().map(|number: GrantNumber| format!("/grants/{number}")),
    }
}

/// Returns the address of the run, step or grant with this name.
fn name_address(name: &str) -> Option<String> {
    match name.parse() {
        Ok(WhyTarget::Run(_) | WhyTarget::Step(_)) => reason_address(name),
        _ => name.parse().ok().map(|number: GrantNumber| format!("/grants/{number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_text_links_named_objects_only() {
        let check = |words: &str, expected: &[(&str, Option<&str>)]| {
            let found = pieces(words);
            let found: Vec<_> = found.iter().map(|(piece, to)| (*piece, to.as_deref())).collect();
            assert_eq!(found, expected, "{words}");
            assert_eq!(found.iter().map(|(piece, _)| *piece).collect::<String>(), words);
        };
        check("done", &[("done", None)]);
        check("", &[]);
        check("done: message 7", &[("done: ", None), ("message 7", Some("/m/7"))]);
        check("done: message 7.2.", &[("done: ", None), ("message 7.2", Some("/m/7.2")), (".", None)]);
        check("7 messages", &[("7 messages", None)]);
        check("the grant of a message is gone", &[("the grant of a message is gone", None)]);
        check("grant g3: r1", &[("grant g3", Some("/grants/g3")), (": ", None), ("r1", Some("/r/r1"))]);
        check(
            "you approved message 1, and r3#4 (message 12) went on",
            &[
                ("you approved ", None),
                ("message 1", Some("/m/1")),
                (", and ", None),
                ("r3#4", Some("/r/r3/step/4")),
                (" (", None),
                ("message 12", Some("/m/12")),
                (") went on", None),
            ],
        );
    }

    #[test]
    fn object_named_by_a_reason_has_a_page() {
        for (what, page) in [
            ("r17", Some("/r/r17")),
            ("r17#9", Some("/r/r17/step/9")),
            ("r17, item 2", Some("/r/r17")),
            ("message 7", Some("/m/7")),
            ("message 7.2", Some("/m/7.2")),
            ("7", Some("/m/7")),
            ("grant g4", Some("/grants/g4")),
            ("grant 1a2b&c", Some("/grants?find=1a2b%26c")),
            ("message x", None),
            ("slot out", None),
            ("it depends on", None),
            ("/home/me/r17", None),
        ] {
            assert_eq!(reason_address(what).as_deref(), page, "{what}");
        }
    }

    #[test]
    fn name_stays_one_path_segment() {
        let path = ["a b".to_owned(), "50%".to_owned(), "@self".to_owned(), "ü?#".to_owned()];
        assert_eq!(names(&path), "/names/a%20b/50%25/%40self/%C3%BC%3F%23");
        assert_eq!(names(&[]), "/names");
    }
}
