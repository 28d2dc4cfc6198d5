//! The authority that the configuration of a backup gives: programs that it starts, servers that learn something, policies.
//!
//! A backup bears no signature, so a person sees each server, each such setting and each policy before it counts.

use crate::state::policies::row;
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
    /// The policies, each with what it does, and their number.
    pub policies: Vec<String>,
}

impl RestoredAuthority {
    /// Reads a configuration as it will be in force. A file that cannot be read is named with the reason.
    pub(super) fn read(staged: &Place) -> RestoredAuthority {
        let unread = |name: &str, reason: &str| {
            let reason = reason.replace(&*staged.config.to_string_lossy(), "the backup's configuration");
            vec![format!("{name} gives nothing yet: {reason}")]
        };
        let tool_servers = match mcp_file::read(&staged.config) {
            Ok(found) => found
                .servers
                .iter()
                .map(|(name, server)| format!("“{name}”  {}", server.describe()))
                .collect(),
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
                let all = policies.policies().into_iter();
                let rows = all.map(row);
                let lines = rows.map(|policy| format!("{:<8} “{}”", policy.verb(), policy.name));
                lines.chain([policy_file::counted(policies.policies().len(), policies.examples())]).collect()
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
        let read = || RestoredAuthority::read(&place);
        assert_eq!(read(), RestoredAuthority::default());
        let write = |name: &str, text: &str| std::fs::write(place.config.join(name), text).unwrap();
        write(
            "config.toml",
            "[network]\nproxy = 'http://p:1'\nno_proxy = 'h'\nca_file = '/ca.pem'\n\
             [notify]\ncommand = ['/bin/tell', 'x']\n\
             [models]\ndefault = 'openai:a'\nprivate = ['openai:b']\n[models.names]\nfast = 'openai:c'\n\
             [web]\nbind = '127.0.0.1:1'\ntls_terminated_by_proxy = true\nhosts = ['h.example']\n",
        );
        write("mcp.json", r#"{"servers": {"e": {"command": "/bin/sh", "args": ["-c", "id"], "net": true}}}"#);
        write("policy.cedar", "@id(\"a\") forbid (principal, action, resource);");
        let found = read();
        assert_eq!(found.tool_servers, ["“e”  /bin/sh -c id; with network"]);
        assert_eq!(
            found.settings,
            [
                "starts for each notification: /bin/tell x",
                "all traffic goes through the proxy: http://p:1",
                "no proxy for: h",
                "certificates are trusted that this file signs: /ca.pem",
                "the usual model: openai:a",
                "the model that you call fast: openai:c",
                "may read private data: openai:b",
                "the pages are served at: 127.0.0.1:1",
                "the pages are served as: h.example",
            ]
        );
        assert_eq!(found.policies, ["forbids  “a”", "1 policy, 0 examples"]);
        write("mcp.json", "[");
        let unread = read().tool_servers.remove(0);
        assert!(unread.starts_with("mcp.json gives nothing yet: cannot "), "{unread}");
        assert!(!unread.contains(&*place.config.to_string_lossy()), "{unread}");
    }
}
