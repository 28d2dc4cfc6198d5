//! What is private, and which models may read it.

use kernel::command::{Binding, Target};
use kernel::run::{Input, Run, Trouble};
use model::ModelRef;
use passable::{Untrusted, visible_line};

use super::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::StartSpec;

/// The first of these models that may not read what is private, if there is one. Those may that the user has named, and
/// the one that this program runs itself.
pub fn kept_out(daemon: &HostDaemon, model: &str) -> Option<String> {
    let named = daemon.models();
    let may = |reference: &ModelRef| {
        // Who may read does so whoever pays; who may because of the key it is asked with may with that alone.
        let is_named = |reference: &ModelRef| named.private.contains(&reference.to_string());
        matches!(reference, ModelRef::Local { .. }) || is_named(reference) || is_named(&reference.plain())
    };
    let Ok(references) = model::list(model) else { return Some(model.to_owned()) };
    references.iter().find(|reference| !may(reference)).map(ToString::to_string)
}

fn help(model: &str) -> String {
    let model = visible_line(model);
    format!(
        "use one that may (`-m local`), or say that this one may: `private = [\"{model}\"]` below `[models]` in `config.toml`"
    )
}

/// Whether anything that is bound is private, also to slots of workers in slots.
fn is_any_private(bindings: &[Binding]) -> bool {
    bindings.iter().any(|binding| {
        let deeper = match &binding.target {
            Target::Endowed { bindings, .. } => is_any_private(bindings),
            _ => false,
        };
        binding.attenuation.private || deeper
    })
}

/// Whether what is done again was private the first time.
pub fn is_of_private(again: &Input) -> bool {
    again.earlier.as_ref().is_some_and(|earlier| earlier.provenance.is_private())
}

/// Refuses a run whose model may not read what it would be given. Whoever it calls has the same model.
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
    expect_may(daemon, model)
}

/// Refuses to give a run what is private if its model may not read that.
///
/// # Errors
/// As [`check`].
pub fn check_model(daemon: &HostDaemon, model: &str, bindings: &[Binding]) -> Result<(), Failure> {
    if is_any_private(bindings) { expect_may(daemon, model) } else { Ok(()) }
}

fn expect_may(daemon: &HostDaemon, model: &str) -> Result<(), Failure> {
    let Some(model) = kept_out(daemon, model) else { return Ok(()) };
    let message = format!("what is private would be read by {}, which may not", visible_line(&model));
    Err(Failure::new(Exit::Denied, message).help(help(&model)))
}

/// Refuses a model that may not read what the run has been shown, before anything is sent to it.
///
/// # Errors
/// When the run has been shown something private, and its model is not one that may read that.
pub fn expect_may_read(daemon: &HostDaemon, run: &Run) -> Result<(), Trouble> {
    if !run.provenance.is_private() {
        return Ok(());
    }
    let Some(model) = kept_out(daemon, &run.model) else { return Ok(()) };
    let message =
        format!("the run has been shown what is private, and {} may not read that", visible_line(&model));
    Err(Trouble {
        code: "model/private".to_owned(),
        message: Untrusted::new(message),
        help: format!("{}; then `almoner resume`", help(&model)),
    })
}
