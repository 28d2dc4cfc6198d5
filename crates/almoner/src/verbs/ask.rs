//! `almoner ask`: a worker without a file.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use config::machine::absolute;
use passable::Untrusted;
use resource::{Endowment, PathSpec, ResourceSpec};
use serde_json::{Map, Value};

use super::{models, run};
use crate::cli;
use crate::cli::AskArgs;
use crate::session::Session;
use crate::session::command_line;
use crate::ui::piped_input::{PipedInput, announce_stdin};
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{ModelChoice, RunRequest, StartSpec, WorkerSource};
use daemon::processes::document_reader::DocumentReader;

/// The maximum length of the name of a directory's slot, in characters.
const MAX_SLOT_CHARS: usize = 32;

/// The worker that every question runs. The question itself is data for it, never part of its text.
const WORKER_SOURCE: &str =
    "Answer the question. Be brief and exact; say so if you cannot know.\n\nQuestion: {{ input.question }}\n";

/// Runs `almoner ask`.
///
/// # Errors
/// When the command is wrong, or the run fails.
pub fn ask(acting: &Session<'_>, args: &AskArgs) -> ExitResult {
    let (directories, rest) = cli::split_directories(&args.documents);
    let notice = announce_stdin(&rest);
    let mut documents = cli::read_inputs(&rest)?;
    drop(notice);
    if !documents.values.is_empty() {
        return Err(Failure::new(Exit::Usage, "cannot take a named input: `ask` takes documents alone")
            .help("write a worker file for anything more, and `almoner run` it"));
    }
    let is_named = args.documents.iter().any(|d| d == "-");
    let piped = match is_named || std::io::stdin().is_terminal() {
        true => None,
        false => Some(PipedInput::read(cli::MAX_INPUT_BYTES)?),
    };
    if let Some(PipedInput { bytes, .. }) = &piped {
        cli::check_stdin(bytes)?;
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            documents.documents.push(cli::content_document("stdin", bytes.clone()));
        }
    }
    let mut endow: Vec<Endowment> =
        args.endow.iter().map(|text| cli::parse_endowment(text)).collect::<Result<_, _>>()?;
    let mut slots = Vec::new();
    let reader = DocumentReader::own();
    let read = |bytes: &[u8], name: &str, limits: &document::Limits| reader.read(bytes, name, limits);
    for directory in &directories {
        documents.documents.extend(cli::directory_documents(directory, &read)?);
        let path = absolute(directory)?;
        let slot = slot_name(&path, &endow);
        let spec = PathSpec { path, private: args.private, ..PathSpec::default() };
        endow.push(Endowment { slot: slot.clone(), fill: ResourceSpec::Path(spec) });
        slots.push(slot);
    }
    let mut front = "---\ndescription: Answers one question.\ninput: { question: string }\n".to_owned();
    if let Some(most) = &args.attachments {
        let Some(most) = resource::units::bytes(most) else {
            return Err(Failure::new(Exit::Usage, format!("`{most}` is not a size"))
                .help("write it like `--attachments 20MiB`"));
        };
        let _ = writeln!(front, "attachments: {{ bytes: {most} }}");
    }
    if !endow.is_empty() {
        front += "slots:\n";
        for endowment in &endow {
            let kind = endowment.fill.kind();
            let _ = writeln!(front, "  {}: {kind}", endowment.slot);
        }
    }
    let model = models::choose(acting.place, args.model.as_deref(), None, false)?;
    let request = RunRequest {
        text: Untrusted::new(command_line::command_line()),
        worker: WorkerSource {
            name: "ask".to_owned(),
            source: format!("{front}---\n{}{WORKER_SOURCE}", directory_words(&slots)),
            ..WorkerSource::default()
        },
        spec: StartSpec {
            values: Map::from_iter([("question".to_owned(), Value::String(args.question.clone()))]),
            documents: acting.readable_documents(documents.documents)?,
            private: args.private,
            endow,
            model: ModelChoice::Reference(model),
            ..StartSpec::default()
        },
        key: args.key.clone(),
    };
    let ended = run::start(acting, request, &args.follow)?;
    // The question was asked without this text, so the answer may be wrong.
    if piped.is_some_and(|piped| piped.is_late()) {
        let message =
            "cannot vouch for the answer: text came on standard input after the question had been asked";
        return Err(Failure::new(Exit::Failure, message)
            .help("`almoner ask QUESTION -` waits for standard input, however long it takes"));
    }
    Ok(ended)
}

/// Returns a name for the slot of a directory, made of the directory's own name.
fn slot_name(path: &str, taken: &[Endowment]) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = name.chars().take(MAX_SLOT_CHARS).map(plain).collect();
    let name = name.trim_matches('_');
    let name = if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { "files" };
    let is_free = |name: &String| !taken.iter().any(|other| other.slot == *name);
    let others = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(others).find(is_free).unwrap_or_default()
}

/// Returns the words of the prompt about the slots of directories.
fn directory_words(slots: &[String]) -> String {
    let line = |slot: &String| {
        format!(
            "Through the slot `{slot}` you see a directory with everything below it: find files with `{slot}_glob` and \
             `{slot}_grep`, and read them with `{slot}_read`.\n"
        )
    };
    slots.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_is_named_after_the_directory() {
        let taken: Vec<Endowment> = ["mail", "mail_2"]
            .map(|slot| Endowment { slot: slot.to_owned(), fill: ResourceSpec::Clock })
            .into();
        for (path, expected) in [
            ("/home/me/mail", "mail_3"),
            ("/home/me/My Papers/", "my_papers"),
            ("/home/me/2026", "files"),
            ("/home/me/北京", "files"),
            ("/", "files"),
        ] {
            assert_eq!(slot_name(path, &taken), expected, "{path}");
        }
    }
}
