//! `almoner trust`: a project's `almoner.toml` is used only after the user has seen its content and trusted it.
//!
//! The same holds for a case that came along with a project. A case that is not trusted neither leads out of its
//! directory nor runs programs.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use kernel::BlobHash;
use passable::visible_line;
use serde_json::{Value, json};

use super::cases::is_case;
use crate::cli::maintenance::TrustArgs;
use crate::ui::output;
use crate::ui::prompt;
use crate::ui::prompt::PromptInput;
use config::case::Case;
use config::place::Place;
use config::settings::project;
use config::trust::{self, File, NAME};
use control::exit::{Exit, ExitResult, Failure};

/// Runs `almoner trust`.
///
/// # Errors
/// When the file does not exist or is not fit to be trusted, or no person is here to confirm.
pub fn trust(place: &Place, args: &TrustArgs) -> ExitResult {
    if args.list {
        return list(place, args.json.json);
    }
    if let Some(root) = args.file.as_deref().filter(|path| is_case(path)) {
        let case = Case::load(root)?;
        if args.revoke {
            return revoke(place, &case.known_as());
        }
        let shown = TrustPreview {
            path: case.known_as(),
            digest: case.digest,
            description: describe_case(&case),
            json: json!({ "command": case.recorded.command }),
        };
        return decide(place, args, shown);
    }
    let path = resolve_file(args.file.as_deref())?;
    if args.revoke {
        return revoke(place, &path);
    }
    let file = File::load(&path)?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no {}", output::path(&path)))
            .help("docs/settings.md says what a project can write into its `almoner.toml`")
    })?;
    let workers = file.workers()?;
    let lines = workers.iter().map(|(name, handed)| {
        let worker = worker_file(&file.dir, name);
        (name.as_str(), handed.lines(worker.as_deref()))
    });
    let lines: ProjectLines<'_> = lines.collect();
    let (words, json) = (describe_file(&file, &lines), json!({ "workers": lines }));
    decide(place, args, TrustPreview { path: file.path, digest: file.digest, description: words, json })
}

/// The lines of a project's file, by worker.
type ProjectLines<'a> = BTreeMap<&'a str, Vec<String>>;

/// Returns the file of a worker that a project's file names, if it lies in the project.
fn worker_file(dir: &Path, name: &str) -> Option<PathBuf> {
    let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    is_below.then(|| project::worker_file(dir, name))
}

/// The content that the user sees before they confirm.
struct TrustPreview {
    path: PathBuf,
    digest: BlobHash,
    description: String,
    json: Value,
}

/// Shows the content of a file or a case, and trusts it if the user agrees.
fn decide(place: &Place, args: &TrustArgs, mut shown: TrustPreview) -> ExitResult {
    let already = trust::is_trusted(place, &shown.path, shown.digest)?;
    if args.json.json {
        let told = trust_by_digest(place, &shown, args.yes.as_deref())?;
        for (key, value) in [
            ("version", json!(1)),
            ("path", json!(shown.path)),
            ("digest", json!(shown.digest.to_string())),
            ("trusted", json!(already || told)),
        ] {
            shown.json[key] = value;
        }
        output::json(&shown.json)?;
        return Ok(Exit::Ok);
    }
    output::listing(&format!("{}digest: {}\n", shown.description, shown.digest))?;
    if already {
        output::note("it is trusted as it is");
        return Ok(Exit::Ok);
    }
    if trust_by_digest(place, &shown, args.yes.as_deref())? || confirm()? {
        trust::keep(place, &shown.path, shown.digest)?;
        output::note("it is trusted, until a byte of it changes; `almoner trust --revoke` takes that back");
        return Ok(Exit::Ok);
    }
    output::note("it is not trusted, and nothing was changed");
    Ok(Exit::Denied)
}

/// Trusts the shown content if the user has given its digest. Returns whether a digest was given.
///
/// # Errors
/// When the given digest is another one.
fn trust_by_digest(place: &Place, shown: &TrustPreview, digest: Option<&str>) -> Result<bool, Failure> {
    let Some(digest) = digest else { return Ok(false) };
    if digest != shown.digest.to_string() {
        let what = format!("{} has another digest: {}", output::path(&shown.path), shown.digest);
        return Err(Failure::new(Exit::Conflict, what)
            .help("`almoner trust` without `--yes` shows what it hands over now; nothing was changed"));
    }
    trust::keep(place, &shown.path, shown.digest)?;
    Ok(true)
}

/// Returns the command of a case and the calls that it permits, as text.
fn describe_case(case: &Case) -> String {
    let mut text = format!("{} is tried as\n  almoner run", output::path(&case.root));
    for word in &case.recorded.command {
        text += &format!(" {}", visible_line(word));
    }
    text += "\nover copies, without network, and lets happen what it says had happened:\n";
    let calls = case.recorded.calls.iter().flatten().filter(|call| call.was_let());
    let lines: Vec<String> = calls.map(|call| format!("  {}\n", visible_line(&call.line()))).collect();
    text + &if lines.is_empty() { "  nothing\n".to_owned() } else { lines.concat() }
}

fn confirm() -> Result<bool, Failure> {
    if !output::can_ask() {
        return Err(Failure::new(Exit::NeedsYou, "nobody is here to say whether this is to be trusted")
            .help("`almoner trust FILE --yes DIGEST` says so, with the digest that is shown"));
    }
    match prompt::line("hand this over whenever these workers are run? [y/N] ", &[])? {
        PromptInput::Line(line) => Ok(["y", "yes"].contains(&line.to_lowercase().as_str())),
        PromptInput::End => Ok(false),
    }
}

fn resolve_file(file: Option<&Path>) -> Result<PathBuf, Failure> {
    let fail = |e: std::io::Error, path: &Path| {
        let exit = if e.kind() == std::io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Failure };
        Failure::new(exit, format!("{}: {e}", output::path(path))).help("name an `almoner.toml`")
    };
    let Some(file) = file else {
        let here = Path::new(".");
        return Ok(trust::nearest(&std::fs::canonicalize(here).map_err(|e| fail(e, here))?));
    };
    if file.is_dir() {
        return Ok(std::fs::canonicalize(file).map_err(|e| fail(e, file))?.join(NAME));
    }
    if file.file_name().is_none_or(|name| name != NAME) {
        let what = format!("{} is not called `{NAME}`", output::path(file));
        return Err(Failure::new(Exit::Usage, what).help("only a file of that name is looked for"));
    }
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A trusted file may have been deleted together with its directory.
    let dir = std::fs::canonicalize(dir).or_else(|_| std::path::absolute(dir)).map_err(|e| fail(e, dir))?;
    Ok(dir.join(NAME))
}

fn revoke(place: &Place, path: &Path) -> ExitResult {
    if trust::revoke(place, path)? {
        output::note(&format!("{} is not trusted any more", output::path(path)));
        return Ok(Exit::Ok);
    }
    Err(Failure::new(Exit::NotFound, format!("{} was not trusted", output::path(path)))
        .help("`almoner trust --list` shows what is"))
}

fn list(place: &Place, as_json: bool) -> ExitResult {
    let rows: Vec<_> = trust::all(place)?
        .into_iter()
        .map(|kept| {
            let is_gone = kept.path.symlink_metadata().is_err();
            let digest = match kept.path.parent().filter(|dir| is_case(dir)) {
                Some(case) => Case::load(case).ok().map(|case| case.digest),
                None => File::load(&kept.path).ok().flatten().map(|file| file.digest),
            };
            let now = match digest {
                Some(digest) if digest == kept.digest => "as it was",
                _ if is_gone => "gone",
                _ => "changed, and not used",
            };
            (kept, now)
        })
        .collect();
    if as_json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(kept, now)| json!({ "path": kept.path, "digest": kept.digest.to_string(), "now": now }))
            .collect();
        output::json(&json!({ "version": 1, "trusted": rows }))?;
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        output::note("nothing is trusted");
    }
    for (kept, now) in rows {
        output::listing(&format!("{} {} ({now})", kept.digest.short(), output::path(&kept.path)))?;
    }
    Ok(Exit::Ok)
}

fn describe_file(file: &File, all: &ProjectLines<'_>) -> String {
    let mut text = format!("{} hands over:\n", output::path(&file.path));
    for (name, lines) in all {
        text += &format!(
            "  to {}.worker: {}\n",
            visible_line(name),
            if lines.is_empty() { "nothing" } else { "" }
        );
        for line in lines {
            text += &format!("    {}\n", visible_line(line));
        }
    }
    if all.is_empty() {
        text += "  nothing\n";
    }
    text
}
