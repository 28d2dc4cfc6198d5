//! The answer that a message already has when a user answers it again.

use kernel::command::Reply;
use kernel::message::{Answer, Body};
use kernel::run::State;
use kernel::{MessageNumber, time};
use passable::visible_line;

use super::Session;
use super::questions;
use super::replies;
use crate::ui::output;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::Response;
use control::view::MessageView;

/// The answer that a user gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// Yes.
    Approve,
    /// A value. An earlier value may have been another one.
    Value,
    /// No.
    Deny,
    /// It had happened.
    Happened,
    /// It had not happened.
    Repeat,
}

impl AnswerKind {
    fn is_same(self, answer: &Answer) -> bool {
        match answer {
            Answer::Approved { .. } => self == AnswerKind::Approve,
            Answer::Denied { .. } => self == AnswerKind::Deny,
            Answer::Happened { .. } => self == AnswerKind::Happened,
            Answer::Repeat { .. } => self == AnswerKind::Repeat,
            Answer::Withdrawn { .. } => false,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            AnswerKind::Approve => "approve",
            AnswerKind::Value => "resolve",
            AnswerKind::Deny => "deny",
            AnswerKind::Happened | AnswerKind::Repeat => "answer",
        }
    }
}

/// Prints the response to an answer. If the message had its answer before, the text says which one. The same answer
/// again is harmless.
///
/// # Errors
/// When the earlier answer is another one, so that this one has changed nothing.
pub fn print_answer(
    acting: &Session<'_>,
    number: MessageNumber,
    kind: AnswerKind,
    entries: Option<&[usize]>,
    response: &Response,
    json: bool,
) -> ExitResult {
    let is_earlier =
        matches!(response, Response::Reply(Reply::AlreadyAnswered { .. } | Reply::AlreadySettled));
    if json {
        output::json(response)?;
    }
    if !is_earlier {
        if !json {
            output::result(&replies::describe(response))?;
        }
        return Ok(Exit::Ok);
    }
    let earlier = earlier_answer(acting, number, kind, entries);
    match earlier {
        Ok(_) if json => Ok(Exit::Ok),
        Ok(text) => {
            output::result(&text)?;
            Ok(Exit::Ok)
        }
        Err(failure) if json && failure.exit == Exit::Conflict => Err(Failure::silent(Exit::Conflict)),
        Err(failure) => Err(failure),
    }
}

/// Returns the words about the answer that a message already has, if it is the same.
///
/// # Errors
/// When the message has another answer, or none is possible any more. When the daemon cannot be reached.
pub fn earlier_answer(
    acting: &Session<'_>,
    number: MessageNumber,
    kind: AnswerKind,
    entries: Option<&[usize]>,
) -> Result<String, Failure> {
    let view = acting.message(number)?;
    let run = view.letter.body().and_then(Body::run);
    let answers = standing_answers(&view, entries);
    let of_run = run.map_or_else(String::new, |run| format!(" ({run})"));
    let cannot = |what: String| {
        let failure =
            Failure::new(Exit::Conflict, format!("cannot {} message {number}: {what}", kind.verb()));
        match run {
            Some(run) => {
                failure.help(format!("{} shows what came of it", acting.command(&format!("trace {run}"))))
            }
            None => failure.help(format!("{} shows it", acting.command(&format!("inbox {number}")))),
        }
    };
    let is_withdrawn = |answers: &Vec<(usize, Answer)>| {
        run.is_some() && answers.iter().all(|(_, answer)| matches!(answer, Answer::Withdrawn { .. }))
    };
    let Some(answers) = answers.filter(|answers| !is_withdrawn(answers)) else {
        // The run that asked has ended, so nothing was left to answer.
        let Some(run) = run else { return Err(cannot("it asks for nothing any more".to_owned())) };
        let found = questions::run(acting, run)?;
        let what = match (&found.cancelled, &found.state) {
            (Some(_), _) => format!("{run} was cancelled"),
            (None, State::Finished { .. }) => format!("{run} is over"),
            (None, _) => format!("{run} does not ask any more"),
        };
        return match kind {
            // Nothing of it is done, which is what a denial wants.
            AnswerKind::Deny => Ok(format!("{what}: nothing of message {number} is done")),
            _ => Err(cannot(what)),
        };
    };
    let told = describe(&answers);
    match answers.iter().all(|(_, answer)| kind.is_same(answer)) {
        true => Ok(format!("message {number} {told}{of_run}; nothing changed")),
        false => Err(cannot(format!("it {told}{of_run}"))),
    }
}

/// Returns the answers of the entries that are meant, or `None` if one of them has none.
fn standing_answers(view: &MessageView, entries: Option<&[usize]>) -> Option<Vec<(usize, Answer)>> {
    let count = match view.letter.body() {
        Some(Body::Approval { entries, .. }) => entries.len(),
        _ => 1,
    };
    let all: Vec<usize> = entries.map_or_else(|| (0..count).collect(), <[usize]>::to_vec);
    let answers = &view.letter.mail.answers;
    all.into_iter().map(|at| Some((at, answers.get(&at)?.clone()))).collect()
}

/// Describes the answers of a message, such as `was approved at 2026-10-06 09:30:00 UTC`.
fn describe(answers: &[(usize, Answer)]) -> String {
    let is_one = answers.windows(2).all(|pair| match pair {
        [(_, left), (_, right)] => word(left) == word(right),
        _ => true,
    });
    match answers {
        [(_, first), ..] if is_one => format!("{} at {}", word(first), time::shown(at_ms(first))),
        _ => {
            let each: Vec<String> =
                answers.iter().map(|(at, answer)| format!("entry {} {}", at + 1, word(answer))).collect();
            format!("was answered: {}", each.join(", "))
        }
    }
}

fn word(answer: &Answer) -> String {
    match answer {
        Answer::Approved { .. } => "was approved".to_owned(),
        Answer::Denied { reason, .. } if reason.raw().trim().is_empty() => "was denied".to_owned(),
        Answer::Denied { reason, .. } => format!("was denied (“{}”)", visible_line(reason.raw())),
        Answer::Happened { .. } => "was answered with `yes`".to_owned(),
        Answer::Repeat { .. } => "was answered with `no`".to_owned(),
        Answer::Withdrawn { .. } => "was withdrawn by its sender".to_owned(),
    }
}

fn at_ms(answer: &Answer) -> i64 {
    match answer {
        Answer::Approved { at_ms, .. }
        | Answer::Denied { at_ms, .. }
        | Answer::Happened { at_ms }
        | Answer::Repeat { at_ms }
        | Answer::Withdrawn { at_ms, .. } => *at_ms,
    }
}

#[cfg(test)]
mod tests {
    use passable::Untrusted;

    use super::*;

    #[test]
    fn answers_are_described_in_one_sentence() {
        let approved = Answer::Approved { for_run: false, at_ms: 0 };
        let denied = |reason: &str| Answer::Denied { reason: Untrusted::new(reason), at_ms: 0 };
        for (answers, expected) in [
            (vec![approved.clone()], "was approved at 1970-01-01 00:00:00 UTC"),
            (vec![approved.clone(), approved.clone()], "was approved at 1970-01-01 00:00:00 UTC"),
            (vec![denied("")], "was denied at 1970-01-01 00:00:00 UTC"),
            (vec![denied("too\nlong")], "was denied (“too\\u{A}long”) at 1970-01-01 00:00:00 UTC"),
            (vec![approved.clone(), denied("")], "was answered: entry 1 was approved, entry 2 was denied"),
            (vec![Answer::Repeat { at_ms: 0 }], "was answered with `no` at 1970-01-01 00:00:00 UTC"),
        ] {
            let numbered: Vec<(usize, Answer)> = answers.into_iter().enumerate().collect();
            assert_eq!(describe(&numbered), expected);
        }
    }

    #[test]
    fn only_the_same_answer_is_harmless() {
        let all = [
            (AnswerKind::Approve, Answer::Approved { for_run: true, at_ms: 0 }),
            (AnswerKind::Deny, Answer::Denied { reason: Untrusted::new("x"), at_ms: 0 }),
            (AnswerKind::Happened, Answer::Happened { at_ms: 0 }),
            (AnswerKind::Repeat, Answer::Repeat { at_ms: 0 }),
        ];
        for (i, (kind, _)) in all.iter().enumerate() {
            for (j, (_, answer)) in all.iter().enumerate() {
                assert_eq!(kind.is_same(answer), i == j);
            }
            assert!(!kind.is_same(&Answer::Withdrawn { reason: Untrusted::new(""), at_ms: 0 }));
        }
    }
}
