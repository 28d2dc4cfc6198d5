//! `almoner define`, `edit` and `request-evaluation`.

use std::collections::BTreeMap;
use std::path::Path;

use kernel::NamePath;
use kernel::command::MailAct;
use passable::Untrusted;

use super::run;
use crate::cli;
use crate::cli::agents::{DefineArgs, EditArgs, RequestEvaluationArgs};
use crate::session;
use crate::session::{Session, print_reply, print_request};
use config::worker_file;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::AgentAct;

/// Runs `almoner define`.
///
/// # Errors
/// When the program cannot be used. When the command waits for the result, and the program is refused.
pub fn define(acting: &Session<'_>, args: &DefineArgs) -> ExitResult {
    let program = read(&args.file, &args.slot)?;
    let act = AgentAct::Define {
        to: session::parse_path(&args.to)?,
        name: program.name,
        source: program.source,
        includes: program.includes,
        slots: program.slots,
        result_name: session::parse_optional_path(args.ask.result.as_deref())?,
        edit: None,
        done: None,
    };
    print_request(acting, &acting.act("define", act)?, &args.ask)
}

/// Runs `almoner edit`.
///
/// # Errors
/// When the program cannot be used, or the message is no definition.
pub fn edit(acting: &Session<'_>, args: &EditArgs) -> ExitResult {
    let number = session::parse_message_number(&args.message)?;
    let program = read(&args.file, &args.slot)?;
    let act = AgentAct::Define {
        // The changed copy goes to the agent that has the original.
        to: session::parse_path("@self")?,
        name: program.name,
        source: program.source,
        includes: program.includes,
        slots: program.slots,
        result_name: None,
        edit: Some(number),
        done: None,
    };
    print_reply(&acting.act("edit", act)?, args.json.json)
}

/// A program in the form in which it is sent to the daemon.
#[derive(Debug)]
struct Program {
    name: String,
    source: String,
    includes: BTreeMap<String, String>,
    slots: BTreeMap<String, (String, String)>,
}

fn read(file: &str, slots: &[String]) -> Result<Program, Failure> {
    let mut holes = BTreeMap::new();
    for text in slots {
        let hole = cli::parse_field_spec(text)?;
        if holes.insert(hole.name.clone(), (hole.label, hole.text)).is_some() {
            return Err(Failure::new(Exit::Usage, format!("the slot `{}` is there twice", hole.name))
                .help("name each once"));
        }
    }
    let is_worker = file.ends_with(".worker") || file.ends_with(".worker.md");
    if is_worker && !holes.is_empty() {
        return Err(Failure::new(Exit::Usage, "cannot take `--slot`: a worker file names its slots itself")
            .help("leave `--slot` out, and write them under `slots:` in the file"));
    }
    if is_worker {
        let bundle = worker_file::load(Path::new(file))?;
        run::check(&bundle)?;
        let (name, mut source) = (bundle.name, bundle.source);
        if !source.trim_start().starts_with("---") {
            // A worker file may consist of a prompt alone. Without front matter, the daemon would take it for code.
            source = format!("---\n---\n{source}");
        }
        return Ok(Program { name, source, includes: bundle.includes, slots: holes });
    }
    let (name, source) = match file {
        "-" => ("stdin".to_owned(), cli::stdin()?),
        file => {
            let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, cli::read_text(file)?)
        }
    };
    if source.trim().is_empty() {
        return Err(Failure::new(Exit::Invalid, "cannot propose the program: it is empty")
            .help("name a file that is not"));
    }
    Ok(Program { name, source, includes: BTreeMap::new(), slots: holes })
}

/// Runs `almoner request-evaluation`.
///
/// # Errors
/// When the request cannot be sent. When the command waits for the result, and the request is refused.
pub fn request_evaluation(acting: &Session<'_>, args: &RequestEvaluationArgs) -> ExitResult {
    let source = read_code(&args.source)?;
    let (names, paths) = parse_names(&args.names)?;
    let act = MailAct::RequestEvaluation {
        source: Untrusted::new(source),
        names,
        paths,
        result_name: session::parse_optional_path(args.ask.result.as_deref())?,
    };
    print_request(acting, &acting.mail("request-evaluation", act)?, &args.ask)
}

/// Returns the code of an argument, which is the code itself, `@FILE`, or `-`.
///
/// # Errors
/// When the file cannot be read.
pub fn read_code(given: &str) -> Result<String, Failure> {
    match given {
        "-" => cli::stdin(),
        text => match text.strip_prefix('@') {
            Some(file) => cli::read_text(file),
            None => Ok(text.to_owned()),
        },
    }
}

/// Parses `NAME` or `IN-THE-CODE=NAME` into names in the code and the agent's names for their values.
///
/// # Errors
/// When a name is not valid.
pub fn parse_names(given: &[String]) -> Result<(Vec<String>, Vec<NamePath>), Failure> {
    let (mut names, mut paths) = (Vec::new(), Vec::new());
    for text in given {
        let (name, path) = text.split_once('=').unwrap_or((text, text));
        names.push(name.to_owned());
        paths.push(session::parse_path(path)?);
    }
    Ok((names, paths))
}
