//! The making of workers. A model proposes a worker file, and can give the worker only slots that its own run has.

use std::collections::BTreeMap;

use kernel::command::{Binding, Move, Program, SlotGrant};
use kernel::proposal::Finding;
use kernel::run::{Completion, Run, Trouble};
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, Interface, Method, Param, Pattern, Value};
use passable::{Effect, Limit, Limits, visible_line};
use policy::Facts;
use resource::Kind;

use crate::definition::{self, Bundle, Definition, OWN_TOOLS, Severity};
use crate::driver_port::DriverPort;
use crate::slot_binding::{CALL, OpenSlot, SlotTarget, Slots};
use crate::trouble::internal;

/// The name of the slot of a run that may make workers. The tool has the same name.
pub const SLOT: &str = "create_worker";

/// The name of the workshop's only method.
pub const CREATE: &str = "create";

/// The maximum length of a worker file that a model writes, in characters.
const MAX_LEN: f64 = 65_536.0;

/// The maximum number of errors in a file that are reported to the model at once.
const MAX_PROBLEMS: usize = 8;

/// Returns the interface of the workshop: one method, which makes a worker.
pub fn interface() -> Interface {
    let text = |most: f64| Pattern::string_within(Limits::from_pairs([(Limit::StringLength, most)]));
    let about = "Proposes a new worker. The user reads its whole file and may refuse it. Once it is there, call it by its \
                 name, as a tool, with `input` and `attachments`.";
    let create = Method::new(CREATE, Effect::Modify, about)
        .param(Param::required("name", text(32.0), "its name: letters, digits and `_`"))
        .param(Param::required(
            "source",
            text(MAX_LEN),
            "its file: between two lines `---` the keys it needs (`description`, `input`, `output`, `attachments`, \
             `slots`, `limits`), then the text that its model is given",
        ))
        .param(Param::optional(
            "slots",
            Pattern::any_record(),
            "for each of its slots the name of your own slot that fills it, or null: the user is asked to fill it",
        ));
    Interface::new("Workshop", "the making of workers").with(create)
}

/// The worker that a call would make.
struct Plan {
    definition: Definition,
    /// The maker's slots that fill the worker's slots, by the name of the worker's slot.
    given: BTreeMap<String, SlotGrant>,
    /// The slots that a person must fill.
    open: Vec<String>,
}

/// Returns the arguments of a call with the defaults filled in. For each slot, this is the maker's slot that fills
/// it, or `null` if a person must fill it.
pub(crate) fn fill_defaults(slots: &Slots, mut args: Vec<Value>) -> Vec<Value> {
    let Ok(Plan { definition, given, open }) = plan(slots, &args, None) else { return args };
    if definition.slots.is_empty() {
        return args;
    }
    let own = given.into_iter().filter(|(slot, _)| slot != SLOT);
    let all = own.map(|(slot, given)| (slot, Value::string(given.from)));
    let all = all.chain(open.into_iter().map(|slot| (slot, Value::Null)));
    let record = Value::record_from_map(all.collect());
    args.truncate(2);
    args.push(record);
    args
}

/// Returns the facts about a call that the gates check before the call is made.
pub(crate) fn facts(slots: &Slots, args: &[Value]) -> Facts {
    let shown = visible_line(text(args, 0));
    match plan(slots, args, None) {
        Ok(Plan { given, .. }) => {
            let holds: Vec<_> = given
                .iter()
                .map(|(slot, given)| {
                    let methods: Vec<_> = given.methods.iter().map(String::as_str).collect();
                    format!("`{slot}` is its maker's `{}` ({})", given.from, methods.join(", "))
                })
                .collect();
            let holds = if holds.is_empty() { "nothing of its maker's".to_owned() } else { holds.join("; ") };
            Facts {
                line: format!("makes the worker `{shown}`, which gets {holds}"),
                bytes: Some(text(args, 1).len() as u64),
                ..Facts::default()
            }
        }
        Err(problems) => Facts { line: format!("makes the worker `{shown}`"), problems, ..Facts::default() },
    }
}

/// Returns the move that makes the worker of a begun call, with the person's additions.
pub(crate) fn worker_move(
    world: &dyn DriverPort,
    run: &Run,
    slots: &Slots,
    begun: &StartedEffect,
) -> Result<Move, Trouble> {
    let proposal = begun.step().step;
    let addition = run.additions.get(&proposal).map(|(_, addition)| addition);
    let edited = addition.and_then(|addition| addition.edited);
    let edited = edited.map(|hash| world.blob(&hash)).transpose()?;
    let edited = edited.map(String::from_utf8).transpose();
    let edited = edited.map_err(|_| internal("the text of a worker is not text"))?;
    let added = ApprovalExtras {
        bindings: addition.map(|addition| addition.bindings.as_slice()).unwrap_or_default(),
        edited: edited.as_deref(),
    };
    make_move(slots, proposal, &begun.proposal().args, &added, |bytes| world.put_blob(bytes))
}

/// The additions that a person made when approving a worker.
struct ApprovalExtras<'a> {
    /// The person's bindings for the worker's slots.
    bindings: &'a [Binding],
    /// The text of the worker file, if the person has changed it.
    edited: Option<&'a str>,
}

/// Returns the move that makes or refuses a worker. `keep` stores the worker's text.
fn make_move(
    slots: &Slots,
    proposal: u64,
    args: &[Value],
    added: &ApprovalExtras<'_>,
    keep: impl FnOnce(&[u8]) -> Result<BlobHash, Trouble>,
) -> Result<Move, Trouble> {
    let refuse = |problems| Move::Complete { proposal, completion: Completion::Refused(problems) };
    Ok(match plan(slots, args, added.edited) {
        Ok(Plan { definition, given, open }) => {
            let is_filled = |slot: &String| added.bindings.iter().any(|binding| binding.slot == *slot);
            if let Some(slot) = open.iter().find(|slot| !is_filled(slot)) {
                let message = format!("the user has put nothing into the slot `{slot}`");
                return Ok(refuse(vec![Finding::new("worker/slot", message).at("slots")]));
            }
            let kept = keep(added.edited.unwrap_or_else(|| text(args, 1)).as_bytes())?;
            let program = Program {
                name: definition.name,
                definition: kept,
                includes: BTreeMap::new(),
                limits: definition.limits,
            };
            Move::Make { proposal, program, slots: given }
        }
        // For example, another call of the same turn may have taken the name.
        Err(problems) => refuse(problems),
    })
}

fn text(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).unwrap_or_default()
}

fn plan(slots: &Slots, args: &[Value], edited: Option<&str>) -> Result<Plan, Vec<Finding>> {
    let name = text(args, 0);
    let mut problems = Vec::new();
    if !definition::is_identifier(name) || OWN_TOOLS.contains(&name) {
        let message = format!("`{}` cannot be the name of a worker", visible_line(name));
        let allowed = "a letter, then at most 31 letters, digits and `_`";
        problems.push(Finding::new("worker/name", message).at("name").allowed(allowed));
    } else if slots.get(name).is_some() || slots.tool(name).is_some() {
        let message = format!("there is a tool `{name}` already");
        problems.push(Finding::new("worker/name", message).at("name").allowed("another name"));
    }
    let definition = read_definition(name, edited.unwrap_or_else(|| text(args, 1)), &mut problems);
    let Some(definition) = definition.filter(|_| problems.is_empty()) else { return Err(problems) };
    let named = args.get(2).and_then(Value::as_record);
    let (mut given, mut open) = (BTreeMap::new(), Vec::new());
    for slot in &definition.slots {
        let wanted = named.and_then(|named| named.get(&slot.name));
        let from = match wanted {
            Some(Value::Null) => None,
            Some(value) => Some(value.as_str().unwrap_or_default()),
            // The person has added this slot, which the card did not show, so the person fills it too.
            None if edited.is_some() => None,
            // By default, the maker's slot with the same name fills it, if it fits.
            None => slots.get(&slot.name).filter(|own| fits(slot.kind, own)).map(|_| slot.name.as_str()),
        };
        let Some(from) = from else {
            open.push(slot.name.clone());
            continue;
        };
        match given_slot(slots, slot.kind, from) {
            Ok(mut gift) => {
                let asked = definition.approve.iter().filter(|(name, _)| *name == slot.name);
                gift.ask = asked.map(|(_, method)| method.clone()).collect();
                given.insert(slot.name.clone(), gift);
            }
            Err(finding) => problems.push(finding.at(format!("slots.{}", slot.name))),
        }
    }
    // A person who has changed the file may have removed slots.
    let unknown = named.into_iter().flat_map(|named| named.iter().map(|(name, _)| name.to_str_lossy()));
    for name in unknown.filter(|name| edited.is_none() && definition.slot(name).is_none()) {
        let message = format!("the worker has no slot `{}`", visible_line(&name));
        let known: Vec<_> = definition.slots.iter().map(|slot| slot.name.as_str()).collect();
        problems.push(Finding::new("worker/slot", message).at("slots").allowed(known.join(", ")));
    }
    if definition.creates {
        match slots.get(SLOT) {
            Some(_) => {
                let methods = [CREATE.to_owned()].into();
                let gift = SlotGrant { from: SLOT.to_owned(), methods, ask: Default::default() };
                given.insert(SLOT.to_owned(), gift);
            }
            None => problems.push(Finding::new("worker/creates", "you may make no workers, so it may not")),
        }
    }
    match problems.is_empty() {
        true => Ok(Plan { definition, given, open }),
        false => Err(problems),
    }
}

/// Returns the definition in a text. Errors in the text are added to `problems`.
fn read_definition(name: &str, source: &str, problems: &mut Vec<Finding>) -> Option<Definition> {
    let bundle = Bundle {
        name: name.to_owned(),
        file: format!("{name}.worker"),
        source: source.to_owned(),
        includes: BTreeMap::new(),
    };
    let (definition, diagnostics) = definition::parse(&bundle);
    let errors = diagnostics.iter().filter(|one| one.severity == Severity::Error);
    problems.extend(errors.take(MAX_PROBLEMS).map(|one| {
        let line = source.get(..one.span.start).map_or(1, |before| before.matches('\n').count() + 1);
        let finding = Finding::new(one.code, one.message.clone()).at(format!("source, line {line}"));
        one.help.as_ref().map_or(finding.clone(), |help| finding.allowed(help.clone()))
    }));
    definition
}

/// Returns the slots that a person must fill before the worker of a call can be made. These are the slots of the
/// worker file that the call does not fill with the maker's own slots.
pub fn open_slots(definition: &Definition, args: &[Value]) -> Vec<String> {
    let named = args.get(2).and_then(Value::as_record);
    let is_filled =
        |slot: &str| named.and_then(|named| named.get(slot)).is_some_and(|value| value.as_str().is_some());
    definition.slots.iter().map(|slot| slot.name.clone()).filter(|slot| !is_filled(slot)).collect()
}

/// Returns the grant of the run's own slot `from` that a worker's slot of this kind gets.
fn given_slot(slots: &Slots, kind: Kind, from: &str) -> Result<SlotGrant, Finding> {
    let refuse = |message: String| {
        let fitting = slots.all().filter(|(_, own)| fits(kind, own)).map(|(name, _)| name);
        let fitting: Vec<_> = fitting.collect();
        let allowed = match fitting.is_empty() {
            true => format!("a worker that needs no `{kind}`: you hold none"),
            false => fitting.join(", "),
        };
        Finding::new("worker/slot", message).allowed(allowed)
    };
    let shown = visible_line(from);
    let Some(own) = slots.get(from) else {
        return Err(refuse(format!("you hold no slot `{shown}` to fill it with")));
    };
    if !fits(kind, own) {
        return Err(refuse(format!("your slot `{shown}` is no `{kind}`, or you may do less with it")));
    }
    let held = |method: &&&str| own.grant.allows(method);
    let methods = match kind {
        // The worker gets all methods that its maker was granted.
        Kind::Mcp => own.grant.methods.clone(),
        kind => kind.methods().iter().filter(held).map(|method| (*method).to_owned()).collect(),
    };
    Ok(SlotGrant { from: from.to_owned(), methods, ask: Default::default() })
}

/// Returns whether a run's own slot can fill a worker's slot of this kind.
fn fits(kind: Kind, own: &OpenSlot) -> bool {
    let is_kind = match (&own.reach, kind) {
        (SlotTarget::Worker(_), Kind::Model) => return own.model.is_some() && own.grant.allows(CALL),
        (SlotTarget::Worker(_), Kind::Worker) => return own.grant.allows(CALL),
        (SlotTarget::Questions, Kind::Ask)
        | (SlotTarget::Alarm, Kind::Timer)
        | (SlotTarget::Mail, Kind::Mail) => true,
        // Each server has its own interface, so only the kind is compared.
        (SlotTarget::Capability(_), Kind::Mcp) => return own.subject.kind == Kind::Mcp.row().label,
        (SlotTarget::Capability(_), kind) => {
            caps::interface_of(kind).is_some_and(|interface| interface.name == own.interface.name)
        }
        _ => false,
    };
    // A grant with fewer methods than the kind has may fill the slot. A grant that only reads may not fill a slot
    // that writes.
    let reads = if kind == kind.read_only() { &[][..] } else { kind.read_only().methods() };
    let needed: Vec<_> = kind.methods().iter().filter(|method| !reads.contains(method)).collect();
    is_kind && needed.into_iter().any(|method| own.grant.allows(method))
}
