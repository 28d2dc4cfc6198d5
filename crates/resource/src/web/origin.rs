//! Servers: scheme, host and port, with a single spelling for each server.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum length of a host's name, in bytes.
const MAX_HOST_LEN: usize = 253;

/// The maximum length of a label, which is the part of a name between two dots.
const MAX_LABEL_LEN: usize = 63;

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP without encryption.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// Returns the scheme as in an address.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// Returns the default port of the scheme.
    pub fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// A host, by its name or its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// The name of a host, in lower case.
    Name(String),
    /// The address of a host.
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(address) => write!(f, "{address}"),
        }
    }
}

/// A server: its scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The protocol of the server.
    pub scheme: Scheme,
    /// The host of the server.
    pub host: Host,
    /// The port of the server.
    pub port: u16,
}

/// The reason why a text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlace {
    /// A text without a known scheme.
    #[error("an address begins with `https://` or `http://`")]
    Scheme,
    /// A user or a password before the host.
    #[error("a user or a password stands before the host; a key goes into the vault, not into an address")]
    User,
    /// An empty host, or one that is not written correctly.
    #[error("`{0}` is not the plain name or address of a host")]
    Host(String),
    /// An address in a spelling that programs read in different ways.
    #[error("`{0}` is an address in an unusual spelling; write four decimal numbers, or IPv6 in brackets")]
    Number(String),
    /// A host with characters outside of ASCII.
    #[error("`{0}` has letters that others look like; write the host in its `xn--` form")]
    NotAscii(String),
    /// A port that is no number from 1 to 65535.
    #[error("`{0}` is no port")]
    Port(String),
    /// A path that can be read in two ways.
    #[error(
        "the path `{0}` can be read in two ways: write it without `.`, `..`, `//`, `\\`, spaces, and escapes of what needs none"
    )]
    Path(String),
    /// A query or a fragment.
    #[error("a place has no `?` and no `#`")]
    Query,
    /// More text than a server.
    #[error("only a server is meant here, without a path")]
    NotAlone,
}

impl Origin {
    /// Reads the server at the beginning of an address, and returns the text after it as well.
    ///
    /// # Errors
    /// When the text can be read in two ways.
    pub fn split(text: &str) -> Result<(Origin, &str), BadPlace> {
        let (scheme, rest) = text.split_once("://").ok_or(BadPlace::Scheme)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(BadPlace::Scheme),
        };
        // Some programs read a backslash as a slash, so that the text after it is a path. For others it belongs to
        // the host.
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, after) = rest.split_at(end);
        if authority.contains('@') {
            return Err(BadPlace::User);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inside) => {
                let (host, port) =
                    inside.split_once(']').ok_or_else(|| BadPlace::Host(authority.to_owned()))?;
                let port = match port {
                    "" => None,
                    port => Some(port.strip_prefix(':').ok_or_else(|| BadPlace::Host(authority.to_owned()))?),
                };
                let address: Ipv6Addr = host.parse().map_err(|_| BadPlace::Host(host.to_owned()))?;
                if address.to_ipv4_mapped().is_some()
                    || address.to_ipv4().is_some_and(|_| !address.is_loopback())
                {
                    return Err(BadPlace::Number(host.to_owned()));
                }
                (Host::Address(IpAddr::V6(address)), port)
            }
            None => {
                let (host, port) = match authority.split_once(':') {
                    Some((host, port)) => (host, Some(port)),
                    None => (authority, None),
                };
                (host_of(host)?, port)
            }
        };
        let port = match port {
            None => scheme.port(),
            Some(digits) => port_of(digits)?,
        };
        Ok((Origin { scheme, host, port }, after))
    }
}

fn port_of(digits: &str) -> Result<u16, BadPlace> {
    let bad = || BadPlace::Port(digits.to_owned());
    if digits.is_empty() || digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    digits.parse().map_err(|_| bad())
}

fn host_of(text: &str) -> Result<Host, BadPlace> {
    let bad = || BadPlace::Host(text.to_owned());
    if !text.is_ascii() {
        return Err(BadPlace::NotAscii(text.to_owned()));
    }
    let name = text.to_ascii_lowercase();
    if name.is_empty() || name.len() > MAX_HOST_LEN {
        return Err(bad());
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= MAX_LABEL_LEN
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    // A dot at the end is rejected here, because it leaves an empty label.
    if !name.split('.').all(is_label) {
        return Err(bad());
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    // Resolvers read a host that ends in a number as an address, in any of a dozen spellings. Only one spelling is
    // accepted.
    let is_number = last.bytes().all(|b| b.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if !is_number {
        return Ok(Host::Name(name));
    }
    match name.parse::<Ipv4Addr>() {
        Ok(address) => Ok(Host::Address(IpAddr::V4(address))),
        Err(_) => Err(BadPlace::Number(text.to_owned())),
    }
}

impl FromStr for Origin {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Origin, BadPlace> {
        match Origin::split(text)? {
            (origin, "" | "/") => Ok(origin),
            _ => Err(BadPlace::NotAlone),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.as_str())?;
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            host => write!(f, "{host}")?,
        }
        if self.port == self.scheme.port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Origin, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_written_in_one_way() {
        for (text, expected) in [
            ("https://api.example.com", "https://api.example.com"),
            ("HTTPS://API.EXAMPLE.COM:443/", "https://api.example.com"),
            ("http://api.example.com:443", "http://api.example.com:443"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
            ("https://1.example.com", "https://1.example.com"),
            ("https://0x.example.com", "https://0x.example.com"),
        ] {
            assert_eq!(text.parse::<Origin>().map(|o| o.to_string()), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn ambiguous_origins_are_refused() {
        let text = |text: &str| text.to_owned();
        for (address, expected) in [
            ("api.example.com", BadPlace::Scheme),
            ("ftp://api.example.com", BadPlace::Scheme),
            ("file:///etc/passwd", BadPlace::Scheme),
            ("https://user@api.example.com", BadPlace::User),
            ("https://api.example.com@evil.net", BadPlace::User),
            ("https://a:b@api.example.com", BadPlace::User),
            ("https://", BadPlace::Host(text(""))),
            ("https://api.example.com.", BadPlace::Host(text("api.example.com."))),
            ("https://api..example.com", BadPlace::Host(text("api..example.com"))),
            ("https://-a.example.com", BadPlace::Host(text("-a.example.com"))),
            ("https://a_b.example.com", BadPlace::Host(text("a_b.example.com"))),
            ("https://a%2eb.example.com", BadPlace::Host(text("a%2eb.example.com"))),
            ("https://bücher.example", BadPlace::NotAscii(text("bücher.example"))),
            ("https://аpple.com", BadPlace::NotAscii(text("аpple.com"))),
            ("http://2130706433", BadPlace::Number(text("2130706433"))),
            ("http://0x7f000001", BadPlace::Number(text("0x7f000001"))),
            ("http://0x7f.0.0.1", BadPlace::Number(text("0x7f.0.0.1"))),
            ("http://0177.0.0.1", BadPlace::Number(text("0177.0.0.1"))),
            ("http://127.1", BadPlace::Number(text("127.1"))),
            ("http://127.0.0.1.", BadPlace::Host(text("127.0.0.1."))),
            ("http://[::ffff:127.0.0.1]", BadPlace::Number(text("::ffff:127.0.0.1"))),
            ("http://[::127.0.0.1]", BadPlace::Number(text("::127.0.0.1"))),
            ("http://[fe80::1%25eth0]", BadPlace::Host(text("fe80::1%25eth0"))),
            ("http://[::1", BadPlace::Host(text("[::1"))),
            ("http://[::1]x", BadPlace::Host(text("[::1]x"))),
            ("https://a.example:0", BadPlace::Port(text("0"))),
            ("https://a.example:080", BadPlace::Port(text("080"))),
            ("https://a.example:65536", BadPlace::Port(text("65536"))),
            ("https://a.example:", BadPlace::Port(text(""))),
            ("https://a.example:+1", BadPlace::Port(text("+1"))),
            ("https://a.example/v1", BadPlace::NotAlone),
            ("https://a.example\\@evil.net", BadPlace::NotAlone),
        ] {
            assert_eq!(address.parse::<Origin>(), Err(expected), "{address}");
        }
        assert!("https://aa bb.example".parse::<Origin>().is_err());
        assert!(format!("https://{}.example", "a".repeat(64)).parse::<Origin>().is_err());
    }
}
