//! `almoner new`, `almoner import` and `almoner schema`: worker files, and their schema for editors.

use std::path::Path;

use passable::visible_line;
use worker::definition::{self, Bundle, MAX_BYTES};

use super::run;
use crate::cli::{ImportArgs, NewArgs, SchemaArgs};
use crate::ui::output;
use config::whole_file;
use control::exit::{Exit, ExitResult, Failure};

/// The text of a new worker file.
const NEW_WORKER: &str =
    "---\ndescription: What it does, in one line.\n---\nSay what is to be done, in plain words.\n";

/// Runs `almoner new`.
///
/// # Errors
/// When the name is not valid, or the file exists already.
pub fn new(args: &NewArgs) -> ExitResult {
    let name = args.name.trim_end_matches(".worker");
    let path = format!("{name}.worker");
    let file = Path::new(&path);
    create_file(file, NEW_WORKER)?;
    // If the name is not valid for a worker file, loading fails here, and the new file is removed.
    if let Err(failure) = Bundle::load(file) {
        drop(std::fs::remove_file(file));
        return Err(Failure::new(Exit::Usage, failure.to_string()).help(failure.help()));
    }
    let shown = visible_line(&path);
    output::note(&format!("{shown} is there. Write what it does, then:\n  almoner run {shown}"));
    Ok(Exit::Ok)
}

/// Runs `almoner import`.
///
/// # Errors
/// When the file cannot be read or taken over, or the new file exists already.
pub fn import(args: &ImportArgs) -> ExitResult {
    let shown = output::path(&args.file);
    let source = read(&args.file)?;
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let imported = definition::import(&name, &source).map_err(|error| {
        Failure::new(Exit::Invalid, format!("cannot take over {shown}: {error}"))
            .help("it takes worker files of llm-do (.worker, .yaml, .agent) and agents in Markdown")
    })?;
    if args.output.as_deref() == Some(Path::new("-")) {
        output::part(&imported.source)?;
    } else {
        let beside = format!("{}.worker", imported.name);
        let to = args.output.as_deref().unwrap_or_else(|| Path::new(&beside));
        create_file(to, &imported.source)?;
        output::note(&format!("{} is there; nothing is bound to its slots yet", output::path(to)));
    }
    for note in &imported.notes {
        output::note(&format!("  · {}", visible_line(note)));
    }
    // Prints the findings about the imported file and its templates, as a later check would.
    let bundle = Bundle {
        file: format!("{}.worker", imported.name),
        name: imported.name,
        source: imported.source,
        includes: Default::default(),
    };
    run::check(&bundle)?;
    Ok(Exit::Ok)
}

/// Runs `almoner schema`.
///
/// # Errors
/// When the schema cannot be printed.
pub fn schema(args: &SchemaArgs) -> ExitResult {
    let SchemaArgs::Worker = args;
    let text = serde_json::to_string_pretty(&definition::schema())
        .map_err(|error| Failure::from_error(Exit::Failure, error))?;
    output::result(&text)?;
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<String, Failure> {
    let shown = output::path(path);
    let fail = |e: std::io::Error| Failure::of_file("read", &path.to_string_lossy(), e);
    let meta = std::fs::metadata(path).map_err(fail)?;
    if !meta.is_file() || meta.len() > MAX_BYTES as u64 {
        let message = format!("{shown} is not a file of at most {} KiB", MAX_BYTES >> 10);
        return Err(Failure::new(Exit::Invalid, message).help("a worker file is a short text"));
    }
    let bytes = std::fs::read(path).map_err(fail)?;
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(Exit::Invalid, format!("{shown} is not UTF-8 text")).help("save it as UTF-8")
    })
}

/// Writes a new file. An existing file is never replaced, and a full disk leaves no file.
fn create_file(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = output::path(path);
    whole_file::create(path, whole_file::NEW_FILE_MODE, text.as_bytes()).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::new(Exit::Conflict, format!("{shown} is there already"))
                .help("choose another name, or remove it; nothing was changed")
        }
        std::io::ErrorKind::NotFound => {
            Failure::of_file("write", &path.to_string_lossy(), e).help("make the directory first")
        }
        _ => Failure::of_file("write", &path.to_string_lossy(), e),
    })
}
