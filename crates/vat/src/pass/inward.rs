//! The conversion of passable values to the engine's values: frozen copies, presences and promises.

use passable::{Reference, Value as Passable};
use rquickjs::object::Property;
use rquickjs::{Array, Ctx, Object, Result, Value};

use super::kit::{Kit, call};
use super::raw;
use crate::frame::Slot;

/// Returns a slot in the realm's notation: a letter and a number.
pub(crate) fn slot_text(slot: Slot) -> String {
    match slot {
        Slot::Host(number) => format!("h{number}"),
        Slot::Vat(number) => format!("v{number}"),
        Slot::Question(number) => format!("q{number}"),
        Slot::Answer(number) => format!("a{number}"),
    }
}

/// Returns the slot for a text that [`slot_text`] returned, or `None` if the text is malformed.
pub(crate) fn slot_of(text: &str) -> Option<Slot> {
    let number = text.get(1..)?.parse().ok()?;
    match text.as_bytes().first()? {
        b'h' => Some(Slot::Host(number)),
        b'v' => Some(Slot::Vat(number)),
        b'q' => Some(Slot::Question(number)),
        b'a' => Some(Slot::Answer(number)),
        _ => None,
    }
}

/// Returns the engine's value for a passable value. The vat's own objects and answers become the originals.
pub(crate) fn value<'js>(ctx: &Ctx<'js>, kit: &Kit, value: &Passable<Slot>) -> Result<Value<'js>> {
    Ok(match value {
        Passable::Undefined => Value::new_undefined(ctx.clone()),
        Passable::Null => Value::new_null(ctx.clone()),
        Passable::Bool(truth) => Value::new_bool(ctx.clone(), *truth),
        Passable::Number(number) => Value::new_number(ctx.clone(), *number),
        Passable::BigInt(number) => call(ctx, &kit.bigint, (number.to_string(),))?,
        Passable::String(text) => raw::string(ctx, text)?,
        Passable::Bytes(bytes) => raw::immutable_buffer(ctx, bytes)?,
        Passable::Symbol(symbol) => call(ctx, &kit.symbol_of, (raw::string(ctx, symbol.name())?,))?,
        Passable::Array(elements) => {
            let made = Array::new(ctx.clone())?;
            for (index, element) in elements.iter().enumerate() {
                made.set(index, self::value(ctx, kit, element)?)?;
            }
            frozen(ctx, made.into_value())?
        }
        Passable::Record(fields) => {
            let made = Object::new(ctx.clone())?;
            for (name, field) in fields.iter() {
                let field = self::value(ctx, kit, field)?;
                // The property is defined, not assigned, so that `__proto__` is a name like any other.
                made.prop(raw::string(ctx, name)?, Property::from(field).enumerable())?;
            }
            frozen(ctx, made.into_value())?
        }
        Passable::Tagged(tagged) => {
            let payload = self::value(ctx, kit, tagged.payload())?;
            call(ctx, &kit.make_tagged, (raw::string(ctx, tagged.tag())?, payload))?
        }
        Passable::Error(error) => {
            let parts = (raw::string(ctx, &error.name)?, raw::string(ctx, &error.message)?);
            call(ctx, &kit.error_of, parts)?
        }
        Passable::Remotable(remote) => {
            let iface = match &remote.iface {
                Some(iface) => raw::string(ctx, iface)?,
                None => Value::new_undefined(ctx.clone()),
            };
            call(ctx, &kit.presence, (slot_text(remote.reference), iface))?
        }
        Passable::Promise(remote) => call(ctx, &kit.promise_at, (slot_text(remote.reference),))?,
    })
}

fn frozen<'js>(ctx: &Ctx<'js>, made: Value<'js>) -> Result<Value<'js>> {
    raw::freeze(ctx, &made)?;
    Ok(made)
}

/// Returns the references in a value, each of them once.
pub(crate) fn distinct<C: Reference>(value: &Passable<C>) -> Vec<C> {
    let mut found: Vec<C> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for reference in value.references() {
        if seen.insert(reference.clone()) {
            found.push(reference.clone());
        }
    }
    found
}
