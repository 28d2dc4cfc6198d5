//! `almoner mkguest`, `mkhost`, `share` and `accept`, and the dispatch of all verbs for agents, names and mail.

use kernel::NamePath;
use kernel::command::{AgentKind, ProvideAgent};
use passable::visible_line;

use super::form;
use super::{cancel, define, eval, grants, mail, names, narrow};
use crate::cli;
use crate::cli::agents::{AcceptArgs, AgentVerb, MakeArgs, ShareArgs};
use crate::follow::form_answers;
use crate::session;
use crate::session::{Session, print_reply};
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, Response};

/// Runs the command of a verb.
///
/// # Errors
/// When the command fails. The function of the command says when.
pub fn run(acting: &Session<'_>, verb: &AgentVerb) -> ExitResult {
    match verb {
        AgentVerb::List(args) => names::list(acting, args),
        AgentVerb::Show(args) => names::show(acting, args),
        AgentVerb::Cat(args) => names::cat(acting, args),
        AgentVerb::Store(args) => names::store(acting, args),
        AgentVerb::Name(args) => names::name(acting, args),
        AgentVerb::Copy(args) => names::copy(acting, args),
        AgentVerb::Move(args) => names::mv(acting, args),
        AgentVerb::Remove(args) => names::remove(acting, args),
        AgentVerb::Mkdir(args) => names::mkdir(acting, args),
        AgentVerb::Mount(args) => names::mount(acting, args),
        AgentVerb::Mkguest(args) => make(acting, args, AgentKind::Guest),
        AgentVerb::Mkhost(args) => make(acting, args, AgentKind::Host),
        AgentVerb::Share(args) => share(acting, args),
        AgentVerb::Accept(args) => accept(acting, args),
        AgentVerb::Grants(args) => grants::grants(acting, *args),
        AgentVerb::Narrow(args) => narrow::narrow(acting, args),
        AgentVerb::Revoke(args) => grants::revoke(acting, args),
        AgentVerb::Cancel(args) => cancel::cancel(acting, args),
        AgentVerb::Remake(args) => cancel::remake(acting, args),
        AgentVerb::Timer(args) => super::timer::timer(acting, args),
        AgentVerb::Send(args) => mail::send(acting, args),
        AgentVerb::Reply(args) => mail::reply(acting, args),
        AgentVerb::Adopt(args) => mail::adopt(acting, args),
        AgentVerb::Dismiss(args) => mail::dismiss(acting, args),
        AgentVerb::Request(args) => mail::request(acting, args),
        AgentVerb::Resolve(args) => mail::resolve(acting, args),
        AgentVerb::Reject(args) => mail::reject(acting, args),
        AgentVerb::Form(args) => form::form(acting, args),
        AgentVerb::Submit(args) => form_answers::submit(acting, args),
        AgentVerb::Define(args) => define::define(acting, args),
        AgentVerb::Edit(args) => define::edit(acting, args),
        AgentVerb::Endow(args) => super::endow::endow(acting, args),
        AgentVerb::RequestEvaluation(args) => define::request_evaluation(acting, args),
        AgentVerb::Eval(args) => eval::eval(acting, args),
        AgentVerb::Make(args) => super::make_modules::make(acting, args),
    }
}

fn make(acting: &Session<'_>, args: &MakeArgs, kind: AgentKind) -> ExitResult {
    let verb = match kind {
        AgentKind::Guest => "mkguest",
        AgentKind::Host => "mkhost",
    };
    let name = session::parse_path(&args.name)?;
    let agent_name = match &args.agent {
        Some(agent) => session::parse_path(agent)?,
        None => profile_for(&name)?,
    };
    let introduced = args
        .introduce
        .iter()
        .map(|text| {
            let (mine, theirs) = text.split_once('=').unwrap_or((text, text));
            (mine.to_owned(), theirs.to_owned())
        })
        .collect();
    let agent = agent_name.to_string();
    let act = ProvideAgent { kind, name: Some(name), agent_name: Some(agent_name), introduced };
    let response = acting.act(verb, AgentAct::Provide { act })?;
    if args.json.json {
        output::json(&response)?;
    } else {
        let agent = acting.agent.map_or(agent.clone(), |maker| format!("{maker}/{agent}"));
        let (name, agent) = (visible_line(&args.name), visible_line(&agent));
        output::note(&format!("`{name}` takes mail; `almoner --as {agent} …` acts as it"));
    }
    Ok(Exit::Ok)
}

/// Returns the name path of a new agent, which lies beside the name path of its handle.
fn profile_for(name: &NamePath) -> Result<NamePath, Failure> {
    let (before, last) = name.split();
    NamePath::new(before.iter().cloned().chain([format!("profile-for-{last}")]))
        .map_err(|e| Failure::from_error(Exit::Usage, e).help("say the agent's name: NAME AGENT"))
}

fn share(acting: &Session<'_>, args: &ShareArgs) -> ExitResult {
    let response = acting.act("share", AgentAct::Share { path: session::parse_path(&args.name)? })?;
    match &response {
        Response::Token(_) if args.json.json => output::json(&response)?,
        Response::Token(token) => {
            output::result(token)?;
            output::note(
                "whoever has this token can use it once: `almoner accept TOKEN NAME`. It is shown only now.",
            );
        }
        other => return Err(unexpected(other)),
    }
    Ok(Exit::Ok)
}

fn accept(acting: &Session<'_>, args: &AcceptArgs) -> ExitResult {
    let path = session::parse_path(&args.name)?;
    let token = if args.token == "-" { cli::stdin()?.trim().to_owned() } else { args.token.clone() };
    // The transcript keeps that a token was used, and not the token.
    let said = format!("almoner accept … {path}");
    print_reply(&acting.act_with_text("accept", said, AgentAct::Accept { token, path })?, args.json.json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_is_placed_next_to_its_handle() {
        let check = |name: &str, expected: &str| {
            assert_eq!(profile_for(&NamePath::parse(name).unwrap()).unwrap().to_string(), expected);
        };
        check("fae", "profile-for-fae");
        check("guests/fae", "guests/profile-for-fae");
    }
}
