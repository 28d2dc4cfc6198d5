//! The capability of a directory. The methods of its [`interface`] work below one open directory handle.

mod append;
mod call;
mod cursor;
mod edit;
mod facts;
mod glob;
mod grep;
mod ignore_rules;
mod inner_path;
mod interface;
mod limits;
mod line_ends;
mod list;
mod look_alike;
mod near_match;
mod omissions;
mod range;
mod read;
pub(crate) mod relocate;
mod stat;
mod tree;
mod write;

use std::collections::BTreeMap;

use cap_std::fs::Dir;
use kernel::Interface;
use kernel::grant::Grant;
use kernel::id::BlobHash;
use kernel::proposal::{Finding, Pin, Value};
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use passable::{quoting, visible_line};
use policy::{CanonicalArgument, ChangeScope, Facts};

use crate::path::{self, Plain, Purpose};
use crate::places;
use crate::{Capability, OpenError, Probe, foreign, open_directory, open_own_directory};
use call::Call;
use cursor::Cursor;
use edit::Edit;
use glob::PathSearch;
use range::Range;
use relocate::{EntryState, MoveRefused};

pub(crate) use append::held;
pub(crate) use interface::interface;
pub(crate) use limits::Limits;

/// The kind of the pins on a file's present content.
const FILE: &str = "file";

/// The kind of the pins on a file's future content.
const FUTURE_FILE: &str = "becomes";

/// The kind of the pins on an existing directory.
const DIRECTORY: &str = "directory";

/// The maximum size of a file whose old content is kept to be shown when a call replaces it, in bytes.
const MAX_SHOWN_BYTES: u64 = 256 << 10;

/// A directory of this machine.
pub(crate) struct DirCapability {
    root: Dir,
    grant: Grant,
    limits: Limits,
    /// The absolute paths of the directory: as it was endowed, and with all links followed.
    names: Vec<String>,
    /// Whether nothing in the directory may be changed, even if the grant names methods that change.
    read_only: bool,
}

impl DirCapability {
    /// Opens the directory once. From then on, every path is looked up below this handle.
    pub(crate) fn open(path: &str, read_only: bool, grant: &Grant) -> Result<DirCapability, OpenError> {
        // A change in a staged copy will be applied to the original directory, so its path counts.
        let named = grant.attenuation.staged_from.as_deref().unwrap_or(path);
        let real =
            std::fs::canonicalize(named).ok().and_then(|real| real.into_os_string().into_string().ok());
        let root = match grant.attenuation.staged_from {
            Some(_) => open_own_directory(path)?,
            None => open_directory(path)?,
        };
        Ok(DirCapability {
            root,
            grant: grant.clone(),
            limits: Limits::new(&grant.attenuation),
            names: [named.to_owned()].into_iter().chain(real.filter(|real| real != named)).collect(),
            read_only,
        })
    }

    /// Returns the line of the card for a call whose arguments cannot be parsed.
    fn line_of_invalid_call(&self, method: &str, args: &[Value]) -> String {
        let first: String =
            args.first().and_then(Value::as_str).unwrap_or_default().chars().take(100).collect();
        format!("{} {} in `{}`", visible_line(method), visible_line(&first), visible_line(&self.grant.slot))
    }

    /// Returns the facts of a call. Findings about missing paths do not yet name the paths that the caller may mean.
    fn facts_without_hints(&self, method: &str, args: &[Value]) -> Facts {
        match Call::parse(method, args) {
            Ok(call) => self.facts_of(&call, &visible_line(&self.grant.slot)),
            Err(problem) => Facts {
                line: self.line_of_invalid_call(method, args),
                problems: vec![*problem],
                ..Facts::default()
            },
        }
    }

    /// Returns the name of a path in the provenance of a value.
    fn document_name(&self, path: &str) -> String {
        format!("{}/{path}", self.grant.slot)
    }

    /// Returns the provenance of a value that was read at a path. `hash` is the digest of the content that was read.
    fn provenance_of(&self, path: &str, hash: BlobHash) -> Provenance {
        let seen = Provenance::of(Source::Document { name: self.document_name(path), hash });
        if self.grant.attenuation.private { seen.private() } else { seen }
    }

    fn check_writable(&self) -> Result<(), Finding> {
        match self.read_only {
            false => Ok(()),
            true => Err(Finding::new("dir/read-only", "the directory was handed out for reading only")
                .at("method")
                .counter_example("write")
                .allowed("list, read, glob, grep, stat")),
        }
    }

    fn list(&self, path: Option<&Plain>, after: Option<&Cursor>) -> Result<Completion, Finding> {
        let listing = list::list(&self.root, path, after, &self.limits)?;
        let provenance = self.provenance_of_names(path.map_or("", Plain::as_str), &listing.names);
        Ok(Completion::Done { value: listing.value(), provenance })
    }

    fn glob(&self, search: &PathSearch) -> Result<Completion, Finding> {
        let found = search.run(&self.root, &self.names, &self.limits)?;
        let provenance = self.provenance_of_names("", &found.paths);
        Ok(Completion::Done { value: found.value(), provenance })
    }

    /// Returns the provenance of names. Names of files are foreign words, as file contents are.
    fn provenance_of_names(&self, at: &str, names: &[String]) -> Provenance {
        self.provenance_of(at, BlobHash::of(names.join("\n").as_bytes()))
    }

    /// Returns whether an edit may show lines of a file: exactly if `read` shows them too, without a question and for
    /// every use. A finding has no provenance of its own, so it shows nothing that is private.
    fn shows_lines(&self, path: &Plain) -> bool {
        let is_read = self.grant.allows("read") && !self.grant.ask.contains("read");
        is_read && !self.grant.attenuation.private && !self.holds_keys(path)
    }

    fn read(&self, path: &Plain, range: Range) -> Result<Completion, Finding> {
        let found = read::look(&self.root, path, &self.limits)?;
        let part = range::read(&self.root, path, &found, range)?;
        let provenance = self.provenance_of(path.as_str(), BlobHash::of(part.text.as_bytes()));
        let value = match range == Range::All && part.is_whole() {
            true => Value::from(part.text),
            false => part.value(),
        };
        Ok(Completion::Done { value, provenance })
    }

    fn grep(&self, search: &grep::Search) -> Result<Completion, Finding> {
        let found = search.run(&self.root, &self.names, &self.limits)?;
        let sources = found.sources.iter().map(|(path, hash)| self.provenance_of(path, *hash));
        // An empty result also reveals something about the directory.
        let none = self.provenance_of("", BlobHash::of(&[]));
        let provenance = sources.reduce(|one, other| one.join(&other)).unwrap_or(none);
        Ok(Completion::Done { value: found.value(), provenance })
    }

    fn stat(&self, path: &Plain) -> Result<Completion, Finding> {
        let (value, digest) = stat::stat(&self.root, path, &self.limits)?;
        let provenance = self.provenance_of(path.as_str(), digest.unwrap_or_else(|| BlobHash::of(&[])));
        Ok(Completion::Done { value, provenance })
    }

    /// Returns the pinned digest of a file that the call may change. `None` means that the pin says there is no file.
    fn check_change(
        &self,
        begun: &StartedEffect,
        path: &Plain,
        content: &str,
    ) -> Result<Option<BlobHash>, Vec<Finding>> {
        let checks = [
            self.check_writable(),
            self.limits.check_name(path.as_str()),
            self.limits.check_bytes(path.as_str(), content.len() as u64),
        ];
        let problems: Vec<Finding> = checks.into_iter().filter_map(Result::err).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let pinned = pinned(begun, path).ok_or_else(|| {
            vec![write::look(&self.root, path, &self.limits).err().unwrap_or_else(|| unpinned(path))]
        })?;
        match pinned {
            Some(_) => Ok(pinned),
            None => self.check_new(path, false, None, "path").map(|()| None),
        }
    }

    fn check_new(
        &self,
        path: &Plain,
        is_directory: bool,
        moved: Option<&Plain>,
        at: &str,
    ) -> Result<(), Vec<Finding>> {
        let problems = self.problems_of_new(path, is_directory, moved, at);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn append(&self, begun: &StartedEffect, path: &Plain, content: &str) -> Completion {
        let pinned = match self.check_change(begun, path, content) {
            Ok(pinned) => pinned,
            Err(problems) => return Completion::Refused(problems),
        };
        let temporary = path::temporary(begun);
        match append::append(&self.root, path, content, pinned, &temporary, &self.limits) {
            append::AppendOutcome::Done(whole) => done(begun, written(path, &whole)),
            append::AppendOutcome::NotWritten(why) => not_written(path, why),
        }
    }

    fn write(&self, begun: &StartedEffect, path: &Plain, content: &str) -> Completion {
        let pinned = match self.check_change(begun, path, content) {
            Ok(pinned) => pinned,
            Err(problems) => return Completion::Refused(problems),
        };
        let temporary = path::temporary(begun);
        match write::write(&self.root, path, content.as_bytes(), pinned, &temporary, &self.limits) {
            write::WriteOutcome::Done => done(begun, written(path, content.as_bytes())),
            why => not_written(path, why),
        }
    }

    fn edit(&self, begun: &StartedEffect, path: &Plain, edit: &Edit<'_>) -> Completion {
        let checks = [self.check_writable(), self.limits.check_name(path.as_str())];
        let problems: Vec<Finding> = checks.into_iter().filter_map(Result::err).collect();
        if !problems.is_empty() {
            return Completion::Refused(problems);
        }
        let Some(digests) = edit_digests(begun, path) else {
            return match (pinned(begun, path), edit.preview(&self.root, path, &self.limits, false)) {
                // A person was asked about a file of keys, so the run may learn that the text does not stand there.
                (Some(Some(_)), Err(finding)) => Completion::Refused(vec![finding]),
                (Some(Some(_)), Ok(_)) => Completion::Refused(vec![has_changed(path)]),
                _ => self.refused(begun, path),
            };
        };
        match edit.make(&self.root, path, digests, &path::temporary(begun), &self.limits) {
            Ok(edited) => done(begun, written(path, &edited.whole)),
            Err(why) => not_written(path, why),
        }
    }

    /// Returns whether a directory, and no link to one, stands at a path.
    fn is_directory(&self, path: &Plain) -> bool {
        let found = relocate::look(&self.root, path, "look at", "path", &self.limits);
        found.is_ok_and(|state| state == EntryState::Directory)
    }

    /// Returns the pinned state of a path: nothing, a file or a directory.
    fn pinned_state(&self, begun: &StartedEffect, path: &Plain) -> Option<EntryState> {
        let is_there = |kind: &str| {
            begun.proposal().pins.iter().any(|pin| pin.kind == kind && pin.name == path.as_str())
        };
        match pinned(begun, path) {
            Some(Some(digest)) => Some(EntryState::File(digest, 0)),
            Some(None) => Some(EntryState::Nothing),
            None => is_there(DIRECTORY).then_some(EntryState::Directory),
        }
    }

    fn relocate(&self, begun: &StartedEffect, from: &Plain, to: &Plain) -> Completion {
        let names = [self.limits.check_name(from.as_str()), self.limits.check_name(to.as_str())];
        let problems: Vec<Finding> =
            names.into_iter().chain([self.check_writable()]).filter_map(Result::err).collect();
        if !problems.is_empty() {
            return Completion::Refused(problems);
        }
        let (Some(EntryState::File(digest, _)), Some(EntryState::Nothing)) =
            (self.pinned_state(begun, from), self.pinned_state(begun, to))
        else {
            return self.refused(begun, from);
        };
        if let Err(problems) = self.check_new(to, false, Some(from), "to") {
            return Completion::Refused(problems);
        }
        let returned = relocate::paths([("path", to), ("from", from)]);
        change_completion(
            begun,
            from,
            returned,
            relocate::relocate(&self.root, from, to, digest, &self.limits),
        )
    }

    fn remove(&self, begun: &StartedEffect, path: &Plain) -> Completion {
        let problems = self.problems_of_removal(path);
        if !problems.is_empty() {
            return Completion::Refused(problems);
        }
        let Some(was) = self.pinned_state(begun, path).filter(|was| *was != EntryState::Nothing) else {
            return self.refused(begun, path);
        };
        let aside = path::temporary(begun);
        let returned = relocate::removed(path);
        change_completion(
            begun,
            path,
            returned,
            relocate::remove(&self.root, path, was, &aside, &self.limits),
        )
    }

    fn make_directory(&self, begun: &StartedEffect, path: &Plain) -> Completion {
        if let Err(problem) = self.check_writable() {
            return Completion::Refused(vec![problem]);
        }
        match self.pinned_state(begun, path) {
            Some(EntryState::Directory) => {}
            Some(EntryState::Nothing) => {
                if let Err(problems) = self.check_new(path, true, None, "path") {
                    return Completion::Refused(problems);
                }
            }
            _ => return self.refused(begun, path),
        }
        change_completion(
            begun,
            path,
            relocate::paths([("directory", path)]),
            relocate::make(&self.root, path),
        )
    }

    /// Makes a call.
    fn make(&self, begun: &StartedEffect, call: &Call<'_>) -> Completion {
        let seen = match call {
            Call::List { path, after } => self.list(path.as_ref(), after.as_ref()),
            Call::Read { path, range } => self.read(path, *range),
            Call::Glob { search } => self.glob(search),
            Call::Grep { search, .. } => self.grep(search),
            Call::Stat { path } => self.stat(path),
            Call::Write { path, content } => return self.write(begun, path, content),
            Call::Append { path, content } => return self.append(begun, path, content),
            Call::Edit { path, edit } => return self.edit(begun, path, edit),
            Call::Move { from, to } => return self.relocate(begun, from, to),
            Call::Remove { path } => return self.remove(begun, path),
            Call::MakeDirectory { path } => return self.make_directory(begun, path),
        };
        seen.unwrap_or_else(Completion::Failed)
    }

    /// Returns the refusal of a call that was never judged, or that was judged to be impossible.
    fn refused(&self, begun: &StartedEffect, path: &Plain) -> Completion {
        let proposal = begun.proposal();
        let problems = self.facts_without_hints(&proposal.method, &proposal.args).problems;
        Completion::Refused(if problems.is_empty() { vec![unpinned(path)] } else { problems })
    }

    /// Returns the return value of a call that an earlier process had begun. The inner `None` means that the call was
    /// not made, and the outer `None` that this cannot be known.
    fn was_made(&self, begun: &StartedEffect, call: &Call<'_>) -> Option<Option<Value>> {
        let temporary = path::temporary(begun);
        let (root, limits) = (&self.root, &self.limits);
        match call {
            Call::Write { path, content } => {
                let (pinned, whole) = (pinned(begun, path).flatten(), content.as_bytes());
                let is_done = write::is_done(root, path, whole, pinned, &temporary, limits);
                Some(is_done.then(|| written(path, whole)))
            }
            Call::Append { path, content } => {
                match append::find(root, path, content, pinned(begun, path).flatten(), &temporary, limits) {
                    append::AppendState::Done(whole) => Some(Some(written(path, &whole))),
                    append::AppendState::NotDone => Some(None),
                    append::AppendState::Unknown => None,
                }
            }
            Call::Edit { path, .. } => {
                let Some(digests) = edit_digests(begun, path) else { return Some(None) };
                match edit::find(root, path, digests, &temporary, limits) {
                    edit::EditState::Done(whole) => Some(Some(written(path, &whole))),
                    edit::EditState::NotDone => Some(None),
                    edit::EditState::Unknown => None,
                }
            }
            Call::Move { from, to } => {
                let Some(EntryState::File(digest, _)) = self.pinned_state(begun, from) else {
                    return Some(None);
                };
                let is_done = relocate::was_relocated(root, from, to, digest, limits)?;
                Some(is_done.then(|| relocate::paths([("path", to), ("from", from)])))
            }
            Call::Remove { path } => {
                let Some(was) = self.pinned_state(begun, path) else { return Some(None) };
                let is_done = relocate::was_removed(root, path, was, &temporary, limits)?;
                Some(is_done.then(|| relocate::removed(path)))
            }
            // A directory can be made again without harm.
            Call::MakeDirectory { .. } => Some(None),
            Call::List { .. }
            | Call::Read { .. }
            | Call::Glob { .. }
            | Call::Grep { .. }
            | Call::Stat { .. } => Some(None),
        }
    }
}

impl Capability for DirCapability {
    fn interface(&self) -> &Interface {
        interface()
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        let mut facts = self.facts_without_hints(method, args);
        facts.problems = self.with_hints(facts.problems, method, args);
        facts.canonical = other_spellings(&facts, method, args);
        facts
    }

    fn change_scopes(&self, method: &str, args: &[Value]) -> Vec<ChangeScope> {
        let Ok(call) = Call::parse(method, args) else { return vec![] };
        let root = self.names.last().map_or("", String::as_str).trim_end_matches('/');
        let at = |argument, path: &Plain| places::entry(argument, &format!("{root}/{}", path.as_str()));
        match &call {
            // A directory that is there already stays as it is.
            Call::MakeDirectory { path } if self.is_directory(path) => vec![],
            Call::Write { path, .. }
            | Call::Append { path, .. }
            | Call::Edit { path, .. }
            | Call::Remove { path }
            | Call::MakeDirectory { path } => vec![at("path", path)],
            Call::Move { from, to } => vec![at("to", to), at("from", from)],
            Call::List { .. }
            | Call::Read { .. }
            | Call::Glob { .. }
            | Call::Grep { .. }
            | Call::Stat { .. } => vec![],
        }
    }

    fn operand(&self, pin: &Pin) -> Option<Vec<u8>> {
        if pin.kind != FILE {
            return None;
        }
        let path = Plain::check(&pin.name, Purpose::Look).ok()?;
        read::bytes(&self.root, &path, MAX_SHOWN_BYTES)
    }

    fn before(&self, pin: &Pin) -> Option<Vec<u8>> {
        let digest = pin.digest.filter(|_| pin.kind == FILE)?;
        let path = Plain::check(&pin.name, Purpose::Look).ok()?;
        read::bytes(&self.root, &path, self.limits.bytes()).filter(|bytes| BlobHash::of(bytes) == digest)
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        let (method, args) = (&begun.proposal().method, &begun.proposal().args);
        let completion = match Call::parse(method, args) {
            Err(finding) => Completion::Refused(vec![*finding]),
            Ok(call) => self.make(begun, &call),
        };
        match completion {
            Completion::Failed(finding) => Completion::Failed(self.with_hint(finding, method, args)),
            Completion::Refused(findings) => Completion::Refused(self.with_hints(findings, method, args)),
            done => done,
        }
    }

    fn probe(&self, begun: &StartedEffect) -> Probe {
        let Ok(call) = Call::parse(&begun.proposal().method, &begun.proposal().args) else {
            return Probe::NotDone;
        };
        match self.was_made(begun, &call) {
            Some(Some(value)) => Probe::Done { value, provenance: begun.proposal().provenance.clone() },
            Some(None) => Probe::NotDone,
            None => Probe::Unknown,
        }
    }
}

/// Returns the other spellings of the paths that a call names: without `.` and empty names, and behind links.
fn other_spellings(facts: &Facts, method: &str, args: &[Value]) -> Vec<CanonicalArgument> {
    let names = interface().method(method).map(|method| method.params.iter().map(|param| &param.name));
    let mut spellings = Vec::new();
    for (name, value) in names.into_iter().flatten().zip(args) {
        let is_path = matches!(name.as_str(), "path" | "from" | "to");
        let Some(typed) = value.as_str().filter(|_| is_path) else { continue };
        let plain = Plain::check(typed, Purpose::Look).ok();
        let fact = facts.paths.iter().find(|fact| fact.argument == *name);
        let led = fact.and_then(|fact| fact.leads_to.as_deref());
        let others = plain.as_ref().map(Plain::as_str).into_iter().chain(led);
        spellings.extend(
            others
                .filter(|text| *text != typed)
                .map(|text| CanonicalArgument { argument: name.clone(), text: text.to_owned() }),
        );
    }
    spellings
}

/// Returns the completion for a file that was not written.
fn not_written(path: &Plain, why: write::WriteOutcome) -> Completion {
    match why {
        write::WriteOutcome::Failed(finding) => Completion::Failed(finding),
        write::WriteOutcome::Done | write::WriteOutcome::Changed => {
            Completion::Refused(vec![has_changed(path)])
        }
    }
}

/// Returns the completion of a change.
fn change_completion(
    begun: &StartedEffect,
    path: &Plain,
    value: Value,
    came: Result<(), MoveRefused>,
) -> Completion {
    match came {
        Ok(()) => done(begun, value),
        Err(MoveRefused::Changed) => Completion::Refused(vec![has_changed(path)]),
        Err(MoveRefused::Failed(finding)) => Completion::Failed(finding),
    }
}

/// Returns the completion of a change that was made. Its provenance is that of the call. The size and digest of a
/// changed file may also depend on its earlier content.
fn done(begun: &StartedEffect, value: Value) -> Completion {
    Completion::Done { value, provenance: begun.proposal().provenance.clone() }
}

fn has_changed(path: &Plain) -> Finding {
    Finding::new("dir/changed", quoting!("`{}` has changed since it was shown", shown(path)))
        .at("path")
        .counter_example(shown(path))
        .allowed("the same call once more: it is judged with what is there now")
}

fn unpinned(path: &Plain) -> Finding {
    Finding::new("dir/unpinned", quoting!("nobody has seen what is at `{}`", shown(path)))
        .at("path")
        .counter_example(shown(path))
        .allowed("the same call, judged with what is there")
}

/// Returns the digest that the proposal pins at the path, or `None` if there is no pin. The inner `None` is the pin
/// that no file exists.
fn pinned(begun: &StartedEffect, path: &Plain) -> Option<Option<BlobHash>> {
    pin(begun, FILE, path)
}

fn pin(begun: &StartedEffect, kind: &str, path: &Plain) -> Option<Option<BlobHash>> {
    let pins = &begun.proposal().pins;
    pins.iter().find(|pin| pin.kind == kind && pin.name == path.as_str()).map(|pin| pin.digest)
}

/// Returns the pinned digests of an edited file: its content when judged, and its content afterwards.
fn edit_digests(begun: &StartedEffect, path: &Plain) -> Option<(BlobHash, BlobHash)> {
    pinned(begun, path).flatten().zip(pin(begun, FUTURE_FILE, path).flatten())
}

/// Returns the value of a method that changed a file: path, size and digest of the whole file.
fn written(path: &Plain, whole: &[u8]) -> Value {
    Value::record_from_map(BTreeMap::from([
        ("path".to_owned(), Value::from(path.as_str())),
        ("bytes".to_owned(), Value::number(whole.len() as f64)),
        ("digest".to_owned(), Value::from(BlobHash::of(whole).to_string())),
    ]))
}

fn shown(path: &Plain) -> std::borrow::Cow<'_, str> {
    visible_line(path.as_str())
}
