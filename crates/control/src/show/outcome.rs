//! The outcome of a command, as text.

use kernel::outcome::{CommandOutcome, OutcomeValue};
use passable::{Quoting, Untrusted};

use super::{message_view, value};

/// Returns the outcome of a command in one line.
pub fn render_outcome(came: &CommandOutcome) -> Quoting {
    let because = |what: &'static str, why: &Untrusted| {
        let (head, more) = message_view::short(why);
        match head.is_empty() {
            true => Quoting::ours(what),
            false => Quoting::ours(what).and(": ").quote(head).and(message_view::more_bytes(more)),
        }
    };
    match came {
        CommandOutcome::Running => "still going".into(),
        CommandOutcome::WaitingForAnswer { number: Some(number) } => {
            Quoting::ours(format!("waits for an answer to message {number}"))
        }
        CommandOutcome::WaitingForAnswer { number: None } => "waits for an answer".into(),
        CommandOutcome::Done { to: None } => "done".into(),
        CommandOutcome::Done { to: Some(OutcomeValue::Value { value }) } => {
            because("done", &Untrusted::new(value::argument(value)))
        }
        CommandOutcome::Done { to: Some(OutcomeValue::Description { words }) } => {
            Quoting::ours(format!("done: {words}"))
        }
        CommandOutcome::Done { to: Some(OutcomeValue::Message { number }) } => {
            Quoting::ours(format!("done: message {number}"))
        }
        CommandOutcome::Done { to: Some(OutcomeValue::Grant { number }) } => {
            Quoting::ours(format!("done: grant {number}"))
        }
        CommandOutcome::Done { to: Some(OutcomeValue::Dismissed { count: 1 }) } => "done: 1 message".into(),
        CommandOutcome::Done { to: Some(OutcomeValue::Dismissed { count }) } => {
            Quoting::ours(format!("done: {count} messages"))
        }
        CommandOutcome::NoChange => "nothing was left to do".into(),
        CommandOutcome::Refused { why } => because("refused", why),
        CommandOutcome::Failed { why } => because("failed", why),
    }
}

#[cfg(test)]
mod tests {
    use kernel::{GrantNumber, MessageNumber, Value};

    use super::*;

    #[test]
    fn command_outcome_marks_foreign_text_as_quoted() {
        let done = |to| CommandOutcome::Done { to: Some(to) };
        let why = |text: &str| Untrusted::new(text);
        for (came, expected, theirs) in [
            (CommandOutcome::Running, "still going", ""),
            (
                CommandOutcome::WaitingForAnswer { number: Some(MessageNumber(7)) },
                "waits for an answer to message 7",
                "",
            ),
            (CommandOutcome::Done { to: None }, "done", ""),
            (done(OutcomeValue::Value { value: Value::number(2.0) }), "done: 2", "2"),
            (done(OutcomeValue::Value { value: Value::string("a\nb") }), "done: a ⏎ b", "a ⏎ b"),
            (done(OutcomeValue::Value { value: Value::string("") }), "done", ""),
            (
                done(OutcomeValue::Description { words: "a list of 9 bytes".to_owned() }),
                "done: a list of 9 bytes",
                "",
            ),
            (done(OutcomeValue::Message { number: MessageNumber(7) }), "done: message 7", ""),
            (done(OutcomeValue::Grant { number: GrantNumber(3) }), "done: grant g3", ""),
            (done(OutcomeValue::Dismissed { count: 2 }), "done: 2 messages", ""),
            (CommandOutcome::NoChange, "nothing was left to do", ""),
            (CommandOutcome::Refused { why: why("no: done") }, "refused: no: done", "no: done"),
            (CommandOutcome::Failed { why: why("\u{1b}x") }, "failed: \\u{1B}x", "\\u{1B}x"),
        ] {
            let told = render_outcome(&came);
            let quoted: String =
                told.parts().into_iter().filter(|part| part.is_quoted).map(|part| part.text).collect();
            assert_eq!((told.text(), quoted.as_str()), (expected, theirs), "{came:?}");
        }
        let long = render_outcome(&CommandOutcome::Failed { why: why(&"x".repeat(300)) });
        assert!(long.text().ends_with(" … + 100 more bytes"), "{}", long.text());
    }
}
