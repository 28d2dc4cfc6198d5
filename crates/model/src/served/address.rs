//! The addresses of servers.

use std::net::IpAddr;

use crate::secret::Lookup;

/// The address of an Ollama server on this machine.
pub(crate) const OLLAMA: &str = "http://127.0.0.1:11434";
/// The variable with Ollama's address.
pub const OLLAMA_HOST: &str = "OLLAMA_HOST";

/// Returns the scheme, host and port of a URL.
pub(crate) fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split('/').next().unwrap_or_default();
    // A user name or password is never shown.
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

/// Returns whether an origin is on this machine.
pub(crate) fn is_loopback(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let host = if let Some(rest) = host.strip_prefix('[') {
        rest.split(']').next().unwrap_or_default()
    } else {
        host.split(':').next().unwrap_or_default()
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns the address of the Ollama server, in any of the forms that Ollama's own tools accept.
pub(crate) fn ollama_url(lookup: Lookup<'_>) -> String {
    let host = lookup(OLLAMA_HOST).map(|host| host.reveal().trim().trim_end_matches('/').to_owned());
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "127.0.0.1:11434".to_owned());
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", &host));
    // The address `0.0.0.0` tells a server to listen everywhere, but a client cannot connect to it.
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = rest.rsplit(']').next().unwrap_or_default().contains(':');
    match (has_port, scheme) {
        (true, _) | (false, "https") => format!("{scheme}://{rest}"),
        (false, _) => format!("{scheme}://{rest}:11434"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn ollama_url_accepts_every_host_notation() {
        #[track_caller]
        fn check(host: &str, expected: &str) {
            assert_eq!(ollama_url(&|_| Some(Secret::new(host))), expected);
        }
        check("", "http://127.0.0.1:11434");
        check("0.0.0.0", "http://127.0.0.1:11434");
        check("box:8080", "http://box:8080");
        check("https://box/", "https://box");
        check("[::1]", "http://[::1]:11434");
    }
}
