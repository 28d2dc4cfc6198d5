//! `almoner approve`, `deny` and `outcome`.

use std::collections::BTreeMap;
use std::path::Path;

use kernel::command::MailAct;
use kernel::message::Body;
use kernel::run::ResultGoesTo;
use kernel::{MessageNumber, NamePath};
use passable::Untrusted;

use super::inbox;
use crate::cli;
use crate::cli::{ApproveArgs, DenyArgs, OutcomeArgs, YesOrNo};
use crate::follow::approval_gate::{self, CoveredEntries};
use crate::follow::entry_list;
use crate::session;
use crate::session::Session;
use crate::session::command_line::command_line;
use crate::session::earlier_answer::{AnswerKind, print_answer};
use crate::session::message_list::{self, MessageList};
use crate::session::questions;
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
    if let Some(list) = args.message.as_deref().and_then(MessageList::parse) {
        let is_plain = args.names.is_empty()
            && args.only.is_empty()
            && !args.run
            && args.endow.is_empty()
            && args.allow.is_empty()
            && args.edited.is_none()
            && args.more.raise()?.is_none();
        return answer_list(acting, &list, is_plain, None, args.json.json);
    }
    let number = resolve_message(acting, args.message.as_deref(), "approve")?;
    let view = message(acting, number)?;
    let (named, names) = split_entries(&args.only, &args.names, false)?;
    let CoveredEntries { entries: only, unnamed } = match view.letter.body() {
        Some(Body::Approval { .. }) => {
            let card = questions::card(acting, number)?;
            let named = approval_gate::show_unopened(acting, &card, named)?;
            approval_gate::covered_entries(&card, named, output::can_ask())?
        }
        _ => CoveredEntries { entries: named, unnamed: vec![] },
    };
    let request = match view.letter.body() {
        Some(Body::Approval { .. } | Body::Release { .. } | Body::Budget { .. } | Body::MailQuota { .. }) => {
            let mut text = format!("almoner approve {number}{}", if args.run { " --run" } else { "" });
            if let Some(only) = &only {
                text.push_str(&format!(" --only {}", entry_list::typed(only)));
            }
            names.iter().for_each(|name| text.push_str(&format!(" {name}")));
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
                entries: only.clone(),
                for_run: args.run,
                added: Box::new(ApprovalExtras {
                    endow: args
                        .endow
                        .iter()
                        .map(|text| cli::parse_endowment(text))
                        .collect::<Result<_, _>>()?,
                    names: names.iter().map(|text| parse_slot_name(text)).collect::<Result<_, _>>()?,
                    seen: BTreeMap::new(),
                    allow: args.allow.clone(),
                    edited: args.edited.as_deref().map(read).transpose()?,
                }),
                raise: args.more.raise()?,
            }
        }
        Some(Body::EvalRequest { .. }) => {
            reject_card_options(number, only.is_some(), args.run)?;
            let more = args.more.raise()?.is_some();
            if more
                || !names.is_empty()
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
        _ => return Err(not_an_approval(&view, acting)?),
    };
    let response = acting.ask(request)?;
    let exit = print_answer(acting, number, AnswerKind::Approve, only.as_deref(), &response, args.json.json)?;
    approval_gate::note_unnamed(number, &unnamed);
    Ok(exit)
}

/// Runs `almoner deny`. It denies the proposals of an approval, or rejects any other message that asks.
///
/// # Errors
/// When no message of this number can be denied.
pub fn deny(acting: &Session<'_>, args: &DenyArgs) -> ExitResult {
    if let Some(list) = args.message.as_deref().and_then(MessageList::parse) {
        let (only, said) = split_entries(&args.only, &args.words, true)?;
        let reason = Some(Untrusted::new(reason_of(&args.reason, &said)?));
        return answer_list(acting, &list, only.is_none(), reason, args.json.json);
    }
    let number = resolve_message(acting, args.message.as_deref(), "deny")?;
    let view = message(acting, number)?;
    let (only, said) = split_entries(&args.only, &args.words, true)?;
    let reason = reason_of(&args.reason, &said)?;
    let which = only.as_ref().map_or_else(String::new, |only| format!(" --only {}", entry_list::typed(only)));
    let text = format!("almoner deny {number}{which} -r {reason:?}");
    let reason = Untrusted::new(reason);
    let request = match view.letter.body() {
        Some(Body::Approval { .. } | Body::Release { .. } | Body::Budget { .. } | Body::MailQuota { .. }) => {
            Request::Deny { text: Untrusted::new(text), message: number, entries: only.clone(), reason }
        }
        Some(body) if body.asks().is_some() => {
            reject_card_options(number, only.is_some(), false)?;
            let act = AgentAct::Mail { act: Box::new(MailAct::Reject { number, reason }) };
            acting.request("deny", text, act)
        }
        _ => return Err(not_an_approval(&view, acting)?),
    };
    let response = acting.ask(request)?;
    print_answer(acting, number, AnswerKind::Deny, only.as_deref(), &response, args.json.json)
}

/// Returns the reason of a denial, which stands behind `-r` or at the end of the line.
fn reason_of(option: &str, words: &[String]) -> Result<String, Failure> {
    match (option, words.is_empty()) {
        (reason, true) => Ok(reason.to_owned()),
        ("", false) => Ok(words.join(" ")),
        (_, false) => {
            Err(Failure::new(Exit::Usage, "the reason is given twice").help("leave `-r` out, or the words"))
        }
    }
}

/// Answers all entries of several approvals of a batch in the same way.
fn answer_list(
    acting: &Session<'_>,
    list: &MessageList,
    is_plain: bool,
    denied: Option<Untrusted>,
    json: bool,
) -> ExitResult {
    if !is_plain {
        return Err(Failure::new(Exit::Usage, "an option was given that belongs to one message")
            .help("name one message, or leave the option out"));
    }
    let found = list.find(acting)?;
    if denied.is_none() {
        approval_gate::show_unopened_list(acting, list, &found)?;
    }
    let approvals = message_list::seen(acting, &found)?;
    let text = Untrusted::new(command_line());
    let response = acting.ask(Request::AnswerAll { text, approvals, denied })?;
    match json {
        true => output::json(&response)?,
        false => output::result(&replies::describe(&response))?,
    }
    Ok(Exit::Ok)
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
    let response = acting.ask(Request::ConfirmOutcome { text, message: number, happened })?;
    let kind = if happened { AnswerKind::Happened } else { AnswerKind::Repeat };
    print_answer(acting, number, kind, None, &response, args.json.json)
}

/// Returns the entries that the words name, counted from 0, and the remaining words. The entries stand behind `--only`
/// or directly behind the number of the message, as at the prompt under a card. With `alone`, a list before other words
/// is the beginning of a reason.
fn split_entries(
    only: &[String],
    words: &[String],
    alone: bool,
) -> Result<(Option<Vec<usize>>, Vec<String>), Failure> {
    let (listed, rest) = match words.split_first() {
        Some((first, rest)) if entry_list::is_list(first) && (!alone || rest.is_empty()) => {
            (Some(first), rest)
        }
        _ => (None, words),
    };
    let all: Vec<&String> = only.iter().chain(listed).collect();
    if all.is_empty() {
        return Ok((None, rest.to_vec()));
    }
    let mut entries: Vec<usize> = Vec::new();
    for text in all {
        entries.extend(entry_list::parse(text)?);
    }
    entries.sort_unstable();
    entries.dedup();
    Ok((Some(entries), rest.to_vec()))
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
        Failure::of_file("read", &path.to_string_lossy(), e)
            .help("`--edited` takes a worker file; nothing was answered")
    })
}

/// Returns the failure for a message that asks for nothing, or needs another answer than yes or no.
fn not_an_approval(view: &MessageView, acting: &Session<'_>) -> Result<Failure, Failure> {
    let number = view.letter.number;
    let kind = match view.letter.body() {
        Some(Body::Command { .. }) => "a command of yours".to_owned(),
        None => "dismissed".to_owned(),
        Some(_) => message_view::kind_with_article(view),
    };
    let failure = Failure::new(Exit::NotFound, format!("message {number} is not an approval: it is {kind}"));
    Ok(match message_view::next_commands(view, acting.agent) {
        Some(next) => failure.help(next),
        None => failure.help(waiting_help(acting)?),
    })
}

/// Returns a message, or a failure that names the messages which wait.
fn message(acting: &Session<'_>, number: MessageNumber) -> Result<MessageView, Failure> {
    match acting.message(number) {
        Err(failure) if failure.exit == Exit::NotFound => Err(failure.help(waiting_help(acting)?)),
        found => found,
    }
}

/// Returns advice that names the messages which wait for an answer.
fn waiting_help(acting: &Session<'_>) -> Result<String, Failure> {
    let numbers: Vec<String> =
        acting.mailbox(true)?.iter().map(|line| line.letter.number.to_string()).collect();
    Ok(match numbers.as_slice() {
        [] => format!("nothing waits for you; {} shows what was answered", acting.command("inbox --all")),
        [one] => format!("message {one} waits for you: {}", acting.command(&format!("inbox {one}"))),
        more => format!("these wait for you: {}; {} shows them", more.join(", "), acting.command("inbox")),
    })
}

/// Refuses the options `--only` and `--run` for a message that is not a card.
fn reject_card_options(number: MessageNumber, has_entries: bool, for_run: bool) -> Result<(), Failure> {
    if !has_entries && !for_run {
        return Ok(());
    }
    Err(Failure::new(Exit::Usage, format!("message {number} asks for one thing: it has no entries"))
        .help("leave `--only` and `--run` out"))
}

/// Returns the number of the named message. Without one, it shows the waiting messages, and the user types a number.
fn resolve_message(acting: &Session<'_>, named: Option<&str>, verb: &str) -> Result<MessageNumber, Failure> {
    if let Some(text) = named {
        return session::parse_message_number(text);
    }
    let numbers: Vec<MessageNumber> = acting.mailbox(true)?.iter().map(|line| line.letter.number).collect();
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
        output::note(&inbox::render_message(acting, *number, false)?.text);
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
