//! The rules that the daemon has loaded for the gates.

use std::fmt;
use std::sync::{Arc, LazyLock};

use kernel::id::BlobHash;
use kernel::proposal::Finding;

use crate::facts::Context;
use crate::protected::IncludedFiles;
use crate::secrets::Secrets;

/// The rules that apply in addition to the gates' own code. The default has no secrets and no operator.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The vault's values, prepared for the search.
    pub secrets: Arc<Secrets>,
    /// The operator's own policies, if there are any.
    pub operator: Option<Arc<dyn Operator>>,
    /// The files that the workers of the store include.
    pub included: Arc<IncludedFiles>,
}

/// The search without values. It is prepared once, since its automaton takes longer than many verdicts.
static NO_SECRETS: LazyLock<Arc<Secrets>> = LazyLock::new(Arc::default);

impl Default for Rules {
    fn default() -> Rules {
        Rules { secrets: Arc::clone(&NO_SECRETS), operator: None, included: Arc::default() }
    }
}

impl Rules {
    /// Returns the rules with an operator's policies.
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
    /// The stance: permit, forbid, or no opinion.
    pub stance: Stance,
    /// The reasons, by the names of the policies, and remarks on the policies for readers of the verdict.
    pub findings: Vec<Finding>,
}

/// The beginning of the rules of findings that the policies of the machine's administrator make.
pub const MACHINE_RULES: &str = "operator/managed/";

/// The stance of the operator's policies on a call.
// The order is from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stance {
    /// No opinion: no policy applies to the call.
    Silent,
    /// A permit: no question is needed. It lifts an *ask* that an operator may lift, and never a *deny*.
    Permits,
    /// A question: a policy wants a person asked about the call. Nothing but a person lifts it.
    Asks,
    /// A denial: a policy forbids the call, or a policy failed that might have forbidden it.
    Forbids,
}
