//! `-e SLOT=program:NAME,PATH[?dir=PATH[:rw]&net=yes&exec=yes&env.NAME=secret:SECRET&time=60s&memory=1GiB&max=64KiB]`.

use std::path::Path;

use passable::visible_line;

use super::absolute;
use super::endow::absolute_in;
use control::endowment::{PROGRAM as PREFIX, ProgramFill, VARIABLE};
use control::exit::{Exit, Failure};

/// Reads what follows `program:`. A bare name is looked for where the shell would look, a relative path from `base`.
///
/// # Errors
/// When it is not written as it should be, or a program is not there.
pub(super) fn parse(base: &Path, text: &str) -> Result<ProgramFill, Failure> {
    let wrong = |what: String| {
        Failure::new(Exit::Usage, format!("{PREFIX}{text}: {what}"))
            .help("write SLOT=program:NAME,PATH?dir=PATH:rw&net=no&exec=no&env.NAME=secret:SECRET&time=60s&memory=1GiB&max=64KiB")
    };
    let (names, query) = match text.split_once('?') {
        Some((names, query)) => (names, query),
        None => (text, ""),
    };
    let mut fill = ProgramFill::default();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let path = program_path(base, name)?;
        let short = name.rsplit('/').next().unwrap_or(name).to_owned();
        if short.is_empty() || fill.programs.iter().any(|(other, _)| *other == short) {
            return Err(wrong(format!("`{name}` is there twice, or names no program")));
        }
        fill.programs.push((short, path));
    }
    if fill.programs.is_empty() {
        return Err(wrong("it names no program".to_owned()));
    }
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| wrong(format!("`{part}` has no `=`")))?;
        let yes = || match value {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(wrong(format!("`{key}` is `yes` or `no`"))),
        };
        let bytes = || {
            worker::definition::parse_bytes(value)
                .filter(|bytes| *bytes > 0)
                .ok_or_else(|| wrong(format!("`{key}` is written like `10MiB`")))
        };
        match key {
            "dir" => {
                let (path, write) = match value.strip_suffix(":rw") {
                    Some(path) => (path, true),
                    None => (value.strip_suffix(":ro").unwrap_or(value), false),
                };
                if path.is_empty() {
                    return Err(wrong("there is no path".to_owned()));
                }
                fill.directories.push((absolute_in(base, path)?, write));
            }
            "net" => fill.network = yes()?,
            "exec" => fill.starts_others = yes()?,
            variable if variable.starts_with(VARIABLE) => {
                let variable = variable.strip_prefix(VARIABLE).unwrap_or_default();
                let setting = super::endow_secret::setting(variable, value).map_err(|(what, help)| {
                    Failure::new(Exit::Usage, format!("{PREFIX}{}: {what}", visible_line(names))).help(help)
                })?;
                if fill.environment.insert(variable.to_owned(), setting).is_some() {
                    return Err(wrong(format!("`{key}` stands there twice")));
                }
            }
            "time" => {
                let ms =
                    worker::definition::parse_duration_ms(value).filter(|ms| (1..=86_400_000).contains(ms));
                fill.wall_ms =
                    Some(ms.ok_or_else(|| wrong("`time` is written like `90s`, at most a day".to_owned()))?);
            }
            "memory" => fill.memory = Some(bytes()?),
            "max" => fill.output = Some(bytes()?.min(MOST_OUTPUT)),
            _ => {
                return Err(wrong(
                    "after `?` only `dir=`, `net=`, `exec=`, `env.NAME=`, `time=`, `memory=` and `max=` are known"
                        .to_owned(),
                ));
            }
        }
    }
    Ok(fill)
}

/// The most output that is handed back, whatever is said: it goes into a model's context.
const MOST_OUTPUT: u64 = 16 << 20;

/// The absolute path of a program that a person names, by its name or by a path.
///
/// # Errors
/// When there is no such program.
pub fn program_path(base: &Path, name: &str) -> Result<String, Failure> {
    if name.contains('/') { absolute_in(base, name) } else { on_path(name) }
}

/// Where the shell would find a program of this name.
fn on_path(name: &str) -> Result<String, Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| is_program(path));
    let found = found.and_then(|path| path.into_os_string().into_string().ok()).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no program `{name}`")).help("name it by its path")
    })?;
    absolute(&found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ProgramFill, Failure> {
        super::parse(Path::new(""), text)
    }

    #[test]
    fn programs_are_found_and_what_they_reach_is_read() {
        let fill =
            parse("sh,/bin/cat?dir=/w:rw&dir=/r&net=no&exec=yes&time=1m30s&memory=1GiB&max=4KiB").unwrap();
        assert_eq!(fill.programs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["sh", "cat"]);
        assert!(fill.programs.iter().all(|(_, path)| path.starts_with('/')));
        assert_eq!(fill.directories, [("/w".to_owned(), true), ("/r".to_owned(), false)]);
        assert!(!fill.network && fill.starts_others);
        assert_eq!((fill.wall_ms, fill.memory, fill.output), (Some(90_000), Some(1 << 30), Some(4096)));
        assert!(fill.typed().ends_with(",/bin/cat?dir=/w:rw&dir=/r&exec=yes"), "{}", fill.typed());
        assert!(
            fill.words()
                .ends_with("; /w (may be read and written); /r (may be read); no network; may start others")
        );
    }

    #[test]
    fn what_programs_find_in_their_environment_is_read_and_said() {
        let fill = parse("sh?env.TOKEN=secret:github&env.REGION=eu&net=yes").unwrap();
        assert!(fill.words().ends_with("; with network; REGION=eu; TOKEN from the secret github"));
        assert!(fill.typed().ends_with("?net=yes&env.REGION=eu&env.TOKEN=secret:github"), "{}", fill.typed());
        for bad in ["sh?env.TOKEN=swordfish", "sh?env.PATH=/x", "sh?env.=x", "sh?env.A=b&env.A=c", "sh?env=A"]
        {
            assert!(parse(bad).is_err_and(|failure| !failure.help.is_empty()), "{bad}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for bad in [
            "",
            ",",
            "sh,sh",
            "sh,/usr/bin/sh",
            "no-such-program-anywhere",
            "sh?dir=",
            "sh?dir=:rw",
            "sh?net=perhaps",
            "sh?time=soon",
            "sh?time=0s",
            "sh?memory=0",
            "sh?colour=red",
            "sh?dir",
            "/bin/",
        ] {
            assert!(parse(bad).is_err_and(|failure| !failure.help.is_empty()), "{bad}");
        }
    }
}
