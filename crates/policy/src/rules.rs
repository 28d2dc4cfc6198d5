//! The rules that the daemon has loaded for the gates.

use std::fmt;
use std::sync::Arc;

use kernel::id::BlobHash;
use kernel::proposal::Finding;

use crate::facts::Context;
use crate::secrets::Secrets;

/// The rules for proposals beside the gates' own code. The default has none, and everything works.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The vault's values, made ready to be looked for.
    pub secrets: Arc<Secrets>,
    /// The operator's own policies, if there are any.
    pub operator: Option<Arc<dyn Operator>>,
}

impl Rules {
    /// Returns the same with policies of the operator.
    #[must_use]
    pub fn with_operator(mut self, operator: Arc<dyn Operator>) -> Rules {
        self.operator = Some(operator);
        self
    }
}

/// The policies that the operator of this installation has written, in any language.
///
/// An opinion is a function of the context alone, so that the same proposal under the same policies always gets the
/// same verdict.
pub trait Operator: fmt::Debug + Send + Sync {
    /// Returns the opinion of the policies on a call.
    fn opinion(&self, context: &Context<'_>) -> Opinion;

    /// Returns the hash of all policies in force. It goes into every verdict.
    fn digest(&self) -> BlobHash;
}

/// The opinion of the operator's policies on one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Yes, no, or nothing.
    pub stance: Stance,
    /// The reasons, by the names of the policies, and remarks on the policies for the reader of the verdict.
    pub findings: Vec<Finding>,
}

/// Yes, no, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// No policy speaks of the call.
    Silent,
    /// It need not be asked about. Lifts an *ask* that may be lifted so, and never a *deny*.
    Permits,
    /// The call is refused: a policy forbids it, or a policy failed that might have forbidden it.
    Forbids,
}
