//! `almoner mcp`.

use std::path::{Path, PathBuf};

use passable::{visible, visible_line};

use super::mcp_import;
use crate::cli::mcp::{AddArgs, McpArgs, McpVerb};
use crate::session::Session;
use crate::ui::output;
use config::mcp_file::{self, Server, Servers};
use config::secret_variables::is_secret;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use control::tools::ToolTable;
use resource::mcp::is_server_name;
use resource::secret::PREFIX as SECRET;

/// Runs `almoner mcp`.
///
/// # Errors
/// When a server or a file does not exist, or an argument has the wrong form.
pub fn mcp(acting: &Session<'_>, args: &McpArgs) -> ExitResult {
    let config = &acting.place.config;
    match &args.verb {
        McpVerb::Add(args) => add(config, args),
        McpVerb::Import { files, dry_run } => import(config, files, *dry_run),
        McpVerb::List(json) => {
            let all = mcp_file::read(config)?;
            match json.json {
                true => output::json(&all)?,
                false => output::listing(&list(&all))?,
            }
            Ok(Exit::Ok)
        }
        McpVerb::Tools { name, json } => {
            if let Ok(server) = mcp_file::find(config, name) {
                output::progress(&format!(
                    "asking {name} what it has, for at most {} s: {}",
                    control::tools::READY_TIMEOUT.as_secs(),
                    visible_line(&server.describe())
                ));
            }
            let table = match acting.ask(Request::ServerTools { server: name.clone() })? {
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
            mcp_file::find(config, name)?;
            let mut all = mcp_file::read(config)?;
            all.servers.remove(name);
            mcp_file::write(config, &all)?;
            output::result(&format!("forgot {name}"))?;
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
        let hint = if tool.says_it_reads { ", says of itself that it only reads" } else { "" };
        text += &format!("{} ({}{hint})\n", tool.name.visible_line(), tool.digest.short());
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
    text + &format!("hand over with `-e SLOT=mcp:{}[TOOL,…]`\n", table.server)
}

fn add(config: &Path, args: &AddArgs) -> ExitResult {
    let usage = |what: String, help: &str| Failure::new(Exit::Usage, what).help(help.to_owned());
    if !is_server_name(&args.name) {
        let what = format!("`{}` is no name for a server", visible_line(&args.name));
        return Err(usage(what, "letters, digits, `-`, `_` and `.`, at most 40"));
    }
    let mut all = mcp_file::read(config)?;
    if all.servers.contains_key(&args.name) {
        let what = format!("there is a server `{}` already", args.name);
        return Err(Failure::new(Exit::Conflict, what)
            .help(format!("another name, or `almoner mcp remove {}` first", args.name)));
    }
    let server = match (&args.url, args.command.split_first()) {
        (Some(_), None) => Server {
            url: args.url.clone(),
            key: args.key.clone(),
            header: args.header.clone(),
            address: args.address.clone(),
            ..Server::default()
        },
        (None, Some((command, rest))) => program(args, command, rest)?,
        _ => {
            return Err(usage(
                "a server is a program or an address".to_owned(),
                "write `almoner mcp add NAME -- COMMAND ARGS…` or `almoner mcp add NAME URL`",
            ));
        }
    };
    if let Some(url) = &server.url {
        resource::web::Place::parse(url)
            .map_err(|e| usage(format!("{}: {e}", visible_line(url)), "write https://HOST[:PORT]/PATH"))?;
    }
    output::result(&format!("{}: {}", args.name, visible_line(&server.describe())))?;
    all.servers.insert(args.name.clone(), server);
    mcp_file::write(config, &all)?;
    output::note(&format!(
        "nothing was started or handed over; `almoner mcp tools {0}` shows its tools, `-e SLOT=mcp:{0}[TOOL]` hands them over",
        args.name
    ));
    Ok(Exit::Ok)
}

fn program(args: &AddArgs, command: &str, rest: &[String]) -> Result<Server, Failure> {
    let usage = |what: String, help: &str| Failure::new(Exit::Usage, what).help(help.to_owned());
    let command = crate::cli::program_path(Path::new(""), command)?;
    let mut env = std::collections::BTreeMap::new();
    for given in &args.env {
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
    let memory = match &args.memory {
        None => None,
        Some(size) => {
            Some(worker::definition::parse_bytes(size).filter(|bytes| *bytes > 0).ok_or_else(|| {
                usage(format!("--memory {}: this is no size", visible_line(size)), "write it like `1GiB`")
            })?)
        }
    };
    let mut dirs = Vec::new();
    for dir in &args.dir {
        let (path, manner) = match dir.strip_suffix(":rw") {
            Some(path) => (path, ":rw"),
            None => (dir.as_str(), ""),
        };
        dirs.push(format!("{}{manner}", crate::cli::absolute(path)?));
    }
    let mut reads =
        args.reads.iter().map(|path| crate::cli::absolute(path)).collect::<Result<Vec<_>, _>>()?;
    let scripts = std::iter::once(&command).chain(rest.iter().filter(|word| word.starts_with('/')));
    reads.extend(scripts.flat_map(|file| modules(Path::new(file))));
    reads.sort();
    reads.dedup();
    Ok(Server {
        command: Some(command),
        args: rest.to_vec(),
        env,
        reads,
        dirs,
        net: args.net,
        memory,
        ..Server::default()
    })
}

/// Returns the directories of a program's modules, if it lies in a `node_modules` folder or a virtual environment of
/// Python.
pub fn modules(program: &Path) -> Vec<String> {
    let texts =
        |paths: Vec<PathBuf>| paths.into_iter().filter_map(|path| path.to_str().map(str::to_owned)).collect();
    let Ok(real) = program.canonicalize() else { return vec![] };
    let is_modules = |dir: &&Path| dir.file_name().is_some_and(|name| name == "node_modules");
    if let Some(outermost) = real.ancestors().filter(is_modules).last() {
        return texts(vec![outermost.to_owned()]);
    }
    // A link to the interpreter leads out of the environment, so the place of the link comes first.
    let above = |path: &Path| Some(path.parent()?.parent()?.to_owned());
    for dir in [above(program), above(&real)].into_iter().flatten() {
        let Ok(settings) = std::fs::read_to_string(dir.join("pyvenv.cfg")) else { continue };
        // The libraries of Python itself lie in the installation from which the environment was made.
        let home = settings.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "home").then(|| PathBuf::from(value.trim()).parent().map(Path::to_owned))?
        });
        let ours = home.filter(|home| !home.starts_with("/usr") && home.components().count() > 2);
        return texts(std::iter::once(dir).chain(ours).collect());
    }
    vec![]
}

fn import(config: &Path, files: &[PathBuf], dry_run: bool) -> ExitResult {
    let mut all = mcp_file::read(config)?;
    let found = mcp_import::find_servers(files)?;
    let mut report = String::new();
    let mut taken = 0;
    for one in found {
        let from = visible_line(&one.from).into_owned();
        let name = visible_line(&one.name).into_owned();
        match one.server {
            Err(why) => report += &format!("✗ {name} ({from}): {}\n", visible_line(&why)),
            Ok(_) if all.servers.contains_key(&one.name) => {
                report += &format!("✗ {name} ({from}): there is one of this name already\n");
            }
            Ok(server) => {
                report += &format!("✓ {name} ({from}): {}\n", visible_line(&server.describe()));
                all.servers.insert(one.name, server);
                taken += 1;
            }
        }
        for note in one.notes {
            report += &format!("    {}\n", visible_line(&note));
        }
    }
    if taken > 0 && !dry_run {
        mcp_file::write(config, &all)?;
    }
    output::listing(&report)?;
    output::note(match (taken, dry_run) {
        (0, _) => "nothing was taken over",
        (_, true) => "nothing was changed: this is what would be taken over",
        _ => "nothing was started or handed over; `almoner mcp tools NAME` shows what a server has",
    });
    Ok(Exit::Ok)
}
