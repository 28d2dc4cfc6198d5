//! `almoner send`, `reply`, `adopt`, `dismiss`, `request`, `resolve` and `reject`.

use kernel::MessageNumber;
use kernel::command::{MailAct, Reply, Send};
use passable::Untrusted;

use crate::cli;
use crate::cli::agents::{AdoptArgs, DismissArgs, RejectArgs, ReplyArgs, RequestArgs, ResolveArgs, SendArgs};
use crate::session;
use crate::session::{Acting, asked, done};
use control::exit::{Ended, Exit, Failure};
use control::protocol::{AgentAct, Answered, Response};

/// `almoner send`.
///
/// # Errors
/// When it cannot be sent.
pub fn send(acting: &Acting<'_>, args: &SendArgs) -> Ended {
    let cli::Pieces { strings, names, paths } = cli::parse_text(&args.text.join(" "))?;
    let to = session::path(&args.to)?;
    let act = MailAct::Send(Send { to, strings, names, paths, reply_to: None });
    done(&acting.mail("send", act)?, args.json.json)
}

/// `almoner reply`.
///
/// # Errors
/// When it cannot be sent.
pub fn reply(acting: &Acting<'_>, args: &ReplyArgs) -> Ended {
    let cli::Pieces { strings, names, paths } = cli::parse_text(&args.text.join(" "))?;
    let act = MailAct::Reply { number: session::number(&args.message)?, strings, names, paths };
    done(&acting.mail("reply", act)?, args.json.json)
}

/// `almoner adopt`.
///
/// # Errors
/// When nothing of this name came with the message.
pub fn adopt(acting: &Acting<'_>, args: &AdoptArgs) -> Ended {
    let path = session::path(args.name.as_deref().unwrap_or(&args.edge))?;
    let act = MailAct::Adopt { number: session::number(&args.message)?, edge: args.edge.clone(), path };
    done(&acting.mail("adopt", act)?, args.json.json)
}

/// `almoner dismiss`.
///
/// # Errors
/// When there is no such message.
pub fn dismiss(acting: &Acting<'_>, args: &DismissArgs) -> Ended {
    if args.all {
        return done(&acting.mail("dismiss", MailAct::DismissAll)?, args.json.json);
    }
    let numbers: Vec<_> = args.messages.iter().map(|n| session::number(n)).collect::<Result<_, _>>()?;
    let count = numbers.len() as u64;
    for number in numbers {
        acting.mail("dismiss", MailAct::Dismiss { number })?;
    }
    done(&Response::Reply(Reply::Dismissed { count }), args.json.json)
}

/// `almoner request`.
///
/// # Errors
/// When it cannot be asked, or, if it is waited for, when it is refused.
pub fn request(acting: &Acting<'_>, args: &RequestArgs) -> Ended {
    let act = MailAct::Request {
        to: session::path(&args.to)?,
        description: Untrusted::new(args.description.clone()),
        result_name: session::maybe_path(args.ask.result.as_deref())?,
    };
    asked(acting, &acting.mail("request", act)?, &args.ask)
}

/// `almoner resolve`.
///
/// # Errors
/// When there is no such request or no such name.
pub fn resolve(acting: &Acting<'_>, args: &ResolveArgs) -> Ended {
    let number = session::number(&args.message)?;
    let answered = answered(number, args)?;
    done(&acting.act("resolve", AgentAct::Resolve { number, answered })?, args.json.json)
}

fn answered(number: MessageNumber, args: &ResolveArgs) -> Result<Answered, Failure> {
    let (is, allow) = (args.is.clone(), args.allow.clone());
    Ok(match (&args.name, &args.text, &args.endow) {
        (Some(name), None, None) => Answered::Name { path: session::path(name)?, is, allow, seen: None },
        (None, Some(_), None) if is.is_some() || !allow.is_empty() => {
            return Err(
                Failure::new(Exit::Usage, "text fills no slot").help("leave `--is` and `--allow` out")
            );
        }
        (None, Some(text), None) => Answered::Value { json: text.clone().into() },
        (None, None, Some(endow)) => {
            Answered::Endow { endowment: cli::parse_endowment(endow)?.into(), is, allow }
        }
        _ => {
            return Err(Failure::new(Exit::Usage, format!("message {number} is answered with one thing"))
                .help(format!("`almoner resolve {number} NAME`, `--text TEXT`, or `-e SLOT=…`")));
        }
    })
}

/// `almoner reject`.
///
/// # Errors
/// When there is no such message, or it asks for nothing.
pub fn reject(acting: &Acting<'_>, args: &RejectArgs) -> Ended {
    let reason = Untrusted::new(args.reason.clone());
    let act = MailAct::Reject { number: session::number(&args.message)?, reason };
    done(&acting.mail("reject", act)?, args.json.json)
}
