//! The vat, which carries out orders one at a time and reports the outcome of each.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use passable::Value as Passable;
use rquickjs::context::intrinsic as has;
use rquickjs::module::Declared;
use rquickjs::{Array, Context, Ctx, Exception, Module, Result, Runtime, Value};

use super::loader::ProgramLoader;
use super::memory::{Blocks, BoundedAllocator};
use super::{Clock, Meter, VatState};
use crate::frame::{Order, Outcome, Report, Slot, VatId, Verb};
use crate::pass::inward::{self, slot_text};
use crate::pass::kit::call;
use crate::pass::raw;
use crate::{FaultKind, Limits, Modules, realm, source};

/// The intrinsics of a realm. There are no dates and no clocks. Weak references are only for the prelude.
type Intrinsics = (
    has::Eval,
    has::RegExpCompiler,
    has::RegExp,
    has::Json,
    has::Proxy,
    has::MapSet,
    has::TypedArrays,
    has::Promise,
    has::WeakRef,
);

/// A locked realm with its own heap.
///
/// A vat is bound to its thread. An order runs until nothing is left to do in the vat: all promise jobs are part of
/// the order.
pub struct Vat {
    shared: Rc<VatState>,
    context: ManuallyDrop<Context>,
    runtime: ManuallyDrop<Runtime>,
    blocks: Rc<Blocks>,
}

/// The reason why an order could not be begun.
enum OrderError {
    /// The order was invalid.
    Refused(String),
    /// The engine threw an exception.
    Engine,
}

impl From<rquickjs::Error> for OrderError {
    fn from(_: rquickjs::Error) -> Self {
        OrderError::Engine
    }
}

impl Vat {
    /// Makes a vat.
    ///
    /// # Errors
    /// The limit that is too small even for the realm itself.
    pub fn new(vat: VatId, limits: Limits, clock: Clock) -> std::result::Result<Vat, FaultKind> {
        let meter = Rc::new(Meter::new(limits.clamped(), clock));
        meter.begin();
        let fault = |_| meter.fault().unwrap_or(FaultKind::Engine);
        let blocks = Rc::new(Blocks::default());
        let allocator = BoundedAllocator { meter: Rc::clone(&meter), blocks: Rc::clone(&blocks) };
        let runtime = Runtime::new_with_alloc(allocator).map_err(fault)?;
        runtime.set_max_stack_size(meter.limits.stack);
        let handler = Rc::clone(&meter);
        runtime.set_interrupt_handler(Some(Box::new(move || handler.interrupted())));
        let context = Context::custom::<Intrinsics>(&runtime).map_err(fault)?;
        let shared = Rc::new(VatState::new(vat, Rc::clone(&meter)));
        let loader = || ProgramLoader(Rc::downgrade(&shared));
        runtime.set_loader(loader(), loader());
        let made = Vat {
            shared: Rc::clone(&shared),
            context: ManuallyDrop::new(context),
            runtime: ManuallyDrop::new(runtime),
            blocks,
        };
        let locked = made.context.with(|ctx| {
            raw::stack_begins_here(&ctx);
            let kit = realm::lock(&ctx, &shared);
            let kit = kit.inspect_err(|_| drop(ctx.catch()))?;
            shared.set_kit(Some(kit));
            Ok::<(), rquickjs::Error>(())
        });
        match (locked, meter.fault()) {
            (Ok(()), None) => Ok(made),
            (_, fault) => Err(fault.unwrap_or(FaultKind::Engine)),
        }
    }

    /// Returns the limit that the vat exceeded. After a fault, the vat takes no more orders.
    pub fn fault(&self) -> Option<FaultKind> {
        self.shared.meter.fault()
    }

    /// Returns the number of heap bytes in use.
    pub fn memory(&self) -> usize {
        self.shared.meter.used()
    }

    /// Carries out an order for this vat. [`Order::Open`], [`Order::Close`] and [`Order::Ping`] are handled by the
    /// caller. The last report is [`Report::Idle`], [`Report::Refused`] or [`Report::Fault`].
    pub fn carry_out(&mut self, order: &Order) -> Vec<Report> {
        let vat = self.shared.vat;
        if let Some(kind) = self.fault() {
            return vec![fault(vat, kind)];
        }
        self.shared.begin();
        let outcome = self.context.with(|ctx| {
            raw::stack_begins_here(&ctx);
            let begun = self.begin(&ctx, order);
            let begun = begun.map_err(|trouble| match trouble {
                OrderError::Refused(line) => line,
                OrderError::Engine => engine_error(&ctx),
            });
            if begun.is_ok() {
                let mut number = 0;
                while !self.shared.meter.job(number) && ctx.execute_pending_job() {
                    number += 1;
                }
            }
            begun
        });
        if let Some(kind) = self.fault() {
            // The reports of a turn that exceeded a limit are dropped.
            drop(self.shared.take_reports());
            return vec![fault(vat, kind)];
        }
        let mut reports = self.shared.take_reports();
        reports.push(match outcome {
            Ok(()) => Report::Idle { vat, memory: self.memory() as u64 },
            Err(line) => Report::Refused { line },
        });
        reports
    }

    fn begin(&self, ctx: &Ctx<'_>, order: &Order) -> std::result::Result<(), OrderError> {
        let kit = self.shared.kit(ctx)?;
        match order {
            Order::Evaluate { answer, id, source, names, values, .. } => {
                self.evaluate(ctx, *answer, id, source, names, values)?;
            }
            Order::Make { answer, id, modules, env, powers, own, .. } => {
                self.make(ctx, *answer, id, modules, env, [powers, own])?;
            }
            Order::Deliver { answer, target, verb, args, .. } => {
                self.deliver(ctx, *answer, *target, verb, args)?;
            }
            Order::Settle { promise, outcome, .. } => {
                if let Slot::Question(number) = promise
                    && !self.shared.open_questions.borrow_mut().remove(number)
                {
                    return Err(OrderError::Refused(format!("question {number} is not open")));
                }
                let (good, value) = match outcome {
                    Outcome::Ok(value) => (true, value),
                    Outcome::Err(value) => (false, value),
                };
                let value = self.inward(ctx, value)?;
                call::<_, bool>(ctx, &kit.settle, (slot_text(*promise), good, value))?;
                self.shared.record_release(*promise);
            }
            Order::Drop { exports, answers, .. } => {
                for (number, count) in exports {
                    if self.shared.export_dropped(*number, *count) {
                        call::<_, ()>(ctx, &kit.release, (*number,))?;
                    }
                }
                for number in answers {
                    self.shared.answers.borrow_mut().remove(number);
                    call::<_, ()>(ctx, &kit.forget, (*number,))?;
                }
            }
            Order::Cancel { reason, .. } => {
                let reason = self.inward(ctx, reason)?;
                call::<_, ()>(ctx, &kit.cancel, (reason,))?;
            }
            Order::Open { .. } | Order::Close { .. } | Order::Ping { .. } => {
                return Err(OrderError::Refused("this order is not for a vat that is there".to_owned()));
            }
        }
        Ok(())
    }

    fn inward<'js>(&self, ctx: &Ctx<'js>, value: &Passable<Slot>) -> Result<Value<'js>> {
        let made = inward::value(ctx, &*self.shared.kit(ctx)?, value)?;
        self.shared.received(value);
        Ok(made)
    }

    fn claim(&self, answer: u32) -> std::result::Result<(), OrderError> {
        match self.shared.answers.borrow_mut().insert(answer) {
            true => Ok(()),
            false => Err(OrderError::Refused(format!("the number of answer {answer} is in use"))),
        }
    }

    fn evaluate(
        &self,
        ctx: &Ctx<'_>,
        answer: u32,
        id: &str,
        text: &str,
        names: &[String],
        values: &Passable<Slot>,
    ) -> std::result::Result<(), OrderError> {
        let Some(given) = values.as_array().filter(|given| given.len() == names.len()) else {
            return Err(OrderError::Refused("there must be one value for each name".to_owned()));
        };
        let mut all = names.to_vec();
        all.extend(["$id".to_owned(), "$cancelled".to_owned()]);
        source::check_names(&all).map_err(OrderError::Refused)?;
        self.claim(answer)?;
        self.shared.set_source(text);
        if let Err((line, column)) = source::check_source(text) {
            let message = "HTML-like comments are not available";
            let outcome = Outcome::Err(Passable::error("SyntaxError", message));
            let place = Some(source::place(line, column, Some(text)));
            self.shared.report(Report::Answer { vat: self.shared.vat, answer, outcome, place });
            return Ok(());
        }
        let kit = self.shared.kit(ctx)?;
        let endowments = Array::new(ctx.clone())?;
        for (index, value) in given.iter().enumerate() {
            endowments.set(index, inward::value(ctx, &kit, value)?)?;
        }
        self.shared.received(values);
        endowments.set(given.len(), id)?;
        endowments.set(given.len() + 1, kit.cancelled.clone().restore(ctx)?)?;
        let scope = realm::scope(ctx, &all)?;
        let text = raw::string(ctx, &text.into())?;
        Ok(call::<_, ()>(ctx, &kit.evaluate, (answer, scope, text, endowments))?)
    }

    fn make(
        &self,
        ctx: &Ctx<'_>,
        answer: u32,
        id: &str,
        modules: &Modules,
        env: &BTreeMap<String, String>,
        [powers, own]: [&Passable<Slot>; 2],
    ) -> std::result::Result<(), OrderError> {
        modules.check().map_err(OrderError::Refused)?;
        self.claim(answer)?;
        // The modules are kept outside the engine's heap, as long as the vat lives. Their memory counts all the same.
        if !self.shared.meter.grow(modules.bytes()) {
            return Err(OrderError::Engine);
        }
        let entry = self.shared.programs.add(modules).map_err(OrderError::Refused)?;
        let kit = self.shared.kit(ctx)?;
        let (powers, own) = (self.inward(ctx, powers)?, self.inward(ctx, own)?);
        let texts = |texts: &mut dyn Iterator<Item = &String>| -> Result<Array<'_>> {
            let made = Array::new(ctx.clone())?;
            for (index, text) in texts.enumerate() {
                made.set(index, raw::string(ctx, &text.as_str().into())?)?;
            }
            Ok(made)
        };
        let (names, values) = (texts(&mut env.keys())?, texts(&mut env.values())?);
        let loaded = self.load(ctx, &entry).and_then(|module| module.eval());
        match loaded.and_then(|(module, loaded)| Ok((module.namespace()?, loaded))) {
            Ok((namespace, loaded)) => {
                let given = Array::new(ctx.clone())?;
                given.set(0, id)?;
                given.set(1, powers)?;
                given.set(2, own)?;
                let args = (answer, loaded, namespace, given, names, values);
                Ok(call::<_, ()>(ctx, &kit.make, args)?)
            }
            Err(_) => Ok(call::<_, ()>(ctx, &kit.refused, (answer, ctx.catch()))?),
        }
    }

    fn load<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Module<'js, Declared>> {
        let text = self.shared.programs.source(name);
        let text = text.map_err(|why| Exception::throw_reference(ctx, &why))?;
        Module::declare(ctx.clone(), name, text)
    }

    fn deliver<'js>(
        &self,
        ctx: &Ctx<'js>,
        answer: Option<u32>,
        target: Slot,
        verb: &Verb,
        args: &Passable<Slot>,
    ) -> std::result::Result<(), OrderError> {
        if args.as_array().is_none() {
            return Err(OrderError::Refused("arguments must be an array".to_owned()));
        }
        let (kind, number) = match target {
            Slot::Vat(number) => ("v", number),
            Slot::Answer(number) => ("a", number),
            Slot::Host(_) | Slot::Question(_) => {
                return Err(OrderError::Refused("the target lives on the host's side".to_owned()));
            }
        };
        if let Some(answer) = answer {
            self.claim(answer)?;
        }
        let kit = self.shared.kit(ctx)?;
        let name = |name: &crate::Name| match name {
            crate::Name::Text(text) => raw::string(ctx, &text.as_str().into()),
            crate::Name::Symbol(name) => call(ctx, &kit.symbol_of, (name.as_str(),)),
        };
        let (verb, name) = match verb {
            Verb::Call(method) => (0, name(method)?),
            Verb::Apply => (1, Value::new_undefined(ctx.clone())),
            Verb::Get(property) => (2, name(property)?),
        };
        let args = self.inward(ctx, args)?;
        // The realm may keep the array of arguments, but guest code gets only its elements.
        let found: bool = call(ctx, &kit.deliver, (answer, kind, number, verb, name, args))?;
        if let (false, Some(answer)) = (found, answer) {
            let outcome = Outcome::Err(Passable::error("ReferenceError", "the target is gone"));
            self.shared.report(Report::Answer { vat: self.shared.vat, answer, outcome, place: None });
        }
        Ok(())
    }
}

impl Drop for Vat {
    fn drop(&mut self) {
        // After a memory fault, the engine may have lost track of some of its own objects. It would end the process
        // when it finds out. So the engine is not asked to free its memory: the blocks are freed directly.
        if matches!(self.fault(), Some(FaultKind::Memory | FaultKind::Engine)) {
            self.shared.forget_kit();
            self.shared.programs.clear();
            // SAFETY: the runtime, its context and the kit's values are never dropped, and nothing else refers to
            // them.
            unsafe { self.blocks.take_back() };
            return;
        }
        self.shared.set_kit(None);
        // SAFETY: both are dropped exactly once, here, and are not used afterwards.
        unsafe {
            ManuallyDrop::drop(&mut self.context);
            ManuallyDrop::drop(&mut self.runtime);
        }
    }
}

fn fault(vat: VatId, kind: FaultKind) -> Report {
    Report::Fault { vat, kind, line: kind.line().to_owned() }
}

/// Returns the error that the engine threw at the host, in one line.
fn engine_error(ctx: &Ctx<'_>) -> String {
    let thrown = ctx.catch();
    let message = thrown.as_exception().and_then(rquickjs::Exception::message);
    let message = message.unwrap_or_else(|| "the order could not be carried out".to_owned());
    passable::visible_line(&message).into_owned()
}
