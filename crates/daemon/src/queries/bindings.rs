//! The bindings of a run's slots, read from its grants.

use std::collections::{BTreeMap, BTreeSet};

use crate::state::worker_files;
use kernel::formula::Formula;
use kernel::run::Limits;
use kernel::table::{self, ResolvedReference};
use kernel::{BlobHash, FormulaId, RunNumber};
use resource::{Attenuation, Kind, ModelSpec, PathSpec, ResourceSpec};
use worker::definition::{Bundle, Definition};

use super::runs;
use crate::queries::methods::staged_allow;
use crate::state::daemon::HostDaemon;
use control::binding::{SlotBinding, SlotContent};
use control::exit::{Exit, Failure};

/// Returns the contents of a run's slots, in the order of their names. The slots of a worker in a slot follow that
/// slot.
///
/// # Errors
/// When there is no such run, or its worker file is missing.
pub fn bindings(daemon: &HostDaemon, number: RunNumber) -> Result<Vec<SlotBinding>, Failure> {
    let run = runs::load_run(daemon, number)?;
    let definition = definition(daemon, &run.name, &run.definition, &run.includes)?;
    let mut found = Vec::new();
    for (slot, grant) in &run.grants {
        add(daemon, &definition, "", slot, grant, &mut found)?;
    }
    Ok(found)
}

/// Adds the content of one slot, and of the slots below it.
fn add(
    daemon: &HostDaemon,
    definition: &Definition,
    under: &str,
    slot: &str,
    grant: &FormulaId,
    found: &mut Vec<SlotBinding>,
) -> Result<(), Failure> {
    let full = format!("{under}{slot}");
    let Some(reached) = daemon.read(|txn| table::reach(txn, grant))? else {
        let words = "something that is gone".to_owned();
        let content = SlotContent::Untyped { words };
        found.push(SlotBinding { slot: full, kind: None, content, allow: Default::default() });
        return Ok(());
    };
    let mut allow = reached.grants.first().map(|grant| grant.allow.clone()).unwrap_or_default();
    let kind = definition.slot(slot).map(|slot| slot.kind);
    let label = kind.map(|kind| kind.to_string());
    if let (Formula::Worker { name, definition, includes, grants, model: None, .. }, Some(Kind::Worker)) =
        (&reached.formula, kind)
    {
        let limits = combined_attenuation(&reached);
        let file = ResourceSpec::Path(PathSpec::limited(format!("{name}.worker"), &limits));
        let unsaid = untyped_limits(&reached, Kind::Worker, &file);
        if !unsaid.is_empty() {
            let content = untyped_content(&reached.formula, &unsaid);
            found.push(SlotBinding { slot: full, kind: label, content, allow });
            return Ok(());
        }
        let content = SlotContent::Worker {
            name: name.clone(),
            definition: *definition,
            includes: includes.clone(),
            limits,
        };
        found.push(SlotBinding { slot: full.clone(), kind: label, content, allow });
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
        (Formula::Workshop, _) => SlotContent::BuiltIn,
        (Formula::Resource(resource), _) if !resource.kind().row().is_typed() => SlotContent::BuiltIn,
        (_, Some(kind)) => slot_content(&reached, kind)?,
        (formula, None) => untyped_content(formula, &[]),
    };
    if matches!(&content, SlotContent::Typed { fill: ResourceSpec::Path(path) } if path.stage) {
        // A staged copy always allows these methods, so they are left out.
        let methods = reached.grants.first().map(|grant| grant.methods.clone()).unwrap_or_default();
        let own: BTreeSet<String> = staged_allow(&methods).collect();
        allow.retain(|method| !own.contains(method));
    }
    found.push(SlotBinding { slot: full, kind: label, content, allow });
    Ok(())
}

/// Returns the combined restrictions of all grants on the way.
fn combined_attenuation(reached: &ResolvedReference) -> Attenuation {
    reached.grants.iter().fold(Attenuation::default(), |all, grant| all.join(&grant.attenuation))
}

/// Returns the methods that a slot of this kind has through all grants on the way.
fn granted_methods(reached: &ResolvedReference, kind: Kind) -> BTreeSet<String> {
    let mut methods = match &reached.formula {
        Formula::Resource(resource) => resource.methods(kind),
        _ => kind.method_names(),
    };
    methods.retain(|method| reached.grants.iter().all(|grant| grant.allows(method)));
    methods
}

/// Returns the content of a slot of this kind. The content is typed only if the text expresses every limit of the
/// grants on the way.
fn slot_content(reached: &ResolvedReference, kind: Kind) -> Result<SlotContent, Failure> {
    let Some(fill) = typed_resource(reached, kind)? else {
        return Ok(untyped_content(&reached.formula, &[]));
    };
    let unsaid = untyped_limits(reached, kind, &fill);
    if unsaid.is_empty() {
        Ok(SlotContent::Typed { fill })
    } else {
        Ok(untyped_content(&reached.formula, &unsaid))
    }
}

/// Returns descriptions of those limits of the grants on the way that the typed form does not express.
fn untyped_limits(reached: &ResolvedReference, kind: Kind, fill: &ResourceSpec) -> Vec<String> {
    let mut unsaid =
        fill.missing_limits(kind, &combined_attenuation(reached), &granted_methods(reached, kind));
    let ends = reached.grants.iter().chain(&reached.through).filter_map(|grant| grant.expires_ms).min();
    unsaid.extend(ends.map(|end| format!("until {} at the latest", kernel::time::shown(end))));
    unsaid
}

/// Returns the content of a slot that cannot be typed: its description, and the limits that would be lost.
fn untyped_content(formula: &Formula, unsaid: &[String]) -> SlotContent {
    let mut words = kernel::query::describe(formula);
    if !unsaid.is_empty() {
        words += &format!(" with limits that cannot be typed: {}", unsaid.join("; "));
    }
    SlotContent::Untyped { words }
}

/// Returns a resource with its limits in the form that a person would type, as far as possible. Returns `None` if the
/// resource cannot be typed.
fn typed_resource(reached: &ResolvedReference, kind: Kind) -> Result<Option<ResourceSpec>, Failure> {
    Ok(match &reached.formula {
        Formula::Resource(resource) => ResourceSpec::from_grant(
            resource,
            kind,
            &combined_attenuation(reached),
            &granted_methods(reached, kind),
        ),
        Formula::Myself => Some(ResourceSpec::Myself),
        Formula::Worker { model: Some(model), limits, .. } => {
            let usual: Limits = worker_files::parse(&worker::model_worker())?.limits;
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

/// Returns the stored definition of a worker.
fn definition(
    daemon: &HostDaemon,
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
    worker_files::parse(&Bundle {
        name: name.to_owned(),
        file: format!("{name}.worker"),
        source: text(definition)?,
        includes: includes.collect::<Result<_, Failure>>()?,
    })
}

#[cfg(test)]
mod tests {
    use kernel::command::{Act, Binding, GrantAct, NameAct, Program, ProvidedObject, Start, Target};
    use kernel::run::{Input, Shape};
    use kernel::{NamePath, Value};
    use passable::Untrusted;

    use super::*;
    use crate::runs::start;
    use crate::testing;
    use crate::testing::{mcp_server, web_resource};
    use config::endowment_text;
    use config::machine::Machine;
    use control::protocol::StartSpec;
    use resource::programs::{DEFAULT_MEMORY_BYTES, DEFAULT_WALL_TIMEOUT_MS, EndowedProgram, Programs};
    use resource::repository::Repository;
    use resource::{Endowment, Rate, Resource};

    /// Returns a daemon whose run 1 executes a worker with these slots and these bindings.
    fn daemon(dir: &std::path::Path, front: &str, bindings: Vec<Binding>) -> HostDaemon {
        daemon_after(dir, vec![], front, bindings)
    }

    /// Returns the same kind of daemon, whose host has carried out the acts `before`.
    fn daemon_after(
        dir: &std::path::Path,
        before: Vec<Act>,
        front: &str,
        bindings: Vec<Binding>,
    ) -> HostDaemon {
        let source = format!("---\n{front}\n---\nDo it.\n");
        let start = Act::Start(Box::new(Start {
            // This text names another directory, because the bindings must come from the grants alone.
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
            key: None,
        }));
        let daemon = testing::daemon(dir, before.into_iter().chain([start]).collect());
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

    fn fills(daemon: &HostDaemon) -> Vec<(Endowment, BTreeSet<String>)> {
        let all = bindings(daemon, RunNumber(1)).unwrap();
        all.into_iter()
            .filter_map(|SlotBinding { slot, content, allow, .. }| match content {
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
            // Each path is tried with several sets of limits. Every limit occurs with and without the others.
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
                // A staged copy always allows the method, so the user need not allow it again.
                assert_eq!(allow.contains("write"), !has(5), "{path} {bits:b}");
                let base = std::path::Path::new("/w");
                let typed = endowment_text::typed(base, read).unwrap();
                assert_eq!(Machine::At(base).parse_endowment(&typed).unwrap(), *read, "{typed}");
                let elsewhere = endowment_text::typed(std::path::Path::new("/other"), read).unwrap();
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
        assert_eq!(
            endowment_text::typed(std::path::Path::new("/"), read).unwrap(),
            "d=./w:rw?methods=list,read"
        );
    }

    fn path(name: &str) -> NamePath {
        NamePath::parse(name).unwrap()
    }

    /// Returns the acts that name the directory `/w` `big`, and a narrower grant of it `small`.
    fn narrowed(methods: &[&str], attenuation: Attenuation, expires_ms: Option<i64>) -> Vec<Act> {
        let thing = ProvidedObject::Mount { path: "/w".to_owned(), read_only: false };
        let methods = methods.iter().map(|method| (*method).to_owned()).collect();
        let narrow = GrantAct::Attenuate {
            path: path("big"),
            is: None,
            methods,
            attenuation,
            expires_ms,
            to: path("small"),
            force: false,
        };
        vec![Act::Name(NameAct::Provide { thing, path: path("big") }), Act::Grant(narrow)]
    }

    fn programs() -> Resource {
        let digest = BlobHash([1; 32]);
        let (name, path) = ("rg".to_owned(), "/usr/bin/rg".to_owned());
        Resource::Programs(Programs {
            programs: vec![EndowedProgram { name, path, digest, interpreters: vec![] }],
            directories: vec![],
            environment: BTreeMap::new(),
            network: false,
            starts_others: false,
            wall_ms: DEFAULT_WALL_TIMEOUT_MS,
            memory: DEFAULT_MEMORY_BYTES,
        })
    }

    /// Returns the content of the slot `x` of this kind, filled through a grant with these methods.
    fn content_of(kind: Kind, target: Target, attenuation: Attenuation, methods: &[&str]) -> SlotContent {
        let dir = tempfile::tempdir().unwrap();
        let mut bound = binding("x", target, attenuation, &[]);
        bound.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        let daemon = daemon(dir.path(), &format!("slots: {{ x: {kind} }}"), vec![bound]);
        bindings(&daemon, RunNumber(1)).unwrap().remove(0).content
    }

    fn rate() -> Attenuation {
        Attenuation { rate: Some(Rate { calls: 1, per_ms: 1_000 }), ..Attenuation::default() }
    }

    #[test]
    fn binding_with_fewer_tools_or_web_methods_is_typed_no_wider() {
        let none = Attenuation::default;
        for (kind, resource, taken, methods, typed) in [
            (Kind::Mcp, mcp_server(), none(), &["list", "delete"][..], "mcp:srv[list,delete]"),
            (Kind::Mcp, mcp_server(), none(), &["list"], "mcp:srv[list]"),
            (Kind::Mcp, mcp_server(), rate(), &["list"], "mcp:srv[list]?rate=1/s"),
            (Kind::Http, Resource::Web(web_resource(&["GET", "POST"])), none(), &["get"], "https://h/p"),
            (
                Kind::Http,
                Resource::Web(web_resource(&["GET", "POST"])),
                rate(),
                &["get", "send"],
                "https://h/p?methods=GET,POST&rate=1/s",
            ),
        ] {
            let content = content_of(kind, Target::Resource(resource), taken, methods);
            let SlotContent::Typed { fill } = content else { panic!("{typed}: {content:?}") };
            assert_eq!(fill.typed(), typed);
        }
    }

    #[test]
    fn binding_with_a_limit_that_cannot_be_typed_names_the_limit() {
        let none = Attenuation::default;
        let resource = Target::Resource;
        let repository = Repository { path: "/r".to_owned(), write: false, author: None };
        let program = Program {
            name: "model".to_owned(),
            definition: BlobHash::of(b"model"),
            includes: BTreeMap::new(),
            limits: Limits::default(),
        };
        let git = Kind::Git { write: false };
        for (kind, target, taken, methods, limit) in [
            (Kind::Clock, resource(Resource::Clock), rate(), Kind::Clock.methods(), "1 call in 1 s"),
            (Kind::Clock, resource(Resource::Clock), none(), &["now"], "only the methods now"),
            (git, resource(Resource::Repository(repository)), rate(), git.methods(), "1 call in 1 s"),
            (Kind::Program, resource(programs()), rate(), Kind::Program.methods(), "1 call in 1 s"),
            (
                Kind::Model,
                Target::Model { program, model: "local".to_owned() },
                rate(),
                Kind::Model.methods(),
                "1 call in 1 s",
            ),
            (Kind::Mcp, resource(mcp_server()), none(), &[], "no method"),
            (
                Kind::Http,
                resource(Resource::Web(web_resource(&["GET", "POST"]))),
                none(),
                &["send"],
                "only the methods send",
            ),
        ] {
            let content = content_of(kind, target, taken, methods);
            let SlotContent::Untyped { words } = content else { panic!("{kind}, {limit}: {content:?}") };
            let end = format!(" with limits that cannot be typed: {limit}");
            assert!(words.ends_with(&end), "{kind}: {words}");
        }
    }

    #[test]
    fn narrowed_name_is_typed_with_its_limits_unless_expiring() {
        let suffix = Attenuation { suffixes: [".md".to_owned()].into(), ..Attenuation::default() };
        for (expires_ms, typed) in [(None, Some("d=./w?suffix=.md&methods=list,read")), (Some(1 << 42), None)]
        {
            let dir = tempfile::tempdir().unwrap();
            let before = narrowed(&["list", "read"], suffix.clone(), expires_ms);
            let mut bound = binding("d", Target::Named { path: path("small") }, Attenuation::default(), &[]);
            bound.methods = all(Kind::Dir { write: false });
            let daemon = daemon_after(dir.path(), before, "slots: { d: dir }", vec![bound]);
            let base = std::path::Path::new("/");
            let read = fills(&daemon).first().map(|(read, _)| endowment_text::typed(base, read).unwrap());
            assert_eq!(read.as_deref(), typed);
            if expires_ms.is_some() {
                let content = bindings(&daemon, RunNumber(1)).unwrap().remove(0).content;
                let SlotContent::Untyped { words } = content else { panic!("{content:?}") };
                assert!(words.contains("cannot be typed: until 2109-"), "{words}");
            }
        }
    }

    #[test]
    fn model_in_a_slot_that_takes_a_worker_is_typed_and_bound_again() {
        let dir = tempfile::tempdir().unwrap();
        let program = Program {
            name: "model".to_owned(),
            definition: BlobHash::of(b"model"),
            includes: BTreeMap::new(),
            limits: Limits::default(),
        };
        let target = Target::Model { program, model: "scripted:/m.json".to_owned() };
        let SlotContent::Typed { fill } = content_of(Kind::Worker, target, Attenuation::default(), &["call"])
        else {
            panic!("a model is typed");
        };
        let typed = Endowment { slot: "x".to_owned(), fill };
        assert!(typed.typed().starts_with("x=model:scripted:/m.json"), "{typed}");
        let daemon = testing::empty_daemon(&dir.path().join("home"));
        let bundle = Bundle::of("w", "---\nslots: { x: worker }\n---\nDo it.\n");
        let definition = worker_files::parse(&bundle).unwrap();
        let spec = StartSpec { endow: vec![typed], ..StartSpec::default() };
        let bound = start::bindings(&daemon, &definition, &spec, &BTreeMap::new()).unwrap();
        assert!(matches!(&bound[0].target, Target::Model { model, .. } if model == "scripted:/m.json"));
        // A model has no slots that could be filled.
        let inner = Machine::At(dir.path()).parse_endowment("x.y=clock").unwrap();
        let spec =
            StartSpec { endow: spec.endow.into_iter().chain([inner]).collect(), ..StartSpec::default() };
        let refused = start::bindings(&daemon, &definition, &spec, &BTreeMap::new()).unwrap_err();
        assert!(refused.message.raw().contains("has no slots"), "{}", refused.message.raw());
    }

    #[test]
    fn worker_in_a_slot_is_listed_with_its_own_bindings() {
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
        assert_eq!(endowment_text::typed(std::path::Path::new("/"), read).unwrap(), "help.notes=./n");
    }
}
