//! `almoner save`: a run becomes a worker file, with its inputs and the replies of its model as a test.

use crate::cli::SaveArgs;
use crate::session::Session;
use crate::session::questions;
use crate::session::questions::LAST_RUN;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use passable::shell_word;

/// Runs `almoner save`. No existing file is replaced.
///
/// # Errors
/// When the run is not over, was not a single execution, or a file of the same name exists.
pub fn save(acting: &Session<'_>, args: &SaveArgs) -> ExitResult {
    let (which, name) = parse_words(&args.words)?;
    let run = questions::named_run(acting, Some(which))?;
    let here = std::env::current_dir().map_err(|e| {
        Failure::new(Exit::Failure, format!("cannot find the current directory: {e}"))
            .help("change to another one")
    })?;
    let dir = here.display().to_string();
    let saved = match acting.ask(Request::Save { run, name: name.to_owned(), dir, write: true })? {
        Response::Saved(saved) => *saved,
        other => return Err(unexpected(&other)),
    };
    // Paths are printed relative to the current directory.
    let from_here = |path: &str| -> String {
        let path = std::path::Path::new(path);
        output::path(path.strip_prefix(&here).unwrap_or(path))
    };
    saved.notes.iter().for_each(|note| output::note(note));
    for path in &saved.files {
        output::note(&format!("{} is there", from_here(path)));
    }
    output::result(&saved.command)?;
    output::note(&format!(
        "With `-m scripted:{}` it goes as it went then, and comes to {}; `almoner test {}` tries that.",
        shell_word(&from_here(&saved.replies)),
        from_here(&saved.result),
        shell_word(&from_here(&saved.worker)),
    ));
    Ok(Exit::Ok)
}

/// Parses `last as NAME`, `r17 as NAME`, or NAME alone, into a run and a name.
fn parse_words(words: &[String]) -> Result<(&str, &str), Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (which, name) = match words.as_slice() {
        [which, "as", name] => (*which, *name),
        [which, name] if *name != "as" => (*which, *name),
        // A word that names a run is not taken for a worker's name.
        [name] if *name != LAST_RUN && name.parse::<kernel::RunNumber>().is_err() => (LAST_RUN, *name),
        _ => ("", ""),
    };
    if which.is_empty() || !is_name(name) {
        return Err(Failure::new(Exit::Usage, "cannot save: the run or the name is missing")
            .help("write `almoner save last as NAME`; a name has letters, digits, `_` and `-`"));
    }
    Ok((which, name))
}

/// Returns whether a worker can have this name. The daemon checks it again.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn save_arguments_are_parsed_into_run_and_name() {
        let of = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            parse_words(&words).map(|(run, name)| format!("{run} {name}")).ok()
        };
        assert_eq!(of("last as sum").as_deref(), Some("last sum"));
        assert_eq!(of("r3 sum").as_deref(), Some("r3 sum"));
        assert_eq!(of("sum").as_deref(), Some("last sum"));
        for wrong in ["last", "r3", "last as", "a b c", "last as ../x", "last as a.b", ""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
