//! Names, and grants of the objects that they stand for.

use std::collections::BTreeMap;

use kernel::command::{Act, GrantAct, NameAct, ProvidedObject, Reply};
use kernel::formula::Tree;
use kernel::grant::Attenuation;
use kernel::id::Number;
use kernel::name_lookup::View;
use kernel::{BlobHash, FormulaId, GrantNumber, NamePath, Value};

use crate::laws::Law;
use crate::simulation::Simulation;

use super::{NAMES, act};

/// Returns a path that may lead somewhere.
pub(crate) fn path(world: &mut Simulation, actor: FormulaId) -> NamePath {
    let random = &mut world.random;
    let name = *random.pick(&NAMES);
    let text = match random.below(40) {
        0..22 => name.to_owned(),
        22..28 => format!("dir/{name}"),
        28..31 => format!("shared/{name}"),
        31 => (*random.pick(&["g1", "g2", "g3", "sub", "peer", "h", "sub-agent"])).to_owned(),
        32..34 => (*random.pick(&["@self", "@agent", "@host", "@mail", "@main", "@none", "@pins", "@nets"]))
            .to_owned(),
        34 => (*random.pick(&["@host/x", "a/b", "shared/dir/a", "@mail/x", "box/a", "nobody"])).to_owned(),
        _ => {
            let number = super::letter(world, &actor, |_, _| true);
            let part = *world.random.pick(&[
                "@from",
                "@promise",
                "@value",
                "@resolver",
                "@message",
                "@definition",
                "@strings",
                "@date",
                "k",
                "it",
            ]);
            format!("@mail/{number}/{part}")
        }
    };
    super::path(&text)
}

/// Returns a path at which something is to be named.
pub(crate) fn spot(world: &mut Simulation) -> NamePath {
    let random = &mut world.random;
    let name = *random.pick(&NAMES);
    super::path(&match random.below(30) {
        0..20 => name.to_owned(),
        20..25 => format!("dir/{name}"),
        25..27 => format!("shared/{name}"),
        27 => "@mail/1".to_owned(),
        28 => "@self".to_owned(),
        _ => format!("@mail/0/{name}"),
    })
}

/// Returns a value: data, something that the actor holds, or something that it has only heard of.
pub(crate) fn value(world: &mut Simulation, actor: FormulaId) -> Value {
    match world.random.below(8) {
        0..3 => Value::string("some text"),
        3 => Value::number(7.0),
        4 => Value::record_from_map(BTreeMap::from([("n".to_owned(), Value::number(1.0))])),
        5 => {
            let seen = world.seen.clone();
            Value::remotable(*world.random.pick(&seen))
        }
        _ => match held(world, actor) {
            Some(id) => Value::array([Value::remotable(id), Value::string("and this")]),
            None => Value::null(),
        },
    }
}

fn held(world: &mut Simulation, actor: FormulaId) -> Option<FormulaId> {
    let path = path(world, actor);
    View { agent: actor, now_ms: world.now_ms }.identify(&mut world.store, &path).ok()
}

fn provided(world: &mut Simulation) -> ProvidedObject {
    let read_only = world.random.one_in(2);
    match world.random.below(4) {
        0 => ProvidedObject::Mount { path: "/cap".to_owned(), read_only },
        1 => ProvidedObject::Scratch { read_only },
        2 => {
            let hash = BlobHash::of(&[world.random.bytes()[0]]);
            ProvidedObject::Tree(Tree { hash, sha256: hash.to_string() })
        }
        _ => ProvidedObject::Vat,
    }
}

pub(super) fn step(world: &mut Simulation, actor: FormulaId) -> Law {
    let name = |act| Act::Name(act);
    let it = match world.random.below(18) {
        0..3 => NameAct::StoreValue { value: value(world, actor), path: spot(world) },
        3 => {
            NameAct::StoreBlob { hash: BlobHash::of(&[world.random.bytes()[0]]), bytes: 5, path: spot(world) }
        }
        4 | 5 => {
            let seen = world.seen.clone();
            let id = match held(world, actor) {
                Some(id) if !world.random.one_in(3) => id,
                _ => *world.random.pick(&seen),
            };
            NameAct::StoreIdentifier { id, path: spot(world) }
        }
        6 | 7 => NameAct::Remove { path: spot(world) },
        8 => NameAct::Move { from: path(world, actor), to: spot(world) },
        9..12 => NameAct::Copy { from: path(world, actor), to: spot(world) },
        12..15 => {
            let dir = if world.random.one_in(2) { super::path("dir") } else { spot(world) };
            NameAct::MakeDirectory { path: dir }
        }
        15 | 16 => NameAct::Provide { thing: provided(world), path: spot(world) },
        _ => return rescue(world, actor),
    };
    if !world.random.one_in(6) {
        let it = match world.random.below(8) {
            0 => NameAct::Forced { act: Box::new(it) },
            1 => as_seen(world, actor, it),
            _ => it,
        };
        return act(world, actor, name(it));
    }
    let seen = world.seen.clone();
    let base = match held(world, actor) {
        Some(id) if !world.random.one_in(3) => id,
        _ => *world.random.pick(&seen),
    };
    act(world, actor, name(NameAct::Within { base, act: Box::new(it) }))
}

/// Returns the same act with the target of one of the actor's names as its precondition, if the actor has such a
/// name.
fn as_seen(world: &mut Simulation, actor: FormulaId, it: NameAct) -> NameAct {
    let path = path(world, actor);
    match (View { agent: actor, now_ms: world.now_ms }).identify(&mut world.store, &path) {
        Ok(is) => NameAct::IfUnchanged { path, is, act: Box::new(it) },
        Err(_) => it,
    }
}

/// Takes something out of a directory that is then dropped, while the collector is on its way.
fn rescue(world: &mut Simulation, actor: FormulaId) -> Law {
    let name = *world.random.pick(&["a", "b", "c"]);
    let inside = super::path(&format!("dir/{name}"));
    let there = super::path("dir");
    let steps = [
        NameAct::MakeDirectory { path: there.clone() },
        NameAct::MakeDirectory { path: inside.clone() },
        NameAct::Copy { from: inside.clone(), to: super::path("d") },
        NameAct::Remove { path: super::path("d") },
    ];
    for step in steps {
        act(world, actor, Act::Name(step))?;
    }
    let walk = |world: &mut Simulation| {
        let budget = 1 + u32::try_from(world.random.below(6)).unwrap();
        let daemon = world.root();
        act(world, daemon, Act::Collect { budget, pinned: Default::default() })
    };
    walk(world)?;
    act(world, actor, Act::Name(NameAct::Copy { from: inside, to: super::path("d") }))?;
    act(world, actor, Act::Name(NameAct::Remove { path: there }))?;
    walk(world)
}

/// Returns a right is passed on to a run, revoked where it came from, and used.
fn revoke_behind(world: &mut Simulation) -> Law {
    let root = world.root();
    act(world, root, Act::Name(NameAct::MakeDirectory { path: super::path("dir") }))?;
    let narrow = GrantAct::Attenuate {
        path: super::path("dir"),
        is: None,
        methods: vec!["lookup".to_owned(), "write".to_owned()],
        attenuation: Attenuation::default(),
        expires_ms: None,
        to: super::path("x"),
        force: false,
    };
    let narrowed = world.apply(root, Act::Grant(narrow))?;
    let Ok(Reply::Granted { number }) = narrowed.map(|outcome| outcome.reply) else { return Ok(()) };
    let run = super::runs::start_with(world, root, "x")?;
    act(world, root, Act::Grant(GrantAct::Revoke { grant: number }))?;
    match run {
        Some(run) => super::runs::use_once(world, root, run),
        None => Ok(()),
    }
}

/// Rights are shared, used, narrowed and revoked.
pub(super) fn grants(world: &mut Simulation, actor: FormulaId) -> Law {
    let it = match world.random.below(11) {
        10 => return revoke_behind(world),
        0..3 => {
            let token = world.random.bytes();
            world.tokens.push(token);
            let expires_ms = if world.random.one_in(6) { world.now_ms + 300 } else { i64::MAX };
            let act = GrantAct::Share { path: path(world, actor), token: Number(token), expires_ms };
            super::act(world, actor, Act::Grant(act))?;
            return if world.random.one_in(2) { accept(world) } else { Ok(()) };
        }
        3 | 4 => return accept(world),
        5..8 => GrantAct::Revoke { grant: GrantNumber(1 + world.random.below(16) as u64) },
        _ => GrantAct::Attenuate {
            path: path(world, actor),
            is: None,
            methods: vec!["lookup".to_owned(), "receive".to_owned(), "read".to_owned()],
            attenuation: Attenuation { max_bytes: Some(9), ..Attenuation::default() },
            expires_ms: None,
            to: spot(world),
            force: false,
        },
    };
    super::act(world, actor, Act::Grant(it))
}

fn accept(world: &mut Simulation) -> Law {
    let recent: Vec<[u8; 32]> = world.tokens.iter().rev().take(4).copied().collect();
    let token = world.random.any(&recent).copied().unwrap_or([9; 32]);
    let actor = super::actor(world);
    let path = if world.random.one_in(3) { super::path("shared") } else { spot(world) };
    act(world, actor, Act::Grant(GrantAct::Accept { token: Number(token), path }))
}
