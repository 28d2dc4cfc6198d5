//! The servers that are reached without a proxy.

use std::net::IpAddr;

use ipnet::IpNet;

/// The rules of `NO_PROXY`. This machine itself is always reached without a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bypass {
    rules: Vec<Rule>,
    /// The entries that name no server, as they were written.
    unreadable: Vec<String>,
}

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// A name, and all names below it.
    Domain(String),
    Net(IpNet),
}

impl Bypass {
    /// Reads a list with commas or blanks between the entries.
    ///
    /// As with other programs, `example.com`, `.example.com` and `*.example.com` all mean the name and the names below
    /// it. An entry can be an address, a network such as `10.0.0.0/8`, or `*`, and can end in a port.
    pub(crate) fn parse(text: &str) -> Bypass {
        let entries = text.split(|c: char| c == ',' || c == ';' || c.is_whitespace());
        let (mut rules, mut unreadable) = (Vec::new(), Vec::new());
        for entry in entries.filter(|entry| !entry.is_empty()) {
            match rule(entry) {
                Some(rule) => rules.push(rule),
                None => unreadable.push(entry.to_owned()),
            }
        }
        Bypass { rules, unreadable }
    }

    /// Returns the entries that name no server.
    pub(crate) fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// Returns whether a server is reached without a proxy. An address in brackets counts like one without.
    pub(crate) fn holds(&self, host: &str, port: u16) -> bool {
        let host = plain(host);
        is_here(&host) || self.rules.iter().any(|rule| rule.holds(&host, port))
    }
}

impl Rule {
    fn holds(&self, host: &str, port: u16) -> bool {
        let is_host = match &self.hosts {
            Hosts::All => true,
            Hosts::Net(net) => host.parse::<IpAddr>().is_ok_and(|ip| net.contains(&ip.to_canonical())),
            Hosts::Domain(name) => {
                host == name || host.strip_suffix(name.as_str()).is_some_and(|before| before.ends_with('.'))
            }
        };
        is_host && self.port.is_none_or(|own| own == port)
    }
}

/// Returns a host in lower case, without brackets and without the dot of the root.
fn plain(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Returns whether a host is this machine. A proxy would look for it on its own machine.
fn is_here(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| {
            let ip = ip.to_canonical();
            ip.is_loopback() || ip.is_unspecified()
        })
}

fn rule(entry: &str) -> Option<Rule> {
    let entry = entry.split_once("://").map_or(entry, |(_, rest)| rest).trim_end_matches('/');
    if entry.is_empty() {
        return None;
    }
    if entry == "*" {
        return Some(Rule { hosts: Hosts::All, port: None });
    }
    if let Some(hosts) = net(entry) {
        return Some(Rule { hosts, port: None });
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (entry, None),
    };
    let hosts = match net(host) {
        Some(hosts) => hosts,
        None if host == "*" => Hosts::All,
        None => {
            let name = plain(host);
            Hosts::Domain(name.trim_start_matches('*').trim_start_matches('.').to_owned())
        }
    };
    // An empty name would stand for every server.
    (hosts != Hosts::Domain(String::new())).then_some(Rule { hosts, port })
}

/// Returns the network that an address, or an address with the length of its prefix, stands for.
fn net(text: &str) -> Option<Hosts> {
    let text = plain(text);
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(Hosts::Net(IpNet::from(ip.to_canonical())));
    }
    text.parse::<IpNet>().ok().map(Hosts::Net)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users report that programs treat these notations differently (gajus/global-agent#14, Rob--W/proxy-from-env#29,
    /// curl/curl#1208, DataDog/integrations-core#7767).
    #[test]
    fn no_proxy_lists_are_read_in_every_usual_notation() {
        #[track_caller]
        fn check(list: &str, host: &str, port: u16, expected: bool) {
            assert_eq!(Bypass::parse(list).holds(host, port), expected, "{list:?} {host}:{port}");
        }
        assert_eq!(
            Bypass::parse("a.example, b:port, https://,*.").unreadable(),
            ["b:port", "https://", "*."]
        );
        check("", "example.com", 443, false);
        check("example.com", "example.com", 443, true);
        check("example.com", "API.Example.com.", 443, true);
        check("example.com", "badexample.com", 443, false);
        check(".example.com", "a.example.com", 443, true);
        check("*.example.com", "a.b.example.com", 443, true);
        check("a.example, b.example", "b.example", 443, true);
        check("a.example b.example", "b.example", 443, true);
        check("a.example;b.example", "b.example", 443, true);
        check("*", "anything.example", 443, true);
        check(",", "example.com", 443, false);
        check(".", "example.com", 443, false);
        check("example.com:8000", "example.com", 8000, true);
        check("example.com:8000", "example.com", 443, false);
        check("http://gpu-box:8000/", "gpu-box", 8000, true);
        check("10.0.0.0/8,192.168.1.7", "10.9.8.7", 443, true);
        check("10.0.0.0/8,192.168.1.7", "192.168.1.7", 443, true);
        check("10.0.0.0/8,192.168.1.7", "192.168.1.8", 443, false);
        check("10.0.0.0/8", "::ffff:10.1.1.1", 443, true);
        check("fd00::/8", "[fd00::1]", 443, true);
        check("[fd00::1]:8080", "fd00::1", 8080, true);
        check("fd00::1", "fd00::2", 443, false);
        check("10.0.0.0/8", "ten.example", 443, false);
    }

    /// A proxy cannot reach the Ollama of this machine (NVIDIA/NemoClaw#2616, cline/cline#2255).
    #[test]
    fn this_machine_is_reached_without_a_proxy() {
        for host in
            ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1", "0.0.0.0"]
        {
            assert!(Bypass::default().holds(host, 11434), "{host}");
        }
        assert!(!Bypass::default().holds("localhost.example", 80));
    }
}
