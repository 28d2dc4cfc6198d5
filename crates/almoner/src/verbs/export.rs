//! `almoner export`: a run with all that it consists of, as one file of JSON lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use kernel::run::{Entry, Run, Step};
use kernel::{BlobHash, RunNumber};
use serde_json::{Value, json};

use crate::cli::maintenance::ExportArgs;
use crate::session::Session;
use crate::session::questions;
use crate::ui::output;
use config::whole_file::NewFile;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Copy, Request, Response};
use control::show::journal::child;

/// The use of a blob that is a request to a model.
const REQUEST: &str = "request";

/// The use of a blob that a request to a model names.
const REQUEST_PART: &str = "part of a request";

/// Runs `almoner export`.
///
/// # Errors
/// When the run does not exist, or the file cannot be written.
pub fn export(acting: &Session<'_>, args: &ExportArgs) -> ExitResult {
    let run = questions::named_run(acting, args.run.as_deref())?;
    let mut out = ExportOutput::open(args.output.as_deref())?;
    let mut blobs = Blobs::default();
    let family = family(acting, run)?;
    out.line(&json!({
        "kind": "export", "version": 1, "run": run.to_string(), "build": config::build::id(),
        "documents": !args.no_documents,
    }))?;
    let mut parts = 0;
    for (run, steps) in &family {
        blobs.add_run(run, !args.no_documents);
        out.line(&json!({ "kind": "run", "run": run }))?;
        for step in steps {
            blobs.add_step(step, !args.no_documents);
            out.line(&json!({ "kind": "step", "run": run.number.to_string(), "step": step }))?;
        }
        parts += 1 + steps.len();
    }
    let (mut missing, mut count) = (0, 0);
    let mut exported: BTreeSet<BlobHash> = BTreeSet::new();
    while let Some((hash, uses)) = blobs.0.pop_first() {
        if !exported.insert(hash) {
            continue;
        }
        count += 1;
        let line = match acting.ask(Request::Copy { hash })? {
            Response::Copy(Some(Copy { text, base64, redacted })) => {
                let is_request = uses.iter().any(|one| one == REQUEST || one == REQUEST_PART);
                // A request names its messages, and the request before it.
                for part in worker::request_parts(text.as_deref().unwrap_or_default().as_bytes()) {
                    if is_request && !exported.contains(&part) {
                        blobs.add(part, REQUEST_PART.to_owned());
                    }
                }
                let mut line = json!({ "kind": "blob", "hash": hash.to_string(), "as": uses });
                let body = text.map(|text| ("text", text)).or(base64.map(|bytes| ("base64", bytes)));
                if let Some((name, body)) = body {
                    line[name] = json!(body);
                }
                if redacted {
                    line["redacted"] = json!(true);
                }
                line
            }
            Response::Copy(None) => {
                missing += 1;
                json!({ "kind": "blob", "hash": hash.to_string(), "as": uses, "gone": true })
            }
            other => return Err(unexpected(&other)),
        };
        out.line(&line)?;
        parts += 1;
    }
    out.finish()?;
    if let Some(to) = &args.output {
        let gone = if missing > 0 { format!(", {missing} of which are gone") } else { String::new() };
        output::note(&format!(
            "{} has {} runs, {parts} lines, {} blobs{gone}; values of the vault stand nowhere in it",
            output::path(to),
            family.len(),
            count
        ));
    }
    Ok(Exit::Ok)
}

/// Returns a run and all runs that it started, with their journals. A run comes before those that it started.
fn family(acting: &Session<'_>, root: RunNumber) -> Result<Vec<(Run, Vec<Step>)>, Failure> {
    let mut all = Vec::new();
    let mut waiting = vec![root];
    while let Some(number) = waiting.pop() {
        let page = |from| match acting.ask(Request::Export { run: number, from })? {
            Response::Exported(rows) => Ok(rows),
            other => Err(unexpected(&other)),
        };
        let run: Run = page(0)?.pop().map(parse_row).transpose()?.ok_or_else(unexpected_row)?;
        let mut steps: Vec<Step> = Vec::new();
        loop {
            let more = page(steps.last().map_or(1, |step| step.number + 1))?;
            if more.is_empty() {
                break;
            }
            steps.extend(more.into_iter().map(parse_row).collect::<Result<Vec<Step>, _>>()?);
        }
        let mut children: Vec<RunNumber> = steps.iter().filter_map(|step| child(&step.entry)).collect();
        children.reverse();
        waiting.extend(children);
        all.push((run, steps));
    }
    Ok(all)
}

fn parse_row<T: serde::de::DeserializeOwned>(row: Value) -> Result<T, Failure> {
    serde_json::from_value(row).map_err(|_| unexpected_row())
}

fn unexpected_row() -> Failure {
    Failure::new(Exit::NoDaemon, "the daemon's answer cannot be read").help("`almoner stop`, then try again")
}

/// The blobs that an export contains, by hash, each with descriptions of its uses.
#[derive(Default)]
struct Blobs(BTreeMap<BlobHash, Vec<String>>);

impl Blobs {
    fn add(&mut self, hash: BlobHash, what: String) {
        let uses = self.0.entry(hash).or_default();
        if !uses.contains(&what) {
            uses.push(what);
        }
    }

    fn add_run(&mut self, run: &Run, documents: bool) {
        self.add(run.definition, format!("definition {}", run.name));
        for (name, hash) in &run.includes {
            self.add(*hash, format!("include {name}"));
        }
        for document in run.input.attachments.iter().chain(&run.input.items).filter(|_| documents) {
            self.add(document.hash, format!("document {}", document.name));
            self.add(document.text, format!("text of {}", document.name));
        }
    }

    fn add_step(&mut self, step: &Step, documents: bool) {
        match &step.entry {
            // A request also contains the documents.
            Entry::Prompted { request, .. } if documents => self.add(*request, REQUEST.to_owned()),
            Entry::Spilled { whole, .. } if documents => self.add(*whole, "result".to_owned()),
            Entry::Replied { reply, .. } => self.add(*reply, "reply".to_owned()),
            Entry::Proposed { proposal, .. } if documents => {
                for pin in &proposal.pins {
                    if let Some(digest) = pin.digest {
                        self.add(digest, "what a call depends on".to_owned());
                    }
                }
            }
            _ => {}
        }
    }
}

/// The target of an export: a new file that no other user may read, or standard output. The file gets its name when the
/// export is complete.
enum ExportOutput {
    Screen,
    File { file: std::io::BufWriter<NewFile>, to: String },
}

impl ExportOutput {
    fn open(to: Option<&Path>) -> Result<ExportOutput, Failure> {
        let Some(to) = to.filter(|to| *to != Path::new("-")) else { return Ok(ExportOutput::Screen) };
        let shown = output::path(to);
        match NewFile::begin(to, 0o600) {
            Ok(file) => Ok(ExportOutput::File { file: std::io::BufWriter::new(file), to: shown }),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Failure::new(Exit::Conflict, format!("{shown} is there already"))
                    .help("choose another name; nothing is written over"))
            }
            Err(e) => Err(Failure::of_file("write", &shown, e)),
        }
    }

    fn line(&mut self, line: &Value) -> Result<(), Failure> {
        match self {
            ExportOutput::Screen => output::json(line),
            ExportOutput::File { file, to } => {
                writeln!(file, "{line}").map_err(|e| Failure::of_file("write", to, e))
            }
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            ExportOutput::Screen => Ok(()),
            ExportOutput::File { file, to } => file
                .into_inner()
                .map_err(std::io::IntoInnerError::into_error)
                .and_then(NewFile::finish)
                .map_err(|e| Failure::of_file("write", &to, e)),
        }
    }
}
