//! What the daemon has loaded for the gates to judge by.

use std::sync::Arc;

use crate::secrets::Secrets;

/// What proposals are judged by beside the gates' own code. The default has nothing in it, and everything works.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The vault's values, made ready to be looked for.
    pub secrets: Arc<Secrets>,
}
