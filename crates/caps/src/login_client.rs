//! The requests of a login at a tool server. They reach the servers that the tool server names, but no others.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use oauth::{HttpClient, HttpRequest, HttpResponse};
use resource::web::{AddressScope, Host, Origin, Place, Scheme, Web, address_scope};
use ureq::http::{HeaderName, HeaderValue, Request};
use zeroize::Zeroizing;

use crate::http::{HostServices, edge};

/// The maximum time for one request of a login.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of an answer, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// The client for the requests of a login at one tool server.
///
/// The addresses come from the tool server, so that a hostile one could name any. A server on the internet leads to
/// servers on the internet only; one of this machine, or one whose address the user wrote, may lead to inner ones.
pub struct LoginClient {
    web: Web,
    is_inner: bool,
    outside: Arc<dyn HostServices>,
}

impl LoginClient {
    /// Returns the client for a tool server.
    #[must_use]
    pub fn new(web: Web, outside: Arc<dyn HostServices>) -> LoginClient {
        let own = web.places.first().map(|place| &place.origin.host);
        let is_inner = web.address.is_some_and(|address| address_scope(address) != AddressScope::Public)
            || match own {
                Some(Host::Address(address)) => address_scope(*address) != AddressScope::Public,
                Some(Host::Name(name)) => name == "localhost" || name.ends_with(".localhost"),
                None => false,
            };
        LoginClient { web, is_inner, outside }
    }

    /// Returns the part of the web that a request reaches: the tool server itself, or another server by its name.
    fn part(&self, origin: &Origin) -> Result<Web, String> {
        if self.web.places.first().is_some_and(|place| place.origin == *origin) {
            return Ok(self.web.clone());
        }
        let place = Place { origin: origin.clone(), path: "/".to_owned() };
        let mut part = Web {
            places: vec![place],
            methods: ["GET".to_owned(), "POST".to_owned()].into(),
            secret: None,
            idempotency: None,
            address: None,
        };
        // Names of inner servers are looked up here; others may have public addresses only, which is checked later.
        let found = match &origin.host {
            Host::Address(address) => Some(*address),
            Host::Name(name) if self.is_inner => {
                self.outside.resolve(name, REQUEST_TIMEOUT).unwrap_or_default().first().copied()
            }
            Host::Name(_) => None,
        };
        match found.map(|address| (address, address_scope(address))) {
            None | Some((_, AddressScope::Public)) => {}
            Some((address, AddressScope::Private | AddressScope::Loopback)) if self.is_inner => {
                part.address = Some(address);
            }
            Some((_, scope)) => return Err(format!("the server leads to {}", scope.summary())),
        }
        Ok(part)
    }
}

impl HttpClient for LoginClient {
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, String> {
        let (origin, _) = Origin::split(request.url.as_str()).map_err(|error| error.to_string())?;
        let is_here = match &origin.host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        };
        if origin.scheme != Scheme::Https && !is_here {
            return Err("a login needs https".to_owned());
        }
        let part = self.part(&origin)?;
        let addresses =
            edge::addresses(&part, &origin, &*self.outside).map_err(|finding| finding.message.to_string())?;
        let agent = edge::agent(&origin, &addresses, REQUEST_TIMEOUT, &self.outside.network())
            .map_err(|error| error.to_string())?;
        let unfit = |_| "the request cannot be sent".to_owned();
        let mut sent = Request::builder()
            .method(request.method)
            .uri(request.url.as_str())
            .body(request.body.to_vec())
            .map_err(|_| "the request cannot be sent".to_owned())?;
        for (name, value) in &request.headers {
            let mut value = HeaderValue::from_str(value).map_err(unfit)?;
            value.set_sensitive(*name == "authorization");
            sent.headers_mut().insert(HeaderName::from_static(name), value);
        }
        let mut response = agent.run(sent).map_err(|error| network::failure_reason(&error))?;
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let status = response.status().as_u16();
        let mut body = Zeroizing::new(Vec::new());
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        reader.take(MAX_ANSWER).read_to_end(&mut body).map_err(|_| "the answer broke off".to_owned())?;
        Ok(HttpResponse { status, challenge, body })
    }
}
