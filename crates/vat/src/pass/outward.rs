//! The conversion of the engine's values to passable values. No guest code runs during it: properties are read
//! without getters, and an accessor or a proxy is refused.

use passable::{MAX_DEPTH, Symbol, Text, Value as Passable};
use rquickjs::{Ctx, Exception, Object, Result, Value};

use super::kit::{Kit, call};
use super::raw::{self, Property};

/// A way to name the references in a value.
pub(crate) trait Naming<C> {
    /// Returns the reference of an object that is passed by reference, and the name of its interface, if it gives
    /// one.
    fn remotable<'js>(&mut self, ctx: &Ctx<'js>, kit: &Kit, thing: &Value<'js>) -> Result<(C, Option<Text>)>;
    /// Returns the reference of a promise.
    fn promise<'js>(&mut self, ctx: &Ctx<'js>, kit: &Kit, promise: &Value<'js>) -> Result<C>;
}

/// The conversion of one value.
pub(crate) struct Outward<'a, 'js, C, N: Naming<C>> {
    pub(crate) ctx: &'a Ctx<'js>,
    pub(crate) kit: &'a Kit,
    pub(crate) naming: &'a mut N,
    /// The approximate number of bytes that the message may still have. A shared value counts as often as it occurs.
    pub(crate) room: usize,
    /// Whether the message became too large.
    pub(crate) too_large: bool,
    pub(crate) reference: std::marker::PhantomData<C>,
}

/// The kind of a value.
enum Kind<'js, C> {
    /// A value without parts, already converted.
    Made(Passable<C>),
    /// An array with the realm's own array prototype.
    Array,
    /// A record.
    Record,
    /// A tagged value: its tag and its payload.
    Tagged(Text, Value<'js>),
}

fn refuse<T>(ctx: &Ctx<'_>, message: &str) -> Result<T> {
    Err(Exception::throw_type(ctx, message))
}

impl<'js, C: passable::Reference, N: Naming<C>> Outward<'_, 'js, C, N> {
    fn spend(&mut self, bytes: usize) -> Result<()> {
        match self.room.checked_sub(bytes) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => {
                self.too_large = true;
                refuse(self.ctx, "the message is larger than it may be")
            }
        }
    }

    fn text(&mut self, string: &Value<'js>) -> Result<Text> {
        let text = raw::text(self.ctx, string)?;
        self.spend(text.as_bytes().len() + 2)?;
        Ok(text)
    }

    /// Returns the passable form of a value at nesting level `depth`. Recursive functions are separate from the
    /// others, so that a level needs little of the stack.
    pub(crate) fn value(&mut self, value: &Value<'js>, depth: u32) -> Result<Passable<C>> {
        self.spend(8)?;
        if depth > MAX_DEPTH {
            return refuse(self.ctx, "the value nests too deep to be passed, or holds itself");
        }
        match self.classify(value)? {
            Kind::Made(made) => Ok(made),
            Kind::Array => self.array(value, depth),
            Kind::Record => self.record(value, depth),
            Kind::Tagged(tag, payload) => {
                let payload = self.value(&payload, depth + 1)?;
                self.made(Passable::try_tagged(tag, payload))
            }
        }
    }

    /// Returns the kind of a value. A value without parts is converted at once.
    #[inline(never)]
    fn classify(&mut self, value: &Value<'js>) -> Result<Kind<'js, C>> {
        if value.is_object() { self.thing(value) } else { self.atom(value).map(Kind::Made) }
    }

    #[inline(never)]
    fn atom(&mut self, value: &Value<'js>) -> Result<Passable<C>> {
        if let Some(truth) = value.as_bool() {
            return Ok(Passable::Bool(truth));
        }
        if let Some(number) = value.as_number() {
            return Ok(Passable::Number(number));
        }
        if value.is_undefined() {
            return Ok(Passable::Undefined);
        }
        if value.is_null() {
            return Ok(Passable::Null);
        }
        if value.is_string() {
            return Ok(Passable::String(self.text(value)?));
        }
        if value.is_big_int() {
            let digits = self.text(value)?;
            let number = digits.as_str().filter(|digits| digits.len() <= passable::MAX_DIGITS);
            return match number.and_then(|digits| digits.parse::<num_bigint::BigInt>().ok()) {
                Some(number) => Ok(Passable::bigint(number)),
                None => refuse(self.ctx, "the bigint has too many digits to be passed"),
            };
        }
        if value.is_symbol() {
            let name: Value<'js> = call(self.ctx, &self.kit.symbol_name, (value.clone(),))?;
            let symbol = match name.is_string() {
                true => Symbol::from_passable_name(self.text(&name)?).ok(),
                false => None,
            };
            return match symbol {
                Some(symbol) => Ok(Passable::Symbol(symbol)),
                None => refuse(self.ctx, "only registered and well-known symbols can be passed"),
            };
        }
        refuse(self.ctx, "this cannot be passed")
    }

    #[inline(never)]
    fn thing(&mut self, value: &Value<'js>) -> Result<Kind<'js, C>> {
        if value.is_proxy() {
            return refuse(self.ctx, "a proxy cannot be passed");
        }
        if value.is_promise() {
            self.spend(16)?;
            return Ok(Kind::Made(Passable::promise(self.naming.promise(self.ctx, self.kit, value)?)));
        }
        if value.is_error() {
            return self.error(value).map(Kind::Made);
        }
        let Some(object) = value.as_object() else {
            return refuse(self.ctx, "this cannot be passed");
        };
        let prototype = object.get_prototype();
        if value.is_array() {
            return match self.is(&prototype, &self.kit.array_prototype)? {
                true => Ok(Kind::Array),
                false => refuse(self.ctx, "an array with another prototype cannot be passed"),
            };
        }
        if raw::is_immutable_buffer(value) {
            let bytes = raw::buffer_bytes(self.ctx, value).unwrap_or_default();
            self.spend(bytes.len().saturating_mul(4) / 3)?;
            return Ok(Kind::Made(Passable::bytes(bytes)));
        }
        if !value.is_function() && self.is(&prototype, &self.kit.object_prototype)? {
            return Ok(Kind::Record);
        }
        if self.is(&prototype, &self.kit.tagged_prototype)? {
            let parts: Value<'js> = call(self.ctx, &self.kit.tagged_parts, (value.clone(),))?;
            if let Some(parts) = parts.as_array() {
                return Ok(Kind::Tagged(self.text(&parts.get(0)?)?, parts.get(1)?));
            }
        }
        let (reference, iface) = self.naming.remotable(self.ctx, self.kit, value)?;
        self.spend(16 + iface.as_ref().map_or(0, |iface| iface.as_bytes().len()))?;
        Ok(Kind::Made(match iface {
            Some(iface) => Passable::remotable_alleged(reference, iface),
            None => Passable::remotable(reference),
        }))
    }

    fn is(
        &self,
        prototype: &Option<Object<'js>>,
        expected: &rquickjs::Persistent<Object<'static>>,
    ) -> Result<bool> {
        let expected = expected.clone().restore(self.ctx)?;
        Ok(prototype.as_ref() == Some(&expected))
    }

    fn made(&self, value: std::result::Result<Passable<C>, passable::ValueError>) -> Result<Passable<C>> {
        value.or_else(|error| refuse(self.ctx, &error.to_string()))
    }

    fn error(&mut self, value: &Value<'js>) -> Result<Passable<C>> {
        let parts: rquickjs::Array<'js> = call(self.ctx, &self.kit.error_parts, (value.clone(),))?;
        let (name, message) = (self.text(&parts.get(0)?)?, self.text(&parts.get(1)?)?);
        Ok(Passable::error(name, message))
    }

    fn array(&mut self, value: &Value<'js>, depth: u32) -> Result<Passable<C>> {
        let length = raw::length(self.ctx, value)?;
        // No memory is reserved for the length. So an array with a huge length and a hole at the front is refused
        // cheaply.
        let mut elements = Vec::new();
        for index in 0..length {
            let element = self.element(value, index)?;
            elements.push(self.value(&element, depth + 1)?);
        }
        if raw::count(self.ctx, value)? != length.saturating_add(1) {
            return refuse(self.ctx, "an array with properties of its own cannot be passed");
        }
        self.made(Passable::try_array(elements))
    }

    #[inline(never)]
    fn element(&self, array: &Value<'js>, index: u32) -> Result<Value<'js>> {
        match raw::element(self.ctx, array, index)? {
            Property::Data(element, true) => Ok(element),
            Property::Data(..) | Property::Accessor => {
                refuse(self.ctx, "an array with accessors cannot be passed")
            }
            Property::Missing => refuse(self.ctx, "an array with holes cannot be passed"),
        }
    }

    fn record(&mut self, value: &Value<'js>, depth: u32) -> Result<Passable<C>> {
        let mut fields = Vec::new();
        for (key, property) in raw::properties(self.ctx, value)? {
            let (name, field) = self.field(&key, property)?;
            fields.push((name, self.value(&field, depth + 1)?));
        }
        self.made(Passable::try_record(fields))
    }

    #[inline(never)]
    fn field(&mut self, key: &Value<'js>, property: Property<'js>) -> Result<(Text, Value<'js>)> {
        if !key.is_string() {
            return refuse(self.ctx, "a record with symbols as names cannot be passed");
        }
        let name = self.text(key)?;
        match property {
            Property::Data(field, true) => {
                if field.is_function() && !field.is_proxy() {
                    let far: Result<_> = self.naming.remotable(self.ctx, self.kit, &field);
                    if far.is_err() {
                        self.ctx.catch();
                        let shown = passable::visible_line(&name.to_str_lossy()).into_owned();
                        let message = format!(
                            "Remotables must be explicitly declared: the function `{shown}` makes this no record"
                        );
                        return refuse(self.ctx, &message);
                    }
                }
                Ok((name, field))
            }
            Property::Data(..) => refuse(self.ctx, "a record with hidden properties cannot be passed"),
            Property::Accessor => refuse(self.ctx, "a record with accessors cannot be passed"),
            Property::Missing => refuse(self.ctx, "the record changed while it was read"),
        }
    }
}
