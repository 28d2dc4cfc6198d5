//! The configuration of a run: from the command line, and from the file of its project.

use std::path::Path;

use kernel::run::Limits;
use worker::definition::{Bundle, Definition};

use crate::cli;
use crate::session::Session;
use crate::ui::output;
use config::mcp_file;
use config::model_choice::KnownModels;
use config::trust;
use config::vendor_keys;
use control::exit::Failure;
use resource::Endowment;

/// The merged configuration of a run.
#[derive(Debug, Default)]
pub struct RunConfig {
    /// The endowments of the slots.
    pub endow: Vec<Endowment>,
    /// The methods that need no approval.
    pub allow: Vec<String>,
    /// The model, if the command line, the environment or the project's file names one.
    pub model: Option<String>,
    /// The limits of the run, if the project's file tightens those of the worker file.
    pub limits: Option<Limits>,
    /// The text behind the command in the transcript, if the project's file contributes to the run.
    pub transcript_suffix: String,
    /// The lines of the project's file, for a dry run. Control characters in them have not been made visible.
    pub from: Vec<String>,
}

/// Merges the command line with the project's file. A file that the user does not trust is ignored, and a note is
/// printed.
///
/// # Errors
/// When an endowment cannot be read, or the file asks for more than it may.
pub fn load(
    acting: &Session<'_>,
    worker: &Path,
    (bundle, definition): (&Bundle, &Definition),
    model: Option<&str>,
    endow: &[String],
    allow: &[String],
) -> Result<RunConfig, Failure> {
    let endow: Vec<Endowment> =
        endow.iter().map(|text| cli::parse_endowment(text)).collect::<Result<_, _>>()?;
    let said = model
        .map(str::to_owned)
        .or_else(|| KnownModels::new(acting.place, &vendor_keys::from_env()).in_environment());
    let project = trust::of_worker(acting.place, worker, bundle)?.unwrap_or_else(|unused| {
        output::progress(&unused);
        None
    });
    let mut both = RunConfig { endow, allow: allow.to_vec(), model: said, ..RunConfig::default() };
    let Some(given) = project.map(|given| given.beside(both.model.as_deref(), &both.endow)) else {
        return Ok(both);
    };
    // A run without servers of tools needs no `mcp.json`. A slot with a server names the fault of the file itself.
    let servers = mcp_file::usable(&acting.place.config).unwrap_or_default();
    both.from = given.lines(worker, &servers);
    both.transcript_suffix = format!(" (with {} {})", given.file.path.display(), given.file.digest.short());
    both.limits = given.handed.limits.within(definition)?;
    both.endow.extend(given.handed.endow);
    both.allow.extend(given.handed.allow.into_iter().filter(|rule| !allow.contains(rule)));
    both.model = both.model.or(given.handed.model);
    Ok(both)
}
