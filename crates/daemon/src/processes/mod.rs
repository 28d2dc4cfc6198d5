//! The confined processes that the daemon starts. Each is this program, called with a hidden verb.

pub mod code_reader;
pub mod git_host;
pub mod model_host;
pub mod vat_host;

use std::io::Write as _;
use std::path::Path;

use control::exit::{Exit, ExitResult, Failure};

/// A confined process, by the hidden verb that starts it.
#[derive(Clone, Copy, Debug)]
pub enum ConfinedProcess<'a> {
    /// Holds a local model. Its weights are in this file.
    Model(&'a Path),
    /// Runs guest code.
    Vat,
    /// Reads proposed code once.
    CodeReader,
    /// Reads or changes a repository once.
    Git,
    /// Starts one confined program, or tries one thing that a confined process must not do.
    Sandbox(&'a [String]),
}

/// Is the whole life of a confined process.
///
/// # Errors
/// When it cannot be confined, or its streams break.
pub fn main(host: ConfinedProcess<'_>) -> ExitResult {
    match host {
        ConfinedProcess::Model(weights) => model_host::serve(weights),
        ConfinedProcess::Vat => vat_host::serve(),
        ConfinedProcess::CodeReader => code_reader::serve(),
        ConfinedProcess::Git => git_host::serve(),
        ConfinedProcess::Sandbox(words) => run_sandbox(words),
    }
}

/// Is the warden of one program. With `try`, it tries one thing as a program; with `host`, as the host of a local model.
fn run_sandbox(words: &[String]) -> ExitResult {
    let failed = |what: String| {
        Failure::new(Exit::Failure, what).help("`almoner doctor` says what can be confined here")
    };
    let attempt = |name: &str, arguments: &[String]| -> ExitResult {
        let outcome = sandbox::attempt(name, arguments).map_err(failed)?;
        writeln!(std::io::stdout().lock(), "{outcome}").map_err(|e| failed(e.to_string()))?;
        Ok(Exit::Ok)
    };
    match words {
        [] => {
            sandbox::warden().map_err(|error| failed(error.to_string()))?;
            Ok(Exit::Ok)
        }
        [first, weights, name, arguments @ ..] if first == "host" => {
            model_host::confine(Path::new(weights))?;
            attempt(name, arguments)
        }
        [first, name, arguments @ ..] if first == "try" => attempt(name, arguments),
        _ => {
            Err(Failure::new(Exit::Usage, "the sandbox is started by the daemon")
                .help("see `almoner --help`"))
        }
    }
}
