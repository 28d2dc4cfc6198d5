//! The parsing of a bundle into a [`Definition`], with all problems that it has.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use kernel::Pattern;
use kernel::run::Limits;
use passable::{CAPABILITY_WORDS, Secrecy};
use resource::{KINDS, Kind, units};

use super::bundle::{Bundle, MAX_BYTES};
use super::diagnostic::{Diagnostic, Severity};
use super::fields::{Fields, IDENTIFIER_HELP, Problems, is_identifier};
use super::places::Places;
use super::template::{Place, Template};
use super::walk::Walk;
use super::yaml::{Data, Node};
use super::{Attachments, Definition, MEDIA_FAMILIES, MEDIA_TYPES, Slot, front, steps, suggest, yaml};

/// The keys of the front matter.
pub(crate) const KEYS: [&str; 12] = [
    "approve",
    "attachments",
    "creates",
    "description",
    "input",
    "limits",
    "model",
    "output",
    "slots",
    "then",
    "tools",
    "write",
];

/// The names of the tools that a model may have besides those of slots. A worker slot with such a name would hide the
/// tool.
pub(crate) const OWN_TOOLS: [&str; 6] = ["create_worker", "define", "form", "read_result", "request", "send"];

/// The maximum number of reported problems. An author with more problems wants to see the first ones.
pub(super) const MAX_PROBLEMS: usize = 50;

/// Returns the definition in a bundle, and all problems in the order of the file. If one of them is an error, there
/// is no definition.
pub fn parse(bundle: &Bundle) -> (Option<Definition>, Vec<Diagnostic>) {
    let Analysis { definition, mut problems, .. } = analyse(bundle);
    for problem in &mut problems {
        let text = problem.file.as_ref().and_then(|file| bundle.includes.get(file)).unwrap_or(&bundle.source);
        problem.span = whole(text, problem.span.clone());
    }
    problems.sort_by(|a, b| (&a.file, a.span.start).cmp(&(&b.file, b.span.start)));
    if let Some(beyond) = problems.len().checked_sub(MAX_PROBLEMS).filter(|beyond| *beyond > 0) {
        problems.truncate(MAX_PROBLEMS);
        let message = format!("there is more wrong: {beyond} problems are not shown");
        problems.push(Diagnostic::error("worker/more", message, 0..0));
    }
    let failed = problems.iter().any(|problem| problem.severity == Severity::Error);
    (definition.filter(|_| !failed), problems)
}

/// Returns the range, extended to whole characters. In malformed text, the places that parsers report may be slightly
/// wrong.
pub(super) fn whole(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start);
    start..text.ceil_char_boundary(span.end).max(start)
}

/// Returns the names of the files that a bundle includes, whether the bundle has them or not.
pub(crate) fn wanted(bundle: &Bundle) -> BTreeSet<String> {
    analyse(bundle).wanted
}

#[derive(Default)]
struct Analysis {
    definition: Option<Definition>,
    problems: Vec<Diagnostic>,
    wanted: BTreeSet<String>,
}

fn analyse(bundle: &Bundle) -> Analysis {
    let mut problems = Vec::new();
    let large = std::iter::once((None, &bundle.source))
        .chain(bundle.includes.iter().map(|(name, text)| (Some(name.as_str()), text)))
        .find(|(_, text)| text.len() > MAX_BYTES);
    if let Some((file, text)) = large {
        let message = format!("a file of {} bytes is too large: at most {MAX_BYTES} are read", text.len());
        let help = "hand long documents over as attachments or inputs";
        problems.push(Diagnostic::error("worker/too-large", message, 0..0).help(help).within(file));
        return Analysis { problems, ..Analysis::default() };
    }
    let parts = front::split(&bundle.source, &mut problems);
    let text = parts.front.as_ref().and_then(|front| bundle.source.get(front.clone()));
    let root =
        text.zip(parts.front.as_ref()).and_then(|(text, front)| yaml::read(text, front.start, &mut problems));
    let mut walk = Walk::new(&bundle.includes);
    let definition = read(bundle, root.as_ref(), parts.body, &mut Problems(&mut problems), &mut walk);
    let Walk { wanted, problems: found, .. } = walk;
    problems.extend(found);
    Analysis { definition: Some(definition), problems, wanted }
}

/// Reads every part of a definition. A part with a problem gets its default, so that the other parts are checked too.
fn read(
    bundle: &Bundle,
    root: Option<&Node>,
    body: Range<usize>,
    problems: &mut Problems<'_>,
    walk: &mut Walk<'_>,
) -> Definition {
    let fields = match root {
        Some(Node { data: Data::Null, .. }) | None => None,
        Some(root) => problems.fields(root, "the front matter", &KEYS),
    };
    let get = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));

    let slots = slots(get("slots"), problems);
    let input = get("input").and_then(|node| match &node.data {
        Data::Map(_) => pattern(node, &bundle.source, problems),
        _ => {
            problems.wrong(
                "`input`",
                "a map of names and patterns",
                node,
                "write it like `input: { rubric: string }`",
            );
            None
        }
    });
    walk.know("input", get("input").and_then(names));
    walk.know("output", get("output").and_then(names));
    walk.know("item", Some(["name", "stem", "suffix", "index"].map(str::to_owned).to_vec()));
    let then = steps::then(get("then"), &slots, bundle, problems, walk);
    let write = steps::write(get("write"), &slots, &then, bundle, problems, walk);
    let creates = problems.flag(get("creates"), "`creates`");
    let usd = get("limits").and_then(|node| usd(node, problems));
    Definition {
        name: bundle.name.clone(),
        description: get("description").and_then(|node| problems.line(node, "`description`", 300)),
        input: input.unwrap_or_else(Pattern::any_record),
        output: get("output").and_then(|node| pattern(node, &bundle.source, problems)),
        attachments: get("attachments")
            .map(|node| attachments(node, Attachments::default(), problems))
            .unwrap_or_default(),
        approve: approve(get("approve"), &slots, problems),
        limits: Limits {
            usd_micros: usd.map(|usd| (usd * 1e6).round() as u64),
            ..get("limits").map(|node| limits(node, problems)).unwrap_or_default()
        },
        usd,
        model: get("model").and_then(|node| problems.line(node, "`model`", 200)),
        creates,
        tools: tools(&fields, &slots, problems),
        then,
        write,
        body: prompt(bundle, body, problems, walk),
        slots,
    }
}

fn prompt(bundle: &Bundle, span: Range<usize>, problems: &mut Problems<'_>, walk: &mut Walk<'_>) -> Template {
    let text = bundle.source.get(span.clone()).unwrap_or_default();
    if text.trim().is_empty() {
        // If the front matter has no end, that is the only reason why there is no body.
        if !problems.0.iter().any(|problem| problem.code == "worker/front-matter-open") {
            let has_front = bundle.source.get(..span.start).is_some_and(|front| front.contains("---"));
            let (message, help) = match has_front {
                true => {
                    ("there is no text for the model", "write below the second `---` what the model is to do")
                }
                false => (
                    "the file is empty: there is no text for the model",
                    "write what the model is to do; one plain sentence is enough",
                ),
            };
            problems.error("worker/no-text", message, &(span.start..span.start), help);
        }
    } else {
        walk.own(text, span.clone(), &bundle.source, &["input", "item", "attachments"]);
    }
    Template { text: text.to_owned(), place: Place::WorkerFile(span) }
}

/// Returns the keys of a pattern that is a record, without the mark `?` of optional keys.
fn names(node: &Node) -> Option<Vec<String>> {
    match &node.data {
        Data::Map(entries) => {
            Some(entries.iter().map(|(key, _)| key.text.trim_end_matches('?').to_owned()).collect())
        }
        _ => None,
    }
}

fn slots(node: Option<&Node>, problems: &mut Problems<'_>) -> Vec<Slot> {
    let help = format!(
        "write `name: dir` or `name: {{ is: dir rw, label: … }}`; the kinds are {}",
        resource::labels()
    );
    let mut slots: Vec<Slot> = Vec::new();
    let mut tools: BTreeMap<String, String> =
        OWN_TOOLS.iter().map(|tool| ((*tool).to_owned(), format!("the tool `{tool}`"))).collect();
    for (key, node) in problems.entries(node, "`slots`", &help) {
        let name = &key.text;
        if !is_identifier(name) {
            let message = format!("`{}` cannot be the name of a slot", name.escape_debug());
            problems.error("worker/slot-name", message, &key.span, IDENTIFIER_HELP);
        }
        let mut handed = None;
        let (kind, label) = match &node.data {
            Data::Map(_) => {
                let keys = ["is", "label", "attachments"];
                let fields = problems.fields(node, &format!("the slot `{name}`"), &keys);
                handed = fields.as_ref().and_then(|fields| fields.get("attachments"));
                let label = fields.as_ref().and_then(|fields| fields.get("label"));
                let label = label.and_then(|node| problems.line(node, "a label", 200));
                match fields.and_then(|fields| fields.get("is")) {
                    Some(kind) => (slot_kind(kind, problems), label),
                    None => {
                        problems.error(
                            "worker/slot-kind",
                            format!("the slot `{name}` is of no kind"),
                            &key.span,
                            &help,
                        );
                        (None, label)
                    }
                }
            }
            Data::Null => {
                problems.error(
                    "worker/slot-kind",
                    format!("the slot `{name}` is of no kind"),
                    &key.span,
                    &help,
                );
                (None, None)
            }
            _ => (slot_kind(node, problems), None),
        };
        let handed = handed.and_then(|node| slot_attachments(name, kind, node, problems));
        // A slot of unknown kind counts as one that fits everywhere, so that its uses are not reported too.
        let kind = kind.unwrap_or(Kind::Dir { write: true });
        if name == OWN_TOOLS[0] {
            let message = format!("`{name}` is the name of a tool, and of no slot");
            problems.error("worker/slot-name", message, &key.span, "choose another name");
        }
        for method in kind.methods() {
            let tool = match kind {
                Kind::Worker | Kind::Model => name.clone(),
                _ => format!("{name}_{method}"),
            };
            if let Some(other) = tools.insert(tool.clone(), format!("the slot `{name}`")) {
                let message =
                    format!("the slot `{name}` and {other} would give the model two tools called `{tool}`");
                problems.error("worker/slot-name", message, &key.span, "choose another name");
            }
        }
        let span = key.span.start..node.span.end;
        slots.push(Slot { name: name.clone(), kind, label, attachments: handed, span });
    }
    slots
}

/// Returns the limits for the documents that may be passed on to the worker in a slot.
fn slot_attachments(
    slot: &str,
    kind: Option<Kind>,
    node: &Node,
    problems: &mut Problems<'_>,
) -> Option<Attachments> {
    if !matches!(kind, None | Some(Kind::Worker)) {
        let message = format!("`{slot}` is no worker, and documents are handed on to workers only");
        let help = "leave `attachments` out, or write `is: worker`";
        problems.error("worker/attachments", message, &node.span, help);
        return None;
    }
    Some(attachments(node, Attachments::any(), problems))
}

fn slot_kind(node: &Node, problems: &mut Problems<'_>) -> Option<Kind> {
    let text = problems.text(node, "the kind of a slot")?;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = Kind::of(&words);
    if found.is_none() {
        let help = suggest::help(&words, "the kinds", KINDS.iter().map(|row| row.label));
        let message = format!("there is no slot of the kind `{}`", text.escape_debug());
        problems.error("worker/slot-kind", message, &node.span, &help);
    }
    found
}

/// Returns the slot with this name. A name that is not declared is reported.
pub(crate) fn known_slot<'s>(
    name: &str,
    slots: &'s [Slot],
    span: &Range<usize>,
    problems: &mut Problems<'_>,
) -> Option<&'s Slot> {
    let found = slots.iter().find(|slot| slot.name == name);
    if found.is_none() {
        let help = match slots {
            [] => "declare it under `slots`".to_owned(),
            _ => suggest::help(name, "the slots", slots.iter().map(|slot| slot.name.as_str())),
        };
        let message = format!("there is no slot `{}`", name.escape_debug());
        problems.error("worker/unknown-slot", message, span, &help);
    }
    found
}

fn approve(node: Option<&Node>, slots: &[Slot], problems: &mut Problems<'_>) -> BTreeSet<(String, String)> {
    let mut asked = BTreeSet::new();
    for (key, node) in problems.entries(node, "`approve`", "write it like `approve: { reports.write: ask }`")
    {
        if !matches!(&node.data, Data::Text(text) if text == "ask") {
            let help = "write `ask`, or leave the line out";
            let message =
                "a worker file may only tighten what is asked, never loosen it: `ask` is the only setting";
            problems.error("worker/approve", message, &node.span, help);
        }
        let Some((slot, method)) = key.text.split_once('.') else {
            let message = format!("`{}` does not name a method of a slot", key.text.escape_debug());
            problems.error("worker/approve", message, &key.span, "write `slot.method`, like `reports.write`");
            continue;
        };
        let Some(slot) = known_slot(slot, slots, &key.span, problems) else { continue };
        if !slot.kind.may_have(method) {
            let message =
                format!("the slot `{}` ({}) has no method `{}`", slot.name, slot.kind, method.escape_debug());
            let help = suggest::help(method, "its methods", slot.kind.methods().iter().copied());
            problems.error("worker/approve", message, &key.span, &help);
            continue;
        }
        asked.insert((slot.name.clone(), method.to_owned()));
    }
    asked
}

/// Returns the slots in `tools`. An empty list means no slots, while a missing list means the default.
fn tools(fields: &Option<Fields<'_>>, slots: &[Slot], problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let node = fields.as_ref()?.get("tools")?;
    let mut tools: Vec<String> = Vec::new();
    for item in
        problems.list(Some(node), "`tools`", "write it like `tools: [outbox]`, or `tools: []` for none")
    {
        let Some(name) = problems.text(item, "a slot's name") else { continue };
        if tools.iter().any(|tool| tool == name) {
            let message = format!("the slot `{name}` is named twice");
            problems.error("worker/duplicate", message, &item.span, "keep one of the two");
        } else if known_slot(name, slots, &item.span, problems).is_some() {
            tools.push(name.to_owned());
        }
    }
    Some(tools)
}

/// Returns `attachments`, changed by the keys that the file sets.
fn attachments(node: &Node, mut attachments: Attachments, problems: &mut Problems<'_>) -> Attachments {
    let Some(fields) = problems.fields(node, "`attachments`", &["max", "bytes", "suffixes", "types"]) else {
        return attachments;
    };
    if let Some(node) = fields.get("max") {
        let max = problems.amount(node, "`max`", units::count, 0..=1_000, "4");
        attachments.max = max.and_then(|max| u32::try_from(max).ok()).unwrap_or(attachments.max);
    }
    if let Some(node) = fields.get("bytes") {
        let bytes = problems.amount(node, "`bytes`", units::bytes, 1..=1 << 40, "10MiB");
        attachments.bytes = bytes.unwrap_or(attachments.bytes);
    }
    for item in problems.list(fields.get("suffixes"), "`suffixes`", "write it like `suffixes: [.pdf, .md]`") {
        let Some(text) = problems.text(item, "a suffix") else { continue };
        let rest = text.strip_prefix('.').unwrap_or_default();
        if rest.is_empty() || rest.len() > 16 || rest.contains(|c: char| !c.is_alphanumeric() && c != '.') {
            let message = format!("`{}` is not a suffix", text.escape_debug());
            problems.error(
                "worker/suffix",
                message,
                &item.span,
                "a suffix is a point and letters, like `.pdf`",
            );
        } else {
            attachments.suffixes.push(text.to_lowercase());
        }
    }
    let shape = "write it like `types: [application/pdf, image/*]`";
    for item in problems.list(fields.get("types"), "`types`", shape) {
        let Some(text) = problems.text(item, "a type") else { continue };
        let known = MEDIA_TYPES.into_iter().chain(MEDIA_FAMILIES);
        if known.clone().any(|known| known == text) {
            attachments.types.push(text.to_owned());
        } else {
            let message = format!("`{}` is no type that documents are found to be", text.escape_debug());
            problems.error("worker/type", message, &item.span, &suggest::help(text, "the types", known));
        }
    }
    attachments
}

/// The keys of `limits`.
const LIMITS: [&str; 8] = ["turns", "calls", "depth", "tokens", "usd", "wall", "answer", "kept"];

fn limits(node: &Node, problems: &mut Problems<'_>) -> Limits {
    let mut limits = Limits::default();
    let Some(fields) = problems.fields(node, "`limits`", &LIMITS) else { return limits };
    let small = |key: &str, bounds, like, problems: &mut Problems<'_>| {
        let amount = problems.amount(fields.get(key)?, &format!("`{key}`"), units::count, bounds, like)?;
        u32::try_from(amount).ok()
    };
    limits.turns = small("turns", 1..=1_000, "20", problems).unwrap_or(limits.turns);
    limits.calls = small("calls", 1..=100_000, "500", problems).unwrap_or(limits.calls);
    let depths = 0..=u64::from(Limits::MAX_DEPTH);
    limits.depth = small("depth", depths, "5", problems).unwrap_or(limits.depth);
    let answers = 16..=10_000_000;
    limits.answer = small("answer", answers, "8k", problems);
    if let Some(node) = fields.get("tokens") {
        let tokens = problems.amount(node, "`tokens`", units::count, 1..=1_000_000_000_000, "200k");
        limits.tokens = tokens.unwrap_or(limits.tokens);
    }
    if let Some(node) = fields.get("kept") {
        let kept = problems.amount(node, "`kept`", units::bytes, 1 << 20..=1 << 40, "64MiB");
        limits.kept = kept.unwrap_or(limits.kept);
    }
    if let Some(node) = fields.get("wall") {
        let wall = problems.amount(node, "`wall`", units::duration_ms, 1_000..=365 * 86_400_000, "10m");
        limits.wall_ms = wall.unwrap_or(limits.wall_ms);
    }
    limits
}

fn usd(limits: &Node, problems: &mut Problems<'_>) -> Option<f64> {
    let Data::Map(entries) = &limits.data else { return None };
    let (_, node) = entries.iter().find(|(key, _)| key.text == "usd")?;
    match &node.data {
        Data::Null => None,
        Data::Number(number) => {
            let value = number.as_f64().filter(|value| value.is_finite() && (0.0..=1e6).contains(value));
            if value.is_none() {
                let message = "`usd` must be between 0 and a million";
                problems.error("worker/amount", message, &node.span, "write it like `0.50`");
            }
            value
        }
        _ => {
            problems.wrong("`usd`", "a number", node, "write it like `0.50`");
            None
        }
    }
}

/// Returns a pattern in shorthand for inputs or outputs. These are data, so words for capabilities are refused.
/// Otherwise a choice such as `mail|file` could contain one without anyone noticing.
fn pattern(node: &Node, source: &str, problems: &mut Problems<'_>) -> Option<Pattern> {
    capability_words(node, problems);
    let pattern = shorthand(node, source, problems)?;
    if pattern.secrecy() != Secrecy::None {
        let message =
            "inputs and outputs are kept, and told to models, as they are: none of them is a secret";
        let help = "a secret comes through a slot of the kind `secret`, and no model reads it";
        problems.error("worker/secret", message, &node.span, help);
        return None;
    }
    Some(pattern)
}

/// Returns the pattern for a node of the text `source`, written in shorthand.
pub(super) fn shorthand(node: &Node, source: &str, problems: &mut Problems<'_>) -> Option<Pattern> {
    let mut places = Places::new(source);
    let plain = node.to_shorthand(&mut places);
    match Pattern::from_shorthand(&plain) {
        Ok(pattern) => Some(pattern),
        Err(_) => {
            report_broken_parts(&plain, &places, problems);
            None
        }
    }
}

/// Reports every part of a node that is no valid pattern. Parsing the whole node stops at the first.
fn report_broken_parts(node: &passable::Node, places: &Places<'_>, problems: &mut Problems<'_>) {
    let before = problems.0.len();
    match node {
        passable::Node::List(parts, _) => {
            parts.iter().for_each(|part| report_broken_parts(part, places, problems))
        }
        passable::Node::Map(fields, _) => {
            fields.iter().for_each(|(_, _, part)| report_broken_parts(part, places, problems))
        }
        _ => {}
    }
    if problems.0.len() == before
        && let Err(error) = Pattern::from_shorthand(node)
    {
        problems.error(
            "worker/pattern",
            error.message,
            &places.in_file(error.span),
            error
                .help
                .as_deref()
                .unwrap_or("write it like `1..5`, `pass|fail`, `[string]` or `M.arrayOf(M.nat())`"),
        );
    }
}

fn capability_words(node: &Node, problems: &mut Problems<'_>) {
    match &node.data {
        Data::Text(text) => {
            let mut words = text.split('|').map(|word| word.trim().trim_end_matches('?'));
            if let Some(word) = words.find(|word| CAPABILITY_WORDS.contains(word)) {
                let message = format!("`{word}` is the word for a capability; inputs and outputs are data");
                let help =
                    format!("for the text `{word}` write '\"{word}\"'; authority comes through `slots`");
                problems.error("worker/pattern", message, &node.span, &help);
            }
        }
        Data::List(items) => items.iter().for_each(|item| capability_words(item, problems)),
        Data::Map(entries) => entries.iter().for_each(|(_, node)| capability_words(node, problems)),
        Data::Null | Data::Bool(_) | Data::Number(_) => {}
    }
}
