//! The login page, which accepts the code from `almoner open`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response as Answered;
use maud::{DOCTYPE, Markup, html};

use crate::assets::{Asset, PASSKEYS, SCRIPT};
use crate::guard::names::PasskeyHost;
use crate::guard::sessions::{HostKind, LoginError, LoginRequest};
use crate::page::passkey_form::{CREDENTIAL, LOGIN};
use crate::page::shell;
use crate::page::theme::Theme;
use crate::refusal::refused;
use crate::serve::{self, KEY, Site};

/// The reason why the login page is shown.
pub enum LoginFailure {
    /// No failure: the browser has just arrived.
    None,
    /// A form that was sent without a session, or after the session had ended.
    SessionEnded,
    /// A rejected code, with a sentence of our own that explains why.
    CodeRejected(String),
    /// A rejected passkey, with a sentence of our own that explains why.
    PasskeyRejected(String),
}

/// Returns the page that asks for the code, and that leads on to `to` after the login. The script takes the code from
/// the address. Without a script, the user types it. If there are passkeys for this host, a browser that can use one
/// shows a button for it.
pub fn page(trouble: &LoginFailure, to: &str, theme: Theme, has_passkeys: bool) -> Markup {
    let wrong = match trouble {
        LoginFailure::CodeRejected(wrong) => Some(wrong.as_str()),
        _ => None,
    };
    let scripts: &[Asset] = if has_passkeys { &[SCRIPT, PASSKEYS] } else { &[SCRIPT] };
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme.chosen()] {
            (shell::head("Log in", scripts, theme))
            body {
                main #main {
                    h1 { "Log in to Almoner" }
                    @if matches!(trouble, LoginFailure::SessionEnded) {
                        div.failure role="alert" {
                            p { "This browser's session is over, and what you just sent was not done." }
                            p.by-script { "What you typed is kept in this tab, except secrets and files: log in here, and it is there again." }
                        }
                    }
                    @if let LoginFailure::PasskeyRejected(why) = trouble { p.failure role="alert" { (why) } }
                    @if has_passkeys {
                        form #passkey hidden method="post" action="/login/passkey" data-passkey=(LOGIN) {
                            input type="hidden" name=(CREDENTIAL) autocomplete="off";
                            input type="hidden" name=(KEY);
                            input type="hidden" name="to" value=(to);
                            div.buttons { button { "Log in with a passkey" } }
                            p.note role="status" {}
                        }
                    }
                    p { "Type " code { "almoner open" } " in a terminal: it opens these pages and lets this browser in." }
                    form #login method="post" action="/login" {
                        label for="code" { "Code, or the whole address that " code { "almoner open --print" } " prints" }
                        input #code name="code" autocomplete="off" autocapitalize="off" spellcheck="false" required
                            aria-describedby=[wrong.map(|_| "wrong")] aria-invalid=[wrong.map(|_| "true")]
                            autofocus[wrong.is_some()];
                        @if let Some(wrong) = wrong { p.error #wrong role="alert" { (wrong) } }
                        input type="hidden" name=(KEY);
                        input type="hidden" name="to" value=(to);
                        div.buttons { button { "Log in" } }
                    }
                }
            }
        }
    }
}

/// Answers `GET /login`.
pub async fn read(
    State(site): State<Arc<Site>>,
    Extension(theme): Extension<Theme>,
    Extension(host): Extension<Option<PasskeyHost>>,
) -> Answered {
    let has_passkeys = site.has_passkeys(host.as_ref());
    serve::html(StatusCode::OK, page(&LoginFailure::None, "/", theme, has_passkeys))
}

/// The form of a browser that logs in.
pub struct LoginForm(Vec<(String, String)>);

impl LoginForm {
    /// Reads the body of a form.
    pub fn read(body: &[u8]) -> LoginForm {
        LoginForm(url::form_urlencoded::parse(body).into_owned().collect())
    }

    /// Returns a field, or nothing.
    pub fn field(&self, name: &str) -> &str {
        self.0.iter().find(|(each, _)| each == name).map_or("", |(_, text)| text.as_str())
    }
}

/// Returns a browser's description of itself.
pub fn browser(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// Returns the answer to a browser that was let in: its cookie, and the way to a page of this site.
pub fn welcome(handle: &str, to: &str) -> Answered {
    let mut answer = serve::go(local(to));
    if let Ok(cookie) = HeaderValue::from_str(&serve::cookie(handle)) {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}

/// Answers `POST /login`: logs a browser in.
pub async fn send(
    State(site): State<Arc<Site>>,
    Extension(under): Extension<HostKind>,
    Extension(theme): Extension<Theme>,
    Extension(host): Extension<Option<PasskeyHost>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answered {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return serve::cut_off(&rejection),
    };
    let form = LoginForm::read(&body);
    let (code, place) = parse_code(form.field("code"));
    let cookies = serve::cookies(&headers).collect::<Vec<_>>().join("; ");
    let browser = browser(&headers);
    let arrival = LoginRequest { code, key: form.field(KEY), under, cookies: &cookies, browser };
    let (Ok(one), Ok(other)) = (site.backend.random(), site.backend.random()) else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "this machine has no random bytes");
    };
    let now = site.backend.now_ms();
    let refusal = |status: StatusCode, wrong: String| {
        let has_passkeys = site.has_passkeys(host.as_ref());
        let wrong = LoginFailure::CodeRejected(wrong);
        serve::html(status, page(&wrong, local(form.field("to")), theme, has_passkeys))
    };
    match site.change(|sessions| sessions.let_in(&arrival, (one, other), now)) {
        Ok(Ok(handle)) => {
            // If the address names no page, the browser returns to the page that it came from.
            welcome(&handle, place.filter(|place| *place != "/").unwrap_or(form.field("to")))
        }
        Ok(Err(not)) => {
            let wrong = match not {
                LoginError::Code => {
                    "This code lets nobody in: each lets one browser in, once, within a minute."
                }
                LoginError::TooMany => "Too many wrong codes: none is taken for a minute.",
                LoginError::NoKey => {
                    "Under an address of numbers these pages need JavaScript; without it, `almoner open` opens them \
                     under their own name."
                }
            };
            refusal(StatusCode::UNAUTHORIZED, wrong.to_owned())
        }
        Err(failure) => {
            refusal(StatusCode::INTERNAL_SERVER_ERROR, failure.message.visible_line().into_owned())
        }
    }
}

/// Returns the typed code, and the page to open after login. The text is the whole address, or the part after its
/// `#`.
fn parse_code(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    let behind = text.rsplit('#').next().unwrap_or(text);
    match behind.find('/') {
        Some(at) => (&behind[..at], Some(&behind[at..])),
        None => (behind, None),
    }
}

/// Returns the path if it is on this site, or else the path of the inbox.
pub fn local(to: &str) -> &str {
    let ours = to.starts_with('/')
        && !to.starts_with("//")
        && to.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if ours { to } else { "/" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_is_found_in_a_pasted_address() {
        for (text, expected) in [
            ("00ff", ("00ff", None)),
            (" 00ff/m/4 ", ("00ff", Some("/m/4"))),
            ("http://almoner-1.localhost:7070/login#00ff/m/4", ("00ff", Some("/m/4"))),
            ("http://almoner-1.localhost:7070/login#00ff\n", ("00ff", None)),
            ("#00ff", ("00ff", None)),
            ("", ("", None)),
        ] {
            assert_eq!(super::parse_code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn login_redirects_to_local_paths_only() {
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
