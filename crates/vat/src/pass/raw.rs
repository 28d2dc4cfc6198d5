//! The parts of the engine that its Rust binding does not offer. All of the crate's code for raw values is here.

use std::ffi::CStr;

use passable::Text;
use rquickjs::qjs::{self, JSAtom, JSValue};
use rquickjs::{Ctx, Error, Result, Value};

/// A property of an object, read without running guest code.
pub(crate) enum Property<'js> {
    /// A data property: its value, and whether it is enumerable.
    Data(Value<'js>, bool),
    /// A property with a getter or a setter.
    Accessor,
    /// A missing property.
    Missing,
}

/// Takes ownership of a value that the engine has just made. An exception becomes an error.
fn own<'js>(ctx: &Ctx<'js>, value: JSValue) -> Result<Value<'js>> {
    // SAFETY: the engine has given up this reference, and the value belongs to this context.
    unsafe {
        match qjs::JS_IsException(value) {
            true => Err(Error::Exception),
            false => Ok(Value::from_raw(ctx.clone(), value)),
        }
    }
}

fn property_at<'js>(ctx: &Ctx<'js>, thing: &Value<'js>, atom: JSAtom) -> Result<Property<'js>> {
    let mut found = std::mem::MaybeUninit::<qjs::JSPropertyDescriptor>::zeroed();
    // SAFETY: the descriptor is filled exactly if the result is 1. Its values then belong to this function.
    unsafe {
        match qjs::JS_GetOwnProperty(ctx.as_raw().as_ptr(), found.as_mut_ptr(), thing.as_raw(), atom) {
            0 => Ok(Property::Missing),
            1 => {
                let found = found.assume_init();
                let value = Value::from_raw(ctx.clone(), found.value);
                let getter = Value::from_raw(ctx.clone(), found.getter);
                let setter = Value::from_raw(ctx.clone(), found.setter);
                let is_accessor = found.flags & qjs::JS_PROP_GETSET as i32 != 0
                    || !getter.is_undefined()
                    || !setter.is_undefined();
                Ok(match is_accessor {
                    true => Property::Accessor,
                    false => Property::Data(value, found.flags & qjs::JS_PROP_ENUMERABLE as i32 != 0),
                })
            }
            _ => Err(Error::Exception),
        }
    }
}

/// Returns the element of an array at an index.
pub(crate) fn element<'js>(ctx: &Ctx<'js>, array: &Value<'js>, index: u32) -> Result<Property<'js>> {
    // SAFETY: the atom belongs to this function and is freed once.
    unsafe {
        let atom = qjs::JS_NewAtomUInt32(ctx.as_raw().as_ptr(), index);
        let found = property_at(ctx, array, atom);
        qjs::JS_FreeAtom(ctx.as_raw().as_ptr(), atom);
        found
    }
}

/// Returns the properties of an object, each with its key first. The object must not be a proxy.
pub(crate) fn properties<'js>(
    ctx: &Ctx<'js>,
    thing: &Value<'js>,
) -> Result<Vec<(Value<'js>, Property<'js>)>> {
    let (mut table, mut count) = (std::ptr::null_mut(), 0);
    let which = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_SYMBOL_MASK) as i32;
    // SAFETY: if the call succeeds, the table has `count` entries. It is freed once, after its last use.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        if qjs::JS_GetOwnPropertyNames(raw, &mut table, &mut count, thing.as_raw(), which) != 0 {
            return Err(Error::Exception);
        }
        let entries: &[qjs::JSPropertyEnum] = match table.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(table, count as usize),
        };
        let read = |entry: &qjs::JSPropertyEnum| {
            let key = own(ctx, qjs::JS_AtomToValue(raw, entry.atom))?;
            Ok((key, property_at(ctx, thing, entry.atom)?))
        };
        let found = entries.iter().map(read).collect();
        qjs::JS_FreePropertyEnum(raw, table, count);
        found
    }
}

/// Returns the length of an array, which can be up to 2^32 - 1. The binding's own function would panic at such
/// lengths.
pub(crate) fn length<'js>(ctx: &Ctx<'js>, array: &Value<'js>) -> Result<u32> {
    let mut length = 0;
    // SAFETY: the value is an array, whose length is plain data.
    match unsafe { qjs::JS_GetLength(ctx.as_raw().as_ptr(), array.as_raw(), &mut length) } {
        0 => u32::try_from(length).map_err(|_| Error::Unknown),
        _ => Err(Error::Exception),
    }
}

/// Returns the number of an object's properties. The object must not be a proxy.
pub(crate) fn count<'js>(ctx: &Ctx<'js>, thing: &Value<'js>) -> Result<u32> {
    let (mut table, mut count) = (std::ptr::null_mut(), 0);
    let which = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_SYMBOL_MASK) as i32;
    // SAFETY: as above.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        if qjs::JS_GetOwnPropertyNames(raw, &mut table, &mut count, thing.as_raw(), which) != 0 {
            return Err(Error::Exception);
        }
        qjs::JS_FreePropertyEnum(raw, table, count);
    }
    Ok(count)
}

/// Returns the text of a string, with any lone surrogates.
pub(crate) fn text<'js>(ctx: &Ctx<'js>, string: &Value<'js>) -> Result<Text> {
    let mut length = 0;
    // SAFETY: the engine's buffer has `length` items until it is freed, and it is freed once.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        let bytes = qjs::JS_ToCStringLen(raw, &mut length, string.as_raw());
        if bytes.is_null() {
            return Err(Error::Exception);
        }
        let well_formed = std::str::from_utf8(std::slice::from_raw_parts(bytes.cast(), length));
        let text = well_formed.ok().map(Text::from);
        qjs::JS_FreeCString(raw, bytes);
        if let Some(text) = text {
            return Ok(text);
        }
        let mut length = 0;
        let units = qjs::JS_ToCStringLenUTF16(raw, &mut length, string.as_raw());
        if units.is_null() {
            return Err(Error::Exception);
        }
        let text = Text::from_utf16(std::slice::from_raw_parts(units, length as usize).iter().copied());
        qjs::JS_FreeCStringUTF16(raw, units);
        Ok(text)
    }
}

/// Returns a new string of the engine with this text.
pub(crate) fn string<'js>(ctx: &Ctx<'js>, text: &Text) -> Result<Value<'js>> {
    let raw = ctx.as_raw().as_ptr();
    match text.as_str() {
        // SAFETY: the engine copies the bytes.
        Some(text) => own(ctx, unsafe { qjs::JS_NewStringLen(raw, text.as_ptr().cast(), text.len() as _) }),
        None => {
            let units: Vec<u16> = text.units().collect();
            // SAFETY: the engine copies the units.
            own(ctx, unsafe { qjs::JS_NewStringUTF16(raw, units.as_ptr(), units.len() as _) })
        }
    }
}

/// Freezes an object that the host has made.
pub(crate) fn freeze<'js>(ctx: &Ctx<'js>, thing: &Value<'js>) -> Result<()> {
    // SAFETY: the value belongs to the context.
    match unsafe { qjs::JS_FreezeObject(ctx.as_raw().as_ptr(), thing.as_raw()) } {
        0.. => Ok(()),
        _ => Err(Error::Exception),
    }
}

/// Returns whether a value is an immutable `ArrayBuffer`.
pub(crate) fn is_immutable_buffer(thing: &Value<'_>) -> bool {
    // SAFETY: the calls only read the value's class.
    unsafe { qjs::JS_IsArrayBuffer(thing.as_raw()) && qjs::JS_IsImmutableArrayBuffer(thing.as_raw()) == 1 }
}

/// Returns a copy of the bytes of an `ArrayBuffer`, or `None` for another value.
pub(crate) fn buffer_bytes(ctx: &Ctx<'_>, thing: &Value<'_>) -> Option<Vec<u8>> {
    let mut length = 0;
    // SAFETY: the bytes stay valid as long as no guest code runs, and they are copied at once.
    unsafe {
        if !qjs::JS_IsArrayBuffer(thing.as_raw()) {
            return None;
        }
        let bytes = qjs::JS_GetArrayBuffer(ctx.as_raw().as_ptr(), &mut length, thing.as_raw());
        match bytes.is_null() {
            // The buffer is detached or empty.
            true => {
                ctx.catch();
                Some(Vec::new())
            }
            false => Some(std::slice::from_raw_parts(bytes, length as usize).to_vec()),
        }
    }
}

/// Returns a new immutable `ArrayBuffer` with these bytes.
pub(crate) fn immutable_buffer<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Value<'js>> {
    // SAFETY: the engine copies the bytes. The buffer is new, so no code has seen it in its mutable state.
    unsafe {
        let made = qjs::JS_NewArrayBufferCopy(ctx.as_raw().as_ptr(), bytes.as_ptr(), bytes.len() as _);
        let made = own(ctx, made)?;
        qjs::JS_SetImmutableArrayBuffer(made.as_raw(), true);
        Ok(made)
    }
}

/// Makes the engine count its stack from the caller's frame.
pub(crate) fn stack_begins_here(ctx: &Ctx<'_>) {
    // SAFETY: the call only stores an address.
    unsafe { qjs::JS_UpdateStackTop(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) }
}

/// Compiles a script of the host's own, and returns its bytecode.
pub(crate) fn compile(ctx: &Ctx<'_>, source: &CStr, name: &CStr) -> Result<Vec<u8>> {
    let flags = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_COMPILE_ONLY | qjs::JS_EVAL_FLAG_STRICT;
    // SAFETY: both texts end with a zero byte. The buffer is copied before it is freed.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        let length = source.count_bytes() as _;
        let script = own(ctx, qjs::JS_Eval(raw, source.as_ptr(), length, name.as_ptr(), flags as i32))?;
        let mut length = 0;
        // The source is left out to save memory, because every vat would have a copy of it.
        let flags = qjs::JS_WRITE_OBJ_BYTECODE | qjs::JS_WRITE_OBJ_STRIP_SOURCE;
        let bytes = qjs::JS_WriteObject(raw, &mut length, script.as_raw(), flags as i32);
        if bytes.is_null() {
            return Err(Error::Exception);
        }
        let copy = std::slice::from_raw_parts(bytes, length as usize).to_vec();
        qjs::js_free(raw, bytes.cast());
        Ok(copy)
    }
}

/// Runs bytecode and returns its result.
///
/// # Safety
/// The bytes must come from [`compile`] in this process, because the engine does not check them.
pub(crate) unsafe fn run<'js>(ctx: &Ctx<'js>, bytecode: &[u8]) -> Result<Value<'js>> {
    // SAFETY: the caller guarantees the origin of the bytes. `JS_EvalFunction` takes ownership of the function.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        let flags = qjs::JS_READ_OBJ_BYTECODE as i32;
        let script = qjs::JS_ReadObject(raw, bytecode.as_ptr(), bytecode.len() as _, flags);
        if qjs::JS_IsException(script) {
            return Err(Error::Exception);
        }
        own(ctx, qjs::JS_EvalFunction(raw, script))
    }
}

/// Evaluates a script of the host's own in sloppy mode, and returns its completion value.
pub(crate) fn sloppy<'js>(ctx: &Ctx<'js>, source: &CStr, name: &CStr) -> Result<Value<'js>> {
    // SAFETY: both texts end with a zero byte.
    unsafe {
        let length = source.count_bytes() as _;
        let flags = qjs::JS_EVAL_TYPE_GLOBAL as i32;
        own(ctx, qjs::JS_Eval(ctx.as_raw().as_ptr(), source.as_ptr(), length, name.as_ptr(), flags))
    }
}
