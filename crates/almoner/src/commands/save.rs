//! `almoner save`: a run becomes a worker file, with what it was given and what its model answered as a case to try it by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernel::run::{Entry, Run, RunOutcome, Shape, State};
use kernel::{BlobHash, RunNumber};
use model::Reply;
use passable::visible_line;
use serde_json::{Value as Json, json};
use worker::definition::Bundle;

use super::acting::Acting;
use super::cases::{self, Case, Recorded, pretty};
use super::look::LAST;
use super::stage::number;
use super::{look, output};
use crate::cli::{self, SaveArgs};
use crate::client::unexpected;
use crate::daemon::start_run;
use config::place::Place;
use control::binding::{SlotBinding, SlotContent};
use control::examined::Saving;
use control::exit::{Ended, Exit, Failure};
use control::protocol::{Request, Response};
use resource::{Endowment, PathSpec, ResourceSpec};

/// The directory of a case in which the workers lie that filled slots.
const WORKERS: &str = "workers";

/// `almoner save`.
///
/// # Errors
/// When the run is not over, was none of one execution, or something is in the way of its files. Nothing is replaced.
pub fn save(acting: &Acting<'_>, args: &SaveArgs) -> Ended {
    let (which, name) = which(&args.words)?;
    let number = if which == LAST { look::latest(acting)? } else { number(which)? };
    // Its paths are meant from here, as those of all commands.
    let saved = Saved::of(acting, number, name, Path::new(""))?;
    saved.notes.iter().for_each(|note| output::note(note));
    saved.write(acting.place)?;
    for (path, _) in &saved.files {
        output::note(&format!("{} is there", output::path(path)));
    }
    output::result(&saved.command_line())?;
    let replies = word(&saved.root.join("replies.json").display().to_string());
    let worker = word(&saved.worker.display().to_string());
    output::note(&format!(
        "With `-m scripted:{replies}` it goes as it went then, and comes to {}; `almoner test {worker}` tries that.",
        output::path(&saved.root.join("result.json")),
    ));
    Ok(Exit::Ok)
}

/// A run as the files of a worker and of its case, which are not written yet.
pub struct Saved {
    /// What is written where.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// The directory of the case.
    root: PathBuf,
    /// The worker's file.
    worker: PathBuf,
    /// What stands behind `almoner run`, given where the worker's file lies.
    command: Vec<String>,
    /// What is not kept.
    notes: Vec<String>,
}

impl Saved {
    /// A run under a name in a directory.
    ///
    /// # Errors
    /// When the run is not over, was none of one execution, or is of what cannot be saved.
    pub fn of(acting: &Acting<'_>, number: RunNumber, name: &str, dir: &Path) -> Result<Saved, Failure> {
        expect_name(name)?;
        let found = look::run(acting, number)?;
        let result = expect_result(&found)?;
        let bundle = bundle(acting, &found, name)?;
        start_run::parse(&bundle)?;
        let mut notes = Vec::new();
        let case = case(acting, &found, &mut notes)?;
        let inside = PathBuf::from(format!("{name}{}", cases::SUFFIX));
        let root = dir.join(&inside);
        let worker = dir.join(&bundle.file);
        let mut files = vec![(worker.clone(), bundle.source.clone().into_bytes())];
        files.extend(includes_of(dir, &bundle)?);
        files.push((root.join("replies.json"), pretty(&case)?.into_bytes()));
        files.push((root.join("result.json"), pretty(&result.to_json())?.into_bytes()));
        // What the worker was asked is part of its text now.
        let is_question = question(&found).is_some();
        let mut inputs = if is_question { vec![] } else { inputs(&found) };
        for document in &found.input.attachments {
            let to = Path::new("documents")
                .join(Path::new(&document.name).file_name().unwrap_or_else(|| document.name.as_ref()));
            match text(acting, document.hash, &document.name) {
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
        let handed = handed(acting, number, (dir, &inside), &mut notes)?;
        files.extend(handed.files);
        let command = [vec![bundle.file.clone()], inputs, handed.words].concat();
        let before = cases::before(acting, number)?;
        for (place, hash) in before.held {
            match text(acting, hash, &place) {
                Ok(text) => files.push((root.join(cases::SLOTS).join(place), text.into_bytes())),
                Err(failure) if failure.exit == Exit::Invalid => {
                    notes.push(format!("{}, as it was before", failure.message.visible_line()));
                }
                Err(failure) => return Err(failure),
            }
        }
        let calls = Some(cases::made(acting, number)?);
        let recorded = Recorded { command: command.clone(), calls, made: before.made };
        files.push((root.join(cases::FILE), pretty(&recorded)?.into_bytes()));
        Ok(Saved { files, root, worker, command, notes })
    }

    /// Refuses if anything lies where a file would be written.
    ///
    /// # Errors
    /// When it does.
    pub fn expect_free(&self) -> Result<(), Failure> {
        match self.files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
            None => Ok(()),
            Some((there, _)) => {
                Err(Failure::new(Exit::Conflict, format!("{} is there already", output::path(there)))
                    .help("choose another name, or remove it; nothing was written"))
            }
        }
    }

    /// Writes all of it, or nothing if something is in the way. Whoever saves a run has handed over what its case hands
    /// over.
    ///
    /// # Errors
    /// When something is in the way, or the disk does not take it.
    pub fn write(&self, place: &Place) -> Result<(), Failure> {
        self.expect_free()?;
        put_all(&self.files)?;
        cases::keep(place, &Case::load(&self.root)?)
    }

    fn command_line(&self) -> String {
        let command: Vec<String> = self.command.iter().map(|each| word(each)).collect();
        format!("almoner run {}", command.join(" "))
    }

    /// What is told of it.
    pub fn told(&self) -> Saving {
        Saving {
            files: self.files.iter().map(|(path, _)| path.display().to_string()).collect(),
            worker: self.worker.display().to_string(),
            notes: self.notes.clone(),
            command: self.command_line(),
        }
    }
}

/// What the run came to.
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

/// The files that the worker includes, but those that lie there already as they were: they are not in the way.
fn includes_of(dir: &Path, bundle: &Bundle) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    for (include, text) in &bundle.includes {
        // Whoever proposed the worker chose this name.
        if !cases::is_within(include) {
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

/// `last as NAME`, `r17 as NAME`, or NAME alone.
fn which(words: &[String]) -> Result<(&str, &str), Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (which, name) = match words.as_slice() {
        [which, "as", name] => (*which, *name),
        [which, name] if *name != "as" => (*which, *name),
        // A run alone has no name yet.
        [name] if *name != LAST && name.parse::<kernel::RunNumber>().is_err() => (LAST, *name),
        _ => ("", ""),
    };
    if which.is_empty() || expect_name(name).is_err() {
        return Err(Failure::new(Exit::Usage, "which run, and under which name?")
            .help("write `almoner save last as NAME`; a name has letters, digits, `_` and `-`"));
    }
    Ok((which, name))
}

fn expect_name(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(Failure::new(Exit::Usage, "this is no name for a worker")
            .help("a name has letters, digits, `_` and `-`, at most 64 of them"));
    }
    Ok(())
}

/// The worker file of the run, under its new name.
fn bundle(acting: &Acting<'_>, found: &Run, name: &str) -> Result<Bundle, Failure> {
    let source = text(acting, found.definition, "the worker's definition")?;
    // A question becomes what the worker is told to do, word for word.
    let source = match question(found) {
        Some(question) => of_question(&source, question),
        None => source,
    };
    Bundle::stored(name, source, &found.includes, |include, hash| text(acting, *hash, include))
}

/// What was asked, if it was a question once.
fn question(found: &Run) -> Option<&str> {
    found.input.values.get("question").and_then(kernel::Value::as_str).filter(|_| found.name == "ask")
}

fn of_question(source: &str, question: &str) -> String {
    const INPUT: &str = "input: { question: string }\n";
    let front = source.split("---\n").nth(1).unwrap_or_default().replace(INPUT, "");
    let about = question.lines().next().unwrap_or_default().replace('"', "'");
    let front = front.replace("Answers one question.", &format!("{:?}", about.trim()));
    format!("---\n{front}---\n{}\n", literal(question))
}

/// A text as a template that says exactly that: whatever looks like a part of a template in it is none.
fn literal(text: &str) -> String {
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

/// What the model answered, as a script: that of the run, and those of the workers that it called once.
fn case(acting: &Acting<'_>, found: &Run, notes: &mut Vec<String>) -> Result<Json, Failure> {
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
        for step in look::journal(acting, number)? {
            match &step.entry {
                Entry::Replied { reply, .. } => turns.push(turn(acting, *reply)?),
                Entry::Begun { child: Some(child), .. } => {
                    open.push((*child, look::run(acting, *child)?.name));
                }
                _ => {}
            }
        }
        let own = number == found.number;
        entries.push(if own { json!({ "turns": turns }) } else { json!({ "worker": name, "turns": turns }) });
    }
    // The first that fits answers: those that say for whom they are come first.
    entries.reverse();
    Ok(Json::Array(entries))
}

fn turn(acting: &Acting<'_>, hash: BlobHash) -> Result<Json, Failure> {
    let reply: Reply = serde_json::from_str(&text(acting, hash, "a reply")?)
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

/// The named inputs, as they are typed.
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

/// The words of a command line that fill the slots of a run, and the files of workers that fill some.
#[derive(Default)]
struct Handed {
    words: Vec<String>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Reads what fills the slots of a run from the store. `dir` is where the worker's file lies, and `inside` its case.
fn handed(
    acting: &Acting<'_>,
    run: RunNumber,
    (dir, inside): (&Path, &Path),
    notes: &mut Vec<String>,
) -> Result<Handed, Failure> {
    let bindings = match acting.connect()?.ask(Request::Bindings { run })? {
        Response::Bindings(bindings) => bindings,
        other => return Err(unexpected(&other)),
    };
    let here = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let base = std::fs::canonicalize(here).unwrap_or_else(|_| here.to_owned());
    let written = |endowment: Endowment| {
        cli::typed(&base, &endowment).ok_or_else(|| "its name cannot be written behind `-e`".to_owned())
    };
    let mut handed = Handed::default();
    for SlotBinding { slot, content, allow } in bindings {
        let text = match content {
            SlotContent::Typed { fill } => written(Endowment { slot: slot.clone(), fill }),
            SlotContent::Worker { name, definition, includes, limits } => {
                let below = inside.join(WORKERS).join(&slot);
                let bundle = inner(acting, &name, definition, &includes)?;
                let place = dir.join(&below);
                handed.files.extend(includes_of(&place, &bundle)?);
                handed.files.push((place.join(&bundle.file), bundle.source.into_bytes()));
                let path = base.join(below).join(&bundle.file).display().to_string();
                let fill = ResourceSpec::Path(PathSpec::limited(path, &limits));
                written(Endowment { slot: slot.clone(), fill })
            }
            SlotContent::Own => Err(String::new()),
            SlotContent::Untyped { words } => Err(format!("it was filled with {}", visible_line(&words))),
        };
        match text {
            Ok(text) => handed.words.extend(["-e".to_owned(), text]),
            Err(why) if why.is_empty() => {}
            Err(why) => {
                notes.push(format!("slot `{}` is not kept: {why}; bind it again", visible_line(&slot)))
            }
        }
        for method in allow {
            handed.words.extend(["--allow".to_owned(), format!("{slot}.{method}")]);
        }
    }
    Ok(handed)
}

/// The worker file of a worker that filled a slot.
fn inner(
    acting: &Acting<'_>,
    name: &str,
    definition: BlobHash,
    includes: &BTreeMap<String, BlobHash>,
) -> Result<Bundle, Failure> {
    expect_name(name)?;
    let source = text(acting, definition, "the definition of a worker in a slot")?;
    Bundle::stored(name, source, includes, |include, hash| text(acting, *hash, include))
}

/// A word as a shell takes it.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

fn text(acting: &Acting<'_>, hash: BlobHash, what: &str) -> Result<String, Failure> {
    match acting.connect()?.ask(Request::Blob { hash })? {
        Response::Blob(Some(text)) => Ok(text),
        Response::Blob(None) => {
            let message = format!("{} is no text and is not saved", visible_line(what));
            Err(Failure::new(Exit::Invalid, message).help("save a run over texts"))
        }
        other => Err(unexpected(&other)),
    }
}

fn put_all(files: &[(PathBuf, Vec<u8>)]) -> Result<(), Failure> {
    for (path, bytes) in files {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let fail = |e: std::io::Error| {
            Failure::new(Exit::Failure, format!("{}: {e}", output::path(path)))
                .help("check the directory and its permissions")
        };
        made.map_err(fail)?;
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
        file.and_then(|mut file| std::io::Write::write_all(&mut file, bytes)).map_err(fail)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_quoted_as_a_shell_takes_it() {
        for (text, shown) in
            [("a=b.c", "a=b.c"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''"), ("$x", "'$x'")]
        {
            assert_eq!(word(text), shown);
        }
    }

    #[test]
    fn which_run_and_which_name() {
        let of = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            which(&words).map(|(run, name)| format!("{run} {name}")).ok()
        };
        assert_eq!(of("last as sum").as_deref(), Some("last sum"));
        assert_eq!(of("r3 sum").as_deref(), Some("r3 sum"));
        assert_eq!(of("sum").as_deref(), Some("last sum"));
        for wrong in ["last", "r3", "last as", "a b c", "last as ../x", "last as a.b", ""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_question_is_taken_word_for_word() {
        let source = "---\ndescription: Answers one question.\ninput: { question: string }\nslots:\n  d: dir\n---\nx {{ input.question }}\n";
        let made = of_question(source, "What is \"{{ x }}\" {% if %}?");
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
