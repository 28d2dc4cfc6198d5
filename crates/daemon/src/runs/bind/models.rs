//! The binding of models to slots, with their keys and their limits on tokens and money.

use kernel::run::Limits;
use passable::visible_line;

use crate::state::daemon::HostDaemon;
use crate::state::model_keys;
use crate::state::worker_files;
use control::exit::{Exit, Failure};
use resource::ModelSpec;

/// Returns the model that is bound to a slot, and the limits for all its calls together.
///
/// # Errors
/// When there is no such model or its key is missing. When the user limits the cost, and the model's price is not
/// known.
pub fn model(daemon: &HostDaemon, slot: &str, given: &ModelSpec) -> Result<(String, Limits), Failure> {
    let model = model_by_name(daemon, slot, given)?;
    config::managed::rules()?.expect_models(&model)?;
    model_keys::check(daemon, &model)?;
    let mut limits = worker_files::parse(&worker::model_worker())?.limits;
    limits.tokens = given.tokens.unwrap_or(limits.tokens);
    limits.usd_micros = given.usd_micros;
    if given.usd_micros.is_some() && daemon.price_of(&model).is_none() {
        let message = format!("slot `{slot}`: the price of {} is not known", visible_line(&model));
        return Err(Failure::new(Exit::Invalid, message).help(
            "say `tokens=` instead of `usd=`, or write the price into `config.toml` under `[models.prices]`",
        ));
    }
    Ok((model, limits))
}

/// Returns the model that the user named. A name from the user's configuration is resolved, and the named key is
/// added.
fn model_by_name(daemon: &HostDaemon, slot: &str, given: &ModelSpec) -> Result<String, Failure> {
    let wrong = |what: &str, help: &str| {
        Failure::new(Exit::Usage, format!("slot `{slot}`: {}", visible_line(what))).help(help.to_owned())
    };
    let resolved = daemon.models().resolve(&given.model).map_err(|(what, help)| wrong(&what, &help))?;
    let help = "name a model as after `-m`, or by a name of yours (`[models.names]` in `config.toml`)";
    let references = model::parse_list(&resolved).map_err(|error| wrong(&error.to_string(), help))?;
    let Some(key) = &given.key else { return Ok(resolved) };
    let [reference] = references.as_slice() else {
        return Err(wrong(
            "`key=` is for one model",
            "give each its key under `[models.names]` in `config.toml`",
        ));
    };
    let keyed = reference.with_key(key).map_err(|error| wrong(&error.to_string(), help))?;
    Ok(keyed.to_string())
}
