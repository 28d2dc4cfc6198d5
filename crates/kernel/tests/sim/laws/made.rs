//! Workers made by runs hold at most the grants of their makers, and the additions of a person.

use kernel::formula::Formula;
use kernel::table;
use resource::Resource;

use crate::script::ADDED;
use crate::simulation::Simulation;

use super::snapshot::Snapshot;
use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, snapshot: &Snapshot) -> Law {
    for (number, formula) in &snapshot.formulas {
        let Formula::Worker { grants, made_by: Some(run), .. } = formula else { continue };
        if !snapshot.stays(number) {
            continue;
        }
        for id in grants {
            let Ok(Some(grant)) = table::grant(&mut world.store, id) else { continue };
            expect(grant.holder.number == *number, "a-made-worker-holds-its-own-grants", || {
                format!("{} of {run} is held by {}", grant.slot, grant.holder.short())
            })?;
            let own = match snapshot.formulas.get(&grant.target.number) {
                // A person's addition is not a grant of another grant.
                Some(Formula::Resource(Resource::Directory { path, .. })) if path == ADDED => continue,
                Some(Formula::Grant { holder, .. }) => *holder,
                // Its maker, and all that it had, may be gone; then nothing can be reached through it.
                None => continue,
                other => {
                    let what = format!("{} of {run} leads to {:?}", grant.slot, other.map(Formula::kind));
                    return expect(false, "a-made-worker-holds-grants-of-its-makers-grants", || what);
                }
            };
            let makers = world.runs.values().filter(|maker| maker.number == *run);
            let is_makers = makers.into_iter().any(|maker| maker.worker == own);
            expect(is_makers, "a-made-worker-holds-what-its-maker-holds", || {
                format!("{} of {run} is a grant of {}", grant.slot, own.short())
            })?;
            let Ok(Some(makers)) = table::grant(&mut world.store, &grant.target) else { continue };
            let more = grant.methods.iter().find(|method| !makers.allows(method));
            expect(more.is_none(), "a-made-worker-may-no-more-than-its-maker", || {
                format!("{} of {run} may {more:?}", grant.slot)
            })?;
            expect(grant.allow.is_empty(), "nothing-is-allowed-to-a-made-worker-unasked", || {
                format!("{} of {run} may {:?} unasked", grant.slot, grant.allow)
            })?;
        }
    }
    Ok(())
}
