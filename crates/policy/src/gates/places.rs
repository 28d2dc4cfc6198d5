//! The gate for places. It asks about each call that may change a place that sends, such as a mail spool, whatever the
//! slot and the endowment say. It names the other places that a change reaches.

use kernel::proposal::Finding;
use passable::{Quoting, visible_line};

use super::Gate;
use crate::facts::Context;
use crate::places::PlaceFact;
use crate::ruling::{Lift, Ruling};

pub(super) const GATE: Gate =
    Gate { name: "places", version: 1, about: "what is written where it is sent asks like a mail", judge };

fn judge(context: &Context<'_>) -> Ruling {
    Ruling::strictest(context.facts.places.iter().map(of_place).collect())
}

fn of_place(fact: &PlaceFact) -> Ruling {
    let place = Quoting::theirs(fact.meaning.phrase(&fact.path));
    let finding = |rule: &str, message: Quoting| {
        Finding::new(rule, message).at(fact.argument).counter_example(visible_line(&fact.path))
    };
    if !fact.meaning.sends() {
        let message = match fact.is_certain {
            true => Quoting::ours("the change lies in ").then(&place),
            false => Quoting::ours("it could also write in ").then(&place),
        };
        let allowed = "a directory of its own, if the two are not to meet";
        return Ruling::note(finding("places/shared", message).allowed(allowed));
    }
    let (message, allowed) = match fact.is_certain {
        true => (
            Quoting::ours("the change lies in ").then(&place).and(": what is written there is sent"),
            "a person's approval of exactly this call, or a path outside of that directory",
        ),
        false => (
            Quoting::ours("it could write in ").then(&place).and(": what is written there is sent"),
            "a person's approval of exactly this call, until the user binds a directory apart from that one",
        ),
    };
    Ruling::ask(Lift::Permission, finding("places/sends", message).allowed(allowed))
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Ask};

    use super::*;
    use crate::fixture::{Call, FixedOperator, check};
    use crate::places::PlaceMeaning;
    use crate::rules::Stance;

    fn reaching(meaning: PlaceMeaning, is_certain: bool) -> Call {
        let fact = PlaceFact { argument: "path", path: "/w/outbox".into(), meaning, is_certain };
        Call::new("change").by_model().but(|c| c.facts.places = vec![fact])
    }

    #[test]
    fn place_that_sends_asks_whatever_was_allowed() {
        let server = || PlaceMeaning::Server { slot: "fs".into(), server: "files".into() };
        for (call, decision, rules) in [
            (Call::new("change").by_model(), Allow, &[][..]),
            (reaching(PlaceMeaning::Spool, true), Ask, &["places/sends"]),
            (reaching(PlaceMeaning::Spool, false), Ask, &["places/sends"]),
            (reaching(PlaceMeaning::Queue, false), Ask, &["places/sends"]),
            (reaching(server(), true), Allow, &["places/shared"]),
            (reaching(server(), false), Allow, &["places/shared"]),
            (reaching(PlaceMeaning::Repository { slot: "repo".into() }, true), Allow, &["places/shared"]),
        ] {
            check(&GATE, &call, (decision, decision), rules);
        }
    }

    #[test]
    fn permit_for_files_does_not_let_them_be_sent() {
        let permit = || FixedOperator::new(Stance::Permits, vec![]);
        let plain = Call::new("change").by_model().allowed();
        assert_eq!(plain.under(permit()).verdict().decision, Allow);
        let sends = reaching(PlaceMeaning::Spool, true).allowed();
        assert_eq!(sends.under(permit()).verdict().decision, Ask);
    }
}
