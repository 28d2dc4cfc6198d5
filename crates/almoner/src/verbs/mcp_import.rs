//! The import of servers of tools from the settings of other agents: the servers that can be taken over, and the
//! reasons why others cannot.
//!
//! No secret is copied. A value that looks like a secret stays where it is, and the name of a vault secret replaces
//! it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::mcp::modules;
use config::mcp_file::Server;
use config::secret_variables::is_secret;
use control::exit::{Exit, Failure};
use resource::mcp::is_server_name;
use resource::secret::PREFIX as SECRET;

/// The maximum size of a settings file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The settings files of other agents in a project. `HOME_FILES` are those in the user's home.
const PROJECT_FILES: &[&str] =
    &[".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json"];
const HOME_FILES: &[&str] = &[
    ".claude.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".config/zed/settings.json",
    ".config/Code/User/mcp.json",
    ".codex/config.toml",
    ".config/goose/config.yaml",
];

/// The JSON pointers to the tables of servers in a settings file.
const SERVER_POINTERS: &[&str] =
    &["/mcpServers", "/servers", "/mcp/servers", "/context_servers", "/mcp_servers", "/extensions"];

/// The programs that fetch their code at each start, so the code that runs may differ from the code that was
/// inspected.
const FETCHERS: &[&str] = &["npx", "uvx", "pipx", "bunx", "pnpx", "pnpm", "yarn", "dnx", "docker", "podman"];

/// One server from a settings file.
pub struct FoundServer {
    /// The name of the server.
    pub name: String,
    /// The settings file.
    pub from: String,
    /// The server as Almoner records it, or the reason why it cannot be taken over.
    pub server: Result<Server, String>,
    /// The notes that the user has to read.
    pub notes: Vec<String>,
}

/// Returns all servers in the named files. Without a file, the usual files are read, if they exist.
///
/// # Errors
/// When a named file cannot be read.
pub fn find_servers(files: &[PathBuf]) -> Result<Vec<FoundServer>, Failure> {
    let mut found = Vec::new();
    if !files.is_empty() {
        for file in files {
            let text = text(file).map_err(|what| {
                Failure::new(Exit::NotFound, format!("{}: {what}", file.display()))
                    .help("name a settings file of another agent: JSON, or TOML")
            })?;
            let read = read(&text, file).map_err(|what| {
                Failure::new(Exit::Invalid, format!("{}: {what}", file.display()))
                    .help("it holds no servers in a form that is known: see `docs/mcp.md`")
            })?;
            found.extend(read);
        }
        return Ok(found);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let in_home = HOME_FILES.iter().filter_map(|file| Some(home.as_ref()?.join(file)));
    for file in PROJECT_FILES.iter().map(PathBuf::from).chain(in_home) {
        let Ok(text) = text(&file) else { continue };
        // Settings without servers are no error.
        found.extend(read(&text, &file).unwrap_or_default());
    }
    Ok(found)
}

fn text(file: &Path) -> Result<String, String> {
    match std::fs::metadata(file) {
        Ok(meta) if !meta.is_file() => return Err("it is no file".to_owned()),
        Ok(meta) if meta.len() > MAX_FILE_BYTES => return Err("it is too large".to_owned()),
        Ok(_) => {}
        Err(error) => return Err(error.to_string()),
    }
    std::fs::read_to_string(file).map_err(|error| error.to_string())
}

/// Returns the servers in one file.
///
/// # Errors
/// When the text contains no servers, or cannot be parsed.
pub fn read(text: &str, file: &Path) -> Result<Vec<FoundServer>, String> {
    let json: Json = if file.extension().is_some_and(|it| it == "toml") {
        let value: toml::Value = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        serde_json::to_value(value).map_err(|e| e.to_string())?
    } else if file.extension().is_some_and(|it| it == "yaml" || it == "yml") {
        worker::definition::json_of_yaml(text).ok_or("it is no plain YAML")?
    } else {
        serde_json::from_str(&without_comments(text)).map_err(|e| e.to_string())?
    };
    let from = file.display().to_string();
    let mut found = Vec::new();
    let mut tables: Vec<&Json> = SERVER_POINTERS.iter().filter_map(|place| json.pointer(place)).collect();
    // Claude Code keeps the servers of each project beside those of the user.
    let projects = json.get("projects").and_then(Json::as_object).into_iter().flat_map(Map::values);
    tables.extend(projects.filter_map(|project| project.get("mcpServers")));
    if tables.is_empty() {
        return Err("there are no servers in it".to_owned());
    }
    for (name, entry) in tables.iter().filter_map(|table| table.as_object()).flatten() {
        let mut notes = Vec::new();
        let server = match is_server_name(name) {
            true => server(entry, &mut notes),
            false => Err("its name has other letters than A to Z, digits, `-`, `_` and `.`".to_owned()),
        };
        found.push(FoundServer { name: name.clone(), from: from.clone(), server, notes });
    }
    Ok(found)
}

fn server(entry: &Json, notes: &mut Vec<String>) -> Result<Server, String> {
    // Zed once wrote `command: { path, args, env }`.
    let inner = entry.get("command").filter(|command| command.is_object());
    let field = |name: &str| inner.and_then(|inner| inner.get(name)).or_else(|| entry.get(name));
    if entry.get("disabled") == Some(&Json::Bool(true)) || entry.get("enabled") == Some(&Json::Bool(false)) {
        return Err("it is turned off there".to_owned());
    }
    let url = ["url", "httpUrl", "serverUrl", "uri"].iter().find_map(|name| entry.get(*name)?.as_str());
    if let Some(url) = url {
        return web(entry, url, notes);
    }
    if matches!(entry.get("type").and_then(Json::as_str), Some("builtin" | "platform" | "frontend")) {
        return Err("it is a part of that agent".to_owned());
    }
    let command = ["command", "cmd", "path"].iter().find_map(|name| field(name)?.as_str());
    let command = command.ok_or("it has neither a `command` nor a `url`")?;
    let short = command.rsplit('/').next().unwrap_or(command);
    if FETCHERS.contains(&short) {
        return Err(format!(
            "`{short}` fetches what it runs anew, so that nothing can be held to what was looked at; install it, then \
             `almoner mcp add NAME -- PROGRAM ARGS…`"
        ));
    }
    let words = |json: Option<&Json>| -> Result<Vec<String>, String> {
        let all = json.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        all.iter()
            .map(|word| word.as_str().map(str::to_owned).ok_or("an argument is no text".to_owned()))
            .collect()
    };
    let args = words(field("args"))?;
    if let Some(word) = args.iter().zip(std::iter::once("").chain(args.iter().map(String::as_str))).find_map(
        |(word, before)| {
            let (name, value) = word.split_once('=').unwrap_or((before, word));
            (name.starts_with('-') && is_secret(name, value)).then_some(name)
        },
    ) {
        return Err(format!(
            "its argument `{word}` looks like a secret; pass it as `--env NAME=secret:NAME`"
        ));
    }
    if args.iter().any(|word| word.contains("${")) || command.contains("${") {
        return Err("its command has a `${…}` in it, which only that agent fills in".to_owned());
    }
    let path = crate::cli::program_path(Path::new(""), command)
        .map_err(|failure| failure.message.visible_line().into_owned())?;
    let mut env = BTreeMap::new();
    for (name, value) in
        field("env").or_else(|| field("envs")).and_then(Json::as_object).into_iter().flatten()
    {
        let value = value.as_str().ok_or_else(|| format!("its variable {name} is no text"))?;
        if value.starts_with(SECRET) {
            // The user decides which secrets a program gets, not a file that somebody else wrote.
            notes.push(format!("{name} was not taken: it names a secret of yours"));
        } else if is_secret(name, value) || value.contains("${") {
            notes.push(format!("{name} was not copied: `almoner secret set {name}`"));
            env.insert(name.clone(), format!("{SECRET}{name}"));
        } else {
            env.insert(name.clone(), value.to_owned());
        }
    }
    let scripts = std::iter::once(&path).chain(args.iter().filter(|word| word.starts_with('/')));
    let mut reads: Vec<String> = scripts.flat_map(|file| modules(Path::new(file))).collect();
    reads.sort();
    reads.dedup();
    notes.push(
        "it gets no network and no directory: remove it and add it anew with `--net` or `--dir` if it needs them".to_owned(),
    );
    Ok(Server { command: Some(path), args, env, reads, ..Server::default() })
}

fn web(entry: &Json, url: &str, notes: &mut Vec<String>) -> Result<Server, String> {
    if entry.get("type").and_then(Json::as_str) == Some("sse") {
        return Err(
            "it speaks the old form with an event stream of its own, which is not spoken here".to_owned()
        );
    }
    let origin = resource::web::Place::parse(url).map_err(|e| e.to_string())?.origin;
    let mut server = Server { url: Some(url.to_owned()), ..Server::default() };
    let headers =
        ["headers", "http_headers", "requestInit"].iter().find_map(|name| entry.get(*name)?.as_object());
    for (name, _) in headers.into_iter().flatten() {
        if server.key.is_some() {
            return Err("it wants more than one header of its own".to_owned());
        }
        let key = format!("{}_KEY", name.to_ascii_uppercase().replace('-', "_"));
        notes.push(format!("its header {name} was not copied: `almoner secret set {key} --for {origin}`"));
        server.key = Some(key);
        server.header = (!name.eq_ignore_ascii_case("authorization")).then(|| name.to_ascii_lowercase());
    }
    if let Some(variable) = entry.get("bearer_token_env_var").and_then(Json::as_str) {
        notes.push(format!("its key: `almoner secret set {variable} --for {origin}`"));
        server.key = Some(variable.to_owned());
    }
    Ok(server)
}

/// Returns JSON without the additions that some agents accept: comments, and commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut quoted, mut escaped) = (false, false);
    while let Some(c) = chars.next() {
        if quoted {
            out.push(c);
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match (c, chars.peek()) {
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut before = ' ';
                for c in chars.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            ('}' | ']', _) => {
                let end = out.trim_end().len();
                if out[..end].ends_with(',') {
                    out.truncate(end - 1);
                }
                out.push(c);
            }
            _ => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, file: &str) -> Vec<(String, Result<Server, String>, Vec<String>)> {
        let mut found = read(text, Path::new(file)).unwrap();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.into_iter().map(|one| (one.name, one.server, one.notes)).collect()
    }

    #[test]
    fn every_known_config_format_is_imported() {
        for (file, text) in [
            (".mcp.json", r#"{ "mcpServers": { "a": { "command": "/bin/sh", "args": ["-c", "true"] } } }"#),
            (
                "mcp.json",
                "{\n // mine\n \"servers\": { \"a\": { \"type\": \"stdio\", \"command\": \"/bin/sh\", \"args\": [\"-c\", \"true\",], }, }, }",
            ),
            (
                "settings.json",
                r#"{ "context_servers": { "a": { "command": { "path": "/bin/sh", "args": ["-c", "true"] } } } }"#,
            ),
            (
                ".claude.json",
                r#"{ "projects": { "/p": { "mcpServers": { "a": { "command": "sh", "args": ["-c", "true"] } } } } }"#,
            ),
            (
                "config.yaml",
                "GOOSE_MODEL: x\nextensions:\n  a:\n    type: stdio\n    enabled: true\n    cmd: /bin/sh\n    args:\n      - -c\n      - 'true'\n    envs: {}\n",
            ),
            ("config.toml", "[mcp_servers.a]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"true\"]\n"),
        ] {
            let found = names(text, file);
            let (name, server, _) = &found[0];
            let server = server.as_ref().unwrap();
            assert_eq!(name, "a", "{file}");
            assert!(server.command.as_deref().unwrap().ends_with("/sh"), "{file}");
            assert_eq!(server.args, ["-c", "true"], "{file}");
        }
    }

    #[test]
    fn import_copies_no_secret_and_explains_each_skipped_server() {
        let text = r#"{ "mcpServers": {
            "env": { "command": "/bin/sh", "env": { "GH_TOKEN": "abcd1234", "REGION": "eu", "OTHER": "${env:OTHER}" } },
            "http": { "url": "https://a.example/mcp", "headers": { "Authorization": "Bearer abcdef" } },
            "npx": { "command": "npx", "args": ["-y", "some-server"] },
            "argument": { "command": "/bin/sh", "args": ["--api-key", "abcd1234"] },
            "sse": { "type": "sse", "url": "https://a.example/sse" },
            "off": { "command": "/bin/sh", "disabled": true },
            "nothing": {},
            "own": { "type": "builtin", "name": "developer" },
            "b d": { "command": "/bin/sh" } } }"#;
        let found = names(text, "x.json");
        let of = |name: &str| found.iter().find(|(own, ..)| own == name).unwrap();
        let (_, env, notes) = of("env");
        let env = &env.as_ref().unwrap().env;
        assert_eq!(env["GH_TOKEN"], "secret:GH_TOKEN");
        assert_eq!((env["REGION"].as_str(), env["OTHER"].as_str()), ("eu", "secret:OTHER"));
        assert!(notes.iter().any(|note| note.contains("almoner secret set GH_TOKEN")), "{notes:?}");
        let (_, http, notes) = of("http");
        assert_eq!(http.as_ref().unwrap().key.as_deref(), Some("AUTHORIZATION_KEY"));
        assert!(notes.iter().any(|note| note.ends_with("--for https://a.example`")), "{notes:?}");
        for (name, why) in [
            ("npx", "fetches"),
            ("argument", "looks like a secret"),
            ("sse", "old form"),
            ("off", "turned off"),
            ("nothing", "neither"),
            ("own", "a part of that agent"),
            ("b d", "its name"),
        ] {
            let (_, server, _) = of(name);
            assert!(server.as_ref().is_err_and(|what| what.contains(why)), "{name}: {server:?}");
        }
        assert!(
            !format!("{:?}", found.iter().map(|(_, server, _)| server).collect::<Vec<_>>()).contains("abcd")
        );
    }

    #[test]
    fn malformed_config_is_refused_without_panic() {
        for text in ["", "{", "[]", r#"{ "mcpServers": 1 }"#, r#"{ "mcpServers": { "a": 1 } }"#, "\"/*"] {
            let _ = read(text, Path::new("x.json"));
            let _ = read(text, Path::new("x.toml"));
            let _ = read(text, Path::new("x.yaml"));
        }
        assert!(read("{}", Path::new("x.json")).is_err());
    }
}
