//! The process that reads and changes a repository, once for each order. The process that starts it has confined it.

use control::exit::{Exit, ExitResult, Failure};

/// Its whole life: one order.
///
/// # Errors
/// When its streams break.
pub fn serve() -> ExitResult {
    git::serve(std::io::stdin().lock(), std::io::stdout().lock())
        .map_err(|error| Failure::from_error(Exit::Failure, error).help("the daemon starts it"))?;
    Ok(Exit::Ok)
}
