//! Failures that a server reports within a successful answer.

use serde_json::Value;

use super::fields;
use crate::error::ModelError;
use crate::served::asked_wait::asked_in_body;
use crate::served::complaint::of_value;
use crate::served::http::status_error;

/// The status that a failure without any number is treated like.
const UNKNOWN: u16 = 500;

/// Returns the failure that a message reports, if it reports one. `root` is the field of the format that holds an
/// answer: a message without it that has only words is a failure, too.
pub(super) fn reported(message: &Value, root: &str) -> Option<ModelError> {
    if let Some(error) = message.get("error").filter(|error| is_reported(error)) {
        return Some(in_band(error));
    }
    let is_failed = |base: &&Value| fields::count(base, "status_code").is_none_or(|code| code != 0);
    if let Some(base) = fields::given(message, "base_resp").filter(is_failed) {
        return Some(in_band(base));
    }
    if fields::word(message, "object").as_deref() == Some("error") {
        return Some(in_band(message));
    }
    let words = ["message", "detail", "msg", "error_msg", "errorMessage", "errors"];
    let is_bare =
        fields::given(message, root).is_none() && words.iter().any(|name| is_words(message.get(*name)));
    is_bare.then(|| in_band(message))
}

/// Returns the error for a failure that a server reports within a successful answer.
pub(super) fn in_band(error: &Value) -> ModelError {
    let words = of_value(error).unwrap_or_else(|| error.to_string());
    let number = ["code", "status", "status_code", "http_status"]
        .iter()
        .find_map(|name| fields::count(error, name))
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code));
    let named = ["type", "code", "status"]
        .iter()
        .filter_map(|name| fields::word(error, name))
        .find_map(|name| status_of(&name.to_ascii_lowercase()));
    let status = number.or(named).unwrap_or(UNKNOWN);
    // The body is passed on as JSON, so that the message is found as in any other error.
    let body = Value::String(words).to_string();
    let wait = asked_in_body(&error.to_string());
    match status_error(status, &body, wait, "", "") {
        ModelError::ServerError { server, message, .. } if number.is_none() && named.is_none() => {
            ModelError::ServerError { server, status: 200, message }
        }
        error => error,
    }
}

/// Returns the status that belongs to the name of a failure.
fn status_of(name: &str) -> Option<u16> {
    Some(match name {
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "rate_limit"
        | "resource_exhausted"
        | "too_many_requests" => 429,
        "overloaded_error" | "overloaded" | "server_overloaded" => 529,
        "unavailable" | "service_unavailable" | "engine_overloaded" => 503,
        "deadline_exceeded" | "timeout" | "timeout_error" | "gateway_timeout" => 504,
        "authentication_error" | "unauthenticated" | "invalid_api_key" | "unauthorized" => 401,
        "permission_error" | "permission_denied" => 403,
        "not_found_error" | "not_found" | "model_not_found" => 404,
        "invalid_request_error"
        | "invalid_prompt"
        | "invalid_argument"
        | "badrequesterror"
        | "bad_request" => 400,
        "context_length_exceeded" => 413,
        "insufficient_quota" | "billing_error" => 402,
        _ => return None,
    })
}

fn is_reported(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

fn is_words(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    }
}
