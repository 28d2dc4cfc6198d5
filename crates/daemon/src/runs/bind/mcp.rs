//! The binding of tool servers to slots. The daemon asks a server for its tools once, and pins the named ones.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kernel::command::{Binding, Target};
use passable::{Untrusted, visible_line};
use resource::mcp::{DEFAULT_CALL_TIMEOUT_MS, ServerProgram, ServerTransport, ToolDefinition, ToolServer};
use resource::programs::{ProgramDirectory, Setting};
use resource::web::{Place, SecretUse, Web};

use crate::files::directories;
use crate::state::daemon::HostDaemon;
use config::mcp_file::{self, Server};
use control::exit::{Exit, Failure};
use control::tools::{READY_TIMEOUT, ToolRow, ToolTable};
use resource::secret::PREFIX as SECRET;
use resource::{McpSpec, Resource};

/// The default memory limit of a server: 2 GiB.
const DEFAULT_MEMORY: u64 = 2 << 30;
/// The maximum length of a tool's name for a model.
const MAX_TOOL_NAME_LEN: usize = 64;

/// Returns the tool server that is bound to a slot.
///
/// # Errors
/// When there is no such server, the server cannot be asked, or it has no such tools.
pub fn resolve(daemon: &HostDaemon, slot: &str, given: &McpSpec) -> Result<Resource, Failure> {
    let line = server_line(daemon, &given.server)?;
    let told = list_tools(daemon, &given.server, &line, None)?;
    let secrets = daemon.secrets();
    let named = |told: &&ToolDefinition| given.tools.iter().any(|(name, _)| *name == told.name);
    if let Some(tool) = told.iter().filter(named).find(|told| holds_secret(&secrets, told)) {
        let name = visible_line(secrets.redact(&tool.name).as_ref()).into_owned();
        return Err(Failure::new(
            Exit::Invalid,
            format!("slot `{slot}`: what the server {} says of `{name}` {HOLDS_SECRET}", given.server),
        )
        .help(
            "it is not handed over: it would be kept and told to models. Is that the server that you meant?",
        ));
    }
    let tools = caps::endow_server(&told, &given.tools).map_err(|(tool, why)| {
        let message =
            format!("slot `{slot}`: `{}` of the server {}: {why}", visible_line(&tool), given.server);
        let has: Vec<_> = told.iter().map(|told| visible_line(&told.name).into_owned()).collect();
        Failure::new(Exit::Usage, message).help(format!("it has: {}", has.join(", ")))
    })?;
    if let Some(tool) = tools.iter().find(|tool| slot.len() + 1 + tool.method.len() > MAX_TOOL_NAME_LEN) {
        let message = format!("slot `{slot}`: a model cannot say `{slot}_{}`: it is too long", tool.method);
        return Err(Failure::new(Exit::Usage, message).help("give the slot a shorter name"));
    }
    let call_ms = given.call_ms.unwrap_or(DEFAULT_CALL_TIMEOUT_MS);
    Ok(Resource::Mcp(Box::new(ToolServer { name: given.server.clone(), line, tools, call_ms })))
}

/// The text of the problem of a tool whose description contains a secret.
const HOLDS_SECRET: &str = "has the value of a secret in it";

/// Returns whether a server's description of a tool contains a value of the vault.
fn holds_secret(secrets: &policy::Secrets, told: &ToolDefinition) -> bool {
    let texts =
        [Some(&told.name), told.title.as_ref(), told.description.as_ref()].into_iter().flatten().cloned();
    let data = [Some(&told.input), told.output.as_ref(), told.hints.as_ref()].into_iter().flatten();
    texts.chain(data.map(ToString::to_string)).any(|text| matches!(secrets.redact(&text), Cow::Owned(_)))
}

/// Returns an error if `--allow` names a tool that counts as sending, because it would have no effect.
///
/// # Errors
/// When `allow` names such a tool.
pub fn check_allowed(slot: &str, target: &Target, allow: &BTreeSet<String>) -> Result<(), Failure> {
    let Target::Resource(Resource::Mcp(server)) = target else { return Ok(()) };
    let sends =
        |method: &&String| server.tool(method).is_some_and(|tool| tool.effect == passable::Effect::Commit);
    let Some(method) = allow.iter().find(sends) else { return Ok(()) };
    let message = format!("`--allow {slot}.{method}`: nobody has said that this tool does not send");
    Err(Failure::new(Exit::Usage, message).help(format!(
        "say what it does where you name it, if you know it: `mcp:{}[{method}:reads]` or `[{method}:changes]`; what the server says \
         of itself counts for nothing",
        server.name
    )))
}

/// Checks that the bindings give the model no two tools with the same name.
///
/// # Errors
/// When two tools would have the same name.
pub fn check_apart(bindings: &[Binding]) -> Result<(), Failure> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for binding in bindings {
        for method in &binding.methods {
            let tool = format!("{}_{method}", binding.slot);
            let Some(other) = seen.insert(tool.clone(), &binding.slot) else { continue };
            let message =
                format!("the slots `{other}` and `{}` would give the model two tools `{tool}`", binding.slot);
            return Err(Failure::new(Exit::Usage, message).help("name fewer tools, or rename a slot"));
        }
    }
    Ok(())
}

/// Returns a server's descriptions of its tools, for the user who may endow some of them.
///
/// # Errors
/// When there is no such server, or the server cannot be asked.
pub fn tool_table(daemon: &HostDaemon, name: &str) -> Result<ToolTable, Failure> {
    let line = server_line(daemon, name)?;
    let told = list_tools(daemon, name, &line, Some(READY_TIMEOUT))?;
    let secrets = daemon.secrets();
    let row = |told: &ToolDefinition| {
        if holds_secret(&secrets, told) {
            // Nothing is shown of such a tool but that it exists.
            return ToolRow {
                name: Untrusted::new(secrets.redact(&told.name)),
                digest: told.digest(),
                description: Untrusted::new(""),
                signature: Untrusted::new(""),
                says_it_reads: false,
                problem: Some(format!("what the server says of it {HOLDS_SECRET}")),
            };
        }
        let pinned =
            caps::endow_server(std::slice::from_ref(told), &[(told.name.clone(), passable::Effect::Commit)]);
        let (signature, problem) = match pinned {
            Ok(tools) => {
                let server = ToolServer {
                    name: name.to_owned(),
                    line: line.clone(),
                    tools,
                    call_ms: DEFAULT_CALL_TIMEOUT_MS,
                };
                let formula = kernel::formula::Formula::Resource(Resource::Mcp(Box::new(server)));
                let interface = caps::interface_for(&formula);
                let signature = interface
                    .and_then(|it| it.methods.first().map(kernel::Method::signature))
                    .unwrap_or_default();
                (signature, None)
            }
            Err((_, why)) => (String::new(), Some(why)),
        };
        ToolRow {
            name: Untrusted::new(&told.name),
            digest: told.digest(),
            description: Untrusted::new(told.description.clone().unwrap_or_default()),
            signature: Untrusted::new(signature),
            says_it_reads: told.hints.as_ref().is_some_and(|hints| hints["readOnlyHint"] == true),
            problem,
        }
    };
    Ok(ToolTable { server: name.to_owned(), tools: told.iter().map(row).collect() })
}

fn list_tools(
    daemon: &HostDaemon,
    name: &str,
    line: &ServerTransport,
    patience: Option<Duration>,
) -> Result<Vec<ToolDefinition>, Failure> {
    let outside: Arc<dyn caps::HostServices> = daemon.server_services();
    caps::ask_tools(name, line, &outside, patience).map_err(|error| {
        let message = format!("the server {name}: {}", visible_line(&error.to_string()));
        let help = match error {
            caps::McpError::Blocked(finding) => finding.allowed.unwrap_or_default(),
            _ => {
                "`almoner mcp list` shows how it is started; a program needs what it reads (`--reads`), the \
                  directories that it works on (`--dir`), and `--net` if it talks to others"
                    .to_owned()
            }
        };
        Failure::new(Exit::Failure, message).help(help)
    })
}

/// Returns the present transport of a configured server.
fn server_line(daemon: &HostDaemon, name: &str) -> Result<ServerTransport, Failure> {
    let server = mcp_file::find(&daemon.place.config, name)?;
    let wrong = |what: String, help: &str| {
        Failure::new(Exit::Invalid, format!("the server {name}: {what}")).help(help)
    };
    match (&server.command, &server.url) {
        (Some(command), None) => {
            program(daemon, name, command, &server).map(|line| ServerTransport::Program(Box::new(line)))
        }
        (None, Some(url)) => web(url, &server)
            .map(|web| ServerTransport::Web(Box::new(web)))
            .map_err(|what| wrong(what, "mend it in mcp.json, or remove it and add it anew")),
        _ => Err(wrong("it is either a `command` or a `url`".to_owned(), "mend it in mcp.json")),
    }
}

fn web(url: &str, server: &Server) -> Result<Web, String> {
    let place = Place::parse(url).map_err(|e| e.to_string())?;
    let secret = server.key.as_ref().map(|key| {
        let header = server.header.clone().unwrap_or_else(|| "authorization".to_owned()).to_ascii_lowercase();
        let before = if header == "authorization" { "Bearer ".to_owned() } else { String::new() };
        SecretUse { name: key.clone(), header, before }
    });
    let address = match &server.address {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| format!("`{}` is no address", visible_line(text)))?),
    };
    Ok(Web { places: vec![place], methods: ["POST".to_owned()].into(), secret, idempotency: None, address })
}

fn program(
    daemon: &HostDaemon,
    name: &str,
    command: &str,
    server: &Server,
) -> Result<ServerProgram, Failure> {
    let wrong = |exit: Exit, what: String, help: &str| {
        Failure::new(exit, format!("the server {name}: {what}")).help(help.to_owned())
    };
    // The program keeps the path from the configuration, with its links. Python, for example, finds its environment
    // by that path.
    let program = caps::endow_program(command, command).map_err(|error| {
        let what = format!("the program {}: {error}", visible_line(command));
        wrong(Exit::NotFound, what, "name a program that is there, by its path")
    })?;
    let mut directories = Vec::new();
    for dir in &server.dirs {
        let (path, write) = match dir.strip_suffix(":rw") {
            Some(path) => (path, true),
            None => (dir.as_str(), false),
        };
        directories.push(ProgramDirectory {
            path: directories::resolve_directory(&daemon.protected_paths, path)?,
            write,
        });
    }
    let mut reads = Vec::new();
    for path in &server.reads {
        let real = std::fs::canonicalize(path).map_err(|e| {
            let what = format!("{}: {e}", visible_line(path));
            wrong(Exit::NotFound, what, "what it reads must be there")
        })?;
        daemon.protected_paths.check(&real)?;
        let real = real.into_os_string().into_string();
        reads.push(real.map_err(|_| wrong(Exit::Invalid, "a path is no text".to_owned(), "rename it"))?);
    }
    let writable: Vec<&str> = directories
        .iter()
        .filter(|directory| directory.write)
        .map(|directory| directory.path.as_str())
        .collect();
    let files = caps::named_files(&server.args, &writable);
    // The server may read the files that its arguments name, so these must not be the daemon's own.
    files.keys().try_for_each(|file| daemon.protected_paths.check(Path::new(file)))?;
    let own =
        std::iter::once(&program.path).chain(program.interpreters.iter().map(|it| &it.path)).chain(&reads);
    for file in own {
        if let Some(place) = writable.iter().find(|place| Path::new(file).starts_with(place)) {
            let what =
                format!("{} lies in {}, which it could change", visible_line(file), visible_line(place));
            return Err(wrong(Exit::Usage, what, "leave out `:rw`, or keep the program elsewhere"));
        }
    }
    let environment = server
        .env
        .iter()
        .map(|(variable, value)| {
            let setting = match value.strip_prefix(SECRET) {
                Some(secret) => Setting::Secret(secret.to_owned()),
                None => Setting::Text(value.clone()),
            };
            (variable.clone(), setting)
        })
        .collect();
    Ok(ServerProgram {
        program,
        arguments: server.args.clone(),
        files,
        environment,
        reads,
        directories,
        network: server.net,
        memory: server.memory.unwrap_or(DEFAULT_MEMORY),
    })
}
