//! The confined processes that the daemon starts. Each runs this executable with a hidden verb.

pub mod code_reader;
pub mod document_reader;
pub mod git_host;
pub mod model_host;
#[cfg(feature = "failpoints")]
mod planted_fault;
pub mod vat_host;

use std::io::Write as _;
use std::path::Path;

use self::document_reader::ReaderLimits;
use control::exit::{Exit, ExitResult, Failure};

/// A confined process, by the hidden verb that starts it.
#[derive(Clone, Copy, Debug)]
pub enum ConfinedProcess<'a> {
    /// The host of a local model, whose weights are in this file.
    Model(&'a Path),
    /// The process that runs guest code.
    Vat,
    /// The process that reads proposed code once.
    CodeReader,
    /// The process that reads one document.
    DocumentReader(ReaderLimits),
    /// The process that reads or changes a git repository once.
    Git,
    /// The process that starts one confined program, or that tries one action that a confined process must not be
    /// able to take.
    Sandbox(&'a [String]),
}

/// Runs a confined process from its start to its end.
///
/// # Errors
/// When the process cannot be confined, or its streams break.
pub fn main(host: ConfinedProcess<'_>) -> ExitResult {
    match host {
        ConfinedProcess::Model(weights) => model_host::serve(weights),
        ConfinedProcess::Vat => vat_host::serve(),
        ConfinedProcess::CodeReader => code_reader::serve(),
        ConfinedProcess::DocumentReader(limits) => document_reader::serve(limits),
        ConfinedProcess::Git => git_host::serve(),
        ConfinedProcess::Sandbox(words) => run_sandbox(words),
    }
}

/// Runs as the warden of one confined program. With `try`, tries one action under the restrictions of a program. With
/// `host`, tries it under the restrictions of a model host, and with `document` under those of a reader of documents.
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
        [first, name, arguments @ ..] if first == "document" => {
            document_reader::confine(ReaderLimits::default()).map_err(failed)?;
            attempt(name, arguments)
        }
        [first, name, arguments @ ..] if first == "try" => attempt(name, arguments),
        _ => {
            Err(Failure::new(Exit::Usage, "the sandbox is started by the daemon")
                .help("see `almoner --help`"))
        }
    }
}
