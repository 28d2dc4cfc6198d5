//! `almoner send`, `reply`, `adopt`, `dismiss`, `request`, `resolve` and `reject`.

use kernel::MessageNumber;
use kernel::command::{MailAct, Reply, Send};
use passable::Untrusted;

use crate::cli;
use crate::cli::agents::{AdoptArgs, DismissArgs, RejectArgs, ReplyArgs, RequestArgs, ResolveArgs, SendArgs};
use crate::session;
use crate::session::earlier_answer::{AnswerKind, print_answer};
use crate::session::{Session, print_reply, print_request};
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, AnswerInput, Response};

/// Runs `almoner send`.
///
/// # Errors
/// When the message cannot be sent.
pub fn send(acting: &Session<'_>, args: &SendArgs) -> ExitResult {
    let cli::MessageText { strings, names, paths } = cli::parse_message_text(&args.text.join(" "))?;
    let to = session::parse_path(&args.to)?;
    let act = MailAct::Send(Send { to, strings, names, paths, reply_to: None });
    print_reply(&acting.mail("send", act)?, args.json.json)
}

/// Runs `almoner reply`.
///
/// # Errors
/// When the reply cannot be sent.
pub fn reply(acting: &Session<'_>, args: &ReplyArgs) -> ExitResult {
    let cli::MessageText { strings, names, paths } = cli::parse_message_text(&args.text.join(" "))?;
    let act = MailAct::Reply { number: session::parse_message_number(&args.message)?, strings, names, paths };
    print_reply(&acting.mail("reply", act)?, args.json.json)
}

/// Runs `almoner adopt`.
///
/// # Errors
/// When nothing of this name came with the message.
pub fn adopt(acting: &Session<'_>, args: &AdoptArgs) -> ExitResult {
    let path = session::parse_path(args.name.as_deref().unwrap_or(&args.edge))?;
    let act = MailAct::Adopt {
        number: session::parse_message_number(&args.message)?,
        edge: args.edge.clone(),
        path,
    };
    print_reply(&acting.mail("adopt", act)?, args.json.json)
}

/// Runs `almoner dismiss`.
///
/// # Errors
/// When a message does not exist.
pub fn dismiss(acting: &Session<'_>, args: &DismissArgs) -> ExitResult {
    if args.all {
        return print_reply(&acting.mail("dismiss", MailAct::DismissAll)?, args.json.json);
    }
    let numbers: Vec<_> =
        args.messages.iter().map(|n| session::parse_message_number(n)).collect::<Result<_, _>>()?;
    let count = numbers.len() as u64;
    for number in numbers {
        acting.mail("dismiss", MailAct::Dismiss { number })?;
    }
    print_reply(&Response::Reply(Reply::Dismissed { count }), args.json.json)
}

/// Runs `almoner request`.
///
/// # Errors
/// When the request cannot be sent. When the command waits for the answer, and the request is refused.
pub fn request(acting: &Session<'_>, args: &RequestArgs) -> ExitResult {
    let act = MailAct::Request {
        to: session::parse_path(&args.to)?,
        description: Untrusted::new(args.description.clone()),
        result_name: session::parse_optional_path(args.ask.result.as_deref())?,
    };
    print_request(acting, &acting.mail("request", act)?, &args.ask)
}

/// Runs `almoner resolve`.
///
/// # Errors
/// When the request or the name does not exist.
pub fn resolve(acting: &Session<'_>, args: &ResolveArgs) -> ExitResult {
    let number = session::parse_message_number(&args.message)?;
    let answered = parse_request_answer(number, args)?;
    let response = acting.act("resolve", AgentAct::Resolve { number, answered })?;
    match response {
        Response::Reply(Reply::AlreadySettled) => {
            print_answer(acting, number, AnswerKind::Value, None, &response, args.json.json)
        }
        other => print_reply(&other, args.json.json),
    }
}

fn parse_request_answer(number: MessageNumber, args: &ResolveArgs) -> Result<AnswerInput, Failure> {
    let (is, allow) = (args.is.clone(), args.allow.clone());
    Ok(match (&args.name, &args.text, &args.endow) {
        (Some(name), None, None) => {
            AnswerInput::Name { path: session::parse_path(name)?, is, allow, seen: None }
        }
        (None, Some(_), None) if is.is_some() || !allow.is_empty() => {
            return Err(Failure::new(Exit::Usage, "cannot fill a slot: the answer is text")
                .help("leave `--is` and `--allow` out"));
        }
        (None, Some(text), None) => AnswerInput::Value { json: text.clone().into() },
        (None, None, Some(endow)) => {
            AnswerInput::Endow { endowment: cli::parse_endowment(endow)?.into(), is, allow }
        }
        _ => {
            return Err(Failure::new(Exit::Usage, format!("message {number} is answered with one thing"))
                .help(format!("`almoner resolve {number} NAME`, `--text TEXT`, or `-e SLOT=…`")));
        }
    })
}

/// Runs `almoner reject`.
///
/// # Errors
/// When the message does not exist, or asks for nothing.
pub fn reject(acting: &Session<'_>, args: &RejectArgs) -> ExitResult {
    let reason = Untrusted::new(args.reason.clone());
    let number = session::parse_message_number(&args.message)?;
    match acting.mail("reject", MailAct::Reject { number, reason })? {
        response @ Response::Reply(Reply::AlreadySettled) => {
            print_answer(acting, number, AnswerKind::Deny, None, &response, args.json.json)
        }
        response => print_reply(&response, args.json.json),
    }
}
