//! The parsing of the steps that need no model: `then` and `write`.

use resource::Kind;

use super::bundle::Bundle;
use super::fields::{Fields, IDENTIFIER_HELP, Problems, is_identifier};
use super::parse::known_slot;
use super::template::{Place, Template, sole_expression};
use super::walk::Walk;
use super::yaml::{Data, Node};
use super::{Piece, Slot, ThenStep, WriteScope, WriteStep};

/// The names that already have a meaning in templates, so that no result can have them.
const RESERVED: [&str; 7] = ["attachments", "error", "input", "item", "items", "loop", "output"];

const THEN_HELP: &str =
    "write it like `- facts: extract`, with `with:` and `attach:` below it if it needs them";
const WRITE_HELP: &str =
    "write it like `- each: out` (or `once: out`), with `path:` and `content:` or `template:`";

/// Returns the steps in `then`.
pub(crate) fn then(
    node: Option<&Node>,
    slots: &[Slot],
    bundle: &Bundle,
    problems: &mut Problems<'_>,
    walk: &mut Walk<'_>,
) -> Vec<ThenStep> {
    let mut steps: Vec<ThenStep> = Vec::new();
    for item in problems.list(node, "`then`", THEN_HELP) {
        let Data::Map(entries) = &item.data else {
            problems.wrong("a step of `then`", "a map", item, THEN_HELP);
            continue;
        };
        let calls: Vec<_> =
            entries.iter().filter(|(key, _)| !matches!(key.text.as_str(), "with" | "attach")).collect();
        let [(name, slot)] = calls.as_slice() else {
            let message = match calls.len() {
                0 => "this step calls nothing".to_owned(),
                n => format!("this step makes {n} calls; a step makes one"),
            };
            problems.error("worker/then", message, &item.span, THEN_HELP);
            continue;
        };
        if !is_identifier(&name.text) {
            let message = format!("`{}` cannot be the name of a result", name.text.escape_debug());
            problems.error("worker/then", message, &name.span, IDENTIFIER_HELP);
        } else if RESERVED.contains(&name.text.as_str()) {
            let message = format!("`{}` is what templates call something else", name.text);
            problems.error("worker/then", message, &name.span, "choose another name for the result");
        } else if steps.iter().any(|step| step.name == name.text) {
            let message = format!("an earlier step is called `{}` too", name.text);
            problems.error("worker/then", message, &name.span, "choose another name for the result");
        }
        let slot_name = problems.text(slot, "the slot of a step").unwrap_or_default().to_owned();
        if !slot_name.is_empty() {
            wants(&slot_name, Kind::Worker, "a step of `then`", slot, slots, problems);
        }
        let find = |key: &str| entries.iter().find(|(known, _)| known.text == key).map(|(_, node)| node);
        let names = known(&["input", "item", "attachments", "output"], &steps);
        let with = find("with").filter(|node| !matches!(node.data, Data::Null));
        let with = problems
            .entries(with, "`with`", "write it like `with: { class: \"{{ output.class }}\" }`")
            .iter()
            .map(|(key, node)| (key.text.clone(), piece(node, bundle, &names, walk)))
            .collect();
        let attach =
            problems.flag(find("attach").filter(|node| !matches!(node.data, Data::Null)), "`attach`");
        steps.push(ThenStep {
            name: name.text.clone(),
            slot: slot_name,
            with,
            attach,
            span: item.span.clone(),
        });
    }
    steps
}

/// Returns the steps in `write`.
pub(crate) fn write(
    node: Option<&Node>,
    slots: &[Slot],
    then: &[ThenStep],
    bundle: &Bundle,
    problems: &mut Problems<'_>,
    walk: &mut Walk<'_>,
) -> Vec<WriteStep> {
    let mut steps = Vec::new();
    for item in problems.list(node, "`write`", WRITE_HELP) {
        let what = "a step of `write`";
        let Some(fields) = problems.fields(item, what, &["each", "once", "path", "content", "template"])
        else {
            continue;
        };
        let (when, slot) = match (fields.get("each"), fields.get("once")) {
            (Some(slot), None) => (WriteScope::Each, slot),
            (None, Some(slot)) => (WriteScope::Once, slot),
            _ => {
                problems.error("worker/write", "a step has either `each` or `once`", &item.span, WRITE_HELP);
                continue;
            }
        };
        let names = match when {
            WriteScope::Each => known(&["input", "item", "attachments", "output"], then),
            WriteScope::Once => vec!["input", "items"],
        };
        let slot_name = problems.text(slot, "the slot of a step").unwrap_or_default().to_owned();
        if !slot_name.is_empty() {
            wants(&slot_name, Kind::Dir { write: true }, what, slot, slots, problems);
        }
        let path = match fields.get("path") {
            Some(node) => problems.text(node, "`path`").map(|text| own(text, node, bundle, &names, walk)),
            None => {
                problems.error("worker/write", "this step has no `path`", &item.span, WRITE_HELP);
                None
            }
        };
        if when == WriteScope::Each
            && let (Some(node), Some(path)) = (fields.get("path"), &path)
            && !path.text.contains("{{")
        {
            let help = "let the path depend on the item, like `\"{{ item.stem }}.md\"`";
            problems.error("worker/write", "every item would write the same file", &node.span, help);
        }
        let content = content(&fields, item, bundle, &names, problems, walk);
        if let (Some(path), Some(content)) = (path, content) {
            steps.push(WriteStep { scope: when, slot: slot_name, path, content, span: item.span.clone() });
        }
    }
    steps
}

fn content(
    fields: &Fields<'_>,
    item: &Node,
    bundle: &Bundle,
    names: &[&str],
    problems: &mut Problems<'_>,
    walk: &mut Walk<'_>,
) -> Option<Template> {
    match (fields.get("content"), fields.get("template")) {
        (Some(node), None) => {
            problems.text(node, "`content`").map(|text| own(text, node, bundle, names, walk))
        }
        (None, Some(node)) => {
            let name = problems.text(node, "`template`")?;
            walk.file(name, None, node.span.clone(), names);
            Some(Template { text: String::new(), place: Place::File(name.to_owned()) })
        }
        _ => {
            problems.error(
                "worker/write",
                "a step has either `content` or `template`",
                &item.span,
                WRITE_HELP,
            );
            None
        }
    }
}

/// Checks that a step's slot is declared and of the right kind.
fn wants(name: &str, kind: Kind, what: &str, node: &Node, slots: &[Slot], problems: &mut Problems<'_>) {
    if let Some(slot) = known_slot(name, slots, &node.span, problems)
        && slot.kind != kind
    {
        let message = format!("{what} needs a slot of the kind `{kind}`; `{name}` is `{}`", slot.kind);
        let help = format!("declare it as `{name}: {kind}`");
        problems.error("worker/slot-use", message, &node.span, &help);
    }
}

/// Returns the names that a template can use: those that every such template has, and the results of the steps
/// before.
fn known<'s>(always: &[&'s str], steps: &'s [ThenStep]) -> Vec<&'s str> {
    always.iter().copied().chain(steps.iter().map(|step| step.name.as_str())).collect()
}

/// Checks a template in the front matter and returns it.
fn own(text: &str, node: &Node, bundle: &Bundle, names: &[&str], walk: &mut Walk<'_>) -> Template {
    walk.own(text, node.span.clone(), &bundle.source, names);
    Template { text: text.to_owned(), place: Place::WorkerFile(node.span.clone()) }
}

/// Returns a value of `with`. Every text in it that has template braces is a template.
fn piece(node: &Node, bundle: &Bundle, names: &[&str], walk: &mut Walk<'_>) -> Piece {
    match &node.data {
        Data::Text(text) if ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) => {
            let template = own(text, node, bundle, names, walk);
            match sole_expression(text) {
                Some(expression) => Piece::Value { expression: expression.to_owned(), template },
                None => Piece::Text(template),
            }
        }
        Data::List(items) => {
            let pieces: Vec<Piece> = items.iter().map(|item| piece(item, bundle, names, walk)).collect();
            match pieces.iter().all(|piece| matches!(piece, Piece::Data(_))) {
                true => Piece::Data(node.to_json()),
                false => Piece::List(pieces),
            }
        }
        Data::Map(entries) => {
            let pieces: Vec<(String, Piece)> = entries
                .iter()
                .map(|(key, node)| (key.text.clone(), piece(node, bundle, names, walk)))
                .collect();
            match pieces.iter().all(|(_, piece)| matches!(piece, Piece::Data(_))) {
                true => Piece::Data(node.to_json()),
                false => Piece::Record(pieces),
            }
        }
        _ => Piece::Data(node.to_json()),
    }
}
