//! The bindings of a run's slots, read from its grants.

use std::collections::{BTreeMap, BTreeSet};

use kernel::formula::Formula;
use kernel::run::Limits;
use kernel::table::{self, Reached};
use kernel::{BlobHash, FormulaId, RunNumber};
use resource::{Attenuation, Kind, ModelSpec, ResourceSpec};
use worker::definition::{Bundle, Definition};

use super::bind::methods::staged_allow;
use super::world::Daemon;
use super::{listing, start_run};
use control::binding::{SlotBinding, SlotContent};
use control::exit::{Exit, Failure};

/// Returns what fills the slots of a run, in the order of their names; slots of workers in slots follow their worker.
///
/// # Errors
/// When there is no such run, or what it executed is gone.
pub fn bindings(daemon: &Daemon, number: RunNumber) -> Result<Vec<SlotBinding>, Failure> {
    let run = listing::one(daemon, number)?;
    let definition = definition(daemon, &run.name, &run.definition, &run.includes)?;
    let mut found = Vec::new();
    for (slot, grant) in &run.grants {
        add(daemon, &definition, "", slot, grant, &mut found)?;
    }
    Ok(found)
}

/// Adds what fills one slot, and the slots below it.
fn add(
    daemon: &Daemon,
    definition: &Definition,
    under: &str,
    slot: &str,
    grant: &FormulaId,
    found: &mut Vec<SlotBinding>,
) -> Result<(), Failure> {
    let full = format!("{under}{slot}");
    let Some(reached) = daemon.read(|txn| table::reach(txn, grant))? else {
        let words = "something that is gone".to_owned();
        found.push(SlotBinding {
            slot: full,
            content: SlotContent::Untyped { words },
            allow: Default::default(),
        });
        return Ok(());
    };
    let mut allow = reached.grants.first().map(|grant| grant.allow.clone()).unwrap_or_default();
    let kind = definition.slot(slot).map(|slot| slot.kind);
    if let (Formula::Worker { name, definition, includes, grants, model: None, .. }, Some(Kind::Worker)) =
        (&reached.formula, kind)
    {
        let content = SlotContent::Worker {
            name: name.clone(),
            definition: *definition,
            includes: includes.clone(),
            limits: taken(&reached),
        };
        found.push(SlotBinding { slot: full.clone(), content, allow });
        if grants.is_empty() {
            return Ok(());
        }
        let inner = self::definition(daemon, name, definition, includes)?;
        for grant in grants {
            let row =
                daemon.read(|txn| table::reach(txn, grant))?.and_then(|it| it.grants.into_iter().next());
            if let Some(row) = row {
                add(daemon, &inner, &format!("{full}."), &row.slot, grant, found)?;
            }
        }
        return Ok(());
    }
    let content = match (&reached.formula, kind) {
        (Formula::Workshop, _) => SlotContent::Own,
        (Formula::Resource(resource), _) if !resource.kind().row().is_typed() => SlotContent::Own,
        (_, Some(kind)) => match spec(&reached, kind)? {
            Some(fill) => {
                if matches!(&fill, ResourceSpec::Path(path) if path.stage) {
                    // A staged copy allows these itself.
                    let methods =
                        reached.grants.first().map(|grant| grant.methods.clone()).unwrap_or_default();
                    let own: BTreeSet<String> = staged_allow(&methods).collect();
                    allow.retain(|method| !own.contains(method));
                }
                SlotContent::Typed { fill }
            }
            None => SlotContent::Untyped { words: kernel::query::words(&reached.formula) },
        },
        (formula, None) => SlotContent::Untyped { words: kernel::query::words(formula) },
    };
    found.push(SlotBinding { slot: full, content, allow });
    Ok(())
}

/// Returns what all grants on the way take away.
fn taken(reached: &Reached) -> Attenuation {
    reached.grants.iter().fold(Attenuation::default(), |all, grant| all.join(&grant.attenuation))
}

/// Returns what a person would have typed for a resource with its limits, if anything.
fn spec(reached: &Reached, kind: Kind) -> Result<Option<ResourceSpec>, Failure> {
    let taken = taken(reached);
    let granted = |method: &&str| reached.grants.iter().all(|grant| grant.allows(method));
    let methods = kind.methods().iter().copied().filter(granted).map(str::to_owned).collect();
    Ok(match &reached.formula {
        Formula::Resource(resource) => ResourceSpec::of(resource, kind, &taken, &methods),
        Formula::Myself => Some(ResourceSpec::Myself),
        Formula::Worker { model: Some(model), limits, .. } => {
            let usual: Limits = start_run::parse(&worker::model_worker())?.limits;
            Some(ResourceSpec::Model(ModelSpec {
                model: model.clone(),
                tokens: Some(limits.tokens).filter(|tokens| *tokens != usual.tokens),
                usd_micros: limits.usd_micros,
                key: None,
            }))
        }
        _ => None,
    })
}

/// Returns the definition of a worker, as the store keeps it.
fn definition(
    daemon: &Daemon,
    name: &str,
    definition: &BlobHash,
    includes: &BTreeMap<String, BlobHash>,
) -> Result<Definition, Failure> {
    let text = |hash: &BlobHash| {
        let gone =
            |what: String| Failure::new(Exit::NotFound, what).help("what a forgotten run worked on is gone");
        let bytes = daemon.store.blobs().get(hash).map_err(|error| gone(error.to_string()))?;
        String::from_utf8(bytes).map_err(|_| Failure::new(Exit::Invalid, "a worker's definition is not text"))
    };
    let includes = includes.iter().map(|(name, hash)| Ok((name.clone(), text(hash)?)));
    start_run::parse(&Bundle {
        name: name.to_owned(),
        file: format!("{name}.worker"),
        source: text(definition)?,
        includes: includes.collect::<Result<_, Failure>>()?,
    })
}

#[cfg(test)]
mod tests {
    use kernel::Value;
    use kernel::command::{Act, Binding, Program, Start, Target};
    use kernel::run::{Input, Shape};
    use passable::Untrusted;

    use super::super::testing;
    use super::*;
    use crate::cli;
    use crate::machine::Machine;
    use resource::{Endowment, PathSpec, Rate, Resource};

    /// A daemon whose run 1 executes a worker with these slots, bound so.
    fn daemon(dir: &std::path::Path, front: &str, bindings: Vec<Binding>) -> Daemon {
        let source = format!("---\n{front}\n---\nDo it.\n");
        let start = Act::Start(Box::new(Start {
            // This text names another directory: the bindings come from the grants alone.
            text: Untrusted::new("almoner run w.worker -e d=/somewhere/else:rw --allow d.write"),
            worker: Program {
                name: "w".to_owned(),
                definition: BlobHash::of(source.as_bytes()),
                includes: BTreeMap::new(),
                limits: Limits::default(),
            },
            shape: Shape::Single,
            private: false,
            model: "local".to_owned(),
            input: Input {
                values: Value::record_from_map(BTreeMap::new()),
                attachments: vec![],
                items: vec![],
                origins: vec![],
                earlier: None,
            },
            bindings,
        }));
        let daemon = testing::daemon(dir, vec![start]);
        daemon.store.blobs().put(source.as_bytes()).unwrap();
        daemon
    }

    fn binding(slot: &str, target: Target, attenuation: Attenuation, allow: &[&str]) -> Binding {
        let methods = all(Kind::Dir { write: true });
        let allow = allow.iter().map(|method| (*method).to_owned()).collect();
        Binding { slot: slot.to_owned(), target, methods, allow, attenuation, ask: BTreeSet::new() }
    }

    fn all(kind: Kind) -> BTreeSet<String> {
        kind.methods().iter().map(|method| (*method).to_owned()).collect()
    }

    fn fills(daemon: &Daemon) -> Vec<(Endowment, BTreeSet<String>)> {
        let all = bindings(daemon, RunNumber(1)).unwrap();
        all.into_iter()
            .filter_map(|SlotBinding { slot, content, allow }| match content {
                SlotContent::Typed { fill } => Some((Endowment { slot, fill }, allow)),
                _ => None,
            })
            .collect()
    }

    const HOSTILE: [&str; 16] = [
        "/w/plain",
        "/w/two words",
        "/w/new\nline",
        "/w/tab\there",
        "/w/\"double\" and 'single'",
        "/w/cafe\u{301}",
        "/w/-e out=x",
        "/w/a\\b",
        "/w/a&b=c",
        "/w/\u{1b}[2K",
        "/w/ends:rw",
        "/w/ends:stage",
        "/w/a?max=1",
        "/w/git:x",
        "/w/program:sh?net=yes",
        "/w/ blanks ",
    ];

    #[test]
    fn binding_of_any_path_and_limit_is_read_from_the_store() {
        let rate = Some(Rate { calls: 3, per_ms: 90_000 });
        let suffixes: BTreeSet<String> = [".md", ".pdf"].map(str::to_owned).into();
        for (at, path) in HOSTILE.iter().enumerate() {
            // Each path with another set of limits; every limit comes with and without the others.
            for bits in [0u32, 63, 1 << (at % 6), 63 & !(1 << (at % 6))] {
                let has = |bit: u32| bits & (1 << bit) != 0;
                let staged_from = has(5).then(|| (*path).to_owned());
                let taken = Attenuation {
                    suffixes: if has(0) { suffixes.clone() } else { BTreeSet::new() },
                    max_bytes: has(1).then_some(4097),
                    total_bytes: has(2).then_some(1 << 30),
                    private: has(3),
                    rate: rate.filter(|_| has(4)),
                    staged_from: staged_from.clone(),
                };
                let mount = staged_from.map_or_else(|| (*path).to_owned(), |_| "/state/staged/1".to_owned());
                let dir = tempfile::tempdir().unwrap();
                let bound = binding("d", Target::Resource(Resource::directory(mount)), taken, &["write"]);
                let daemon = daemon(dir.path(), "slots: { d: dir rw }", vec![bound]);
                let expected = ResourceSpec::Path(PathSpec {
                    path: (*path).to_owned(),
                    write: true,
                    stage: has(5),
                    suffixes: if has(0) { suffixes.iter().cloned().collect() } else { vec![] },
                    max_bytes: has(1).then_some(4097),
                    total_bytes: has(2).then_some(1 << 30),
                    methods: vec![],
                    private: has(3),
                    rate: rate.filter(|_| has(4)),
                });
                let found = fills(&daemon);
                assert_eq!(found.len(), 1, "{path}");
                let (read, allow) = &found[0];
                assert_eq!(*read, Endowment { slot: "d".to_owned(), fill: expected }, "{path} {bits:b}");
                // A staged copy allows that itself, so nobody has to say it again.
                assert_eq!(allow.contains("write"), !has(5), "{path} {bits:b}");
                let base = std::path::Path::new("/w");
                let typed = cli::typed(base, read).unwrap();
                assert_eq!(Machine::At(base).parse_endowment(&typed).unwrap(), *read, "{typed}");
                let elsewhere = cli::typed(std::path::Path::new("/other"), read).unwrap();
                assert_eq!(Machine::At(base).parse_endowment(&elsewhere).unwrap(), *read, "{elsewhere}");
            }
        }
    }

    #[test]
    fn binding_with_fewer_methods_names_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut bound =
            binding("d", Target::Resource(Resource::directory("/w")), Attenuation::default(), &[]);
        bound.methods = ["list", "read"].map(str::to_owned).into();
        let daemon = daemon(dir.path(), "slots: { d: dir rw }", vec![bound]);
        let (read, _) = &fills(&daemon)[0];
        assert_eq!(cli::typed(std::path::Path::new("/"), read).unwrap(), "d=./w:rw?methods=list,read");
    }

    #[test]
    fn worker_in_a_slot_is_found_with_what_fills_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let source = "---\nslots: { notes: dir }\n---\nHelp.\n";
        let program = Program {
            name: "helper".to_owned(),
            definition: BlobHash::of(source.as_bytes()),
            includes: BTreeMap::new(),
            limits: Limits::default(),
        };
        let mut inner =
            binding("notes", Target::Resource(Resource::directory("/n")), Attenuation::default(), &[]);
        inner.methods = all(Kind::Dir { write: false });
        let limits = Attenuation { suffixes: [".md".to_owned()].into(), ..Attenuation::default() };
        let mut outer =
            binding("help", Target::Endowed { program, bindings: vec![inner] }, limits.clone(), &[]);
        outer.methods = all(Kind::Worker);
        let daemon = daemon(dir.path(), "slots: { help: worker }", vec![outer]);
        daemon.store.blobs().put(source.as_bytes()).unwrap();
        let found = bindings(&daemon, RunNumber(1)).unwrap();
        let slots: Vec<&str> = found.iter().map(|one| one.slot.as_str()).collect();
        assert_eq!(slots, ["help", "help.notes"]);
        let is_helper = |content: &SlotContent| matches!(content, SlotContent::Worker { name, limits: read, .. } if name == "helper" && *read == limits);
        assert!(is_helper(&found[0].content));
        let (read, _) = &fills(&daemon)[0];
        assert_eq!(cli::typed(std::path::Path::new("/"), read).unwrap(), "help.notes=./n");
    }
}
