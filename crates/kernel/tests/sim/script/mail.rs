//! Letters, requests and forms.

use std::collections::BTreeMap;

use kernel::budget::Raise;
use kernel::command::{
    Act, Addition, AnswerAll, AnswerApproval, Binding, Choice, FieldValue, Form, MailAct, RequestAnswer,
    SeenApproval, Send,
};
use kernel::formula::{Formula, Sealed};
use kernel::message::{Body, Field, Mail};
use kernel::{BlobHash, FormulaId, MessageNumber, NamePath, Pattern, Value};

use crate::laws::Law;
use crate::simulation::Simulation;

use super::endow::GIVEN;
use super::{NAMES, act, letter, names, text};

/// Returns the name of an agent to write to, or now and then any path.
pub(super) fn party(world: &mut Simulation, actor: FormulaId) -> NamePath {
    if world.random.one_in(12) {
        return names::path(world, actor);
    }
    let is_root = actor == world.root();
    let is_host = world.agents.iter().any(|agent| agent.id == actor && agent.is_host);
    let known: &[&str] = match (is_root, is_host) {
        (true, _) => &["g1", "g2", "g1", "sub", "@self", "h"],
        (false, true) => &["g3", "@host", "g1", "h"],
        _ => &["@host", "@host", "@host", "peer", "@self"],
    };
    let known = *world.random.pick(known);
    super::path(known)
}

pub(super) fn result_name(world: &mut Simulation) -> Option<NamePath> {
    (!world.random.one_in(3)).then(|| names::spot(world))
}

/// Returns names for a message, and the paths of the objects that they stand for.
pub(super) fn edges(
    world: &mut Simulation,
    actor: FormulaId,
    names: &[&str],
) -> (Vec<String>, Vec<NamePath>) {
    let count = world.random.below(names.len() + 1);
    let mut edges: Vec<String> = names[..count].iter().map(|name| (*name).to_owned()).collect();
    let paths = (0..count).map(|_| names::path(world, actor)).collect();
    if world.random.one_in(40) {
        edges.push("one/too/many".to_owned());
    }
    (edges, paths)
}

pub(super) fn step(world: &mut Simulation, actor: FormulaId) -> Law {
    let it = match world.random.below(30) {
        0..6 => {
            let (names, paths) = edges(world, actor, &["k", "it"]);
            let strings = vec![text("see"), text("and"), text("so")];
            let reply_to = world.random.one_in(4).then(|| letter(world, &actor, |_, _| true));
            MailAct::Send(Send { to: party(world, actor), strings, names, paths, reply_to })
        }
        6..8 => {
            let (names, paths) = edges(world, actor, &["k"]);
            let number = letter(world, &actor, |_, _| true);
            MailAct::Reply { number, strings: vec![text("re"), text("")], names, paths }
        }
        8..10 => {
            let number = letter(world, &actor, |_, _| true);
            MailAct::SendValue { number, path: names::path(world, actor) }
        }
        10..13 => {
            // Few texts, so that the same is asked again.
            let wish = *world.random.pick(&["a directory", "your consent"]);
            MailAct::Request {
                to: party(world, actor),
                description: text(wish),
                result_name: result_name(world),
            }
        }
        13..16 => {
            let number = letter(world, &actor, |mail, received| received && mail.envelope.kind == "request");
            if let Some(slot) = wished(world, actor, number) {
                return give(world, actor, number, &slot);
            }
            let resolver = world.found(actor, &format!("@mail/{number}/@resolver"));
            let path = names::path(world, actor);
            match (resolver, world.found(actor, &path.to_string())) {
                (Some(resolver), Some(id)) if world.random.one_in(3) => MailAct::ResolveWith { resolver, id },
                _ => MailAct::Resolve { number, path },
            }
        }
        16 => {
            let number = letter(world, &actor, |mail, received| received && mail.needs_you);
            MailAct::Reject { number, reason: text("no") }
        }
        17..20 => {
            let number = letter(world, &actor, |_, received| received);
            let edge = match world.message(&actor, number).and_then(|id| world.formula(&id)) {
                Some(Formula::Message { message }) => match message.body {
                    Body::Package { names, .. } => names.last().cloned(),
                    Body::Value { .. } => Some("value".to_owned()),
                    Body::Definition { .. } => Some("definition".to_owned()),
                    _ => Some("@promise".to_owned()),
                },
                _ => None,
            };
            let edge = edge.unwrap_or_else(|| "it".to_owned());
            let path = if world.random.one_in(3) { super::path("shared") } else { names::spot(world) };
            MailAct::Adopt { number, edge, path }
        }
        20..22 => MailAct::Dismiss { number: letter(world, &actor, |_, _| true) },
        22 if world.random.one_in(4) => MailAct::DismissAll,
        22..25 => form(world, actor),
        25..28 => return submit(world, actor),
        _ => return answer(world, actor),
    };
    act(world, actor, Act::Mail(Box::new(it)))
}

/// Returns the slot that a run asks to have filled with this message, if a run sent it.
fn wished(world: &mut Simulation, actor: FormulaId, number: MessageNumber) -> Option<String> {
    match world.message(&actor, number).and_then(|id| world.formula(&id)) {
        Some(Formula::Message { message }) => match message.body {
            Body::Request { by: Some(wish), .. } => Some(wish.slot),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a person answers something that a run asks for, if there is anything.
pub(super) fn give_something(world: &mut Simulation, actor: FormulaId) -> Law {
    let is_open = |mail: &Mail, received: bool| received && mail.needs_you && mail.envelope.kind == "request";
    let number = letter(world, &actor, is_open);
    match wished(world, actor, number) {
        Some(slot) => give(world, actor, number, &slot),
        None => Ok(()),
    }
}

/// Answers the request of a run: with something that fills its slot, with data, or with the target of some name. Now
/// and then the answer fits nothing, and now and then it is given twice.
fn give(world: &mut Simulation, actor: FormulaId, number: MessageNumber, slot: &str) -> Law {
    let binding = |world: &mut Simulation, kind: &str, slot: &str| {
        let binding = super::endow::bind(world, actor, kind);
        RequestAnswer::Slot { binding: Box::new(Binding { slot: slot.to_owned(), ..binding }) }
    };
    let handed = match world.random.below(12) {
        0 => RequestAnswer::Value { value: Value::string("said") },
        1 => RequestAnswer::Value { value: names::value(world, actor) },
        2 => binding(world, "out", "another"),
        3 => binding(world, "make", slot),
        4 => binding(world, "a", slot),
        5 => {
            let it = MailAct::Resolve { number, path: names::path(world, actor) };
            return act(world, actor, Act::Mail(Box::new(it)));
        }
        6 => binding(world, "w", slot),
        _ => binding(world, GIVEN, slot),
    };
    let it = MailAct::Give { number, handed };
    act(world, actor, Act::Mail(Box::new(it.clone())))?;
    if world.random.one_in(4) { act(world, actor, Act::Mail(Box::new(it))) } else { Ok(()) }
}

fn form(world: &mut Simulation, actor: FormulaId) -> MailAct {
    let field = |name: &str, pattern: Pattern| Field {
        name: name.to_owned(),
        label: text("what it is"),
        pattern: pattern.to_value(),
        default: None,
        example: None,
        secret: false,
    };
    let mut fields = vec![field("say", Pattern::string())];
    if world.random.one_in(2) {
        fields.push(Field { default: Some(Value::number(1.0)), ..field("n", Pattern::number()) });
    }
    if world.random.one_in(2) {
        fields.push(field("cap", Pattern::any_remotable()));
    }
    if world.random.one_in(3) {
        fields.push(Field { secret: true, ..field("key", Pattern::string()) });
    }
    if world.random.one_in(30) {
        fields.push(field("say", Pattern::string()));
    }
    MailAct::Form(Form {
        to: party(world, actor),
        description: text("fill this in"),
        fields,
        repeatable: world.random.one_in(3),
        result_name: result_name(world),
    })
}

fn submit(world: &mut Simulation, actor: FormulaId) -> Law {
    let number = letter(world, &actor, |mail, received| received && mail.envelope.kind == "form");
    let fields = match world.message(&actor, number).and_then(|id| world.formula(&id)) {
        Some(Formula::Message { message }) => match message.body {
            Body::Form { fields, .. } => fields,
            _ => vec![],
        },
        _ => vec![],
    };
    let mut values = BTreeMap::new();
    for field in fields {
        let filled = match field.name.as_str() {
            "say" => FieldValue::Value { value: Value::string("said") },
            "n" if world.random.one_in(2) => continue,
            "n" => FieldValue::Value { value: Value::number(3.0) },
            "cap" if world.random.one_in(3) => FieldValue::Value { value: names::value(world, actor) },
            "cap" => {
                let name = *world.random.pick(&["dir", "@self", "a", "shared"]);
                FieldValue::Name { path: super::path(name) }
            }
            _ => FieldValue::Sealed {
                sealed: Sealed {
                    method: "none/1".to_owned(),
                    nonce: "00".to_owned(),
                    bytes: "01".to_owned(),
                },
            },
        };
        values.insert(field.name, filled);
    }
    if world.random.one_in(30) {
        values.insert("unknown".to_owned(), FieldValue::Name { path: super::path(NAMES[0]) });
    }
    let it = MailAct::Submit { number, values };
    act(world, actor, Act::Mail(Box::new(it.clone())))?;
    // A second press.
    if world.random.one_in(4) { act(world, actor, Act::Mail(Box::new(it))) } else { Ok(()) }
}

/// Returns how much more a run may use; now and then nothing.
fn raise(world: &mut Simulation) -> Raise {
    let mut any = || if world.random.one_in(2) { 7 } else { 0 };
    Raise {
        turns: any(),
        calls: any(),
        depth: any(),
        tokens: any(),
        usd_micros: any(),
        wall_ms: any(),
        kept: any(),
        ..Raise::default()
    }
}

/// Returns a person answers an approval.
pub(super) fn answer(world: &mut Simulation, actor: FormulaId) -> Law {
    let any = world.random.one_in(5);
    let message =
        letter(world, &actor, |mail, _| mail.envelope.kind == "approval" && (any || mail.needs_you));
    let body = world.message(&actor, message).and_then(|id| world.formula(&id));
    let in_doubt = matches!(&body, Some(Formula::Message { message }) if matches!(message.body, Body::OutcomeUnknown { .. }));
    let asks_for_more =
        matches!(&body, Some(Formula::Message { message }) if matches!(message.body, Body::Budget { .. }));
    let choice = match world.random.below(5) {
        // Now and then on a card that does not ask for more.
        n if (asks_for_more && n < 2) || world.random.one_in(40) => Choice::Raise { by: raise(world) },
        // Now and then the wrong kind of answer.
        n if in_doubt != world.random.one_in(20) => {
            if n < 3 {
                Choice::Repeat
            } else {
                Choice::Happened
            }
        }
        0 | 1 => Choice::Approve { for_run: false },
        2 | 3 => Choice::Approve { for_run: true },
        _ => Choice::Deny { reason: text("not this") },
    };
    let entries = match world.random.below(8) {
        0 => Some(vec![0]),
        1 => Some(vec![1, 9]),
        _ => None,
    };
    let makes = matches!(&body, Some(Formula::Message { message })
        if matches!(&message.body, Body::Approval { entries, .. } if entries.len() == 1));
    let approvals = match &body {
        Some(Formula::Message { message: sent }) => match &sent.body {
            Body::Approval { entries, .. } => {
                let fingerprints = entries.iter().map(|entry| entry.fingerprint).collect();
                vec![SeenApproval { message, fingerprints }]
            }
            _ => vec![],
        },
        _ => vec![],
    };
    if !approvals.is_empty() && world.random.one_in(3) {
        return act(world, actor, Act::AnswerAll(AnswerAll { text: text("answer all"), approvals, choice }));
    }
    // Most cards make no worker, and refuse additions.
    let addition = (makes && world.random.one_in(4)).then(|| Addition {
        bindings: vec![super::endow::bind(world, actor, "added")],
        edited: world.random.one_in(2).then(|| BlobHash::of(b"Do it well.")),
        seen: vec![],
    });
    act(
        world,
        actor,
        Act::Answer(AnswerApproval { text: text("answer"), message, entries, choice, addition }),
    )
}
