//! The conversion of other programs' worker files: llm-do's `.worker`, `.yaml` and `.agent`, and the Markdown agents
//! of Claude Code and similar programs.
//!
//! The permissions in such a file become the *needs* of the worker: slots that a person binds. Paths, lists of
//! allowed workers and approvals in the file give no authority here. Settings without a counterpart are listed as
//! notes. If a text was no template in its own program, it is none here either.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::diagnostic::Diagnostic;
use super::{front, is_identifier, yaml};

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_LEN: usize = 300;

/// A worker file that was converted from another program's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedWorker {
    /// The worker's name.
    pub name: String,
    /// The text of the worker file.
    pub source: String,
    /// The settings that were not converted, or that mean something else here. Each is one line, and may contain
    /// foreign text.
    pub notes: Vec<String>,
}

/// The reason why a file cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// The front matter cannot be read.
    #[error("its front matter cannot be read: {0}")]
    Front(String),
    /// The file has no text for a model.
    #[error("it has no text for a model")]
    NoText,
}

/// The parts of the worker that have been converted so far.
#[derive(Default)]
struct Draft {
    keys: Vec<(String, String)>,
    slots: BTreeMap<String, &'static str>,
    asks: Vec<String>,
    attachments: Vec<String>,
    notes: Vec<String>,
    /// Whether the text for the model was a template in its own program.
    is_template: bool,
}

impl Draft {
    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds a slot and returns its name. If a slot is added as a readable and as a writable directory, it becomes
    /// writable.
    fn slot(&mut self, name: &str, kind: &'static str) -> String {
        let name = identifier(name);
        let known = self.slots.entry(name.clone()).or_insert(kind);
        if *known == "dir" {
            *known = kind;
        }
        name
    }
}

/// Converts a file with this name.
///
/// # Errors
/// [`ForeignError`].
pub fn import(file: &str, source: &str) -> Result<ImportedWorker, ForeignError> {
    let is_settings = [".yaml", ".yml", ".agent"].iter().any(|suffix| file.ends_with(suffix));
    let (mut fields, mut body) = read(source, is_settings)?;
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.split('.').next().unwrap_or(stem);
    let is_text_alone = fields.is_empty();
    let mut draft = Draft { is_template: file.ends_with(".worker"), ..Draft::default() };
    let name = match fields.remove("name") {
        Some(Json::String(name)) if !name.trim().is_empty() => name,
        _ => stem.to_owned(),
    };
    let is_llm_do = LLM_DO.iter().any(|key| fields.contains_key(*key)) || file.ends_with(".agent");
    if let Some(Json::String(text)) = fields.remove("instructions") {
        // A text in the key `instructions` was never a template.
        draft.is_template = false;
        body = text;
    }
    if body.trim().is_empty() {
        return Err(ForeignError::NoText);
    }
    if let Some(Json::String(text)) = fields.remove("description") {
        describe(&mut draft, &text);
    }
    match fields.remove("model") {
        Some(Json::String(model)) => model_of(&mut draft, &model),
        Some(_) => draft.note("`model` is not a name: left out"),
        None => {}
    }
    match is_llm_do {
        true => convert_llm_do(&mut draft, &mut fields),
        false if is_text_alone => draft.note("it has no settings: its text alone was taken over"),
        false => convert_claude(&mut draft, &mut fields),
    }
    for (key, value) in fields {
        let value: String = value.to_string().chars().take(80).collect();
        draft.note(format!("`{key}` has no counterpart: left out ({value})"));
    }
    let name = identifier(&name);
    Ok(ImportedWorker { source: write(&mut draft, &body), name, notes: draft.notes })
}

/// The keys that only llm-do's files have.
const LLM_DO: [&str; 18] = [
    "allow_workers",
    "attachment_policy",
    "compatible_models",
    "custom_tools",
    "input_model_ref",
    "instructions",
    "locked",
    "output_schema_ref",
    "sandbox",
    "sandboxes",
    "schema_in_ref",
    "server_side_tools",
    "shell_cwd",
    "shell_default",
    "shell_rules",
    "tool_rules",
    "toolsets",
    "entry",
];

/// The keys by which a file without a body is known as the settings of a worker. Any other text is the body itself.
const SETTINGS: [&str; 6] = ["description", "instructions", "model", "name", "prompt", "tools"];

/// Returns the keys and the body of a file. `is_settings` says whether the file's name promises settings.
fn read(source: &str, is_settings: bool) -> Result<(BTreeMap<String, Json>, String), ForeignError> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    let parts = front::split(source, &mut problems);
    if let Some(problem) = problems.first() {
        return Err(ForeignError::Front(problem.message.clone()));
    }
    let (front, body) = match parts.front {
        Some(front) => (front, source.get(parts.body).unwrap_or_default()),
        // The oldest files are only YAML, without a body. A text that merely looks like YAML is a text.
        None if is_settings || has_settings(source) => (0..source.len(), ""),
        None => return Ok((BTreeMap::new(), source.get(parts.body).unwrap_or_default().to_owned())),
    };
    let text = source.get(front.clone()).unwrap_or_default();
    let mut found = Vec::new();
    let json = yaml::read(text, front.start, &mut found).map(|node| node.to_json());
    match json {
        Some(Json::Object(fields)) if found.is_empty() => Ok((fields.into_iter().collect(), body.to_owned())),
        _ if body.is_empty() => {
            let why = found.first().map_or("it is no map of keys", |one| one.message.as_str());
            Err(ForeignError::Front(why.to_owned()))
        }
        // Such front matter is often no valid YAML, but lines with a key and a text each.
        _ => Ok((lines(text)?, body.to_owned())),
    }
}

/// Returns whether a text without front matter is a map of settings.
fn has_settings(source: &str) -> bool {
    let mut found = Vec::new();
    let json = yaml::read(source, 0, &mut found).map(|node| node.to_json());
    let is_known = |key: &String| SETTINGS.contains(&key.as_str()) || LLM_DO.contains(&key.as_str());
    json.as_ref()
        .and_then(Json::as_object)
        .is_some_and(|fields| found.is_empty() && fields.keys().all(is_known))
}

/// Returns the keys in lines of the form `key: text`. An indented line continues the line before it.
fn lines(text: &str) -> Result<BTreeMap<String, Json>, ForeignError> {
    let mut fields: BTreeMap<String, Json> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let is_more = line.starts_with([' ', '\t', '-']);
        let is_key = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        match (line.split_once(':').filter(|(key, _)| !is_more && is_key(key)), &last) {
            (Some((key, rest)), _) => {
                fields.insert(key.to_owned(), Json::String(rest.trim().to_owned()));
                last = Some(key.to_owned());
            }
            (None, Some(key)) => {
                if let Some(Json::String(text)) = fields.get_mut(key) {
                    text.push(' ');
                    text.push_str(line.trim());
                }
            }
            (None, None) => {
                return Err(ForeignError::Front("it is neither YAML nor lines of keys".to_owned()));
            }
        }
    }
    Ok(fields)
}

fn describe(draft: &mut Draft, text: &str) {
    // Line breaks are often written as `\n` in two characters.
    let line = text.replace("\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(MAX_DESCRIPTION_LEN).collect();
    if short.len() < line.len() {
        draft.note(format!("`description` was cut after {MAX_DESCRIPTION_LEN} characters"));
    }
    if !short.is_empty() {
        draft.keys.push(("description".to_owned(), Json::String(short).to_string()));
    }
}

fn model_of(draft: &mut Draft, model: &str) {
    let known = ["anthropic", "openai", "ollama", "gemini", "local", "compat"];
    let kind = model.split_once(':').map_or("", |(kind, _)| kind);
    let kind = match kind {
        "google" | "google-gla" => "gemini",
        kind => kind,
    };
    match (known.contains(&kind), model.split_once(':')) {
        (true, Some((_, name))) => {
            draft.keys.push(("model".to_owned(), Json::String(format!("{kind}:{name}")).to_string()));
        }
        _ if model == "inherit" => {}
        _ => draft.note(format!("`model: {model}` names no model as `-m` does: left out, say it with `-m`")),
    }
}

/// Returns the names in a list, or in a text with commas.
fn names(value: &Json) -> Vec<String> {
    match value {
        Json::Array(items) => items.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        Json::String(text) => {
            text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }
        _ => vec![],
    }
}

/// Converts the keys of an llm-do file.
fn convert_llm_do(draft: &mut Draft, fields: &mut BTreeMap<String, Json>) {
    let sandboxes = fields.remove("sandboxes");
    let paths = fields.remove("sandbox").and_then(|sandbox| sandbox.get("paths").cloned());
    for (name, box_) in sandboxes.iter().chain(&paths).filter_map(Json::as_object).flatten() {
        sandbox(draft, name, box_);
    }
    match fields.remove("allow_workers") {
        Some(value) => {
            let workers = names(&value);
            if workers.is_empty() {
                draft.note("an empty `allow_workers` allowed every worker there; here it allows none");
            }
            for worker in workers {
                match worker.as_str() {
                    "*" => draft.note("`allow_workers: [*]` has no counterpart: name each worker as a slot"),
                    worker => drop(draft.slot(worker, "worker")),
                }
            }
        }
        None if fields.contains_key("tool_rules") => {
            draft.note("without `allow_workers` every worker was allowed there; here none is");
        }
        None => {}
    }
    if let Some(policy) = fields.remove("attachment_policy") {
        attachments(draft, &policy);
    }
    if let Some(Json::Object(rules)) = fields.remove("tool_rules") {
        for (tool, rule) in rules {
            tool_rule(draft, &tool, &rule);
        }
    }
    for (key, why) in [
        ("locked", "no model can change a worker file here"),
        ("output_schema_ref", "write the pattern of the result under `output`"),
        ("input_model_ref", "write the patterns of the inputs under `input`"),
        ("compatible_models", "whoever runs it chooses the model"),
        ("server_side_tools", "what a provider does by itself passes no gate here"),
        ("custom_tools", "code becomes a program, or a server of tools"),
        ("shell_rules", "bind programs to the slot instead; rules over words protect nothing"),
        ("shell_default", "what is not bound cannot be started"),
        ("shell_cwd", "the first directory of the endowment is where programs begin"),
    ] {
        if fields.remove(key).is_some() {
            draft.note(format!("`{key}` was left out: {why}"));
            if key.starts_with("shell") || key == "custom_tools" {
                draft.slot("shell", "program");
            }
        }
    }
    for key in ["tools", "toolsets"] {
        let Some(value) = fields.remove(key) else { continue };
        let all = match &value {
            Json::Object(map) => map.keys().cloned().collect(),
            other => names(other),
        };
        for name in all {
            toolset(draft, &name);
        }
    }
}

fn toolset(draft: &mut Draft, name: &str) {
    let is = |part: &str| name.to_lowercase().contains(part);
    match () {
        () if is("filesystem") && name.ends_with("_ro") => drop(draft.slot("files", "dir")),
        () if is("filesystem") => drop(draft.slot("files", "dir rw")),
        () if is("shell") => drop(draft.slot("shell", "program")),
        () if is("dynamic_agents") => draft.keys.push(("creates".to_owned(), "true".to_owned())),
        () if is("delegation") => draft.note("`delegation`: name each worker that is called as a slot"),
        () if name.contains('.') || is("custom") => {
            draft.note(format!("the toolset `{name}` is code: left out"));
        }
        () => drop(draft.slot(name, "worker")),
    }
}

fn sandbox(draft: &mut Draft, name: &str, box_: &Json) {
    let text = |key: &str| box_.get(key).and_then(Json::as_str).map(str::to_owned);
    let writes = text("mode").is_some_and(|mode| mode.eq_ignore_ascii_case("rw"));
    let slot = draft.slot(name, if writes { "dir rw" } else { "dir" });
    let path = text("path").or_else(|| text("root")).unwrap_or_else(|| "PATH".to_owned());
    let mut limits = Vec::new();
    for key in ["allowed_suffixes", "text_suffixes", "suffixes"] {
        limits.extend(box_.get(key).map(names).unwrap_or_default().iter().map(|one| format!("suffix={one}")));
    }
    limits.sort();
    limits.dedup();
    for key in ["max_bytes", "max_file_bytes"] {
        limits.extend(box_.get(key).and_then(Json::as_u64).map(|bytes| format!("max={bytes}")));
    }
    let limits = if limits.is_empty() { String::new() } else { format!("?{}", limits.join("&")) };
    let mode = if writes { ":rw" } else { "" };
    draft.note(format!(
        "the path of `{slot}` is no part of the worker: bind it with `-e {slot}={path}{mode}{limits}`"
    ));
    if writes && box_.get("write_approval").and_then(Json::as_bool) == Some(true) {
        draft.asks.extend([format!("{slot}.write"), format!("{slot}.append"), format!("{slot}.edit")]);
    }
    if box_.get("read_approval").and_then(Json::as_bool) == Some(true) {
        draft.asks.push(format!("{slot}.read"));
    }
}

fn attachments(draft: &mut Draft, policy: &Json) {
    if let Some(max) = policy.get("max_attachments").and_then(Json::as_u64) {
        draft.attachments.push(format!("max: {}", max.min(1000)));
    }
    if let Some(bytes) = policy.get("max_total_bytes").and_then(Json::as_u64) {
        draft.attachments.push(format!("bytes: {bytes}"));
    }
    let suffixes = policy.get("allowed_suffixes").map(names).unwrap_or_default();
    if !suffixes.is_empty() {
        let all: Vec<_> = suffixes.iter().map(|one| Json::String(dotted(one)).to_string()).collect();
        draft.attachments.push(format!("suffixes: [{}]", all.join(", ")));
    }
    if !policy.get("denied_suffixes").map(names).unwrap_or_default().is_empty() {
        draft.note("`denied_suffixes` has no counterpart: name the suffixes that are allowed");
    }
}

fn dotted(suffix: &str) -> String {
    let lower = suffix.to_lowercase();
    if lower.starts_with('.') { lower } else { format!(".{lower}") }
}

fn tool_rule(draft: &mut Draft, tool: &str, rule: &Json) {
    let flag = |key: &str| rule.get(key).and_then(Json::as_bool);
    if flag("allowed") == Some(false) {
        draft.note(format!("`{tool}` was not allowed: leave the slot that has it unbound, or give less"));
    }
    match (tool, flag("approval_required")) {
        ("sandbox.write", Some(true)) => {
            let writable: Vec<String> = draft
                .slots
                .iter()
                .filter(|(_, kind)| **kind == "dir rw")
                .map(|(name, _)| name.clone())
                .collect();
            draft.asks.extend(writable.iter().map(|slot| format!("{slot}.write")));
        }
        ("worker.create", _) => draft.keys.push(("creates".to_owned(), "true".to_owned())),
        (_, Some(false)) => {
            draft.note(format!("`{tool}` was approved beforehand: say so yourself with `--allow`"));
        }
        (_, Some(true)) => draft.note(format!("`{tool}` asked: what changes or sends asks here by itself")),
        _ => {}
    }
}

/// Converts the keys of an agent in Markdown.
fn convert_claude(draft: &mut Draft, fields: &mut BTreeMap<String, Json>) {
    match fields.remove("tools").or_else(|| fields.remove("allowed-tools")) {
        None => draft.note("without `tools` it had every tool there; here it has none: declare slots"),
        Some(value) => {
            for tool in names(&value) {
                claude_tool(draft, &tool);
            }
        }
    }
    for key in ["color", "colour", "permissionMode"] {
        if fields.remove(key).is_some() && key == "permissionMode" {
            draft.note("`permissionMode` was left out: no file loosens what is asked");
        }
    }
}

fn claude_tool(draft: &mut Draft, tool: &str) {
    // A tool such as `Bash(git:*)` allows only some command lines of a shell.
    let (name, words) = tool.split_once('(').map_or((tool, None), |(name, words)| (name, Some(words)));
    match name.trim() {
        "Read" | "Grep" | "Glob" | "LS" | "NotebookRead" => drop(draft.slot("files", "dir")),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => drop(draft.slot("files", "dir rw")),
        "Bash" => {
            draft.slot("shell", "program");
            let words = words.map(|words| format!(" (it allowed `{}`)", words.trim_end_matches(')')));
            let words = words.unwrap_or_default();
            draft.note(format!(
                "`Bash` is a slot for programs: bind the ones it needs{words}; there is no shell"
            ));
        }
        "WebFetch" => drop(draft.slot("web", "http")),
        "Task" | "Agent" => draft.note("`Task`: name each worker that it calls as a slot"),
        name if name.starts_with("mcp__") => {
            draft.note(format!("`{name}` is a tool of a server: left out"));
        }
        name => draft.note(format!("the tool `{name}` has no counterpart: left out")),
    }
}

/// Returns a name in the form that slots and workers need.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut all: String = name.trim().chars().map(plain).collect();
    if !all.starts_with(|c: char| c.is_ascii_alphabetic()) {
        all.insert_str(0, "w_");
    }
    all.truncate(32);
    debug_assert!(is_identifier(&all));
    all
}

fn write(draft: &mut Draft, body: &str) -> String {
    let mut front = String::new();
    let mut seen = Vec::new();
    for (key, value) in &draft.keys {
        if !seen.contains(key) {
            front.push_str(&format!("{key}: {value}\n"));
            seen.push(key.clone());
        }
    }
    if !draft.attachments.is_empty() {
        front.push_str(&format!("attachments: {{ {} }}\n", draft.attachments.join(", ")));
    }
    if !draft.slots.is_empty() {
        front.push_str("slots:\n");
        for (name, kind) in &draft.slots {
            front.push_str(&format!("  {name}: {kind}\n"));
        }
    }
    draft.asks.sort();
    draft.asks.dedup();
    if !draft.asks.is_empty() {
        front.push_str("approve:\n");
        draft.asks.iter().for_each(|ask| front.push_str(&format!("  {ask}: ask\n")));
    }
    let body = body.trim_matches(['\n', '\r']);
    let has_marks = ["{{", "{%", "{#"].iter().any(|mark| body.contains(mark));
    let body = match (has_marks, draft.is_template) {
        (false, _) => body.to_owned(),
        (true, true) => {
            draft.note("its text is a template: `almoner check` says what of it is not understood here");
            body.to_owned()
        }
        // The text was no template in its own program, so it must not become one here.
        (true, false) if body.contains("endraw") => body.replace('{', "{{ \"{\" }}"),
        (true, false) => format!("{{% raw %}}{body}{{% endraw %}}"),
    };
    match front.is_empty() {
        true => format!("---\n---\n{body}\n"),
        false => format!("---\n{front}---\n{body}\n"),
    }
}
