//! Define, endow, form, submit, evaluate: programs that agents propose to one another, and forms that they fill in.

use std::collections::BTreeMap;

use passable::{Matcher, Record, Untrusted};

use super::args::{self, Args, field};
use super::plan::{Need, ParseWorker, Plan, Seal, StartWorker, Then};
use super::refusal::Refusal;
use crate::Pattern;
use crate::command::{Define, Fault, FieldValue, Form, MailAct, Text};
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber};
use crate::message::{Body, Field};
use crate::name::NamePath;
use crate::name_lookup::{PathTarget, View};
use crate::proposal::Value;
use crate::query;
use crate::run::{Program, ResultGoesTo};
use crate::slot::{Requirement, Slot};
use crate::table;
use crate::txn::ReadTxn;

/// The beginning of every worker file. No meaningful code begins so.
const WORKER_FILE: &str = "---";

/// Returns the plan for a call about programs and forms; `None` for any other method.
pub(super) fn plan(
    txn: &mut dyn ReadTxn,
    view: View,
    method: &str,
    args: Args<'_>,
) -> Result<Option<Plan>, Refusal> {
    let agent = view.agent;
    let act = match method {
        "define" => return define(agent, args).map(Some),
        "form" => MailAct::Form(form(args)?),
        "submit" => return submit(txn, agent, args).map(Some),
        "endow" => return endow(txn, view, args).map(Some),
        "grantEvaluate" => {
            MailAct::Grant { number: args.number(0)?, goes_to: goes_to(args.options(1, &["resultGoesTo"])?)? }
        }
        "requestEvaluation" => MailAct::RequestEvaluation {
            source: args.untrusted(0)?,
            names: args.texts(1)?,
            paths: args.paths(2)?,
            result_name: args.maybe_path(3)?,
        },
        "evaluate" => MailAct::Evaluate {
            vat: place(txn, view, args, 0)?,
            source: args.untrusted(1)?,
            names: args.texts(2)?,
            paths: args.paths(3)?,
            result_name: args.maybe_path(4)?,
        },
        _ => return Ok(None),
    };
    Ok(Some(Plan::mail(agent, act, Then::Promise)))
}

fn define(agent: FormulaId, args: Args<'_>) -> Result<Plan, Refusal> {
    let source = args.untrusted(0)?;
    let slots = slots(args.record(1)?)?;
    let is_worker = source.raw().starts_with(WORKER_FILE);
    if is_worker && !slots.is_empty() {
        return Err(Refusal::Argument("a worker file says itself what its slots are".to_owned()));
    }
    let define = Define {
        to: NamePath::new(["@host"])?,
        program: Text { source, worker: None, slots },
        result_name: args.maybe_path(2)?,
    };
    Ok(match is_worker {
        true => Plan::need(Need::ParseWorker(ParseWorker { actor: agent, define })),
        false => Plan::mail(agent, MailAct::Define(define), Then::Promise),
    })
}

fn slots(record: &Record<FormulaId>) -> Result<BTreeMap<String, Slot>, Refusal> {
    let slot = |(name, value): &(passable::Text, Value)| {
        let name = args::text(&Value::String(name.clone()))?;
        let record = args::record(value, &format!("slot {name:?}"))?;
        args::expect_only(record, &["label", "pattern"], "slot part")?;
        let slot = Slot { label: label(record, &name)?, pattern: pattern(record, Pattern::any) };
        Ok((name, slot))
    };
    record.iter().map(slot).collect()
}

/// Returns the label that a person reads, or the name if there is no label.
fn label(record: &Record<FormulaId>, name: &str) -> Result<Untrusted, Refusal> {
    match field(record, "label") {
        Some(label) => args::text(label).map(Untrusted::new),
        None => Ok(Untrusted::new(name)),
    }
}

fn pattern(record: &Record<FormulaId>, otherwise: fn() -> Pattern) -> Value {
    field(record, "pattern").cloned().unwrap_or_else(|| otherwise().to_value())
}

fn form(args: Args<'_>) -> Result<Form, Refusal> {
    let to = args.path(0)?;
    let (description, fields, next) = match args.get(1) {
        Some(Value::Record(form)) => {
            args::expect_only(form, &["description", "fields"], "form part")?;
            let description = field(form, "description").map_or(Ok(String::new()), args::text)?;
            let fields = field(form, "fields").unwrap_or(&Value::Undefined);
            (Untrusted::new(description), fields, 2)
        }
        _ => (args.untrusted(1)?, args.get(2).unwrap_or(&Value::Undefined), 3),
    };
    let fields = match fields {
        Value::Array(fields) => fields.iter().map(|value| form_field(None, value)).collect(),
        Value::Record(fields) => fields
            .iter()
            .map(|(name, value)| form_field(Some(args::text(&Value::String(name.clone()))?), value))
            .collect(),
        _ => Err(Refusal::Argument("the fields of a form are an array or a record of records".to_owned())),
    }?;
    let options = args.options(next + 1, &["repeatable"])?;
    let repeatable = options.and_then(|options| field(options, "repeatable")).map(|value| {
        value.as_bool().ok_or_else(|| Refusal::Argument("repeatable must be a boolean".to_owned()))
    });
    Ok(Form {
        to,
        description,
        fields,
        repeatable: repeatable.transpose()?.unwrap_or(false),
        result_name: args.maybe_path(next)?,
    })
}

fn form_field(name: Option<String>, value: &Value) -> Result<Field, Refusal> {
    let record = args::record(value, "a field")?;
    let known = ["name", "label", "example", "default", "pattern", "secret"];
    // If the record's key is the name of the field, the field does not give its name again.
    args::expect_only(record, if name.is_some() { &known[1..] } else { &known }, "field part")?;
    let name = match (name, field(record, "name")) {
        (Some(name), _) => name,
        (None, Some(name)) => args::text(name)?,
        (None, None) => return Err(Refusal::Argument("a field must have a name".to_owned())),
    };
    Ok(Field {
        label: label(record, &name)?,
        pattern: pattern(record, Pattern::string),
        default: field(record, "default").cloned(),
        example: field(record, "example").cloned(),
        secret: field(record, "secret").is_some_and(|secret| secret.as_bool() == Some(true)),
        name,
    })
}

fn submit(txn: &mut dyn ReadTxn, agent: FormulaId, args: Args<'_>) -> Result<Plan, Refusal> {
    let number = args.number(0)?;
    let given = args.record(1)?;
    // The command itself reports any fault of the message.
    let fields = match query::message(txn, &agent, number)?.and_then(|letter| letter.message) {
        Some(message) => match message.body {
            Body::Form { fields, .. } => fields,
            _ => vec![],
        },
        None => vec![],
    };
    let (mut values, mut secrets) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in given.iter().filter(|(_, value)| !matches!(value, Value::Undefined)) {
        let name = args::text(&Value::String(name.clone()))?;
        let field = fields.iter().find(|field| field.name == name);
        match field {
            Some(field) if field.secret => {
                secrets.insert(name, secret(field, value)?);
            }
            _ => {
                values.insert(name, filled(field, value)?);
            }
        }
    }
    Ok(match secrets.is_empty() {
        true => Plan::mail(agent, MailAct::Submit { number, values }, Then::Nothing),
        false => Plan::need(Need::Seal(Seal { secrets, actor: agent, number, values })),
    })
}

fn pattern_of(field: &Field) -> Result<Pattern, Refusal> {
    Pattern::from_value(&field.pattern).map_err(|complaint| Refusal::Argument(complaint.to_string()))
}

/// Returns the text of a secret. The pattern is checked now, because a sealed secret cannot be checked.
fn secret(field: &Field, value: &Value) -> Result<Untrusted, Refusal> {
    let named = format!("field {:?}", field.name);
    pattern_of(field)?.check_named(&named, value).map_err(Box::new)?;
    match value.as_str() {
        Some(text) => Ok(Untrusted::new(text)),
        None => Err(Refusal::Argument(format!("{named} is secret: it must be text"))),
    }
}

/// Returns whether a pattern accepts a capability and nothing else.
fn wants_capability(pattern: &Pattern) -> bool {
    let pattern = pattern.as_optional().unwrap_or(pattern);
    // A pattern `M.remotable()` without a label arrives as a pattern for a kind.
    let any = matches!(pattern.matcher(), Matcher::Kind(kind) if *kind == "remotable");
    any || Requirement::from_pattern(pattern) != Requirement::Pattern
}

/// Returns the content of a field. If the field asks for a capability, a text is the name of one.
fn filled(field: Option<&Field>, value: &Value) -> Result<FieldValue, Refusal> {
    let wants = match field {
        Some(field) => wants_capability(&pattern_of(field)?),
        None => false,
    };
    Ok(match value {
        Value::String(_) if wants => FieldValue::Name { path: NamePath::parse(&args::text(value)?)? },
        Value::Array(_) if wants => FieldValue::Name { path: args::path(value)? },
        _ => FieldValue::Value { value: value.clone() },
    })
}

fn endow(txn: &mut dyn ReadTxn, view: View, args: Args<'_>) -> Result<Plan, Refusal> {
    let number = args.number(0)?;
    let bind = |(name, value): &(passable::Text, Value)| {
        let name = args::text(&Value::String(name.clone()))?;
        match args::path(value) {
            Ok(path) => Ok((name, path)),
            Err(Refusal::Argument(what)) => Err(Refusal::Argument(format!("slot {name:?}: {what}"))),
            Err(refusal) => Err(refusal),
        }
    };
    let bindings = args.record(1)?.iter().map(bind).collect::<Result<BTreeMap<_, _>, _>>()?;
    let vat = place(txn, view, args, 2)?;
    let result_name = args.maybe_path(3)?;
    let goes_to = goes_to(args.options(4, &["resultGoesTo"])?)?;
    let actor = view.agent;
    Ok(match worker(txn, &actor, number)? {
        Some(worker) => {
            let need = StartWorker { actor, number, worker, bindings, goes_to, result_name };
            Plan::need(Need::StartWorker(need))
        }
        None => {
            let act = MailAct::EndowCode { number, bindings, vat, goes_to, result_name };
            Plan::mail(actor, act, Then::Promise)
        }
    })
}

/// Returns the worker that a message proposes, if there is one.
fn worker(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    number: MessageNumber,
) -> Result<Option<Program>, Refusal> {
    let message = query::message(txn, agent, number)?.and_then(|letter| letter.message);
    let Some(Body::Definition { definition, .. }) = message.map(|message| message.body) else {
        return Ok(None);
    };
    Ok(match table::formula(txn, &definition)?.map(|row| row.formula) {
        Some(Formula::Definition { worker, .. }) => worker,
        _ => None,
    })
}

fn goes_to(options: Option<&Record<FormulaId>>) -> Result<ResultGoesTo, Refusal> {
    match options.and_then(|options| field(options, "resultGoesTo")) {
        None => Ok(ResultGoesTo::default()),
        Some(value) => match value.as_str() {
            Some("guest-data") => Ok(ResultGoesTo::GuestData),
            Some("guest-capabilities") => Ok(ResultGoesTo::GuestCapabilities),
            Some("host") => Ok(ResultGoesTo::Host),
            _ => Err(Refusal::Argument(
                "resultGoesTo must be guest-data, guest-capabilities or host".to_owned(),
            )),
        },
    }
}

/// Returns the name of a vat, if one was given. The agent must have a name for the vat.
pub(super) fn place(
    txn: &mut dyn ReadTxn,
    view: View,
    args: Args<'_>,
    at: usize,
) -> Result<Option<NamePath>, Refusal> {
    if args.get(at).is_none() {
        return Ok(None);
    }
    let path = args.path(at)?;
    let id = match view.resolve(txn, &path) {
        Ok(PathTarget::Formula(id)) => id,
        Ok(PathTarget::Data(_)) => return Err(non_worker()),
        // Upstream makes a vat under an unknown name. Here, an unknown name is an error.
        Err(fault) => return Err(fault.into()),
    };
    match table::reach(txn, &id)?.ok_or(Fault::Dangling(id))?.formula {
        Formula::Vat { .. } => Ok(Some(path)),
        _ => Err(non_worker()),
    }
}

fn non_worker() -> Refusal {
    Refusal::Argument("Cannot evaluate using non-worker".to_owned())
}
