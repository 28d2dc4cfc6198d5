//! The names under which the pages are served.

/// The one name, or the few, under which browsers may ask. Everything else is answered with 421, so that a page of
/// somebody else whose name has come to mean this machine reaches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Host and port as browsers write them, the first of them the one that links name.
    hosts: Vec<String>,
    /// Whether a proxy before us ends TLS: origins begin with `https` then.
    behind_tls: bool,
}

impl Names {
    /// A private name on this machine: `almoner-<12 hexadecimal digits>.localhost:PORT`. Cookies do not know ports, so
    /// a name that nobody else can know keeps them from every other program on a port of this machine.
    pub fn private(seed: &str, port: u16) -> Names {
        Names { hosts: vec![format!("almoner-{seed}.localhost:{port}")], behind_tls: false }
    }

    /// Names that the user has set, behind a proxy that ends TLS.
    pub fn behind_tls(hosts: Vec<String>) -> Names {
        Names { hosts, behind_tls: true }
    }

    /// Whether a browser may ask for this host.
    pub fn has(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    /// The origin of pages under this host.
    pub fn origin(&self, host: &str) -> String {
        let scheme = if self.behind_tls { "https" } else { "http" };
        format!("{scheme}://{}", host.to_ascii_lowercase())
    }

    /// Where the pages begin.
    pub fn url(&self) -> String {
        self.origin(self.hosts.first().map_or("", String::as_str))
    }
}
