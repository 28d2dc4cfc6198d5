//! Private data, and the models that may read them.

use kernel::command::{Binding, Target};
use kernel::run::{Input, Run, Trouble};
use model::ModelRef;
use passable::{Untrusted, visible_line};

use super::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::StartSpec;

/// Returns the first of these models that may not read private data, if there is one. The models that the user has
/// named may, and so may the one that this program runs itself.
pub fn first_barred_model(daemon: &HostDaemon, model: &str) -> Option<String> {
    let named = daemon.models();
    let may = |reference: &ModelRef| {
        // A model that is named without a key may read with any key. A model that is named with a key may read with
        // that key alone.
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

/// Returns whether anything that is bound is private, also to slots of workers in slots.
fn is_any_private(bindings: &[Binding]) -> bool {
    bindings.iter().any(|binding| {
        let deeper = match &binding.target {
            Target::Endowed { bindings, .. } => is_any_private(bindings),
            _ => false,
        };
        binding.attenuation.private || deeper
    })
}

/// Returns whether the run that is done again was private the first time.
pub fn is_of_private(again: &Input) -> bool {
    again.earlier.as_ref().is_some_and(|earlier| earlier.provenance.is_private())
}

/// Refuses a run whose model may not read the data that it would get. Workers that it calls have the same model.
///
/// # Errors
/// When there is something private in it, and the model is not one that may read that.
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

/// Refuses to give a run private data if its model may not read them.
///
/// # Errors
/// As [`doctor_line`].
pub fn check_model(daemon: &HostDaemon, model: &str, bindings: &[Binding]) -> Result<(), Failure> {
    if is_any_private(bindings) { expect_allowed(daemon, model) } else { Ok(()) }
}

fn expect_allowed(daemon: &HostDaemon, model: &str) -> Result<(), Failure> {
    let Some(model) = first_barred_model(daemon, model) else { return Ok(()) };
    let message = format!("what is private would be read by {}, which may not", visible_line(&model));
    Err(Failure::new(Exit::Denied, message).help(help(&model)))
}

/// Refuses a model that may not read the data that the run has been shown, before anything is sent to it.
///
/// # Errors
/// When the run has been shown something private, and its model is not one that may read that.
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
