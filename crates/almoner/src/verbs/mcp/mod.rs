//! `almoner mcp`.

mod entry;
mod import;
mod install;
mod modules;
mod package;
mod placeholders;
mod secret_words;
mod settings_file;
mod web_entry;

use std::collections::BTreeMap;
use std::path::Path;

use passable::{visible, visible_line};

use self::modules::modules;
use self::package::CommandLine;
use super::mcp_login;
use crate::cli::mcp::{AccessArgs, AddArgs, ChangeArgs, McpArgs, McpVerb};
use crate::session::Session;
use crate::ui::output;
use config::managed::{self, ADMINISTRATOR};
use config::mcp_file::{self, Server, Servers};
use config::place::Place;
use config::secret_variables::is_secret;
use config::settings;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use control::tools::ToolTable;
use resource::mcp::{DEFAULT_START_TIMEOUT_MS, is_server_name};
use resource::secret::PREFIX as SECRET;

/// Runs `almoner mcp`.
///
/// # Errors
/// When a server or a file does not exist, or an argument has the wrong form.
pub fn mcp(acting: &Session<'_>, args: &McpArgs) -> ExitResult {
    let config = &acting.place.config;
    match &args.verb {
        McpVerb::Add(args) => add(acting.place, args),
        McpVerb::Change(args) => change(config, args),
        McpVerb::Import(args) => import::import(acting.place, args),
        McpVerb::Login(args) => mcp_login::login(acting, args),
        McpVerb::Logout { server } => mcp_login::logout(acting, server),
        McpVerb::Logins(json) => mcp_login::logins(acting, json.json),
        McpVerb::List(json) => {
            let all = mcp_file::usable(config)?;
            match json.json {
                true => output::json(&all)?,
                false if all.servers.is_empty() => output::empty("no servers of tools are written down"),
                false => output::listing(&list(&all))?,
            }
            if managed::rules()?.servers().is_some() {
                output::note(&format!("{ADMINISTRATOR} has fixed these; mcp.json counts for nothing here"));
            }
            Ok(Exit::Ok)
        }
        McpVerb::Tools { name, timeout, json } => {
            let start_ms = timeout.as_deref().map(start_ms).transpose()?;
            if let Ok(server) = mcp_file::find(config, name) {
                let settings = settings::read(&settings::path(acting.place)).unwrap_or_default();
                let own = server.start.as_deref().and_then(resource::mcp::start_ms);
                let ms = start_ms.or(own).or(settings.mcp.start_ms).unwrap_or(DEFAULT_START_TIMEOUT_MS);
                output::progress(&format!(
                    "asking {name} what it has, for at most {}: {}",
                    resource::units::typed_duration(ms),
                    visible_line(&server.describe())
                ));
            }
            let request = Request::ServerTools { server: name.clone(), start_ms };
            let table = match acting.ask(request)? {
                Response::ServerTools(table) => *table,
                other => return Err(unexpected(&other)),
            };
            match json.json {
                true => output::json(&table)?,
                false => output::listing(&render_tools(&table))?,
            }
            Ok(Exit::Ok)
        }
        McpVerb::Remove { name } => {
            let mut all = mcp_file::read(config)?;
            if !all.servers.contains_key(name) {
                mcp_file::find(config, name)?;
                managed::rules()?.expect_own_servers()?;
            }
            let gone = all.servers.remove(name);
            let address = gone.as_ref().and_then(|server| server.url.clone());
            let address =
                address.filter(|url| !all.servers.values().any(|other| other.url.as_ref() == Some(url)));
            mcp_file::write(config, &all)?;
            output::result(&format!("forgot {name}"))?;
            if gone.is_some_and(|server| server.package.is_some()) {
                let place = acting.place.tool_servers().join(name);
                match std::fs::remove_dir_all(&place) {
                    Ok(()) => output::note(&format!("its package is gone from {}", output::path(&place))),
                    Err(error) => {
                        output::note(&format!("its package is still in {}: {error}", output::path(&place)))
                    }
                }
            }
            if let Some(address) = address {
                mcp_login::forget(acting, &address);
            }
            output::note("what was handed over of it stays until it is revoked: `almoner grants`");
            Ok(Exit::Ok)
        }
    }
}

fn list(all: &Servers) -> String {
    let line =
        |(name, server): (&String, &Server)| format!("{name:<16} {}\n", visible_line(&server.describe()));
    all.servers.iter().map(line).collect()
}

fn render_tools(table: &ToolTable) -> String {
    let mut text = String::new();
    for tool in &table.tools {
        let claim = match (tool.says_it_reads, tool.says_it_reaches_others) {
            (true, Some(false)) => ", says of itself that it only reads, and reaches nobody else: `:reads`",
            // Without a word about it, the protocol takes it that a tool reaches others.
            (true, _) => ", says of itself that it only reads, and may reach others: `:tells`",
            (false, Some(true)) => ", says of itself that it reaches others",
            (false, Some(false)) => ", says of itself that it reaches nobody else",
            (false, None) => "",
        };
        // A tool that only reads destroys nothing.
        let destroys = match tool.says_it_destroys.filter(|_| !tool.says_it_reads) {
            Some(true) => ", says of itself that it may destroy something",
            Some(false) => ", says of itself that it destroys nothing",
            None => "",
        };
        text += &format!("{} ({}{claim}{destroys})\n", tool.name.visible_line(), tool.digest.short());
        if !tool.signature.raw().is_empty() {
            text += &format!("  {}\n", tool.signature.visible_line());
        }
        for line in visible(tool.description.raw()).lines() {
            text += &format!("  │ {line}\n");
        }
        if let Some(problem) = &tool.problem {
            text += &format!("  cannot be handed over: {}\n", visible_line(problem));
        }
    }
    for note in &table.notes {
        text += &format!("! {}\n", visible_line(note));
    }
    let classes = "the class that you vouch for follows a tool: `:reads`, `:tells`, `:changes`, or `:sends` as without one";
    text + &format!("hand over with `-e SLOT=mcp:{}[TOOL,…]`; {classes}\n", table.server)
}

/// Reads the time that a server has to start.
fn start_ms(text: &str) -> Result<u64, Failure> {
    resource::mcp::start_ms(text).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("`{}` is no time for a start", visible_line(text)))
            .help("write it like `120s` or `5m`, at most an hour")
    })
}

fn usage(what: String, help: &str) -> Failure {
    Failure::new(Exit::Usage, what).help(help.to_owned())
}

fn add(place: &Place, args: &AddArgs) -> ExitResult {
    let config = &place.config;
    managed::rules()?.expect_own_servers()?;
    if !is_server_name(&args.name) {
        let what = format!("`{}` is no name for a server", visible_line(&args.name));
        return Err(usage(what, "letters, digits, `-`, `_` and `.`, at most 40"));
    }
    let mut all = mcp_file::read(config)?;
    if all.servers.contains_key(&args.name) {
        let what = format!("there is a server `{}` already", args.name);
        return Err(Failure::new(Exit::Conflict, what)
            .help(format!(
                "`almoner mcp change {0} …` changes what it gets (`almoner mcp change --help`); for another program or address: \
                 `almoner mcp remove {0}`, then the same command",
                args.name
            )));
    }
    let mut server = Server::default();
    apply(&mut server, &args.access)?;
    match (&args.url, args.command.split_first()) {
        (Some(url), None) => {
            if let Some(option) = program_option(&args.access) {
                return Err(usage(
                    format!("`{option}` is for a program, and this is an address"),
                    "leave it out",
                ));
            }
            server.url = Some(url.clone());
        }
        (None, Some((command, rest))) => {
            if let Some(option) = web_option(&args.access) {
                return Err(usage(
                    format!("`{option}` is for an address, and this is a program"),
                    "leave it out",
                ));
            }
            match package::read(command, rest) {
                Ok(CommandLine::Package(spec)) => {
                    server.args = spec.arguments.clone();
                    let mut asked = import::Consent { yes: &args.yes, again: None };
                    let reads = std::mem::take(&mut server.reads);
                    server = import::install(place, &args.name, &spec, server, &mut asked)??;
                    server.reads.extend(reads);
                }
                // A line that cannot be followed may still name a program of this machine.
                _ => program(&mut server, command, rest)?,
            }
        }
        _ => {
            return Err(usage(
                "a server is a program or an address".to_owned(),
                "write `almoner mcp add NAME -- COMMAND ARGS…` or `almoner mcp add NAME URL`",
            ));
        }
    }
    if let Some(url) = &server.url {
        let place = url.split_once('?').map_or(url.as_str(), |(place, _)| place);
        resource::web::Place::parse(place)
            .map_err(|e| usage(format!("{}: {e}", visible_line(url)), "write https://HOST[:PORT]/PATH"))?;
    }
    output::result(&format!("{}: {}", args.name, visible_line(&server.describe())))?;
    if server.command.is_some() {
        daemon::confinement_note().iter().for_each(|note| output::note(note));
    }
    all.servers.insert(args.name.clone(), server);
    mcp_file::write(config, &all)?;
    output::note(&format!(
        "nothing was started or handed over; `almoner mcp tools {0}` shows its tools, `-e SLOT=mcp:{0}[TOOL]` hands them over",
        args.name
    ));
    Ok(Exit::Ok)
}

/// Changes what a server gets, and leaves its program or its address as it is.
fn change(config: &Path, args: &ChangeArgs) -> ExitResult {
    managed::rules()?.expect_own_servers()?;
    let mut server = mcp_file::find(config, &args.name)?;
    let wrong = match server.url {
        Some(_) => program_option(&args.access),
        None => web_option(&args.access),
    };
    if let Some(option) = wrong {
        let what = if server.url.is_some() { "an address" } else { "a program" };
        return Err(usage(format!("`{option}` does not fit {}, which is {what}", args.name), "leave it out"));
    }
    apply(&mut server, &args.access)?;
    if args.no_net {
        server.net = false;
    }
    output::result(&format!("{}: {}", args.name, visible_line(&server.describe())))?;
    let mut all = mcp_file::read(config)?;
    all.servers.insert(args.name.clone(), server);
    mcp_file::write(config, &all)?;
    output::note("grants that exist stay as they were; hand the server over anew to use the change");
    Ok(Exit::Ok)
}

/// Returns an option that is only for programs, if one is given.
fn program_option(access: &AccessArgs) -> Option<&'static str> {
    [
        (!access.env.is_empty(), "--env"),
        (!access.reads.is_empty(), "--reads"),
        (!access.dir.is_empty(), "--dir"),
        (access.net, "--net"),
        (access.exec, "--exec"),
        (access.memory.is_some(), "--memory"),
    ]
    .into_iter()
    .find_map(|(given, option)| given.then_some(option))
}

/// Returns an option that is only for addresses, if one is given.
fn web_option(access: &AccessArgs) -> Option<&'static str> {
    [
        (access.key.is_some(), "--key"),
        (!access.header.is_empty(), "--header"),
        (access.address.is_some(), "--address"),
    ]
    .into_iter()
    .find_map(|(given, option)| given.then_some(option))
}

/// Gives a server what the options say.
fn apply(server: &mut Server, access: &AccessArgs) -> Result<(), Failure> {
    server.env.extend(variables(&access.env)?);
    server.net |= access.net;
    server.exec |= access.exec;
    if let Some(size) = &access.memory {
        let bytes = worker::definition::parse_bytes(size).filter(|bytes| *bytes > 0);
        server.memory = Some(bytes.ok_or_else(|| {
            usage(format!("--memory {}: this is no size", visible_line(size)), "write it like `1GiB`")
        })?);
    }
    for dir in &access.dir {
        let (path, manner) = match dir.strip_suffix(":rw") {
            Some(path) => (path, ":rw"),
            None => (dir.as_str(), ""),
        };
        let path = crate::cli::absolute(path)?;
        server.dirs.retain(|known| known.strip_suffix(":rw").unwrap_or(known) != path);
        server.dirs.push(format!("{path}{manner}"));
    }
    for path in &access.reads {
        server.reads.push(crate::cli::absolute(path)?);
    }
    server.reads.sort();
    server.reads.dedup();
    server.key = access.key.clone().or(server.key.take());
    server.address = access.address.clone().or(server.address.take());
    for header in &access.header {
        match header.split_once('=') {
            // The header in which the key goes.
            None if server.key.is_some() => server.header = Some(header.to_ascii_lowercase()),
            None => {
                return Err(usage(
                    format!("--header {}: there is no `=`, and no key for it", visible_line(header)),
                    "write NAME=VALUE, NAME=secret:SECRET, or `--key SECRET --header NAME`",
                ));
            }
            Some((name, value)) => {
                if value.strip_prefix(SECRET).is_none() && is_secret(name, value) {
                    let what = format!("--header {}: this looks like a secret", visible_line(name));
                    let help = format!(
                        "keep it in the vault, `almoner secret set NAME --for URL`, and write `--header {}=secret:NAME`",
                        visible_line(name)
                    );
                    return Err(usage(what, &help));
                }
                server.headers.insert(name.to_ascii_lowercase(), value.to_owned());
            }
        }
    }
    if let Some(start) = &access.start {
        start_ms(start)?;
        server.start = Some(start.clone());
    }
    Ok(())
}

fn variables(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut env = BTreeMap::new();
    for given in given {
        let (name, value) = given.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            usage(format!("--env {}: there is no `=`", visible_line(given)), "write NAME=VALUE")
        })?;
        if value.strip_prefix(SECRET).is_none() && is_secret(name, value) {
            let what = format!("--env {}: this looks like a secret", visible_line(name));
            let help = format!(
                "keep it in the vault, `almoner secret set {name}`, and write `--env {name}=secret:{name}`"
            );
            return Err(usage(what, &help));
        }
        env.insert(name.to_owned(), value.to_owned());
    }
    Ok(env)
}

/// Gives a server its program, its arguments, and the places of its modules.
fn program(server: &mut Server, command: &str, rest: &[String]) -> Result<(), Failure> {
    let command = crate::cli::program_path(Path::new(""), command)?;
    let scripts = std::iter::once(&command).chain(rest.iter().filter(|word| word.starts_with('/')));
    server.reads.extend(scripts.flat_map(|file| modules(Path::new(file))));
    server.reads.sort();
    server.reads.dedup();
    server.command = Some(command);
    server.args = rest.to_vec();
    Ok(())
}

#[cfg(test)]
mod tests {
    use control::tools::ToolRow;
    use passable::Untrusted;

    use super::*;

    #[test]
    fn hints_of_a_tool_are_shown_as_claims_of_the_server() {
        for (reads, reaches, destroys, expected) in [
            (false, None, None, "x (07070707)"),
            (
                false,
                Some(true),
                Some(true),
                "that it reaches others, says of itself that it may destroy something)",
            ),
            (
                false,
                Some(false),
                Some(false),
                "reaches nobody else, says of itself that it destroys nothing)",
            ),
            (true, Some(false), Some(true), "that it only reads, and reaches nobody else: `:reads`)"),
        ] {
            let tool = ToolRow {
                name: Untrusted::new("x"),
                digest: kernel::BlobHash([7; 32]),
                description: Untrusted::new(""),
                signature: Untrusted::new(""),
                says_it_reads: reads,
                says_it_reaches_others: reaches,
                says_it_destroys: destroys,
                problem: None,
            };
            let shown = render_tools(&ToolTable { server: "s".to_owned(), tools: vec![tool], notes: vec![] });
            assert!(shown.contains(expected) && shown.contains("`:changes`"), "{shown}");
        }
    }
}
