//! The check of a worker's templates with sample values, before the worker is run.
//!
//! The values have the types of the worker's inputs and of its output. So a template that uses a value in a wrong way
//! fails here, and not after a model was paid.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use crate::conversation::item;
use crate::definition::{
    Bundle, Definition, RenderError, WriteScope, is_write_known_before, render_prompt, render_with,
    render_write, template_line,
};

/// The maximum nesting depth of a sample value.
const MAX_DEPTH: usize = 6;

/// The maximum number of undeclared inputs that get a sample value.
const MAX_UNDECLARED: usize = 100;

/// A template that cannot be rendered with sample values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateProblem {
    /// The place, and the reason.
    pub message: String,
    /// The circumstance under which the template fails, or `None` if it always fails.
    pub only_if: Option<&'static str>,
}

/// Returns the templates of a worker that fail with sample values: its prompt, the inputs of its calls, and the paths
/// and contents of its files. Templates that use the results of other workers are left out, because their types are
/// not known here.
pub fn failing_templates(definition: &Definition, bundle: &Bundle) -> Vec<TemplateProblem> {
    let input = definition.input.to_json_schema();
    let output = definition.output.as_ref().map(|pattern| pattern.to_json_schema());
    let output =
        |is_full| output.as_ref().map_or_else(|| json!("sample"), |schema| sample(schema, is_full, 0));
    let mut found = Vec::new();
    for (is_full, only_if) in [(true, None), (false, Some("if optional values are left out"))] {
        let mut samples = Samples::new(&input, is_full, output(is_full));
        for message in samples.messages(|samples| samples.failures(definition, bundle)) {
            // A template that always fails is reported once.
            if !found.iter().any(|problem: &TemplateProblem| problem.message == message) {
                found.push(TemplateProblem { message, only_if });
            }
        }
    }
    let mut samples = Samples::new(&input, true, output(true));
    for message in samples.messages(|samples| samples.failures_with_failed_item(definition, bundle)) {
        if !found.iter().any(|problem| problem.message == message) {
            found.push(TemplateProblem { message, only_if: Some("if an item fails") });
        }
    }
    found
}

struct Samples {
    input: Map<String, Json>,
    output: Json,
    /// Whether the worker takes inputs that it does not declare.
    takes_undeclared: bool,
}

/// A template that fails: its description, and the missing value, if that is the reason.
struct SampleFailure {
    message: String,
    missing: Option<String>,
}

impl SampleFailure {
    fn new(message: String, error: RenderError) -> SampleFailure {
        let missing = match error {
            RenderError::Missing { name, .. } => name,
            _ => None,
        };
        SampleFailure { message, missing }
    }

    /// Returns the input that is missing, if one is.
    fn missing_input(&self) -> Option<&str> {
        let name = self.missing.as_deref()?.strip_prefix("input.")?;
        name.split(['.', '[']).next()
    }
}

impl From<RenderError> for SampleFailure {
    fn from(error: RenderError) -> SampleFailure {
        SampleFailure::new(error.to_string(), error)
    }
}

impl Samples {
    fn new(input: &Json, is_full: bool, output: Json) -> Samples {
        let takes_undeclared = input.get("additionalProperties") != Some(&Json::Bool(false));
        let input = match sample(input, is_full, 0) {
            Json::Object(fields) => fields,
            _ => Map::new(),
        };
        Samples { input, output, takes_undeclared }
    }

    /// Returns the descriptions of all failures. An undeclared input that a template uses gets a sample value, if the
    /// worker takes such inputs.
    fn messages(&mut self, failures: impl Fn(&Samples) -> Vec<SampleFailure>) -> Vec<String> {
        let mut undeclared = BTreeSet::new();
        let mut found = failures(self);
        while self.takes_undeclared && undeclared.len() < MAX_UNDECLARED {
            let new = found.iter().filter_map(SampleFailure::missing_input);
            let Some(name) = new.map(str::to_owned).find(|name| !undeclared.contains(name)) else { break };
            self.input.insert(name.clone(), json!("sample"));
            undeclared.insert(name);
            found = failures(self);
        }
        // An undeclared input has no known type, so nothing is said about its parts.
        let is_known =
            |failure: &SampleFailure| failure.missing_input().is_none_or(|name| !undeclared.contains(name));
        found.into_iter().filter(is_known).map(|failure| failure.message).collect()
    }

    fn failures(&self, definition: &Definition, bundle: &Bundle) -> Vec<SampleFailure> {
        let mut found = Vec::new();
        let data = self.data();
        let mut prompt = data.clone();
        if let Json::Object(fields) = &mut prompt {
            fields.remove("output");
        }
        found.extend(render_prompt(definition, bundle, &prompt).err().map(SampleFailure::from));
        for (index, then) in definition.then.iter().enumerate() {
            // A later step may use the results of the steps before it.
            let is_known = index == 0 || then.with.is_empty();
            if is_known && let Err(error) = render_with(definition, bundle, index, &data) {
                found.push(error.into());
            }
        }
        for (index, write) in definition.write.iter().enumerate() {
            let is_known = match write.scope {
                WriteScope::Each => is_write_known_before(write, bundle, &EACH_NAMES),
                WriteScope::Once => definition.then.is_empty(),
            };
            let data = match write.scope {
                WriteScope::Each => data.clone(),
                WriteScope::Once => json!({ "input": self.input, "items": [self.row()] }),
            };
            if is_known && let Err(error) = render_write(definition, bundle, index, &data) {
                found.push(SampleFailure::new(describe(definition, bundle, index, &error), error));
            }
        }
        found
    }

    /// Returns the failures of the files for all items, if one item has no result.
    fn failures_with_failed_item(&self, definition: &Definition, bundle: &Bundle) -> Vec<SampleFailure> {
        let failed = json!({ "item": item("sample-2.txt", 1), "error": "sample" });
        let data = json!({ "input": self.input, "items": [self.row(), failed] });
        let steps = definition.write.iter().enumerate();
        let once = steps.filter(|(_, write)| write.scope == WriteScope::Once && definition.then.is_empty());
        let failures = once.filter_map(|(index, _)| {
            let error = render_write(definition, bundle, index, &data).err()?;
            Some(SampleFailure::new(describe(definition, bundle, index, &error), error))
        });
        failures.collect()
    }

    fn data(&self) -> Json {
        json!({
            "input": self.input, "item": item("sample.txt", 0), "output": self.output,
            "attachments": [{ "name": "sample.txt", "bytes": 1 }],
        })
    }

    fn row(&self) -> Json {
        json!({ "item": item("sample.txt", 0), "error": null, "output": self.output })
    }
}

/// The names in the data of an `each` step whose types are known.
const EACH_NAMES: [&str; 4] = ["input", "item", "attachments", "output"];

/// Returns the place and the reason. An error about a rendered path names no place of its own.
fn describe(definition: &Definition, bundle: &Bundle, index: usize, error: &RenderError) -> String {
    match (error, definition.write.get(index)) {
        (RenderError::Path { .. }, Some(write)) => {
            format!("{}, line {}: {error}", bundle.file, template_line(&write.path, bundle))
        }
        _ => error.to_string(),
    }
}

/// Returns a value for a JSON Schema. A full value has all optional fields, and another one has none of them.
fn sample(schema: &Json, is_full: bool, depth: usize) -> Json {
    if depth > MAX_DEPTH {
        return json!("sample");
    }
    let below = |schema: &Json| sample(schema, is_full, depth + 1);
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        let value = if is_full { values.first() } else { values.last() };
        return value.cloned().unwrap_or(Json::Null);
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(all) = schema.get(union).and_then(Json::as_array) {
            let one = if is_full { all.first() } else { all.last() };
            return one.map_or(Json::Null, below);
        }
    }
    let kind = match schema.get("type") {
        Some(Json::Array(kinds)) if is_full => kinds.first(),
        Some(Json::Array(kinds)) => kinds.last(),
        kind => kind,
    };
    match kind.and_then(Json::as_str) {
        Some("object") => {
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            let fields = schema["properties"].as_object().into_iter().flatten();
            let wanted = fields.filter(|(name, _)| is_full || required.contains(&name.as_str()));
            Json::Object(wanted.map(|(name, schema)| (name.clone(), below(schema))).collect())
        }
        Some("array") => match schema.get("items") {
            Some(items) if items.is_object() => json!([below(items)]),
            _ => json!(["sample"]),
        },
        Some("integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1.5)),
        Some("boolean") => json!(is_full),
        Some("null") => Json::Null,
        _ => json!("sample"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::definition;

    fn problems(source: &str) -> Vec<(String, Option<&'static str>)> {
        let bundle = Bundle {
            name: "w".to_owned(),
            file: "w.worker".to_owned(),
            source: source.to_owned(),
            includes: BTreeMap::new(),
        };
        let (parsed, problems) = definition::parse(&bundle);
        let definition = parsed.unwrap_or_else(|| panic!("{problems:?}"));
        let found = failing_templates(&definition, &bundle);
        found.into_iter().map(|problem| (problem.message, problem.only_if)).collect()
    }

    fn check(source: &str, expected: &[&str]) {
        let found = problems(source);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((message, _), part) in found.iter().zip(expected) {
            assert!(message.contains(part), "{message} has no {part}");
        }
    }

    #[test]
    fn sound_templates_have_no_problems() {
        check(
            "---\ninput: { name: string, tags: [string] }\n---\nHello {{ input.name }} {{ input.tags | join(', ') }}.\n",
            &[],
        );
        let source = "---\noutput: { kind: string, pages: int }\nslots: { out: dir rw }\nwrite:\n\
            \x20 - { each: out, path: \"{{ item.stem }}.md\", content: \"{{ output.kind }} {{ output.pages }}\" }\n\
            \x20 - { once: out, path: all.csv, content: \"{% for row in items %}{% if not row.error %}{{ row.output.kind }}{% endif %}{% endfor %}\" }\n---\nDo.\n";
        check(source, &[]);
    }

    #[test]
    fn undeclared_inputs_are_no_problems() {
        check("Hello {{ input.name }} of {{ input.place.city }}, {{ input.tags | join(', ') }}.\n", &[]);
        check("---\ninput: { name: string }\n---\n{{ input.name.first }}.\n", &["`input.name.first`"]);
    }

    /// Reported of other programs: langroid/langroid#1140 (the mapping of one result ends the batch).
    #[test]
    fn failing_templates_are_named_with_their_lines() {
        check(
            "---\ninput: { tags: [string] }\n---\nHello\n{{ input.tags.first.name }}.\n",
            &["w.worker, line 5"],
        );
        let path = |path: &str| {
            format!(
                "---\nslots: {{ out: dir rw }}\nwrite:\n  - {{ each: out, path: \"{path}\", content: x }}\n---\nDo.\n"
            )
        };
        check(&path("../{{ item.stem }}.md"), &["w.worker, line 4: the path"]);
        check(&path("/{{ item.stem }}.md"), &["not relative"]);
        check(&path("{{ item.stem }}\\\\n.md"), &["line break"]);
    }

    #[test]
    fn file_that_needs_every_result_is_reported() {
        let source = "---\noutput: { kind: string }\nslots: { out: dir rw }\nwrite:\n\
            \x20 - { once: out, path: all.csv, content: \"{% for row in items %}{{ row.output.kind }}{% endfor %}\" }\n---\nDo.\n";
        let found = problems(source);
        assert_eq!(found.iter().map(|(_, only_if)| *only_if).collect::<Vec<_>>(), [Some("if an item fails")]);
    }
}
