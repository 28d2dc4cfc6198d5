//! The binding of secrets to slots, after a check that the secret exists and may be passed to programs.

use crate::state::secret_access;
use resource::Resource;
use resource::secret::SecretHandle;

use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// Returns the secret that is bound to a slot.
///
/// # Errors
/// When there is no such secret, or it is only for servers.
pub fn resolve(daemon: &HostDaemon, slot: &str, secret: &SecretHandle) -> Result<Resource, Failure> {
    secret_access::for_program(daemon, slot, &secret.name)?;
    Ok(Resource::Secret(secret.clone()))
}
