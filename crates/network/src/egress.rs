//! The servers that this machine lets anything reach, where its administrator has restricted them.

use std::net::IpAddr;

use ureq::http::Uri;

/// The only servers that may be reached. Every other server is out of reach, also over a proxy.
///
/// The rules are a list of what is allowed. So a host in a spelling that this list does not know is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Egress {
    /// The file that restricts the servers, for people.
    place: String,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    is_https: bool,
    hosts: Hosts,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    One(String),
    /// All names below a name, without the name itself.
    Below(String),
}

impl Egress {
    /// Reads the list of allowed servers: `https://HOST`, with `:PORT` if it is not the usual one. `*.` before a name
    /// means all names below it. `place` is the file that restricts the servers.
    ///
    /// # Errors
    /// The first entry that names no server, with the reason.
    pub fn parse<'a>(
        place: &str,
        entries: impl IntoIterator<Item = &'a str>,
    ) -> Result<Egress, (String, &'static str)> {
        let rule = |entry: &str| rule(entry).map_err(|reason| (entry.to_owned(), reason));
        let rules = entries.into_iter().map(rule).collect::<Result<_, _>>()?;
        Ok(Egress { place: place.to_owned(), rules })
    }

    /// Returns the file that restricts the servers.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns whether no server at all may be reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the allowed servers, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        match self.is_empty() {
            true => "no server at all".to_owned(),
            false => self.rules.iter().map(Rule::description).collect::<Vec<_>>().join(", "),
        }
    }

    /// Returns whether a server may be reached.
    pub(crate) fn holds(&self, is_https: bool, host: &str, port: u16) -> bool {
        let host = plain(host);
        self.rules.iter().any(|rule| rule.is_https == is_https && rule.port == port && rule.hosts.hold(&host))
    }

    /// Returns whether a proxy may be used. A proxy can speak another protocol than the servers behind it, so its host
    /// and its port count alone.
    pub(crate) fn holds_proxy(&self, host: &str, port: u16) -> bool {
        let host = plain(host);
        self.rules.iter().any(|rule| rule.port == port && rule.hosts.hold(&host))
    }
}

impl Hosts {
    fn hold(&self, host: &str) -> bool {
        match self {
            Hosts::One(name) => name == host,
            // An address has no names below it, and none above.
            Hosts::Below(_) if host.parse::<IpAddr>().is_ok() => false,
            Hosts::Below(name) => host
                .strip_suffix(name.as_str())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|rest| !rest.is_empty()),
        }
    }
}

impl Rule {
    fn description(&self) -> String {
        let (scheme, usual) = if self.is_https { ("https", 443) } else { ("http", 80) };
        let host = match &self.hosts {
            Hosts::One(host) if host.contains(':') => format!("[{host}]"),
            Hosts::One(host) => host.clone(),
            Hosts::Below(name) => format!("*.{name}"),
        };
        let port = if self.port == usual { String::new() } else { format!(":{}", self.port) };
        format!("{scheme}://{host}{port}")
    }
}

fn rule(entry: &str) -> Result<Rule, &'static str> {
    let (is_https, rest) = match entry.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        _ => return Err("it begins neither with https:// nor with http://"),
    };
    let (is_below, authority) = match rest.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, rest),
    };
    if authority.contains(['/', '?', '#', '@', '*']) {
        return Err("only a server is meant here: a host, and a port if it is not the usual one");
    }
    let uri: Uri = format!("http://{authority}/").parse().map_err(|_| "it names no host")?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or("it names no host")?;
    // The library reads a port that is none as no port.
    let has_port = authority.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    let port = match (uri.port_u16(), has_port) {
        (Some(port), _) if port > 0 => port,
        (None, false) => {
            if is_https {
                443
            } else {
                80
            }
        }
        _ => return Err("its port is no port"),
    };
    let host = plain(host);
    if !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b)) {
        return Err("its host is no plain name: write letters outside of ASCII in the `xn--` form");
    }
    let hosts = match is_below {
        true if host.parse::<IpAddr>().is_ok() => {
            return Err("`*.` stands before a name, not before an address");
        }
        true => Hosts::Below(host),
        false => Hosts::One(host),
    };
    Ok(Rule { is_https, hosts, port })
}

/// Returns a host in its one spelling: in lower case, without a last dot and without brackets.
fn plain(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(entries: &[&str]) -> Egress {
        Egress::parse("managed.toml", entries.iter().copied()).unwrap()
    }

    #[test]
    fn server_is_known_by_scheme_name_and_port() {
        #[track_caller]
        fn check(entry: &str, (is_https, host, port): (bool, &str, u16), expected: bool) {
            assert_eq!(egress(&[entry]).holds(is_https, host, port), expected, "{entry} {host}:{port}");
        }
        let api = "https://api.example";
        check(api, (true, "api.example", 443), true);
        check(api, (true, "API.Example.", 443), true);
        check(api, (false, "api.example", 443), false);
        check(api, (true, "api.example", 8443), false);
        check(api, (false, "api.example", 80), false);
        check(api, (true, "xapi.example", 443), false);
        check(api, (true, "v1.api.example", 443), false);
        check(api, (true, "api.example.evil", 443), false);
        check(api, (true, "192.0.2.7", 443), false);
        check("https://api.example:8443", (true, "api.example", 8443), true);
        check("https://api.example:8443", (true, "api.example", 443), false);
        check("http://192.0.2.7", (false, "192.0.2.7", 80), true);
        check("http://192.0.2.7", (false, "3221225991", 80), false);
        check("http://192.0.2.7", (false, "[::ffff:192.0.2.7]", 80), false);
        check("http://[::1]:11434", (false, "[0:0:0:0:0:0:0:1]", 11434), true);
        check("https://*.example", (true, "a.example", 443), true);
        check("https://*.example", (true, "b.a.example", 443), true);
        check("https://*.example", (true, "example", 443), false);
        check("https://*.example", (true, ".example", 443), false);
        check("https://*.example", (true, "notexample", 443), false);
        check("https://*.2.7", (true, "192.0.2.7", 443), false);
    }

    #[test]
    fn entry_that_names_no_server_is_refused() {
        for (entry, says) in [
            ("api.example", "neither"),
            ("ftp://api.example", "neither"),
            ("https://", "no host"),
            ("https://api.example/v1", "only a server"),
            ("https://me@api.example", "only a server"),
            ("https://a.*.example", "only a server"),
            ("https://*", "only a server"),
            ("https://api.example:0", "no port"),
            ("https://api.example:99999", "no"),
            ("https://*.192.0.2.7", "not before an address"),
            ("https://bücher.example", "no"),
        ] {
            let (named, reason) = Egress::parse("managed.toml", [entry]).unwrap_err();
            assert!(named == entry && reason.contains(says), "{entry}: {reason}");
        }
    }

    #[test]
    fn description_lists_servers_in_their_own_spelling() {
        let entries = ["https://API.example.", "http://[::1]:11434", "https://*.example:8443"];
        assert_eq!(
            egress(&entries).description(),
            "https://api.example, http://[::1]:11434, https://*.example:8443"
        );
        assert_eq!(egress(&[]).description(), "no server at all");
    }
}
