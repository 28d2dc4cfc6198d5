//! What the daemon has loaded for the gates to judge by.

use std::fmt;
use std::sync::Arc;

use kernel::id::BlobHash;
use kernel::proposal::Finding;

use crate::facts::Context;
use crate::secrets::Secrets;

/// What proposals are judged by beside the gates' own code. The default has nothing in it, and everything works.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The vault's values, made ready to be looked for.
    pub secrets: Arc<Secrets>,
    /// The operator's own policies, if there are any.
    pub operator: Option<Arc<dyn Operator>>,
}

impl Rules {
    /// The same with policies of the operator.
    #[must_use]
    pub fn with_operator(mut self, operator: Arc<dyn Operator>) -> Rules {
        self.operator = Some(operator);
        self
    }
}

/// Policies that the operator of this installation has written, whatever they are written in.
///
/// An opinion is a function of the context alone, so that the same proposal under the same policies always gets the
/// same verdict.
pub trait Operator: fmt::Debug + Send + Sync {
    /// What the policies say of a call.
    fn opinion(&self, context: &Context<'_>) -> Opinion;

    /// The hash of all policies in force. It goes into every verdict.
    fn digest(&self) -> BlobHash;
}

/// What the operator's policies say of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Yes, no, or nothing.
    pub stance: Stance,
    /// Why, by the names of the policies; beside that, what whoever reads the verdict should know of the policies.
    pub findings: Vec<Finding>,
}

/// Yes, no, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// No policy speaks of the call.
    Silent,
    /// It need not be asked about. Lifts an *ask* that may be lifted so, and never a *deny*.
    Permits,
    /// It is refused; so is what a policy that failed might have refused.
    Forbids,
}
