//! The gate for the effect of a method. Its default depends on the effect, and on who chose the call and its
//! arguments.

use kernel::proposal::{Caller, Effect, Finding};
use passable::{Quoting, quoting};

use super::Gate;
use crate::facts::Context;
use crate::ruling::{Lift, Ruling};

pub(super) const GATE: Gate =
    Gate { name: "effects", version: 2, about: "what a model may do without being asked about", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let proposal = context.proposal;
    let call = quoting!("`{}.{}`", proposal.slot, proposal.method);
    if context.grant.ask.contains(&proposal.method) {
        return Ruling::ask(
            Lift::Permission,
            Finding::new(
                "effects/asked-for",
                Quoting::ours("the worker file wants a person to be asked about ").then(&call),
            )
            .at("method")
            .counter_example(proposal.method.clone())
            .allowed("a person's approval of exactly this call"),
        );
    }
    // People have read the code that they endowed. If the code passes on a model's words, the call counts as the
    // model's own.
    let (rule, lift, does) = match (proposal.caller, proposal.effect) {
        (Caller::Code, _) | (_, Effect::Observe) => return Ruling::allow(),
        (Caller::Model, Effect::Modify) => ("effects/modify", Lift::Endowment, " changes something"),
        (Caller::Model, Effect::Commit) => {
            ("effects/commit", Lift::Operator, " is seen outside or cannot be undone")
        }
    };
    Ruling::ask(
        lift,
        Finding::new(rule, call.and(does).and(", and a model chose the call or its words"))
            .at("method")
            .counter_example(proposal.method.clone())
            .allowed(match lift {
                Lift::Endowment => quoting!(
                    "a person's approval, or an endowment that allows it (`--allow {}.{}`)",
                    proposal.slot,
                    proposal.method
                ),
                Lift::Operator | Lift::Permission => "a person's approval of exactly this call".into(),
            }),
    )
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Ask};

    use super::*;
    use crate::fixture::{Call, check};

    #[test]
    fn defaults_follow_effect_and_caller() {
        for (call, decisions, rules) in [
            (Call::new("look"), (Allow, Allow), &[][..]),
            (Call::new("change"), (Allow, Allow), &[]),
            (Call::new("send"), (Allow, Allow), &[]),
            (Call::new("look").by_model(), (Allow, Allow), &[]),
            (Call::new("change").by_model(), (Ask, Allow), &["effects/modify"]),
            (Call::new("send").by_model(), (Ask, Ask), &["effects/commit"]),
            (Call::new("look").asked_for(), (Ask, Ask), &["effects/asked-for"]),
            (Call::new("change").asked_for().by_model(), (Ask, Ask), &["effects/asked-for"]),
        ] {
            check(&GATE, &call, decisions, rules);
        }
    }

    #[test]
    fn worker_file_question_overrides_the_endowment() {
        assert_eq!(Call::new("change").by_model().verdict().decision, Ask);
        assert_eq!(Call::new("change").by_model().allowed().verdict().decision, Allow);
        assert_eq!(Call::new("change").by_model().allowed().asked_for().verdict().decision, Ask);
        assert_eq!(Call::new("change").allowed().asked_for().verdict().decision, Ask);
    }
}
