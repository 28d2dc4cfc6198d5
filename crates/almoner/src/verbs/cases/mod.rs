//! `almoner test`: replays the cases of workers with their recorded replies.
//!
//! A case is a directory `NAME.case` beside a worker file, as `almoner save` makes it. The case is tried in a
//! temporary home, over copies of the endowed directories. The recorded replies take the place of a model. Nothing of
//! the user's is changed, and nothing is sent.
//!
//! A case may have come along with a project. Without trust, a case can only work on the directory in which it lies.
//! To reach other places or to run a program, the case needs the user's trust in exactly this case. Both `almoner
//! trust` and the `almoner save` that made the case record this trust.

mod fixtures;
mod run;
mod sandbox;

use std::path::{Path, PathBuf};

use config::case::{Case, Made, SUFFIX, is_trusted, keep, pretty};

use super::daemon;
use crate::cli::maintenance::TestArgs;
use crate::session::Session;
use crate::ui::output;
use config::place::Place;
use config::private_dir::temporary_dir;
use control::exit::{Exit, ExitResult, Failure};
use control::show::difference;
use run::CaseOutcome;
use sandbox::CaseSandbox;

/// Runs `almoner test`.
///
/// # Errors
/// When no case is found, or a named path cannot be read.
pub fn test(own: &Place, args: &TestArgs) -> ExitResult {
    let found = find_cases(&args.what)?;
    if found.is_empty() {
        return Err(Failure::new(Exit::NotFound, "cannot test: there is no case here")
            .help("`almoner save last as NAME` makes one of a run: NAME.worker, and NAME.case beside it"));
    }
    let room = temporary_dir("almoner-test-").map_err(|e| {
        Failure::new(Exit::Failure, format!("a directory to try cases in: {e}")).help("see `TMPDIR`")
    })?;
    let place = Place::under(&room.path().join("home"));
    let tried = run_cases(own, &place, &found, room.path(), args.accept);
    daemon::halt(&place)?;
    tried
}

/// Tries the cases one after the other in the home `place`. The home `own` holds the user's trust records.
fn run_cases(own: &Place, place: &Place, found: &[PathBuf], room: &Path, accept: bool) -> ExitResult {
    let acting = Session::new(place, None);
    let mut exit = Exit::Ok;
    for (number, path) in found.iter().enumerate() {
        let shown = output::path(path);
        let case = match Case::load(path) {
            Ok(case) => case,
            Err(failure) => {
                output::result(&format!("not tried  {shown}: {}", failure.message.visible_line()))?;
                exit = Exit::Failure;
                continue;
            }
        };
        let is_trusted = is_trusted(own, &case)?;
        let within = CaseSandbox::new(case.base.clone(), is_trusted);
        match run::replay(&acting, &case, &within, &room.join(number.to_string()))? {
            CaseOutcome::Skipped(why) => {
                output::result(&format!("not tried  {shown}: {}", passable::visible_line(&why)))?;
                exit = Exit::Failure;
            }
            CaseOutcome::Replayed { result, calls } => {
                let difference = differences(&case, result.as_ref(), &calls)?;
                if difference.is_empty() {
                    output::result(&format!("same       {shown}"))?;
                } else if let (true, Ok(value)) = (accept, &result) {
                    case.accept(value, calls)?;
                    if is_trusted {
                        keep(own, &Case::load(path)?)?;
                    }
                    output::result(&format!("accepted   {shown}"))?;
                } else {
                    output::result(&format!("differs    {shown}"))?;
                    output::listing(&difference)?;
                    exit = Exit::Failure;
                }
            }
        }
    }
    Ok(exit)
}

/// Returns the differences from the recorded result and calls, as lines. The text is empty if there are none.
fn differences(
    case: &Case,
    result: Result<&serde_json::Value, &String>,
    calls: &[Made],
) -> Result<String, Failure> {
    let mut parts = Vec::new();
    match result {
        Ok(value) if *value == case.result => {}
        Ok(value) => parts.push(("result", difference::lines(&pretty(&case.result)?, &pretty(value)?))),
        Err(trouble) => parts.push(("no result", format!("! {trouble}"))),
    }
    if let Some(recorded) = &case.recorded.calls {
        let text = |calls: &[Made]| calls.iter().map(|made| made.line() + "\n").collect::<String>();
        if recorded != calls {
            parts.push(("calls", difference::lines(&text(recorded), &text(calls))));
        }
    }
    let mut out = String::new();
    for (title, lines) in parts {
        out += &format!("  {title}\n");
        lines.lines().for_each(|line| out += &format!("    {}\n", passable::visible_line(line)));
    }
    Ok(out.trim_end_matches('\n').to_owned())
}

/// Returns the cases at the given paths: the cases of a worker file, a case itself, or all cases in a directory.
/// Without a path, the current directory is searched.
fn find_cases(what: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let here = [PathBuf::from(".")];
    let what = if what.is_empty() { &here[..] } else { what };
    let mut found = Vec::new();
    for path in what {
        let missing = |e: std::io::Error| {
            Failure::of_file("find", &path.to_string_lossy(), e)
                .help("name a worker file, a case, or a directory of them")
        };
        let meta = std::fs::metadata(path).map_err(missing)?;
        if meta.is_dir() && is_case(path) {
            found.push(path.clone());
            continue;
        }
        let (dir, worker) = match meta.is_dir() {
            true => (path.clone(), None),
            false => (path.parent().map(Path::to_owned).unwrap_or_default(), path.file_name()),
        };
        let entries = std::fs::read_dir(if dir.as_os_str().is_empty() { Path::new(".") } else { &dir });
        let mut there: Vec<PathBuf> = entries
            .map_err(missing)?
            .flatten()
            .map(|entry| {
                if dir == Path::new(".") {
                    PathBuf::from(entry.file_name())
                } else {
                    dir.join(entry.file_name())
                }
            })
            .filter(|path| is_case(path) && path.is_dir())
            .collect();
        there.sort();
        for case in there {
            // A case that cannot be read is reported later, when its turn comes.
            let is_its = |worker| Case::load(&case).is_ok_and(|case| case.worker.file_name() == Some(worker));
            if worker.is_none_or(is_its) {
                found.push(case);
            }
        }
    }
    Ok(found)
}

/// Returns whether a path has the name of a case's directory.
pub fn is_case(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.len() > SUFFIX.len() && name.ends_with(SUFFIX))
}
