//! A call as a request to Cedar.

use std::collections::{HashMap, HashSet};

use cedar_policy::{Context, Entities, Entity, EntityId, EntityUid, Request, RestrictedExpression, Schema};

use crate::call::{Argument, Call, View};
use crate::vocabulary::{Action, Vocabulary};

/// A request to Cedar, and the entities that Cedar needs for it.
pub(crate) struct CedarRequest {
    pub(crate) request: Request,
    pub(crate) entities: Entities,
}

/// Returns one view of a call as a request. With `strict`, Cedar checks the request against the schema, which tests
/// and examples need.
pub(crate) fn ask(
    vocabulary: &Vocabulary,
    action: &Action,
    call: &Call,
    view: View<'_>,
    strict: bool,
) -> Result<CedarRequest, String> {
    let principal = EntityUid::from_type_name_and_id(vocabulary.worker.clone(), EntityId::new(&call.worker));
    let resource = EntityUid::from_type_name_and_id(action.resource.clone(), EntityId::new(view.name));
    let mut entities = vec![
        Entity::new_no_attrs(action.uid.clone(), HashSet::from([action.group.clone()])),
        named(principal.clone(), "name", &call.worker)?,
    ];
    // A worker that calls itself is a single entity.
    if resource != principal {
        entities.push(named(resource.clone(), action.attribute, view.name)?);
    }
    let entities = Entities::from_entities(entities, None).map_err(|e| e.to_string())?;
    let context = context(call, view)?;
    let schema: Option<&Schema> = strict.then_some(&vocabulary.schema);
    let request =
        Request::new(principal, action.uid.clone(), resource, context, schema).map_err(|e| e.to_string())?;
    Ok(CedarRequest { request, entities })
}

fn named(uid: EntityUid, attribute: &str, name: &str) -> Result<Entity, String> {
    let attributes = HashMap::from([(attribute.to_owned(), text(name))]);
    Entity::new(uid, attributes, HashSet::new()).map_err(|e| e.to_string())
}

fn context(call: &Call, view: View<'_>) -> Result<Context, String> {
    let whole = RestrictedExpression::new_long;
    let always = [
        ("effect", text(&call.effect)),
        ("caller", text(&call.caller)),
        ("slot", text(&call.slot)),
        ("untrusted", RestrictedExpression::new_bool(call.untrusted)),
        ("sources", texts(&call.sources)),
        ("replaces", RestrictedExpression::new_bool(call.replaces)),
        ("tells", RestrictedExpression::new_bool(call.tells)),
    ];
    // A number that is too large becomes the largest possible number.
    let bytes = call.bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    let server = view.server;
    let part = |part: fn(&crate::call::Server) -> Option<&String>| server.and_then(part).map(|s| text(s));
    let sometimes = [
        ("path", view.path.map(text)),
        ("file", view.path.map(|path| text(&below(view.name, path)))),
        ("bytes", bytes.map(whole)),
        ("scheme", part(|server| server.scheme.as_ref())),
        ("host", part(|server| server.host.as_ref())),
        ("port", server.and_then(|server| server.port).map(whole)),
        ("verb", part(|server| server.verb.as_ref())),
        ("route", part(|server| server.route.as_ref())),
        ("program", call.program.as_deref().map(text)),
        ("command", call.command().as_deref().map(text)),
        ("argv", call.argv.as_ref().map(texts)),
    ];
    let args = call.args.iter().map(|(name, argument)| {
        let seen = match argument {
            Argument::Text(one) => text(one),
            Argument::Integer(number) => whole(*number),
            Argument::Bool(one) => RestrictedExpression::new_bool(*one),
            Argument::Texts(all) => texts(all),
        };
        (name.clone(), seen)
    });
    let args = RestrictedExpression::new_record(args).map_err(|e| e.to_string())?;
    let sometimes = sometimes.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let pairs = always.into_iter().chain(sometimes).chain([("args", args)]);
    Context::from_pairs(pairs.map(|(name, value)| (name.to_owned(), value))).map_err(|e| e.to_string())
}

/// Returns the path of a file below a directory.
fn below(root: &str, path: &str) -> String {
    match path {
        "" | "." => root.to_owned(),
        path => format!("{}/{path}", root.trim_end_matches('/')),
    }
}

fn text(text: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(text.to_owned())
}

fn texts<'a>(all: impl IntoIterator<Item = &'a String>) -> RestrictedExpression {
    RestrictedExpression::new_set(all.into_iter().map(|one| text(one)))
}
