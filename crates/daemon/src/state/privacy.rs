//! Private data, and the models that may read them.

use kernel::command::{Binding, Target};
use kernel::run::{Input, Run, Trouble};
use model::ModelRef;
use passable::{Untrusted, visible_line};

use super::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::StartSpec;

/// Returns the first of these models that may not read private data, if any. The models that the user has named for
/// private data may read them, and so may the local model of this program.
pub fn first_barred_model(daemon: &HostDaemon, model: &str) -> Option<String> {
    let named = daemon.models();
    let may = |reference: &ModelRef| {
        // A model that is named without a key may be used with any key. A model that is named with a key may be used
        // with that key alone.
        let is_named = |reference: &ModelRef| named.private.contains(&reference.to_string());
        matches!(reference, ModelRef::Local { .. }) || is_named(reference) || is_named(&reference.plain())
    };
    let Ok(references) = model::parse_list(model) else { return Some(model.to_owned()) };
    references.iter().find(|reference| !may(reference)).map(ToString::to_string)
}

fn help(model: &str) -> String {
    let model = visible_line(model);
    format!(
        "use one that may (`-m local`), or say that this one may: `private = [\"{model}\"]` below `[models]` in `config.toml`"
    )
}

/// Returns whether any bound value is private. Slots of workers in slots are included.
fn is_any_private(bindings: &[Binding]) -> bool {
    bindings.iter().any(|binding| {
        let deeper = match &binding.target {
            Target::Endowed { bindings, .. } => is_any_private(bindings),
            _ => false,
        };
        binding.attenuation.private || deeper
    })
}

/// Returns whether a repeated run was private the first time.
pub fn is_of_private(again: &Input) -> bool {
    again.earlier.as_ref().is_some_and(|earlier| earlier.provenance.is_private())
}

/// Rejects a run if its model may not read the private data that the run would get. Workers that the run calls have
/// the same model.
///
/// # Errors
/// When the run would get private data that the model may not read.
pub fn check(
    daemon: &HostDaemon,
    spec: &StartSpec,
    model: &str,
    bindings: &[Binding],
    was_private: bool,
) -> Result<(), Failure> {
    if !spec.private && !was_private && !is_any_private(bindings) {
        return Ok(());
    }
    expect_allowed(daemon, model)
}

/// Rejects private data for a run whose model may not read them.
///
/// # Errors
/// When a bound value is private and the model may not read private data.
pub fn check_model(daemon: &HostDaemon, model: &str, bindings: &[Binding]) -> Result<(), Failure> {
    if is_any_private(bindings) { expect_allowed(daemon, model) } else { Ok(()) }
}

fn expect_allowed(daemon: &HostDaemon, model: &str) -> Result<(), Failure> {
    let Some(model) = first_barred_model(daemon, model) else { return Ok(()) };
    let message = format!("what is private would be read by {}, which may not", visible_line(&model));
    Err(Failure::new(Exit::Denied, message).help(help(&model)))
}

/// Checks, before anything is sent to a run's model, that the model may read the data that the run has seen.
///
/// # Errors
/// When the run has seen private data, and its model may not read such data.
pub fn expect_may_read(daemon: &HostDaemon, run: &Run) -> Result<(), Trouble> {
    if !run.provenance.is_private() {
        return Ok(());
    }
    let Some(model) = first_barred_model(daemon, &run.model) else { return Ok(()) };
    let message =
        format!("the run has been shown what is private, and {} may not read that", visible_line(&model));
    Err(Trouble {
        code: "model/private".to_owned(),
        message: Untrusted::new(message),
        help: format!("{}; then `almoner resume`", help(&model)),
    })
}
