//! Logins at tool servers: the token of a request, and the finding that a login is missing.

use kernel::proposal::Finding;
use kernel::started_effect::StartedEffect;
use passable::{quoting, shell_word, visible_line};
use resource::web::{Place, Web};
use ureq::http::{HeaderValue, Request};
use zeroize::Zeroizing;

use crate::http::{HostServices, NoSecret};

/// The rule of the finding that a server wants a login.
pub(crate) const LOGIN: &str = "mcp/login";

/// Returns the address by which the logins at a server go.
pub fn login_address(place: &Place) -> String {
    place.to_string()
}

/// Returns the token for a request to a server, if the user has logged in there and has named no key for it.
pub(super) fn token(
    web: &Web,
    place: &Place,
    outside: &dyn HostServices,
) -> Result<Option<Zeroizing<String>>, NoSecret> {
    if web.secret.is_some() {
        return Ok(None);
    }
    outside.access_token(&login_address(place))
}

/// Puts a token into a request, in place of any other authorization. Returns `false` if no header can hold the token.
pub(super) fn put<T>(request: &mut Request<T>, token: &str) -> bool {
    let headers = request.headers_mut();
    let text = Zeroizing::new(format!("Bearer {token}"));
    let Ok(mut value) = HeaderValue::from_str(&text) else { return false };
    value.set_sensitive(true);
    headers.insert("authorization", value);
    true
}

/// Returns the finding that a server wants a login, if it is known to.
pub(super) fn missing(name: &str, web: &Web, outside: &dyn HostServices) -> Option<Finding> {
    let place = web.places.first().filter(|_| web.secret.is_none())?;
    let address = login_address(place);
    outside.wants_login(&address).then(|| {
        let command = format!("almoner mcp login {}", shell_word(&visible_line(&address)));
        Finding::new(LOGIN, quoting!("the server {} wants a login: `{}`", visible_line(name), command))
            .at("method")
            .counter_example(visible_line(&address))
            .allowed("the same call, once the user has logged in")
    })
}

/// Returns the name of a call, by which it is known that a server refused it.
pub(super) fn call_name(begun: &StartedEffect) -> String {
    let proposal = begun.proposal();
    format!("{} {} {}", proposal.principal, begun.step(), proposal.grant)
}
