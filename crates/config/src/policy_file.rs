//! Policy files: their paths, the way they are read, and the vocabulary of policies.

use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use operator::{EXAMPLES, Kind, MAX_BYTES, Policies, PolicyOwner, Problem, Vocabulary};
use passable::visible_line;
use policy::Subject;
use resource::TextStart;

use control::exit::{Exit, Failure};

/// The name of a policy file, both in the user's configuration and beside a worker file.
pub const NAME: &str = worker::PROJECT_POLICY;

/// Returns the vocabulary of policies, made from the interfaces of this build.
///
/// # Errors
/// When an interface has a name that Cedar does not allow, which is a bug of this program.
pub fn vocabulary() -> Result<Arc<Vocabulary>, Failure> {
    static VOCABULARY: OnceLock<Result<Arc<Vocabulary>, String>> = OnceLock::new();
    let made = VOCABULARY.get_or_init(|| {
        let (calls, makes) = (worker::any_worker(), worker::workshop());
        let is_path = |name| {
            resource::Row::of(name)
                .is_some_and(|row| row.start == TextStart::Path && row.kind != resource::Kind::Worker)
        };
        let of = |name: &'static str, interface| Kind {
            name,
            interface,
            attribute: if is_path(name) { "path" } else { "name" },
        };
        let mut kinds: Vec<_> = caps::interfaces().map(|(name, interface)| of(name, interface)).collect();
        kinds.extend([of("worker", &calls), of("workshop", &makes)]);
        Vocabulary::of(&kinds).map(Arc::new)
    });
    made.clone().map_err(|what| {
        Failure::new(Exit::Failure, format!("policies cannot speak of what there is: {what}"))
            .help("this is a bug; please report it")
    })
}

/// Returns a policy that lets a worker call a method of a resource without a question to the user. Returns `None` if
/// policies cannot describe the resource.
pub fn permit(worker: &str, on: &Subject, method: &str) -> Option<String> {
    vocabulary().ok()?.permit(worker, on, method)
}

/// The fingerprint of a file in its present state. It changes when the file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    place: (u64, u64),
    size: u64,
    written: (i64, i64),
    // Programs cannot set this time.
    changed: (i64, i64),
}

/// The fingerprints of a policy file and of the file of examples beside it.
pub type Stamps = [Option<Stamp>; 2];

/// Returns the fingerprints of a policy file and of the file of examples beside it.
pub fn stamps(path: &Path) -> Stamps {
    let stamp = |path: &Path| {
        // A broken link differs from a missing file.
        let meta = std::fs::metadata(path).or_else(|_| std::fs::symlink_metadata(path)).ok()?;
        Some(Stamp {
            place: (meta.dev(), meta.ino()),
            size: meta.len(),
            written: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    };
    [stamp(path), stamp(&examples(path))]
}

/// Returns the path of the file of examples that belongs to a policy file.
pub fn examples(path: &Path) -> PathBuf {
    path.with_file_name(EXAMPLES)
}

/// Returns the texts of a policy file and of the examples beside it, or `None` if the policy file does not exist.
///
/// # Errors
/// When one of the files exists but cannot be read, is not a regular file, is not text or is too large.
pub fn texts(path: &Path) -> Result<Option<(String, Option<String>)>, Problem> {
    match text(path)? {
        Some(policy) => Ok(Some((policy, text(&examples(path))?))),
        None => Ok(None),
    }
}

fn text(path: &Path) -> Result<Option<String>, Problem> {
    let problem = |what: String| Problem {
        file: shown(path),
        line: None,
        message: visible_line(&what).into_owned(),
        help: None,
    };
    // Without this flag, opening a pipe without a writer would block forever.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            // A link at this path means that policies were meant to exist here.
            return match std::fs::symlink_metadata(path) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                Err(e) => Err(problem(e.to_string())),
                Ok(_) => Err(problem("is a link to nothing".to_owned())),
            };
        }
        Err(e) => return Err(problem(e.to_string())),
    };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err(problem("is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|e| problem(e.to_string()))?;
    if bytes.len() > MAX_BYTES {
        return Err(problem(format!("is larger than {} KiB", MAX_BYTES >> 10)));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| problem("is not UTF-8 text".to_owned()))
}

/// Compiles the texts of a policy file.
///
/// # Errors
/// All problems of the texts.
pub fn compile(
    path: &Path,
    whose: PolicyOwner,
    policy: &str,
    examples_text: Option<&str>,
) -> Result<Policies, Vec<Problem>> {
    let file = shown(path);
    let vocabulary = vocabulary().map_err(|failure| {
        let message = failure.message.visible_line().into_owned();
        vec![Problem { file: file.clone(), line: None, message, help: Some(failure.help) }]
    })?;
    let beside = shown(&examples(path));
    Policies::compile(&vocabulary, whose, &file, policy, examples_text.map(|text| (beside.as_str(), text)))
}

/// Reads and compiles a policy file. Returns `None` if the file does not exist.
///
/// # Errors
/// All problems of the file.
pub fn load(path: &Path, whose: PolicyOwner) -> Result<Option<(Policies, String)>, Vec<Problem>> {
    let Some((policy, examples)) = texts(path).map_err(|problem| vec![problem])? else { return Ok(None) };
    compile(path, whose, &policy, examples.as_deref()).map(|policies| Some((policies, policy)))
}

/// Returns all problems as one failure.
pub fn failure(problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| match &problem.help {
            Some(help) => format!("{problem} ({help})"),
            None => problem.to_string(),
        })
        .collect();
    let file = problems.first().map(|problem| problem.file.as_str()).unwrap_or(NAME);
    Failure::new(Exit::Invalid, lines.join("; "))
        .help(format!("mend it, or move it away; `almoner policy check {file}` looks at it again"))
}

fn shown(path: &Path) -> String {
    visible_line(&path.to_string_lossy()).into_owned()
}

/// Returns the numbers of policies and examples, as text.
pub fn counted(policies: usize, examples: usize) -> String {
    let of = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    format!("{}, {}", of(policies, "policy", "policies"), of(examples, "example", "examples"))
}
