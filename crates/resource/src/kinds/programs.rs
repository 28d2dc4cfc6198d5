//! The kind for programs of this machine, as a person hands them over.

use std::collections::BTreeMap;

use passable::visible_line;
use serde::{Deserialize, Serialize};

use super::directory::{split_access_suffix, typed_path};
use super::{Kind, Limit, ResourceSpec, Row, TextStart, secret};
use crate::{Attenuation, BlobHash, SpecError, Surroundings, quote, units};

const PREFIX: &str = "program:";
/// The prefix of a key that sets an environment variable.
const VARIABLE: &str = "env.";

/// The default time limit of one call, in milliseconds.
pub const DEFAULT_WALL_TIMEOUT_MS: u64 = 60_000;
/// The maximum time limit of one call, in milliseconds.
const MAX_WALL_TIMEOUT_MS: u64 = 86_400_000;
/// The default memory limit of one call: 1 GiB.
pub const DEFAULT_MEMORY_BYTES: u64 = 1 << 30;
/// The maximum output of a call in bytes, whatever its limit, because the output goes into a model's context.
const MAX_OUTPUT: u64 = 16 << 20;

/// The row of `program` in the table.
pub(crate) static ROW: Row = Row {
    kind: Kind::Program,
    label: "program",
    noun: "programs",
    verb: "run",
    type_name: "program",
    start: TextStart::Prefix(PREFIX),
    example: "program:NAME?dir=PATH",
    grammar: "program:NAME,PATH?dir=PATH:rw&dir=@SLOT&net=no&exec=no&env.NAME=secret:SECRET&time=60s&memory=1GiB&max=64KiB",
    keys: &["dir=", "net=", "exec=", "env.NAME=", "time=", "memory=", "max="],
    limits: &[Limit::Max],
    methods: &["run"],
    discloses: false,
    sends: true,
    needs_confirmation: true,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// Programs of this machine, with the directories and the network that they reach, as the user typed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramSpec {
    /// The name and the path of each program.
    pub programs: Vec<(String, String)>,
    /// The absolute path of each directory, and whether the programs may write to it. The first is the working
    /// directory. `@SLOT` stands for the staged copy of another slot: see [`staged_slot`].
    pub directories: Vec<(String, bool)>,
    /// Whether the programs may open network connections.
    pub network: bool,
    /// Whether each program may start other programs.
    pub starts_others: bool,
    /// The environment variables of the programs, in addition to the usual ones.
    #[serde(default)]
    pub environment: BTreeMap<String, Setting>,
    /// The time limit of one call, in milliseconds.
    pub wall_ms: Option<u64>,
    /// The memory limit of one call, in bytes.
    pub memory: Option<u64>,
    /// The maximum number of bytes of output that a call returns.
    pub output: Option<u64>,
}

impl ProgramSpec {
    pub(super) fn from_grant(programs: &Programs, taken: &Attenuation) -> ProgramSpec {
        ProgramSpec {
            programs: programs.programs.iter().map(|one| (one.name.clone(), one.path.clone())).collect(),
            directories: programs.directories.iter().map(|one| (one.typed_path(), one.write)).collect(),
            network: programs.network,
            starts_others: programs.starts_others,
            environment: programs.environment.clone(),
            wall_ms: Some(programs.wall_ms).filter(|ms| *ms != DEFAULT_WALL_TIMEOUT_MS),
            memory: Some(programs.memory).filter(|bytes| *bytes != DEFAULT_MEMORY_BYTES),
            output: taken.max_bytes,
        }
    }

    pub(super) fn summary(&self) -> String {
        ProgramsSummary {
            names: self.programs.iter().map(|(name, _)| name.as_str()).collect(),
            directories: self.directories.clone(),
            environment: &self.environment,
            network: self.network,
            starts_others: self.starts_others,
            wall_ms: self.wall_ms.unwrap_or(DEFAULT_WALL_TIMEOUT_MS),
            memory: self.memory.unwrap_or(DEFAULT_MEMORY_BYTES),
        }
        .render()
    }

    pub(super) fn typed(&self) -> String {
        let program = |(name, path): &(String, String)| match path.rsplit('/').next() == Some(name) {
            // A reader would take the text before an equals sign as a name.
            true => quote::part(path, &[',', '?', '=']),
            false => format!("{}={}", quote::part(name, &[',', '?', '=']), quote::part(path, &[',', '?'])),
        };
        let programs: Vec<String> = self.programs.iter().map(program).collect();
        let mut query: Vec<String> = Vec::new();
        for (path, write) in &self.directories {
            query.push(match staged_slot(path) {
                Some(_) => format!("dir={path}{}", if *write { "" } else { ":ro" }),
                None => format!("dir={}{}", typed_path(path, &['&']), if *write { ":rw" } else { "" }),
            });
        }
        for (key, on) in [("net", self.network), ("exec", self.starts_others)] {
            query.extend(on.then(|| format!("{key}=yes")));
        }
        for (variable, setting) in &self.environment {
            query.push(match setting {
                Setting::Text(text) if text.starts_with(secret::PREFIX) => {
                    format!("{VARIABLE}{variable}={}", quote::quoted(text))
                }
                Setting::Text(text) if text.is_empty() => format!("{VARIABLE}{variable}="),
                Setting::Text(text) => format!("{VARIABLE}{variable}={}", quote::part(text, &['&'])),
                Setting::Secret(name) => format!("{VARIABLE}{variable}={}{name}", secret::PREFIX),
            });
        }
        query.extend(self.wall_ms.map(|ms| format!("time={}", units::typed_duration(ms))));
        query.extend(self.memory.map(|bytes| format!("memory={}", units::typed_bytes(bytes))));
        query.extend(self.output.map(|bytes| format!("max={}", units::typed_bytes(bytes))));
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        format!("{PREFIX}{}{query}", programs.join(","))
    }
}

/// Returns the name of a program, and the path or name under which to find it. The text is `NAME=/PATH`, a path, or a
/// name alone.
fn named(text: &str) -> Option<(String, String)> {
    if quote::is_quoted(text) {
        let path = quote::plain(text).into_owned();
        return Some((path.rsplit('/').next()?.to_owned(), path));
    }
    if let Some((name, path)) = quote::split_once(text, '=') {
        let (name, path) = (quote::plain(name), quote::plain(path));
        if !name.contains('/') && path.starts_with('/') {
            return Some((name.into_owned(), path.into_owned()));
        }
    }
    Some((text.rsplit('/').next()?.to_owned(), text.to_owned()))
}

/// Returns the absolute path of a program, given its name or a path.
fn program_path(name: &str, around: &dyn Surroundings) -> Result<String, SpecError> {
    if name.contains('/') { around.absolute(name) } else { around.program(name) }
}

/// Reads the text after `program:`. A bare name is searched for in the same places as in a shell.
fn parse(text: &str, around: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
    let wrong = |what: String| ROW.syntax_error(what);
    let (names, query) = quote::split_once(text, '?').unwrap_or((text, ""));
    let mut spec = ProgramSpec::default();
    for shown in quote::split(names, ',').into_iter().filter(|name| !name.is_empty()) {
        let twice = || wrong(format!("`{shown}` is there twice, or names no program"));
        let (name, path) = named(shown).ok_or_else(twice)?;
        let path = program_path(&path, around)?;
        if name.is_empty() || spec.programs.iter().any(|(other, _)| *other == name) {
            return Err(twice());
        }
        spec.programs.push((name, path));
    }
    if spec.programs.is_empty() {
        return Err(wrong("it names no program".to_owned()));
    }
    for (key, value) in quote::query(query) {
        let value = value.ok_or_else(|| wrong(format!("`{key}` has no `=`")))?;
        let yes = || match value {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(wrong(format!("`{key}` is `yes` or `no`"))),
        };
        let bytes = || {
            units::bytes(value)
                .filter(|bytes| *bytes > 0)
                .ok_or_else(|| wrong(format!("`{key}` is written like `10MiB`")))
        };
        match key {
            "dir" => {
                let (path, manner) = split_access_suffix(value, &[":rw", ":ro"])
                    .ok_or_else(|| wrong("behind a directory only `:rw` can follow".to_owned()))?;
                if path.is_empty() {
                    return Err(wrong("there is no path".to_owned()));
                }
                if let Some(slot) = staged_slot(&path).filter(|_| !quote::is_quoted(value)) {
                    if !is_slot_name(slot) {
                        return Err(wrong(format!(
                            "`{path}` names no slot; a directory of this name is written `./{path}`"
                        )));
                    }
                    // The changes go to a copy, so they need no `:rw`.
                    spec.directories.push((path, manner != ":ro"));
                    continue;
                }
                spec.directories.push((around.absolute(&path)?, manner == ":rw"));
            }
            "net" => spec.network = yes()?,
            "exec" => spec.starts_others = yes()?,
            variable if variable.starts_with(VARIABLE) => {
                let variable = variable.strip_prefix(VARIABLE).unwrap_or_default();
                let setting = setting(variable, value, around)?;
                if spec.environment.insert(variable.to_owned(), setting).is_some() {
                    return Err(wrong(format!("`{key}` stands there twice")));
                }
            }
            "time" => {
                let ms = units::duration_ms(value).filter(|ms| (1..=MAX_WALL_TIMEOUT_MS).contains(ms));
                spec.wall_ms =
                    Some(ms.ok_or_else(|| wrong("`time` is written like `90s`, at most a day".to_owned()))?);
            }
            "memory" => spec.memory = Some(bytes()?),
            "max" => spec.output = Some(bytes()?.min(MAX_OUTPUT)),
            _ => return Err(ROW.unknown_key()),
        }
    }
    Ok(ResourceSpec::Program(spec))
}

/// Returns the slot whose staged copy is meant, if a directory is written `@SLOT`. Other directories have an absolute
/// path.
pub fn staged_slot(path: &str) -> Option<&str> {
    path.strip_prefix('@')
}

fn is_slot_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Reads the value of an environment variable of a program: text, or `secret:NAME`.
fn setting(variable: &str, value: &str, around: &dyn Surroundings) -> Result<Setting, SpecError> {
    let shown = visible_line(variable);
    if let Some(what) = variable_problem(variable) {
        return Err(SpecError::new(format!("`env.{shown}`: {what}"), "name another variable"));
    }
    if let Some(name) = value.strip_prefix(secret::PREFIX) {
        secret::check_name(name)
            .map_err(|error| SpecError::new(format!("`env.{shown}`: {error}"), secret::NAME_HELP))?;
        return Ok(Setting::Secret(name.to_owned()));
    }
    let text = quote::plain(value).into_owned();
    if around.looks_secret(variable, &text) {
        return Err(SpecError::new(
            format!("`env.{shown}`: this looks like a secret"),
            format!(
                "keep it in the vault, `almoner secret set {shown}`, and write `env.{shown}=secret:{shown}`"
            ),
        ));
    }
    Ok(Setting::Text(text))
}

/// The data for a description of programs, whether the daemon has resolved them or not.
struct ProgramsSummary<'a> {
    names: Vec<&'a str>,
    directories: Vec<(String, bool)>,
    environment: &'a BTreeMap<String, Setting>,
    network: bool,
    starts_others: bool,
    wall_ms: u64,
    memory: u64,
}

impl ProgramsSummary<'_> {
    fn render(&self) -> String {
        let noun = if self.names.len() == 1 { "program" } else { "programs" };
        let mut words = format!("{noun} {}", self.names.join(", "));
        for (at, (path, write)) in self.directories.iter().enumerate() {
            let joint = if at == 0 { " in" } else { "," };
            let place = staged_slot(path).map(|slot| format!("the staged copy of slot {slot}"));
            let place = place.as_deref().unwrap_or(path);
            words += &format!("{joint} {place}{}", if *write { " (rw)" } else { "" });
        }
        if self.network {
            words += ", with network";
        }
        if self.starts_others {
            words += ", starting others";
        }
        for (variable, setting) in self.environment {
            words += &match setting {
                Setting::Text(text) => format!(", with {variable}={text}"),
                Setting::Secret(name) => format!(", with {variable} from the secret {name}"),
            };
        }
        if self.wall_ms != DEFAULT_WALL_TIMEOUT_MS {
            words += &format!(", at most {} a call", units::typed_duration(self.wall_ms));
        }
        if self.memory != DEFAULT_MEMORY_BYTES {
            words += &format!(", at most {} of memory", units::typed_bytes(self.memory));
        }
        words
    }
}

/// Programs that may be run, with the directories and the network that they reach, after the daemon has resolved
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Programs {
    /// The programs. No two of them have the same name.
    pub programs: Vec<EndowedProgram>,
    /// The directories that the programs reach. The first is their working directory.
    #[serde(default)]
    pub directories: Vec<ProgramDirectory>,
    /// The environment variables of the programs, in addition to the usual ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Setting>,
    /// Whether the programs may open connections over the network.
    #[serde(default)]
    pub network: bool,
    /// Whether each program may start other programs of this machine.
    #[serde(default)]
    pub starts_others: bool,
    /// The time limit of one call, in milliseconds.
    pub wall_ms: u64,
    /// The memory limit of all processes of a call together, in bytes.
    pub memory: u64,
}

/// A program, as it was at the time of its endowment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndowedProgram {
    /// The name of the program in calls: the first word of a call.
    pub name: String,
    /// The path of the program, with all links followed.
    pub path: String,
    /// The digest of the program's file. A file with another digest counts as another program.
    pub digest: BlobHash,
    /// The interpreters of a script, in order, because an interpreter can be a script itself. A script with other
    /// interpreters counts as another program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interpreters: Vec<Interpreter>,
}

/// The program that reads a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interpreter {
    /// The path of the interpreter, with all links followed.
    pub path: String,
    /// The digest of the interpreter's file.
    pub digest: BlobHash,
}

/// A directory that programs reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramDirectory {
    /// The absolute path of the directory.
    pub path: String,
    /// Whether the programs may change the directory's content.
    pub write: bool,
    /// The slot whose staged copy the directory is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_slot: Option<String>,
}

impl ProgramDirectory {
    /// Returns the path as a person types it: `@SLOT` for a staged copy.
    pub fn typed_path(&self) -> String {
        self.staged_slot.as_ref().map_or_else(|| self.path.clone(), |slot| format!("@{slot}"))
    }
}

/// The value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// A text.
    Text(String),
    /// The name of a secret, whose value is inserted when the program starts.
    Secret(String),
}

impl Setting {
    /// Returns the name of the secret, or `None` if the value is text.
    pub fn secret(&self) -> Option<&str> {
        match self {
            Setting::Secret(name) => Some(name),
            Setting::Text(_) => None,
        }
    }
}

/// The names of variables that confine a program or load code into it. A user cannot set them.
const RESERVED_VARIABLES: [&str; 7] = ["PATH", "HOME", "TMPDIR", "LANG", "TERM", "IFS", "BASH_ENV"];
/// The beginnings of the names of such variables.
const RESERVED_PREFIXES: [&str; 2] = ["LD_", "GIT_CONFIG"];

/// Returns the reason why an environment variable with a name cannot be set, or `None` if it can.
pub fn variable_problem(name: &str) -> Option<&'static str> {
    let is_begun = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name.len() <= 64;
    if !is_begun || !is_plain {
        return Some("a variable has a name of letters, digits and `_`, at most 64");
    }
    let is_kept =
        RESERVED_VARIABLES.contains(&name) || RESERVED_PREFIXES.iter().any(|begin| name.starts_with(begin));
    is_kept.then_some("this variable says how the program is confined, and what is loaded into it")
}

impl Programs {
    /// Returns the names of the secrets that each call gets.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.environment.values().filter_map(Setting::secret)
    }

    /// Describes the programs in a few words, such as "programs rg, git in /work (rw), with network".
    pub fn summary(&self) -> String {
        ProgramsSummary {
            names: self.programs.iter().map(|program| program.name.as_str()).collect(),
            directories: self.directories.iter().map(|one| (one.typed_path(), one.write)).collect(),
            environment: &self.environment,
            network: self.network,
            starts_others: self.starts_others,
            wall_ms: self.wall_ms,
            memory: self.memory,
        }
        .render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_names_programs_directories_and_variables() {
        let program = |name: &str| EndowedProgram {
            name: name.into(),
            path: format!("/usr/bin/{name}"),
            digest: BlobHash([1; 32]),
            interpreters: vec![],
        };
        let directory = |path: &str, write| ProgramDirectory { path: path.into(), write, staged_slot: None };
        let mut programs = Programs {
            programs: vec![program("rg")],
            directories: vec![],
            environment: BTreeMap::new(),
            network: false,
            starts_others: false,
            wall_ms: DEFAULT_WALL_TIMEOUT_MS,
            memory: DEFAULT_MEMORY_BYTES,
        };
        assert_eq!(programs.summary(), "program rg");
        programs.programs.push(program("git"));
        programs.directories = vec![directory("/w", true), directory("/r", false)];
        programs.directories.push(ProgramDirectory {
            path: "/state/stages/1".into(),
            write: true,
            staged_slot: Some("repo".into()),
        });
        assert!(programs.summary().ends_with(", /r, the staged copy of slot repo (rw)"));
        programs.directories.pop();
        programs.network = true;
        programs.starts_others = true;
        assert_eq!(programs.summary(), "programs rg, git in /w (rw), /r, with network, starting others");
        programs.environment = BTreeMap::from([
            ("HOST".to_owned(), Setting::Text("a.example".to_owned())),
            ("TOKEN".to_owned(), Setting::Secret("github".to_owned())),
        ]);
        assert!(programs.summary().ends_with(", with HOST=a.example, with TOKEN from the secret github"));
        assert_eq!(programs.secrets().collect::<Vec<_>>(), ["github"]);
    }

    #[test]
    fn confining_variables_cannot_be_set() {
        for (name, good) in [
            ("GITHUB_TOKEN", true),
            ("_x1", true),
            ("PATH", false),
            ("LD_PRELOAD", false),
            ("GIT_CONFIG_KEY_9", false),
            ("1X", false),
            ("", false),
            ("A B", false),
            ("A=B", false),
        ] {
            assert_eq!(variable_problem(name).is_none(), good, "{name}");
        }
        assert!(variable_problem(&"X".repeat(65)).is_some());
    }
}
