//! The implementation of `almoner save`. It turns a run into a worker file, with the inputs and the model's replies
//! as a test case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernel::run::{Entry, Run, RunOutcome, Shape, State};
use kernel::{BlobHash, RunNumber};
use model::Reply;
use passable::visible_line;
use serde_json::{Value as Json, json};
use worker::definition::Bundle;

use super::dispatch;
use super::services::Services;
use crate::state::worker_files;
use config::case::{self, Case, Recorded, pretty};
use config::endowment_text;
use config::whole_file;
use control::ask::Ask;
use control::binding::{SlotBinding, SlotContent};
use control::exit::{Exit, Failure};
use control::health_check::SaveReport;
use control::protocol::{ClientKeys, Request, Response};
use passable::shell_word;
use resource::{Endowment, PathSpec, ResourceSpec};

/// The directory of a case for the files of workers that filled slots.
const WORKERS_DIR: &str = "workers";

/// Saves a run as a worker with this name in a directory, or returns a preview of that.
///
/// # Errors
/// When the run is not finished, was not a single execution, or one of the files already exists. No file is replaced.
pub fn save(
    services: &Services,
    run: RunNumber,
    name: &str,
    dir: &Path,
    write: bool,
) -> Result<SaveReport, Failure> {
    if !dir.is_absolute() {
        return Err(config::place::relative_path_failure(&dir.to_string_lossy()));
    }
    let saved = SavePlan::build(services, run, name, dir)?;
    saved.files.iter().try_for_each(|(path, _)| services.daemon.protected_paths.check(path))?;
    saved.reject_existing_files()?;
    if write {
        put_all(&saved.files)?;
        case::keep(&services.daemon.place, &Case::load(&saved.root)?)?;
    }
    Ok(saved.report())
}

/// A run as the files of a worker and its case, before they are written.
struct SavePlan {
    /// The files to write, with their content.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// The directory of the case.
    root: PathBuf,
    /// The path of the worker file.
    worker: PathBuf,
    /// The arguments of `almoner run` in the directory of the worker file.
    command: Vec<String>,
    /// Notes about parts of the run that are not saved.
    notes: Vec<String>,
}

impl SavePlan {
    /// Returns the plan to save a run under a name in a directory.
    ///
    /// # Errors
    /// When the run is not finished, is no single execution, or has parts that cannot be saved.
    fn build(daemon: &dyn Ask, number: RunNumber, name: &str, dir: &Path) -> Result<SavePlan, Failure> {
        expect_name(name)?;
        let found = daemon.run(number)?;
        let result = expect_result(&found)?;
        let bundle = bundle(daemon, &found, name)?;
        worker_files::parse(&bundle)?;
        let mut notes = Vec::new();
        let replies = reply_script(daemon, &found, &mut notes)?;
        let inside = PathBuf::from(format!("{name}{}", case::SUFFIX));
        let root = dir.join(&inside);
        let worker = dir.join(&bundle.file);
        let mut files = vec![(worker.clone(), bundle.source.clone().into_bytes())];
        files.extend(includes_of(dir, &bundle)?);
        files.push((root.join("replies.json"), pretty(&replies)?.into_bytes()));
        files.push((root.join("result.json"), pretty(&result.to_json())?.into_bytes()));
        // A question of `almoner ask` becomes part of the worker's text, so it is no input.
        let is_question = question(&found).is_some();
        let mut inputs = if is_question { vec![] } else { inputs(&found) };
        for document in &found.input.attachments {
            let to = Path::new("documents")
                .join(Path::new(&document.name).file_name().unwrap_or_else(|| document.name.as_ref()));
            match daemon.text(document.hash, &document.name) {
                Ok(text) => {
                    inputs.push(inside.join(&to).display().to_string());
                    files.push((root.join(to), text.into_bytes()));
                }
                Err(failure) if failure.exit == Exit::Invalid => {
                    inputs.push(document.name.clone());
                    notes.push(format!("{}; hand it over again", failure.message.visible_line()));
                }
                Err(failure) => return Err(failure),
            }
        }
        let handed = slot_arguments(daemon, number, (dir, &inside), &mut notes)?;
        files.extend(handed.files);
        let command = [vec![bundle.file.clone()], inputs, handed.arguments].concat();
        let before = case::before(daemon, number)?;
        for (place, hash) in before.held {
            match daemon.text(hash, &place) {
                Ok(text) => files.push((root.join(case::SLOTS).join(place), text.into_bytes())),
                Err(failure) if failure.exit == Exit::Invalid => {
                    notes.push(format!("{}, as it was before", failure.message.visible_line()));
                }
                Err(failure) => return Err(failure),
            }
        }
        let calls = Some(case::made(daemon, number)?);
        let recorded = Recorded { command: command.clone(), calls, made: before.made };
        files.push((root.join(case::FILE), pretty(&recorded)?.into_bytes()));
        Ok(SavePlan { files, root, worker, command, notes })
    }

    /// Checks that none of the files exists.
    ///
    /// # Errors
    /// When one of them exists.
    fn reject_existing_files(&self) -> Result<(), Failure> {
        match self.files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
            None => Ok(()),
            Some((there, _)) => {
                Err(Failure::new(Exit::Conflict, format!("{} is there already", display_path(there)))
                    .help("choose another name, or remove it; nothing was written"))
            }
        }
    }

    fn command_line(&self) -> String {
        let command: Vec<String> = self.command.iter().map(|each| shell_word(each)).collect();
        format!("almoner run {}", command.join(" "))
    }

    fn report(&self) -> SaveReport {
        SaveReport {
            files: self.files.iter().map(|(path, _)| path.display().to_string()).collect(),
            worker: self.worker.display().to_string(),
            replies: self.root.join(case::REPLIES).display().to_string(),
            result: self.root.join(case::RESULT).display().to_string(),
            notes: self.notes.clone(),
            command: self.command_line(),
        }
    }
}

/// Returns the result of the run.
///
/// # Errors
/// When the run has no result, or is no single execution.
fn expect_result(found: &Run) -> Result<&kernel::Value, Failure> {
    let number = found.number;
    let State::Finished { outcome: RunOutcome::Done(result) } = &found.state else {
        return Err(Failure::new(Exit::Conflict, format!("{number} has no result"))
            .help("a run that came to its end can be saved; see `almoner runs`"));
    };
    if found.shape != Shape::Single {
        return Err(Failure::new(Exit::Conflict, format!("{number} is no single execution"))
            .help("run the worker over one document, and save that run"));
    }
    Ok(result)
}

/// Returns the files that the worker includes, without those that already exist with the same content.
fn includes_of(dir: &Path, bundle: &Bundle) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    for (include, text) in &bundle.includes {
        // The author of the proposed worker chose this name.
        if !case::is_within(include) {
            let message = format!("the worker includes `{}`, which lies elsewhere", visible_line(include));
            return Err(Failure::new(Exit::Invalid, message).help("it cannot be saved as it is"));
        }
        let path = dir.join(include);
        if std::fs::read_to_string(&path).ok().as_ref() != Some(text) {
            files.push((path, text.clone().into_bytes()));
        }
    }
    Ok(files)
}

fn expect_name(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(Failure::new(Exit::Usage, "cannot use the name: it is no name for a worker")
            .help("a name has letters, digits, `_` and `-`, at most 64 of them"));
    }
    Ok(())
}

/// Returns the worker of the run, under its new name.
fn bundle(daemon: &dyn Ask, found: &Run, name: &str) -> Result<Bundle, Failure> {
    let source = daemon.text(found.definition, "the worker's definition")?;
    // A question of `almoner ask` becomes the worker's instruction, word for word.
    let source = match question(found) {
        Some(question) => question_worker(&source, question),
        None => source,
    };
    Bundle::stored(name, source, &found.includes, |include, hash| daemon.text(*hash, include))
}

/// Returns the question, if the run was started by `almoner ask`.
fn question(found: &Run) -> Option<&str> {
    found.input.values.get("question").and_then(kernel::Value::as_str).filter(|_| found.name == "ask")
}

fn question_worker(source: &str, question: &str) -> String {
    const INPUT: &str = "input: { question: string }\n";
    let front = source.split("---\n").nth(1).unwrap_or_default().replace(INPUT, "");
    let about = question.lines().next().unwrap_or_default().replace('"', "'");
    let front = front.replace("Answers one question.", &format!("{:?}", about.trim()));
    format!("---\n{front}---\n{}\n", template_literal(question))
}

/// Returns a template that renders exactly this text. Template syntax in the text is escaped.
fn template_literal(text: &str) -> String {
    let mut told = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        told.push_str(before);
        match from.as_bytes().get(1) {
            Some(b'{' | b'%' | b'#') => {
                told.push_str(&format!("{{{{ '{}' }}}}", &from[..2]));
                rest = &from[2..];
            }
            _ => {
                told.push('{');
                rest = &from[1..];
            }
        }
    }
    told + rest
}

/// Returns the model's replies as a script: those of the run, and those of each called worker at its first call.
fn reply_script(daemon: &dyn Ask, found: &Run, notes: &mut Vec<String>) -> Result<Json, Failure> {
    let mut entries = vec![];
    let mut open = vec![(found.number, found.name.clone())];
    let mut named = std::collections::BTreeSet::new();
    while let Some((number, name)) = open.pop() {
        if !named.insert(name.clone()) {
            notes.push(format!(
                "`{}` was called more than once: its replies after the first call are not kept",
                visible_line(&name)
            ));
            continue;
        }
        let mut turns = vec![];
        for step in daemon.journal(number)? {
            match &step.entry {
                Entry::Replied { reply, .. } => turns.push(script_turn(daemon, *reply)?),
                Entry::EffectStarted { child: Some(child), .. } => {
                    open.push((*child, daemon.run(*child)?.name));
                }
                _ => {}
            }
        }
        let own = number == found.number;
        entries.push(if own { json!({ "turns": turns }) } else { json!({ "worker": name, "turns": turns }) });
    }
    // The first matching entry of a script is used, so the entries that name a worker must come first.
    entries.reverse();
    Ok(Json::Array(entries))
}

fn script_turn(daemon: &dyn Ask, hash: BlobHash) -> Result<Json, Failure> {
    let reply: Reply = serde_json::from_str(&daemon.text(hash, "a reply")?)
        .map_err(|e| Failure::new(Exit::Failure, format!("a recorded reply cannot be read: {e}")))?;
    let calls: Vec<Json> = reply
        .calls
        .iter()
        .map(|call| json!({ "name": call.name, "arguments": call.arguments }))
        .chain(
            reply
                .malformed
                .iter()
                .map(|call| json!({ "name": call.name, "arguments": format!("!{}", call.arguments) })),
        )
        .collect();
    let mut turn = json!({});
    if !reply.text.is_empty() {
        turn["text"] = json!(reply.text);
    }
    if !calls.is_empty() {
        turn["calls"] = Json::Array(calls);
    }
    Ok(turn)
}

/// Returns the named inputs, in the form in which a user types them.
fn inputs(found: &Run) -> Vec<String> {
    let Json::Object(values) = found.input.values.to_json() else { return vec![] };
    values
        .into_iter()
        .map(|(name, value)| match value {
            Json::String(text) => format!("{name}={text}"),
            other => format!("{name}:={other}"),
        })
        .collect()
}

/// The arguments of a command line that fill the slots of a run, and the files of workers in slots.
#[derive(Default)]
struct SlotArguments {
    arguments: Vec<String>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Returns the arguments for the slots of a run, from their bindings. `dir` is the directory of the worker file, and
/// `inside` is its case.
fn slot_arguments(
    daemon: &dyn Ask,
    run: RunNumber,
    (dir, inside): (&Path, &Path),
    notes: &mut Vec<String>,
) -> Result<SlotArguments, Failure> {
    let bindings = daemon.bindings(run)?;
    let here = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let base = std::fs::canonicalize(here).unwrap_or_else(|_| here.to_owned());
    let written = |endowment: Endowment| {
        endowment_text::typed(&base, &endowment)
            .ok_or_else(|| "its name cannot be written behind `-e`".to_owned())
    };
    let mut handed = SlotArguments::default();
    for SlotBinding { slot, content, allow, .. } in bindings {
        let text = match content {
            SlotContent::Typed { fill } => written(Endowment { slot: slot.clone(), fill }),
            SlotContent::Worker { name, definition, includes, limits } => {
                let below = inside.join(WORKERS_DIR).join(&slot);
                let bundle = slot_worker_file(daemon, &name, definition, &includes)?;
                let place = dir.join(&below);
                handed.files.extend(includes_of(&place, &bundle)?);
                handed.files.push((place.join(&bundle.file), bundle.source.into_bytes()));
                let path = base.join(below).join(&bundle.file).display().to_string();
                let fill = ResourceSpec::Path(PathSpec::limited(path, &limits));
                written(Endowment { slot: slot.clone(), fill })
            }
            SlotContent::BuiltIn => Err(String::new()),
            SlotContent::Untyped { words } => Err(format!("it was filled with {}", visible_line(&words))),
        };
        match text {
            Ok(text) => handed.arguments.extend(["-e".to_owned(), text]),
            Err(why) if why.is_empty() => {}
            Err(why) => {
                notes.push(format!("slot `{}` is not kept: {why}; bind it again", visible_line(&slot)))
            }
        }
        for method in allow {
            handed.arguments.extend(["--allow".to_owned(), format!("{slot}.{method}")]);
        }
    }
    Ok(handed)
}

/// Returns the worker file of a worker that filled a slot.
fn slot_worker_file(
    daemon: &dyn Ask,
    name: &str,
    definition: BlobHash,
    includes: &BTreeMap<String, BlobHash>,
) -> Result<Bundle, Failure> {
    expect_name(name)?;
    let source = daemon.text(definition, "the definition of a worker in a slot")?;
    Bundle::stored(name, source, includes, |include, hash| daemon.text(*hash, include))
}

/// Returns a path in one line, without characters that control a terminal.
fn display_path(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

impl Ask for Services {
    fn ask(&self, request: Request) -> Result<Response, Failure> {
        dispatch::answer_host(self, &ClientKeys::new(), request)
    }
}

/// Writes new files, and the directories above them. If one cannot be written, none of the files stays.
fn put_all(files: &[(PathBuf, Vec<u8>)]) -> Result<(), Failure> {
    for (at, (path, bytes)) in files.iter().enumerate() {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let made = made.and_then(|()| whole_file::create(path, whole_file::NEW_FILE_MODE, bytes));
        made.map_err(|e| {
            for (path, _) in &files[..at] {
                // The first error is reported.
                let _ = std::fs::remove_file(path);
            }
            Failure::of_file("write", &path.to_string_lossy(), e)
                .help("check the directory, its permissions and its room; no file was written")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_question_is_rendered_verbatim() {
        let source = "---\ndescription: Answers one question.\ninput: { question: string }\nslots:\n  d: dir\n---\nx {{ input.question }}\n";
        let made = question_worker(source, "What is \"{{ x }}\" {% if %}?");
        assert!(
            made.starts_with("---\ndescription: \"What is '{{ x }}' {% if %}?\"\nslots:\n  d: dir\n---\n"),
            "{made}"
        );
        let bundle = Bundle {
            name: "q".to_owned(),
            file: "q.worker".to_owned(),
            source: made,
            includes: Default::default(),
        };
        let (definition, problems) = worker::definition::parse(&bundle);
        assert!(problems.is_empty(), "{problems:?}");
        let data = json!({ "input": {}, "attachments": [] });
        let told = worker::definition::render_prompt(&definition.unwrap(), &bundle, &data).unwrap();
        assert_eq!(told.trim(), "What is \"{{ x }}\" {% if %}?");
    }
}
