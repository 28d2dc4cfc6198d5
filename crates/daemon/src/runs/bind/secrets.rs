//! Secrets as a person hands them over: whether there is one of the name, and whether it may go there.

use crate::state::secret_access;
use resource::Resource;
use resource::secret::SecretHandle;

use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// Returns the resource that is bound to the slot.
///
/// # Errors
/// When there is no such secret, or it is for servers alone.
pub fn resolve(daemon: &HostDaemon, slot: &str, secret: &SecretHandle) -> Result<Resource, Failure> {
    secret_access::for_program(daemon, slot, &secret.name)?;
    Ok(Resource::Secret(secret.clone()))
}
