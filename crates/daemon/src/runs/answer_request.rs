//! The answers of a person to requests. An agent gets the object behind a name. A run gets data, or the content of a
//! slot.

use std::collections::BTreeMap;

use kernel::command::{Act, MailAct, RequestAnswer, UserCommand};
use kernel::formula::Formula;
use kernel::grant::Attenuation;
use kernel::message::{Body, HostRequest};
use kernel::name_lookup::PathTarget;
use kernel::slot::Requirement;
use kernel::{FormulaId, MessageNumber, NamePath, Pattern, Value, query, table};
use passable::{visible_line, with_article};
use worker::definition::{Bundle, Definition};

use super::approval_extras;
use crate::queries::mail;
use crate::state::daemon::HostDaemon;
use crate::state::precondition::Expected;
use crate::state::privacy;
use crate::state::worker_files;
use control::exit::{Exit, Failure};
use control::protocol::{AnswerInput, Response};
use resource::Kind;

/// Answers a request.
///
/// # Errors
/// When there is no such request, or the asker could not use the answer.
pub fn answer(
    daemon: &HostDaemon,
    agent: FormulaId,
    name: Option<&str>,
    said: Option<UserCommand>,
    number: MessageNumber,
    answered: AnswerInput,
) -> Result<Response, Failure> {
    let letter = mail::message(daemon, agent, number)?;
    let Some(Body::Request { by, .. }) = letter.body() else {
        let kind = &letter.mail.envelope.kind;
        return Err(Failure::new(
            Exit::Conflict,
            format!("message {number} is {}, not a request", with_article(kind)),
        )
        .help(format!("`almoner inbox {number}` shows it")));
    };
    let seen = match &answered {
        AnswerInput::Name { path, seen: Some(id), .. } => Expected::name(path.clone(), *id),
        _ => Expected::default(),
    };
    let act = match (by, answered) {
        (None, AnswerInput::Name { path, is: None, allow, .. }) if allow.is_empty() => {
            MailAct::Resolve { number, path }
        }
        (None, AnswerInput::Seen { id }) => {
            let resolver = letter.body().and_then(Body::asks).map(|(_, resolver)| resolver);
            let resolver = resolver.ok_or_else(|| Failure::new(Exit::Failure, "nothing was asked"))?;
            MailAct::ResolveWith { resolver, id }
        }
        (None, _) => {
            let message = format!("an agent has sent message {number}: it is answered with a name of yours");
            return Err(Failure::new(Exit::Usage, message).help(format!("`almoner resolve {number} NAME`")));
        }
        (Some(_), AnswerInput::Value { json }) => {
            let value = Value::from_json(&json)
                .map_err(|e| Failure::new(Exit::Invalid, format!("this cannot be a value: {e}")))?;
            MailAct::Give { number, handed: RequestAnswer::Value { value } }
        }
        (Some(wish), answered) => answer_run(&daemon.host_of(agent, name)?, number, wish, answered)?,
    };
    let act = Box::new(seen.guard(act));
    Ok(Response::Reply(daemon.apply_as(agent, said, Act::Mail(act))?.reply))
}

/// Returns the act that answers a run's request. The answer is data behind a name, or the content of the slot that
/// the run has named.
fn answer_run(
    daemon: &HostDaemon,
    number: MessageNumber,
    wish: &HostRequest,
    answered: AnswerInput,
) -> Result<MailAct, Failure> {
    let slot = wish.slot.as_str();
    let mut names = BTreeMap::new();
    let (kind, endow, allow) = match answered {
        AnswerInput::Name { path, is, allow, .. } => {
            let Some(formula) = capability(daemon, &path)? else {
                return Ok(MailAct::Resolve { number, path });
            };
            let own = kind_of(&formula).map(|kind| kind.row().label);
            let kind = is.as_deref().or(own).ok_or_else(|| no_slot(&path, &formula, number, slot))?;
            if !Requirement::from_pattern(&Pattern::remotable(kind)).takes(&formula) {
                return Err(no_slot(&path, &formula, number, slot));
            }
            names.insert(slot.to_owned(), path);
            (kind.to_owned(), vec![], allow)
        }
        AnswerInput::Endow { endowment, is, allow } => {
            if endowment.slot != slot {
                let given = visible_line(&endowment.slot);
                let message = format!("{} asks for `{slot}`, and `{given}` was bound", wish.run);
                return Err(Failure::new(Exit::Usage, message).help(format!("say `-e {slot}=…`")));
            }
            let kind = is.unwrap_or_else(|| endowment.fill.kind().to_string());
            (kind, vec![*endowment], allow)
        }
        AnswerInput::Value { .. } | AnswerInput::Seen { .. } => {
            return Err(Failure::new(Exit::Failure, "data fills no slot"));
        }
    };
    let mut definition = single_slot_worker(slot, &kind)?;
    let mut bindings =
        approval_extras::bind_slots(daemon, &mut definition, "the run", endow, allow, &names, false)?;
    let model = daemon.read(|txn| table::run(txn, &daemon.host.number, wish.run))?;
    privacy::check_model(daemon, model.as_ref().map_or("", |run| run.model.as_str()), &bindings)?;
    match bindings.pop() {
        Some(mut binding) => {
            // A capability behind a name already has its limits.
            if !names.is_empty() {
                binding.attenuation = Attenuation::default();
            }
            Ok(MailAct::Give { number, handed: RequestAnswer::Slot { binding: Box::new(binding) } })
        }
        None => Err(Failure::new(Exit::Failure, "nothing was bound")),
    }
}

/// Returns the formula that a name stands for, or `None` if it is data or a promise.
fn capability(daemon: &HostDaemon, path: &NamePath) -> Result<Option<Formula>, Failure> {
    let found = daemon.query(|txn| {
        Ok(match daemon.view(daemon.host).resolve(txn, path)? {
            PathTarget::Data(_) => None,
            PathTarget::Formula(id) => table::reach(txn, &id)?.map(|reached| reached.formula),
        })
    })?;
    match found {
        None | Some(Formula::Promise { .. }) => Ok(None),
        Some(Formula::Marshal { value }) if value.references().is_empty() => Ok(None),
        other => Ok(other),
    }
}

fn no_slot(path: &NamePath, formula: &Formula, number: MessageNumber, slot: &str) -> Failure {
    let shown = path.to_string();
    let words = query::describe(formula);
    let message = format!("`{}` is {}: it fills no such slot", visible_line(&shown), visible_line(&words));
    Failure::new(Exit::Invalid, message).help(format!(
        "data goes as `almoner resolve {number} --text TEXT`, a directory as `almoner resolve {number} -e \
         {slot}=PATH`; `almoner reject {number} -r WHY` refuses"
    ))
}

/// Returns the kind of slot that a named formula fills, or `None` if it fills no slot by its name.
fn kind_of(formula: &Formula) -> Option<Kind> {
    // The worker's reference to itself is bound by the keyword `self`, not by a name.
    let kind = formula.slot_kind().filter(|_| *formula != Formula::Myself);
    kind.filter(|kind| kind.row().by_name)
}

/// Returns the definition of a worker with only this slot.
fn single_slot_worker(slot: &str, kind: &str) -> Result<Definition, Failure> {
    if Kind::of(kind).is_none() {
        let shown = visible_line(kind);
        return Err(Failure::new(Exit::Usage, format!("`{shown}` is no kind of slot"))
            .help(format!("as in worker files: {}", resource::labels())));
    }
    worker_files::parse(&Bundle {
        name: "asked".to_owned(),
        file: "asked.worker".to_owned(),
        source: format!("---\nslots: {{ {slot}: {kind} }}\n---\nAsked for.\n"),
        includes: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use resource::mcp::{DEFAULT_CALL_TIMEOUT_MS, ServerTransport, ToolServer};
    use resource::web::{Place, Web};
    use resource::{KINDS, Resource};

    use super::*;

    fn part_of_the_web() -> Web {
        Web {
            places: vec![Place::parse("https://a.example").unwrap()],
            methods: ["GET".to_owned()].into(),
            secret: None,
            idempotency: None,
            address: None,
        }
    }

    #[test]
    fn name_of_tool_server_fills_slot_without_kind() {
        let line = ServerTransport::Web(Box::new(part_of_the_web()));
        let server = ToolServer {
            name: "s".to_owned(),
            line,
            tools: vec![],
            call_ms: DEFAULT_CALL_TIMEOUT_MS,
            start_ms: 1,
            headers: Default::default(),
            query: String::new(),
        };
        assert_eq!(kind_of(&Formula::Resource(Resource::Mcp(Box::new(server)))), Some(Kind::Mcp));
        assert_eq!(kind_of(&Formula::Resource(Resource::Web(part_of_the_web()))), Some(Kind::Http));
        assert_eq!(kind_of(&Formula::Resource(Resource::directory("/d"))), Some(Kind::Dir { write: true }));
    }

    #[test]
    fn name_of_secret_or_self_fills_no_slot() {
        let secret = resource::SecretHandle { name: "K".to_owned(), ..Default::default() };
        for formula in [
            Formula::Resource(Resource::Secret(secret)),
            Formula::Resource(Resource::Questions),
            Formula::Myself,
        ] {
            assert_eq!(kind_of(&formula), None);
        }
    }

    #[test]
    fn unknown_kind_is_answered_with_every_kind() {
        let failure = single_slot_worker("x", "directory").unwrap_err();
        for row in KINDS {
            assert!(failure.help.contains(&format!("`{}`", row.label)), "{}", failure.help);
            assert!(single_slot_worker("x", row.label).is_ok(), "{}", row.label);
        }
    }
}
