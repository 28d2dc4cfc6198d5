//! What fills the slots of a run, read from its grants.

use std::collections::{BTreeMap, BTreeSet};

use kernel::formula::Formula;
use kernel::grant::Attenuation;
use kernel::run::Limits;
use kernel::table::{self, Reached};
use kernel::{BlobHash, FormulaId, RunNumber};
use worker::definition::{Bundle, Definition, SlotKind};

use super::world::Daemon;
use super::{endow_mcp, endow_paths, endow_programs, listing, start_run};
use control::binding::{SlotBinding, SlotContent};
use control::endowment::{Fill, GitFill, McpFill, ModelFill, PathFill, ProgramFill, WebFill};
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
    if let (Formula::Worker { name, definition, includes, grants, model: None, .. }, Some(SlotKind::Worker)) =
        (&reached.formula, kind)
    {
        let content =
            SlotContent::Worker { name: name.clone(), definition: *definition, includes: includes.clone() };
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
        (Formula::Questions | Formula::Alarm | Formula::Mail | Formula::Workshop, _) => SlotContent::Own,
        (_, Some(kind)) => match fill(&reached, kind)? {
            Some(fill) => {
                if matches!(&fill, Fill::Path(path) if path.stage) {
                    // A staged copy allows these itself.
                    let methods =
                        reached.grants.first().map(|grant| grant.methods.clone()).unwrap_or_default();
                    let own: BTreeSet<String> = endow_paths::staged_allow(&methods).collect();
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

/// Returns what a person would have typed for a resource with its limits, if anything.
fn fill(reached: &Reached, kind: SlotKind) -> Result<Option<Fill>, Failure> {
    let none = Attenuation::default();
    let taken = reached.grants.iter().fold(none, |all, grant| all.join(&grant.attenuation));
    let Attenuation { suffixes, max_bytes, total_bytes, staged_from, private, rate } = taken;
    let methods = || -> Vec<String> {
        let all = endow_paths::kind_methods(kind);
        let granted = |method: &&String| reached.grants.iter().all(|grant| grant.allows(method));
        let left: Vec<String> = all.iter().filter(granted).cloned().collect();
        if left.len() == all.len() { vec![] } else { left }
    };
    Ok(Some(match &reached.formula {
        Formula::Mount { path, .. } => Fill::Path(PathFill {
            path: staged_from.clone().unwrap_or_else(|| path.clone()),
            write: kind == SlotKind::Dir { write: true },
            stage: staged_from.is_some(),
            suffixes: suffixes.into_iter().collect(),
            max_bytes,
            total_bytes,
            methods: methods(),
            private,
            rate,
        }),
        Formula::Spool { path } => Fill::Path(PathFill {
            path: path.clone(),
            suffixes: suffixes.into_iter().collect(),
            max_bytes,
            total_bytes,
            methods: methods(),
            private,
            rate,
            ..PathFill::default()
        }),
        Formula::Program(programs) => Fill::Program(ProgramFill {
            programs: programs.programs.iter().map(|one| (one.name.clone(), one.path.clone())).collect(),
            directories: programs.directories.iter().map(|one| (one.path.clone(), one.write)).collect(),
            network: programs.network,
            starts_others: programs.starts_others,
            environment: programs.environment.clone(),
            wall_ms: Some(programs.wall_ms).filter(|ms| *ms != endow_programs::WALL_MS),
            memory: Some(programs.memory).filter(|bytes| *bytes != endow_programs::MEMORY),
            output: max_bytes,
        }),
        Formula::Web(web) => Fill::Web(WebFill { web: web.clone(), max_bytes, rate }),
        Formula::Repository(repository) => Fill::Git(GitFill {
            path: repository.path.clone(),
            write: repository.write,
            author: repository.author.clone(),
            methods: methods(),
            private,
        }),
        Formula::HandedSecret(secret) => Fill::Secret(secret.clone()),
        Formula::Clock => Fill::Clock,
        Formula::Myself => Fill::Myself,
        Formula::Mcp(server) => Fill::Mcp(McpFill {
            server: server.name.clone(),
            tools: server.tools.iter().map(|tool| (tool.name.clone(), tool.effect)).collect(),
            max_bytes,
            call_ms: Some(server.call_ms).filter(|ms| *ms != endow_mcp::CALL_MS),
            rate,
        }),
        Formula::Worker { model: Some(model), limits, .. } => {
            let usual: Limits = start_run::parse(&worker::model_worker())?.limits;
            Fill::Model(ModelFill {
                model: model.clone(),
                tokens: Some(limits.tokens).filter(|tokens| *tokens != usual.tokens),
                usd_micros: limits.usd_micros,
                key: None,
            })
        }
        _ => return Ok(None),
    }))
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
    use kernel::grant::Rate;
    use kernel::run::{Input, Shape};
    use passable::Untrusted;

    use super::super::testing;
    use super::*;
    use crate::cli;
    use control::endowment::Endowment;

    /// A daemon whose run 1 executes a worker with these slots, bound so.
    fn daemon(dir: &std::path::Path, front: &str, bindings: Vec<Binding>) -> Daemon {
        let source = format!("---\n{front}\n---\nDo it.\n");
        let start = Act::Start(Box::new(Start {
            // What was typed is no source of what was bound.
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
        let methods = endow_paths::kind_methods(SlotKind::Dir { write: true }).into_iter().collect();
        let allow = allow.iter().map(|method| (*method).to_owned()).collect();
        Binding { slot: slot.to_owned(), target, methods, allow, attenuation, ask: BTreeSet::new() }
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

    const HOSTILE: [&str; 10] = [
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
                let bound = binding("d", Target::Mount { path: mount }, taken, &["write"]);
                let daemon = daemon(dir.path(), "slots: { d: dir rw }", vec![bound]);
                let expected = Fill::Path(PathFill {
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
                assert_eq!(cli::parse_endowment_in(base, &typed).unwrap(), *read, "{typed}");
                let elsewhere = cli::typed(std::path::Path::new("/other"), read).unwrap();
                assert_eq!(cli::parse_endowment_in(base, &elsewhere).unwrap(), *read, "{elsewhere}");
            }
        }
    }

    #[test]
    fn binding_with_fewer_methods_names_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut bound = binding("d", Target::Mount { path: "/w".to_owned() }, Attenuation::default(), &[]);
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
            binding("notes", Target::Mount { path: "/n".to_owned() }, Attenuation::default(), &[]);
        inner.methods = endow_paths::kind_methods(SlotKind::Dir { write: false }).into_iter().collect();
        let mut outer =
            binding("help", Target::Endowed { program, bindings: vec![inner] }, Attenuation::default(), &[]);
        outer.methods = endow_paths::kind_methods(SlotKind::Worker).into_iter().collect();
        let daemon = daemon(dir.path(), "slots: { help: worker }", vec![outer]);
        daemon.store.blobs().put(source.as_bytes()).unwrap();
        let found = bindings(&daemon, RunNumber(1)).unwrap();
        let slots: Vec<&str> = found.iter().map(|one| one.slot.as_str()).collect();
        assert_eq!(slots, ["help", "help.notes"]);
        assert!(matches!(&found[0].content, SlotContent::Worker { name, .. } if name == "helper"));
        let (read, _) = &fills(&daemon)[0];
        assert_eq!(cli::typed(std::path::Path::new("/"), read).unwrap(), "help.notes=./n");
    }
}
