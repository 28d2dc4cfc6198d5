//! Where a browser is let in, with the code that `almoner open` gave it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response as Answered;
use maud::{DOCTYPE, Markup, html};

use crate::guard::sessions::{Arrival, NotLetIn, Under};
use crate::page::shell;
use crate::serve::{self, KEY, Site};

/// The page that asks for the code. The script takes it from the address; without one it is typed.
pub fn page(wrong: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (shell::head("Log in", &[]))
            body.login {
                main #main {
                    h1 { "Almoner" }
                    @if let Some(wrong) = wrong { p.failure role="alert" { (wrong) } }
                    p { "Type " code { "almoner open" } " in a terminal: it opens these pages and lets this browser in." }
                    form #login method="post" action="/login" {
                        label for="code" { "Code: what stands behind the # in the address that it prints" }
                        input #code name="code" autocomplete="off" spellcheck="false" required;
                        input type="hidden" name=(KEY);
                        input type="hidden" name="to";
                        button { "Log in" }
                    }
                }
            }
        }
    }
}

/// `GET /login`.
pub async fn read() -> Answered {
    serve::html(StatusCode::OK, page(None))
}

/// `POST /login`.
pub async fn send(
    State(site): State<Arc<Site>>,
    Extension(under): Extension<Under>,
    headers: HeaderMap,
    body: Bytes,
) -> Answered {
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    let field =
        |name: &str| pairs.iter().find(|(each, _)| each == name).map_or("", |(_, text)| text.as_str());
    let browser = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
    // Whoever types what stands behind the `#` may have typed where it goes as well.
    let (code, place) = field("code").split_once('/').unwrap_or((field("code"), ""));
    let cookies = serve::cookies(&headers).collect::<Vec<_>>().join("; ");
    let arrival = Arrival { code, key: field(KEY), under, cookies: &cookies, browser };
    let (Ok(one), Ok(other)) = (site.backend.random(), site.backend.random()) else {
        return serve::refused(StatusCode::INTERNAL_SERVER_ERROR, "this machine has no random bytes");
    };
    let now = site.backend.now_ms();
    match site.change(|sessions| sessions.let_in(&arrival, (one, other), now)) {
        Ok(Ok(handle)) => {
            let to = if place.is_empty() { field("to").to_owned() } else { format!("/{place}") };
            let mut answer = serve::go(local(&to));
            if let Ok(cookie) = HeaderValue::from_str(&serve::cookie(&handle)) {
                answer.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            answer
        }
        Ok(Err(not)) => {
            let wrong = match not {
                NotLetIn::Code => {
                    "This code lets nobody in: each lets one browser in, once, within a minute."
                }
                NotLetIn::TooMany => "Too many wrong codes: none is taken for a minute.",
                NotLetIn::NoKey => {
                    "Under an address of numbers these pages need JavaScript; without it, `almoner open` opens them \
                     under their own name."
                }
            };
            serve::html(StatusCode::UNAUTHORIZED, page(Some(wrong)))
        }
        Err(failure) => {
            let why = failure.message.visible_line().into_owned();
            serve::html(StatusCode::INTERNAL_SERVER_ERROR, page(Some(&why)))
        }
    }
}

/// A path of ours, or the first page.
fn local(to: &str) -> &str {
    let ours = to.starts_with('/')
        && !to.starts_with("//")
        && to.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if ours { to } else { "/" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn nobody_is_sent_elsewhere() {
        for (to, expected) in [
            ("/m/4", "/m/4"),
            ("", "/"),
            ("m/4", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/x\r\nSet-Cookie: a=b", "/"),
        ] {
            assert_eq!(super::local(to), expected, "{to:?}");
        }
    }
}
