//! The contents of the slots of a worker that itself fills a slot, as in `-e evaluator=./evaluator.worker -e
//! evaluator.out=./reports:rw`.

use std::cell::Cell;

use kernel::command::{Binding, Target};
use passable::visible_line;
use worker::definition::Definition;

use super::bind::methods;
use control::exit::{Exit, Failure};
use control::protocol::StartSpec;
use resource::{Endowment, Kind};

/// The maximum nesting depth of workers in the slots of workers.
const MAX_DEPTH: usize = 8;

/// The maximum number of workers that one command binds, at all depths together.
const MAX_WORKERS: usize = 64;

/// Counts one more bound worker, and checks the limits on their depth and number. The limits also hold for workers
/// that no person named, because a worker file finds others by itself.
///
/// # Errors
/// When a limit is passed.
pub fn expect_room(under: &str, bound: &Cell<usize>) -> Result<(), Failure> {
    bound.set(bound.get() + 1);
    let help = "a worker that calls itself is bound with `-e SLOT=self`";
    if under.matches('.').count() >= MAX_DEPTH {
        let message = format!("`{}`: workers lie at most {MAX_DEPTH} deep", visible_line(under));
        return Err(Failure::new(Exit::Invalid, message).help(help));
    }
    if bound.get() > MAX_WORKERS {
        let message = format!("more than {MAX_WORKERS} workers would be bound");
        return Err(Failure::new(Exit::Invalid, message).help(help));
    }
    Ok(())
}

/// Returns the first slot of a path of slots, and the rest of the path.
fn split(path: &str) -> Option<(&str, &str)> {
    path.split_once('.')
}

/// Returns whether a rule of `--allow` names a method of one of the worker's own slots. Other rules are for the slots
/// of a worker in a slot.
pub fn is_own(rule: &str) -> bool {
    rule.matches('.').count() < 2
}

/// Checks that every path of slots leads only through slots that take workers, and is not too deep.
///
/// # Errors
/// When a path does not.
pub fn check(definition: &Definition, spec: &StartSpec, under: &str) -> Result<(), Failure> {
    let endowed = spec.endow.iter().map(|endowment| endowment.slot.as_str());
    let allowed = spec.allow.iter().filter(|rule| !is_own(rule)).map(String::as_str);
    for path in endowed.chain(allowed) {
        let Some((slot, _)) = split(path) else { continue };
        let is_worker = definition.slot(slot).is_some_and(|slot| slot.kind == Kind::Worker);
        if !is_worker {
            let message = format!(
                "`{under}{}`: `{}` has no slot `{}` that takes a worker",
                visible_line(path),
                visible_line(&definition.name),
                visible_line(slot)
            );
            return Err(Failure::new(Exit::Usage, message)
                .help("write SLOT.INNER=…, where SLOT takes a worker that has the slot INNER"));
        }
        if under.matches('.').count() + path.matches('.').count() > MAX_DEPTH {
            let message = format!("`{under}{}`: workers lie at most {MAX_DEPTH} deep", visible_line(path));
            return Err(Failure::new(Exit::Usage, message).help("fewer workers in the slots of workers"));
        }
    }
    Ok(())
}

/// Returns the settings for the worker in a slot, as if that worker were run by itself.
pub fn inner_spec(outer: &StartSpec, slot: &str) -> StartSpec {
    let below = |path: &str| split(path).filter(|(first, _)| *first == slot).map(|(_, rest)| rest.to_owned());
    let endow = outer.endow.iter().filter_map(|endowment| {
        Some(Endowment { slot: below(&endowment.slot)?, fill: endowment.fill.clone() })
    });
    StartSpec {
        endow: endow.collect(),
        allow: outer.allow.iter().filter(|rule| !is_own(rule)).filter_map(|rule| below(rule)).collect(),
        dry_run: outer.dry_run,
        ..StartSpec::default()
    }
}

/// Returns one line about the content of each slot. The slots of a worker follow its own line.
pub fn fill_lines(bindings: &[Binding]) -> Vec<String> {
    let mut lines = Vec::new();
    add(&mut lines, "", bindings);
    lines
}

fn add(lines: &mut Vec<String>, under: &str, bindings: &[Binding]) {
    for binding in bindings {
        let slot = format!("{under}{}", binding.slot);
        lines.push(format!("{slot} = {} ({})", describe_target(binding), methods::describe(binding)));
        if let Target::Endowed { bindings, .. } = &binding.target {
            add(lines, &format!("{slot}."), bindings);
        }
    }
}

/// Returns a description of the target of a binding, without its restrictions.
pub(crate) fn describe_target(binding: &Binding) -> String {
    match (&binding.target, &binding.attenuation.staged_from) {
        (_, Some(real)) => resource::staged_copy(real),
        (Target::Resource(resource), _) => resource.summary_with(&binding.methods),
        (Target::Workshop, _) => "the making of workers, each shown to you first".to_owned(),
        (Target::Named { path }, _) => path.to_string(),
        (Target::Model { program, model }, _) => {
            resource::model::model_summary(model, Some(program.limits.tokens), program.limits.usd_micros)
        }
        (Target::Myself, _) => resource::keyword_kinds::MYSELF.to_owned(),
        (Target::Worker(program) | Target::Endowed { program, .. }, _) => {
            resource::keyword_kinds::worker_summary(&program.name, &program.definition.short())
        }
    }
}
