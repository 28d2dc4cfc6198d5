//! `almoner approve` and `almoner deny`.

use kernel::MessageNumber;
use kernel::command::Reply;
use kernel::id::BadId;
use passable::Untrusted;

use super::{look, output};
use crate::cli::{ApproveArgs, DenyArgs};
use crate::control::client::Client;
use crate::control::protocol::{Request, Response};
use crate::exit::{Ended, Exit, Failure};
use crate::place::Place;

/// `almoner approve`.
///
/// # Errors
/// When there is nothing of this number to approve.
pub fn approve(place: &Place, args: &ApproveArgs) -> Ended {
    let message = which(place, args.message.as_deref(), "approve")?;
    let text = format!("almoner approve {message}{}", if args.run { " --run" } else { "" });
    let request = Request::Approve {
        text: Untrusted::new(text),
        message,
        entries: entries(&args.only)?,
        for_run: args.run,
    };
    send(place, &request, args.json.json)
}

/// `almoner deny`.
///
/// # Errors
/// When there is nothing of this number to deny.
pub fn deny(place: &Place, args: &DenyArgs) -> Ended {
    let message = which(place, args.message.as_deref(), "deny")?;
    let request = Request::Deny {
        text: Untrusted::new(format!("almoner deny {message} -r {:?}", args.reason)),
        message,
        entries: entries(&args.only)?,
        reason: Untrusted::new(args.reason.clone()),
    };
    send(place, &request, args.json.json)
}

fn send(place: &Place, request: &Request, json: bool) -> Ended {
    let response = Client::connect(place)?.ask(request)?;
    if json {
        output::json(&response)?;
    } else {
        output::result(&told(&response))?;
    }
    Ok(Exit::Ok)
}

/// The message that is meant: the one named, or the only one that waits.
fn which(place: &Place, named: Option<&str>, verb: &str) -> Result<MessageNumber, Failure> {
    if let Some(text) = named {
        return text
            .parse()
            .map_err(|e: BadId| Failure::new(Exit::Usage, e.to_string()).help("see `almoner inbox`"));
    }
    let numbers: Vec<MessageNumber> = look::letters(place, true)?.iter().map(|l| l.number).collect();
    let Some(first) = numbers.first() else {
        return Err(Failure::new(Exit::NotFound, "nothing waits for you")
            .help("`almoner inbox --all` shows what was answered, `almoner runs` what runs"));
    };
    if !output::can_ask() {
        let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        return Err(Failure::new(Exit::NeedsYou, format!("which message? These wait: {}", list.join(", ")))
            .help(format!("`almoner inbox {first}` shows one, `almoner {verb} {first}` answers it")));
    }
    for number in &numbers {
        output::note(&look::card(place, *number)?.render(output::columns()));
    }
    output::prompt(&format!("Type the number of the message to {verb}: "));
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|e| Failure::new(Exit::Failure, format!("standard input: {e}")))?;
    line.trim()
        .parse()
        .ok()
        .filter(|number| numbers.contains(number))
        .ok_or_else(|| Failure::new(Exit::NeedsYou, "nothing was answered").help("see `almoner inbox`"))
}

/// Entries as people count them, to entries as the kernel does.
fn entries(only: &[usize]) -> Result<Option<Vec<usize>>, Failure> {
    if only.is_empty() {
        return Ok(None);
    }
    only.iter()
        .map(|n| {
            n.checked_sub(1).ok_or_else(|| {
                Failure::new(Exit::Usage, "entries are counted from 1").help("`almoner inbox N` shows them")
            })
        })
        .collect::<Result<_, _>>()
        .map(Some)
}

/// What a person is told about an answer.
pub fn told(response: &Response) -> String {
    match response {
        Response::Reply(Reply::Answered { run, entries, needs_you }) => {
            let count = match entries.len() {
                1 => "1 entry".to_owned(),
                n => format!("{n} entries"),
            };
            let rest = if *needs_you { "; the others still wait" } else { "" };
            format!("answered {count}; {run} goes on{rest}")
        }
        Response::Reply(Reply::AlreadyAnswered { run }) => {
            format!("that had been answered before; nothing changed ({run})")
        }
        _ => "done".to_owned(),
    }
}

/// What a person typed under a card.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// An answer.
    Answer(Request),
    /// None now.
    Later,
}

/// Reads a line typed under a card: `approve N [ENTRIES] [--run]`, `deny N [REASON]`, `later`. Nothing shorter is an
/// answer, so that a key pressed for something else is none.
pub fn parse_line(line: &str) -> Option<Line> {
    let mut words = line.split_whitespace();
    let verb = words.next()?;
    if verb == "later" {
        return Some(Line::Later);
    }
    let message: MessageNumber = words.next()?.parse().ok()?;
    let text = Untrusted::new(line.trim());
    match verb {
        "approve" => {
            let (mut only, mut for_run) = (Vec::new(), false);
            for word in words {
                if word == "--run" {
                    for_run = true;
                } else {
                    for n in word.split(',').filter(|n| !n.is_empty()) {
                        only.push(n.parse::<usize>().ok()?.checked_sub(1)?);
                    }
                }
            }
            let entries = (!only.is_empty()).then_some(only);
            Some(Line::Answer(Request::Approve { text, message, entries, for_run }))
        }
        "deny" => {
            let reason = words.collect::<Vec<_>>().join(" ");
            Some(Line::Answer(Request::Deny { text, message, entries: None, reason: Untrusted::new(reason) }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_command_is_an_answer() {
        for line in
            ["", "y", "yes", "a", "approve", "approve all", "approve x", "7", "approve 7 maybe", "deny"]
        {
            assert_eq!(parse_line(line), None, "{line:?}");
        }
        assert_eq!(parse_line(" later "), Some(Line::Later));
        let Some(Line::Answer(Request::Approve { message, entries, for_run, .. })) =
            parse_line("approve 7 1,3 --run")
        else {
            panic!("an approval")
        };
        assert_eq!((message.0, entries, for_run), (7, Some(vec![0, 2]), true));
        let Some(Line::Answer(Request::Deny { reason, .. })) = parse_line("deny 7 not to that address")
        else {
            panic!("a denial")
        };
        assert_eq!(reason.raw(), "not to that address");
    }
}
