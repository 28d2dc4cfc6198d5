//! `almoner approve`, `deny` and `outcome`.

use std::collections::BTreeMap;
use std::path::Path;

use kernel::command::MailAct;
use kernel::message::Body;
use kernel::run::ResultGoesTo;
use kernel::{MessageNumber, NamePath};
use passable::{Untrusted, with_article};

use super::inbox;
use crate::cli;
use crate::cli::{ApproveArgs, DenyArgs, OutcomeArgs, YesOrNo};
use crate::follow::answer_lines::entries;
use crate::session;
use crate::session::Session;
use crate::session::replies;
use crate::ui::output;
use control::exit::{Exit, ExitResult, Failure};
use control::powers::ApprovalExtras;
use control::protocol::{AgentAct, Request};
use control::show::message_view;
use control::view::MessageView;

/// Runs `almoner approve`. It approves the proposals of an approval, or the evaluation that a message requests.
///
/// # Errors
/// When no message of this number can be approved.
pub fn approve(acting: &Session<'_>, args: &ApproveArgs) -> ExitResult {
    let number = resolve_message(acting, args.message.as_deref(), "approve")?;
    let view = acting.message(number)?;
    let request = match view.letter.body() {
        Some(Body::Approval { .. } | Body::Release { .. } | Body::Budget { .. }) => {
            let mut text = format!("almoner approve {number}{}", if args.run { " --run" } else { "" });
            args.names.iter().for_each(|name| text.push_str(&format!(" {name}")));
            args.endow.iter().for_each(|endowment| text.push_str(&format!(" -e {endowment}")));
            args.allow.iter().for_each(|method| text.push_str(&format!(" --allow {method}")));
            for (flag, said) in args.more.typed_amounts() {
                text.push_str(&format!(" --{flag} {said}"));
            }
            if let Some(file) = &args.edited {
                text.push_str(&format!(" --edited {}", file.display()));
            }
            Request::Approve {
                text: Untrusted::new(text),
                message: number,
                entries: entries(&args.only)?,
                for_run: args.run,
                added: Box::new(ApprovalExtras {
                    endow: args
                        .endow
                        .iter()
                        .map(|text| cli::parse_endowment(text))
                        .collect::<Result<_, _>>()?,
                    names: args.names.iter().map(|text| parse_slot_name(text)).collect::<Result<_, _>>()?,
                    seen: BTreeMap::new(),
                    allow: args.allow.clone(),
                    edited: args.edited.as_deref().map(read).transpose()?,
                }),
                raise: args.more.raise()?,
            }
        }
        Some(Body::EvalRequest { .. }) => {
            reject_card_options(number, &args.only, args.run)?;
            let more = args.more.raise()?.is_some();
            if more
                || !args.names.is_empty()
                || !args.endow.is_empty()
                || !args.allow.is_empty()
                || args.edited.is_some()
            {
                let message = format!("message {number} asks for an evaluation: nothing is added to it");
                return Err(
                    Failure::new(Exit::Usage, message).help("leave `-e`, `--allow` and `--edited` out")
                );
            }
            let act = MailAct::Grant { number, goes_to: ResultGoesTo::default() };
            let act = AgentAct::Mail { act: Box::new(act) };
            acting.request("approve", format!("almoner approve {number}"), act)
        }
        _ => return Err(not_an_approval(&view, acting)),
    };
    send(acting, request, args.json.json)
}

/// Runs `almoner deny`. It denies the proposals of an approval, or rejects any other message that asks.
///
/// # Errors
/// When no message of this number can be denied.
pub fn deny(acting: &Session<'_>, args: &DenyArgs) -> ExitResult {
    let number = resolve_message(acting, args.message.as_deref(), "deny")?;
    let view = acting.message(number)?;
    let text = format!("almoner deny {number} -r {:?}", args.reason);
    let reason = Untrusted::new(args.reason.clone());
    let request = match view.letter.body() {
        Some(Body::Approval { .. } | Body::Release { .. } | Body::Budget { .. }) => {
            let entries = entries(&args.only)?;
            Request::Deny { text: Untrusted::new(text), message: number, entries, reason }
        }
        Some(body) if body.asks().is_some() => {
            reject_card_options(number, &args.only, false)?;
            let act = AgentAct::Mail { act: Box::new(MailAct::Reject { number, reason }) };
            acting.request("deny", text, act)
        }
        _ => return Err(not_an_approval(&view, acting)),
    };
    send(acting, request, args.json.json)
}

/// Runs `almoner outcome`.
///
/// # Errors
/// When no message of this number asks whether an action took effect.
pub fn confirm_outcome(acting: &Session<'_>, args: &OutcomeArgs) -> ExitResult {
    let number = session::parse_message_number(&args.message)?;
    let happened = args.happened == YesOrNo::Yes;
    let said = if happened { "yes" } else { "no" };
    let text = Untrusted::new(format!("almoner outcome {number} {said}"));
    send(acting, Request::ConfirmOutcome { text, message: number, happened }, args.json.json)
}

/// Parses `SLOT=NAME` into a slot and the name that fills it.
fn parse_slot_name(text: &str) -> Result<(String, NamePath), Failure> {
    let (slot, path) = text.split_once('=').ok_or_else(|| {
        Failure::new(Exit::Usage, format!("`{}` binds no slot", passable::visible_line(text)))
            .help("write SLOT=NAME with a name of yours; `-e SLOT=PATH` takes what has none")
    })?;
    Ok((slot.to_owned(), session::parse_path(path)?))
}

/// Reads a worker file that the user has changed.
fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| {
        let shown = passable::visible_line(&path.display().to_string()).into_owned();
        let exit = if e.kind() == std::io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Failure };
        Failure::new(exit, format!("{shown}: {e}"))
            .help("`--edited` takes a worker file; nothing was answered")
    })
}

/// Returns the failure for a message that asks for nothing, or needs another answer than yes or no.
fn not_an_approval(view: &MessageView, acting: &Session<'_>) -> Failure {
    let (number, kind) = (view.letter.number, &view.letter.mail.envelope.kind);
    let failure = Failure::new(
        Exit::NotFound,
        format!("message {number} is not an approval: it is {}", with_article(kind)),
    );
    failure.help(
        message_view::next_commands(view, acting.agent).unwrap_or_else(|| "see `almoner inbox`".to_owned()),
    )
}

/// Refuses the options `--only` and `--run` for a message that is not a card.
fn reject_card_options(number: MessageNumber, only: &[usize], for_run: bool) -> Result<(), Failure> {
    if only.is_empty() && !for_run {
        return Ok(());
    }
    Err(Failure::new(Exit::Usage, format!("message {number} asks for one thing: it has no entries"))
        .help("leave `--only` and `--run` out"))
}

fn send(acting: &Session<'_>, request: Request, json: bool) -> ExitResult {
    let response = acting.ask(request)?;
    if json {
        output::json(&response)?;
    } else {
        output::result(&replies::describe(&response))?;
    }
    Ok(Exit::Ok)
}

/// Returns the number of the named message. Without one, it shows the waiting messages, and the user types a number.
fn resolve_message(acting: &Session<'_>, named: Option<&str>, verb: &str) -> Result<MessageNumber, Failure> {
    if let Some(text) = named {
        return session::parse_message_number(text);
    }
    let numbers: Vec<MessageNumber> = acting.mailbox(true)?.iter().map(|l| l.number).collect();
    let Some(first) = numbers.first() else {
        return Err(Failure::new(Exit::NotFound, "nothing waits for you")
            .help(format!("{} shows what was answered", acting.command("inbox --all"))));
    };
    if !output::can_ask() {
        let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        return Err(Failure::new(Exit::NeedsYou, format!("which message? These wait: {}", list.join(", ")))
            .help(format!(
                "{} shows one, {} answers it",
                acting.command(&format!("inbox {first}")),
                acting.command(&format!("{verb} {first}"))
            )));
    }
    for number in &numbers {
        output::note(&inbox::render_message(acting, *number)?.text);
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
