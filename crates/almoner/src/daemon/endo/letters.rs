//! Messages to objects that code has made: they are sent on to the heap, and the answer comes by itself.

use kernel::code::Reference;
use kernel::facet::Delivery;
use passable::{Remote, Value};
use switchboard::{Call, Full, Name, Outcome, Ref};
use vat::Verb;

use super::convert::rebuild;
use super::files::Came;
use super::home::{Context, Home, type_error};
use super::perform::{self, Trouble};
use super::thing::{LiveObject, Object, Thing};
use super::writes;
use crate::daemon::vats::{Letter, Target};

/// What is asked, and what is given with it.
pub(super) fn verb(call: &Call<Ref>) -> (Verb, &[Value<Ref>]) {
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

impl Home {
    /// Calls what was found as a function: only what code has made is one.
    pub(super) fn apply(
        &mut self,
        context: &Context<'_>,
        object: &Object,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Option<Outcome> {
        let daemon = &context.desk.daemon;
        let view = daemon.view(object.agent);
        let planned = daemon.read(|txn| perform::plan(txn, &view, object, "__getMethodNames__", &[]));
        let sent = match planned {
            Ok((Ok(plan), reach)) => match writes::delivery(&plan) {
                Some(to) => self.send(context, reach, target(to), Verb::Apply, args, answer),
                None => return Some(Err(no_function())),
            },
            Ok((Err(refusal), _)) => Err(refusal.into()),
            Err(failure) => Err(failure.into()),
        };
        sent.err().map(|trouble| Err(trouble.to_value()))
    }

    /// Sends a method call on.
    pub(super) fn send_on(
        &mut self,
        context: &Context<'_>,
        reach: Object,
        to: &Delivery,
        method: &str,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Result<(), Trouble> {
        let through = reach.through.iter().chain(&to.through).copied().collect();
        let verb = Verb::Call(vat::Name::Text(method.to_owned()));
        self.send(context, Object { through, ..reach }, target(to), verb, args, answer)
    }

    /// Sends a call of an object on that lasts as long as its heap.
    pub(super) fn send_live(
        &mut self,
        context: &Context<'_>,
        to: LiveObject,
        verb: Verb,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Option<Outcome> {
        let reach = Object { id: to.eval, agent: to.eval, through: vec![] };
        let target = Target { eval: to.eval, heap: Some(to.heap), number: to.number };
        let sent = self.send(context, reach, target, verb, args, answer);
        sent.err().map(|trouble| Err(trouble.to_value()))
    }

    fn send(
        &mut self,
        context: &Context<'_>,
        reach: Object,
        target: Target,
        verb: Verb,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Result<(), Trouble> {
        let args = args.iter().map(|value| self.references(value)).collect::<Result<Vec<_>, _>>();
        let Ok(args) = args else {
            return Err(Trouble::Plain("not durable: give it a name first".to_owned()));
        };
        let courier = (context.courier)();
        let through = reach.through.clone();
        let reply = Box::new(move |told: Result<Value<Reference>, Value<Reference>>| {
            // What was found through a grant ends with it.
            let told = told.map(|value| value.map_references(&mut |one| behind(one, &through)));
            courier(reach, answer, Ok(Came::Told(told)));
        });
        let office = context.desk.daemon.vats();
        let office = office.ok_or_else(|| Trouble::Plain("no guest code runs here".to_owned()))?;
        office.deliver(Letter { target, verb, args, reply })?;
        Ok(())
    }

    /// What an object has answered.
    pub(super) fn told(
        &mut self,
        context: &Context<'_>,
        told: Result<Value<Reference>, Value<Reference>>,
    ) -> Result<Value<Ref>, Trouble> {
        let mut board = context.board();
        let mut live = |home: &mut Home, value: &Value<Reference>| {
            rebuild(value, &mut |remote: &Remote<Reference>, _| {
                let reference = home.adopt(&mut board, &remote.reference)?;
                Ok::<_, Full>(Remote { reference, iface: remote.iface.clone() })
            })
        };
        match told {
            Ok(value) => Ok(live(self, &value)?),
            Err(value) => Err(Trouble::Value(live(self, &value)?)),
        }
    }

    /// A value with what its references stand for; an error if one is the client's own.
    pub(in crate::daemon) fn references(&self, value: &Value<Ref>) -> Result<Value<Reference>, ()> {
        rebuild(value, &mut |remote: &Remote<Ref>, _| {
            let reference = self.reference(remote.reference).ok_or(())?;
            Ok(Remote { reference, iface: remote.iface.clone() })
        })
    }

    /// The answer to a send of the code's own.
    pub(in crate::daemon) fn sent(&mut self, answer: Ref, origin: kernel::code::Origin) {
        self.origins.insert(answer, origin);
    }

    /// What a live reference stands for; `None` if it is the client's own.
    pub(in crate::daemon) fn reference(&self, reference: Ref) -> Option<Reference> {
        Some(match self.thing(reference)? {
            Thing::Object(Object { id, agent, through }) => {
                Reference::Object { id: *id, agent: *agent, through: through.clone() }
            }
            Thing::Promise { id, agent } => Reference::Promise { id: *id, agent: *agent },
            Thing::Live(LiveObject { eval, heap, number }) => {
                Reference::Live { eval: *eval, heap: *heap, number: *number }
            }
            _ => Reference::Passing,
        })
    }

    /// The live reference of what a reference stands for.
    ///
    /// # Errors
    /// [`Full`].
    pub(in crate::daemon) fn adopt(
        &mut self,
        board: &mut switchboard::Switchboard,
        reference: &Reference,
    ) -> Result<Ref, Full> {
        let thing = match reference {
            Reference::Object { id, agent, through } => {
                Thing::Object(Object { id: *id, agent: *agent, through: through.clone() })
            }
            Reference::Promise { id, agent } => Thing::Promise { id: *id, agent: *agent },
            Reference::Live { eval, heap, number } => {
                Thing::Live(LiveObject { eval: *eval, heap: *heap, number: *number })
            }
            Reference::Passing => Thing::Ended,
        };
        self.intern(board, thing)
    }
}

fn target(to: &Delivery) -> Target {
    Target { eval: to.eval, heap: None, number: to.number }
}

fn behind(reference: &Reference, grants: &[kernel::FormulaId]) -> Reference {
    match reference {
        Reference::Object { id, agent, through } => {
            let mut through = through.clone();
            through
                .extend(grants.iter().filter(|grant| !through.contains(grant)).copied().collect::<Vec<_>>());
            Reference::Object { id: *id, agent: *agent, through }
        }
        other => other.clone(),
    }
}

fn no_function() -> Value<Ref> {
    type_error("Cannot invoke target as a function; typeof target is \"object\"".to_owned())
}
