//! Refused requests. A program gets the reason as a line of text, and a browser that loads a page gets a page.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response as Answered};
use maud::{DOCTYPE, Markup, html};

use crate::page::shell;
use crate::page::theme::Theme;
use crate::pages::login;
use crate::serve;

/// The reason for a refusal, in addition to the status of the response.
#[derive(Clone, Copy, Debug)]
struct RefusalReason(&'static str);

/// The reason for refusing a request without a session, unless the request loads a page.
pub const SESSION_OVER: &str = "your session is over: `almoner open` opens another";

/// Returns a refusal as a line of text. [`as_page`] turns it into a page if a browser shows it to a user.
pub fn refused(status: StatusCode, why: &'static str) -> Answered {
    let kind = (header::CONTENT_TYPE, "text/plain; charset=utf-8");
    let mut answer = (status, [kind], format!("{why}\n")).into_response();
    answer.extensions_mut().insert(RefusalReason(why));
    answer
}

/// Returns whether a browser shows the response to a user. Current browsers say so in a header. Older ones are
/// recognized by the content types that they prefer.
pub fn is_shown(headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match said("sec-fetch-mode") {
        Some(mode) => mode == "navigate",
        None => said("accept").is_some_and(|kinds| kinds.contains("text/html")),
    }
}

/// Returns the response unchanged, or as a page if it is a refusal. `from` is the path of the request, and
/// `has_passkeys` says whether its host has any.
pub fn as_page(answer: Answered, from: &str, theme: Theme, has_passkeys: bool) -> Answered {
    let Some(RefusalReason(why)) = answer.extensions().get().copied() else { return answer };
    let status = answer.status();
    let page = match status {
        StatusCode::UNAUTHORIZED => {
            login::page(&login::LoginFailure::SessionEnded, from, theme, has_passkeys)
        }
        _ => refusal_page(status, why, theme),
    };
    let mut page = serve::html(status, page);
    // The `Allow` header of the refusal holds for the page as well.
    let kept = answer.headers().iter().filter(|(name, _)| **name == header::ALLOW);
    page.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
    page
}

/// Returns a page with the reason for a refusal. It has no script, because nothing on it changes, and its reader may
/// not be authenticated.
fn refusal_page(status: StatusCode, why: &str, theme: Theme) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme.chosen()] {
            // Under a foreign host name, the style sheet cannot be loaded either.
            @if status == StatusCode::MISDIRECTED_REQUEST { (shell::bare_head(TITLE, theme)) }
            @else { (shell::head(TITLE, &[], theme)) }
            body {
                main #main {
                    h1 { (TITLE) }
                    p.failure role="alert" { (sentence(why)) }
                    @if status != StatusCode::MISDIRECTED_REQUEST { p { a href="/" { "To the inbox" } } }
                }
            }
        }
    }
}

const TITLE: &str = "That was not done";

/// Returns a reason of our own as a sentence, with the parts between backticks set as code.
fn sentence(why: &str) -> Markup {
    let mut letters = why.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    html! {
        (first)
        @for (i, piece) in letters.as_str().split('`').enumerate() {
            @if i % 2 == 1 { code { (piece) } } @else { (piece) }
        }
        "."
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn reason_line_becomes_a_sentence() {
        assert_eq!(sentence("it is over: `x y` opens it").0, "It is over: <code>x y</code> opens it.");
    }

    #[test]
    fn navigation_is_shown_a_page() {
        for (headers, expected) in [
            (&[("sec-fetch-mode", "navigate"), ("accept", "*/*")][..], true),
            (&[("sec-fetch-mode", "cors"), ("accept", "text/html")], false),
            (&[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")], true),
            (&[("accept", "*/*")], false),
            (&[], false),
        ] {
            let all =
                headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            assert_eq!(is_shown(&all.collect::<HeaderMap>()), expected, "{headers:?}");
        }
    }
}
