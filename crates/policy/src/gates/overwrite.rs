//! The gate for files whose content would be lost.

use kernel::proposal::{Caller, Effect, Finding};
use passable::{quoting, visible_line};

use super::Gate;
use crate::facts::Context;
use crate::ruling::{Lift, Ruling};

pub(super) const GATE: Gate =
    Gate { name: "overwrite", version: 1, about: "what the run did not write is not replaced unseen", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let Some(lost) = &context.facts.overwrites else { return Ruling::allow() };
    let is_own = context.written.iter().any(|written| {
        written.target == context.grant.target && written.path == lost.path && written.digest == lost.digest
    });
    if is_own || context.proposal.effect == Effect::Observe {
        return Ruling::allow();
    }
    let path = visible_line(&lost.path);
    let finding = Finding::new(
        "overwrite/replaces",
        quoting!("`{}` exists", path).and(format!(
            " ({} bytes) and was not written by this run; its content would be lost",
            lost.bytes
        )),
    )
    .at("path")
    .counter_example(path.to_string())
    .allowed("a path at which there is no file");
    match context.proposal.caller {
        // The user saw that the method replaces files when the code was endowed.
        Caller::Code => Ruling::note(finding),
        Caller::Model => Ruling::ask(Lift::Endowment, finding),
    }
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Ask};

    use super::*;
    use crate::fixture::{Call, check};

    use crate::facts::WrittenFile;

    #[test]
    fn overwriting_a_foreign_file_asks() {
        let rules = &["overwrite/replaces"][..];
        let own = |call: &mut Call| {
            let lost = call.facts.overwrites.clone().unwrap();
            call.written.push(WrittenFile {
                target: call.grant.target,
                path: lost.path,
                digest: lost.digest,
            });
        };
        for (call, decisions, rules) in [
            (Call::new("change").by_model(), (Allow, Allow), &[][..]),
            (Call::new("change").by_model().overwriting(), (Ask, Allow), rules),
            (Call::new("change").overwriting(), (Allow, Allow), rules),
            (Call::new("look").by_model().overwriting(), (Allow, Allow), &[]),
            (Call::new("change").by_model().overwriting().but(own), (Allow, Allow), &[]),
            // The run wrote these files, but somebody has changed the first one since, and the second one is
            // elsewhere.
            (
                Call::new("change").by_model().overwriting().but(own).but(|c| c.written[0].digest.0[0] = 9),
                (Ask, Allow),
                rules,
            ),
            (
                Call::new("change").by_model().overwriting().but(own).but(|c| c.grant.target = c.grant.id),
                (Ask, Allow),
                rules,
            ),
        ] {
            check(&GATE, &call, decisions, rules);
        }
    }

    #[test]
    fn endowment_lifts_the_question_but_keeps_the_finding() {
        let verdict = Call::new("change").by_model().overwriting().allowed().verdict();
        assert_eq!(verdict.decision, Allow);
        assert!(verdict.findings.iter().any(|finding| finding.rule == "overwrite/replaces"));
    }
}
