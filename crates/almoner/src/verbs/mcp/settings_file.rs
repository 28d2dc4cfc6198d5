//! The settings files of other agents, in which servers of tools are written down.

use std::path::{Path, PathBuf};

use passable::visible_line;
use serde_json::{Map, Value as Json};

use crate::ui::output;
use control::exit::{Exit, Failure};

/// The maximum size of a settings file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The settings files of other agents in a project. `HOME_FILES` are those in the user's home.
const PROJECT_FILES: &[&str] = &[
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".roo/mcp.json",
    ".zed/settings.json",
    "opencode.json",
    "opencode.jsonc",
];
const HOME_FILES: &[&str] = &[
    ".claude.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".config/zed/settings.json",
    ".config/Code/User/mcp.json",
    ".codeium/windsurf/mcp_config.json",
    ".codex/config.toml",
    ".config/goose/config.yaml",
    ".continue/config.yaml",
    ".config/opencode/opencode.json",
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
];

/// The JSON pointers to the tables of servers in a settings file. The first one that has servers counts.
const SERVER_POINTERS: &[&str] = &[
    "/mcpServers",
    "/servers",
    "/mcp/servers",
    "/mcp",
    "/context_servers",
    "/mcp_servers",
    "/extensions",
    "/experimental/modelContextProtocolServers",
];

/// One server as a settings file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name of the server.
    pub name: String,
    /// The description.
    pub description: Json,
}

/// The fault of a file without servers.
const NO_SERVERS: &str = "there are no servers in it";

/// A settings file with its servers.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// Its servers.
    pub entries: Vec<Entry>,
}

impl SettingsFile {
    /// Returns the folder that the settings are for: that of the file, or the one above a folder such as `.vscode`.
    pub fn folder(&self) -> PathBuf {
        let absolute = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let parent = absolute.parent().unwrap_or(Path::new("/"));
        let is_hidden = parent.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        match parent.parent().filter(|_| is_hidden) {
            Some(above) => above.to_owned(),
            None => parent.to_owned(),
        }
    }
}

/// Returns the named settings files, with their servers. Without a name, the usual files are read, if they exist.
///
/// # Errors
/// When a named file cannot be read.
pub fn find(files: &[PathBuf]) -> Result<Vec<SettingsFile>, Failure> {
    if !files.is_empty() {
        let read = |path: &PathBuf| {
            let text = text(path).map_err(|what| {
                Failure::new(Exit::NotFound, format!("cannot read {}: {what}", path.display()))
                    .help("name a settings file of another agent: JSON, TOML or YAML")
            })?;
            let entries = read(&text, path).map_err(|what| {
                Failure::new(Exit::Invalid, format!("cannot read {}: {what}", path.display()))
                    .help("it holds no servers in a form that is known: see `docs/mcp.md`")
            })?;
            Ok(SettingsFile { path: path.clone(), entries })
        };
        return files.iter().map(read).collect();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let in_home = HOME_FILES.iter().filter_map(|file| Some(home.as_ref()?.join(file)));
    let usual = PROJECT_FILES.iter().map(PathBuf::from).chain(in_home);
    let mut found = Vec::new();
    for path in usual.filter(|path| path.exists()) {
        match text(&path).and_then(|text| read(&text, &path)) {
            Ok(entries) => found.push(SettingsFile { path, entries }),
            // Settings without servers are no error.
            Err(what) if what == NO_SERVERS => {}
            Err(what) => {
                let shown = path.display().to_string();
                output::note(&format!("{} is left out: {what}", visible_line(&shown)));
            }
        }
    }
    Ok(found)
}

fn text(file: &Path) -> Result<String, String> {
    match std::fs::metadata(file) {
        Ok(meta) if !meta.is_file() => return Err("it is no file".to_owned()),
        Ok(meta) if meta.len() > MAX_FILE_BYTES => return Err("it is too large".to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err("there is no such file".to_owned());
        }
        Err(error) => return Err(error.to_string()),
    }
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Returns the servers in the text of one file.
///
/// # Errors
/// When the text contains no servers, or cannot be parsed.
pub fn read(text: &str, file: &Path) -> Result<Vec<Entry>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let extension = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let place = |line: usize, what: &str| format!("line {line}: {what}");
    let json: Json = match extension {
        "toml" => {
            let value: toml::Value = toml::from_str(text).map_err(|error| {
                let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
                place(before.matches('\n').count() + 1, "this is no TOML")
            })?;
            serde_json::to_value(value).map_err(|_| "it has a value that JSON does not have".to_owned())?
        }
        "yaml" | "yml" => worker::definition::json_of_yaml(text).ok_or("it is no plain YAML")?,
        _ => serde_json::from_str(&without_comments(text))
            .map_err(|error| place(error.line(), "this is no JSON"))?,
    };
    let mut tables: Vec<&Json> = SERVER_POINTERS
        .iter()
        .filter_map(|place| json.pointer(place))
        // One entry that is no object costs only itself.
        .filter(|table| {
            let is_table =
                |table: &Map<String, Json>| table.is_empty() || table.values().any(Json::is_object);
            table.is_array() || table.as_object().is_some_and(is_table)
        })
        .collect();
    // In settings of VS Code `mcp` holds `servers` and `inputs`; elsewhere it is the table itself.
    if json.pointer("/mcp/servers").is_some() {
        tables.retain(|table| json.get("mcp") != Some(*table));
    }
    // Claude Code keeps the servers of each project beside those of the user.
    let projects = json.get("projects").and_then(Json::as_object).into_iter().flat_map(Map::values);
    tables.extend(projects.filter_map(|project| project.get("mcpServers")));
    // Some files are the table itself.
    let is_entry =
        |entry: &Json| ["command", "url", "serverUrl", "httpUrl"].iter().any(|key| entry.get(*key).is_some());
    let is_whole = |all: &Map<String, Json>| {
        all.values().any(is_entry) && all.values().all(|entry| is_entry(entry) || !entry.is_object())
    };
    if tables.is_empty() && json.as_object().is_some_and(is_whole) {
        tables.push(&json);
    }
    if tables.is_empty() {
        return Err(NO_SERVERS.to_owned());
    }
    let mut entries = Vec::new();
    for table in tables {
        match table {
            Json::Array(list) => entries.extend(list.iter().enumerate().map(|(at, description)| {
                Entry {
                    name: description
                        .get("name")
                        .and_then(Json::as_str)
                        .map_or(format!("server-{}", at + 1), str::to_owned),
                    // An older form of Continue keeps the command in `transport`.
                    description: description
                        .get("transport")
                        .filter(|it| it.is_object())
                        .unwrap_or(description)
                        .clone(),
                }
            })),
            Json::Object(table) => {
                entries.extend(table.iter().map(|(name, description)| Entry {
                    name: name.clone(),
                    description: description.clone(),
                }))
            }
            _ => {}
        }
    }
    Ok(entries)
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_known_file_format_is_read() {
        for (file, text) in [
            (".mcp.json", r#"{ "mcpServers": { "a": { "command": "/bin/sh" } } }"#),
            (
                "mcp.json",
                "\u{feff}{\n // mine\n \"servers\": { \"a\": { \"type\": \"stdio\", \"command\": \"/bin/sh\", }, }, \"inputs\": [] }",
            ),
            ("settings.json", r#"{ "mcp": { "inputs": [], "servers": { "a": { "command": "/bin/sh" } } } }"#),
            ("settings.json", r#"{ "context_servers": { "a": { "command": { "path": "/bin/sh" } } } }"#),
            ("opencode.json", r#"{ "mcp": { "a": { "type": "local", "command": ["/bin/sh"] } } }"#),
            (
                "config.json",
                r#"{ "experimental": { "modelContextProtocolServers": [{ "name": "a", "transport": { "command": "/bin/sh" } }] } }"#,
            ),
            ("bare.json", r#"{ "a": { "command": "/bin/sh" } }"#),
            (".claude.json", r#"{ "projects": { "/p": { "mcpServers": { "a": { "command": "sh" } } } } }"#),
            ("config.yaml", "extensions:\n  a:\n    type: stdio\n    cmd: /bin/sh\n"),
            ("continue.yaml", "mcpServers:\n  - name: a\n    command: /bin/sh\n"),
            ("config.toml", "[mcp_servers.a]\ncommand = \"/bin/sh\"\n"),
        ] {
            let entries = read(text, Path::new(file)).unwrap_or_else(|why| panic!("{file}: {why}"));
            assert_eq!(entries.len(), 1, "{file}");
            assert_eq!(entries[0].name, "a", "{file}");
            assert!(entries[0].description.is_object(), "{file}");
        }
    }

    /// Other programs lose the whole file (PrefectHQ/fastmcp#4711, AstrBotDevs/AstrBot#5673).
    #[test]
    fn entry_that_is_no_object_costs_only_itself() {
        for (file, text, all) in [
            (
                "x.json",
                r#"{ "mcpServers": { "a": { "command": "sh" }, "b": "oops", "c": null } }"#,
                vec!["a", "b", "c"],
            ),
            ("x.json", r#"{ "servers": { "a": 7, "b": { "url": "https://a.example" } } }"#, vec!["a", "b"]),
            (
                "x.json",
                r#"{ "mcpServers": { "type": "stdio", "b": { "command": "sh" } } }"#,
                vec!["b", "type"],
            ),
            ("x.json", r#"{ "mcpServers": [7, { "name": "b", "command": "sh" }] }"#, vec!["server-1", "b"]),
            ("x.json", r#"{ "a": { "command": "sh" }, "b": [] }"#, vec!["a", "b"]),
            ("x.toml", "[mcp_servers]\nb = 1\n[mcp_servers.a]\ncommand = \"sh\"\n", vec!["a", "b"]),
            ("x.yaml", "extensions:\n  a:\n    cmd: sh\n  b: no\n", vec!["a", "b"]),
            (
                "x.json",
                r#"{ "projects": { "/p": { "mcpServers": { "a": 1, "b": { "command": "sh" } } } } }"#,
                vec!["a", "b"],
            ),
        ] {
            let entries = read(text, Path::new(file)).unwrap_or_else(|why| panic!("{text}: {why}"));
            let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            assert_eq!(names, all.into_iter().collect(), "{text}");
            assert_eq!(entries.iter().filter(|entry| entry.description.is_object()).count(), 1, "{text}");
        }
        // A manifest with an address in it is no list of servers.
        let manifest =
            r#"{ "name": "x", "repository": { "url": "https://a.example" }, "scripts": { "test": "x" } }"#;
        assert!(read(manifest, Path::new("package.json")).is_err());
    }

    #[test]
    fn malformed_file_is_refused_with_its_line_and_without_panic() {
        for (file, text, what) in [
            ("x.json", "{\n \"mcpServers\": {", "line 2: this is no JSON"),
            ("x.toml", "\n\n[mcp_servers.a\n", "line 3: this is no TOML"),
            ("x.json", "{}", "there are no servers in it"),
            ("x.json", r#"{ "mcpServers": 1 }"#, "there are no servers in it"),
            ("x.json", r#"{ "checkpointing": { "enabled": true } }"#, "there are no servers in it"),
        ] {
            assert_eq!(read(text, Path::new(file)), Err(what.to_owned()), "{text}");
        }
        for text in
            ["", "{", "[]", r#"{ "mcpServers": { "a": 1 } }"#, "\"/*", "[1]", r#"{ "mcpServers": [1, {}] }"#]
        {
            for file in ["x.json", "x.toml", "x.yaml"] {
                let _ = read(text, Path::new(file));
            }
        }
    }

    #[test]
    fn folder_of_the_settings_is_the_project() {
        for (file, folder) in [
            ("/p/.mcp.json", "/p"),
            ("/p/.vscode/mcp.json", "/p"),
            ("/p/sub/opencode.json", "/p/sub"),
            ("/.mcp.json", "/"),
        ] {
            let file = SettingsFile { path: PathBuf::from(file), entries: vec![] };
            assert_eq!(file.folder(), PathBuf::from(folder), "{file:?}");
        }
    }
}
