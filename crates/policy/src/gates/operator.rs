//! The gate for the policies of this installation's operator, which forbid calls or permit them without a question.

use kernel::proposal::{Decision, Finding, Proposal, Value};
use resource::Kind;

use super::Gate;
use crate::facts::Context;
use crate::rules::Stance;
use crate::ruling::{ActiveLifts, Ruling};

pub(super) const GATE: Gate =
    Gate { name: "operator", version: 5, about: "the operator's own policies forbid or permit", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let Some(operator) = &context.rules.operator else { return Ruling::allow() };
    let as_known = as_policy_call(context);
    let context = &Context { proposal: as_known.as_ref().unwrap_or(context.proposal), ..*context };
    let mut opinion = operator.opinion(context);
    // A policy that forbids reading or writing a file covers every way to do so.
    for other in as_plainer_calls(context) {
        if opinion.stance == Stance::Forbids {
            break;
        }
        let said = operator.opinion(&Context { proposal: &other, ..*context });
        if said.stance == Stance::Forbids {
            opinion = said;
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

/// Returns whether the operator's policies forbid a call.
pub(super) fn forbids(context: &Context<'_>) -> bool {
    judge(context).decision(ActiveLifts::default()) == Decision::Deny
}

/// Returns a tool call in the form that policies know: a call of the method `call` with the tool's name and its
/// arguments. Policies cannot know the tools of every server. Returns `None` for any other call.
fn as_policy_call(context: &Context<'_>) -> Option<Proposal> {
    let proposal = context.proposal;
    if !context.subject.is(Kind::Mcp) {
        return None;
    }
    let told = Value::array(proposal.args.iter().cloned());
    let args = vec![Value::from(proposal.method.as_str()), told];
    Some(Proposal { method: "call".to_owned(), args, ..proposal.clone() })
}

/// Returns the simpler calls to which a call of a directory amounts. A policy that forbids such a `list`, `read` or
/// `write` forbids the call as well. The paths are those of the call itself.
fn as_plainer_calls(context: &Context<'_>) -> Vec<Proposal> {
    let proposal = context.proposal;
    if !context.subject.is(Kind::Dir { write: false }) {
        return vec![];
    }
    let path = || proposal.args.first().cloned().unwrap_or(Value::Undefined);
    let call =
        |method: &str, args: Vec<Value>| Proposal { method: method.to_owned(), args, ..proposal.clone() };
    let text = |at: usize| proposal.args.get(at).and_then(Value::as_str).unwrap_or_default();
    match proposal.method.as_str() {
        "append" => vec![call("write", proposal.args.clone())],
        // An edit reveals whether a text stands in a file.
        "edit" => vec![call("read", vec![path()]), call("write", vec![path(), Value::from(text(2))])],
        "remove" | "make_directory" => vec![call("write", vec![path(), Value::from("")])],
        "move" => {
            let write = |at: usize| call("write", vec![Value::from(text(at)), Value::from("")]);
            vec![call("read", vec![path()]), write(0), write(1)]
        }
        "grep" => {
            let place = proposal.args.get(1).filter(|place| place.as_str().is_some());
            let place = place.cloned().unwrap_or_else(|| Value::from("."));
            vec![call("read", vec![place.clone()]), call("list", vec![place])]
        }
        "glob" => vec![call("list", vec![])],
        // `stat` reveals the content of a file, if only as a digest.
        "stat" => vec![call("read", vec![path()])],
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use Decision::{Allow, Ask, Deny};

    use super::*;
    use crate::fixture::{Call, FixedOperator, check};

    fn finding() -> Finding {
        Finding::new("operator/no-evil", "not there").at("method").counter_example("x").allowed("y")
    }

    #[test]
    fn gate_follows_the_operator_policies() {
        check(&GATE, &Call::new("send"), (Allow, Allow), &[]);
        for (stance, decision) in [(Stance::Silent, Allow), (Stance::Permits, Allow), (Stance::Forbids, Deny)]
        {
            let call = Call::new("send").under(FixedOperator::new(stance, vec![finding()]));
            check(&GATE, &call, (decision, decision), &["operator/no-evil"]);
        }
    }

    /// An operator that forbids one method and permits everything else.
    #[derive(Debug)]
    struct ForbidOneMethod(&'static str);

    impl crate::rules::Operator for ForbidOneMethod {
        fn opinion(&self, context: &Context<'_>) -> crate::rules::Opinion {
            let stance = if context.proposal.method == self.0 { Stance::Forbids } else { Stance::Permits };
            crate::rules::Opinion { stance, findings: vec![] }
        }

        fn digest(&self) -> kernel::BlobHash {
            kernel::BlobHash([1; 32])
        }
    }

    /// Returns the decision on a call under a policy that forbids one method.
    fn decision(forbidden: &'static str, kind: &str, method: &str) -> kernel::proposal::Decision {
        let mut call = Call::new("change").but(|c| {
            c.subject.kind = kind.to_owned();
            c.proposal.method = method.to_owned();
        });
        let rules =
            crate::rules::Rules::default().with_operator(std::sync::Arc::new(ForbidOneMethod(forbidden)));
        call.rules = std::sync::Arc::new(rules);
        crate::ruling::combine(vec![judge(&call.context())], crate::ruling::ActiveLifts::default()).decision
    }

    #[test]
    fn policy_against_read_or_list_denies_search() {
        for (forbidden, method, expected) in [
            ("read", "grep", Deny),
            ("read", "move", Deny),
            ("read", "stat", Deny),
            ("read", "edit", Deny),
            ("write", "edit", Deny),
            ("read", "glob", Allow),
            ("list", "grep", Deny),
            ("list", "glob", Deny),
            ("list", "read", Allow),
        ] {
            assert_eq!(decision(forbidden, "dir", method), expected, "{forbidden} {method}");
        }
    }

    #[test]
    fn policy_against_write_denies_every_file_change() {
        for (kind, method, decision) in [
            ("dir", "append", Deny),
            ("dir", "write", Deny),
            ("dir", "edit", Deny),
            ("dir", "move", Deny),
            ("dir", "remove", Deny),
            ("dir", "make_directory", Deny),
            ("dir", "read", Allow),
            ("dir", "grep", Allow),
            ("thing", "append", Allow),
        ] {
            assert_eq!(super::tests::decision("write", kind, method), decision, "{kind}.{method}");
        }
    }

    #[test]
    fn refusal_without_findings_denies() {
        let call = Call::new("look").under(FixedOperator::new(Stance::Forbids, vec![]));
        check(&GATE, &call, (Deny, Deny), &["operator/forbidden"]);
    }

    #[test]
    fn permit_lifts_only_questions_an_operator_may_lift() {
        let permit = || FixedOperator::new(Stance::Permits, vec![finding()]);
        for (call, before, after) in [
            (Call::new("change").by_model(), Ask, Allow),
            (Call::new("change").by_model().overwriting(), Ask, Allow),
            (Call::new("send").by_model(), Ask, Allow),
            (Call::new("send").by_model().having_heard("m"), Ask, Allow),
            // Only a person can lift these questions: those of the worker file, and those about words that may come
            // from a stranger.
            (Call::new("change").by_model().asked_for(), Ask, Ask),
            (Call::new("send").having_read("mail/5"), Ask, Ask),
            (Call::new("send").by_model().having_read("mail/5"), Ask, Ask),
            (Call::new("send").by_model().having_heard("m").having_read("mail/5"), Ask, Ask),
            // A permit does not replace a grant.
            (Call::new("change").but(|c| c.grant.revoked_ms = Some(1)), Deny, Deny),
        ] {
            assert_eq!(call.verdict().decision, before, "{call:?}");
            assert_eq!(call.clone().under(permit()).verdict().decision, after, "{call:?}");
        }
    }

    #[test]
    fn failing_policies_deny() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let verdict = Call::new("look").under(FixedOperator::broken()).verdict();
        std::panic::set_hook(hook);
        assert_eq!(verdict.decision, Deny);
        assert_eq!(verdict.findings[0].rule, "operator/failed");
    }
}
