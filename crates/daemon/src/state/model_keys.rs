//! The keys that a user has named for models. Each is a secret of the vault, and it must be for the model's server.
//! No other key is used in its place.

use crate::state::secret_access;
use kernel::run::Trouble;
use model::{ModelRef, weights};
use passable::{Untrusted, visible_line};
use resource::web::Origin;

use super::vault::{DaemonVault, SecretDenied};
use crate::state::daemon::HostDaemon;
use config::model_choice;
use control::exit::Failure;

/// Returns the models with a key. Each comes with the secret's name and the server for which the secret must be.
fn models_with_key(references: &[ModelRef]) -> impl Iterator<Item = (&ModelRef, &str, Option<Origin>)> {
    references.iter().filter_map(|reference| {
        let origin = Origin::split(reference.keyed_server()?).ok().map(|(origin, _)| origin);
        Some((reference, reference.key()?, origin))
    })
}

/// Rejects models whose named key cannot be used, before anything is recorded.
///
/// # Errors
/// When a secret is missing, or is not for the model's server.
pub fn check(daemon: &HostDaemon, model: &str) -> Result<(), Failure> {
    for (reference, name, origin) in models_with_key(&model::parse_list(model).unwrap_or_default()) {
        if let Some(origin) = origin {
            let whose = visible_line(&reference.plain().to_string()).into_owned();
            secret_access::for_server(daemon, &whose, name, &origin)?;
        }
    }
    Ok(())
}

/// Checks, before a model call, that the vault has the keys that were named for the models.
///
/// # Errors
/// When the vault does not give a key out for its model's server.
pub fn expect_keys(vault: &DaemonVault, references: &[ModelRef]) -> Result<(), Trouble> {
    for (reference, name, origin) in models_with_key(references) {
        let why = match &origin {
            Some(origin) => vault.value_for(name, origin).err(),
            None => Some(SecretDenied::OtherServer),
        };
        let Some(why) = why else { continue };
        let server = origin.map_or_else(|| "its server".to_owned(), |origin| origin.to_string());
        let set = format!("`almoner secret set {name} --for {server}`");
        let (what, help) = match why {
            SecretDenied::Locked => {
                let closed = vault.reason_closed();
                (closed.to_string(), closed.help())
            }
            SecretDenied::Missing => (format!("there is no secret `{name}`"), set),
            SecretDenied::OtherServer => (format!("the secret `{name}` is not for {server}"), set),
        };
        let model = visible_line(&reference.plain().to_string()).into_owned();
        return Err(Trouble {
            code: "model/unavailable".to_owned(),
            message: Untrusted::new(format!("there is no key for {model}: {what}")),
            help: format!("{help}; then `almoner resume`"),
        });
    }
    Ok(())
}

/// Returns a note for each model of a list that cannot answer yet: its weights are not on this disk, or neither a client nor
/// the vault has the vendor's key.
pub fn missing_notes(daemon: &HostDaemon, model: &str) -> Vec<String> {
    let note = |reference: &ModelRef| match reference {
        ModelRef::Local { name } => {
            let wanted = name.as_deref().map_or(Some(weights::default()), weights::find)?;
            let (name, size) = (wanted.name, wanted.bytes >> 20);
            let is_missing = !model_choice::is_here(&daemon.place, wanted);
            is_missing
                .then(|| format!("no model is here: `almoner models pull {name}` fetches it ({size} MiB)"))
        }
        ModelRef::Vendor { vendor, base_url: None, key: None, .. } => {
            let has_key = |variable: &&'static str| {
                let key = daemon.keys.get(variable, reference);
                key.or_else(|| daemon.vault.model_key(variable, reference)).is_some()
            };
            let is_missing = !vendor.keys().iter().any(has_key);
            let variables = vendor.keys().join(" or ");
            is_missing.then(|| format!("no key for {} is here: set {variables}", vendor.kind()))
        }
        _ => None,
    };
    model::parse_list(model).unwrap_or_default().iter().filter_map(note).collect()
}
