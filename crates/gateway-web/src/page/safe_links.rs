//! The targets of links in foreign text, written so that no letter can pass for another.

use maud::{Markup, html};

/// The maximum number of different hosts that are listed for one text.
const MAX_ITEMS: usize = 10;

/// Returns whether a character ends the host of a link.
fn ends(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "/?#\\\"'<>()[]{}`,;".contains(letter)
}

/// Returns the hosts of links in a text that have other than ASCII characters. Each comes as it is written, and in
/// its ASCII form.
fn hosts(text: &str) -> Vec<(&str, String)> {
    let mut all: Vec<(&str, String)> = Vec::new();
    for (at, mark) in text.match_indices("://") {
        let rest = &text[at + mark.len()..];
        let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
        // The part before the `@` is not a host, and the part after the `:` is a port.
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = host.split(':').next().unwrap_or(host);
        if host.is_ascii() || all.iter().any(|(own, _)| *own == host) {
            continue;
        }
        if let Ok(url::Host::Domain(known)) = url::Host::parse(host)
            && all.len() < MAX_ITEMS
        {
            all.push((host, known));
        }
    }
    all
}

/// Returns a note with the hosts of a text's links, if their letters may pass for others.
pub fn host_note(text: &str) -> Markup {
    let all = hosts(text);
    html! {
        @if !all.is_empty() {
            span.note {
                @if all.len() == 1 { " (the link leads to " } @else { " (the links lead to " }
                @for (i, (_, known)) in all.iter().enumerate() {
                    @if i > 0 { ", " }
                    code { (known) }
                }
                ")"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_with_foreign_letters_name_their_hosts() {
        for (text, expected) in [
            ("https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com/login", "xn--80ak6aa92e.com"),
            (
                "see http://me:x@b\u{fc}cher.example:8080?q, and https://b\u{fc}cher.example/",
                "xn--bcher-kva.example",
            ),
            ("(https://\u{444}.example)https://\u{436}.example", "xn--t1a.example xn--f1a.example"),
            ("https://apple.com/\u{430}\u{440}", ""),
            ("\u{430}://x, \u{430}\u{440}\u{440}\u{4cf}\u{435}.com", ""),
            ("https://\u{202e}\u{430}.com", ""),
            ("://", ""),
        ] {
            let found: Vec<String> = hosts(text).into_iter().map(|(_, known)| known).collect();
            assert_eq!(found.join(" "), expected, "{text:?}");
        }
        let many: String =
            ('\u{430}'..'\u{450}').map(|letter| format!("https://{letter}{letter}.example ")).collect();
        assert_eq!(hosts(&many).len(), MAX_ITEMS);
    }

    #[test]
    fn ascii_hosts_get_no_note() {
        assert_eq!(host_note("https://example.com/\u{430}").0, "");
        let told = host_note("https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com/").0;
        assert!(told.contains("<code>xn--80ak6aa92e.com</code>)"), "{told}");
    }
}
