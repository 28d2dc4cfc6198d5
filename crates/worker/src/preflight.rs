//! The check of approved calls before they begin.

use kernel::run::Trouble;

use crate::fold::Fold;
use crate::slot_binding::{OpenSlot, SlotTarget, Slots};
use crate::trouble::trouble;

/// Returns the problem that prevents an approved call, if a person can fix it. The run then waits before the call
/// begins, and the call stays approved. For example, a locked vault does not use up the approval.
pub(crate) fn blocked_by(slots: &Slots, fold: &Fold, approved: &[u64]) -> Option<Trouble> {
    approved.iter().find_map(|step| {
        let call = &fold.calls.get(step)?.proposal;
        let OpenSlot { reach: SlotTarget::Capability(capability), .. } = slots.by_grant(&call.grant)? else {
            return None;
        };
        let finding = capability.blocked_by(&call.method, &call.args)?;
        let help = "put it right, then `almoner resume`: what was approved still is";
        let help = match finding.rule.as_str() {
            "mcp/login" => "log in, then `almoner resume`: what was approved still is",
            "http/locked" => "`almoner unlock`, then `almoner resume`: what was approved still is",
            _ => help,
        };
        Some(trouble("effect/hindered", finding.message, help))
    })
}
