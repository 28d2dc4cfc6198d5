//! The check of a model's final answer against the worker's output pattern.

use kernel::proposal::Finding;
use kernel::{Pattern, Value};
use model::{Reply, Stop};
use passable::{ExactJsonError, quoting};

use crate::{call_text, cut};

/// Returns the value of the answer, or the reasons why the answer cannot be used. `tools` are the names of the tools
/// that the model was offered.
pub(crate) fn check(
    reply: &Reply,
    output: Option<&Pattern>,
    tools: &[String],
) -> Result<Value, Vec<Finding>> {
    match value(reply, output, tools) {
        // JSON that fits the worker's pattern is the answer, even if it looks like a call.
        Ok(value) if output.is_some() => Ok(value),
        outcome => match (call_text::finding(&reply.text, tools), outcome) {
            (Some(call), Err(mut findings)) if reply.stop == Stop::Length => {
                findings.push(call);
                Err(findings)
            }
            (Some(call), _) => Err(vec![call]),
            (None, outcome) => outcome,
        },
    }
}

fn value(reply: &Reply, output: Option<&Pattern>, tools: &[String]) -> Result<Value, Vec<Finding>> {
    if reply.stop == Stop::Length {
        return Err(vec![cut::answer_finding(reply, tools)]);
    }
    if reply.text.trim().is_empty() && reply.thinking_bytes > 0 {
        let finding =
            Finding::new("output/empty", "the answer is empty: there is thinking, and nothing after it");
        return Err(vec![finding.allowed("the answer, without the thinking")]);
    }
    let Some(pattern) = output else {
        return if reply.text.trim().is_empty() {
            Err(vec![Finding::new("output/empty", "the answer is empty").allowed("text")])
        } else {
            Ok(Value::string(reply.text.trim()))
        };
    };
    let allowed = || pattern.describe();
    let json = reply.json().map_err(|error| {
        let finding = match error {
            ExactJsonError::LostDigits { .. } | ExactJsonError::DuplicateName(_) => {
                Finding::new("output/json", quoting!("the answer cannot be kept: {}", error))
            }
            _ => Finding::new("output/json", "the answer is not JSON, or has text around it"),
        };
        vec![finding.allowed(allowed())]
    })?;
    let value = Value::from_json(&passable::without_escapes(&json)).map_err(|e| {
        vec![Finding::new("output/value", quoting!("the answer cannot be a value: {}", e)).allowed(allowed())]
    })?;
    match pattern.check(&value) {
        Ok(()) => Ok(value),
        Err(mismatch) => Err(vec![Finding::new("output/pattern", mismatch.teach()).allowed(allowed())]),
    }
}
