//! The edge between a call and the network: names are resolved, secrets become headers, and requests are sent.

use std::io::{ErrorKind, Read as _};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kernel::proposal::Finding;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use network::{Network, NetworkError, failure_reason};
use passable::{Quoting, quoting, visible_line};
use resource::web::{Host, Origin, PlainPath, Scheme, SecretUse, Web};
use ureq::config::ConfigBuilder;
use ureq::http::{HeaderName, HeaderValue};
use ureq::typestate::AgentScope;
use zeroize::Zeroizing;

use super::host_services::HostServices;
use super::reply::Answer;
use super::request::Call;

/// The rule of the finding that the machine's administrator does not let a server be reached.
const MANAGED: &str = "http/managed";

/// The maximum time for resolving a name.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum time for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time for a whole call, including all redirects.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of redirects of one call.
const MAX_REDIRECTS: usize = 5;

/// The maximum number of addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Returns whether the proxy resolves the name of a server, because the user wants it so. No address is checked then.
fn is_resolved_by_proxy(web: &Web, origin: &Origin, outside: &dyn HostServices) -> bool {
    let Host::Name(name) = &origin.host else { return false };
    let is_here = name == "localhost" || name.ends_with(".localhost");
    let network = outside.network();
    let is_proxied = || network.is_proxied(&origin.to_string()).unwrap_or(false);
    !is_here && web.address.is_none() && network.is_resolved_by_proxy() && is_proxied()
}

/// Returns the addresses of a server to which a connection may be made. There are none if the proxy resolves the name.
pub(crate) fn addresses(
    web: &Web,
    origin: &Origin,
    outside: &dyn HostServices,
) -> Result<Vec<IpAddr>, Finding> {
    let network = outside.network();
    let expect_allowed = |origin: &Origin| {
        network.expect_allowed(&origin.to_string()).map_err(|error| network_finding(&error, origin))
    };
    expect_allowed(origin)?;
    if is_resolved_by_proxy(web, origin, outside) {
        return Ok(vec![]);
    }
    let pinned = web.address.filter(|_| web.places.first().is_some_and(|place| place.origin == *origin));
    if let Some(address) = pinned {
        // The user has chosen the machine behind the name, so this machine must be allowed by itself.
        expect_allowed(&Origin { host: Host::Address(address), ..origin.clone() })?;
    }
    let found = match (&origin.host, pinned) {
        (_, Some(address)) => vec![address],
        (Host::Address(address), None) => vec![*address],
        (Host::Name(name), None) => outside.resolve(name, RESOLVE_TIMEOUT).map_err(|error| {
            let what = match error.kind() {
                ErrorKind::TimedOut => "nobody says in time which address it has",
                _ => "it has no address",
            };
            let is_proxied = outside.network().is_proxied(&origin.to_string()).unwrap_or(false);
            let allowed = match is_proxied {
                // Without an address, nothing says whether the proxy would lead to a private one.
                true => {
                    "the same call, once the user has let the proxy resolve names: `proxy_resolves = true` under \
                     `[network]` in `config.toml`"
                }
                false => "the same call, once the name can be resolved",
            };
            Finding::new("http/name", quoting!("`{}`: ", visible_line(name)).and(what))
                .at("path")
                .counter_example(visible_line(name))
                .allowed(allowed)
        })?,
    };
    for address in &found {
        if let Some(reach) = policy::egress::refused(&origin.host, *address, pinned) {
            return Err(policy::egress::private(&origin.to_string(), *address, reach));
        }
    }
    Ok(found.into_iter().take(MAX_ADDRESSES).collect())
}

/// Makes a call. For a reading call, it follows redirects to addresses that the endowment names.
pub(super) fn exchange(
    web: &Web,
    call: Call,
    most: u64,
    begun: &StartedEffect,
    outside: &dyn HostServices,
) -> Completion {
    let ends = Instant::now() + CALL_TIMEOUT;
    let first = call.origin.clone();
    let mut call = call;
    for _ in 0..=MAX_REDIRECTS {
        let answer = match once(web, &call, most, begun, outside, ends) {
            Ok(answer) => answer,
            Err(finding) => return *finding,
        };
        let next = match next(web, &call, &first, &answer, outside.follows_redirects()) {
            Ok(next) => next,
            Err(finding) => return Completion::Failed(*finding),
        };
        match next {
            Some(next) => call = next,
            None => {
                let place = format!("{}{}", call.origin, call.path);
                let (value, provenance) = answer.into_value(&place);
                let provenance = match call.is_get {
                    true => provenance,
                    // A server may send back the data that it was sent.
                    false => provenance.join(&begun.proposal().provenance),
                };
                return Completion::Done { value, provenance };
            }
        }
    }
    Completion::Failed(
        Finding::new(
            "http/redirects",
            Quoting::ours(format!("the server sends on more than {MAX_REDIRECTS} times")),
        )
        .at("path")
        .counter_example(visible_line(&call.path))
        .allowed("another path"),
    )
}

/// Returns the call to which the answer redirects a reading call, or `None` without a redirect. A sending call is
/// never redirected. Its caller gets the answer instead.
fn next(
    web: &Web,
    call: &Call,
    first: &Origin,
    answer: &Answer,
    follows: bool,
) -> Result<Option<Call>, Box<Finding>> {
    if !call.is_get || !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some((_, location)) = answer.headers.iter().find(|(name, _)| name == "location") else {
        return Ok(None);
    };
    // A server may repeat a request in a redirect address, even a key. So only the server's name is shown.
    let shown = match Origin::split(location) {
        Ok((origin, _)) => origin.to_string(),
        Err(_) if location.starts_with('/') && !location.starts_with("//") => call.origin.to_string(),
        Err(_) => "an address that is not plain".to_owned(),
    };
    let refuse = |why: String| {
        let places: Vec<String> = web.places.iter().map(ToString::to_string).collect();
        Box::new(
            Finding::new(
                "http/redirect",
                quoting!("the server sends on to {}: {}", visible_line(&shown), why),
            )
            .at("path")
            .counter_example(visible_line(&shown))
            .allowed(format!("{} and what lies under it", places.join(", "))),
        )
    };
    let (origin, rest) = match location.split_once("://") {
        Some(_) => {
            Origin::split(location).map_err(|_| refuse("it cannot be read in one way only".to_owned()))?
        }
        // `//host` is another server, and an address without a leading slash is relative to the path.
        None if location.starts_with("//") || !location.starts_with('/') => {
            return Err(refuse("only a full address or a path from the root is followed".to_owned()));
        }
        None => (call.origin.clone(), location.as_str()),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = PlainPath::parse(if path.is_empty() { "/" } else { path })
        .map_err(|_| refuse("its path can be read in more than one way".to_owned()))?;
    if !query.bytes().all(|b| b.is_ascii_graphic()) || query.len() > 8192 {
        return Err(refuse("its query is not plain".to_owned()));
    }
    if !web.places.iter().any(|place| place.holds(&origin, path.as_str())) {
        return Err(refuse("the endowment does not name it".to_owned()));
    }
    if first.scheme == Scheme::Https && origin.scheme == Scheme::Http {
        return Err(refuse("it would go in the clear".to_owned()));
    }
    if !follows {
        // The query is left out, because it may contain keys.
        let place = format!("{origin}{}", path.as_str());
        return Err(Box::new(
            Finding::new(
                "http/policy",
                quoting!(
                    "the server sends on to {}; policies are in force, and they judge each call by itself",
                    visible_line(&place)
                ),
            )
            .at("path")
            .counter_example(visible_line(&place))
            .allowed("a call of that address by itself, if it lies under what was endowed"),
        ));
    }
    let mut headers = call.headers.clone();
    if origin != call.origin {
        headers.retain(|(name, _)| matches!(name.as_str(), "accept" | "accept-language"));
    }
    Ok(Some(Call { origin, path: path.into_string(), query: query.to_owned(), headers, ..call.clone() }))
}

/// Returns a client for one server that follows no redirect. It connects only to the checked addresses, if there are
/// any, also over a proxy.
pub(crate) fn agent(
    origin: &Origin,
    addresses: &[IpAddr],
    left: Duration,
    network: &Network,
) -> Result<ureq::Agent, NetworkError> {
    let url = origin.to_string();
    let configure = |config: ConfigBuilder<AgentScope>| {
        config
            .http_status_as_error(false)
            .https_only(origin.scheme == Scheme::Https)
            .max_idle_connections(0)
            .max_response_header_size(64 << 10)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(left.max(Duration::from_millis(1))))
            .user_agent(concat!("almoner/", env!("CARGO_PKG_VERSION")))
    };
    // The settings may have changed since the addresses were checked, so the proxy is looked at again.
    if addresses.is_empty() && network.is_resolved_by_proxy() && network.is_proxied(&url)? {
        return network.agent(&url, &configure);
    }
    network.agent_for_addresses(&url, addresses, &configure)
}

/// Returns the finding about a setting of the network that cannot be used.
pub(crate) fn network_finding(error: &NetworkError, origin: &Origin) -> Finding {
    let (rule, allowed) = match error.is_managed() {
        true => (MANAGED, "a server that the administrator allows: `almoner doctor managed`"),
        false => ("http/network", "the same call, once the user has corrected it: `almoner doctor network`"),
    };
    Finding::new(rule, quoting!("{}", error)).at("path").counter_example(origin.to_string()).allowed(allowed)
}

/// Sends one request and returns its answer.
fn once(
    web: &Web,
    call: &Call,
    most: u64,
    begun: &StartedEffect,
    outside: &dyn HostServices,
    ends: Instant,
) -> Result<Answer, Box<Completion>> {
    let refused = |finding: Finding| Box::new(Completion::Refused(vec![finding]));
    let addresses = addresses(web, &call.origin, outside).map_err(refused)?;
    let left = ends.saturating_duration_since(Instant::now());
    let agent = agent(&call.origin, &addresses, left, &outside.network())
        .map_err(|error| refused(network_finding(&error, &call.origin)))?;
    let request = request(web, call, begun, outside).map_err(refused)?;
    let mut response =
        agent.run(request).map_err(|error| Box::new(Completion::Failed(failed(&error, call))))?;
    let headers = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    let read = response
        .body_mut()
        .with_config()
        .limit(u64::MAX)
        .reader()
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes);
    let broken = |rule: &str, what: String, allowed: &'static str| {
        let what = match call.is_get {
            true => what,
            false => format!("{what}; what was sent may have been taken"),
        };
        let finding = Finding::new(rule, what)
            .at("path")
            .counter_example(format!("{} {status}", call.method))
            .allowed(allowed);
        Box::new(Completion::Failed(finding))
    };
    if bytes.len() as u64 > most {
        let what = format!("the answer has more than {most} bytes");
        return Err(broken("http/large", what, "a narrower question, or an endowment with a larger `max=`"));
    }
    if read.is_err() {
        let what = format!("the answer broke off after {} bytes, or took too long", bytes.len());
        return Err(broken("http/cut-off", what, "the same call once more, if it only reads"));
    }
    let body = String::from_utf8(bytes).map_err(|_| {
        broken("http/binary", "the answer is not UTF-8 text".to_owned(), "a path that answers with text")
    })?;
    Ok(Answer { status, headers, body })
}

/// Returns the request, with the secret and all headers that are added at the edge.
fn request(
    web: &Web,
    call: &Call,
    begun: &StartedEffect,
    outside: &dyn HostServices,
) -> Result<ureq::http::Request<Vec<u8>>, Finding> {
    let broken = || {
        Finding::new("http/request", "this cannot be sent as a request")
            .at("path")
            .counter_example(visible_line(&call.path))
            .allowed("a plain path, query and headers")
    };
    let mut request = ureq::http::Request::builder()
        .method(call.method.as_str())
        .uri(call.url())
        .body(call.body.as_ref().map(|body| body.bytes.clone()).unwrap_or_default())
        .map_err(|_| broken())?;
    let headers = request.headers_mut();
    let name = |text: &str| HeaderName::from_bytes(text.as_bytes()).map_err(|_| broken());
    if let Some(body) = &call.body {
        headers.insert("content-type", HeaderValue::from_static(body.kind));
    }
    for (own, value) in &call.headers {
        headers.insert(name(own)?, HeaderValue::from_str(value).map_err(|_| broken())?);
    }
    if let (Some(header), false) = (&web.idempotency, call.is_get) {
        let key = idempotency_key(begun);
        headers.insert(name(header)?, HeaderValue::from_str(&key).map_err(|_| broken())?);
    }
    if let Some(used) = &web.secret {
        // After a redirect, the new server gets the secret only if the secret is for that server, too.
        match outside.secret(&used.name, &call.origin) {
            Ok(secret) => {
                headers.insert(name(&used.header)?, in_header(used, &secret)?);
            }
            Err(_) if web.places.first().is_some_and(|place| place.origin != call.origin) => {}
            Err(why) => return Err(why.finding(&used.name, &call.origin)),
        }
    }
    Ok(request)
}

/// Returns the value of the header that carries a secret.
pub(crate) fn in_header(used: &SecretUse, secret: &str) -> Result<HeaderValue, Finding> {
    let value = Zeroizing::new(format!("{}{secret}", used.before));
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        Finding::new("http/secret", quoting!("the secret `{}` cannot stand in a header", used.name))
            .at("path")
            .counter_example(used.header.clone())
            .allowed("a secret of one line of plain characters")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the idempotency key of a step. Every attempt of the step has the same key, and no other step has it.
fn idempotency_key(begun: &StartedEffect) -> String {
    let proposal = begun.proposal();
    let words = format!("{} {} {}", proposal.principal, begun.step(), proposal.grant);
    let mut hasher = blake3::Hasher::new_derive_key("almoner http idempotency v1");
    hasher.update(words.as_bytes());
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// Returns the reason for a missing answer. The library's message is not used, because it could contain data of the
/// request.
fn failed(error: &ureq::Error, call: &Call) -> Finding {
    let (rule, what) = match error {
        ureq::Error::Timeout(_) => ("http/timeout", "there was no answer in time"),
        ureq::Error::HostNotFound => ("http/name", "the name has no address"),
        ureq::Error::ConnectionFailed => ("http/unreachable", "no connection could be made"),
        ureq::Error::Io(e) if e.kind() == ErrorKind::ConnectionRefused => {
            ("http/unreachable", "the connection was refused")
        }
        ureq::Error::Io(e) if e.kind() == ErrorKind::TimedOut => {
            ("http/timeout", "there was no answer in time")
        }
        ureq::Error::ConnectProxyFailed(_) => ("http/proxy", "the proxy makes no connection to this server"),
        ureq::Error::Rustls(_) => ("http/tls", "the server's certificate is not one to trust for this name"),
        ureq::Error::Io(e) if failure_reason(error) != e.to_string() => {
            ("http/tls", "the server's certificate is not one to trust for this name")
        }
        _ => ("http/failed", "the exchange failed"),
    };
    let what = match (call.is_get, rule) {
        (false, "http/timeout" | "http/failed") => format!("{what}; what was sent may have been taken"),
        _ => what.to_owned(),
    };
    Finding::new(rule, quoting!("{}: ", call.origin).and(what))
        .at("path")
        .counter_example(call.origin.to_string())
        .allowed("the same call, once the server answers")
}
