//! Names are resolved when they are chosen. The endowment is the formula that the name stood for then. Later renames
//! and equal names elsewhere change nothing.

use std::collections::BTreeMap;

use kernel::command::{Act, MailAct, Reply};
use kernel::formula::Formula;
use kernel::message::Body;
use kernel::name_lookup::{PathTarget, View};
use kernel::run::ResultGoesTo;
use kernel::table;
use kernel::{FormulaId, NamePath};

use crate::simulation::{Fact, Simulation};

use super::{Law, expect};

/// The formulas that the names of code stand for as a command begins.
pub(crate) struct Chosen {
    ids: BTreeMap<String, FormulaId>,
    /// The promise that gets the result, and the kind of result that it may get.
    goes_to: Option<(FormulaId, ResultGoesTo)>,
}

pub(crate) fn before(world: &mut Simulation, actor: &FormulaId, act: &Act) -> Option<Chosen> {
    let Act::Mail(act) = act else { return None };
    let asked = |world: &mut Simulation, number| {
        let id = world.message(actor, number)?;
        match world.formula(&id)? {
            Formula::Message { message } => Some(message.body),
            _ => None,
        }
    };
    match &**act {
        MailAct::Grant { number, goes_to } => match asked(world, *number)? {
            Body::EvalRequest { names, ids, promise, .. } => {
                Some(Chosen { ids: names.into_iter().zip(ids).collect(), goes_to: Some((promise, *goes_to)) })
            }
            _ => None,
        },
        MailAct::EndowCode { number, bindings, goes_to, .. } => {
            let promise = asked(world, *number)?.asks()?.0;
            let ids = follow(world, actor, bindings.iter());
            Some(Chosen { ids, goes_to: Some((promise, *goes_to)) })
        }
        MailAct::EndowWorker { number, goes_to, .. } => {
            let promise = asked(world, *number)?.asks()?.0;
            Some(Chosen { ids: BTreeMap::new(), goes_to: Some((promise, *goes_to)) })
        }
        MailAct::Evaluate { names, paths, .. } => {
            Some(Chosen { ids: follow(world, actor, names.iter().zip(paths)), goes_to: None })
        }
        MailAct::Make { powers: Some(path), .. } => {
            let name = "powers".to_owned();
            Some(Chosen { ids: follow(world, actor, std::iter::once((&name, path))), goes_to: None })
        }
        _ => None,
    }
}

fn follow<'a>(
    world: &mut Simulation,
    actor: &FormulaId,
    names: impl Iterator<Item = (&'a String, &'a NamePath)>,
) -> BTreeMap<String, FormulaId> {
    let view = View { agent: *actor, now_ms: world.now_ms };
    names
        .filter_map(|(name, path)| match view.resolve(&mut world.store, path) {
            Ok(PathTarget::Formula(id)) => Some((name.clone(), id)),
            _ => None,
        })
        .collect()
}

pub(crate) fn after(world: &mut Simulation, chosen: &Chosen, reply: &Reply) -> Law {
    if let (Some((promise, goes_to)), Reply::CodeQueued { .. } | Reply::Started { .. }) =
        (chosen.goes_to, reply)
    {
        world.facts.push(match goes_to {
            ResultGoesTo::GuestCapabilities => Fact::MayCarry { promise },
            ResultGoesTo::GuestData | ResultGoesTo::Host => Fact::DataOnly { promise },
        });
    }
    let Reply::CodeQueued { eval, .. } = reply else { return Ok(()) };
    let Some(Formula::Eval { endowments, .. }) = world.formula(eval) else {
        return expect(false, "endowed-code-is-there", || format!("{eval:?}"));
    };
    for (name, id) in &chosen.ids {
        let Some(wanted) = table::reach(&mut world.store, id).unwrap() else { continue };
        // A promise is handed over as its value, and a value that holds references as one that holds grants.
        if matches!(wanted.formula, Formula::Promise { .. } | Formula::Marshal { .. }) {
            continue;
        }
        let given = endowments.get(name).and_then(|id| table::reach(&mut world.store, id).unwrap());
        expect(
            given.as_ref().map(|given| given.id) == Some(wanted.id),
            "a-name-is-followed-when-it-is-chosen",
            || {
                let given = given.map(|given| format!("a {}", given.formula.kind()));
                format!("{name} stands for {given:?} instead of a {}", wanted.formula.kind())
            },
        )?;
    }
    Ok(())
}
