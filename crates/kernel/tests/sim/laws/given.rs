//! Runs get the capabilities that they asked for by a person's answer alone.

use kernel::formula::Formula;
use kernel::message::{Answer, Body};
use kernel::table;
use resource::Resource;

use crate::script::GIVEN;
use crate::simulation::Simulation;

use super::snapshot::Snapshot;
use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    let runs: Vec<_> = world.runs.iter().map(|((owner, _), run)| (*owner, run.clone())).collect();
    for (owner, run) in &runs {
        for slot in &run.given {
            let Some(id) = run.grants.get(slot) else {
                return expect(false, "what-was-given-fills-its-slot", || format!("{} {slot}", run.number));
            };
            // Once the run is over, its grant is not kept.
            let Ok(Some(grant)) = table::grant(&mut world.store, id) else { continue };
            let fits = grant.holder == run.worker && grant.slot == *slot && grant.owner.0 == *owner;
            expect(fits, "what-was-given-fills-its-slot", || format!("{} {slot}", run.number))?;
            let mail =
                grant.source.and_then(|number| world.letters.get(owner).and_then(|all| all.get(&number)));
            let yes = matches!(mail.and_then(|mail| mail.answers.get(&0)), Some(Answer::Approved { .. }));
            expect(yes, "a-run-is-given-what-a-person-gives", || format!("{} {slot}", run.number))?;
            let asked = mail.and_then(|mail| mail.message).and_then(|id| snapshot.formulas.get(&id.number));
            // It may have been dismissed since.
            let Some(Formula::Message { message }) = asked else { continue };
            let is_it = matches!(&message.body, Body::Request { by: Some(wish), .. }
                if wish.run == run.number && wish.slot == *slot);
            expect(is_it, "a-run-is-given-what-it-asked-for", || format!("{} {slot}", run.number))?;
        }
    }
    for (number, formula) in &snapshot.formulas {
        let Formula::Grant { target, .. } = formula else { continue };
        let leads = matches!(snapshot.formulas.get(&target.number),
            Some(Formula::Resource(Resource::Directory { path, .. })) if path == GIVEN);
        if !leads || !snapshot.stays(number) {
            continue;
        }
        let is_given = runs.iter().any(|(_, run)| {
            run.given.iter().any(|slot| run.grants.get(slot).is_some_and(|id| id.number == *number))
        });
        expect(is_given, "nobody-else-has-what-a-run-was-given", || format!("{formula:?}"))?;
    }
    Ok(())
}
