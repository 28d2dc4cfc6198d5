//! The tools of a server as methods, and the guards that check their arguments.
//!
//! A schema becomes a pattern, property by property, as far as patterns can express it. Everything else passes to the
//! server, which checks its own arguments anyway. The model sees the server's own schema, in which hidden characters
//! are made visible.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::{Effect, visible, visible_line};
use resource::mcp::{PinnedTool, ToolServer};
use serde_json::{Map, Value as Json};

use super::argument_fields::{ArgumentFields, sound};

/// The name under which users see the arguments that a schema allows without naming them.
const OTHERS: &str = "other arguments";

/// The maximum length of a description that a model is shown, in bytes. `MAX_SCHEMA_LEN` is that of a schema.
const MAX_DESCRIPTION_LEN: usize = 32 << 10;
const MAX_SCHEMA_LEN: usize = 64 << 10;

/// Returns the one interface by which policies know every server: a server and one of its tools.
pub(crate) fn any() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        Interface::new("Mcp", "tools of a server").with(
            Method::new("call", Effect::Commit, "Calls a tool of the server.")
                .param(Param::required("tool", Pattern::string(), "the tool"))
                .param(Param::optional("arguments", Pattern::any(), "what it is told")),
        )
    });
    &INTERFACE
}

/// Returns the interface with the tools that the user named.
pub(crate) fn interface(server: &ToolServer) -> Interface {
    let about = format!("tools of the server {}", visible_line(&server.name));
    server.tools.iter().map(method).fold(Interface::new("Mcp", about), Interface::with)
}

fn method(tool: &PinnedTool) -> Method {
    let schema: Json = serde_json::from_str(tool.schema.raw()).unwrap_or(Json::Null);
    let fields = ArgumentFields::of(&schema);
    let (mut params, mut optional) = (Vec::new(), Vec::new());
    for (name, property) in &fields.properties {
        let pattern = pattern(&schema, property);
        match fields.required.contains(name) {
            true => params.push(Param::required(name, pattern, "")),
            false => optional.push(Param::optional(name, pattern, "")),
        }
    }
    let unlisted = fields.required.iter().filter(|name| !fields.properties.contains_key(*name));
    params.extend(unlisted.map(|name| Param::required(name, Pattern::any(), "")));
    params.extend(optional);
    if let Some(others) = &fields.others {
        let pattern = match others {
            Json::Object(_) => Pattern::record_of(Pattern::string(), pattern(&schema, others)),
            _ => Pattern::any_record(),
        };
        params.push(Param::rest(OTHERS, pattern, ""));
    }
    Method { params, ..Method::new(&tool.method, tool.effect, tool.description.visible()) }
        .returns(Pattern::any())
}

/// Returns the pattern that an argument must match. References in its schema lead into `whole`, the schema of all
/// arguments.
fn pattern(whole: &Json, property: &Json) -> Pattern {
    let Json::Object(own) = property else { return Pattern::any() };
    let mut own = own.clone();
    for part in ["$defs", "definitions"] {
        if let (Some(shared), false) = (whole.get(part), own.contains_key(part)) {
            own.insert(part.to_owned(), shared.clone());
        }
    }
    Pattern::from_json_schema(&Json::Object(own)).unwrap_or_else(|_| Pattern::any())
}

/// Returns the schema that a model is shown: an object with its fields at the top, without parts that are no schemas,
/// in which hidden characters are made visible.
pub(super) fn shown_schema(tool: &PinnedTool) -> Option<Json> {
    const COMPOSED: [&str; 7] = ["$ref", "allOf", "anyOf", "oneOf", "if", "then", "else"];
    let schema: Json = serde_json::from_str(tool.schema.raw()).ok()?;
    let mut sound = sound(&schema);
    // The servers of models reject a schema that is composed at its top.
    if let Json::Object(object) = &mut sound
        && COMPOSED.iter().any(|key| object.contains_key(*key))
    {
        let fields = ArgumentFields::of(&schema);
        object.retain(|key, _| !COMPOSED.contains(&key.as_str()));
        object.insert("properties".to_owned(), fields.properties.into_iter().collect());
        object.insert("required".to_owned(), fields.required.into_iter().collect());
        object.extend(fields.others.map(|others| ("additionalProperties".to_owned(), others)));
    }
    let Json::Object(object) = plain(&sound)? else { return None };
    let mut shown = Map::from_iter([("type".to_owned(), Json::from("object"))]);
    shown.extend(object.into_iter().filter(|(key, _)| !["type", "$schema", "$id"].contains(&key.as_str())));
    shown.entry("properties").or_insert_with(|| Json::Object(Map::new()));
    Some(Json::Object(shown))
}

/// Returns the schema with every text made visible. Returns `None` if a name contains hidden characters, because a
/// name is sent back unchanged.
fn plain(json: &Json) -> Option<Json> {
    Some(match json {
        Json::String(text) => Json::from(visible(text)),
        Json::Array(items) => Json::Array(items.iter().map(plain).collect::<Option<_>>()?),
        Json::Object(fields) => Json::Object(
            fields
                .iter()
                .map(|(name, value)| (visible_line(name) == *name).then_some((name.clone(), plain(value)?)))
                .collect::<Option<_>>()?,
        ),
        other => other.clone(),
    })
}

/// Returns the reason why a tool cannot be handed over, or `None` if it can. A name or an argument may contain hidden
/// characters, or a text may be too long.
pub(super) fn unfit(told: &resource::mcp::ToolDefinition) -> Option<String> {
    let hidden = |name: &str| visible_line(name) != name;
    if told.name.is_empty() || told.name.len() > 128 || hidden(&told.name) {
        return Some("its name is not a plain short word".to_owned());
    }
    if !told.input.is_object() {
        return Some("the schema of its arguments is no object".to_owned());
    }
    let described = told.description.as_ref().map_or(0, String::len);
    if described > MAX_DESCRIPTION_LEN || told.input.to_string().len() > MAX_SCHEMA_LEN {
        return Some("its description or the schema of its arguments is too long for a model".to_owned());
    }
    plain(&told.input).is_none().then(|| "the name of an argument has something hidden in it".to_owned())
}

#[cfg(test)]
mod tests {
    use resource::mcp::{ToolClass, ToolDefinition};
    use serde_json::json;

    use super::*;

    fn listed_tool(input: Json) -> ToolDefinition {
        ToolDefinition {
            name: "t".into(),
            title: None,
            description: Some("Lists.\u{200b}\u{1b}[8m".into()),
            input,
            output: None,
            hints: Some(json!({ "readOnlyHint": true })),
        }
    }

    #[test]
    fn schemas_become_guards_as_far_as_patterns_allow() {
        let schema = json!({
            "type": "object",
            "properties": {
                "owner": { "type": "string", "description": "who" },
                "count": { "type": "integer", "minimum": 1 },
                "tag": { "type": "string", "pattern": "^[a-z]+$" },
                "item": { "$ref": "#/$defs/item" },
            },
            "required": ["owner", "more"],
            "$defs": { "item": { "type": "object", "properties": { "n": { "type": "number" } } } },
        });
        let method = method(&listed_tool(schema).pin(ToolClass::Sends));
        assert_eq!(method.effect, Effect::Commit, "hints loosen nothing");
        let names: Vec<_> = method.params.iter().map(|p| (p.name.as_str(), p.optional)).collect();
        assert_eq!(
            names,
            [("owner", false), ("more", false), ("count", true), ("item", true), ("tag", true)]
        );
        let fits = |json: Json| method.arguments_from_json(&json).is_ok();
        assert!(fits(json!({ "owner": "a", "more": [1], "tag": "b", "count": 3, "item": { "n": 1 } })));
        for wrong in [
            json!({ "owner": "a" }),
            json!({ "owner": 1, "more": 1 }),
            json!({ "owner": "a", "more": 1, "count": 0 }),
            json!({ "owner": "a", "more": 1, "item": { "n": "x" } }),
            json!({ "owner": "a", "more": 1, "other": 1 }),
        ] {
            assert!(!fits(wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn free_fields_are_taken_as_one_record() {
        let method = |schema: Json| method(&listed_tool(schema).pin(ToolClass::Sends));
        let free =
            method(json!({ "properties": { "a": { "type": "string" } }, "additionalProperties": true }));
        let read = free.arguments_from_json(&json!({ "a": "x", "colour": "red", "n": [1] })).unwrap();
        assert_eq!(read.last().unwrap().to_json(), json!({ "colour": "red", "n": [1] }));
        assert!(free.arguments_from_json(&json!({ "a": 7 })).is_err());
        // `a` keeps its place where it is left out.
        let read = free.arguments_from_json(&json!({ "colour": "red" })).unwrap();
        assert_eq!((read.len(), &read[0]), (2, &kernel::proposal::Value::Undefined));
        assert_eq!(free.signature(), "t(a?: text, …) → anything");
        let typed = method(json!({ "properties": {}, "additionalProperties": { "type": "integer" } }));
        assert!(typed.arguments_from_json(&json!({ "n": 1 })).is_ok());
        assert!(typed.arguments_from_json(&json!({ "n": "x" })).is_err());
    }

    #[test]
    fn composed_schema_is_shown_to_models_without_its_composition() {
        let schema = json!({
            "anyOf": [{ "$ref": "#/$defs/by_id" }, { "properties": { "name": { "type": "string" } }, "required": ["name"] }],
            "$defs": { "by_id": { "properties": { "id": { "type": "integer" } }, "required": ["id"] } },
        });
        let shown = shown_schema(&listed_tool(schema).pin(ToolClass::Sends)).unwrap();
        assert_eq!(shown["type"], "object");
        assert_eq!(shown["properties"], json!({ "id": { "type": "integer" }, "name": { "type": "string" } }));
        assert!(shown.get("anyOf").is_none() && shown["required"] == json!([]), "{shown}");
    }

    #[test]
    fn hidden_characters_never_reach_a_model() {
        let hidden = json!({ "properties": { "a": { "description": "x\u{e0041}" } }, "$schema": "s" });
        let pinned = listed_tool(hidden).pin(ToolClass::Sends);
        assert_eq!(method(&pinned).description, "Lists.\\u{200B}\\u{1B}[8m");
        assert_eq!(
            shown_schema(&pinned),
            Some(json!({ "type": "object", "properties": { "a": { "description": "x\\u{E0041}" } } }))
        );
        assert!(unfit(&listed_tool(json!({ "properties": { "a\u{200b}": {} } }))).is_some());
        assert!(unfit(&listed_tool(json!({ "properties": { "a": {} } }))).is_none());
        assert!(unfit(&ToolDefinition { name: "a\u{202e}".into(), ..listed_tool(json!({})) }).is_some());
        assert!(
            unfit(&ToolDefinition { description: Some("x".repeat(33 << 10)), ..listed_tool(json!({})) })
                .is_some()
        );
        assert!(
            unfit(&listed_tool(json!({ "properties": { "a": { "const": "x".repeat(65 << 10) } } })))
                .is_some()
        );
    }

    #[test]
    fn unusual_schemas_are_read_without_panic() {
        for schema in
            [json!({}), json!({ "properties": 1, "required": 2 }), json!({ "properties": { "a": 1 } })]
        {
            method(&listed_tool(schema).pin(ToolClass::Sends));
        }
        let mut deep = json!({ "type": "string" });
        for _ in 0..100 {
            deep = json!({ "type": "array", "items": deep });
        }
        method(
            &listed_tool(json!({ "properties": { "a": deep, "b": { "$ref": "#" } } })).pin(ToolClass::Sends),
        );
    }
}
