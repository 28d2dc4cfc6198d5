//! What a worker is handed: by the command line, and by the file of its project beside it.

use std::path::Path;

use kernel::run::Limits;
use worker::definition::Definition;

use crate::cli;
use crate::session::Acting;
use crate::ui::output;
use config::model_choice::KnownModels;
use config::trust;
use config::vendor_keys;
use control::exit::Failure;
use resource::Endowment;

/// What both say together.
#[derive(Debug, Default)]
pub struct Together {
    /// What fills the slots.
    pub endow: Vec<Endowment>,
    /// Methods about which nobody is asked.
    pub allow: Vec<String>,
    /// The model, if one of them names one.
    pub model: Option<String>,
    /// What the run may use up, if that is less than the worker file says.
    pub limits: Option<Limits>,
    /// What stands behind the command in the transcript, if the project's file has a part in it.
    pub with: String,
    /// What the file says, for whoever looks ahead. Not made visible.
    pub from: Vec<String>,
}

/// Puts both together. A file that the person does not trust is told of and not used.
///
/// # Errors
/// When an endowment cannot be read, or the file wants what it may not.
pub fn of(
    acting: &Acting<'_>,
    worker: &Path,
    definition: &Definition,
    model: Option<&str>,
    endow: &[String],
    allow: &[String],
) -> Result<Together, Failure> {
    let endow: Vec<Endowment> =
        endow.iter().map(|text| cli::parse_endowment(text)).collect::<Result<_, _>>()?;
    let said = model
        .map(str::to_owned)
        .or_else(|| KnownModels::new(acting.place, &vendor_keys::from_env()).in_environment());
    let project = trust::of_worker(acting.place, worker)?.unwrap_or_else(|unused| {
        output::progress(&unused);
        None
    });
    let mut both = Together { endow, allow: allow.to_vec(), model: said, ..Together::default() };
    let Some(given) = project.map(|given| given.beside(both.model.as_deref(), &both.endow)) else {
        return Ok(both);
    };
    both.from = given.lines(worker);
    both.with = format!(" (with {} {})", given.file.path.display(), given.file.digest.short());
    both.limits = given.handed.limits.within(definition)?;
    both.endow.extend(given.handed.endow);
    both.allow.extend(given.handed.allow.into_iter().filter(|rule| !allow.contains(rule)));
    both.model = both.model.or(given.handed.model);
    Ok(both)
}
