//! The outcome of a command, as text.

use kernel::came::{Came, CameTo};
use passable::{Quoting, Untrusted};

use super::{letter, value};

/// Returns the outcome of a command, in a line.
pub fn told(came: &Came) -> Quoting {
    let because = |what: &'static str, why: &Untrusted| {
        let (head, more) = letter::short(why);
        match head.is_empty() {
            true => Quoting::ours(what),
            false => Quoting::ours(what).and(": ").quote(head).and(letter::more_bytes(more)),
        }
    };
    match came {
        Came::Going => "still going".into(),
        Came::Asked { number: Some(number) } => {
            Quoting::ours(format!("waits for an answer to message {number}"))
        }
        Came::Asked { number: None } => "waits for an answer".into(),
        Came::Done { to: None } => "done".into(),
        Came::Done { to: Some(CameTo::Value { value }) } => {
            because("done", &Untrusted::new(value::argument(value)))
        }
        Came::Done { to: Some(CameTo::Thing { words }) } => Quoting::ours(format!("done: {words}")),
        Came::Done { to: Some(CameTo::Message { number }) } => {
            Quoting::ours(format!("done: message {number}"))
        }
        Came::Done { to: Some(CameTo::Grant { number }) } => Quoting::ours(format!("done: grant {number}")),
        Came::Done { to: Some(CameTo::Dismissed { count: 1 }) } => "done: 1 message".into(),
        Came::Done { to: Some(CameTo::Dismissed { count }) } => {
            Quoting::ours(format!("done: {count} messages"))
        }
        Came::Unchanged => "nothing was left to do".into(),
        Came::Refused { why } => because("refused", why),
        Came::Failed { why } => because("failed", why),
    }
}

#[cfg(test)]
mod tests {
    use kernel::{GrantNumber, MessageNumber, Value};

    use super::*;

    #[test]
    fn command_outcome_marks_foreign_text_as_quoted() {
        let done = |to| Came::Done { to: Some(to) };
        let why = |text: &str| Untrusted::new(text);
        for (came, expected, theirs) in [
            (Came::Going, "still going", ""),
            (Came::Asked { number: Some(MessageNumber(7)) }, "waits for an answer to message 7", ""),
            (Came::Done { to: None }, "done", ""),
            (done(CameTo::Value { value: Value::number(2.0) }), "done: 2", "2"),
            (done(CameTo::Value { value: Value::string("a\nb") }), "done: a ⏎ b", "a ⏎ b"),
            (done(CameTo::Value { value: Value::string("") }), "done", ""),
            (done(CameTo::Thing { words: "a list of 9 bytes".to_owned() }), "done: a list of 9 bytes", ""),
            (done(CameTo::Message { number: MessageNumber(7) }), "done: message 7", ""),
            (done(CameTo::Grant { number: GrantNumber(3) }), "done: grant g3", ""),
            (done(CameTo::Dismissed { count: 2 }), "done: 2 messages", ""),
            (Came::Unchanged, "nothing was left to do", ""),
            (Came::Refused { why: why("no: done") }, "refused: no: done", "no: done"),
            (Came::Failed { why: why("\u{1b}x") }, "failed: \\u{1B}x", "\\u{1B}x"),
        ] {
            let told = told(&came);
            let quoted: String =
                told.parts().into_iter().filter(|part| part.is_quoted).map(|part| part.text).collect();
            assert_eq!((told.text(), quoted.as_str()), (expected, theirs), "{came:?}");
        }
        let long = told(&Came::Failed { why: why(&"x".repeat(300)) });
        assert!(long.text().ends_with(" … + 100 more bytes"), "{}", long.text());
    }
}
