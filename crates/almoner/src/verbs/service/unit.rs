//! The unit of the service: its text, its place, and whether somebody has edited it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use config::place::Place;
use control::exit::{Exit, Failure};

/// The beginning of the line with the digest of the rest of the unit.
const MARK: &str = "# almoner-unit ";

/// The environment variables that say where a home lies. The unit repeats those that are set.
const VARIABLES: [&str; 10] = [
    "ALMONER_HOME",
    "ALMONER_MODELS",
    "ALMONER_MODEL",
    "ENDO_STATE_PATH",
    "ENDO_EPHEMERAL_STATE_PATH",
    "ENDO_CACHE_PATH",
    "ENDO_SOCK_PATH",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
];

/// The unit of a home's service.
pub struct Unit {
    /// The name, such as `almoner.service`.
    pub name: String,
    /// The place of the file.
    pub path: PathBuf,
    /// The text that this build writes.
    pub text: String,
}

/// The state of a unit's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitState {
    /// There is no file.
    Missing,
    /// The file is as this build writes it.
    Current,
    /// Almoner has written the file, with other settings than now: of another build, program or home.
    Earlier,
    /// Somebody has edited the file, or another program has written it.
    Edited,
}

impl Unit {
    /// Returns the unit for a home, from the environment.
    ///
    /// # Errors
    /// When no directory for units is known, or a path cannot be written into a unit.
    pub fn new(place: &Place) -> Result<Unit, Failure> {
        let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = env("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| std::env::home_dir().map(|home| home.join(".config")))
            .ok_or_else(|| {
                Failure::new(Exit::Failure, "cannot find the directory for units: HOME is not set")
                    .help("set HOME to your home directory")
            })?;
        let is_default = env("ALMONER_HOME").is_none() && env("ENDO_STATE_PATH").is_none();
        let name = match is_default {
            true => "almoner.service".to_owned(),
            false => {
                let hash = blake3::hash(place.state.as_os_str().as_encoded_bytes()).to_hex();
                format!("almoner-{}.service", &hash[..12])
            }
        };
        let variables: Vec<(&str, OsString)> =
            VARIABLES.iter().filter_map(|name| Some((*name, in_unit(name, env(name)?)))).collect();
        let text = text(&program()?, &variables)?;
        Ok(Unit { path: folder.join("systemd/user").join(&name), name, text })
    }

    /// Returns the state of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn state(&self) -> Result<UnitState, Failure> {
        match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(UnitState::Missing),
            Err(error) => {
                Err(Failure::new(Exit::Failure, format!("cannot read {}: {error}", self.path.display()))
                    .help("the file must be yours"))
            }
            Ok(found) => Ok(state_of(&found, &self.text)),
        }
    }
}

fn state_of(found: &str, own: &str) -> UnitState {
    if found == own {
        return UnitState::Current;
    }
    let marked = found.strip_prefix(MARK).and_then(|rest| rest.split_once('\n'));
    match marked {
        Some((digest, rest)) if digest == blake3::hash(rest.as_bytes()).to_hex().as_str() => {
            UnitState::Earlier
        }
        _ => UnitState::Edited,
    }
}

/// Returns the path of this program as the user started it. The path of a link stays when the program behind it is
/// replaced.
fn program() -> Result<PathBuf, Failure> {
    let failed = |why: String| {
        Failure::new(Exit::Failure, format!("cannot find this program: {why}"))
            .help("start it by its whole path")
    };
    let running = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let is_same = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path == running);
    let typed = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let found = match typed.components().count() {
        0 => None,
        1 => std::env::var_os("PATH")
            .and_then(|path| std::env::split_paths(&path).map(|dir| dir.join(&typed)).find(is_same)),
        _ => std::path::absolute(&typed).ok(),
    };
    Ok(found.filter(|path| path.is_absolute()).filter(is_same).unwrap_or(running))
}

/// Returns the text of the unit, with the digest of the rest in its first line.
fn text(program: &Path, variables: &[(&str, OsString)]) -> Result<String, Failure> {
    let mut environment = String::new();
    for (name, value) in variables {
        environment += &format!("Environment=\"{name}={}\"\n", quoted(&value.to_string_lossy())?);
    }
    let program = program.to_string_lossy();
    if program.contains(['"', '\'', '\\']) {
        let shown = passable::visible_line(&program);
        let what =
            format!("cannot write {shown} into a unit: systemd takes no quotation mark or backslash there");
        return Err(Failure::new(Exit::Invalid, what).help("move the program, or start it through a link"));
    }
    let program = quoted(&program)?;
    let restart = Exit::Replaced as i32;
    // The daemon ends its programs itself, so only it gets the first signal. It waits while another daemon has
    // the store, since that one ends when it is idle. A large store is examined after a crash, which takes its time.
    let rest = format!(
        "# `almoner service install` writes this file. `systemctl --user edit` adds settings of yours beside it.\n\
         [Unit]\n\
         Description=Almoner: LLM agents with the authority that you hand them\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         ExecStart=\"{program}\" daemon\n\
         {environment}\
         Restart=on-failure\n\
         RestartSec=2\n\
         RestartForceExitStatus={restart}\n\
         SuccessExitStatus={restart}\n\
         KillMode=mixed\n\
         TimeoutStartSec=10min\n\
         TimeoutStopSec=20\n\
         WatchdogSec=30\n\
         UMask=0077\n\
         NoNewPrivileges=yes\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    );
    Ok(format!("{MARK}{}\n{rest}", blake3::hash(rest.as_bytes()).to_hex()))
}

/// Returns the value of a variable as the unit has it. A path is written in full, since a service has another current
/// directory than this command.
fn in_unit(name: &str, value: OsString) -> OsString {
    match name {
        // A reference of a model is no path, and a relative path counts for nothing in the variables of XDG.
        "ALMONER_MODEL" => value,
        _ if name.starts_with("XDG_") => value,
        _ => std::path::absolute(&value).map_or(value, PathBuf::into_os_string),
    }
}

/// Returns a text for quotation marks in a unit. The manager replaces no variables in the path of a program, nor in the
/// value of one.
fn quoted(text: &str) -> Result<String, Failure> {
    if text.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER) {
        let shown = passable::visible_line(text);
        return Err(Failure::new(
            Exit::Invalid,
            format!("cannot write {shown} into a unit: it is no plain text"),
        )
        .help("use a path of plain text"));
    }
    Ok(text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_is_written_in_full() {
        let unit = text(Path::new("/usr/bin/almoner"), &[("ALMONER_HOME", "/srv/a b".into())]).unwrap();
        insta::assert_snapshot!(unit.split_once('\n').unwrap().1, @r#"
        # `almoner service install` writes this file. `systemctl --user edit` adds settings of yours beside it.
        [Unit]
        Description=Almoner: LLM agents with the authority that you hand them
        StartLimitIntervalSec=0

        [Service]
        Type=notify
        NotifyAccess=main
        ExecStart="/usr/bin/almoner" daemon
        Environment="ALMONER_HOME=/srv/a b"
        Restart=on-failure
        RestartSec=2
        RestartForceExitStatus=75
        SuccessExitStatus=75
        KillMode=mixed
        TimeoutStartSec=10min
        TimeoutStopSec=20
        WatchdogSec=30
        UMask=0077
        NoNewPrivileges=yes

        [Install]
        WantedBy=default.target
        "#);
    }

    #[test]
    fn special_characters_of_paths_are_escaped() {
        let unit = text(Path::new("/a b/50%/$c"), &[("ALMONER_HOME", "/50%/$x\\\"y\"".into())]).unwrap();
        assert!(unit.contains(r#"ExecStart="/a b/50%%/$c" daemon"#), "{unit}");
        assert!(unit.contains(r#"Environment="ALMONER_HOME=/50%%/$x\\\"y\"""#), "{unit}");
        for path in ["/a\nb", "/a\"b", "/a'b", "/a\\b"] {
            assert!(text(Path::new(path), &[]).is_err(), "{path}");
        }
    }

    #[test]
    fn relative_home_is_written_in_full() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(in_unit("ALMONER_HOME", "a b".into()), here.join("a b").into_os_string());
        assert_eq!(in_unit("ALMONER_HOME", "/a".into()), "/a");
        for name in ["ALMONER_MODEL", "XDG_STATE_HOME"] {
            assert_eq!(in_unit(name, "local".into()), "local");
        }
    }

    #[test]
    fn edited_unit_differs_from_an_earlier_one() {
        let own = text(Path::new("/usr/bin/almoner"), &[]).unwrap();
        let earlier = text(Path::new("/opt/almoner"), &[]).unwrap();
        for (found, state) in [
            (own.clone(), UnitState::Current),
            (earlier.clone(), UnitState::Earlier),
            (earlier.replace("Restart=on-failure", "Restart=always"), UnitState::Edited),
            ("[Service]\nExecStart=/bin/true\n".to_owned(), UnitState::Edited),
            (String::new(), UnitState::Edited),
        ] {
            assert_eq!(state_of(&found, &own), state, "{found}");
        }
    }
}
