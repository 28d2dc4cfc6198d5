//! `almoner setup`: the available models, and the command to type next.

use model::{DetectedModel, Vendor};
use passable::visible_line;
use serde_json::json;

use crate::cli::maintenance::SetupArgs;
use crate::ui::output;
use crate::ui::prompt;
use crate::ui::prompt::PromptInput;
use config::model_choice::{KnownModels, describe};
use config::place::{self, Place};
use config::settings;
use config::vendor_keys;
use config::whole_file;
use control::exit::{Exit, ExitResult, Failure};

/// Runs `almoner setup`.
///
/// # Errors
/// When the settings cannot be written.
pub fn setup(place: &Place, args: &SetupArgs) -> ExitResult {
    let found = KnownModels::new(place, &vendor_keys::from_env()).survey();
    let path = settings::path(place);
    let next = match found.first() {
        Some(_) => "almoner ask \"What is an almoner?\"",
        None => "almoner models pull",
    };
    if args.json.json {
        let all: Vec<_> = found.iter().map(|found| found.reference().to_string()).collect();
        output::json(&json!({
            "version": 1, "found": all, "next": next, "settings": path, "settings_there": path.exists(),
        }))?;
        return Ok(Exit::Ok);
    }
    output::listing(&listing(&found))?;
    let chosen = found.first().map(|found| found.reference().to_string());
    match (&chosen, path.exists()) {
        (Some(_), true) => output::note(&format!("{} is there, and is left as it is", output::path(&path))),
        (Some(model), false) if args.yes || confirm(place, model)? => {
            write(place, model)?;
            output::note(&format!(
                "{} is there; docs/settings.md says what else it may hold",
                output::path(&path)
            ));
        }
        (Some(_) | None, _) => {}
    }
    output::result(&format!("next: {next}"))?;
    Ok(if found.is_empty() { Exit::NeedsYou } else { Exit::Ok })
}

fn listing(found: &[DetectedModel]) -> String {
    let mut text = String::new();
    for found in found {
        text += &format!("✓ {}\n", describe(found));
    }
    let has = |vendor: &Vendor| {
        found.iter().any(
            |found| matches!(found, DetectedModel::Key { variable, .. } if vendor.keys().contains(variable)),
        )
    };
    let own = Vendor::ALL.into_iter().filter(|vendor| *vendor != Vendor::OpenAiResponses);
    for vendor in own.filter(|vendor| !has(vendor)) {
        text += &format!("  no key in {}\n", vendor.keys().join(" or "));
    }
    if !found.iter().any(|found| matches!(found, DetectedModel::Ollama { .. })) {
        text += "  no Ollama and no llama.cpp server on this machine\n";
    }
    if !found.iter().any(|found| matches!(found, DetectedModel::Local { .. })) {
        text +=
            &format!("  no weights here; `almoner models pull` fetches {}\n", model::weights::default().name);
    }
    match found.first() {
        Some(first) => {
            text + &format!("used when none is named: {}\n", visible_line(&first.reference().to_string()))
        }
        None => text + "there is no model yet\n",
    }
}

fn confirm(place: &Place, model: &str) -> Result<bool, Failure> {
    if !output::can_ask() {
        return Ok(false);
    }
    let path = settings::path(place);
    output::note(&format!("{} would say: default = \"{}\"", output::path(&path), visible_line(model)));
    match prompt::line("write it? [y/N] ", &[])? {
        PromptInput::Line(line) => Ok(["y", "yes"].contains(&line.to_lowercase().as_str())),
        PromptInput::End => Ok(false),
    }
}

/// Writes a new settings file. An existing file is never replaced.
fn write(place: &Place, model: &str) -> Result<(), Failure> {
    let path = settings::path(place);
    place::private_dir(&place.config)?;
    let text = format!(
        "# docs/settings.md says what may stand here.\n\n[models]\n# The model for runs that name none, as after `-m`.\ndefault = {}\n",
        serde_json::Value::String(model.to_owned())
    );
    whole_file::create(&path, 0o600, text.as_bytes()).map_err(|e| {
        Failure::of_file("write", &path.to_string_lossy(), e)
            .help("`almoner doctor place` examines the directories")
    })
}
