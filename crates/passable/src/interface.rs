//! Interfaces: the methods of a capability, as one description with several projections.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::guard::{ArgGuard, CallKind, InterfaceGuard, MethodGuard};
use crate::pattern::{Label, Mismatch, Pattern, Resolve};
use crate::text::Text;
use crate::value::{NoRef, Reference, Value};
use crate::visible::visible_line;

/// The effect of a call on the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The call only reads.
    Observe,
    /// The call changes something inside the capability's own scope, and can be undone.
    Modify,
    /// The call is visible outside or cannot be undone: it sends, spends, runs or publishes.
    Commit,
}

impl Effect {
    /// Returns the word that people read: *reads*, *changes* or *sends*.
    pub fn as_words(self) -> &'static str {
        match self {
            Effect::Observe => "reads",
            Effect::Modify => "changes",
            Effect::Commit => "sends",
        }
    }
}

/// One parameter of a method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "C: Reference + Serialize", deserialize = "C: Reference + Deserialize<'de>"))]
pub struct Param<C: Reference = NoRef> {
    /// The name, which is unique among the parameters of a method.
    pub name: String,
    /// The pattern that an argument must match.
    pub pattern: Pattern<C>,
    /// Whether the argument may be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether the argument is a record of all arguments that no other parameter names. At most one parameter of a
    /// method is so, and it comes last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rest: bool,
    /// The purpose of the parameter, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

impl<C: Reference> Param<C> {
    /// Returns a parameter that must be given.
    pub fn required(name: impl Into<String>, pattern: Pattern<C>, description: impl Into<String>) -> Self {
        Param { name: name.into(), pattern, optional: false, rest: false, description: description.into() }
    }

    /// Returns a parameter that may be left out.
    pub fn optional(name: impl Into<String>, pattern: Pattern<C>, description: impl Into<String>) -> Self {
        Param { name: name.into(), pattern, optional: true, rest: false, description: description.into() }
    }

    /// Returns a parameter for all arguments that no other parameter names. The pattern is that of their record, and
    /// the name is only shown.
    pub fn rest(name: impl Into<String>, pattern: Pattern<C>, description: impl Into<String>) -> Self {
        Param { rest: true, ..Param::optional(name, pattern, description) }
    }
}

/// One method of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "C: Reference + Serialize", deserialize = "C: Reference + Deserialize<'de>"))]
pub struct Method<C: Reference = NoRef> {
    /// The name, which is unique in the interface.
    pub name: String,
    /// The parameters in order. Those that may be left out come last.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<Param<C>>,
    /// The pattern that the result matches.
    pub returns: Pattern<C>,
    /// The effect of a call on the world.
    pub effect: Effect,
    /// The description of the method, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the capability can tell after a crash if a call has happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
}

/// The methods of a capability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "C: Reference + Serialize", deserialize = "C: Reference + Deserialize<'de>"))]
pub struct Interface<C: Reference = NoRef> {
    /// The name of the interface, such as `Dir`.
    pub name: String,
    /// The description of such a capability, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The methods, in the order in which users see them.
    pub methods: Vec<Method<C>>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// The name by which the model calls the tool.
    pub name: String,
    /// The description of the method.
    pub description: String,
    /// The JSON Schema of the object of arguments, by parameter name.
    pub parameters: Json,
}

impl<C: Reference> Method<C> {
    /// Returns a method without parameters that returns nothing.
    pub fn new(name: impl Into<String>, effect: Effect, description: impl Into<String>) -> Self {
        Method {
            name: name.into(),
            params: Vec::new(),
            returns: Pattern::undefined(),
            effect,
            description: description.into(),
            probe: false,
        }
    }

    /// Adds a parameter.
    pub fn param(mut self, param: Param<C>) -> Self {
        self.params.push(param);
        self
    }

    /// Sets the pattern of the result.
    pub fn returns(mut self, returns: Pattern<C>) -> Self {
        self.returns = returns;
        self
    }

    /// Returns the method with the mark that it has a probe, which tells after a crash if a call has happened.
    pub fn with_probe(mut self) -> Self {
        self.probe = true;
        self
    }

    /// Returns the guard of this method in Endo's terms. Calls are asynchronous.
    pub fn guard(&self) -> MethodGuard<C> {
        let guards = |optional: bool| {
            let some = self.params.iter().filter(move |param| param.optional == optional);
            some.map(|param| ArgGuard::Pattern(param.pattern.clone()))
        };
        let optional: Vec<_> = guards(true).collect();
        MethodGuard {
            kind: CallKind::Async,
            args: guards(false).collect(),
            optional: Some(optional).filter(|guards| !guards.is_empty()),
            rest: None,
            returns: ArgGuard::Pattern(self.returns.clone()),
        }
    }

    /// Returns the method as a tool for a model.
    pub fn tool_schema(&self, tool_name: &str) -> ToolSchema {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for param in self.params.iter().filter(|param| !param.rest) {
            let pattern = param.pattern.as_optional().unwrap_or(&param.pattern);
            let mut schema = pattern.to_json_schema();
            if let Json::Object(schema) = &mut schema {
                let own = schema.get("description").and_then(Json::as_str).map(str::to_owned);
                let told: Vec<String> =
                    [Some(param.description.clone()).filter(|text| !text.is_empty()), own]
                        .into_iter()
                        .flatten()
                        .collect();
                if !told.is_empty() {
                    schema.insert("description".to_owned(), Json::from(told.join("; ")));
                }
            }
            properties.insert(param.name.clone(), schema);
            if !param.is_optional() {
                required.push(Json::from(param.name.clone()));
            }
        }
        let takes_rest = self.params.iter().any(|param| param.rest);
        let mut parameters =
            json!({ "type": "object", "properties": properties, "additionalProperties": takes_rest });
        if let (false, Json::Object(parameters)) = (required.is_empty(), &mut parameters) {
            parameters.insert("required".to_owned(), Json::Array(required));
        }
        ToolSchema { name: tool_name.to_owned(), description: self.description.clone(), parameters }
    }

    /// Returns the method as an MCP tool: input schema, output schema, and the hints that follow from the effect
    /// class.
    pub fn mcp_tool(&self, tool_name: &str) -> Json {
        let tool = self.tool_schema(tool_name);
        let mut out = json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.parameters,
            "annotations": {
                "readOnlyHint": self.effect == Effect::Observe,
                "destructiveHint": self.effect == Effect::Commit,
            },
        });
        let result = self.returns.to_json_schema();
        // Structured results in MCP must be objects.
        if let (Some("object"), Json::Object(out)) = (result.get("type").and_then(Json::as_str), &mut out) {
            out.insert("outputSchema".to_owned(), result);
        }
        out
    }

    /// Reads and checks the arguments that a model gave, which are an object by parameter name.
    ///
    /// The arguments are returned in the order of the parameters. Arguments that were left out at the end are
    /// missing, and others are `undefined`. An error names the parameter, the expectation and the value found.
    pub fn arguments_from_json(&self, json: &Json) -> Result<Vec<Value<C>>, Mismatch> {
        self.arguments_from_json_with(json, &mut |_, _| None)
    }

    /// Reads arguments as [`Method::arguments_from_json`] does. The function `resolve` resolves the strings that name
    /// capabilities.
    pub fn arguments_from_json_with(
        &self,
        json: &Json,
        resolve: &mut Resolve<'_, C>,
    ) -> Result<Vec<Value<C>>, Mismatch> {
        let names =
            || self.params.iter().map(|param| format!("`{}`", param.name)).collect::<Vec<_>>().join(", ");
        let nothing = Map::new();
        let given = match json {
            Json::Object(object) => object,
            // Models call tools without parameters with null as often as with {}.
            Json::Null => &nothing,
            other => {
                let found = crate::pattern::found_json(other);
                let expected = format!("an object with the arguments {}", names());
                return Err(Mismatch::new("arguments must be an object", expected, found));
            }
        };
        let is_named = |name: &str| self.params.iter().any(|param| !param.rest && param.name == name);
        let takes_rest = self.params.iter().any(|param| param.rest);
        if let Some(unknown) = given.keys().find(|name| !takes_rest && !is_named(name)) {
            let expected = match self.params.is_empty() {
                true => "no arguments".to_owned(),
                false => format!("only the arguments {}", names()),
            };
            let shown = visible_line(unknown);
            let message = format!("there is no parameter `{shown}`");
            return Err(Mismatch::new(message, expected, format!("the unknown argument `{shown}`")));
        }
        let mut arguments = Vec::new();
        for param in &self.params {
            if param.rest {
                let others = given.iter().filter(|(name, _)| !is_named(name));
                let others: Map<String, Json> =
                    others.map(|(name, json)| (name.clone(), json.clone())).collect();
                arguments.push(match others.is_empty() {
                    true => Value::Undefined,
                    false => param.read(&Json::Object(others), resolve)?,
                });
                continue;
            }
            let json = given.get(&param.name).filter(|json| {
                // Models often send null for an optional argument that they leave out.
                !(json.is_null() && param.is_optional() && !param.pattern.matches(&Value::Null))
            });
            let value = match json {
                Some(json) => param.read(json, resolve)?,
                None if param.is_optional() => Value::Undefined,
                None => {
                    let label = Label::name(&Text::from(param.name.as_str()));
                    let message = "is missing";
                    return Err(Mismatch::new(message, param.pattern.describe(), "nothing").within(label));
                }
            };
            arguments.push(value);
        }
        while arguments.last().is_some_and(|last| matches!(last, Value::Undefined))
            && self.params.get(arguments.len() - 1).is_some_and(Param::is_optional)
        {
            arguments.pop();
        }
        Ok(arguments)
    }

    /// Checks positional arguments, as code passes them.
    pub fn check_arguments(&self, interface: &str, args: &[Value<C>]) -> Result<(), Mismatch> {
        self.guard().check_arguments(interface, &self.name, args)
    }

    /// Returns the signature in one line: `write(path: text, text: text)`.
    pub fn signature(&self) -> String {
        let param = |param: &Param<C>| {
            if param.rest {
                return "…".to_owned();
            }
            let mark = if param.is_optional() { "?" } else { "" };
            let pattern = param.pattern.as_optional().unwrap_or(&param.pattern);
            format!("{}{mark}: {}", visible_line(&param.name), pattern.describe())
        };
        let params: Vec<String> = self.params.iter().map(param).collect();
        let result = match self.returns.is_undefined() {
            true => String::new(),
            false => format!(" → {}", self.returns.describe()),
        };
        format!("{}({}){result}", visible_line(&self.name), params.join(", "))
    }
}

impl<C: Reference> Param<C> {
    /// Returns whether the argument may be left out, by the parameter's own mark or by its pattern.
    pub fn is_optional(&self) -> bool {
        self.optional || self.pattern.as_optional().is_some()
    }

    fn read(&self, json: &Json, resolve: &mut Resolve<'_, C>) -> Result<Value<C>, Mismatch> {
        let outcome = self.pattern.read_json_with(json, resolve);
        outcome.map_err(|mismatch| mismatch.within(Label::name(&Text::from(self.name.as_str()))))
    }
}

/// One row of the table that a user sees when choosing a capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodRow {
    /// The method's name.
    pub name: String,
    /// The effect: *reads*, *changes* or *sends*.
    pub effect: &'static str,
    /// The signature in one line.
    pub signature: String,
    /// The description of the method.
    pub description: String,
}

impl<C: Reference> Interface<C> {
    /// Returns an interface without methods.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Interface { name: name.into(), description: description.into(), methods: Vec::new() }
    }

    /// Adds a method.
    pub fn with(mut self, method: Method<C>) -> Self {
        self.methods.push(method);
        self
    }

    /// Returns the method of a name.
    pub fn method(&self, name: &str) -> Option<&Method<C>> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// Returns the guard of this interface in Endo's terms.
    pub fn guard(&self) -> InterfaceGuard<C> {
        InterfaceGuard {
            name: Text::from(self.name.as_str()),
            methods: self.methods.iter().map(|m| (Text::from(m.name.as_str()), m.guard())).collect(),
            symbol_methods: Vec::new(),
            default_guards: None,
        }
    }

    /// Returns the table that a user sees when choosing a capability.
    pub fn table(&self) -> Vec<MethodRow> {
        let row = |method: &Method<C>| MethodRow {
            name: visible_line(&method.name).into_owned(),
            effect: method.effect.as_words(),
            signature: method.signature(),
            description: visible_line(&method.description).into_owned(),
        };
        self.methods.iter().map(row).collect()
    }
}
