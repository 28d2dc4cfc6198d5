//! The replies of a model, as the store keeps them.

use kernel::BlobHash;
use kernel::run::Trouble;
use model::Reply;

use crate::driver_port::DriverPort;
use crate::trouble::internal;

/// Returns a stored reply.
pub(crate) fn read_reply(world: &dyn DriverPort, hash: &BlobHash) -> Result<Reply, Trouble> {
    serde_json::from_slice(&world.blob(hash)?).map_err(|_| internal("a recorded reply cannot be read"))
}
