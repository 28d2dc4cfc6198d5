//! The check of a model's final answer against the worker's output pattern.

use kernel::proposal::Finding;
use kernel::{Pattern, Value};
use model::{Reply, Stop};
use passable::quoting;

/// Returns the value of the answer, or the reasons why the answer cannot be used.
pub(crate) fn check(reply: &Reply, output: Option<&Pattern>) -> Result<Value, Vec<Finding>> {
    if reply.stop == Stop::Length {
        let finding = Finding::new("output/length", "the answer was cut off because it was too long");
        return Err(vec![finding.allowed("a shorter answer")]);
    }
    let Some(pattern) = output else {
        return if reply.text.trim().is_empty() {
            Err(vec![Finding::new("output/empty", "the answer is empty").allowed("text")])
        } else {
            Ok(Value::string(reply.text.trim()))
        };
    };
    let allowed = || pattern.describe();
    let Some(json) = reply.json() else {
        let finding = Finding::new("output/json", "the answer is not JSON, or has text around it");
        return Err(vec![finding.allowed(allowed())]);
    };
    let value = Value::from_json(&json).map_err(|e| {
        vec![Finding::new("output/value", quoting!("the answer cannot be a value: {}", e)).allowed(allowed())]
    })?;
    match pattern.check(&value) {
        Ok(()) => Ok(value),
        Err(mismatch) => Err(vec![Finding::new("output/pattern", mismatch.to_string()).allowed(allowed())]),
    }
}
