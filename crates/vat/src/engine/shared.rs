//! The state of one vat that the host functions of the realm share with the code that carries out orders.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::rc::Rc;

use passable::{InterfaceGuard, Text, Value as Passable, visible_line};
use rquickjs::{Array, Ctx, Exception, Result, Value};

use super::Meter;
use super::loader::Programs;
use crate::FaultKind;
use crate::frame::{Level, Place, Report, Slot, VatId};
use crate::modules::{Language, Module};
use crate::pass::inward::{distinct, slot_of};
use crate::pass::kit::{Kit, call};
use crate::pass::outward::{Naming, Outward};
use crate::pass::raw;
use crate::source::{self, StackPlace};
use crate::source_map;

/// The number of bytes that a report costs beyond its text. They count against the vat's memory.
const REPORT_COST: usize = 256;

/// The host's objects that the vat has released, each with its count, and the questions that the vat no longer needs.
#[derive(Default)]
struct Released {
    imports: Vec<(u32, u32)>,
    questions: Vec<u32>,
}

pub(crate) struct VatState {
    pub(crate) vat: VatId,
    pub(crate) meter: Rc<Meter>,
    /// The realm's functions. They are set from the locking of the realm until the vat ends.
    kit: RefCell<Option<Rc<Kit>>>,
    /// The reports of this turn.
    outbox: RefCell<Vec<Report>>,
    outbox_cost: Cell<usize>,
    asked: Cell<u32>,
    pub(crate) open_questions: RefCell<BTreeSet<u32>>,
    pub(crate) answers: RefCell<BTreeSet<u32>>,
    /// The counts of how often each object of the host came in. The next field counts the objects of the vat that
    /// went out.
    imports: RefCell<BTreeMap<u32, u32>>,
    exports: RefCell<BTreeMap<u32, u32>>,
    released: RefCell<Released>,
    guards: RefCell<Vec<Rc<InterfaceGuard<u32>>>>,
    /// The exports whose guards have been reported to the host.
    reported_guards: RefCell<BTreeSet<u32>>,
    console_left: Cell<Option<usize>>,
    /// The number of evaluated sources, and the last of them.
    sources: RefCell<(u32, String)>,
    pub(crate) programs: Programs,
}

impl VatState {
    pub(crate) fn new(vat: VatId, meter: Rc<Meter>) -> VatState {
        VatState {
            vat,
            meter,
            kit: RefCell::default(),
            outbox: RefCell::default(),
            outbox_cost: Cell::default(),
            asked: Cell::default(),
            open_questions: RefCell::default(),
            answers: RefCell::default(),
            imports: RefCell::default(),
            exports: RefCell::default(),
            released: RefCell::default(),
            guards: RefCell::default(),
            reported_guards: RefCell::default(),
            console_left: Cell::default(),
            sources: RefCell::default(),
            programs: Programs::default(),
        }
    }

    /// Returns the realm's functions.
    pub(crate) fn kit(&self, ctx: &Ctx<'_>) -> Result<Rc<Kit>> {
        let kit = self.kit.borrow().clone();
        kit.ok_or_else(|| Exception::throw_internal(ctx, "the realm is not there"))
    }

    pub(crate) fn set_kit(&self, kit: Option<Kit>) {
        *self.kit.borrow_mut() = kit.map(Rc::new);
    }

    /// Forgets the realm's functions without dropping them, because the engine must not be asked to free them.
    pub(crate) fn forget_kit(&self) {
        std::mem::forget(self.kit.borrow_mut().take());
    }

    pub(crate) fn begin(&self) {
        self.meter.begin();
        self.programs.begin();
        self.console_left.set(Some(self.meter.limits.console));
    }

    /// Adds a report, which leaves the vat when the turn is over.
    pub(crate) fn report(&self, report: Report) {
        self.charge(REPORT_COST);
        self.outbox.borrow_mut().push(report);
    }

    fn charge(&self, bytes: usize) {
        if self.meter.grow(bytes) {
            self.outbox_cost.set(self.outbox_cost.get().saturating_add(bytes));
        }
    }

    /// Takes the reports of the turn. If the vat has released references, the last report lists them.
    pub(crate) fn take_reports(&self) -> Vec<Report> {
        self.meter.shrink(self.outbox_cost.take());
        let mut reports = self.outbox.take();
        let Released { mut imports, mut questions } = self.released.take();
        if !imports.is_empty() || !questions.is_empty() {
            imports.sort_unstable();
            questions.sort_unstable();
            reports.push(Report::Dropped { vat: self.vat, imports, questions });
        }
        reports
    }

    /// Reports a console line, if the console's limit allows it. The first line beyond the limit becomes a note.
    pub(crate) fn console(&self, level: Level, text: String) {
        let Some(left) = self.console_left.get() else { return };
        let cost = text.len().saturating_add(32);
        let text = match left.checked_sub(cost) {
            Some(left) => {
                self.console_left.set(Some(left));
                text
            }
            None => {
                self.console_left.set(None);
                "(the rest is left out: the console's limit is reached)".to_owned()
            }
        };
        self.charge(text.len());
        self.report(Report::Console { vat: self.vat, level, text });
    }

    /// Returns the number for a new question, or `None` if too many questions are open.
    pub(crate) fn new_question(&self) -> Option<u32> {
        let mut open = self.open_questions.borrow_mut();
        let number = self.asked.get().checked_add(1).filter(|_| open.len() < self.meter.limits.sends)?;
        self.asked.set(number);
        open.insert(number);
        Some(number)
    }

    /// Counts the references of a value that came from the host.
    pub(crate) fn received(&self, value: &Passable<Slot>) {
        for slot in distinct(value) {
            if let Slot::Host(number) = slot {
                let mut imports = self.imports.borrow_mut();
                let count = imports.entry(number).or_default();
                *count = count.saturating_add(1);
            }
        }
    }

    /// Records that the vat will not use this slot any more.
    pub(crate) fn record_release(&self, slot: Slot) {
        match slot {
            Slot::Host(number) => {
                if let Some(count) = self.imports.borrow_mut().remove(&number) {
                    self.released.borrow_mut().imports.push((number, count));
                }
            }
            Slot::Question(number) => self.released.borrow_mut().questions.push(number),
            Slot::Vat(_) | Slot::Answer(_) => {}
        }
    }

    /// Counts the host's release of an export. Returns whether the host no longer holds it.
    pub(crate) fn export_dropped(&self, number: u32, count: u32) -> bool {
        let mut exports = self.exports.borrow_mut();
        let Some(left) = exports.get_mut(&number) else { return false };
        *left = left.saturating_sub(count);
        let is_gone = *left == 0;
        if is_gone {
            exports.remove(&number);
        }
        is_gone
    }

    /// Returns whether the host holds this export.
    pub(crate) fn is_exported(&self, number: u32) -> bool {
        self.exports.borrow().contains_key(&number)
    }

    /// Returns a value in the form that goes to the host, and counts its references.
    pub(crate) fn outward<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Passable<Slot>> {
        let kit = self.kit(ctx)?;
        let mut naming = SlotNaming { touched: Vec::new(), guarded: Vec::new() };
        let made = self.walk(ctx, &kit, value, &mut naming);
        match &made {
            Ok((made, spent)) => {
                self.charge(spent.saturating_mul(2));
                for (export, guard) in std::mem::take(&mut naming.guarded) {
                    self.report_guard(export, guard);
                }
                for slot in distinct(made) {
                    if let Slot::Vat(number) = slot {
                        let mut exports = self.exports.borrow_mut();
                        let count = exports.entry(number).or_default();
                        *count = count.saturating_add(1);
                    }
                }
            }
            // The value did not go out, so the objects in it are released.
            Err(_) => {
                let thrown = ctx.catch();
                for number in naming.touched {
                    if !self.is_exported(number) {
                        call::<_, ()>(ctx, &kit.release, (number,))?;
                    }
                }
                return Err(ctx.throw(thrown));
            }
        }
        made.map(|(made, _)| made)
    }

    /// Reports the guard of an object that goes out, once for each object. A guard with references is not reported.
    fn report_guard(&self, export: u32, guard: u32) {
        if !self.reported_guards.borrow_mut().insert(export) {
            return;
        }
        let value = self.guard(guard).map(|guard| guard.to_value());
        let plain = value.and_then(|value| value.try_map_references(&mut |_| Err::<Slot, ()>(())).ok());
        if let Some(guard) = plain {
            self.report(Report::Guard { vat: self.vat, export, guard });
        }
    }

    /// Returns a value for comparison with a pattern. No reference goes out.
    pub(crate) fn compared<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Passable<u32>> {
        let kit = self.kit(ctx)?;
        Ok(self.walk(ctx, &kit, value, &mut NumberNaming)?.0)
    }

    fn walk<'js, C: passable::Reference, N: Naming<C>>(
        &self,
        ctx: &Ctx<'js>,
        kit: &Kit,
        value: &Value<'js>,
        naming: &mut N,
    ) -> Result<(Passable<C>, usize)> {
        let room = self.meter.limits.message;
        let mut walk = Outward { ctx, kit, naming, room, too_large: false, reference: PhantomData };
        let made = walk.value(value, 0);
        let (left, too_large) = (walk.room, walk.too_large);
        if too_large {
            self.meter.fail(FaultKind::Message);
        }
        Ok((made?, room.saturating_sub(left)))
    }

    pub(crate) fn symbol_name<'js>(&self, ctx: &Ctx<'js>, symbol: &Value<'js>) -> Result<Option<String>> {
        let name: Value<'js> = call(ctx, &self.kit(ctx)?.symbol_name, (symbol.clone(),))?;
        match name.is_string() {
            true => Ok(Some(raw::text(ctx, &name)?.to_str_lossy().into_owned())),
            false => Ok(None),
        }
    }

    pub(crate) fn keep_guard(&self, guard: InterfaceGuard<u32>) -> u32 {
        // The guard is kept outside the engine's heap, as long as the vat lives. Its memory counts all the same.
        self.meter.grow(1024 + 1024 * guard.methods.len());
        let mut guards = self.guards.borrow_mut();
        guards.push(Rc::new(guard));
        u32::try_from(guards.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn guard(&self, number: u32) -> Option<Rc<InterfaceGuard<u32>>> {
        self.guards.borrow().get((number as usize).checked_sub(1)?).cloned()
    }

    pub(crate) fn set_source(&self, source: &str) {
        let mut sources = self.sources.borrow_mut();
        *sources = (sources.0.saturating_add(1), source.to_owned());
    }

    /// Returns the place where an error arose, according to the engine's stack trace.
    pub(crate) fn place(&self, stack: &str) -> Option<Place> {
        source::stack_places(stack).iter().find_map(|spot| self.place_at(spot)).or_else(|| {
            let (name, line, column) = self.programs.failed_import_place()?;
            self.place_at(&StackPlace { name: &name, at: (line, column), in_json: None })
        })
    }

    fn place_at(&self, spot: &StackPlace<'_>) -> Option<Place> {
        let StackPlace { name, at: (line, column), in_json } = *spot;
        if name == source::EVALUATED_NAME {
            let sources = self.sources.borrow();
            let only = (sources.0 == 1).then_some(sources.1.as_str());
            let original = only.and_then(|only| source_map::original(only, None, "", (line, column)));
            return Some(original.map_or_else(|| source::place(line, column, only), Place::from));
        }
        let (label, module) = self.programs.get(name)?;
        let Module::Source { language, text } = module else { return None };
        // For JSON and text, the engine runs generated code, so the line and column are not those of the file.
        let is_module = language == Language::Module;
        let (line, column) = if is_module { (line, column) } else { in_json.unwrap_or((1, 1)) };
        let folder = label.rsplit_once('/').map_or("", |(folder, _)| folder);
        let original = is_module
            .then(|| self.programs.map(name))
            .and_then(|map| source_map::original(&text, map.as_deref(), folder, (line, column)));
        if let Some(original) = original {
            return Some(original.into());
        }
        Some(Place {
            module: Some(visible_line(&label).into_owned()),
            ..source::place(line, column, Some(&text))
        })
    }
}

/// The naming of references by slots. It remembers which of the vat's own objects were named.
struct SlotNaming {
    touched: Vec<u32>,
    /// The objects that go out with a guard: the object's number, and the guard's number.
    guarded: Vec<(u32, u32)>,
}

impl SlotNaming {
    fn slot<'js>(&mut self, ctx: &Ctx<'js>, text: &Value<'js>) -> Result<Slot> {
        let slot = raw::text(ctx, text)?.as_str().and_then(slot_of);
        if let Some(Slot::Vat(number)) = slot {
            self.touched.push(number);
        }
        slot.ok_or_else(|| Exception::throw_internal(ctx, "a reference without a name"))
    }
}

fn iface<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Option<Text>> {
    value.is_string().then(|| raw::text(ctx, value)).transpose()
}

impl Naming<Slot> for SlotNaming {
    fn remotable<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        kit: &Kit,
        thing: &Value<'js>,
    ) -> Result<(Slot, Option<Text>)> {
        let named: Array<'js> = call(ctx, &kit.remotable_slot, (thing.clone(),))?;
        let slot = self.slot(ctx, &named.get(0)?)?;
        let guard: Value<'js> = named.get(2)?;
        if let (Slot::Vat(export), true) = (slot, guard.is_number()) {
            self.guarded.push((export, number(&guard)));
        }
        Ok((slot, iface(ctx, &named.get(1)?)?))
    }

    fn promise<'js>(&mut self, ctx: &Ctx<'js>, kit: &Kit, promise: &Value<'js>) -> Result<Slot> {
        let named: Value<'js> = call(ctx, &kit.promise_slot, (promise.clone(),))?;
        self.slot(ctx, &named)
    }
}

/// The naming of references by the realm's own numbers, for comparisons.
struct NumberNaming;

fn number(value: &Value<'_>) -> u32 {
    value.as_number().map_or(0, |number| number as u32)
}

impl Naming<u32> for NumberNaming {
    fn remotable<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        kit: &Kit,
        thing: &Value<'js>,
    ) -> Result<(u32, Option<Text>)> {
        let named: Array<'js> = call(ctx, &kit.remotable_number, (thing.clone(),))?;
        Ok((number(&named.get(0)?), iface(ctx, &named.get(1)?)?))
    }

    fn promise<'js>(&mut self, ctx: &Ctx<'js>, kit: &Kit, promise: &Value<'js>) -> Result<u32> {
        let named: Value<'js> = call(ctx, &kit.identity, (promise.clone(),))?;
        Ok(number(&named))
    }
}
