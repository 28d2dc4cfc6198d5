//! The authority that the configuration of a backup gives: programs that it starts, servers that learn something, policies.
//!
//! A backup bears no signature, so a person sees all of it before it counts.

use config::place::Place;
use config::settings::Settings;
use config::{mcp_file, policy_file, settings};

/// The authority that the configuration of a backup gives, in lines that may hold foreign text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredAuthority {
    /// The servers of tools, each with its name and its program or address.
    pub tool_servers: Vec<String>,
    /// The settings that start a program or choose a server.
    pub settings: Vec<String>,
    /// The policies, counted.
    pub policies: Vec<String>,
}

impl RestoredAuthority {
    /// Reads the configuration of an unpacked home. A file that cannot be read is named with the reason.
    pub(super) fn read(staged: &Place) -> RestoredAuthority {
        let unread = |name: &str, reason: &str| vec![format!("{name} cannot be read: {reason}")];
        let tool_servers = match mcp_file::read(&staged.config) {
            Ok(found) => {
                found.servers.iter().map(|(name, server)| format!("{name}  {}", server.describe())).collect()
            }
            Err(failure) => unread("mcp.json", failure.message.raw()),
        };
        let settings = match settings::read(&settings::path(staged)) {
            Ok(settings) => lines_of(&settings),
            Err(failure) => unread(settings::FILE, failure.message.raw()),
        };
        let path = staged.config.join(policy_file::NAME);
        let policies = match policy_file::load(&path, operator::PolicyOwner::Operator) {
            Ok(None) => vec![],
            Ok(Some((policies, _))) => {
                vec![policy_file::counted(policies.policies().len(), policies.examples())]
            }
            Err(problems) => unread(policy_file::NAME, policy_file::failure(&problems).message.raw()),
        };
        RestoredAuthority { tool_servers, settings, policies }
    }
}

/// Returns the settings that start a program or choose a server.
fn lines_of(settings: &Settings) -> Vec<String> {
    let network = &settings.network;
    let mut lines = Vec::new();
    if let Some(notify) = &settings.notify {
        lines.push(format!("starts for each notification: {}", notify.command.join(" ")));
    }
    lines.extend(network.proxy.as_ref().map(|proxy| format!("all traffic goes through the proxy: {proxy}")));
    lines.extend(network.no_proxy.as_ref().map(|list| format!("no proxy for: {list}")));
    let authority = network.ca_file.as_ref().map(|path| path.display().to_string());
    lines.extend(authority.map(|path| format!("certificates are trusted that this file signs: {path}")));
    lines.extend(settings.models.default.as_ref().map(|model| format!("the usual model: {model}")));
    let names = settings.models.names.iter();
    lines.extend(names.map(|(name, model)| format!("the model that you call {name}: {model}")));
    lines.extend(settings.models.private.iter().map(|model| format!("may read private data: {model}")));
    if let Some(web) = &settings.web {
        lines.extend(web.bind.map(|address| format!("the pages are served at: {address}")));
        lines.extend(web.hosts.iter().map(|host| format!("the pages are served as: {host}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_give_authority_are_named() {
        let home = tempfile::tempdir().unwrap();
        let place = Place::under(home.path());
        std::fs::create_dir_all(&place.config).unwrap();
        assert_eq!(RestoredAuthority::read(&place), RestoredAuthority::default());
        let write = |name: &str, text: &str| std::fs::write(place.config.join(name), text).unwrap();
        write(
            "config.toml",
            "[network]\nproxy = 'http://p:1'\nca_file = '/ca.pem'\n[notify]\ncommand = ['/bin/tell', 'x']\n",
        );
        write("mcp.json", r#"{"servers": {"e": {"command": "/bin/sh", "args": ["-c", "id"], "net": true}}}"#);
        write("policy.cedar", "@id(\"a\") forbid (principal, action, resource);");
        let found = RestoredAuthority::read(&place);
        assert_eq!(found.tool_servers, ["e  /bin/sh -c id; with network"]);
        assert_eq!(
            found.settings,
            [
                "starts for each notification: /bin/tell x",
                "all traffic goes through the proxy: http://p:1",
                "certificates are trusted that this file signs: /ca.pem",
            ]
        );
        assert_eq!(found.policies.len(), 1);
        write("mcp.json", "[");
        assert!(RestoredAuthority::read(&place).tool_servers[0].starts_with("mcp.json cannot be read: "));
    }
}
