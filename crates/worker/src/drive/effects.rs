//! Effects: the beginning of approved calls, and the completion of begun calls.

use caps::Settled;
use kernel::StepRef;
use kernel::command::{Judgement, Move};
use kernel::proposal::{Decision, Effect, Finding, Proposal, Verdict};
use kernel::run::{Completion, Trouble};
use kernel::started_effect::StartedEffect;
use policy::MACHINE_RULES;

use super::call_order::CallOrder;
use super::{Driver, unknown_outcome};
use crate::fold::Call;
use crate::judging::JudgingContext;
use crate::kernel_effects::kernel_move;
use crate::redaction;
use crate::slot_binding::{OpenSlot, SlotTarget};
use crate::spill;
use crate::trouble::{internal, trouble};

impl Driver<'_> {
    /// Returns the moves that begin approved calls. If the data of a call has changed since the approval, the call is
    /// proposed again instead. The person approved the call in the form that was shown. If the machine's administrator
    /// forbids the call by now, it is refused.
    pub(super) fn begin_or_restate(&self, approved: &[u64]) -> Result<Vec<Move>, Trouble> {
        let bench = JudgingContext::new(self.world, &self.run, &self.fold, &self.slots)?;
        let is_managed = self.world.has_machine_policies()?;
        let mut moves = Vec::new();
        let mut order = CallOrder::default();
        for &proposal in approved {
            let call = self.fold.calls.get(&proposal);
            // A call on files that an earlier one is about to change is looked at after that.
            if call.is_some_and(|call| self.must_wait(&order, &call.proposal)) {
                continue;
            }
            // If a crash comes between the beginning and the end of such a call, a person is asked whether it
            // happened. So it begins alone.
            let alone = call.is_some_and(|call| !self.can_be_looked_up(&call.proposal));
            if alone && !moves.is_empty() {
                continue;
            }
            let judged = call.filter(|call| is_managed || !call.proposal.pins.is_empty());
            moves.push(match judged.map(|call| self.judged_again(&bench, call)).transpose()?.flatten() {
                Some((_, judgement)) if is_managed && is_forbidden_by_machine(&judgement.verdict) => {
                    Move::Forbid { proposal, findings: judgement.verdict.findings }
                }
                Some((call, judgement)) if judgement.proposal.pins != call.proposal.pins => {
                    self.keep_shown(&bench, &judgement.proposal)?;
                    Move::Restate { proposal, judgement: Box::new(judgement) }
                }
                _ => {
                    let bound =
                        call.and_then(|call| Some((call, self.slots.by_grant(&call.proposal.grant)?)));
                    if let Some((call, bound)) = bound {
                        order.note(bound, &call.proposal);
                    }
                    Move::Begin { proposal }
                }
            });
            if alone {
                break;
            }
        }
        Ok(moves)
    }

    /// Returns whether an approved call depends on one that begins now.
    fn must_wait(&self, order: &CallOrder, proposal: &Proposal) -> bool {
        let Some(bound) = self.slots.by_grant(&proposal.grant) else { return false };
        let method = bound.interface.method(&proposal.method);
        method.is_some_and(|method| order.must_wait(bound, method, &proposal.args))
    }

    /// Returns whether the outcome of this call can be determined after a crash.
    fn can_be_looked_up(&self, proposal: &Proposal) -> bool {
        match self.slots.by_grant(&proposal.grant) {
            Some(OpenSlot { reach: SlotTarget::Capability(capability), .. }) => {
                capability.can_be_looked_up(&proposal.method)
            }
            _ => true,
        }
    }

    /// Returns an approved call with its present data, judged by the present rules. The result is `None` if the run
    /// does not have the slot any more.
    fn judged_again<'c>(
        &self,
        bench: &JudgingContext<'_>,
        call: &'c Call,
    ) -> Result<Option<(&'c Call, Judgement)>, Trouble> {
        let old = &call.proposal;
        let Some(bound) = self.slots.by_grant(&old.grant) else { return Ok(None) };
        let Some(method) = bound.interface.method(&old.method) else { return Ok(None) };
        let judgement = bench.judge(call.site.clone(), &old.slot, bound, method, old.args.clone())?;
        Ok(Some((call, judgement)))
    }

    /// Keeps the data of a call that has changed since the approval, whatever the verdict: the person is about to see
    /// the difference.
    fn keep_shown(&self, bench: &JudgingContext<'_>, proposal: &Proposal) -> Result<(), Trouble> {
        match self.slots.by_grant(&proposal.grant).map(|bound| &bound.reach) {
            Some(SlotTarget::Capability(capability)) => bench.keep_operands(&**capability, proposal),
            _ => Ok(()),
        }
    }

    /// Performs the effects that have begun. Returns whether there were any.
    pub(super) fn perform_effects(&mut self) -> Result<bool, Trouble> {
        let steps: Vec<u64> = self.fold.unfinished_effects().collect();
        let mut moves = Vec::new();
        // The bytes that these effects have had kept for `undo`.
        let mut kept = 0u64;
        for &step in &steps {
            let at = StepRef { run: self.run.number, step };
            let fresh = self.begun.remove(&step);
            let is_fresh = fresh.is_some();
            let Some(begun) = fresh.map_or_else(|| self.world.reopen(at), |begun| Ok(Some(begun)))? else {
                continue;
            };
            if let Some(handed) = kernel_move(self.world, &self.run, &self.slots, &begun)? {
                moves.push(handed);
                continue;
            }
            let before = self.content_before(&begun);
            // An effect that was begun before a crash may have happened, so only a fresh one can be refused.
            let left = self.run.limits.kept.saturating_sub(self.run.used.kept_bytes).saturating_sub(kept);
            if is_fresh && left == 0 && !before.is_empty() {
                moves.push(Move::Complete {
                    proposal: step,
                    completion: Completion::Failed(no_room_to_keep()),
                });
                continue;
            }
            let bytes = before.iter().map(|bytes| bytes.len() as u64).sum();
            for bytes in before {
                self.world.put_blob(&bytes)?;
            }
            kept = kept.saturating_add(bytes);
            moves.extend((bytes > 0).then_some(Move::Keep { bytes }));
            let settled = match self.settle(&begun) {
                Ok(settled) => settled,
                Err(trouble) => {
                    // The outcomes of the other effects are known, so they are recorded.
                    self.advance(moves)?;
                    return Err(trouble);
                }
            };
            let completion = match settled {
                Some(completion) => completion,
                // No person is asked about a cancelled run.
                None if self.run.cancelled.is_some() => {
                    Completion::Failed(unknown_outcome("only a person could tell"))
                }
                None => {
                    moves.push(Move::OutcomeUnknown { proposal: step });
                    continue;
                }
            };
            let left = self.run.limits.kept.saturating_sub(self.run.used.kept_bytes).saturating_sub(kept);
            let (completion, whole) = spill::spill(self.world, completion, left)?;
            let spilled = whole.map(|whole| spill::spill_move(step, whole));
            let done = Move::Complete { proposal: step, completion };
            if begun.proposal().effect == Effect::Observe {
                spilled.into_iter().for_each(|spilled| self.defer(spilled));
                self.defer(done);
            } else {
                moves.extend(spilled);
                moves.push(done);
                if !self.can_be_looked_up(begun.proposal()) {
                    self.advance(std::mem::take(&mut moves))?;
                }
            }
        }
        if !moves.is_empty() {
            self.advance(moves)?;
        }
        Ok(!steps.is_empty())
    }

    /// Returns the data that an effect is about to change. It is kept, so that a person can have it restored. After a
    /// crash, the data may be changed already. In that case it was kept before the crash.
    fn content_before(&self, begun: &StartedEffect) -> Vec<Vec<u8>> {
        let proposal = begun.proposal();
        match self.slots.by_grant(&proposal.grant) {
            Some(OpenSlot { reach: SlotTarget::Capability(capability), .. })
                if proposal.effect != Effect::Observe =>
            {
                proposal.pins.iter().filter_map(|pin| capability.before(pin)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the outcome of an effect, or `None` if only a person can tell.
    fn settle(&self, begun: &StartedEffect) -> Result<Option<Completion>, Trouble> {
        let Some(slot @ OpenSlot { reach: SlotTarget::Capability(capability), .. }) =
            self.slots.by_grant(&begun.proposal().grant)
        else {
            return Err(internal("an effect has begun on something that has none"));
        };
        // A server or a program may take its time, so the run holds no slot of the engine meanwhile.
        let waiting = slot.outside_party().map(|party| self.world.wait_for_effect(self.run.number, &party));
        let settled = caps::settle(&**capability, begun);
        drop(waiting);
        let settled = redaction::settled(&self.world.secrets(), settled);
        let is_approved = self.fold.calls.get(&begun.step().step).is_some_and(|call| call.approved);
        match if is_approved { settled } else { redaction::without_keys(settled) } {
            Settled::Completed(Completion::Failed(finding))
                if can_be_mended(&finding) && self.run.cancelled.is_none() =>
            {
                let help = "put it right, then `almoner resume`";
                Err(trouble("effect/failed", format!("{}: {}", begun.step(), finding.message), help))
            }
            Settled::Completed(completion) => Ok(Some(completion)),
            Settled::Unknown => Ok(None),
        }
    }
}

/// Returns whether a policy of the machine's administrator forbids a call.
fn is_forbidden_by_machine(verdict: &Verdict) -> bool {
    let is_machine = |finding: &Finding| finding.rule.starts_with(MACHINE_RULES);
    verdict.decision == Decision::Deny && verdict.findings.iter().any(is_machine)
}

/// Returns the finding about a call that did not happen, because what it would replace could not be kept.
fn no_room_to_keep() -> Finding {
    let message = "cannot keep what the call would replace: the limit `kept` is reached; nothing was changed";
    Finding::new("budget/kept", message)
}

/// Returns whether an effect failed for an outside reason that a person can remove. Nothing has happened then.
fn can_be_mended(finding: &Finding) -> bool {
    FIXABLE_RULES.contains(&finding.rule.as_str())
}

/// The rules of findings about problems that a person can fix.
const FIXABLE_RULES: [&str; 4] = ["file/full", "file/read-only", "http/locked", "mcp/login"];
