//! `almoner trust`: a project's `almoner.toml` is used only after the user has seen its content and trusted it.
//!
//! The prompts of the workers that it endows are seen and trusted with it.
//!
//! The same holds for a case that came along with a project. A case that is not trusted neither leads out of its
//! directory nor runs programs.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use passable::visible_line;
use serde_json::{Value, json};

use super::cases::is_case;
use crate::cli::maintenance::TrustArgs;
use crate::ui::output;
use crate::ui::prompt;
use crate::ui::prompt::PromptInput;
use config::case::Case;
use config::mcp_file;
use config::place::Place;
use config::settings::project;
use config::trust::{self, File, NAME, Project, TrustedFile, TrustedWorker};
use control::exit::{Exit, ExitResult, Failure};
use resource::{Endowment, ResourceSpec};

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
            record: TrustedFile::of(&case.known_as(), case.digest),
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
    let Project { file, endowments, record } = Project::load(file)?;
    let servers = mcp_file::usable(&place.config)?;
    let lines = endowments.iter().map(|(name, handed)| {
        let worker = worker_file(&file.dir, name);
        (name.as_str(), handed.lines(worker.as_deref(), &servers))
    });
    let lines: ProjectLines<'_> = lines.collect();
    let earlier = trust::get(place, &file.path)?;
    let is_confined = |given: &Endowment| {
        matches!(given.fill, ResourceSpec::Program(_) | ResourceSpec::Mcp(_) | ResourceSpec::Git(_))
    };
    let needs_sandbox = endowments.values().any(|handed| handed.endow.iter().any(is_confined));
    let unconfined = needs_sandbox.then(daemon::confinement_note).flatten();
    let mut description = describe_file(&file, &lines, &record, earlier.as_ref());
    description.extend(unconfined.map(|note| format!("  note: {}\n", visible_line(&note))));
    let prompts =
        record.workers.iter().map(|(name, worker)| (name, worker.digests().collect::<BTreeMap<_, _>>()));
    let json = json!({ "workers": lines, "prompts": prompts.collect::<BTreeMap<_, _>>() });
    decide(place, args, TrustPreview { record, description, json })
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
    /// The record that would be kept.
    record: TrustedFile,
    description: String,
    json: Value,
}

/// Shows the content of a file or a case, and trusts it if the user agrees.
fn decide(place: &Place, args: &TrustArgs, mut shown: TrustPreview) -> ExitResult {
    let already = trust::get(place, &shown.record.path)?.as_ref() == Some(&shown.record);
    if args.json.json {
        let told = trust_by_digest(place, &shown, args.yes.as_deref())?;
        for (key, value) in [
            ("version", json!(1)),
            ("path", json!(shown.record.path)),
            ("digest", json!(shown.record.seal().to_string())),
            ("trusted", json!(already || told)),
        ] {
            shown.json[key] = value;
        }
        output::json(&shown.json)?;
        return Ok(Exit::Ok);
    }
    output::listing(&format!("{}digest: {}\n", shown.description, shown.record.seal()))?;
    if already {
        output::note("it is trusted as it is");
        return Ok(Exit::Ok);
    }
    if trust_by_digest(place, &shown, args.yes.as_deref())? || confirm()? {
        trust::keep_record(place, &shown.record)?;
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
    let seal = shown.record.seal().to_string();
    if digest != seal {
        let what = format!("{} has another digest: {seal}", output::path(&shown.record.path));
        return Err(Failure::new(Exit::Conflict, what)
            .help("`almoner trust` without `--yes` shows what it hands over now; nothing was changed"));
    }
    trust::keep_record(place, &shown.record)?;
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
        return Err(Failure::new(
            Exit::NeedsYou,
            "cannot trust the file: nobody is at a terminal to say yes",
        )
        .help("`almoner trust FILE --yes DIGEST` says so, with the digest that is shown"));
    }
    match prompt::line("hand this over whenever these workers are run? [y/N] ", &[])? {
        PromptInput::Line(line) => Ok(["y", "yes"].contains(&line.to_lowercase().as_str())),
        PromptInput::End => Ok(false),
    }
}

fn resolve_file(file: Option<&Path>) -> Result<PathBuf, Failure> {
    let fail = |e: std::io::Error, path: &Path| {
        Failure::of_file("find", &path.to_string_lossy(), e).help("name an `almoner.toml`")
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
                None => {
                    let file = File::load(&kept.path).ok().flatten();
                    file.and_then(|file| Project::load(file).ok()).map(|project| project.record.seal())
                }
            };
            let now = match digest {
                Some(digest) if digest == kept.seal() => "as it was",
                _ if is_gone => "gone",
                _ => "changed, and not used",
            };
            (kept, now)
        })
        .collect();
    if as_json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(kept, now)| json!({ "path": kept.path, "digest": kept.seal().to_string(), "now": now }))
            .collect();
        output::json(&json!({ "version": 1, "trusted": rows }))?;
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        output::note("nothing is trusted");
    }
    for (kept, now) in rows {
        output::listing(&format!("{} {} ({now})", kept.seal().short(), output::path(&kept.path)))?;
    }
    Ok(Exit::Ok)
}

/// Returns the endowments of a project's workers, and the files of their prompts. If the user trusted an earlier state,
/// the differences follow.
fn describe_file(
    file: &File,
    all: &ProjectLines<'_>,
    record: &TrustedFile,
    earlier: Option<&TrustedFile>,
) -> String {
    let mut text = format!("{} hands over:\n", output::path(&file.path));
    for (name, lines) in all {
        text += &format!(
            "  to {}.worker: {}\n",
            visible_line(name),
            if lines.is_empty() { "nothing" } else { "" }
        );
        let worker = record.workers.get(*name);
        let prompts = worker.map(TrustedWorker::lines).unwrap_or_default();
        for line in lines.iter().chain(&prompts) {
            text += &format!("    {}\n", visible_line(line));
        }
        let was = earlier.and_then(|earlier| earlier.workers.get(*name));
        if let Some((worker, was)) = worker.zip(was).filter(|(worker, was)| worker != was) {
            text += &format!(
                "    changed since you trusted it:{}\n",
                worker.difference(was).replace('\n', "\n    ")
            );
        }
    }
    if all.is_empty() {
        text += "  nothing\n";
    }
    text
}
