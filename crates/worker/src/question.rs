//! Questions from a run to its person. Each is a form in the inbox, and the run waits for the answer without a time
//! limit.

use kernel::command::Move;
use kernel::message::Field;
use kernel::proposal::Finding;
use kernel::run::{Completion, Trouble};
use kernel::slot::Requirement;
use kernel::started_effect::StartedEffect;
use kernel::{Interface, Method, Param, Pattern, Value};
use passable::{Effect, Limit, Limits, Untrusted, visible_line};
use policy::Facts;

use crate::definition;
use crate::trouble::internal;

/// The name of the only field in a question without a form.
const ANSWER: &str = "answer";

/// The maximum length of a question, and of the text of a choice, in characters.
const MAX_LEN: f64 = 2_000.0;

/// Returns the interface of a slot for questions.
pub(crate) fn interface() -> Interface {
    let text = || Pattern::string_within(Limits::from_pairs([(Limit::StringLength, MAX_LEN)]));
    let ask = Method::new("ask", Effect::Observe, "Asks the user one question and waits for the answer.")
        .param(Param::required("question", text(), "what you want to know, in one sentence"))
        .param(Param::optional("choices", Pattern::array_of(text()), "if only one of these is an answer"))
        .returns(Pattern::any_record());
    let form = Method::new("form", Effect::Observe, "Asks the user for several values at once and waits.")
        .param(Param::required("description", text(), "what they are for"))
        .param(Param::required(
            "fields",
            Pattern::any_record(),
            "by name what each value is: `string`, `date`, `1..5`, `yes|no`, or `{ pattern, label }`",
        ))
        .returns(Pattern::any_record());
    Interface::new("Questions", "asks the user").with(ask).with(form)
}

/// Returns the facts about a call that the gates check before the call is made.
pub(crate) fn facts(method: &str, args: &[Value]) -> Facts {
    let asked = args.first().and_then(Value::as_str).unwrap_or_default();
    let line = format!("asks you: {}", visible_line(asked));
    match fields(method, args) {
        Ok(_) => Facts { line, ..Facts::default() },
        Err(problem) => Facts { line, problems: vec![*problem], ..Facts::default() },
    }
}

/// Returns the move that asks the question of a begun call, or refuses the call.
pub(crate) fn question_move(begun: &StartedEffect) -> Result<Move, Trouble> {
    let proposal = begun.proposal();
    let asked =
        proposal.args.first().and_then(Value::as_str).ok_or_else(|| internal("a question has no text"))?;
    let step = begun.step().step;
    Ok(match fields(&proposal.method, &proposal.args) {
        Ok(fields) => Move::Ask { proposal: step, description: Untrusted::new(asked), fields },
        Err(problem) => Move::Complete { proposal: step, completion: Completion::Refused(vec![*problem]) },
    })
}

fn fields(method: &str, args: &[Value]) -> Result<Vec<Field>, Box<Finding>> {
    let wrong = |message: String, allowed: &str| {
        Box::new(Finding::new("question/fields", message).at("fields").allowed(allowed.to_owned()))
    };
    if method == "ask" {
        let choices: Vec<&str> = args
            .get(1)
            .and_then(Value::as_array)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let pattern = match choices.as_slice() {
            [] => Pattern::string(),
            [_] => {
                return Err(wrong("one choice is none".to_owned(), "at least two choices, or none at all"));
            }
            several => Pattern::one_of(several.iter().copied()),
        };
        return Ok(vec![field(ANSWER, "", &pattern)]);
    }
    let json = args.get(1).map(|fields| fields.to_json().to_string()).unwrap_or_default();
    let (parsed, problems) = definition::parse_fields(&json);
    if let Some(problem) = problems.first() {
        let help = problem.help.clone().unwrap_or_else(|| "a record of patterns by name".to_owned());
        return Err(wrong(problem.message.clone(), &help));
    }
    if parsed.iter().any(|field| field.secret) {
        return Err(wrong("secrets are not asked for".to_owned(), "fields that are no secrets"));
    }
    if let Some(field) = parsed.iter().find(|field| Requirement::has_capability(&field.pattern)) {
        let message =
            format!("only data can be asked for, and `{}` asks for more", visible_line(&field.name));
        return Err(wrong(message, "patterns of data"));
    }
    Ok(parsed
        .into_iter()
        .map(|given| Field {
            default: given.default.clone(),
            example: given.example.clone(),
            ..field(&given.name, given.label.as_deref().unwrap_or_default(), &given.pattern)
        })
        .collect())
}

fn field(name: &str, label: &str, pattern: &Pattern) -> Field {
    Field {
        name: name.to_owned(),
        label: Untrusted::new(label),
        pattern: pattern.to_value(),
        default: None,
        example: None,
        secret: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(json: &str) -> Value {
        Value::from_json(&serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn question_becomes_fields_or_a_finding() {
        let question = || Value::string("Which one?");
        let of = |fields: &str| fields_of("form", &[question(), record(fields)]);
        assert_eq!(fields_of("ask", &[question()]), Ok(vec!["answer".to_owned()]));
        assert_eq!(fields_of("ask", &[question(), record(r#"["a", "b"]"#)]), Ok(vec!["answer".to_owned()]));
        assert!(fields_of("ask", &[question(), record(r#"["a"]"#)]).is_err());
        assert_eq!(of(r#"{"age": "0..150", "ok": "yes|no"}"#), Ok(vec!["age".to_owned(), "ok".to_owned()]));
        for wrong in [
            "{}",
            r#"{"a": "strin g("}"#,
            r#"{"key": {"pattern": "string", "secret": true}}"#,
            r#"{"d": "dir"}"#,
            r#"{"d": ["dir rw"]}"#,
            r#"{"d": "string", "e": {"pattern": {"f": {"g": "outbox"}}}}"#,
            r#"{"d": {"pattern": {"f?": "worker"}}}"#,
            r#"{"d": "M.or(M.string(), M.arrayOf(M.remotable()))"}"#,
            r#"{"d": "M.promise()"}"#,
        ] {
            assert!(of(wrong).is_err(), "{wrong}: {:?}", of(wrong));
        }
    }

    fn fields_of(method: &str, args: &[Value]) -> Result<Vec<String>, String> {
        fields(method, args)
            .map(|fields| fields.into_iter().map(|field| field.name).collect())
            .map_err(|finding| finding.message)
    }
}
