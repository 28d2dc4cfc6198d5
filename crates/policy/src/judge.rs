//! The judgement of a proposal: all gates judge it, the strictest answer wins, and all findings are kept.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use kernel::id::BlobHash;
use kernel::proposal::{Finding, Verdict};
use passable::Quoting;

use crate::facts::Context;
use crate::gates::{GATES, Gate};
use crate::rules::Rules;
use crate::ruling::{ActiveLifts, CombinedRuling, Ruling, combine};

/// Returns the verdict of all built-in gates on a proposal. A gate that panics denies.
pub fn judge(context: &Context<'_>) -> Verdict {
    PANEL.judge(context)
}

/// Returns the hash of the gates together with the policies of the rules. A verdict by these has it.
pub fn rules_hash(rules: &Rules) -> BlobHash {
    PANEL.hash_with(rules)
}

/// The gates of this build.
static PANEL: LazyLock<Panel> = LazyLock::new(|| Panel::new(Cow::Borrowed(GATES)));

/// A set of gates that judge together.
#[derive(Clone, Debug)]
pub struct Panel {
    gates: Cow<'static, [Gate]>,
    /// The hash of the gates' names and versions.
    hash: BlobHash,
}

impl Panel {
    /// Returns a panel of these gates.
    pub fn new(gates: Cow<'static, [Gate]>) -> Panel {
        Panel { hash: hash_of(&gates), gates }
    }

    /// Returns the verdict of all gates of the panel on a proposal. A gate that panics denies.
    pub fn judge(&self, context: &Context<'_>) -> Verdict {
        let lifted = ActiveLifts::by_endowment(context.grant, &context.proposal.method);
        let rulings = self.gates.iter().map(|gate| ask(gate, context)).collect();
        let CombinedRuling { decision, findings, lift } = combine(rulings, lifted);
        Verdict { decision, findings, gates: self.hash_with(context.rules), lift }
    }

    /// Returns the hash of the gates and the policies. Two hashes are equal exactly if the same gates in the same
    /// versions judge under the same policies.
    pub fn hash_with(&self, rules: &Rules) -> BlobHash {
        let Some(operator) = &rules.operator else { return self.hash };
        let mut hasher = blake3::Hasher::new_derive_key("almoner gates and policies v1");
        hasher.update(&self.hash.0);
        hasher.update(&operator.digest().0);
        BlobHash(*hasher.finalize().as_bytes())
    }
}

fn ask(gate: &Gate, context: &Context<'_>) -> Ruling {
    // A gate only reads its context, so no half-changed state can remain after a panic.
    catch_unwind(AssertUnwindSafe(|| (gate.judge)(context))).unwrap_or_else(|_| {
        Ruling::deny(
            Finding::new(
                format!("{}/failed", gate.name),
                Quoting::ours(format!("the gate `{}` failed and can vouch for nothing", gate.name)),
            )
            .at("method")
            .counter_example(context.proposal.method.clone())
            .allowed("nothing, until the gate is mended: this is a fault of the program, please report it"),
        )
    })
}

fn hash_of(gates: &[Gate]) -> BlobHash {
    let mut lines: Vec<String> =
        gates.iter().map(|gate| format!("{} {}\n", gate.name, gate.version)).collect();
    lines.sort();
    let mut hasher = blake3::Hasher::new_derive_key("almoner gates v1");
    lines.iter().for_each(|line| {
        hasher.update(line.as_bytes());
    });
    BlobHash(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use kernel::proposal::{Caller, Decision, Effect};
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{Call, FixedOperator, id};
    use crate::rules::Stance;
    use crate::ruling::Lift;

    fn gate(name: &'static str, judge: fn(&Context<'_>) -> Ruling) -> Gate {
        Gate { name, version: 1, about: "a test", judge }
    }

    #[test]
    fn panicking_gate_denies_and_other_gates_still_judge() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let gates = [
            gate("one", |_| Ruling::note(Finding::new("one/seen", "seen"))),
            gate("bad", |_| panic!("on purpose")),
            gate("two", |_| Ruling::note(Finding::new("two/seen", "seen"))),
        ];
        let verdict = Panel::new(Cow::Owned(gates.into())).judge(&Call::new("look").context());
        std::panic::set_hook(hook);
        assert_eq!(verdict.decision, Decision::Deny);
        let rules: Vec<_> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, ["bad/failed", "one/seen", "two/seen"]);
    }

    #[test]
    fn reason_of_a_denial_comes_before_questions_and_notes() {
        let finding = |rule: &str| Finding::new(rule, "said so");
        let rulings = vec![
            Ruling::note(finding("a/note")),
            Ruling::ask(Lift::Endowment, finding("b/ask")),
            Ruling::deny(finding("c/deny")).with(finding("c/more")),
            Ruling::ask(Lift::Permission, finding("d/ask")),
            Ruling::deny(finding("e/deny")),
        ];
        let all = combine(rulings, ActiveLifts::default());
        let rules: Vec<_> = all.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, ["c/deny", "c/more", "e/deny", "a/note", "b/ask", "d/ask"]);
    }

    #[test]
    fn panel_hash_depends_on_gates_and_policies() {
        let allow: fn(&Context<'_>) -> Ruling = |_| Ruling::allow();
        let (a, b) = (|| gate("a", allow), || gate("b", allow));
        assert_eq!(hash_of(&[a(), b()]), hash_of(&[b(), a()]));
        assert_ne!(hash_of(&[a(), b()]), hash_of(&[a()]));
        assert_ne!(hash_of(&[a()]), hash_of(&[Gate { version: 2, ..a() }]));
        let verdict = |operator: Option<FixedOperator>| match operator {
            None => Call::new("look").verdict().gates,
            Some(operator) => Call::new("look").under(operator).verdict().gates,
        };
        let under = |digest| Some(FixedOperator::new(Stance::Silent, vec![]).with_digest(digest));
        assert_eq!(verdict(None), hash_of(GATES));
        assert_eq!(verdict(under(1)), verdict(under(1)));
        assert_ne!(verdict(under(1)), verdict(under(2)));
        assert_ne!(verdict(under(1)), verdict(None));
    }

    #[test]
    fn every_required_gate_exists_once() {
        let mut names: Vec<_> = GATES.iter().map(|gate| gate.name).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "budget",
                "depth",
                "effects",
                "egress",
                "operator",
                "overwrite",
                "paths",
                "places",
                "programs",
                "provenance",
                "scope",
                "secrets",
                "shape"
            ]
        );
    }

    fn ruling() -> impl Strategy<Value = Ruling> {
        let finding = || Finding::new("test/rule", "said so");
        prop_oneof![
            Just(Ruling::allow()),
            Just(Ruling::note(finding())),
            Just(Ruling::ask(Lift::Endowment, finding())),
            Just(Ruling::ask(Lift::Operator, finding())),
            Just(Ruling::ask(Lift::Permission, finding())),
            Just(Ruling::deny(finding())),
        ]
    }

    fn call() -> impl Strategy<Value = Call> {
        let flags = || proptest::collection::vec(any::<bool>(), 10);
        (prop::sample::select(vec!["look", "change", "send"]), flags(), 0..3u8).prop_map(
            |(method, flags, sources)| {
                let mut call = Call::new(method);
                let mut change = |at: usize, change: fn(&mut Call)| {
                    if flags[at] {
                        change(&mut call);
                    }
                };
                change(0, |c| c.proposal.caller = Caller::Model);
                change(1, |c| *c = c.clone().allowed());
                change(2, |c| *c = c.clone().asked_for());
                change(3, |c| *c = c.clone().overwriting());
                change(4, |c| c.grant.revoked_ms = Some(1));
                change(5, |c| c.facts.problems = vec![Finding::new("path/parent", "out")]);
                change(6, |c| c.spent.child_depth = Some(99));
                change(7, |c| c.spent.ran_ms = u64::MAX);
                change(8, |c| c.grant.id = id(9));
                change(9, |c| c.proposal.args.clear());
                for source in 0..sources {
                    call = call.having_read(&format!("mail/{source}"));
                }
                call
            },
        )
    }

    proptest! {
        #[test]
        fn additional_ruling_never_loosens_the_decision(
            rulings in proptest::collection::vec(ruling(), 0..6), more in ruling(), at in 0..6usize, lifts: bool,
        ) {
            let grant = if lifts { Call::new("send").allowed().grant } else { Call::new("send").grant };
            let endowment = ActiveLifts::by_endowment(&grant, "send");
            let before = combine(rulings.clone(), endowment);
            let mut all = rulings.clone();
            all.insert(at.min(rulings.len()), more.clone());
            let after = combine(all, endowment);
            prop_assert!(after.decision >= before.decision);
            prop_assert_eq!(after.findings.len(), before.findings.len() + more.findings().len());
            prop_assert!(after.decision > Decision::Ask || after.lift >= before.lift);
            prop_assert_eq!(after.lift.is_some(), after.decision == Decision::Ask);
            if rulings.iter().any(|ruling| ruling.decision(endowment) == Decision::Deny) {
                prop_assert_eq!(before.decision, Decision::Deny);
            }
        }

        #[test]
        fn untrusted_commit_is_never_allowed_unasked(call in call()) {
            let verdict = call.verdict();
            if call.proposal.effect == Effect::Commit && call.proposal.provenance.is_untrusted() {
                prop_assert!(verdict.decision > Decision::Allow);
            }
        }

        #[test]
        fn endowment_lifts_questions_but_no_refusals(call in call()) {
            let (before, after) = (call.verdict(), call.clone().allowed().verdict());
            prop_assert!(after.decision <= before.decision);
            prop_assert_eq!(before.decision == Decision::Deny, after.decision == Decision::Deny);
            prop_assert_eq!(before.findings, after.findings);
        }

        #[test]
        fn additional_source_never_loosens_the_decision(call in call()) {
            prop_assert!(call.clone().having_read("mail/more").verdict().decision >= call.verdict().decision);
        }

        #[test]
        fn ask_and_deny_always_have_findings(call in call()) {
            let verdict = call.verdict();
            prop_assert!(verdict.decision == Decision::Allow || !verdict.findings.is_empty());
        }
    }
}
