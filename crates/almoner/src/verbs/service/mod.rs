//! `almoner service`: the daemon as a service of the user's systemd.

mod unit;
mod user_manager;

use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use super::daemon;
use crate::cli::JsonArg;
use crate::cli::life::{ServiceInstallArgs, ServiceRemoveArgs, ServiceVerb};
use crate::ui::output;
use config::place::Place;
use control::exit::{Exit, ExitResult, Failure};
use unit::{Unit, UnitState};
use user_manager::UserManager;

/// Runs `almoner service`.
///
/// # Errors
/// When there is no service manager, somebody has edited the unit, or the service manager refuses.
pub fn service(place: &Place, verb: &ServiceVerb) -> ExitResult {
    match verb {
        ServiceVerb::Install(args) => install(place, args),
        ServiceVerb::Status(args) => status(place, *args),
        ServiceVerb::Remove(args) => remove(place, args),
    }
}

fn install(place: &Place, args: &ServiceInstallArgs) -> ExitResult {
    let unit = Unit::new(place)?;
    if args.print {
        output::text(&unit.text)?;
        return Ok(Exit::Ok);
    }
    let state = unit.state()?;
    if state == UnitState::Edited && !args.force {
        return Err(edited(&unit, "replace", "install"));
    }
    let manager = UserManager::find()?;
    let is_active = manager.word("is-active", &unit.name) == "active";
    if state == UnitState::Current && is_active {
        manager.run(&["enable", &unit.name])?;
        output::note(&format!("{} is installed already, and runs", unit.name));
        return Ok(Exit::Ok);
    }
    // A daemon that a command started has the store, and the service could not start.
    if !is_active {
        daemon::halt(place)?;
    }
    write(&unit.path, &unit.text)?;
    manager.run(&["daemon-reload"])?;
    manager.run(&["enable", &unit.name])?;
    manager.run(&["restart", &unit.name])?;
    output::note(&format!("{} runs now and from each login on ({})", unit.name, output::path(&unit.path)));
    if user_manager::lingers() == Some(false) {
        output::note("`loginctl enable-linger` lets it run while you are not logged in, too");
    }
    Ok(Exit::Ok)
}

fn status(place: &Place, args: JsonArg) -> ExitResult {
    let unit = Unit::new(place)?;
    let state = unit.state()?;
    let manager = UserManager::find();
    let word = |question: &str| match (&manager, state) {
        (Ok(manager), UnitState::Current | UnitState::Earlier | UnitState::Edited) => {
            manager.word(question, &unit.name)
        }
        (Ok(_), UnitState::Missing) => "no".to_owned(),
        (Err(_), _) => "unknown".to_owned(),
    };
    let (active, enabled) = (word("is-active"), word("is-enabled"));
    if args.json {
        output::json(&json!({
            "version": 1, "unit": unit.name, "path": unit.path.display().to_string(), "state": state,
            "active": active, "enabled": enabled, "has_manager": manager.is_ok(),
        }))?;
    } else {
        let words = match state {
            UnitState::Missing => "is not installed: `almoner service install`",
            UnitState::Current => "is as this build writes it",
            UnitState::Earlier => "is of another build or program: `almoner service install` renews it",
            UnitState::Edited => "was edited",
        };
        output::result(&format!(
            "unit    {} {words}\nfile    {}\nactive  {}\nenabled {}",
            unit.name,
            output::path(&unit.path),
            passable::visible_line(&active),
            passable::visible_line(&enabled)
        ))?;
        if let Err(failure) = &manager {
            output::note(&failure.message.visible_line());
        }
    }
    Ok(if state == UnitState::Missing { Exit::NotFound } else { Exit::Ok })
}

fn remove(place: &Place, args: &ServiceRemoveArgs) -> ExitResult {
    let unit = Unit::new(place)?;
    match unit.state()? {
        UnitState::Missing => {
            output::note(&format!("no service is installed: there is no {}", output::path(&unit.path)));
            return Ok(Exit::Ok);
        }
        UnitState::Edited if !args.force => return Err(edited(&unit, "remove", "remove")),
        UnitState::Edited | UnitState::Current | UnitState::Earlier => {}
    }
    let manager = UserManager::find();
    if let Ok(manager) = &manager {
        manager.run(&["disable", "--now", &unit.name])?;
    }
    std::fs::remove_file(&unit.path).map_err(|error| write_failure(&unit.path, &error))?;
    match manager {
        Ok(manager) => manager.run(&["daemon-reload"])?,
        Err(failure) => output::note(&failure.message.visible_line()),
    }
    output::note(&format!("{} is removed; commands start the daemon by themselves again", unit.name));
    Ok(Exit::Ok)
}

fn edited(unit: &Unit, act: &str, verb: &str) -> Failure {
    let path = output::path(&unit.path);
    Failure::new(Exit::Conflict, format!("cannot {act} {path}: somebody has edited it")).help(format!(
        "`almoner service {verb} --force` does it; `systemctl --user edit {}` keeps settings of yours beside the unit",
        unit.name
    ))
}

/// Writes the unit, so that at every moment there is the old one or the new one.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.as_file().sync_all()?;
        new.persist(path).map(drop).map_err(|error| error.error)
    });
    written.map_err(|error| write_failure(path, &error))
}

fn write_failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("cannot write {}: {error}", output::path(path)))
        .help("the directory must be yours, and writable")
}
