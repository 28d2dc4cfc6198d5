//! The locked realm: the prelude in JavaScript, and the few host functions that it calls.

mod natives;
mod url;

use std::ffi::{CStr, CString};
use std::rc::Rc;
use std::sync::OnceLock;

use rquickjs::{Ctx, Error, Function, Object, Result, Value};

use crate::engine::VatState;
use crate::pass::kit::Kit;
use crate::pass::raw;

/// The source pieces of the prelude. Together they are one function, with one concept in each piece.
const PIECES: &[&str] = &[
    include_str!("take.js"),
    include_str!("harden.js"),
    include_str!("lock.js"),
    include_str!("assert.js"),
    include_str!("pass.js"),
    include_str!("tables.js"),
    include_str!("eventual.js"),
    include_str!("make.js"),
    include_str!("pattern.js"),
    include_str!("console.js"),
    include_str!("text.js"),
    include_str!("url.js"),
    include_str!("globals.js"),
];

/// The name of the prelude in stack traces, which only the host sees.
const NAME: &CStr = c"realm";

/// The version of the realm, for journals. It must be increased when the same guest code could have another result.
pub const REALM_VERSION: u32 = 2;

/// The names of the globals that all guest code has, in alphabetical order.
pub const GLOBALS: &[&str] = &[
    "AggregateError",
    "Array",
    "ArrayBuffer",
    "BigInt",
    "BigInt64Array",
    "BigUint64Array",
    "Boolean",
    "DataView",
    "E",
    "Error",
    "EvalError",
    "Far",
    "Float32Array",
    "Float64Array",
    "Function",
    "Infinity",
    "Int16Array",
    "Int32Array",
    "Int8Array",
    "Iterator",
    "JSON",
    "M",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "RangeError",
    "ReferenceError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TextDecoder",
    "TextEncoder",
    "TypeError",
    "URIError",
    "URL",
    "URLSearchParams",
    "Uint16Array",
    "Uint32Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "WeakMap",
    "WeakSet",
    "assert",
    "console",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "eval",
    "globalThis",
    "harden",
    "isFinite",
    "isNaN",
    "makeExo",
    "parseFloat",
    "parseInt",
    "undefined",
    "unescape",
];

/// Returns the engine's version, for the journal.
pub fn engine_version() -> &'static str {
    // SAFETY: the engine returns a constant text that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(rquickjs::qjs::JS_GetVersion()) };
    text.to_str().unwrap_or("unknown")
}

fn bytecode(ctx: &Ctx<'_>) -> Result<&'static [u8]> {
    static COMPILED: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(compiled) = COMPILED.get() {
        return Ok(compiled);
    }
    let source = CString::new(PIECES.concat())?;
    let compiled = raw::compile(ctx, &source, NAME)?;
    Ok(COMPILED.get_or_init(|| compiled))
}

/// Locks the realm of a context. Returns the functions that the host calls from then on.
pub(crate) fn lock(ctx: &Ctx<'_>, shared: &Rc<VatState>) -> Result<Kit> {
    // SAFETY: `bytecode` has compiled the bytes in this process.
    let start: Function<'_> = unsafe { raw::run(ctx, bytecode(ctx)?)? }.get()?;
    let host = natives::host(ctx, shared)?;
    let given: Object<'_> = start.call((host,))?;
    Kit::take(ctx, &given)
}

/// Returns the scope in which a source is evaluated. It has the endowments as constants, and the name `eval`. Just
/// before the source is parsed, the prelude replaces the real `eval` with one that refuses.
pub(crate) fn scope<'js>(ctx: &Ctx<'js>, names: &[String]) -> Result<Value<'js>> {
    let mut text = String::from("(eval => {\n");
    for (index, name) in names.iter().enumerate() {
        text.push_str(&format!("const {name} = eval.values[{index}];\n"));
    }
    text.push_str("eval.swap = other => { eval = other; };\n");
    text.push_str("return (() => { 'use strict'; return eval(eval.take()); })();\n})");
    let text = CString::new(text).map_err(Error::from)?;
    raw::sloppy(ctx, &text, c"scope")
}
