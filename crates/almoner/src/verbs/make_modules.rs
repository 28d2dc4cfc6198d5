//! `almoner make`.

use std::collections::BTreeMap;

use kernel::NamePath;
use kernel::command::Reply;
use passable::visible_line;

use super::eval;
use crate::cli::agents::MakeModulesArgs;
use crate::cli::modules;
use crate::session;
use crate::session::Session;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, GivenModules, Response};

/// Runs `almoner make`.
///
/// # Errors
/// When the program does not exist or cannot be run, or its `make` throws or exceeds a limit.
pub fn make(acting: &Session<'_>, args: &MakeModulesArgs) -> ExitResult {
    let act = AgentAct::Make {
        given: read_program(acting, &args.program)?,
        powers: session::parse_optional_path(args.powers.as_deref())?,
        env: parse_variables(&args.env)?,
        result_name: session::parse_optional_path(args.result.as_deref())?,
    };
    let response = acting.act("make", act)?;
    match response {
        Response::Reply(Reply::CodeQueued { promise, .. }) => {
            eval::print_result(acting, &response, promise, args.detach, args.json.json)
        }
        other => Err(unexpected(&other)),
    }
}

/// Returns the program at a path of this machine. If the path does not exist, the text is a name of the agent's.
fn read_program(acting: &Session<'_>, program: &str) -> Result<GivenModules, Failure> {
    if let Some(found) = modules::read(program)? {
        return Ok(found);
    }
    let none = || {
        Failure::new(
            Exit::NotFound,
            format!("there is no file, directory or name `{}`", visible_line(program)),
        )
        .help(format!("{} shows the names", acting.command("list")))
    };
    // A text that is no valid name was meant as a path. An unknown name may have been meant as a path too.
    let path = NamePath::parse(program).map_err(|_| none())?;
    acting.object(path.clone()).map_err(|e| if e.exit == Exit::NotFound { none() } else { e })?;
    Ok(GivenModules::Named { path })
}

fn parse_variables(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut all = BTreeMap::new();
    for text in given {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{}` is no variable", visible_line(text)))
                .help("write --env KEY=VALUE")
        })?;
        if all.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::new(Exit::Usage, format!("`{}` is there twice", visible_line(name)))
                .help("give each variable once"));
        }
    }
    Ok(all)
}
