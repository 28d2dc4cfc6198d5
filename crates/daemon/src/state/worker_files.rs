//! Worker files, read whole.

use worker::definition::{self, Bundle, Definition, Report, Severity};

use control::exit::{Exit, Failure};

/// Reads a worker file; all that is wrong with it is one failure.
///
/// # Errors
/// When there are mistakes in it.
pub fn parse(bundle: &Bundle) -> Result<Definition, Failure> {
    let (definition, diagnostics) = definition::parse(bundle);
    let errors = diagnostics.iter().any(|d| d.severity == Severity::Error);
    match definition.filter(|_| !errors) {
        Some(definition) => Ok(definition),
        None => {
            let report = Report::new(bundle, diagnostics);
            Err(Failure::new(Exit::Invalid, report.one_line()).help("mend the worker file"))
        }
    }
}
