//! The outcomes of code, in the form that the store keeps.

use kernel::run::{RunOutcome, Trouble};
use passable::{Untrusted, Value, with_article};
use vat::{FaultKind, Place, Slot};

/// Returns the outcome of code that failed.
pub fn failed(code: &str, message: impl Into<String>, help: &str) -> RunOutcome {
    RunOutcome::Failed(Trouble {
        code: code.to_owned(),
        message: Untrusted::new(message),
        help: help.to_owned(),
    })
}

/// Returns the outcome of code that passed a limit.
pub fn fault(kind: FaultKind, line: &str) -> RunOutcome {
    let name = format!("{kind:?}").to_lowercase();
    failed(&format!("vat/{name}"), line, "it ends where its limits are")
}

/// Returns the outcome of code that threw a value.
pub fn exception(value: &Value<Slot>, place: Option<&Place>) -> RunOutcome {
    let thrown = match value {
        Value::Error(error) => {
            format!("{}: {}", error.name.to_str_lossy(), error.message.to_str_lossy())
        }
        other => match other.as_str() {
            Some(text) => text.to_owned(),
            None => format!("it threw {}", with_article(other.kind())),
        },
    };
    let at = place.map(|place| match place.excerpt.is_empty() {
        true => format!(" ({})", place.label()),
        false => format!(" ({}: {})", place.label(), place.excerpt),
    });
    failed("vat/threw", format!("{thrown}{}", at.unwrap_or_default()), "mend the code")
}

/// Returns the outcome of code that was run again and did something else than the first time.
pub fn divergence(what: &str) -> RunOutcome {
    failed(
        "vat/diverged",
        format!("it was begun again after an interruption, and did not do the same: {what}"),
        "what it has done is done; look at it, then run what is left",
    )
}

/// Returns whether a failure with this code has also ended the heap.
pub fn is_fault(code: &str) -> bool {
    !matches!(
        code,
        "vat/threw"
            | "vat/refused"
            | "vat/waits"
            | "vat/diverged"
            | "vat/engine"
            | "vat/endowments"
            | "vat/not-durable"
            | "vat/references"
            | "vat/journal"
            | "vat/sends"
            | "vat/large"
            | "vat/modules"
            | "vat/cancelled"
    )
}
