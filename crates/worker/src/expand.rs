//! The expanded form of a worker file: with its defaults, its includes, and the tools of its slots.

use std::fmt::Write as _;

use kernel::Method;
use passable::visible_line;
use resource::Kind;
use serde_json::Value as Json;

use crate::definition::template::Place;
use crate::definition::{Attachments, Bundle, Definition, Piece, Slot, WriteScope, parse};
use crate::model_worker::model_worker;
use crate::slot_binding::worker_interface;
use crate::{alarm, mail, question, workshop};

/// The line width of patterns, in columns.
const WIDTH: usize = 100;

/// The maximum depth of includes that are replaced by their text.
const MAX_DEPTH: usize = 8;

/// The maximum size of the text with included texts, in bytes.
const MAX_INLINED_BYTES: usize = 1 << 20;

/// Returns the expanded form of a worker file. The same files always give the same text. `callee` finds the worker of
/// a slot, if it is known.
///
/// Quoted texts are not escaped. The caller must make them visible before showing them.
pub fn expand(
    definition: &Definition,
    bundle: &Bundle,
    callee: &dyn Fn(&str) -> Option<Definition>,
) -> String {
    let mut out = String::from("---\n");
    let _ = writeln!(out, "# {}, definition {}", definition.name, bundle.digest());
    if let Some(description) = &definition.description {
        let _ = writeln!(out, "description: {}", text(description));
    }
    let _ = writeln!(out, "input: {}", definition.input.to_text_wrapped(WIDTH));
    match &definition.output {
        Some(output) => drop(writeln!(out, "output: {}", output.to_text_wrapped(WIDTH))),
        None => out += "# output: text\n",
    }
    let _ = writeln!(out, "attachments: {}", attachments(&definition.attachments));
    slots(&mut out, definition);
    let limits = definition.limits;
    let usd = definition.usd.map_or_else(String::new, |usd| format!(", usd: {usd}"));
    let answer = limits.answer.map_or_else(String::new, |most| format!(", answer: {most}"));
    let _ = writeln!(
        out,
        "limits: {{ turns: {}, calls: {}, depth: {}, tokens: {}, wall: {}ms{usd}{answer} }}",
        limits.turns, limits.calls, limits.depth, limits.tokens, limits.wall_ms
    );
    if let Some(model) = &definition.model {
        let _ = writeln!(out, "model: {}", text(model));
    }
    let _ = writeln!(out, "creates: {}", definition.creates);
    let offered: Vec<&str> = definition.offered_slots().iter().map(|slot| slot.name.as_str()).collect();
    let _ = writeln!(out, "tools: [{}]", offered.join(", "));
    steps(&mut out, definition, bundle);
    let _ = writeln!(out, "---\n{}", inlined(&definition.body.text, bundle, 0).trim_end());
    tools(&mut out, definition, callee);
    out
}

/// Returns a text as a JSON string in quotes.
fn text(text: &str) -> String {
    Json::String(text.to_owned()).to_string()
}

fn attachments(documents: &Attachments) -> String {
    let suffixes: Vec<String> = documents.suffixes.iter().map(|suffix| text(suffix)).collect();
    let types: Vec<String> = documents.types.iter().map(|one| text(one)).collect();
    let (max, bytes, suffixes) = (documents.max, documents.bytes, suffixes.join(", "));
    format!("{{ max: {max}, bytes: {bytes}, suffixes: [{suffixes}], types: [{}] }}", types.join(", "))
}

fn slots(out: &mut String, definition: &Definition) {
    if definition.slots.is_empty() {
        out.push_str("slots: {}\n");
        return;
    }
    out.push_str("slots:\n");
    for slot in &definition.slots {
        let label = slot.label.as_ref().map(|label| format!(", label: {}", Json::String(label.clone())));
        let handed =
            slot.attachments.as_ref().map(|handed| format!(", attachments: {}", attachments(handed)));
        let asked = |method: &&str| if definition.asks(&slot.name, method) { " (asks)" } else { "" };
        let methods: Vec<String> =
            slot.kind.methods().iter().map(|method| format!("{method}{}", asked(method))).collect();
        let _ = writeln!(
            out,
            "  {}: {{ is: {}{}{} }} # {}",
            slot.name,
            slot.kind,
            label.unwrap_or_default(),
            handed.unwrap_or_default(),
            methods.join(", ")
        );
    }
}

fn steps(out: &mut String, definition: &Definition, bundle: &Bundle) {
    if !definition.then.is_empty() {
        out.push_str("then:\n");
    }
    for then in &definition.then {
        let with: Vec<String> =
            then.with.iter().map(|(name, value)| format!("{name}: {}", piece(value))).collect();
        let _ = writeln!(
            out,
            "  - {{ {}: {}, with: {{ {} }}, attach: {} }}",
            then.name,
            then.slot,
            with.join(", "),
            then.attach
        );
    }
    if !definition.write.is_empty() {
        out.push_str("write:\n");
    }
    for write in &definition.write {
        let when = match write.scope {
            WriteScope::Each => "each",
            WriteScope::Once => "once",
        };
        let path = Json::String(write.path.text.clone());
        // For content from a separate file, the name of the file is shown too.
        let (content, from) = match &write.content.place {
            Place::File(name) => (
                bundle.includes.get(name).unwrap_or(&write.content.text),
                format!(" # {}", visible_line(name)),
            ),
            Place::WorkerFile(_) => (&write.content.text, String::new()),
        };
        let content = Json::String(content.clone());
        let _ = writeln!(out, "  - {{ {when}: {}, path: {path}, content: {content} }}{from}", write.slot);
    }
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Data(data) => data.to_string(),
        Piece::Text(template) | Piece::Value { template, .. } => {
            Json::String(template.text.clone()).to_string()
        }
        Piece::List(all) => format!("[{}]", all.iter().map(self::piece).collect::<Vec<_>>().join(", ")),
        Piece::Record(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {}", self::piece(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}

/// Returns a text with each `include` replaced by the included text, between marks. An `include` that is unknown,
/// nested too deep or too large stays unchanged.
fn inlined(text: &str, bundle: &Bundle, depth: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{%") {
        out.push_str(before);
        let tag = after.split_once("%}");
        let found = tag.and_then(|(tag, behind)| {
            let name = tag.trim_matches(['-', '+', ' ', '\t', '\n']).strip_prefix("include")?.trim();
            let name = name.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
            Some((name, bundle.includes.get(name)?, behind))
        });
        match found {
            Some((name, included, behind))
                if depth < MAX_DEPTH && out.len() + included.len() < MAX_INLINED_BYTES =>
            {
                let name = visible_line(name);
                let body = inlined(included, bundle, depth + 1);
                let _ = write!(out, "{{# {name} begins #}}\n{}\n{{# {name} ends #}}", body.trim_end());
                rest = behind;
            }
            _ => {
                out.push_str("{%");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn tools(out: &mut String, definition: &Definition, callee: &dyn Fn(&str) -> Option<Definition>) {
    let offered = definition.offered_slots();
    if offered.is_empty() && !definition.creates {
        out.push_str("\n# The model is offered no tools.\n");
        return;
    }
    out.push_str("\n# The tools that the model is offered, each with the JSON Schema of what it takes:\n");
    let holds_secrets = definition.slots.iter().any(|slot| slot.kind == Kind::Secret);
    let mut all: Vec<(String, Json)> = Vec::new();
    for slot in offered {
        match slot.kind {
            Kind::Worker => match callee(&slot.name) {
                Some(callee) => {
                    all.extend(
                        worker_interface(&callee).methods.iter().map(|method| tool(&slot.name, method)),
                    );
                }
                None => drop(writeln!(out, "# {}: what the worker says that fills it", slot.name)),
            },
            Kind::Mcp => {
                let _ = writeln!(
                    out,
                    "# {}: the tools of a server that are named when it is handed over",
                    slot.name
                );
            }
            _ => all.extend(of_capability(slot, holds_secrets)),
        }
    }
    if definition.creates {
        all.extend(workshop::interface().methods.iter().map(|method| tool(workshop::SLOT, method)));
    }
    for (name, schema) in all {
        let schema = serde_json::to_string_pretty(&schema).unwrap_or_default();
        let _ = writeln!(out, "{name}: {schema}");
    }
}

fn of_capability(slot: &Slot, holds_secrets: bool) -> Vec<(String, Json)> {
    let found = match slot.kind {
        Kind::Program => Some(caps::programs(holds_secrets).clone()),
        Kind::Ask => Some(question::interface()),
        Kind::Timer => Some(alarm::interface()),
        Kind::Mail => Some(mail::interface()),
        // A slot for a model is filled by a built-in worker, so its tool is the call of that worker.
        Kind::Model => {
            let model = parse(&model_worker()).0.map(|definition| worker_interface(&definition));
            let methods = model.into_iter().flat_map(|model| model.methods);
            return methods.map(|method| tool(&slot.name, &method)).collect();
        }
        // The tools of a worker or a server are known only when the slot is filled.
        Kind::Worker | Kind::Mcp => return vec![],
        kind => caps::interface_of(kind).cloned(),
    };
    let methods = found.iter().flat_map(|interface| &interface.methods);
    methods
        .filter(|method| slot.kind.methods().contains(&method.name.as_str()))
        .map(|method| tool(&format!("{}_{}", slot.name, method.name), method))
        .collect()
}

fn tool(name: &str, method: &Method) -> (String, Json) {
    let schema = method.tool_schema(name);
    (schema.name, schema.parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(name: &str, source: &str, includes: &[(&str, &str)]) -> String {
        let mut bundle = Bundle::of(name, source);
        bundle.includes =
            includes.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let (definition, diagnostics) = parse(&bundle);
        let definition = definition.unwrap_or_else(|| panic!("{diagnostics:?}"));
        expand(&definition, &bundle, &|slot| {
            let source = "---\ndescription: Judges one.\ninput: { n: 1..5 }\noutput: bool\n---\nJudge.\n";
            (slot == "judge").then(|| parse(&Bundle::of("judge", source)).0).flatten()
        })
    }

    #[test]
    fn expand_fills_in_defaults() {
        insta::assert_snapshot!(expanded("least", "---\ndescription: Greets.\n---\nSay hello.\n", &[]));
    }

    #[test]
    fn expand_shows_slots_steps_and_includes() {
        let source = "---\ninput: { rubric: string }\noutput: { class: a|b }\n\
            slots: { mail: dir, judge: worker, other: { is: worker, attachments: { max: 2 } }, out: { is: dir rw, label: Where it goes } }\n\
            approve: { out.write: ask }\nlimits: { tokens: 5k, wall: 1m, usd: 0.5 }\n\
            tools: [mail, judge, other]\n\
            then:\n  - facts: judge\n    with: { n: 3, c: \"{{ output.class }}\" }\n\
            write:\n  - each: out\n    path: \"{{ item.stem }}.md\"\n    content: \"{{ output.class }}\"\n---\n\
            Judge.\n{% include \"rubric.md\" %}\nThe end.\n";
        let includes = [("rubric.md", "Be fair.\n{%- include 'more.md' -%}\n"), ("more.md", "And kind.\n")];
        insta::assert_snapshot!(expanded("full", source, &includes));
    }
}
