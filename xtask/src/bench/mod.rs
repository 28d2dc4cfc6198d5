//! `cargo xtask bench`: release builds, measured; one table.

mod agentdojo;
mod captp;
mod gates;
mod installation;
mod kernel;
mod library;
mod machine;
mod measure;
mod release_build;
mod run;
mod table;
mod vat;

use anyhow::Result;

use self::table::Row;
use crate::CommandStatus;
use crate::workspace::Workspace;

/// How often each thing is done, if the command line does not say.
const SAMPLES: usize = 20;

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let workspace = Workspace::read()?;
    let benched = library::names(&workspace).join(", ");
    let known = format!(
        "`run`, `release`, `kernel`, `captp`, `gates`, `agentdojo`{}{benched}",
        if benched.is_empty() { "; no crate has benches yet" } else { ", " }
    );
    if let [what, rest @ ..] = arguments
        && what == "agentdojo"
    {
        return match agentdojo::sample(rest) {
            Ok(sample) => Ok(report(what, &agentdojo::rows(&workspace, sample, SAMPLES)?)),
            Err(wrong) => Ok(CommandStatus::Usage(wrong)),
        };
    }
    let (what, samples) = match arguments {
        [what] => (what, SAMPLES),
        [what, count] => match count.parse() {
            Ok(count) if count > 0 => (what, count),
            _ => return Ok(CommandStatus::Usage(format!("`{count}` is no number of samples"))),
        },
        _ => {
            return Ok(CommandStatus::Usage(format!(
                "`bench` takes what to measure ({known}) and a number of samples"
            )));
        }
    };
    let rows = match what.as_str() {
        "run" => run::rows(&workspace, samples)?,
        "release" => release_build::rows(&workspace)?,
        "captp" => captp::rows(&workspace, samples)?,
        "gates" => gates::rows(&workspace, samples)?,
        "kernel" => kernel::rows(&workspace, samples)?,
        "vat" => [library::rows(&workspace, "vat", samples)?, vat::rows(&workspace)?].concat(),
        name if library::names(&workspace).contains(&name) => library::rows(&workspace, name, samples)?,
        other => return Ok(CommandStatus::Usage(format!("nothing measures `{other}`; there is {known}"))),
    };
    Ok(report(what, &rows))
}

/// Prints the table. The status is a failure if something could not be measured.
fn report(what: &str, rows: &[Row]) -> CommandStatus {
    print!("{}", table::render(&format!("bench {what}: {}", machine::describe()), rows));
    let missed = rows.iter().any(|row| row.failed);
    if missed { CommandStatus::Failure } else { CommandStatus::Success }
}
