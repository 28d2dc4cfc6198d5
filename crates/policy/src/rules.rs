//! What the daemon has loaded for the gates to judge by.

/// What proposals are judged by beside the gates' own code. The default has nothing in it, and everything works.
#[derive(Debug, Default)]
pub struct Rules {}
