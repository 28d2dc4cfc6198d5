//! The open slots of a run. Each has its grant, the target of the grant, and the interface for calls.

use std::collections::BTreeMap;

use caps::Capability;
use kernel::command::Judgement;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::proposal::Decision;
use kernel::run::{Run, Trouble};
use kernel::{FormulaId, Interface, Method, Param, Pattern};
use model::Tool;
use passable::Effect;
use policy::Subject;
use resource::{Kind, Resource};

use crate::alarm;
use crate::definition::{Attachments, Definition};
use crate::driver_port::DriverPort;
use crate::mail;
use crate::program;
use crate::question;
use crate::trouble::trouble;
use crate::workshop;

/// The name of the only method of a worker.
pub(crate) const CALL: &str = "call";

/// A slot with its grant, its interface and the target of its grant.
pub(crate) struct OpenSlot {
    pub(crate) grant: Grant,
    pub(crate) interface: Interface,
    /// The kind and the names of the target, in the form that policies use.
    pub(crate) subject: Subject,
    pub(crate) reach: SlotTarget,
    /// The model of the worker in the slot, if it differs from the caller's.
    pub(crate) model: Option<String>,
}

impl OpenSlot {
    /// Returns the party outside that calls of the slot wait for, or `None` if they end at once.
    pub(crate) fn outside_party(&self) -> Option<String> {
        let kinds = [Kind::Program, Kind::Http, Kind::Mcp, Kind::Git { write: false }];
        let is_slow = kinds.into_iter().any(|kind| self.subject.is(kind));
        is_slow.then(|| format!("{} {}", self.subject.kind, self.subject.names.join(" ")))
    }
}

impl OpenSlot {
    /// Returns whether a call that begins asks the person by a message, and waits for the answer.
    pub(crate) fn asks_person(&self, judgement: &Judgement) -> bool {
        let waits = match self.reach {
            SlotTarget::Questions => true,
            SlotTarget::Mail => mail::asks(&judgement.proposal.method),
            _ => false,
        };
        waits && judgement.verdict.decision == Decision::Allow
    }
}

/// The target of a grant.
pub(crate) enum SlotTarget {
    /// A built-in capability.
    Capability(Box<dyn Capability>),
    /// A worker that accepts documents within these limits. Calling it starts another run.
    Worker(Attachments),
    /// The workshop, with which a model makes workers.
    Workshop,
    /// Questions from the run to its person.
    Questions,
    /// A timer, which waits for a time.
    Alarm,
    /// Mail from the run to its person.
    Mail,
}

/// All slots of a run.
pub(crate) struct Slots {
    by_name: BTreeMap<String, OpenSlot>,
    /// The limits that the run's worker file sets for documents passed on to workers, by slot.
    handed_on: BTreeMap<String, Attachments>,
    tools: Vec<Offer>,
}

/// A tool that is offered to the model.
struct Offer {
    tool: Tool,
    slot: String,
    method: String,
}

impl Slots {
    /// Opens the targets of all grants of the run.
    pub(crate) fn open(world: &dyn DriverPort, run: &Run, definition: &Definition) -> Result<Slots, Trouble> {
        let mut by_name = BTreeMap::new();
        for (slot, id) in &run.grants {
            by_name.insert(slot.clone(), bind(world, run, id)?);
        }
        let mut tools = Vec::new();
        let declared = definition.offered_slots().into_iter().map(|slot| &slot.name);
        // These are the workshop, the workers that the run has made, and the slots that it has requested.
        let is_own =
            |name: &String| *name == workshop::SLOT || run.made.contains(name) || run.given.contains(name);
        let own = by_name.keys().filter(|name| is_own(name));
        for slot in declared.chain(own) {
            let Some(bound) = by_name.get(slot) else { continue };
            for method in bound.interface.methods.iter().filter(|m| bound.grant.methods.contains(&m.name)) {
                let name = match bound.reach {
                    SlotTarget::Worker(_) | SlotTarget::Workshop => slot.clone(),
                    SlotTarget::Capability(_)
                    | SlotTarget::Questions
                    | SlotTarget::Alarm
                    | SlotTarget::Mail => {
                        format!("{slot}_{}", method.name)
                    }
                };
                let mut schema = method.tool_schema(&name);
                if let SlotTarget::Capability(capability) = &bound.reach
                    && let Some(own) = capability.schema(&method.name)
                {
                    schema.parameters = own;
                }
                tools.push(Offer {
                    tool: Tool {
                        name: schema.name,
                        description: schema.description,
                        parameters: schema.parameters,
                    },
                    slot: slot.clone(),
                    method: method.name.clone(),
                });
            }
        }
        let handed_on = definition.slots.iter();
        let handed_on = handed_on.filter_map(|slot| Some((slot.name.clone(), slot.attachments.clone()?)));
        Ok(Slots { by_name, handed_on: handed_on.collect(), tools })
    }

    /// Returns all open slots with their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &OpenSlot)> {
        self.by_name.iter().map(|(name, bound)| (name.as_str(), bound))
    }

    /// Returns the open slot with this name.
    pub(crate) fn get(&self, slot: &str) -> Option<&OpenSlot> {
        self.by_name.get(slot)
    }

    /// Returns the limits that the run's worker file sets for documents passed on to the worker in a slot, if there
    /// are any.
    pub(crate) fn attachment_limits(&self, slot: &str) -> Option<&Attachments> {
        self.handed_on.get(slot)
    }

    /// Returns the open slot of a grant.
    pub(crate) fn by_grant(&self, grant: &FormulaId) -> Option<&OpenSlot> {
        self.by_name.values().find(|bound| bound.grant.id == *grant)
    }

    /// Returns the tools that are offered to the model.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.tools.iter().map(|offer| offer.tool.clone()).collect()
    }

    /// Returns the slot of a tool, by the tool's name, with the open slot and the method.
    pub(crate) fn tool(&self, name: &str) -> Option<(&str, &OpenSlot, &Method)> {
        let offer = self.tools.iter().find(|offer| offer.tool.name == name)?;
        let bound = self.by_name.get(&offer.slot)?;
        Some((&offer.slot, bound, bound.interface.method(&offer.method)?))
    }
}

fn bind(world: &dyn DriverPort, run: &Run, id: &FormulaId) -> Result<OpenSlot, Trouble> {
    let (grant, formula) = world.grant(id)?;
    if formula == Formula::Workshop {
        let subject = Subject { kind: "workshop".to_owned(), names: vec![grant.slot.clone()] };
        return Ok(OpenSlot {
            grant,
            interface: workshop::interface(),
            subject,
            reach: SlotTarget::Workshop,
            model: None,
        });
    }
    if formula == Formula::Resource(Resource::Questions) {
        let subject = Subject { kind: Kind::Ask.row().label.to_owned(), names: vec![grant.slot.clone()] };
        return Ok(OpenSlot {
            grant,
            interface: question::interface(),
            subject,
            reach: SlotTarget::Questions,
            model: None,
        });
    }
    if formula == Formula::Resource(Resource::Alarm) {
        let subject = Subject { kind: Kind::Timer.row().label.to_owned(), names: vec![grant.slot.clone()] };
        return Ok(OpenSlot {
            grant,
            interface: alarm::interface(),
            subject,
            reach: SlotTarget::Alarm,
            model: None,
        });
    }
    if formula == Formula::Resource(Resource::Mail) {
        let subject = Subject { kind: Kind::Mail.row().label.to_owned(), names: vec![grant.slot.clone()] };
        return Ok(OpenSlot {
            grant,
            interface: mail::interface(),
            subject,
            reach: SlotTarget::Mail,
            model: None,
        });
    }
    if formula == Formula::Myself {
        let callee = &program::load(world, &run.name, &run.definition, &run.includes)?.definition;
        let subject = Subject { kind: Kind::Worker.row().label.to_owned(), names: vec![run.name.clone()] };
        let interface = worker_interface(callee);
        return Ok(OpenSlot {
            grant,
            interface,
            subject,
            reach: SlotTarget::Worker(callee.attachments.clone()),
            model: None,
        });
    }
    if let Formula::Worker { name, definition, includes, model, .. } = &formula {
        let model = model.clone();
        let callee = &program::load(world, name, definition, includes)?.definition;
        let interface = worker_interface(callee);
        let subject = Subject { kind: Kind::Worker.row().label.to_owned(), names: vec![name.clone()] };
        return Ok(OpenSlot {
            grant,
            interface,
            subject,
            reach: SlotTarget::Worker(callee.attachments.clone()),
            model,
        });
    }
    let capability = caps::open_with(&formula, &grant, &world.outside(run)).map_err(|e| {
        trouble(
            "capability/unreachable",
            format!("`{}`: {e}", grant.slot),
            "put it back, then `almoner resume`",
        )
    })?;
    let subject = caps::subject(&formula, &grant);
    let interface = capability.interface().clone();
    Ok(OpenSlot { interface, subject, reach: SlotTarget::Capability(capability), grant, model: None })
}

/// Returns an interface that fits every worker: any inputs, and the names of attachments.
pub fn any_worker() -> Interface {
    let call = Method::new(CALL, Effect::Observe, "Calls a worker.")
        .param(Param::optional("input", Pattern::any(), "the worker's inputs"))
        .param(Param::optional("attachments", Pattern::array_of(Pattern::string()), "names of attachments"));
    Interface::new("Worker", "A worker.").with(call)
}

/// Returns the interface for calling a worker. The call itself counts as an observation, because the effects of the
/// worker are judged in its own run.
pub(crate) fn worker_interface(callee: &Definition) -> Interface {
    let about = callee.description.clone().unwrap_or_else(|| format!("Calls the worker {}.", callee.name));
    let names = Pattern::array_of(Pattern::string());
    let nothing = kernel::Value::record_from_map(Default::default());
    let input = match callee.input.check(&nothing) {
        Ok(()) => Param::optional("input", callee.input.clone(), "the worker's inputs"),
        Err(_) => Param::required("input", callee.input.clone(), "the worker's inputs"),
    };
    let call = Method::new(CALL, Effect::Observe, about.as_str())
        .param(input)
        .param(Param::optional("attachments", names, "names of your own attachments to hand on"))
        .returns(callee.output.clone().unwrap_or_else(Pattern::string));
    Interface { name: callee.name.clone(), description: about, methods: vec![call] }
}
