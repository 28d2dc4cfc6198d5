//! Messages to objects that code has made. The daemon forwards them to the object's heap, and the answer comes later.

use kernel::code::{self, Reference};
use kernel::command::{Act, CodeAct, Reply};
use kernel::facet::ObjectCall;
use kernel::formula::Formula;
use kernel::{FormulaId, table};
use passable::{Remote, Value};
use switchboard::{Call, LimitReached, Name, Outcome, Ref};
use vat::Verb;

use super::batched_writes;
use super::convert::rebuild;
use super::file_worker::TaskOutcome;
use super::object::{LiveObject, Object, Part, RemoteObject};
use super::object_table::{Context, ObjectTable, type_error};
use super::perform;
use super::perform::CallError;
use crate::state::code_host::{self, MessageTarget, ObjectMessage};
use crate::state::daemon::HostDaemon;

/// Returns the verb and the arguments of a call.
pub(crate) fn call_verb(call: &Call<Ref>) -> (Verb, &[Value<Ref>]) {
    match call {
        Call::Get(name) => (Verb::Get(name_of(name)), &[]),
        Call::Apply(args) => (Verb::Apply, args),
        Call::Method(name, args) => (Verb::Call(name_of(name)), args),
    }
}

fn name_of(name: &Name) -> vat::Name {
    match name {
        Name::Text(text) => vat::Name::Text(text.to_str_lossy().into_owned()),
        Name::Symbol(symbol) => vat::Name::Symbol(symbol.name().to_str_lossy().into_owned()),
    }
}

impl ObjectTable {
    /// Calls an object as a function. Only objects that code has made are functions.
    pub(crate) fn call_function(
        &mut self,
        context: &Context<'_>,
        object: &Object,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Option<Outcome> {
        let daemon = context.daemon;
        let view = daemon.view(object.agent);
        let planned = daemon.read(|txn| perform::plan(txn, &view, object, "__getMethodNames__", &[]));
        if let Ok((plan, _)) = &planned
            && let Err(trouble) = self.note_call(context, object, APPLY_METHOD, plan.is_err())
        {
            return Some(Err(trouble.to_value()));
        }
        let sent = match planned {
            Ok((Ok(plan), reach)) => match batched_writes::delivery(&plan) {
                Some(to) => self.send(context, reach, target(to), Verb::Apply, args, answer),
                None => return Some(Err(not_a_function())),
            },
            Ok((Err(refusal), _)) => Err(refusal.into()),
            Err(failure) => Err(failure.into()),
        };
        sent.err().map(|trouble| Err(trouble.to_value()))
    }

    /// Forwards a method call to the heap of an object.
    pub(crate) fn forward_call(
        &mut self,
        context: &Context<'_>,
        reach: Object,
        to: &ObjectCall,
        method: &str,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Result<(), CallError> {
        let through = reach.through.iter().chain(&to.through).copied().collect();
        let verb = Verb::Call(vat::Name::Text(method.to_owned()));
        self.send(context, Object { through, ..reach }, target(to), verb, args, answer)
    }

    /// Forwards a call to an object that lasts only as long as its heap.
    pub(crate) fn send_live(
        &mut self,
        context: &Context<'_>,
        to: LiveObject,
        verb: Verb,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Option<Outcome> {
        let LiveObject { eval, heap, number, through } = to;
        let ended = reject_ended_grant(context, &through);
        let method = match &verb {
            Verb::Call(vat::Name::Text(name) | vat::Name::Symbol(name))
            | Verb::Get(vat::Name::Text(name) | vat::Name::Symbol(name)) => name,
            Verb::Apply => APPLY_METHOD,
        };
        let by = self.code.unwrap_or(eval);
        let noted = context.daemon.note_use(&eval, &through, by, method, ended.is_err());
        if let Err(failure) = noted {
            return Some(Err(CallError::from(failure).to_value()));
        }
        let reach = Object { id: eval, agent: eval, through };
        let target = MessageTarget { eval, heap: Some(heap), number };
        let sent = ended.and_then(|()| self.send(context, reach, target, verb, args, answer));
        sent.err().map(|trouble| Err(trouble.to_value()))
    }

    fn send(
        &mut self,
        context: &Context<'_>,
        reach: Object,
        target: MessageTarget,
        verb: Verb,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Result<(), CallError> {
        let daemon = context.daemon;
        let to = target.eval;
        let args = args
            .iter()
            .map(|value| self.references(daemon, value, to, ARGUMENT_EDGE))
            .collect::<Result<_, _>>();
        let args = args.map_err(CallError::Plain)?;
        let from = self.code.unwrap_or(reach.agent);
        let office = context.daemon.code_host();
        let office = office.ok_or_else(|| CallError::Plain("no guest code runs here".to_owned()))?;
        let courier = context.answer_sender();
        let through = reach.through.clone();
        let reply = code_host::AnswerCallback::new(move |told| {
            // An object found through a grant ends with that grant. This holds for answers and for thrown errors.
            let behind =
                |value: Value<Reference>| value.map_references(&mut |one| with_grants(one, &through));
            courier(reach, answer, Ok(TaskOutcome::Answer(told.map(behind).map_err(behind))));
        });
        office.deliver(ObjectMessage { target, from, verb, args, reply })?;
        Ok(())
    }

    /// Returns the answer of an object, with its references made live.
    pub(crate) fn receive_answer(
        &mut self,
        context: &Context<'_>,
        told: Result<Value<Reference>, Value<Reference>>,
    ) -> Result<Value<Ref>, CallError> {
        let mut board = context.board();
        let mut live = |home: &mut ObjectTable, value: &Value<Reference>| {
            rebuild(value, &mut |remote: &Remote<Reference>, _| {
                let reference = home.adopt(&mut board, &remote.reference)?;
                Ok::<_, LimitReached>(Remote { reference, iface: remote.iface.clone() })
            })
        };
        match told {
            Ok(value) => Ok(live(self, &value)?),
            Err(value) => Err(CallError::Value(live(self, &value)?)),
        }
    }

    /// Returns a value in the form in which it passes to or from code. Objects that the code itself made pass
    /// unchanged. For every other object, the recipient gets its own grant, and calls the object under that grant
    /// from then on.
    ///
    /// # Errors
    /// When a part of the value cannot pass. The text is the reason.
    pub(crate) fn references(
        &self,
        daemon: &HostDaemon,
        value: &Value<Ref>,
        to: FormulaId,
        name: &str,
    ) -> Result<Value<Reference>, String> {
        // Every object that the code made can give access to all that the code holds. So passing such an object needs
        // the same right as passing a held one.
        if let Some(code) = self.code
            && name == ARGUMENT_EDGE
            && !value.references().is_empty()
            && daemon.read(|txn| code::giving_agent(txn, &code, &to)).map_err(failure_text)?.is_none()
        {
            return Err(GIFT_REFUSED.to_owned());
        }
        rebuild(value, &mut |remote: &Remote<Ref>, _| {
            let own = || "not durable: give it a name first".to_owned();
            let reference = match self.reference(remote.reference).ok_or_else(own)? {
                Reference::Object { id, agent, through } => {
                    let author = daemon.read(|txn| maker_code(txn, &id)).map_err(failure_text)?;
                    match author {
                        Some(author) if Some(author) == self.code || author == to => {
                            Reference::Object { id, agent: to, through }
                        }
                        _ => {
                            let giver = self.code.unwrap_or(agent);
                            let id = grant_to_recipient(daemon, giver, id, through, to, name)?;
                            Reference::Object { id, agent: to, through: vec![] }
                        }
                    }
                }
                Reference::Promise { id, through, .. } if is_promise_of_code(daemon, &id) => {
                    Reference::Promise { id, agent: to, through }
                }
                Reference::Promise { .. } => return Err(PROMISE_REFUSED.to_owned()),
                live @ Reference::Live { .. } => live,
                _ => return Err(NOT_PASSABLE.to_owned()),
            };
            Ok(Remote { reference, iface: remote.iface.clone() })
        })
    }

    /// Records which send of the code the promise for an answer belongs to.
    pub(crate) fn record_origin(&mut self, answer: Ref, origin: kernel::code::Origin) {
        self.origins.insert(answer, origin);
    }

    /// Returns the object behind a live reference in the form that other code can take. Returns `None` if the object
    /// is the client's own.
    pub(crate) fn reference(&self, reference: Ref) -> Option<Reference> {
        Some(match self.object(reference)? {
            RemoteObject::Object(Object { id, agent, through }) => {
                Reference::Object { id: *id, agent: *agent, through: through.clone() }
            }
            RemoteObject::Promise { id, agent, through } => {
                Reference::Promise { id: *id, agent: *agent, through: through.clone() }
            }
            RemoteObject::Settled { id } => Reference::Settled { id: *id },
            RemoteObject::Dismissed { agent, number } => {
                Reference::Dismissed { agent: *agent, number: *number }
            }
            RemoteObject::Live(LiveObject { eval, heap, number, through }) => {
                Reference::Live { eval: *eval, heap: *heap, number: *number, through: through.clone() }
            }
            RemoteObject::Part(part) => Reference::Part {
                id: part.root.id,
                agent: part.root.agent,
                through: part.root.through.clone(),
                taken: part.taken.clone(),
                place: part.place.clone(),
                kind: part.kind,
                read_only: part.read_only,
            },
            _ => Reference::Passing,
        })
    }

    /// Returns the live reference for an object of other code or of the store.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub(crate) fn adopt(
        &mut self,
        board: &mut switchboard::Switchboard,
        reference: &Reference,
    ) -> Result<Ref, LimitReached> {
        let thing = match reference {
            Reference::Object { id, agent, through } => {
                RemoteObject::Object(Object { id: *id, agent: *agent, through: through.clone() })
            }
            Reference::Promise { id, agent, through } => {
                RemoteObject::Promise { id: *id, agent: *agent, through: through.clone() }
            }
            Reference::Settled { id } => RemoteObject::Settled { id: *id },
            Reference::Dismissed { agent, number } => {
                RemoteObject::Dismissed { agent: *agent, number: *number }
            }
            Reference::Live { eval, heap, number, through } => RemoteObject::Live(LiveObject {
                eval: *eval,
                heap: *heap,
                number: *number,
                through: through.clone(),
            }),
            Reference::Part { id, agent, through, taken, place, kind, read_only } => {
                let root = Object { id: *id, agent: *agent, through: through.clone() };
                let (taken, place) = (taken.clone(), place.clone());
                RemoteObject::Part(Box::new(Part { root, taken, place, kind: *kind, read_only: *read_only }))
            }
            Reference::Passing => RemoteObject::Ended,
        };
        self.intern(board, thing)
    }
}

fn target(to: &ObjectCall) -> MessageTarget {
    MessageTarget { eval: to.eval, heap: None, number: to.number }
}

/// The method name that records use for the call of a function.
const APPLY_METHOD: &str = "()";

/// The slot name of a grant for an object that is an argument of a call.
const ARGUMENT_EDGE: &str = "argument";

/// The error for code that would pass its host's objects to another agent.
const GIFT_REFUSED: &str = "code that a host has endowed hands nothing of that on, nor objects that stand for it: the \
                           host does, with endow, send or share";

/// The error for a sender of an object that cannot pass.
const NOT_PASSABLE: &str = "this does not go to other code: what was looked up in a directory goes with the directory, \
                             and an iterator with whoever made it";

/// The error for a sender of a promise that cannot pass before its value is known.
const PROMISE_REFUSED: &str =
    "this promise does not go to other code: wait for it first, and send what it comes to";

/// Gives an object to a recipient. Returns the recipient's grant, or the object itself if it is data.
fn grant_to_recipient(
    daemon: &HostDaemon,
    giver: FormulaId,
    id: FormulaId,
    through: Vec<FormulaId>,
    to: FormulaId,
    name: &str,
) -> Result<FormulaId, String> {
    let known = daemon.read(|txn| code::find_gift(txn, &giver, &id, &through, &to));
    if let Ok(Some(given)) = known {
        return Ok(given);
    }
    let hand = CodeAct::Give { giver, id, through, to, name: name.to_owned() };
    match daemon.apply_as(daemon.root, None, Act::Code(hand)) {
        Ok(outcome) => match outcome.reply {
            Reply::Made { id } => Ok(id),
            other => Err(format!("it cannot be handed over: {other:?}")),
        },
        Err(failure) => Err(failure_text(failure)),
    }
}

fn is_promise_of_code(daemon: &HostDaemon, id: &FormulaId) -> bool {
    let row = daemon.read(|txn| table::formula(txn, id)).ok().flatten();
    matches!(row.map(|row| row.formula), Some(Formula::Promise { code: Some(_), .. }))
}

/// Returns the code that has made an object. Returns `None` if the formula is a grant, or anything else that code has
/// not made.
fn maker_code(
    txn: &mut dyn kernel::txn::ReadTxn,
    id: &FormulaId,
) -> Result<Option<FormulaId>, kernel::txn::StoreFault> {
    Ok(match table::formula(txn, id)?.map(|row| row.formula) {
        Some(Formula::Export { eval, .. }) => Some(eval),
        _ => None,
    })
}

fn failure_text(failure: control::exit::Failure) -> String {
    failure.message.raw().to_owned()
}

/// Returns an error if one of the grants through which an object was found has ended.
fn reject_ended_grant(context: &Context<'_>, through: &[FormulaId]) -> Result<(), CallError> {
    let daemon = context.daemon;
    let now_ms = daemon.now_ms();
    for grant in through {
        let reached = daemon.read(|txn| table::reach(txn, grant))?;
        let ended = reached.map_or(Some("it is gone".to_owned()), |reached| {
            reached.ended(now_ms).map(|finding| finding.message)
        });
        if let Some(why) = ended {
            return Err(CallError::Plain(why));
        }
    }
    Ok(())
}

/// Returns the same reference, with more grants through which it was found.
fn with_grants(reference: &Reference, grants: &[FormulaId]) -> Reference {
    let mut reference = reference.clone();
    if let Reference::Object { through, .. }
    | Reference::Promise { through, .. }
    | Reference::Live { through, .. }
    | Reference::Part { through, .. } = &mut reference
    {
        for grant in grants {
            if !through.contains(grant) {
                through.push(*grant);
            }
        }
    }
    reference
}

fn not_a_function() -> Value<Ref> {
    type_error("Cannot invoke target as a function; typeof target is \"object\"".to_owned())
}
