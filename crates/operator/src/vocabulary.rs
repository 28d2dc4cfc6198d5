//! The vocabulary of policies: the schema, which is made from the interfaces.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use cedar_policy::{EntityId, EntityTypeName, EntityUid, Schema};
use kernel::Interface;
use policy::Subject;
use serde_json::Value as Json;

/// The parts of a call's context that do not depend on its method. Each has a name and a type, and is always present
/// or not.
const FACTS: &[(&str, &str, bool)] = &[
    ("effect", "String", true),
    ("caller", "String", true),
    ("slot", "String", true),
    ("untrusted", "Bool", true),
    ("sources", "Set<String>", true),
    ("replaces", "Bool", true),
    ("tells", "Bool", true),
    ("path", "String", false),
    ("file", "String", false),
    ("bytes", "Long", false),
    ("scheme", "String", false),
    ("host", "String", false),
    ("port", "Long", false),
    ("verb", "String", false),
    ("route", "String", false),
    ("program", "String", false),
    ("command", "String", false),
    ("argv", "Set<String>", false),
];

/// One kind of object on which calls are made.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'a> {
    /// The name that worker files use for the kind, such as `dir`.
    pub name: &'a str,
    /// The interface of the kind, with its methods.
    pub interface: &'a Interface,
    /// The attribute that holds an object's name: `path` for directories, `name` for most others.
    pub attribute: &'static str,
}

/// The type that a parameter has in policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Integer,
    Bool,
    Texts,
}

/// A method as policies know it.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) uid: EntityUid,
    pub(crate) group: EntityUid,
    pub(crate) resource: EntityTypeName,
    pub(crate) attribute: &'static str,
    pub(crate) effect: passable::Effect,
    /// The parameters in the order of the arguments, each with its type and whether it is optional. `None` stands for
    /// a parameter that policies cannot see.
    pub(crate) params: Vec<(String, Option<Type>, bool)>,
}

/// The schema for policies, with all methods that they can name.
#[derive(Debug)]
pub struct Vocabulary {
    pub(crate) schema: Schema,
    pub(crate) actions: BTreeMap<String, Action>,
    pub(crate) worker: EntityTypeName,
    text: String,
}

impl Vocabulary {
    /// Returns the vocabulary of these kinds of objects.
    ///
    /// # Errors
    ///
    /// When a name cannot be a name in Cedar, or a kind occurs twice. The kinds are part of the program, so this is a
    /// fault of the program.
    pub fn of(kinds: &[Kind<'_>]) -> Result<Vocabulary, String> {
        let mut text = String::from("entity Worker = { name: String };\n");
        let mut actions = BTreeMap::new();
        let mut seen = HashSet::from(["worker".to_owned()]);
        for kind in kinds {
            let type_name = capital(kind.name);
            if seen.insert(kind.name.to_owned()) {
                let _ = writeln!(text, "entity {type_name} = {{ {}: String }};", kind.attribute);
            } else if kind.name != "worker" {
                return Err(format!("the kind `{}` is there twice", kind.name));
            }
            let _ = writeln!(text, "action {:?};", kind.name);
            for method in &kind.interface.methods {
                let name = format!("{}.{}", kind.name, method.name);
                let mut params = Vec::new();
                let mut fields = String::new();
                for param in &method.params {
                    let pattern = param.pattern.as_optional().unwrap_or(&param.pattern);
                    let seen_as = type_of(&pattern.to_json_schema());
                    let optional = param.is_optional();
                    if let Some(seen_as) = seen_as {
                        let mark = if optional { "?" } else { "" };
                        let _ = write!(fields, " {:?}{mark}: {},", param.name, seen_as.in_cedar());
                    }
                    params.push((param.name.clone(), seen_as, optional));
                }
                let facts: String = FACTS
                    .iter()
                    .map(|(name, kind, always)| {
                        format!("  {name}{}: {kind},\n", if *always { "" } else { "?" })
                    })
                    .collect();
                let _ = writeln!(
                    text,
                    "action {name:?} in [{:?}] appliesTo {{\n principal: [Worker], resource: [{type_name}],\n \
                     context: {{\n{facts}  args: {{{fields} }}\n }}\n}};",
                    kind.name
                );
                actions.insert(
                    name.clone(),
                    Action {
                        uid: action(&name)?,
                        group: action(kind.name)?,
                        resource: parse(&type_name)?,
                        attribute: kind.attribute,
                        effect: method.effect,
                        params,
                    },
                );
            }
        }
        let (schema, _) = Schema::from_cedarschema_str(&text).map_err(|e| e.to_string())?;
        Ok(Vocabulary { schema, actions, worker: parse("Worker")?, text })
    }

    /// Returns the names of all actions: the methods, and the kinds that group them.
    pub(crate) fn action_names(&self) -> impl Iterator<Item = &str> {
        let kinds = self.actions.keys().filter_map(|name| Some(name.split_once('.')?.0));
        self.actions.keys().map(String::as_str).chain(kinds)
    }

    /// Returns the schema in Cedar's own form, for editors and other tools.
    pub fn schema(&self) -> &str {
        &self.text
    }

    /// Returns a policy that lets a worker call a method of an object without a question to a person, for the
    /// operator to write down. Returns `None` if policies cannot express that.
    pub fn permit(&self, worker: &str, on: &Subject, method: &str) -> Option<String> {
        // In policies, the tools of a server are one method.
        let tool = (on.kind == "mcp").then_some(method);
        let method = tool.map_or(method, |_| "call");
        let action = self.actions.get(&format!("{}.{method}", on.kind))?;
        let (first, more) = on.names.split_first()?;
        let mut when = Vec::new();
        let resource = match more.is_empty() {
            true => format!("resource == {}::{first:?}", action.resource),
            // The object has several names, and each is judged.
            false => {
                when.push(format!("{:?}.contains(resource.{})", on.names, action.attribute));
                "resource".to_owned()
            }
        };
        when.extend(tool.map(|tool| format!("context.args.tool == {tool:?}")));
        let when = match when.is_empty() {
            true => String::new(),
            false => format!(" when {{ {} }}", when.join(" && ")),
        };
        let action = format!("Action::\"{}.{method}\"", on.kind);
        Some(format!("permit (principal == Worker::{worker:?}, action == {action}, {resource}){when};"))
    }

    /// Returns the names of all methods, such as `dir.write`.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.actions.keys().map(String::as_str)
    }
}

impl Type {
    fn in_cedar(self) -> &'static str {
        match self {
            Type::Text => "String",
            Type::Integer => "Long",
            Type::Bool => "Bool",
            Type::Texts => "Set<String>",
        }
    }
}

/// Returns the type that values of a schema have in policies, if they have one.
fn type_of(schema: &Json) -> Option<Type> {
    match schema.get("type").and_then(Json::as_str) {
        Some("string") => Some(Type::Text),
        Some("integer" | "number") => Some(Type::Integer),
        Some("boolean") => Some(Type::Bool),
        Some("array") => (schema.get("items").and_then(type_of) == Some(Type::Text)).then_some(Type::Texts),
        None => {
            let of = |values: &Vec<Json>| values.iter().all(Json::is_string).then_some(Type::Text);
            schema.get("enum").and_then(Json::as_array).and_then(of)
        }
        Some(_) => None,
    }
}

fn action(name: &str) -> Result<EntityUid, String> {
    Ok(EntityUid::from_type_name_and_id(parse("Action")?, EntityId::new(name)))
}

fn parse(name: &str) -> Result<EntityTypeName, String> {
    name.parse().map_err(|e| format!("{e}"))
}

/// Returns the name of a kind as a type: `dir` becomes `Dir`.
fn capital(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
