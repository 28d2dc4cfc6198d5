//! The parser of `almoner.toml`, which gives endowments to a project's workers.
//!
//! The file can express the same options as a command line, and no others. Each value is read by the same code as on
//! the command line.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use model::ModelRef;
use passable::visible_line;
use toml::Spanned;
use toml::de::DeValue;

use super::project_limits::ProjectLimits;
use super::project_spools;
use super::read::{SettingsError, Text, table};
use crate::machine::Machine;
use crate::managed;
use crate::mcp_file::Servers;
use control::exit::{Exit, Failure};
use resource::{Endowment, Kind, ResourceSpec};
use worker::definition::{self, Bundle};

/// The endowments of one worker in a project's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectEndowments {
    /// The model, if the command line names none.
    pub model: Option<String>,
    /// The contents of the worker's slots.
    pub endow: Vec<Endowment>,
    /// The methods, as `slot.method`, that the worker may call without a question to the user.
    pub allow: Vec<String>,
    /// The worker's limits, where they are lower than in its own file.
    pub limits: ProjectLimits,
}

/// The maximum number of dots in the name of a slot whose kind is looked up.
const MAX_SLOT_DEPTH: usize = 8;

/// The content of a project's file, by worker. The key is the worker's path relative to the file's directory, without
/// its suffix.
pub type Workers = BTreeMap<String, ProjectEndowments>;

/// Parses the text of `file`, which is in the directory `base`, given by its real path.
///
/// # Errors
/// When the text is invalid. Only the first fault is reported.
pub fn parse(file: &Path, base: &Path, source: &str) -> Result<Workers, Failure> {
    read(base, source).map_err(|trouble| {
        let at = trouble.line.map(|line| format!(":{line}")).unwrap_or_default();
        let shown = file.display().to_string();
        Failure::new(Exit::Invalid, format!("{}{at}: {}", visible_line(&shown), trouble.what))
            .help(trouble.help)
    })
}

fn read(base: &Path, source: &str) -> Result<Workers, SettingsError> {
    let text = Text::new(source);
    let parsed = text.sections()?;
    let mut workers = Workers::new();
    for (key, value) in parsed.get_ref() {
        match key.get_ref().as_ref() {
            "workers" => {
                for (name, value) in table(&text, value, "workers")? {
                    let handed = read_worker(&text, base, name.get_ref(), value)?;
                    workers.insert(name.get_ref().to_string(), handed);
                }
            }
            other => return Err(text.unknown(key.span().start, "section", other, &["workers"])),
        }
    }
    Ok(workers)
}

fn read_worker(
    text: &Text<'_>,
    base: &Path,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<ProjectEndowments, SettingsError> {
    let mut handed = ProjectEndowments::default();
    for (key, value) in table(text, value, &format!("workers.{}", visible_line(name)))? {
        let at = value.span().start;
        match key.get_ref().as_ref() {
            "model" => handed.model = Some(model(text, base, at, word(text, "model", value)?)?),
            "endow" => {
                for (slot, value) in table(text, value, "endow")? {
                    let said = word(text, "what fills a slot", value)?;
                    handed.endow.push(endowment(text, base, value.span().start, slot.get_ref(), said)?);
                }
            }
            "allow" => {
                let DeValue::Array(all) = value.get_ref() else {
                    return Err(text.trouble(at, "`allow` is a list", "write allow = [\"SLOT.METHOD\"]"));
                };
                for rule in all.iter() {
                    handed.allow.push(word(text, "a method", rule)?.to_owned());
                }
            }
            "limits" => handed.limits = ProjectLimits::read(text, value)?,
            other => {
                let known = ["model", "endow", "allow", "limits"];
                return Err(text.unknown(key.span().start, "key", other, &known));
            }
        }
    }
    Ok(handed)
}

fn word<'a>(text: &Text<'_>, what: &str, value: &'a Spanned<DeValue<'_>>) -> Result<&'a str, SettingsError> {
    match value.get_ref() {
        DeValue::String(word) => Ok(word),
        _ => Err(text.trouble(value.span().start, format!("{what} is a text"), "write it in quotes")),
    }
}

/// Returns the models in a text, in the syntax of `-m`. Paths are relative to the directory of this file.
fn model(text: &Text<'_>, base: &Path, at: usize, said: &str) -> Result<String, SettingsError> {
    let wrong = |what: String| {
        text.trouble(at, visible_line(&what).into_owned(), "write the model as after `-m`, in quotes")
    };
    // A name that the user chose is resolved later, when the model is used.
    if said != "local"
        && said.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        && !said.is_empty()
    {
        return Ok(said.to_owned());
    }
    let all = model::parse_list(said).map_err(|error| wrong(error.to_string()))?;
    let placed = all.into_iter().map(|reference| {
        let at_home = |path: PathBuf| {
            let joined = base.join(path).into_os_string().into_string();
            let joined = joined.map_err(|_| "its path is not UTF-8 text".to_owned())?;
            resolve_path(base, &joined).map(PathBuf::from)
        };
        Ok(match reference {
            ModelRef::Scripted { path } => ModelRef::Scripted { path: at_home(path)? },
            ModelRef::Replay { path } => ModelRef::Replay { path: at_home(path)? },
            other => other,
        }
        .to_string())
    });
    let placed: Result<Vec<String>, String> = placed.collect();
    placed.map(|all| all.join(",")).map_err(wrong)
}

/// Returns the content of a slot, in the syntax of `-e SLOT=`. Paths are relative to the directory of this file.
fn endowment(
    text: &Text<'_>,
    base: &Path,
    at: usize,
    slot: &str,
    said: &str,
) -> Result<Endowment, SettingsError> {
    let mut given = Machine::At(base)
        .parse_endowment(&format!("{slot}={said}"))
        .map_err(|failure| text.trouble(at, failure.message.visible_line(), failure.help))?;
    for path in given.fill.paths_mut() {
        let help = "name a directory by its own path";
        *path = resolve_path(base, path)
            .map_err(|what| text.trouble(at, format!("{}: {what}", visible_line(path)), help))?;
    }
    Ok(given)
}

/// Returns the path without `..`. A path within the project must not lead out of it. Otherwise an author of the
/// project could make it lead anywhere, and the file would still be the trusted one.
fn resolve_path(base: &Path, path: &str) -> Result<String, String> {
    let rest = Path::new(path).strip_prefix(base);
    let mut at = if rest.is_ok() { base.to_owned() } else { PathBuf::from("/") };
    let mut has_gone_down = rest.is_err();
    for part in rest.unwrap_or(Path::new(path)).components() {
        match part {
            Component::Normal(name) => {
                has_gone_down = true;
                at.push(name);
            }
            Component::ParentDir if has_gone_down => {
                return Err("`..` stands only at the beginning of a path".to_owned());
            }
            Component::ParentDir => {
                at.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    if at.starts_with(base) && !resolve_links(&at).is_some_and(|real| real.starts_with(base)) {
        return Err("it leads out of the project through a link".to_owned());
    }
    at.into_os_string().into_string().map_err(|_| "its full path is not UTF-8 text".to_owned())
}

/// Returns the path with all links followed. If the path does not exist yet, links are followed in the part that
/// exists. Returns `None` if a link is broken.
fn resolve_links(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|part| std::fs::symlink_metadata(part).is_ok())
        .and_then(|part| std::fs::canonicalize(part).ok())
}

impl ProjectEndowments {
    /// Returns the endowments, one item per line. The worker's file determines the kind of a path in a slot. Without
    /// that file, a path is shown as it was typed. `servers` tells the directories that servers of tools work on. The
    /// lines are not escaped for a terminal.
    pub fn lines(&self, worker: Option<&Path>, servers: &Servers) -> Vec<String> {
        let model = self.model.iter().map(|model| format!("model: {model}"));
        let kind = |slot: &str| worker.and_then(|worker| self.kind(worker, slot));
        let endow = self.endow.iter().map(|given| given.describe(kind(&given.slot)));
        let spools = project_spools::lines(&self.endow, servers, &kind);
        let allow = self.allow.iter().map(|rule| format!("not asked about: {rule}"));
        let managed = self.managed_lines();
        model.chain(managed).chain(endow).chain(spools).chain(allow).chain(self.limits.line()).collect()
    }

    /// Returns a line for each part that the machine's administrator does not allow. No run begins with it.
    fn managed_lines(&self) -> Vec<String> {
        let rules = match managed::rules() {
            Ok(rules) => rules,
            Err(failure) => return vec![format!("refused: {}", failure.message.raw())],
        };
        let models = self.model.iter().filter_map(|model| rules.expect_models(model).err());
        let servers = self.endow.iter().filter_map(|given| match &given.fill {
            ResourceSpec::Mcp(spec) => rules.expect_server(&spec.server).err(),
            _ => None,
        });
        let refused = models.chain(servers).filter(|failure| failure.exit == Exit::Denied);
        refused.map(|failure| format!("refused: {}", failure.message.raw())).collect()
    }

    /// Returns the kind of a slot, from the file of the worker that has the slot. A name like `a.b` means the slot
    /// `b` of the worker in the slot `a`.
    fn kind(&self, worker: &Path, slot: &str) -> Option<Kind> {
        if slot.matches('.').count() > MAX_SLOT_DEPTH {
            return None;
        }
        let (file, name) = self.owner(worker, slot)?;
        let definition = definition::parse(&Bundle::load(&file).ok()?).0?;
        definition.slot(name).map(|slot| slot.kind)
    }

    /// Returns the worker in a file, and all workers that fill its slots, by their files. A file that cannot be read is
    /// left out: no run begins with it.
    pub fn bundles(&self, worker: &Path) -> BTreeMap<PathBuf, Bundle> {
        let mut found = BTreeMap::new();
        let mut open = vec![(worker.to_owned(), String::new())];
        while let Some((file, at)) = open.pop() {
            let file = std::fs::canonicalize(&file).unwrap_or(file);
            if found.contains_key(&file) || at.matches('.').count() > MAX_SLOT_DEPTH {
                continue;
            }
            let Ok(bundle) = Bundle::load(&file) else { continue };
            let slots = definition::parse(&bundle).0.map(|definition| definition.slots).unwrap_or_default();
            found.insert(file, bundle);
            for slot in slots.iter().filter(|slot| slot.kind == Kind::Worker) {
                let slot = if at.is_empty() { slot.name.clone() } else { format!("{at}.{}", slot.name) };
                open.extend(self.filler(worker, &slot).map(|file| (file, slot)));
            }
        }
        found
    }

    /// Returns the file of the worker that has a slot, and that worker's own name for the slot.
    fn owner<'a>(&self, worker: &Path, slot: &'a str) -> Option<(PathBuf, &'a str)> {
        match slot.rsplit_once('.') {
            Some((above, name)) => Some((self.filler(worker, above)?, name)),
            None => Some((worker.to_owned(), slot)),
        }
    }

    /// Returns the file of the worker that fills a slot. This is the worker bound to the slot, or else the one with
    /// the slot's name beside the caller's file.
    fn filler(&self, worker: &Path, slot: &str) -> Option<PathBuf> {
        match self.endow.iter().find(|given| given.slot == slot).map(|given| &given.fill) {
            Some(ResourceSpec::Path(given)) => Some(PathBuf::from(&given.path)),
            Some(_) => None,
            None => {
                let (caller, name) = self.owner(worker, slot)?;
                Some(worker_file(caller.parent()?, name))
            }
        }
    }
}

/// Returns the file of the worker with a name: `NAME.worker`, or `NAME.worker.md` if the first does not exist.
pub fn worker_file(dir: &Path, name: &str) -> PathBuf {
    let file = dir.join(format!("{name}.worker"));
    if file.exists() { file } else { dir.join(format!("{name}.worker.md")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp_file::Server;

    fn lines(base: &Path, source: &str) -> Result<Vec<String>, SettingsError> {
        lines_beside(&Servers::default(), base, source)
    }

    fn lines_beside(servers: &Servers, base: &Path, source: &str) -> Result<Vec<String>, SettingsError> {
        let workers = read(base, source)?;
        Ok(workers
            .iter()
            .flat_map(|(name, handed)| {
                let worker = worker_file(base, name);
                handed.lines(Some(&worker), servers).into_iter().map(move |line| format!("{name}: {line}"))
            })
            .collect())
    }

    #[test]
    fn path_in_slot_of_known_kind_is_described_by_the_kind() {
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        let write = |name: &str, slots: &str| {
            std::fs::write(base.join(name), format!("---\nslots: {{ {slots} }}\n---\nDo it.\n")).unwrap();
        };
        write("a.worker.md", "post: outbox, docs: dir, helper: worker, other: worker");
        write("helper.worker", "post: outbox");
        write("bound.worker", "post: outbox");
        let text = "[workers.a.endow]\ndocs = './p'\n'helper.post' = './p'\nother = './bound.worker'\n\
            'other.post' = './p'\npost = './p'\n[workers.nobody]\nendow = { post = './p' }\n";
        let here = base.display();
        assert_eq!(
            lines(&base, text).unwrap(),
            [
                format!("a: docs = directory {here}/p"),
                format!("a: helper.post = mail spool {here}/p"),
                format!("a: other = worker file {here}/bound.worker"),
                format!("a: other.post = mail spool {here}/p"),
                format!("a: post = mail spool {here}/p"),
                format!("nobody: post = directory {here}/p"),
            ]
        );
    }

    #[test]
    fn slot_that_reaches_a_spool_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::write(
            base.join("a.worker"),
            "---\nslots: { post: outbox, out: dir rw, tools: program, docs: dir, apart: dir rw, files: mcp, \
             looks: mcp }\n---\nDo it.\n",
        )
        .unwrap();
        std::os::unix::fs::symlink(".", base.join("link")).unwrap();
        let text = "[workers.a.endow]\npost = './p'\nout = './link:rw'\ntools = 'program:cp?dir=.:rw'\n\
            docs = '.'\napart = './q:rw'\nfiles = 'mcp:fs[write:changes]'\nlooks = 'mcp:seen[read:reads]'\n";
        let server = |dir: String| Server { dirs: vec![dir], ..Server::default() };
        let servers = [
            ("fs".to_owned(), server(format!("{}:rw", base.display()))),
            ("seen".to_owned(), server(base.display().to_string())),
        ];
        let lines = lines_beside(&Servers { servers: servers.into() }, &base, text).unwrap();
        let said: Vec<&String> = lines.iter().filter(|line| line.contains("so each")).collect();
        let here = base.display();
        assert_eq!(
            said,
            [
                &format!(
                    "a: files: it could write in the mail spool {here}/p, so each call counts as sending and asks"
                ),
                &format!("a: out: a change in the mail spool {here}/p is sent, so each such change asks"),
                &format!(
                    "a: tools: it could write in the mail spool {here}/p, so each call counts as sending and asks"
                ),
            ]
        );
    }

    #[test]
    fn project_file_accepts_all_command_line_endowments() {
        let text = "[workers.a]\nmodel = \"scripted:s.json, ollama:m\"\nallow = [\"out.write\"]\n\
            endow = { mail = \"./in?suffix=.eml&max=1kB\", out = \"../o:rw\", web = \"https://h/p\" }\n\
            [workers.\"sub/b\"]\nendow = { d = \"/abs/x:stage\" }\n\
            limits = { turns = 4, tokens = \"50k\", usd = 0.5 }\n";
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        let (here, above) = (base.display(), base.parent().unwrap().display());
        assert_eq!(
            lines(&base, text).unwrap(),
            [
                format!("a: model: scripted:{here}/s.json,ollama:m"),
                format!("a: mail = directory {here}/in; only .eml; at most 1000 bytes each"),
                format!("a: out = directory {above}/o (rw)"),
                "a: web = https://h/p (GET)".to_owned(),
                "a: not asked about: out.write".to_owned(),
                "sub/b: d = staged copy of directory /abs/x; changes are staged".to_owned(),
                "sub/b: limits: turns 4, tokens 50k, usd 0.5".to_owned(),
            ]
        );
    }

    #[test]
    fn invalid_project_file_is_reported_with_line() {
        for (text, line, what) in [
            ("[worker.a]", 1, "unknown section `worker`"),
            ("[workers.a]\nlimits = 3", 2, "is a section"),
            ("[workers.a.limits]\nturn = 3", 2, "unknown limit `turn`"),
            ("[workers.a.limits]\nturns = 0", 2, "cannot be read as an amount"),
            ("[workers.a.limits]\nturns = [3]", 2, "cannot be read as an amount"),
            ("[workers.a.limits]\nwall = \"soon\"", 2, "cannot be read as an amount"),
            ("[workers.a.limits]\nusd = -1", 2, "cannot be read as an amount"),
            ("[workers.a]\nmodle = 'local'", 2, "unknown key `modle`"),
            ("[workers.a]\nmodel = 'nobody:x'", 2, "nobody"),
            ("[workers.a]\nmodel = 1", 2, "is a text"),
            ("[workers.a]\nallow = 'x'", 2, "is a list"),
            ("[workers.a]\nendow = { a = '/x?colour=red' }", 2, "are known"),
            ("[workers.a]\nendow = { 'a b' = '/x' }", 2, "not the name of a slot"),
            ("[workers.a]\nendow = { a = 'in/../../x' }", 2, "only at the beginning"),
            ("[workers.a]\nendow = { a = '/x/../y' }", 2, "only at the beginning"),
        ] {
            let trouble = lines(Path::new("/p"), text).unwrap_err();
            assert_eq!(trouble.line, Some(line), "{text:?}: {trouble:?}");
            assert!(trouble.what.contains(what) && !trouble.help.is_empty(), "{text:?}: {trouble:?}");
        }
    }

    #[test]
    fn project_path_leading_out_through_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        let (base, out) = (root.join("p"), root.join("out"));
        std::fs::create_dir_all(base.join("real")).unwrap();
        std::fs::create_dir(&out).unwrap();
        for (name, to) in [("within", "real"), ("away", "../out"), ("nowhere", "../gone")] {
            std::os::unix::fs::symlink(to, base.join(name)).unwrap();
        }
        for (path, good) in [
            ("real", true),
            ("real/new", true),
            ("within", true),
            ("within/new", true),
            ("../out", true),
            ("away", false),
            ("away/new", false),
            ("nowhere", false),
        ] {
            let text = format!("[workers.a]\nendow = {{ d = '{path}' }}");
            assert_eq!(lines(&base, &text).is_ok(), good, "{path}");
        }
    }
}
