//! The host names under which the pages are served.

use std::net::{IpAddr, SocketAddr};

use super::sessions::HostKind;

/// The host names that browsers may use for the pages. For all others, the response is 421. Otherwise a foreign site
/// whose name has been redirected to this machine could reach the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The hosts with their ports, as browsers write them. Links use the first.
    hosts: Vec<String>,
    /// The bare address with its port, for browsers that do not know names below `localhost`. `None` behind a proxy.
    address: Option<String>,
    /// Whether a proxy in front of the pages ends TLS. Origins begin with `https` then.
    behind_tls: bool,
}

/// A host for which browsers keep passkeys, in the two forms in which they name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyHost {
    /// The name without a port, which is the identifier of the relying party.
    pub domain: String,
    /// The origin of the pages, with scheme and port.
    pub origin: String,
}

impl Names {
    /// Returns the private name of pages on this machine, without its port.
    pub fn private_domain(seed: &str) -> String {
        format!("almoner-{seed}.localhost")
    }

    /// Returns a secret name on this machine: `almoner-<12 hexadecimal digits>.localhost:PORT`. Cookies ignore ports,
    /// so only a secret name keeps them from programs on other ports of this machine.
    pub fn private(seed: &str, address: SocketAddr) -> Names {
        let hosts = vec![format!("{}:{}", Names::private_domain(seed), address.port())];
        Names { hosts, address: Some(address.to_string()), behind_tls: false }
    }

    /// Returns the names that the user has set, for pages behind a proxy that ends TLS.
    pub fn behind_tls(hosts: Vec<String>) -> Names {
        Names { hosts, address: None, behind_tls: true }
    }

    /// Returns the kind of a host, or `None` for a foreign host.
    pub fn under(&self, host: &str) -> Option<HostKind> {
        let is_it = |own: &String| own.eq_ignore_ascii_case(host);
        if self.hosts.iter().any(is_it) {
            return Some(HostKind::Name);
        }
        self.address.as_ref().is_some_and(is_it).then_some(HostKind::Address)
    }

    /// Returns the origin of pages under this host.
    pub fn origin(&self, host: &str) -> String {
        let scheme = if self.behind_tls { "https" } else { "http" };
        format!("{scheme}://{}", host.to_ascii_lowercase())
    }

    /// Returns the host for which a browser keeps a passkey, if it asks for the pages under this host. Browsers keep none
    /// for an address of numbers.
    pub fn passkey_host(&self, host: &str) -> Option<PasskeyHost> {
        self.under(host).filter(|under| *under == HostKind::Name)?;
        let domain = match host.rsplit_once(':') {
            Some((domain, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => domain,
            _ => host,
        };
        let is_address = domain.starts_with('[') || domain.parse::<IpAddr>().is_ok();
        let domain = domain.to_ascii_lowercase();
        (!is_address).then(|| PasskeyHost { domain, origin: self.origin(host) })
    }

    /// Returns the address of the start page, or `None` if the pages are not served under this kind of host.
    pub fn url(&self, under: HostKind) -> Option<String> {
        let host = match under {
            HostKind::Name => self.hosts.first(),
            HostKind::Address => self.address.as_ref(),
        };
        host.map(|host| self.origin(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_are_for_names_and_not_for_addresses() {
        let private = Names::private("0123456789ab", "127.0.0.1:7000".parse().unwrap());
        let hosts =
            ["almoner.example", "almoner.example:8443", "192.0.2.7", "192.0.2.7:8443", "[2001:db8::7]:8443"];
        let proxied = Names::behind_tls(hosts.map(str::to_owned).to_vec());
        for (names, host, expected) in [
            (
                &private,
                "Almoner-0123456789ab.localhost:7000",
                Some(("almoner-0123456789ab.localhost", "http://almoner-0123456789ab.localhost:7000")),
            ),
            (&private, "127.0.0.1:7000", None),
            (&private, "almoner-0123456789ab.localhost:7001", None),
            (&private, "localhost:7000", None),
            (&proxied, "almoner.example", Some(("almoner.example", "https://almoner.example"))),
            (&proxied, "almoner.example:8443", Some(("almoner.example", "https://almoner.example:8443"))),
            (&proxied, "192.0.2.7", None),
            (&proxied, "192.0.2.7:8443", None),
            (&proxied, "[2001:db8::7]:8443", None),
        ] {
            let expected =
                expected.map(|(domain, origin)| PasskeyHost { domain: domain.into(), origin: origin.into() });
            assert_eq!(names.passkey_host(host), expected, "{host}");
        }
    }
}
