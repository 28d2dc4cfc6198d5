//! The host functions that the realm calls. Only the prelude can reach them.

use std::rc::Rc;

use passable::{InterfaceGuard, Text, Value as Passable};
use rquickjs::function::Rest;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Result, Value};

use super::url;
use crate::FaultKind;
use crate::engine::VatState;
use crate::frame::{Level, Name, Outcome, Report, Verb};
use crate::pass::inward::slot_of;
use crate::pass::raw;

/// The engine's message for a stack overflow. An answer with this error is a stack fault, even if guest code wrote
/// the message.
const STACK_OVERFLOW_MESSAGE: &str = "Maximum call stack size exceeded";

type Native = for<'js> fn(&Ctx<'js>, &Rc<VatState>, Args<'js>) -> Result<Value<'js>>;

/// The arguments of a call. A missing argument is `undefined`.
pub(super) struct Args<'js>(Ctx<'js>, Vec<Value<'js>>);

impl<'js> Args<'js> {
    pub(super) fn at(&self, index: usize) -> Value<'js> {
        self.1.get(index).cloned().unwrap_or_else(|| Value::new_undefined(self.0.clone()))
    }

    fn text(&self, index: usize) -> Result<Text> {
        raw::text(&self.0, &self.at(index))
    }

    pub(super) fn lossy(&self, index: usize) -> Result<String> {
        Ok(self.text(index)?.to_str_lossy().into_owned())
    }

    fn number(&self, index: usize) -> u32 {
        self.at(index).as_number().map_or(0, |number| number as u32)
    }

    fn truth(&self, index: usize) -> bool {
        self.at(index).as_bool().unwrap_or(false)
    }
}

const NATIVES: &[(&str, Native)] = &[
    ("isProxy", |ctx, _, args| bool(ctx, args.at(0).is_proxy())),
    ("isPromise", |ctx, _, args| bool(ctx, args.at(0).is_promise())),
    ("isError", |ctx, _, args| bool(ctx, args.at(0).is_error())),
    ("send", send),
    ("answer", answer),
    ("resolve", resolve),
    ("dropped", dropped),
    ("console", console),
    ("guard", guard),
    ("checkArguments", check_arguments),
    ("checkResult", check_result),
    ("checkPassable", check_passable),
    ("toUtf8", |ctx, _, args| {
        let bytes = args.lossy(0)?.into_bytes();
        Ok(ArrayBuffer::new_copy(ctx.clone(), bytes)?.into_value())
    }),
    ("fromUtf8", from_utf8),
    ("parseUrl", url::parse),
    ("setUrl", url::set),
    ("parseQuery", url::parse_query),
    ("queryText", url::query_text),
];

/// Returns the object with all host functions, which the prelude gets.
pub(super) fn host<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>) -> Result<Object<'js>> {
    let made = Object::new(ctx.clone())?;
    for (name, native) in NATIVES {
        made.set(*name, bind(ctx, shared, *native)?)?;
    }
    Ok(made)
}

fn bind<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, native: Native) -> Result<Function<'js>> {
    let shared = Rc::clone(shared);
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, args: Rest<Value<'js>>| {
        shared.meter.check_stack();
        native(&ctx, &shared, Args(ctx.clone(), args.0))
    })
}

fn bool<'js>(ctx: &Ctx<'js>, truth: bool) -> Result<Value<'js>> {
    Ok(Value::new_bool(ctx.clone(), truth))
}

fn nothing<'js>(ctx: &Ctx<'js>) -> Result<Value<'js>> {
    Ok(Value::new_undefined(ctx.clone()))
}

fn name<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, value: &Value<'js>) -> Result<Name> {
    if value.is_symbol() {
        return match shared.symbol_name(ctx, value)? {
            Some(name) => Ok(Name::Symbol(name)),
            None => Err(Exception::throw_type(ctx, "only registered and well-known symbols can be sent")),
        };
    }
    Ok(Name::Text(raw::text(ctx, value)?.to_str_lossy().into_owned()))
}

/// Implements `send(slot, verb, name, args, wanted)`. Returns the number of the question, if an answer is wanted.
fn send<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let slot = args.text(0)?;
    let Some(target) = slot.as_str().and_then(slot_of) else {
        return Err(Exception::throw_type(ctx, "there is nobody to send to"));
    };
    let verb = match args.number(1) {
        0 => Verb::Call(name(ctx, shared, &args.at(2))?),
        1 => Verb::Apply,
        _ => Verb::Get(name(ctx, shared, &args.at(2))?),
    };
    let wanted = args.truth(4);
    let values = shared.outward(ctx, &args.at(3))?;
    let question = match wanted {
        true => Some(shared.new_question().ok_or_else(|| {
            shared.meter.fail(FaultKind::Sends);
            Exception::throw_range(ctx, FaultKind::Sends.line())
        })?),
        false => None,
    };
    let vat = shared.vat;
    shared.report(Report::Send { vat, target, verb, args: values, question });
    match question {
        Some(number) => Ok(Value::new_number(ctx.clone(), f64::from(number))),
        None => nothing(ctx),
    }
}

/// Returns a result or an error as an outcome. A value that cannot be passed becomes an error with the reason.
fn outcome<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, good: bool, value: &Value<'js>) -> Outcome {
    match shared.outward(ctx, value) {
        Ok(value) if good => Outcome::Ok(value),
        Ok(value) => Outcome::Err(value),
        Err(_) => {
            let thrown = ctx.catch();
            Outcome::Err(shared.outward(ctx, &thrown).unwrap_or_else(|_| {
                ctx.catch();
                Passable::error("Error", "the result cannot be passed")
            }))
        }
    }
}

/// Implements `answer(number, good, value, stack)`, which reports the answer to an order.
fn answer<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let (vat, answer) = (shared.vat, args.number(0));
    let outcome = outcome(ctx, shared, args.truth(1), &args.at(2));
    if let Outcome::Err(Passable::Error(error)) = &outcome
        && error.message == STACK_OVERFLOW_MESSAGE
    {
        shared.meter.fail(FaultKind::Stack);
    }
    let stack = args.at(3);
    let place = match stack.is_string() {
        true => shared.place(&args.lossy(3)?),
        false => None,
    };
    shared.report(Report::Answer { vat, answer, outcome, place });
    nothing(ctx)
}

/// Implements `resolve(number, good, value)`, which reports the outcome of a promise.
fn resolve<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let (vat, promise) = (shared.vat, args.number(0));
    let outcome = outcome(ctx, shared, args.truth(1), &args.at(2));
    shared.report(Report::Resolve { vat, promise, outcome });
    nothing(ctx)
}

/// Implements `dropped(slot)`, which records that the vat has released a slot.
fn dropped<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    if let Some(slot) = args.text(0)?.as_str().and_then(slot_of) {
        shared.record_release(slot);
    }
    nothing(ctx)
}

/// Implements `console(level, text)`, which writes a line to the console.
fn console<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let level = match args.text(0)?.as_str() {
        Some("debug") => Level::Debug,
        Some("info") => Level::Info,
        Some("warn") => Level::Warn,
        Some("error") => Level::Error,
        _ => Level::Log,
    };
    shared.console(level, args.lossy(1)?);
    nothing(ctx)
}

fn throw<'js, T>(ctx: &Ctx<'js>, message: &str) -> Result<T> {
    Err(Exception::from_message(ctx.clone(), message)?.throw())
}

/// Implements `guard(value)`. Returns the number by which the check functions know the guard.
fn guard<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let value = shared.compared(ctx, &args.at(0))?;
    match InterfaceGuard::from_value(&value) {
        Ok(guard) => Ok(Value::new_number(ctx.clone(), f64::from(shared.keep_guard(guard)))),
        Err(complaint) => throw(ctx, &complaint.to_string()),
    }
}

/// Finds the guard of a method and the method's name for messages, and runs a check with them.
fn check<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<VatState>,
    args: &Args<'js>,
    judge: impl FnOnce(&passable::MethodGuard<u32>, &str, &str) -> std::result::Result<(), passable::Mismatch>,
) -> Result<Value<'js>> {
    let Some(guard) = shared.guard(args.number(0)) else {
        return throw(ctx, "there is no such guard");
    };
    let key = args.at(1);
    let (label, method) = match key.is_symbol() {
        true => {
            let name = shared.symbol_name(ctx, &key)?.unwrap_or_default();
            let symbol = passable::Symbol::from_passable_name(name).ok();
            let method = symbol.as_ref().and_then(|symbol| guard.symbol_method(symbol));
            (symbol.as_ref().map(passable::Symbol::label).unwrap_or_default(), method)
        }
        false => {
            let name = args.lossy(1)?;
            let method = guard.method(&name);
            (name, method)
        }
    };
    let Some(method) = method else {
        return throw(ctx, "there is no guard for this method");
    };
    match judge(method, &guard.name.to_str_lossy(), &label) {
        Ok(()) => nothing(ctx),
        Err(mismatch) => throw(ctx, &mismatch.to_string()),
    }
}

/// Implements `checkArguments(guard, method, args)`, which throws if the arguments do not match the method's guard.
fn check_arguments<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let given = shared.compared(ctx, &args.at(2))?;
    let given = given.as_array().unwrap_or_default();
    check(ctx, shared, &args, |guard, interface, method| guard.check_arguments(interface, method, given))
}

/// Implements `checkResult(guard, method, result)`, which throws if the result does not match the method's guard.
fn check_result<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let result = shared.compared(ctx, &args.at(2))?;
    check(ctx, shared, &args, |guard, interface, method| guard.check_result(interface, method, &result))
}

/// Implements `checkPassable(value)`, which throws if the value cannot be passed.
fn check_passable<'js>(ctx: &Ctx<'js>, shared: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    shared.compared(ctx, &args.at(0))?;
    nothing(ctx)
}

/// Implements `fromUtf8(buffer, offset, length, fatal)`. Returns the text. If `fatal` is true and the bytes are not
/// UTF-8, returns `undefined`.
fn from_utf8<'js>(ctx: &Ctx<'js>, _: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let Some(bytes) = raw::buffer_bytes(ctx, &args.at(0)) else {
        return Err(Exception::throw_type(ctx, "bytes are needed: an ArrayBuffer or a view of one"));
    };
    let bytes = bytes.as_slice();
    let offset = args.number(1) as usize;
    let length = args.at(2).as_number().filter(|length| *length >= 0.0).map(|length| length as usize);
    let bytes = bytes.get(offset..).unwrap_or_default();
    let bytes = bytes.get(..length.unwrap_or(bytes.len())).unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => raw::string(ctx, &Text::from(text)),
        Err(_) if args.truth(3) => nothing(ctx),
        Err(_) => raw::string(ctx, &Text::from(String::from_utf8_lossy(bytes))),
    }
}
