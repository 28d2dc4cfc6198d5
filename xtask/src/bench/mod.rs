//! `cargo xtask bench`: release builds, measured; one table.

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

use crate::CommandStatus;
use crate::workspace::Workspace;

/// How often each thing is done, if the command line does not say.
const SAMPLES: usize = 20;

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let workspace = Workspace::read()?;
    let benched = library::names(&workspace).join(", ");
    let known = format!(
        "`run`, `release`, `kernel`, `captp`, `gates`{}{benched}",
        if benched.is_empty() { "; no crate has benches yet" } else { ", " }
    );
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
    print!("{}", table::render(&format!("bench {what}: {}", machine::describe()), &rows));
    let missed = rows.iter().any(|row| row.failed);
    Ok(if missed { CommandStatus::Failure } else { CommandStatus::Success })
}
