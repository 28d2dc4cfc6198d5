//! The `[network]` section of `config.toml`: the proxy, the servers without one, and private authorities.

use std::path::PathBuf;

use network::NetworkSettings;
use toml::Spanned;
use toml::de::DeValue;

use super::read::{SettingsError, Text, table};

const KEYS: &[&str] = &["proxy", "no_proxy", "ca_file", "proxy_resolves"];

pub(super) fn read(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<NetworkSettings, SettingsError> {
    let mut settings = NetworkSettings::default();
    for (key, value) in table(text, value, "network")? {
        let at = value.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("proxy", DeValue::String(proxy)) => settings.proxy = Some(proxy.to_string()),
            ("no_proxy", DeValue::String(list)) => settings.no_proxy = Some(list.to_string()),
            ("ca_file", DeValue::String(path)) => {
                let path = PathBuf::from(path.as_ref());
                if !path.is_absolute() {
                    let what = "`ca_file` is a path from the root";
                    return Err(text.trouble(at, what, "ca_file = \"/etc/ssl/company.pem\""));
                }
                settings.ca_file = Some(path);
            }
            ("proxy_resolves", DeValue::Boolean(yes)) => settings.proxy_resolves = *yes,
            ("proxy", _) => {
                let help = "proxy = \"http://proxy.example:3128\"; \"\" means none";
                return Err(text.trouble(at, "`proxy` is the address of a proxy", help));
            }
            ("no_proxy", _) => {
                let help = "no_proxy = \"intranet.example, 10.0.0.0/8\"";
                return Err(text.trouble(at, "`no_proxy` is a text with commas", help));
            }
            ("ca_file", _) => {
                let help = "ca_file = \"/etc/ssl/company.pem\"";
                return Err(text.trouble(at, "`ca_file` is the path of a file", help));
            }
            ("proxy_resolves", _) => {
                return Err(text.trouble(
                    at,
                    "`proxy_resolves` is `true` or `false`",
                    "proxy_resolves = true",
                ));
            }
            (other, _) => return Err(text.unknown(key.span().start, "key", other, KEYS)),
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use crate::settings::read::parse;

    #[test]
    fn network_section_is_read_strictly() {
        let good = "[network]\nproxy = 'http://p:1'\nno_proxy = 'a.example'\nca_file = '/ca.pem'\nproxy_resolves = true";
        let settings = parse(good).unwrap().network;
        assert_eq!(settings.proxy.as_deref(), Some("http://p:1"));
        assert_eq!(settings.ca_file.as_deref(), Some(std::path::Path::new("/ca.pem")));
        assert!(settings.proxy_resolves && settings.no_proxy.as_deref() == Some("a.example"));
        for (text, what) in [
            ("[network]\nproxy = 3", "`proxy` is the address"),
            ("[network]\nno_proxy = ['a']", "text with commas"),
            ("[network]\nca_file = 'ca.pem'", "from the root"),
            ("[network]\nproxy_resolves = 'yes'", "`true` or `false`"),
            ("[network]\nprxy = ''", "unknown key `prxy`"),
        ] {
            let trouble = parse(text).unwrap_err();
            assert_eq!(trouble.line, Some(2), "{text}");
            assert!(trouble.what.contains(what), "{trouble:?}");
        }
    }
}
