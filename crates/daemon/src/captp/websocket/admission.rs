//! The check whether a client may open a WebSocket here, from the headers of its request.

use std::net::SocketAddr;

use tungstenite::http::HeaderMap;
use tungstenite::http::header::{HOST, HeaderName, ORIGIN};

/// Checks whether a request with these headers may connect to this address.
///
/// A foreign web page can make a browser connect to this machine, even by a domain name of its own that resolves to
/// this machine. The browser sends that name in `Host`, and the page's origin in `Origin`. Programs other than
/// browsers send no `Origin`.
///
/// # Errors
/// When the request is refused. The text is the reason.
pub(super) fn admit(headers: &HeaderMap, address: SocketAddr) -> Result<(), String> {
    let host = single_header(headers, HOST)?.ok_or("the request says no Host")?;
    if !is_local_host(&host, Some(address.port())) && host != address.to_string() {
        return Err(format!("the Host must be this machine, like 127.0.0.1:{}", address.port()));
    }
    let Some(origin) = single_header(headers, ORIGIN)? else { return Ok(()) };
    let page = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    match page.is_some_and(|host| is_local_host(host, None)) {
        true => Ok(()),
        false => Err("the Origin must be a page of this machine".to_owned()),
    }
}

/// Returns the value of the header with this name, or `None` if the request has none. A repeated header is an error.
fn single_header(headers: &HeaderMap, name: HeaderName) -> Result<Option<String>, String> {
    let mut all = headers.get_all(&name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => {
            let text = one.to_str().map_err(|_| format!("the header {name} is no text"))?;
            Ok(Some(text.to_ascii_lowercase()))
        }
        (Some(_), Some(_)) => Err(format!("the header {name} stands there twice")),
    }
}

/// Returns whether a host is a name of this machine with the given port. If `port` is `None`, the host may have any
/// port.
fn is_local_host(host: &str, port: Option<u16>) -> bool {
    let names = ["localhost", "127.0.0.1", "[::1]"];
    names.iter().filter_map(|name| host.strip_prefix(name)).any(|rest| match (rest.strip_prefix(':'), port) {
        // A host without a port means port 80.
        (None, Some(port)) => rest.is_empty() && port == 80,
        (None, None) => rest.is_empty(),
        (Some(said), Some(port)) => said == port.to_string(),
        (Some(said), None) => !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admission_accepts_only_local_host_and_origin() {
        let check = |headers: &[(&str, &str)], expected: Result<(), &str>| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
            }
            match (admit(&map, "127.0.0.1:8920".parse().unwrap()), expected) {
                (Ok(()), Ok(())) => {}
                (Err(reason), Err(says)) => assert!(reason.contains(says), "{headers:?}: {reason}"),
                (got, _) => panic!("{headers:?}: {got:?}, not {expected:?}"),
            }
        };
        for host in ["127.0.0.1:8920", "localhost:8920", "LocalHost:8920", "[::1]:8920"] {
            check(&[("host", host)], Ok(()));
        }
        for host in [
            "example.org:8920",
            "localhost",
            "localhost:1",
            "localhost:8920.example.org",
            "localhost.example.org:8920",
            "127.0.0.1.example.org:8920",
            "127.0.0.1:08920",
            "",
        ] {
            check(&[("host", host)], Err("the Host must be this machine"));
        }
        check(&[], Err("says no Host"));
        let mut other = HeaderMap::new();
        other.append(HOST, "127.9.8.7:1".parse().unwrap());
        assert_eq!(admit(&other, "127.9.8.7:1".parse().unwrap()), Ok(()));
        check(&[("host", "localhost:8920"), ("host", "localhost:8920")], Err("twice"));
        let host = ("host", "127.0.0.1:8920");
        for origin in ["http://localhost:5173", "http://127.0.0.1", "https://localhost:443", "http://[::1]:1"]
        {
            check(&[host, ("origin", origin)], Ok(()));
        }
        for origin in [
            "http://example.org",
            "http://localhost.example.org",
            "http://localhost:80@example.org",
            "http://localhost:",
            "https://127.0.0.1.example.org:8920",
            "null",
            "file://",
            "localhost",
            "",
        ] {
            check(&[host, ("origin", origin)], Err("the Origin must be a page of this machine"));
        }
        check(&[host, ("origin", "http://localhost"), ("origin", "http://example.org")], Err("twice"));
    }
}
