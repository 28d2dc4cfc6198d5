//! The tool servers that the user has configured: `mcp.json` beside `config.toml`.
//!
//! `almoner mcp` writes the file, and people may edit it. An entry in the file starts no server, and gives no run
//! access to one.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use resource::programs::Setting;
use resource::secret::PREFIX as SECRET;
use serde::{Deserialize, Serialize};

use crate::{managed, settings};
use control::exit::{Exit, Failure};

/// The name of the file in the user's configuration directory.
pub const FILE: &str = "mcp.json";

/// The largest file that is read, in bytes. Settings have the same limit.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The memory limit of a server that names none: 2 GiB.
pub const DEFAULT_MEMORY: u64 = 2 << 30;

/// All configured servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `servers`")]
pub struct Servers {
    /// The servers, by the names that the user chose.
    #[serde(default)]
    pub servers: BTreeMap<String, Server>,
}

/// One server: a program on this machine, or an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a server with a `command` or a `url`")]
pub struct Server {
    /// The absolute path of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The environment variables of the program: plain text, or `secret:NAME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The files and directories that the program may read, such as its modules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The directories that the program works on: `PATH` or `PATH:rw`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dirs: Vec<String>,
    /// Whether the program may open network connections.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub net: bool,
    /// Whether the program may start other programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exec: bool,
    /// The maximum memory of the program, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The address to which calls are posted, if the server is no program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the secret that is sent with requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The header that carries the secret: `authorization` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The other headers of each request: plain text, or `secret:NAME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The IP address to which the server's name must resolve, if that address is not a public one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The time that the server has to start, such as `120s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The package that was installed for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<InstalledPackage>,
}

/// A package that was installed once, for one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a package with its `registry`, `name` and `version`")]
pub struct InstalledPackage {
    /// The registry: `npm` or `pypi`.
    pub registry: String,
    /// The name of the package.
    pub name: String,
    /// The version that was installed.
    pub version: String,
    /// The digest of the lock file, which has the digest of each part.
    pub lock: String,
    /// The directory with the package and everything that it needs.
    pub directory: String,
    /// The digest of all files in the directory, after the installation.
    pub tree: String,
}

impl Server {
    /// Returns the directories that the program works on, each with whether it may write there.
    pub fn directories(&self) -> impl Iterator<Item = (&str, bool)> {
        self.dirs.iter().map(|dir| match dir.strip_suffix(":rw") {
            Some(path) => (path, true),
            None => (dir.as_str(), false),
        })
    }

    /// Returns the server's description in one line, for the user who has configured it.
    pub fn describe(&self) -> String {
        if let Some(url) = &self.url {
            let key = self.key.as_ref().map(|key| format!(", with the secret {key}"));
            let headers = self.headers.iter().map(|(name, value)| format!("; {name}: {value}"));
            let start = self.start.iter().map(|start| format!("; starts within {start}"));
            return std::iter::once(url.clone()).chain(key).chain(headers).chain(start).collect();
        }
        let mut words = self.command.clone().unwrap_or_default();
        for argument in &self.args {
            words += &format!(" {argument}");
        }
        for dir in &self.dirs {
            words += &format!("; works on {dir}");
        }
        for path in &self.reads {
            words += &format!("; reads {path}");
        }
        for (variable, value) in &self.env {
            words += &format!("; {variable}={value}");
        }
        words += if self.net { "; with network" } else { "; no network" };
        if self.exec {
            words += "; starts other programs";
        }
        if let Some(start) = &self.start {
            words += &format!("; starts within {start}");
        }
        if let Some(package) = &self.package {
            let short: String = package.lock.chars().take(12).collect();
            words += &format!("; {} {} {} (lock {short})", package.registry, package.name, package.version);
        }
        words
    }
}

/// Returns the value of a variable or of a header, as it is written down.
pub fn setting(value: &str) -> Setting {
    match value.strip_prefix(SECRET) {
        Some(secret) => Setting::Secret(secret.to_owned()),
        None => Setting::Text(value.to_owned()),
    }
}

/// Returns the path of the file.
pub fn path(config: &Path) -> PathBuf {
    config.join(FILE)
}

/// Reads the file. If the file does not exist, there are no servers.
///
/// # Errors
/// When the file cannot be read or understood, or another user could have written it.
pub fn read(config: &Path) -> Result<Servers, Failure> {
    let path = path(config);
    let fail = |what: &str, help: &str| {
        Failure::new(Exit::Invalid, format!("cannot follow {}: {what}", path.display())).help(help)
    };
    let meta = match std::fs::metadata(&path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Servers::default()),
        Err(e) => return Err(fail(&e.to_string(), "the file must be yours to read")),
    };
    settings::check_trusted(&path, &meta).map_err(|(what, help)| fail(what, &help))?;
    let text = std::fs::read_to_string(&path).map_err(|e| fail(&e.to_string(), "save it as plain text"))?;
    serde_json::from_str(&text).map_err(|e| {
        fail(&e.to_string(), "mend it, or take it away and add the servers with `almoner mcp add`")
    })
}

/// Writes the file atomically.
///
/// # Errors
/// When the file cannot be written, or would be too large to be read again.
pub fn write(config: &Path, servers: &Servers) -> Result<(), Failure> {
    let path = path(config);
    let fail =
        |e: std::io::Error| Failure::of_file("write", &path.to_string_lossy(), e).help("nothing was changed");
    let mut text = serde_json::to_string_pretty(servers).map_err(|e| fail(e.into()))?;
    text.push('\n');
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::new(Exit::Invalid, "there would be more servers than the file may hold")
            .help("remove some first: `almoner mcp remove NAME`"));
    }
    std::fs::create_dir_all(config).map_err(fail)?;
    let mut file = tempfile::NamedTempFile::new_in(config).map_err(fail)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(fail)?;
    file.persist(&path).map_err(|e| fail(e.error))?;
    Ok(())
}

/// Returns the servers that may be used: the user's, or those that the machine's administrator has fixed in their place.
///
/// # Errors
/// When the file cannot be read or understood, or the administrator's rules cannot be followed.
pub fn usable(config: &Path) -> Result<Servers, Failure> {
    match managed::rules()?.servers() {
        Some(fixed) => Ok(Servers { servers: fixed.clone() }),
        None => read(config),
    }
}

/// Returns the server with a name. If the machine's administrator has fixed the servers, an entry of the user counts for
/// nothing, whatever its name.
///
/// # Errors
/// When no server has this name, or the file cannot be read.
pub fn find(config: &Path, name: &str) -> Result<Server, Failure> {
    let rules = managed::rules()?;
    if let Some(fixed) = rules.servers() {
        return fixed.get(name).cloned().ok_or_else(|| rules.foreign_server(name));
    }
    let mut all = read(config)?.servers;
    all.remove(name).ok_or_else(|| {
        let known: Vec<&str> = all.keys().map(String::as_str).collect();
        let help = match known.is_empty() {
            true => {
                "there are none yet: `almoner mcp add NAME -- COMMAND` or `almoner mcp import`".to_owned()
            }
            false => format!("there are {}", known.join(", ")),
        };
        Failure::new(Exit::NotFound, format!("there is no server `{name}`")).help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_servers_read_back_and_unknown_keys_are_refused() {
        let config = tempfile::tempdir().unwrap();
        assert_eq!(read(config.path()).unwrap(), Servers::default());
        let server = Server { command: Some("/bin/x".into()), args: vec!["a b".into()], ..Server::default() };
        let servers = Servers { servers: [("x".to_owned(), server)].into() };
        write(config.path(), &servers).unwrap();
        assert_eq!(read(config.path()).unwrap(), servers);
        assert_eq!(find(config.path(), "y").unwrap_err().exit, Exit::NotFound);
        for (bad, says) in [
            ("{", "EOF"),
            ("7", "expected an object with `servers`"),
            (r#"{ "server": {} }"#, "unknown field `server`"),
            (r#"{ "servers": { "x": 7 } }"#, "expected a server with a `command` or a `url`"),
            (r#"{ "servers": { "x": { "cmd": "/bin/x" } } }"#, "unknown field `cmd`"),
            (r#"{ "servers": { "x": { "package": 7 } } }"#, "expected a package with its `registry`"),
        ] {
            std::fs::write(path(config.path()), bad).unwrap();
            let failure = read(config.path()).unwrap_err();
            let message = failure.message.raw();
            assert_eq!(failure.exit, Exit::Invalid, "{bad}");
            assert!(message.starts_with("cannot follow ") && message.contains(says), "{bad}: {message}");
            assert!(!message.contains("struct"), "{bad}: {message}");
        }
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(path(config.path()), "{}").unwrap();
        std::fs::set_permissions(path(config.path()), std::fs::Permissions::from_mode(0o666)).unwrap();
        let failure = read(config.path()).unwrap_err();
        assert!(failure.message.raw().contains("everybody may write it"));
        let command = format!("`chmod o-w {}`", path(config.path()).display());
        assert!(failure.help.contains(&command), "{}", failure.help);
    }
}
