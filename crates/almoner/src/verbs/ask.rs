//! `almoner ask`: a worker without a file.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use passable::Untrusted;
use serde_json::{Map, Value};

use super::{models, run};
use crate::cli;
use crate::cli::AskArgs;
use crate::session::Session;
use crate::session::command_line;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Document, ModelChoice, RunRequest, StartSpec, WorkerSource};

/// The worker that every question runs. The question itself is data for it, never part of its text.
const WORKER_SOURCE: &str =
    "Answer the question. Be brief and exact; say so if you cannot know.\n\nQuestion: {{ input.question }}\n";

/// Runs `almoner ask`.
///
/// # Errors
/// When the command is wrong, or the run fails.
pub fn ask(acting: &Session<'_>, args: &AskArgs) -> ExitResult {
    let mut documents = cli::read_inputs(&args.documents)?;
    if !documents.values.is_empty() {
        return Err(Failure::new(Exit::Usage, "`ask` takes documents, and no named inputs")
            .help("write a worker file for anything more, and `almoner run` it"));
    }
    let stdin_named = args.documents.iter().any(|d| d == "-");
    if !stdin_named && !std::io::stdin().is_terminal() {
        let text = cli::stdin()?;
        if !text.trim().is_empty() {
            documents.documents.push(Document::Text { name: "stdin".to_owned(), text });
        }
    }
    let endow: Vec<_> = args.endow.iter().map(|text| cli::parse_endowment(text)).collect::<Result<_, _>>()?;
    let mut front = "---\ndescription: Answers one question.\ninput: { question: string }\n".to_owned();
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
            source: format!("{front}---\n{WORKER_SOURCE}"),
            ..WorkerSource::default()
        },
        spec: StartSpec {
            values: Map::from_iter([("question".to_owned(), Value::String(args.question.clone()))]),
            documents: documents.documents,
            private: args.private,
            endow,
            model: ModelChoice::Reference(model),
            ..StartSpec::default()
        },
    };
    run::start(acting, request, &args.follow)
}
