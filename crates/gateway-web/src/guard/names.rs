//! The host names under which the pages are served.

use std::net::SocketAddr;

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

impl Names {
    /// Returns a secret name on this machine: `almoner-<12 hexadecimal digits>.localhost:PORT`. Cookies ignore ports,
    /// so only a secret name keeps them from programs on other ports of this machine.
    pub fn private(seed: &str, address: SocketAddr) -> Names {
        let hosts = vec![format!("almoner-{seed}.localhost:{}", address.port())];
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

    /// Returns the address of the start page, or `None` if the pages are not served under this kind of host.
    pub fn url(&self, under: HostKind) -> Option<String> {
        let host = match under {
            HostKind::Name => self.hosts.first(),
            HostKind::Address => self.address.as_ref(),
        };
        host.map(|host| self.origin(host))
    }
}
