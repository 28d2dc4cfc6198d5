//! The question about a call that would exceed the run's depth limit. A person is asked before such a call is
//! refused.

use kernel::command::Judgement;
use kernel::proposal::Decision;
use kernel::run::{Limits, Run, Trouble};

use super::Driver;
use crate::budget::{self, Shortage};
use crate::judging::JudgingContext;

/// The rule of a finding for a call that is too deep.
const DEPTH_RULE: &str = "depth/limit";

impl Driver<'_> {
    /// Returns the shortage about which a person is asked before a call is refused for its depth. Returns `None` if
    /// the call has other problems, if a person has refused more depth in this run, or if the maximum is reached.
    pub(super) fn depth_question(&self, judgement: &Judgement) -> Result<Option<Shortage>, Trouble> {
        let verdict = &judgement.verdict;
        let is_deep = verdict.decision == Decision::Deny
            && verdict.findings.iter().any(|finding| finding.rule == DEPTH_RULE);
        if !is_deep || self.fold.goes_no_deeper || self.run.limits.depth >= Limits::MAX_DEPTH {
            return Ok(None);
        }
        let proposal = &judgement.proposal;
        let Some(bound) = self.slots.by_grant(&proposal.grant) else { return Ok(None) };
        let Some(method) = bound.interface.method(&proposal.method) else { return Ok(None) };
        // The call is judged as if the run could go one level deeper. A person must not be asked about a call that
        // would be refused all the same.
        let limits = Limits { depth: self.run.depth.saturating_add(1), ..self.run.limits };
        let deeper = Run { limits, ..self.run.clone() };
        let bench = JudgingContext::new(self.world, &deeper, &self.fold, &self.slots)?;
        let site = judgement.site.clone();
        let other = bench.judge(site, &proposal.slot, bound, method, proposal.args.clone())?;
        Ok((other.verdict.decision != Decision::Deny)
            .then(|| budget::depth_shortage(&self.run, &proposal.slot)))
    }
}
