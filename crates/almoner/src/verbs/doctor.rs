//! `almoner doctor`.

use clap::ValueEnum as _;
use passable::visible_line;
use serde_json::json;

use crate::cli::maintenance::{DoctorArgs, InstallationPart};
use crate::client::Client;
use crate::ui::output;
use config::network_source::NetworkSource;
use config::place::Place;
use config::vendor_keys;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::health_check::HealthCheck;
use control::protocol::{Request, Response};

/// Runs `almoner doctor` for all parts, or for the named ones.
///
/// # Errors
/// When the report cannot be printed. A fault of the installation is no error, but a line of the report.
pub fn doctor(place: &Place, args: &DoctorArgs) -> ExitResult {
    let wanted: Vec<InstallationPart> = InstallationPart::ALL
        .into_iter()
        .filter(|part| args.parts.is_empty() || args.parts.contains(part))
        .collect();
    let mut client = Client::connect(place);
    let mut checks: Vec<HealthCheck> = Vec::new();
    for part in wanted {
        checks.extend(examine(place, &mut client, part)?);
    }
    let ok = !checks.iter().any(HealthCheck::has_failed);
    if args.json.json {
        output::json(&json!({ "version": 1, "ok": ok, "checks": checks }))?;
    } else {
        output::listing(&render(&checks))?;
    }
    Ok(if ok { Exit::Ok } else { Exit::Failure })
}

/// Returns the checks as text, with one mark each: passed, failed, or not tried.
fn render(checks: &[HealthCheck]) -> String {
    let mut text = String::new();
    for check in checks {
        let mark = match (check.ok, check.untried) {
            (true, _) => '✓',
            (false, true) => '–',
            (false, false) => '✗',
        };
        text += &format!("{mark} {:<14} {}\n", check.id, visible_line(&check.evidence));
        if check.has_failed() && !check.remedy.is_empty() {
            text += &format!("    → {}\n", visible_line(&check.remedy));
        }
    }
    text
}

/// Asks the daemon to examine a part of the installation. If no daemon can be reached, this process examines the
/// part.
fn examine(
    place: &Place,
    client: &mut Result<Client, Failure>,
    part: InstallationPart,
) -> Result<Vec<HealthCheck>, Failure> {
    let name = name(part);
    let client = match client {
        Ok(client) => client,
        Err(failure) if part == InstallationPart::Daemon => return Ok(vec![failed(failure)]),
        Err(_) => return daemon::examine_without_daemon(place, &vendor_keys::from_env(), &name),
    };
    let mut found = match client.ask(Request::Examine { part: name }) {
        Ok(Response::Examined(found)) => found,
        Ok(other) => return Err(unexpected(&other)),
        Err(failure) => return Ok(vec![failed(&failure)]),
    };
    if part == InstallationPart::Daemon && client.build != config::build::id() {
        for one in found.iter_mut().filter(|one| one.id == "daemon") {
            one.ok = false;
            one.remedy = "`almoner stop`: the next command starts the new one".to_owned();
        }
    }
    if part == InstallationPart::Network {
        found.extend(network_difference(place, &found));
    }
    Ok(found)
}

/// Returns the fault that the daemon was started in an environment with another way to other machines.
fn network_difference(place: &Place, daemons: &[HealthCheck]) -> Option<HealthCheck> {
    let own = NetworkSource::new(place).current().description();
    let is_same = own.iter().map(|(_, line)| line).eq(daemons.iter().map(|check| &check.evidence));
    let check = |evidence: String, remedy: &str| HealthCheck::new("network", false, evidence, remedy);
    if is_same {
        return None;
    }
    // The daemon goes on with what it read last, which is no other environment.
    if let Some((_, fault)) = own.iter().find(|(is_good, _)| !is_good) {
        let remedy = "correct the variable, or `[network]` in `config.toml` (docs/settings.md)";
        return Some(check(format!("here: {fault} (the daemon still uses what it read before)"), remedy));
    }
    let own: Vec<String> = own.into_iter().map(|(_, line)| line).collect();
    Some(check(
        format!(
            "the daemon was started in another environment than this command, which has {}",
            own.join("; ")
        ),
        "`almoner stop`: the next command starts the daemon in its own environment",
    ))
}

/// Returns the name of a part in requests.
fn name(part: InstallationPart) -> String {
    part.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn failed(failure: &Failure) -> HealthCheck {
    HealthCheck::new("daemon", false, failure.message.visible_line(), failure.help.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_of_a_check_has_a_mark_of_its_own() {
        let checks = [
            HealthCheck::new("disk", true, "900 MiB free", "make room"),
            HealthCheck::new("disk", false, "9 MiB free", "make room"),
            HealthCheck::untried("sandbox/debug", "not tried"),
        ];
        insta::assert_snapshot!(render(&checks), @r"
        ✓ disk           900 MiB free
        ✗ disk           9 MiB free
            → make room
        – sandbox/debug  not tried
        ");
        let json: Vec<_> = checks.iter().map(|check| serde_json::to_value(check).unwrap()).collect();
        assert_eq!((&json[0]["ok"], &json[0]["untried"]), (&json!(true), &json!(null)));
        assert_eq!((&json[2]["ok"], &json[2]["untried"]), (&json!(false), &json!(true)));
    }

    #[test]
    fn parts_of_the_command_line_are_those_of_the_pages() {
        let own: Vec<String> = InstallationPart::ALL.into_iter().map(name).collect();
        let theirs: Vec<&str> = control::health_check::PARTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(own.len(), theirs.len());
        assert!(own.iter().all(|name| theirs.contains(&name.as_str())), "{own:?} {theirs:?}");
    }
}
