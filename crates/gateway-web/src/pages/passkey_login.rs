//! The login with a passkey.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response as Answered;

use super::login::{self, LoginFailure, LoginForm};
use crate::guard::ceremonies::PasskeyError;
use crate::guard::names::PasskeyHost;
use crate::guard::sessions::{HostKind, LoginRequest};
use crate::page::passkey_form::CREDENTIAL;
use crate::page::theme::Theme;
use crate::refusal::refused;
use crate::serve::{self, KEY, Site};

/// The refusal of a passkey where there is none.
const NO_PASSKEYS: &str = "no passkey logs in here: `almoner open` lets a browser in";

/// Answers `POST /login/passkey/begin`: returns the demands on the proof of a passkey, with a challenge.
pub async fn begin(
    State(site): State<Arc<Site>>,
    Extension(host): Extension<Option<PasskeyHost>>,
) -> Answered {
    let begun = host.as_ref().and_then(|host| {
        let sessions = site.sessions();
        site.ceremonies().begin_login(host, &sessions.passkeys, site.backend.now_ms()).ok()
    });
    match begun {
        Some(demands) => serve::json(demands),
        None => refused(StatusCode::CONFLICT, NO_PASSKEYS),
    }
}

/// Answers `POST /login/passkey`: logs a browser in that proves a passkey.
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
    let Some(host) = host else { return refused(StatusCode::CONFLICT, NO_PASSKEYS) };
    let form = LoginForm::read(&body);
    let cookies = serve::cookies(&headers).collect::<Vec<_>>().join("; ");
    let browser = login::browser(&headers);
    let arrival = LoginRequest { code: "", key: form.field(KEY), under, cookies: &cookies, browser };
    let (Ok(one), Ok(other)) = (site.backend.random(), site.backend.random()) else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "this machine has no random bytes");
    };
    let now = site.backend.now_ms();
    let let_in = site.change(|sessions| -> Result<String, PasskeyError> {
        let answer = form.field(CREDENTIAL);
        let number = site.ceremonies().finish_login(&host, &mut sessions.passkeys, answer, now)?;
        Ok(sessions.let_in_by_passkey(&arrival, number, (one, other), now))
    });
    let (status, why) = match let_in {
        Ok(Ok(handle)) => return login::welcome(&handle, form.field("to")),
        Ok(Err(error)) => (StatusCode::UNAUTHORIZED, sentence(&error).to_owned()),
        Err(failure) => (StatusCode::INTERNAL_SERVER_ERROR, failure.message.visible_line().into_owned()),
    };
    let (why, to) = (LoginFailure::PasskeyRejected(why), login::local(form.field("to")));
    serve::html(status, login::page(&why, to, theme, site.has_passkeys(Some(&host))))
}

/// Returns the reason for the reader of the login page, who may be anybody. It tells nothing about the passkeys.
fn sentence(error: &PasskeyError) -> &'static str {
    match error {
        PasskeyError::TooMany => {
            "Too many passkeys were refused: none is taken for a minute. A code still lets you in."
        }
        _ => {
            "This passkey lets nobody in. It was removed, or the page was open for too long: press the button again, or use a \
             code."
        }
    }
}
