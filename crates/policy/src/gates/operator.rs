//! What the operator of this installation has written down: refuse this, do not ask about that.

use kernel::proposal::{Finding, Proposal};

use super::Gate;
use crate::facts::Context;
use crate::rules::Stance;
use crate::ruling::Ruling;

pub(super) const GATE: Gate =
    Gate { name: "operator", version: 2, about: "the operator's own policies forbid or permit", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let Some(operator) = &context.rules.operator else { return Ruling::allow() };
    let mut opinion = operator.opinion(context);
    // Whoever forbids that a file is written means its end as well.
    if opinion.stance != Stance::Forbids
        && let Some(written) = as_a_write(context)
    {
        let other = operator.opinion(&Context { proposal: &written, ..*context });
        if other.stance == Stance::Forbids {
            opinion = other;
        }
    }
    if opinion.stance == Stance::Forbids && opinion.findings.is_empty() {
        opinion.findings.push(
            Finding::new("operator/forbidden", "the operator's policies forbid it")
                .at("method")
                .counter_example(context.proposal.method.clone())
                .allowed("what no policy forbids: `almoner policy show` lists them"),
        );
    }
    match opinion.stance {
        Stance::Silent => Ruling::notes(opinion.findings),
        Stance::Permits => Ruling::permit(opinion.findings),
        Stance::Forbids => Ruling::deny_all(opinion.findings),
    }
}

/// The same call as one that writes the file, if it writes behind what a file of a directory holds.
fn as_a_write(context: &Context<'_>) -> Option<Proposal> {
    let is_append = context.subject.kind == "dir" && context.proposal.method == "append";
    is_append.then(|| Proposal { method: "write".to_owned(), ..context.proposal.clone() })
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Ask, Deny};

    use super::*;
    use crate::fixture::{Call, Fixed, check};

    fn finding() -> Finding {
        Finding::new("operator/no-evil", "not there").at("method").counter_example("x").allowed("y")
    }

    #[test]
    fn it_says_what_the_policies_say() {
        check(&GATE, &Call::new("send"), (Allow, Allow), &[]);
        for (stance, decision) in [(Stance::Silent, Allow), (Stance::Permits, Allow), (Stance::Forbids, Deny)]
        {
            let call = Call::new("send").under(Fixed::new(stance, vec![finding()]));
            check(&GATE, &call, (decision, decision), &["operator/no-evil"]);
        }
    }

    /// Forbids `write`, and permits everything else.
    #[derive(Debug)]
    struct NoWrite;

    impl crate::rules::Operator for NoWrite {
        fn opinion(&self, context: &Context<'_>) -> crate::rules::Opinion {
            let stance = match context.proposal.method.as_str() {
                "write" => Stance::Forbids,
                _ => Stance::Permits,
            };
            crate::rules::Opinion { stance, findings: vec![] }
        }

        fn digest(&self) -> kernel::BlobHash {
            kernel::BlobHash([1; 32])
        }
    }

    #[test]
    fn whoever_forbids_to_write_a_file_forbids_to_append_to_it() {
        for (kind, method, decision) in [
            ("dir", "append", Deny),
            ("dir", "write", Deny),
            ("dir", "read", Allow),
            ("thing", "append", Allow),
        ] {
            let mut call = Call::new("change").but(|c| {
                c.subject.kind = kind.to_owned();
                c.proposal.method = method.to_owned();
            });
            let rules = crate::rules::Rules::default().with_operator(std::sync::Arc::new(NoWrite));
            call.rules = std::sync::Arc::new(rules);
            let ruling = judge(&call.context());
            let told = crate::ruling::combine(vec![ruling], crate::ruling::Lifted::default()).0;
            assert_eq!(told, decision, "{kind}.{method}");
        }
    }

    #[test]
    fn a_refusal_without_a_word_is_a_refusal() {
        let call = Call::new("look").under(Fixed::new(Stance::Forbids, vec![]));
        check(&GATE, &call, (Deny, Deny), &["operator/forbidden"]);
    }

    #[test]
    fn a_permit_lifts_what_the_operator_may_lift() {
        let permit = || Fixed::new(Stance::Permits, vec![finding()]);
        for (call, before, after) in [
            (Call::new("change").by_model(), Ask, Allow),
            (Call::new("change").by_model().overwriting(), Ask, Allow),
            (Call::new("send").by_model(), Ask, Allow),
            (Call::new("send").by_model().having_heard("m"), Ask, Allow),
            // A worker file that wants to be asked, and what may come from a stranger: only a person.
            (Call::new("change").by_model().asked_for(), Ask, Ask),
            (Call::new("send").having_read("mail/5"), Ask, Ask),
            (Call::new("send").by_model().having_read("mail/5"), Ask, Ask),
            (Call::new("send").by_model().having_heard("m").having_read("mail/5"), Ask, Ask),
            // A permit is no key.
            (Call::new("change").but(|c| c.grant.revoked_ms = Some(1)), Deny, Deny),
        ] {
            assert_eq!(call.verdict().decision, before, "{call:?}");
            assert_eq!(call.clone().under(permit()).verdict().decision, after, "{call:?}");
        }
    }

    #[test]
    fn policies_that_break_down_deny() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let verdict = Call::new("look").under(Fixed::broken()).verdict();
        std::panic::set_hook(hook);
        assert_eq!(verdict.decision, Deny);
        assert_eq!(verdict.findings[0].rule, "operator/failed");
    }
}
