//! Troubles: the reasons why a run cannot continue, each with a way to fix the problem.

use kernel::proposal::Finding;
use kernel::run::{Limits, Trouble};
use model::ModelError;
use passable::{Untrusted, shell_word, visible_line};

use crate::cut;
use crate::definition::RenderError;

/// Returns a trouble. The `code` is stable, and the `message` may quote foreign text.
pub(crate) fn trouble(code: &str, message: impl Into<String>, help: impl Into<String>) -> Trouble {
    Trouble { code: code.to_owned(), message: Untrusted::new(message), help: help.into() }
}

/// Returns the trouble for a prompt that cannot be made. A value that the user can give is no fault of the worker file.
pub(crate) fn of_prompt(error: &RenderError, file: &str) -> Trouble {
    let missing = match error {
        RenderError::Missing { name: Some(name), .. } => name.strip_prefix("input."),
        _ => None,
    };
    let is_word = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let help = match missing.filter(is_word) {
        Some(name) => format!("give it: `almoner run {} {name}=…`", visible_line(&shell_word(file))),
        None => "mend the worker file and run it again".to_owned(),
    };
    trouble("definition/prompt", error.to_string(), help)
}

/// Returns the trouble of a run whose model did not come to a usable answer. It repeats the last finding, and names one
/// thing to change.
pub(crate) fn gave_up(finding: Option<&Finding>, limits: Limits, repairs: usize) -> Trouble {
    let message = format!("the model could not be brought to a usable answer in {repairs} repairs");
    match finding {
        Some(finding) => trouble(
            "output/repairs",
            format!("{message}: {}", finding.message),
            visible_line(&way_out(finding, limits)).into_owned(),
        ),
        None => trouble("output/repairs", message, "see `almoner trace` for what it tried"),
    }
}

/// Returns the one change that helps most against findings of a rule.
fn way_out(finding: &Finding, limits: Limits) -> String {
    let allowed = finding.allowed.as_deref();
    let (gate, _) = finding.rule.split_once('/').unwrap_or((&finding.rule, ""));
    match (finding.rule.as_str(), gate) {
        (cut::ANSWER_RULE | cut::CALL_RULE, _) => match limits.answer {
            Some(most) => format!("raise `answer: {most}` under `limits:` in the worker file"),
            None => "ask for less in one reply in the worker file: the model's replies end there".to_owned(),
        },
        ("output/empty", _) => "use another model (`-m`): this one answers with nothing".to_owned(),
        ("output/call-as-text", _) => {
            "use a model that can make calls (`-m`): this one writes them as text".to_owned()
        }
        ("output/pattern", _) => "change `output:` in the worker file to what the model can give".to_owned(),
        (_, "output") => "use another model (`-m`): this one does not keep to `output:`".to_owned(),
        ("tool/unknown", _) => match allowed.filter(|names| !names.is_empty()) {
            Some(names) => format!("say in the worker file which tools there are: {names}"),
            None => "say in the worker file that there are no tools, or give it slots".to_owned(),
        },
        (_, "tool" | "shape") => {
            "use a larger model (`-m`): this one cannot write the arguments of its calls".to_owned()
        }
        ("programs/not-endowed", _) => "endow the program that it wants: `-e SLOT=program:NAME`".to_owned(),
        (_, "operator") => "`almoner policy` shows the rule that forbids it".to_owned(),
        (_, "rate") => "raise `rate=` of the slot".to_owned(),
        _ => match allowed {
            Some(allowed) => format!("say in the worker file what is allowed: {allowed}"),
            None => "see `almoner trace` for what it tried".to_owned(),
        },
    }
}

/// Returns whether the same request can never succeed, so that the run ends. After other errors, the run waits until
/// a person has fixed the problem.
pub(crate) fn is_final(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::ContextTooLong { .. }
            | ModelError::SchemaRefused { .. }
            | ModelError::TooLarge { .. }
            | ModelError::Filtered { .. }
            | ModelError::Declined { .. }
            | ModelError::NoTools { .. }
            | ModelError::Refused { .. }
    )
}

/// Returns the trouble for a run whose model failed with this error.
pub(crate) fn of_model(error: &ModelError) -> Trouble {
    let code = if error.is_transient() { "model/busy" } else { "model/failed" };
    trouble(code, error.to_string(), format!("{}; then `almoner resume`", error.help()))
}

/// Returns the trouble for a fault of the store's content or of this program, never of the user.
pub(crate) fn internal(message: impl Into<String>) -> Trouble {
    trouble("internal/broken", message, "this is a bug; `almoner trace` shows how far the run came")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_input_is_asked_for_by_name() {
        let mend = "mend the worker file and run it again";
        for (name, file, help) in [
            (Some("input.name"), "greeter.worker", "give it: `almoner run greeter.worker name=…`"),
            (Some("input.name"), "my greeter.worker", "give it: `almoner run 'my greeter.worker' name=…`"),
            (Some("input.who.name"), "greeter.worker", mend),
            (Some("item.stem"), "greeter.worker", mend),
            (None, "greeter.worker", mend),
        ] {
            let place = file.to_owned();
            let error = RenderError::Missing { place, line: 1, name: name.map(str::to_owned) };
            assert_eq!(of_prompt(&error, file).help, help, "{name:?}");
        }
    }

    #[test]
    fn last_error_repeats_the_finding_and_names_one_change() {
        let limited = Limits { answer: Some(500), ..Limits::default() };
        for (rule, limits, help) in [
            ("output/length", Limits::default(), "ask for less in one reply"),
            ("tool/cut", limited, "raise `answer: 500` under `limits:`"),
            ("output/empty", Limits::default(), "use another model (`-m`)"),
            ("output/call-as-text", Limits::default(), "use a model that can make calls (`-m`)"),
            ("output/pattern", Limits::default(), "change `output:`"),
            ("output/json", Limits::default(), "does not keep to `output:`"),
            ("tool/unknown", Limits::default(), "which tools there are: a, b"),
            ("tool/json", Limits::default(), "use a larger model (`-m`)"),
            ("path/parent", Limits::default(), "say in the worker file what is allowed: a, b"),
        ] {
            let found = Finding::new(rule, "this was wrong").allowed("a, b");
            let trouble = gave_up(Some(&found), limits, 3);
            assert!(trouble.message.raw().ends_with("in 3 repairs: this was wrong"), "{rule}");
            assert!(trouble.help.contains(help), "{rule}: {}", trouble.help);
        }
        assert!(gave_up(None, Limits::default(), 3).help.contains("almoner trace"));
    }
}
