//! Replies of the daemon, as sentences for a person.

use control::protocol::Response;
use kernel::command::Reply;

/// Describes a reply in one sentence.
pub fn describe(response: &Response) -> String {
    match response {
        Response::Reply(Reply::Sent { number }) => format!("sent: message {number}"),
        Response::Reply(Reply::RequestSent { number: Some(number), .. }) => {
            format!("asked: message {number}")
        }
        Response::Reply(Reply::RequestSent { number: None, .. }) => {
            "that had been asked before; this is the same promise".to_owned()
        }
        Response::Reply(Reply::Granted { number }) => format!("granted: {number}"),
        Response::Reply(Reply::AlreadySettled) => {
            "somebody had answered that before; nothing changed".to_owned()
        }
        Response::Reply(Reply::Dismissed { count: 1 }) => "dismissed 1 message".to_owned(),
        Response::Reply(Reply::Dismissed { count }) => format!("dismissed {count} messages"),
        Response::Reply(Reply::CodeQueued { .. }) => {
            "endowed: the code runs; with --result NAME you see what comes of it".to_owned()
        }
        Response::Reply(Reply::Answered { run, entries, needs_you }) => {
            let count = match entries.len() {
                1 => "1 entry".to_owned(),
                n => format!("{n} entries"),
            };
            let rest = if *needs_you { "; the others still wait" } else { "" };
            format!("answered {count}; {run} goes on{rest}")
        }
        Response::Reply(Reply::AnsweredAll { messages, already }) => {
            let count = match messages.len() {
                0 => "nothing changed".to_owned(),
                1 => "answered 1 message; its run goes on".to_owned(),
                n => format!("answered {n} messages; their runs go on"),
            };
            let before = match already.len() {
                0 => String::new(),
                n => format!("; {n} had been answered before"),
            };
            count + &before
        }
        Response::Reply(Reply::AlreadyAnswered { run }) => {
            format!("that had been answered before; nothing changed ({run})")
        }
        _ => "done".to_owned(),
    }
}
