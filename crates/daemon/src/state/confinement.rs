//! Whether this machine can confine programs. Sentences about confinement depend on it.

use std::sync::OnceLock;

use sandbox::Helper;

/// Returns the reason why this machine cannot confine a program, or `None` if it can. A program that does nothing is
/// started, confined, until one has run.
pub fn fault() -> Option<String> {
    static PROVEN: OnceLock<()> = OnceLock::new();
    if PROVEN.get().is_some() {
        return None;
    }
    match sandbox::check(&Helper::own()) {
        Ok(()) => {
            let _ = PROVEN.set(());
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the note for people who are about to hand over a program, if this machine cannot confine one.
pub fn note() -> Option<String> {
    let fault = fault()?;
    Some(format!(
        "this machine cannot confine programs, so every call of one is refused ({fault}): `almoner doctor sandbox`"
    ))
}
