//! The binding of tool servers to slots. The daemon asks a server for its tools once, and pins the named ones.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use kernel::command::{Binding, Target};
use passable::{Untrusted, visible_line};
use resource::mcp::{
    DEFAULT_CALL_TIMEOUT_MS, DEFAULT_START_TIMEOUT_MS, ServerProgram, ServerTransport, ToolClass,
    ToolDefinition, ToolServer,
};
use resource::programs::ProgramDirectory;
use resource::web::{Place, SecretUse, Web};

use crate::files::directories;
use crate::state::confinement;
use crate::state::daemon::HostDaemon;
use config::mcp_file::{self, DEFAULT_MEMORY, Server, setting};
use config::settings;
use control::exit::{Exit, Failure};
use control::tools::{ToolRow, ToolTable};
use passable::shell_word;
use resource::{McpSpec, Resource};

/// The maximum length of a tool's name for a model.
const MAX_TOOL_NAME_LEN: usize = 64;
/// The rule of the finding that the vault is locked.
const LOCKED: &str = "http/locked";

/// Returns the tool server that is bound to a slot.
///
/// # Errors
/// When there is no such server, the server cannot be asked, or it has no such tools.
pub fn resolve(daemon: &HostDaemon, slot: &str, given: &McpSpec) -> Result<Resource, Failure> {
    let server = tool_server(daemon, &given.server, given.start_ms)?;
    let told = list_tools(daemon, &server)?;
    let secrets = daemon.secrets();
    let named = |told: &&ToolDefinition| given.tools.iter().any(|(name, _)| *name == told.name);
    if let Some(tool) = told.tools.iter().filter(named).find(|told| holds_secret(&secrets, told)) {
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
        let has: Vec<_> = told.tools.iter().map(|told| visible_line(&told.name).into_owned()).collect();
        let mut help = format!("it has: {}", has.join(", "));
        if let Some((name, word)) =
            tool.rsplit_once(':').filter(|(name, _)| told.tools.iter().any(|told| told.name == *name))
        {
            help = format!(
                "`{}` is no class of a tool: after `{}` follows one of {}, or nothing",
                visible_line(&format!(":{word}")),
                visible_line(name),
                ToolClass::all_words()
            );
        }
        Failure::new(Exit::Usage, message).help(help)
    })?;
    if let Some(tool) = tools.iter().find(|tool| slot.len() + 1 + tool.method.len() > MAX_TOOL_NAME_LEN) {
        let message = format!("slot `{slot}`: a model cannot say `{slot}_{}`: it is too long", tool.method);
        return Err(Failure::new(Exit::Usage, message).help("give the slot a shorter name"));
    }
    let call_ms = given.call_ms.unwrap_or(DEFAULT_CALL_TIMEOUT_MS);
    Ok(Resource::Mcp(Box::new(ToolServer { tools, call_ms, ..server })))
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
        "say what it does where you name it, if you know it: `mcp:{}[{method}:reads]`, `[{method}:tells]` or \
         `[{method}:changes]`; what the server says of itself counts for nothing",
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
pub fn tool_table(daemon: &HostDaemon, name: &str, start_ms: Option<u64>) -> Result<ToolTable, Failure> {
    let server = tool_server(daemon, name, start_ms)?;
    let told = list_tools(daemon, &server)?;
    let secrets = daemon.secrets();
    let row = |tool: &ToolDefinition| {
        if holds_secret(&secrets, tool) {
            // Nothing is shown of such a tool but that it exists.
            return ToolRow {
                name: Untrusted::new(secrets.redact(&tool.name)),
                digest: tool.digest(),
                description: Untrusted::new(""),
                signature: Untrusted::new(""),
                says_it_reads: false,
                says_it_reaches_others: None,
                says_it_destroys: None,
                problem: Some(format!("what the server says of it {HOLDS_SECRET}")),
            };
        }
        let pinned = caps::endow_server(&told, &[(tool.name.clone(), ToolClass::Sends)]);
        let (signature, problem) = match pinned {
            Ok(tools) => {
                let server = ToolServer { tools, ..server.clone() };
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
            name: Untrusted::new(&tool.name),
            digest: tool.digest(),
            description: Untrusted::new(tool.description.clone().unwrap_or_default()),
            signature: Untrusted::new(signature),
            says_it_reads: tool.says_it_reads(),
            says_it_reaches_others: tool.says_it_reaches_others(),
            says_it_destroys: tool.says_it_destroys(),
            problem,
        }
    };
    let faulty = |tool: &caps::FaultyTool| ToolRow {
        name: Untrusted::new(secrets.redact(&tool.name)),
        digest: tool.digest,
        description: Untrusted::new(""),
        signature: Untrusted::new(""),
        says_it_reads: false,
        says_it_reaches_others: None,
        says_it_destroys: None,
        problem: Some(tool.reason.clone()),
    };
    let tools = told.tools.iter().map(row).chain(told.faulty.iter().map(faulty)).collect();
    Ok(ToolTable { server: name.to_owned(), tools, notes: told.notes })
}

fn list_tools(daemon: &HostDaemon, server: &ToolServer) -> Result<caps::ToolListing, Failure> {
    if let (ServerTransport::Program(_), Some(fault)) = (&server.line, confinement::fault()) {
        let name = &server.name;
        let message =
            format!("cannot start the server {name}: this machine cannot confine programs: {fault}");
        let help = "`almoner doctor sandbox` says what is missing; a server at an address needs none of it";
        return Err(Failure::new(Exit::Failure, message).help(help));
    }
    let outside: Arc<dyn caps::HostServices> = daemon.server_services();
    caps::ask_tools(server, &outside).map_err(|error| {
        let name = &server.name;
        let message = format!("the server {name}: {}", visible_line(&error.to_string()));
        let wanted = match &server.line {
            ServerTransport::Web(web) => {
                web.places.first().filter(|place| daemon.logins.wanted(&caps::login_address(place)).is_some())
            }
            ServerTransport::Program(_) => None,
        };
        if wanted.is_some() {
            let message = format!("the server {name} wants a login: {}", visible_line(&error.to_string()));
            let help = format!("`almoner mcp login {name}`; or {}", way_out(server, &error));
            return Failure::new(Exit::NeedsYou, message).help(help);
        }
        let is_locked = matches!(&error, caps::McpError::Blocked(finding) if finding.rule == LOCKED);
        let exit = if is_locked { Exit::NeedsYou } else { Exit::Failure };
        Failure::new(exit, message).help(way_out(server, &error))
    })
}

/// Returns the advice for a server that cannot be asked.
fn way_out(server: &ToolServer, error: &caps::McpError) -> String {
    use caps::McpError as E;
    let name = &server.name;
    let origin = match &server.line {
        ServerTransport::Web(web) => web.places.first().map(|place| place.origin.to_string()),
        ServerTransport::Program(_) => None,
    };
    match (error, origin) {
        (E::Blocked(finding), _) => {
            let allowed = finding.allowed.clone().unwrap_or_default();
            match allowed.split('`').nth(1) {
                Some(command) => format!("`{command}`, then the same command"),
                None => allowed,
            }
        }
        (E::Denied { .. }, Some(_)) if error.lacking_scope().is_some() => {
            let lacking = error.lacking_scope().unwrap_or_default();
            let lacking: String =
                lacking.split(' ').map(|scope| format!(" --scope {}", shell_word(scope))).collect();
            format!("`almoner mcp login {name}{lacking}`; name the other scopes too that you still want")
        }
        (E::Denied { .. }, Some(origin)) => match server.secrets().first() {
            Some(key) => format!(
                "is the secret {key} right, and has it what this server wants? `almoner secret set {key} --for {origin}` \
                 replaces it"
            ),
            None => format!(
                "give it a key: `almoner secret set {name}-key --for {origin}`, then `almoner mcp change {name} --key {name}-key`"
            ),
        },
        (E::TimedOut { .. }, _) => format!(
            "`almoner mcp tools {name} --timeout 5m` waits longer; so do `mcp:{name}[…]?start=5m`, and `start = \"5m\"` \
             below `[mcp]` in config.toml"
        ),
        (E::Redirected(_), _) => {
            format!(
                "if that is the server that you mean: `almoner mcp remove {name}`, and add it anew with that address"
            )
        }
        (E::OtherVersion { .. }, _) => {
            "an older or a newer version of the server may speak one of these; ask who publishes it"
                .to_owned()
        }
        (E::ConnectionClosed { .. }, _) => {
            "try again; if it stays so, this is the fault of the server, or of something between it and you"
                .to_owned()
        }
        (E::Refused { .. } | E::InvalidAnswer { .. } | E::Status { .. } | E::SessionExpired, _) => {
            format!(
                "this is the server's fault, or it is no server of tools; `almoner mcp list` shows where {name} is"
            )
        }
        (_, Some(origin)) => {
            format!("is {origin} right, and can it be reached from here? `almoner mcp list` shows it")
        }
        (_, None) => format!(
            "`almoner mcp list` shows how it is started; a program needs what it reads, the directories that it works on, \
             and the network if it talks to others: `almoner mcp change {name} --reads PATH --dir PATH:rw --net`"
        ),
    }
}

/// Returns a configured server without any of its tools. The time for its start is that of the user's words, of the
/// server's own entry, or of the settings.
fn tool_server(daemon: &HostDaemon, name: &str, start_ms: Option<u64>) -> Result<ToolServer, Failure> {
    let server = mcp_file::find(&daemon.place.config, name)?;
    let wrong = |what: String, help: &str| {
        Failure::new(Exit::Invalid, format!("the server {name}: {what}")).help(help)
    };
    let mend = "mend it in mcp.json, or remove it and add it anew";
    let own_start = match &server.start {
        None => None,
        Some(text) => Some(resource::mcp::start_ms(text).ok_or_else(|| {
            wrong(format!("`start` is `{}`", visible_line(text)), "write it like `120s`, at most an hour")
        })?),
    };
    // Settings that cannot be read are told of elsewhere, and the server has the usual time.
    let settings = settings::read(&settings::path(&daemon.place)).unwrap_or_default();
    let start_ms = start_ms.or(own_start).or(settings.mcp.start_ms).unwrap_or(DEFAULT_START_TIMEOUT_MS);
    let mut headers = BTreeMap::new();
    let mut query = String::new();
    let line = match (&server.command, &server.url) {
        (Some(command), None) => ServerTransport::Program(Box::new(program(daemon, name, command, &server)?)),
        (None, Some(url)) => {
            headers = server
                .headers
                .iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), setting(value)))
                .collect();
            let (url, asked) = url.split_once('?').unwrap_or((url, ""));
            asked.clone_into(&mut query);
            ServerTransport::Web(Box::new(web(url, &server).map_err(|what| wrong(what, mend))?))
        }
        _ => return Err(wrong("it is either a `command` or a `url`".to_owned(), "mend it in mcp.json")),
    };
    Ok(ToolServer {
        name: name.to_owned(),
        line,
        tools: vec![],
        call_ms: DEFAULT_CALL_TIMEOUT_MS,
        start_ms,
        headers,
        query,
    })
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
        let help = match config::managed::current().is_ok_and(|rules| rules.servers().is_some()) {
            true => config::managed::HELP.to_owned(),
            false => format!("`almoner mcp remove {name}`, then `almoner mcp add {name} -- COMMAND`"),
        };
        wrong(Exit::NotFound, what, &help)
    })?;
    let mut directories = Vec::new();
    for (path, write) in server.directories() {
        directories.push(ProgramDirectory {
            path: directories::resolve_directory(&daemon.protected_paths, path)?,
            write,
            staged_slot: None,
        });
    }
    let mut reads = Vec::new();
    for path in &server.reads {
        let real = std::fs::canonicalize(path).map_err(|e| {
            let what = format!("cannot read {}: {e}", visible_line(path));
            wrong(Exit::NotFound, what, "what it reads must be there")
        })?;
        if !is_installed(daemon, name, &real) {
            daemon.protected_paths.check(&real)?;
        }
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
    let foreign = files.keys().map(Path::new).filter(|file| !is_installed(daemon, name, file));
    foreign.into_iter().try_for_each(|file| daemon.protected_paths.check(file))?;
    let own =
        std::iter::once(&program.path).chain(program.interpreters.iter().map(|it| &it.path)).chain(&reads);
    for file in own {
        if let Some(place) = writable.iter().find(|place| Path::new(file).starts_with(place)) {
            let what =
                format!("{} lies in {}, which it could change", visible_line(file), visible_line(place));
            return Err(wrong(Exit::Usage, what, "leave out `:rw`, or keep the program elsewhere"));
        }
    }
    let environment = server.env.iter().map(|(variable, value)| (variable.clone(), setting(value))).collect();
    let trees = match &server.package {
        None => BTreeMap::new(),
        Some(package) => {
            let digest = package.tree.parse().map_err(|_| {
                wrong(Exit::Invalid, "the digest of its package cannot be read".to_owned(), "import it anew")
            })?;
            BTreeMap::from([(package.directory.clone(), digest)])
        }
    };
    Ok(ServerProgram {
        program,
        arguments: server.args.clone(),
        files,
        trees,
        environment,
        reads,
        directories,
        network: server.net,
        starts_others: server.exec,
        memory: server.memory.unwrap_or(DEFAULT_MEMORY),
    })
}

/// Returns whether a file, given by its real path, belongs to the package that was installed for this server.
fn is_installed(daemon: &HostDaemon, name: &str, file: &Path) -> bool {
    let directory = std::fs::canonicalize(daemon.place.tool_servers().join(name));
    directory.is_ok_and(|directory| file.starts_with(directory))
}
