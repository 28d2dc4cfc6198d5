//! The parser of the section `[web]`: the address and the host names of the web pages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use toml::Spanned;
use toml::de::DeValue;

use super::Web;
use super::read::{SettingsError, Text, table};

const KEYS: &[&str] = &["port", "bind", "hosts", "tls_terminated_by_proxy"];

/// Reads the section. Refuses an address that other machines can reach, unless the pages are behind TLS.
pub(super) fn read(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Web, SettingsError> {
    let (mut web, mut behind_tls, mut port) = (Web::default(), false, None);
    let at = value.span().start;
    for (key, value) in table(text, value, "web")? {
        let here = value.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("port", DeValue::Integer(number)) => {
                let read = number.as_str().parse::<u16>().ok().filter(|port| *port > 0);
                port = Some(read.ok_or_else(|| text.trouble(here, "a port is 1 to 65535", "port = 7070"))?);
            }
            ("bind", DeValue::String(address)) => {
                let help = "bind = \"127.0.0.1:7070\"";
                let read = address.parse::<SocketAddr>().ok().filter(|address| address.port() > 0);
                web.bind =
                    Some(read.ok_or_else(|| text.trouble(here, "this is no address with a port", help))?);
            }
            ("hosts", DeValue::Array(hosts)) => {
                for host in hosts.iter() {
                    match host.get_ref() {
                        DeValue::String(name) if is_host(name) => web.hosts.push(name.to_ascii_lowercase()),
                        _ => {
                            let help = "hosts = [\"almoner.example.org\"]";
                            return Err(text.trouble(
                                host.span().start,
                                "a host is a name, with a port if it has one",
                                help,
                            ));
                        }
                    }
                }
            }
            ("tls_terminated_by_proxy", DeValue::Boolean(yes)) => behind_tls = *yes,
            (known, _) if KEYS.contains(&known) => {
                let help = "docs/settings.md has an example";
                return Err(text.trouble(here, format!("`{known}` is of another kind"), help));
            }
            (other, _) => return Err(text.unknown(key.span().start, "key", other, KEYS)),
        }
    }
    if let Some(port) = port {
        if web.bind.is_some() {
            return Err(text.trouble(at, "`bind` has the port already", "leave `port` out"));
        }
        web.bind = Some(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let is_other = |ip: IpAddr| ip.is_loopback() && ip != Ipv4Addr::LOCALHOST && ip != Ipv6Addr::LOCALHOST;
    if web.hosts.is_empty() && web.bind.is_some_and(|address| is_other(address.ip())) {
        let what = "browsers look for these pages at 127.0.0.1 and ::1 alone";
        return Err(text.trouble(at, what, "bind = \"127.0.0.1:7070\""));
    }
    let reaches_out = web.bind.is_some_and(|address| !address.ip().is_loopback());
    let is_named = !web.hosts.is_empty();
    let is_public = reaches_out || is_named;
    let is_safe = behind_tls && is_named;
    if is_public && !is_safe {
        let what = "pages that others can reach are served behind TLS, under names that are said";
        let help =
            "set `hosts`, put a proxy that ends TLS before it, and say `tls_terminated_by_proxy = true`";
        return Err(text.trouble(at, what, help));
    }
    Ok(web)
}

fn is_host(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']');
    !name.is_empty() && name.len() <= 253 && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::super::read::parse;

    #[test]
    fn address_reachable_by_others_needs_tls_and_host_names() {
        for (section, expected) in [
            ("port = 7070", Ok(("127.0.0.1:7070", 0))),
            ("bind = \"[::1]:7070\"", Ok(("[::1]:7070", 0))),
            (
                "bind = \"0.0.0.0:80\"\nhosts = [\"a.example\"]\ntls_terminated_by_proxy = true",
                Ok(("0.0.0.0:80", 1)),
            ),
            ("bind = \"0.0.0.0:80\"", Err("behind TLS")),
            ("bind = \"0.0.0.0:80\"\nhosts = [\"a.example\"]", Err("behind TLS")),
            ("bind = \"0.0.0.0:80\"\ntls_terminated_by_proxy = true", Err("behind TLS")),
            ("hosts = [\"a.example\"]", Err("behind TLS")),
            ("hosts = [\"a b\"]", Err("a host is a name")),
            ("port = 0", Err("1 to 65535")),
            ("bind = \"7070\"", Err("no address")),
            ("bind = \"127.0.0.1:0\"", Err("no address")),
            // Browsers look for the pages only at 127.0.0.1 and ::1.
            ("bind = \"127.0.0.2:7070\"", Err("127.0.0.1 and ::1 alone")),
            ("bind = \"[::ffff:127.0.0.1]:7070\"", Err("behind TLS")),
            (
                "bind = \"127.0.0.2:80\"\nhosts = [\"a.example\"]\ntls_terminated_by_proxy = true",
                Ok(("127.0.0.2:80", 1)),
            ),
            ("port = 1\nbind = \"127.0.0.1:7070\"", Err("already")),
            ("prot = 1", Err("unknown key")),
        ] {
            let read = parse(&format!("[web]\n{section}\n")).map(|settings| settings.web.unwrap_or_default());
            match (read, expected) {
                (Ok(web), Ok((address, hosts))) => {
                    assert_eq!(
                        (web.bind.map(|bind| bind.to_string()).as_deref(), web.hosts.len()),
                        (Some(address), hosts),
                        "{section}"
                    );
                }
                (Err(trouble), Err(words)) => {
                    assert!(trouble.what.contains(words), "{section}: {}", trouble.what)
                }
                (read, _) => panic!("{section}: {read:?}"),
            }
        }
    }
}
