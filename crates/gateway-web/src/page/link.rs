//! Addresses of pages, and links to them.

use std::fmt::Display;

use control::inspect::Called;
use control::show::reason::Thing;
use kernel::{FormulaId, GrantNumber, MessageNumber, StepRef};
use maud::{Markup, html};
use passable::visible_line;

use super::parts;

/// Text as part of a query.
pub fn query(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Text as one part of a path.
fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The address of what has this path of names; of all names without one.
pub fn names<'a>(path: impl IntoIterator<Item = &'a String>) -> String {
    path.into_iter().fold("/names".to_owned(), |so_far, name| format!("{so_far}/{}", segment(name)))
}

/// The address of the page of a formula.
pub fn formula(id: &FormulaId) -> String {
    format!("/thing?id={id}")
}

/// A thing by the person's own name for it, else by what it is; a link to its page.
pub fn called(one: &Called) -> Markup {
    html! {
        @match (&one.name, one.message, one.run) {
            (None, Some(number), _) => (message(number)),
            (None, None, Some(run)) => { "run " (parts::run(run)) }
            _ => a href=(formula(&one.target)) {
                @match &one.name {
                    Some(name) => (parts::name(name)),
                    None => (parts::line(&one.words)),
                }
            },
        }
    }
}

/// A link to where something comes from.
pub fn why(thing: impl Display) -> Markup {
    let thing = thing.to_string();
    html! { a href={ "/why?thing=" (query(&thing)) } aria-label={ "Why " (visible_line(&thing)) } { "why" } }
}

/// A link to a step.
pub fn step(at: StepRef) -> Markup {
    html! { a href={ "/r/" (at.run) "/step/" (at.step) } { (at) } }
}

/// A link to a message.
pub fn message(number: MessageNumber) -> Markup {
    html! { a href={ "/m/" (number) } { "message " (number) } }
}

/// A link to a grant.
pub fn grant(number: GrantNumber) -> Markup {
    html! { a href={ "/grants/" (number) } { (number) } }
}

/// Where a link of a chain of reasons leads, if it names something that has a page.
pub fn of_reason(what: &str) -> Option<String> {
    if let Some(number) = what.strip_prefix("message ") {
        let number: MessageNumber = number.parse().ok()?;
        return Some(format!("/m/{number}"));
    }
    if let Some(grant) = what.strip_prefix("grant ") {
        return Some(format!("/grants?find={}", query(grant)));
    }
    // `r3, item 2` is about r3.
    match what.split_once(',').map_or(what, |(first, _)| first).parse() {
        Ok(Thing::Run(run)) => Some(format!("/r/{run}")),
        Ok(Thing::Step(at)) => Some(format!("/r/{}/step/{}", at.run, at.step)),
        Ok(Thing::Message(number)) => Some(format!("/m/{number}")),
        _ => None,
    }
}

/// What a link of a chain of reasons is about, as a link where there is a page of it.
pub fn reason(what: &str) -> Markup {
    match of_reason(what) {
        Some(to) => html! { a href=(to) { (visible_line(what)) } },
        None => parts::word(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reason_names_has_a_page() {
        for (what, page) in [
            ("r17", Some("/r/r17")),
            ("r17#9", Some("/r/r17/step/9")),
            ("r17, item 2", Some("/r/r17")),
            ("message 7", Some("/m/7")),
            ("7", Some("/m/7")),
            ("grant g4", Some("/grants?find=g4")),
            ("grant 1a2b&c", Some("/grants?find=1a2b%26c")),
            ("message x", None),
            ("slot out", None),
            ("it depends on", None),
            ("/home/me/r17", None),
        ] {
            assert_eq!(of_reason(what).as_deref(), page, "{what}");
        }
    }

    #[test]
    fn a_name_stays_one_part_of_a_path() {
        let path = ["a b".to_owned(), "50%".to_owned(), "@self".to_owned(), "ü?#".to_owned()];
        assert_eq!(names(&path), "/names/a%20b/50%25/%40self/%C3%BC%3F%23");
        assert_eq!(names(&[]), "/names");
    }
}
