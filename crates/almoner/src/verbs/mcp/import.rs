//! `almoner mcp import`: takes servers over from the settings of other agents, and installs their packages once.

use std::collections::BTreeMap;

use passable::visible_line;

use super::entry::{self, Candidate};
use super::install::Installation;
use super::package::PackageSpec;
use super::placeholders::Placeholders;
use super::settings_file::{self, SettingsFile};
use crate::cli::mcp::ImportArgs;
use crate::ui::output;
use crate::ui::prompt::{self, PromptInput};
use config::managed;
use config::mcp_file::{self, Server};
use config::place::Place;
use control::exit::{Exit, ExitResult, Failure};
use passable::shell_word;

/// The user's consent to installations.
pub struct Consent<'a> {
    /// The digests of locks to which the user has said yes beforehand.
    pub yes: &'a [String],
    /// The command that says so, without `--yes`. `None` stands for the command that was typed.
    pub again: Option<&'a str>,
}

/// Runs `almoner mcp import`.
///
/// # Errors
/// When a named file cannot be read, or the servers cannot be written down.
pub fn import(place: &Place, args: &ImportArgs) -> ExitResult {
    managed::rules()?.expect_own_servers()?;
    let given = given(&args.set)?;
    let mut all = mcp_file::read(&place.config)?;
    let (mut taken, mut waiting) = (0, 0);
    for file in settings_file::find(&args.files)? {
        let shown = file.path.display().to_string();
        for (name, candidate) in candidates(&file, &given) {
            let from = format!("{} ({})", visible_line(&name), visible_line(&shown));
            let candidate = match candidate {
                Ok(candidate) => candidate,
                Err(why) => {
                    output::listing(&format!("✗ {from}: {}\n", visible_line(&why)))?;
                    continue;
                }
            };
            if all.servers.contains_key(&candidate.name) {
                let same = visible_line(&candidate.name).into_owned();
                output::listing(&format!(
                    "✗ {from}: there is one of this name already: `almoner mcp remove {same}`\n"
                ))?;
                continue;
            }
            let server = match (&candidate.package, args.dry_run) {
                (None, _) => candidate.server,
                (Some(spec), true) => {
                    taken += 1;
                    let what = std::iter::once(spec.requirement()).chain(spec.extra.iter().cloned());
                    let what = what.collect::<Vec<_>>().join(" and ");
                    let what = visible_line(&what).into_owned();
                    let registry = spec.registry.as_str();
                    output::listing(&format!(
                        "✓ {from}: {what} from {registry}, to be installed once, after a yes\n"
                    ))?;
                    notes(&candidate.notes)?;
                    continue;
                }
                (Some(spec), false) => {
                    let again = format!("almoner mcp import {}", shell_word(&shown));
                    let mut consent = Consent { yes: &args.yes, again: Some(&again) };
                    match install(place, &candidate.name, spec, candidate.server, &mut consent) {
                        Ok(Ok(server)) => server,
                        Ok(Err(refused)) => {
                            waiting += usize::from(refused.exit == Exit::NeedsYou);
                            output::listing(&format!("✗ {from}: {}\n", refused.message.visible_line()))?;
                            continue;
                        }
                        // A package that cannot be had costs only its own server.
                        Err(failure) => {
                            output::listing(&format!("✗ {from}: {}\n", failure.message.visible_line()))?;
                            continue;
                        }
                    }
                }
            };
            output::listing(&format!("✓ {from}: {}\n", visible_line(&server.describe())))?;
            notes(&candidate.notes)?;
            all.servers.insert(candidate.name, server);
            taken += 1;
            if !args.dry_run {
                // The installed packages are recorded at once, so that nothing of them is lost.
                mcp_file::write(&place.config, &all)?;
            }
        }
    }
    output::note(match (taken, args.dry_run) {
        (0, _) => "nothing was taken over",
        (_, true) => "nothing was changed: this is what would be taken over",
        _ => "nothing was started or handed over; `almoner mcp tools NAME` shows what a server has",
    });
    Ok(if waiting > 0 { Exit::NeedsYou } else { Exit::Ok })
}

/// Returns the servers of a settings file, each with the name that it has there.
fn candidates(
    file: &SettingsFile,
    given: &BTreeMap<String, String>,
) -> Vec<(String, Result<Candidate, String>)> {
    let variable = |name: &str| std::env::var(name).ok();
    let places = Placeholders {
        folder: file.folder(),
        home: std::env::var_os("HOME").map(Into::into),
        given,
        variable: &variable,
    };
    let shown = shell_word(&file.path.display().to_string());
    let read = |entry: &settings_file::Entry| (entry.name.clone(), entry::candidate(entry, &places, &shown));
    file.entries.iter().map(read).collect()
}

fn given(set: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    set.iter()
        .map(|text| {
            pair(text).ok_or_else(|| {
                Failure::new(Exit::Usage, format!("--set {}: there is no `=`", visible_line(text)))
                    .help("write NAME=VALUE")
            })
        })
        .collect()
}

fn notes(notes: &[String]) -> Result<(), Failure> {
    notes.iter().try_for_each(|note| output::listing(&format!("    {}\n", visible_line(note))))
}

/// Installs the package of a server, after a yes. The inner result is the refusal if there is no yes.
///
/// # Errors
/// When the package cannot be resolved or installed.
pub fn install(
    place: &Place,
    name: &str,
    spec: &PackageSpec,
    server: Server,
    consent: &mut Consent<'_>,
) -> Result<Result<Server, Failure>, Failure> {
    managed::rules()?.expect_registry_tool(spec.registry.as_str())?;
    output::progress(&format!("asking {} for {}", spec.registry.as_str(), visible_line(&spec.requirement())));
    let installation = Installation::resolve(spec, &place.tool_servers().join(name))?;
    let digest = installation.lock.to_string();
    let text = format!("{name}: install {}", installation.describe());
    if !consent.yes.contains(&digest) {
        if !output::can_ask() {
            output::report(&text);
            let what = match consent.again {
                Some(command) => format!("it needs your yes: `{command} --yes {digest}`"),
                None => format!("it needs your yes: put `--yes {digest}` before the `--`"),
            };
            return Ok(Err(
                Failure::new(Exit::NeedsYou, what).help("the digest is that of the lock that was shown")
            ));
        }
        output::report(&text);
        match prompt::line("install it? [y/N] ", &[])? {
            PromptInput::Line(line) if ["y", "yes"].contains(&line.to_lowercase().as_str()) => {}
            _ => {
                return Ok(Err(Failure::new(
                    Exit::Denied,
                    "cannot install the package: you did not say yes",
                )
                .help("nothing was installed")));
            }
        }
    }
    installation.install(server).map(Ok)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value as Json;

    use super::*;

    /// The shapes of public configurations. `shape` is the content of the file, with values of our own.
    const CONFIGURATIONS: &str = include_str!("../../../tests/mcp/configurations.json");

    /// Returns the outcome of each server of a file, in short.
    fn outcomes(file: &str, text: &str) -> Vec<String> {
        let path = PathBuf::from("/project").join(file);
        let entries = match settings_file::read(text, &path) {
            Ok(entries) => entries,
            Err(why) => return vec![format!("no: {why}")],
        };
        let file = SettingsFile { path, entries };
        let given = BTreeMap::new();
        let short = |(_, candidate): (String, Result<Candidate, String>)| match candidate {
            Err(why) => format!("no: {why}"),
            Ok(candidate) => match (&candidate.package, &candidate.server.url) {
                (Some(spec), _) => format!("{} {}", spec.registry.as_str(), spec.requirement()),
                (None, Some(url)) => format!("web {url}"),
                (None, None) => "program".to_owned(),
            },
        };
        candidates(&file, &given).into_iter().map(short).collect()
    }

    #[test]
    fn public_configurations_are_imported_or_say_why() {
        let rows: Json = serde_json::from_str(CONFIGURATIONS).unwrap();
        let rows = rows.as_array().unwrap();
        assert!(rows.len() >= 50, "{}", rows.len());
        let mut imported = 0;
        for row in rows {
            let text = row["shape"].as_str().map_or_else(|| row["shape"].to_string(), str::to_owned);
            let found = outcomes(row["file"].as_str().unwrap(), &text);
            let expected: Vec<&str> =
                row["found"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
            assert_eq!(found.len(), expected.len(), "{}: {found:?}", row["source"]);
            let mut left = found.clone();
            for expected in expected {
                let matches = |found: &String| match expected.strip_prefix("no: ") {
                    Some(why) => found.strip_prefix("no: ").is_some_and(|found| found.contains(why)),
                    None => found == expected,
                };
                let at = left.iter().position(matches);
                let at = at.unwrap_or_else(|| panic!("{}: {expected:?} is not in {left:?}", row["source"]));
                left.remove(at);
            }
            imported += usize::from(found.iter().any(|found| !found.starts_with("no: ")));
        }
        assert!(imported >= 40, "{imported} of {}", rows.len());
        assert!(!CONFIGURATIONS.contains("eyJ"), "values are our own");
    }
}
