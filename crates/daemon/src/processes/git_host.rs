//! The process that reads or changes a git repository. It carries out one order. The process that starts it has
//! already confined it.

use control::exit::{Exit, ExitResult, Failure};

/// Runs the process: carries out one order from standard input.
///
/// # Errors
/// When the streams break.
pub fn serve() -> ExitResult {
    git::serve(std::io::stdin().lock(), std::io::stdout().lock(), &policy::secrets::key_in)
        .map_err(|error| Failure::from_error(Exit::Failure, error).help("the daemon starts it"))?;
    Ok(Exit::Ok)
}
