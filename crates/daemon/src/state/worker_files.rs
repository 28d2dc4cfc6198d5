//! The parsing of whole worker files.

use worker::definition::{self, Bundle, Definition, Report, Severity};

use control::exit::{Exit, Failure};
use control::protocol::WorkerSource;

/// Returns the worker of a request, with the texts that it includes.
pub fn bundle_of(worker: &WorkerSource) -> Bundle {
    Bundle {
        name: worker.name.clone(),
        file: format!("{}.worker", worker.name),
        source: worker.source.clone(),
        includes: worker.includes.clone(),
    }
}

/// Parses a worker file. All its errors become one failure.
///
/// # Errors
/// When the file has errors.
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
