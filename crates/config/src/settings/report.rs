//! The settings that are in force, each with its origin, for a page.

use control::settings_report::{SettingOrigin, SettingRow, SettingsReport};
use passable::Untrusted;

use super::{Settings, path, read};
use crate::managed;
use crate::model_choice::{KnownModels, VARIABLE};
use crate::place::Place;
use crate::vendor_keys;

/// The names of the sections, as in the file.
const MODELS: &str = "models";
const NOTIFY: &str = "notify";
const WEB: &str = "web";
const NETWORK: &str = "network";
const MCP: &str = "mcp";

/// Returns the settings that are in force. No row holds a secret.
pub fn report(place: &Place) -> SettingsReport {
    let file = path(place);
    let (settings, failure) = match read(&file) {
        Ok(settings) => (settings, None),
        Err(failure) => (Settings::default(), Some(failure)),
    };
    let managed = match managed::current() {
        Ok(rules) if rules.is_managed() => rules.description(),
        Ok(_) => vec![],
        Err(fault) => vec![fault.to_string()],
    };
    SettingsReport {
        path: file.display().to_string(),
        is_there: file.exists(),
        rows: rows(place, &settings),
        default_model: settings.models.default.clone(),
        managed: managed.into_iter().map(Untrusted::new).collect(),
        failure,
    }
}

fn rows(place: &Place, settings: &Settings) -> Vec<SettingRow> {
    let row = |section, key: &str, value: Option<String>, otherwise: &str| {
        let origin = if value.is_some() { SettingOrigin::File } else { SettingOrigin::BuiltIn };
        SettingRow {
            section,
            key: key.to_owned(),
            value: value.unwrap_or_else(|| otherwise.to_owned()),
            origin,
        }
    };
    let (models, network) = (&settings.models, &settings.network);
    let listed = |all: Vec<String>| (!all.is_empty()).then(|| all.join(", "));
    let web = settings.web.as_ref();
    let mut all = vec![
        default_model(place, settings),
        row(
            MODELS,
            "names",
            listed(models.names.iter().map(|(name, is)| format!("{name} = {is}")).collect()),
            "none",
        ),
        row(MODELS, "private", listed(models.private.iter().cloned().collect()), "local models"),
        row(MODELS, "prices", listed(models.prices.keys().cloned().collect()), "built in"),
        row(MODELS, "limits", listed(models.limits.keys().cloned().collect()), "built in"),
        // The arguments of a program may hold a secret.
        row(
            NOTIFY,
            "command",
            settings.notify.as_ref().and_then(|notify| notify.command.first().cloned()),
            "none: only these pages and the terminal tell that something waits",
        ),
        row(
            WEB,
            "bind",
            web.and_then(|web| web.bind).map(|bind| bind.to_string()),
            "a free port of this machine",
        ),
        row(WEB, "hosts", web.and_then(|web| listed(web.hosts.clone())), "the private name of these pages"),
    ];
    all.push(row(NETWORK, "proxy", network.proxy.as_deref().map(without_login), "by the environment"));
    all.push(row(NETWORK, "no_proxy", network.no_proxy.clone(), "by the environment"));
    let authorities = network.ca_file.as_ref().map(|file| file.display().to_string());
    all.push(row(NETWORK, "ca_file", authorities, "by the environment"));
    let start = settings.mcp.start_ms.map(|ms| format!("{} s", ms / 1_000));
    all.push(row(MCP, "start", start, "built in"));
    all
}

/// Returns the model for runs that name none, as the daemon chooses it.
fn default_model(place: &Place, settings: &Settings) -> SettingRow {
    let variables = vendor_keys::from_env();
    let known = KnownModels::new(place, &variables);
    let (value, origin) = match (known.in_environment(), &settings.models.default) {
        (Some(model), _) => (model, SettingOrigin::Environment(VARIABLE)),
        (None, Some(model)) => (model.clone(), SettingOrigin::File),
        (None, None) => (known.list().used_because, SettingOrigin::BuiltIn),
    };
    SettingRow { section: MODELS, key: "default".to_owned(), value, origin }
}

/// Returns an address without the name and the password in it.
fn without_login(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_report_shows_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::under(dir.path());
        std::fs::create_dir_all(&place.config).unwrap();
        let text = "[notify]\ncommand = [\"tell\", \"--token=hush\"]\n[network]\nproxy = \"http://me:hush@proxy:3128\"\n\
                    [models]\ndefault = \"fast\"\n[models.names]\nfast = \"scripted:/s.json\"\n";
        std::fs::write(path(&place), text).unwrap();
        let report = report(&place);
        assert_eq!((report.failure.clone(), report.is_there), (None, true));
        let row = |key: &str| report.rows.iter().find(|row| row.key == key).unwrap();
        assert_eq!((row("command").value.as_str(), row("command").origin), ("tell", SettingOrigin::File));
        assert_eq!(row("proxy").value, "http://proxy:3128");
        assert_eq!(row("names").value, "fast = scripted:/s.json");
        assert_eq!(
            (row("bind").origin, report.default_model.as_deref()),
            (SettingOrigin::BuiltIn, Some("scripted:/s.json"))
        );
        assert!(!format!("{report:?}").contains("hush"));
    }

    #[test]
    fn address_loses_its_login() {
        for (address, shown) in [
            ("http://me:hush@proxy:3128", "http://proxy:3128"),
            ("me:a@b@proxy", "proxy"),
            ("http://proxy:3128", "http://proxy:3128"),
            ("", ""),
        ] {
            assert_eq!(without_login(address), shown, "{address}");
        }
    }
}
