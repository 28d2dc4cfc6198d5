//! The names under which the pages are served.

use std::net::SocketAddr;

use super::sessions::HostKind;

/// The one name, or the few, under which browsers may ask. Everything else is answered with 421, so that a page of
/// somebody else whose name has come to mean this machine reaches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Host and port as browsers write them, the first of them the one that links name.
    hosts: Vec<String>,
    /// The bare address with its port, for browsers that do not know names below `localhost`; none behind a proxy.
    address: Option<String>,
    /// Whether a proxy before us ends TLS: origins begin with `https` then.
    behind_tls: bool,
}

impl Names {
    /// Returns a private name on this machine: `almoner-<12 hexadecimal digits>.localhost:PORT`. Cookies ignore
    /// ports, so a secret name keeps them from every other program on a port of this machine.
    pub fn private(seed: &str, address: SocketAddr) -> Names {
        let hosts = vec![format!("almoner-{seed}.localhost:{}", address.port())];
        Names { hosts, address: Some(address.to_string()), behind_tls: false }
    }

    /// Names that the user has set, behind a proxy that ends TLS.
    pub fn behind_tls(hosts: Vec<String>) -> Names {
        Names { hosts, address: None, behind_tls: true }
    }

    /// Returns the kind of a host, or `None` if it is not ours.
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

    /// Returns where the pages begin; none if they are not served under this.
    pub fn url(&self, under: HostKind) -> Option<String> {
        let host = match under {
            HostKind::Name => self.hosts.first(),
            HostKind::Address => self.address.as_ref(),
        };
        host.map(|host| self.origin(host))
    }
}
