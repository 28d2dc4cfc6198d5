//! A directory: `list`, `read`, `write`, `append`, beneath one open directory handle.

mod append;
mod interface;
mod limits;
mod list;
mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use cap_std::fs::Dir;
use kernel::Interface;
use kernel::begun::Begun;
use kernel::grant::Grant;
use kernel::id::BlobHash;
use kernel::proposal::{Finding, Pin, Value};
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;
use passable::visible_line;
use policy::{Facts, Overwrite, PathFact};

use crate::path::{self, Plain, Purpose};
use crate::walk;
use crate::{Capability, OpenError, Probe, foreign, open_directory};

pub(crate) use interface::interface;
pub(crate) use limits::Limits;

/// The kind of the pins that say what a file held.
const FILE: &str = "file";

/// The largest file whose content is kept while somebody is asked about replacing it, in bytes.
const SHOWN: u64 = 256 << 10;

/// A directory of this machine.
pub(crate) struct DirCapability {
    root: Dir,
    grant: Grant,
    limits: Limits,
    /// Whether nothing in it may be changed, whatever the grant says.
    read_only: bool,
}

impl DirCapability {
    /// Opens the directory once; from then on nothing is looked up by its path.
    pub(crate) fn open(path: &str, read_only: bool, grant: &Grant) -> Result<DirCapability, OpenError> {
        Ok(DirCapability {
            root: open_directory(path)?,
            grant: grant.clone(),
            limits: Limits::new(&grant.attenuation),
            read_only,
        })
    }

    /// The line for a call that cannot be made as it is.
    fn line_of_misfit(&self, method: &str, args: &[Value]) -> String {
        let first: String =
            args.first().and_then(Value::as_str).unwrap_or_default().chars().take(100).collect();
        format!("{} {} in `{}`", visible_line(method), visible_line(&first), visible_line(&self.grant.slot))
    }

    /// The name that provenance has for a path.
    fn document(&self, path: &str) -> String {
        format!("{}/{path}", self.grant.slot)
    }

    fn check_writable(&self) -> Result<(), Finding> {
        match self.read_only {
            false => Ok(()),
            true => Err(Finding::new("dir/read-only", "the directory was handed out for reading only")
                .at("method")
                .counter_example("write")
                .allowed("list, read")),
        }
    }

    fn facts_of(&self, call: &Call<'_>) -> Facts {
        let slot = visible_line(&self.grant.slot);
        match call {
            Call::List { path } => {
                let place = path.as_ref().map_or_else(String::new, |path| format!("{}/ in ", shown(path)));
                let at = path.as_ref().map_or("", Plain::as_str);
                let found = walk::look(&self.root, at).ok().map(|found| found.resolved);
                let listed = PathFact {
                    argument: "path".to_owned(),
                    path: at.to_owned(),
                    leads_to: found.filter(|resolved| !at.is_empty() && resolved != at),
                    bytes: None,
                };
                Facts { line: format!("lists {place}`{slot}`"), paths: vec![listed], ..Facts::default() }
            }
            Call::Read { path } => {
                let mut facts =
                    Facts { line: format!("reads {} in `{slot}`", shown(path)), ..Facts::default() };
                match read::look(&self.root, path, &self.limits) {
                    Ok(found) => {
                        facts.line.push_str(&format!(" ({} bytes)", found.bytes));
                        facts.paths.push(PathFact {
                            argument: "path".to_owned(),
                            path: path.as_str().to_owned(),
                            leads_to: (found.resolved != path.as_str()).then_some(found.resolved),
                            bytes: Some(found.bytes),
                        });
                    }
                    Err(finding) => facts.problems.push(finding),
                }
                facts
            }
            Call::Write { path, content } => self.facts_of_write(&slot, path, content),
            Call::Append { path, content } => self.facts_of_append(&slot, path, content),
        }
    }

    fn facts_of_write(&self, slot: &str, path: &Plain, content: &str) -> Facts {
        let bytes = content.len() as u64;
        let mut facts = Facts { bytes: Some(bytes), ..Facts::default() };
        facts.problems.extend(self.check_writable().err());
        facts.problems.extend(self.limits.check_name(path.as_str()).err());
        facts.problems.extend(self.limits.check_bytes(path.as_str(), bytes).err());
        let state = match write::look(&self.root, path, &self.limits) {
            Err(finding) => {
                facts.problems.push(finding);
                "cannot be written".to_owned()
            }
            Ok(before) => {
                let now = before.present.as_ref();
                facts.pins = BTreeSet::from([Pin {
                    kind: FILE.to_owned(),
                    name: path.as_str().to_owned(),
                    digest: now.map(|present| present.digest),
                }]);
                facts.paths.push(PathFact {
                    argument: "path".to_owned(),
                    path: path.as_str().to_owned(),
                    leads_to: None,
                    bytes: now.map(|present| present.bytes),
                });
                match now {
                    None if before.has_parent => "new file".to_owned(),
                    None => "new file in a new folder".to_owned(),
                    Some(present) if present.digest == BlobHash::of(content.as_bytes()) => {
                        "already there, the same".to_owned()
                    }
                    Some(present) => {
                        facts.overwrites = Some(Overwrite {
                            path: path.as_str().to_owned(),
                            digest: present.digest,
                            bytes: present.bytes,
                        });
                        format!("replaces {} bytes", present.bytes)
                    }
                }
            }
        };
        facts.line = format!("writes {} in `{slot}` ({bytes} bytes; {state})", shown(path));
        facts
    }

    fn facts_of_append(&self, slot: &str, path: &Plain, content: &str) -> Facts {
        let bytes = content.len() as u64;
        let mut facts = Facts { bytes: Some(bytes), ..Facts::default() };
        facts.problems.extend(self.check_writable().err());
        facts.problems.extend(self.limits.check_name(path.as_str()).err());
        let state = match write::look(&self.root, path, &self.limits) {
            Err(finding) => {
                facts.problems.push(finding);
                "cannot be written".to_owned()
            }
            Ok(before) => {
                let now = before.present.as_ref();
                let there = now.map_or(0, |present| present.bytes);
                let whole = there.saturating_add(bytes);
                facts.problems.extend(self.limits.check_bytes(path.as_str(), whole).err());
                let digest = now.map(|present| present.digest);
                let name = path.as_str().to_owned();
                facts.pins = BTreeSet::from([Pin { kind: FILE.to_owned(), name, digest }]);
                facts.paths.push(PathFact {
                    argument: "path".to_owned(),
                    path: path.as_str().to_owned(),
                    leads_to: None,
                    bytes: now.map(|present| present.bytes),
                });
                match now {
                    None => "new file".to_owned(),
                    Some(_) => format!("behind {there} bytes"),
                }
            }
        };
        facts.line = format!("appends to {} in `{slot}` ({bytes} bytes; {state})", shown(path));
        facts
    }

    fn list(&self, path: Option<&Plain>) -> Completion {
        match list::list(&self.root, path, &self.limits) {
            Err(finding) => Completion::Failed(finding),
            Ok(names) => {
                // Names are other people's words as much as contents are.
                let digest = BlobHash::of(names.join("\n").as_bytes());
                let name = self.document(path.map_or("", Plain::as_str));
                Completion::Done {
                    value: Value::array(names.into_iter().map(Value::from)),
                    provenance: Provenance::of(Source::Document { name, hash: digest }),
                }
            }
        }
    }

    fn read(&self, path: &Plain) -> Completion {
        let text = read::look(&self.root, path, &self.limits)
            .and_then(|found| read::read(&self.root, path, &found, &self.limits));
        match text {
            Err(finding) => Completion::Failed(finding),
            Ok(text) => {
                let hash = BlobHash::of(text.as_bytes());
                let source = Source::Document { name: self.document(path.as_str()), hash };
                Completion::Done { value: Value::from(text), provenance: Provenance::of(source) }
            }
        }
    }

    /// What was pinned of a file that may be changed.
    fn may_change(
        &self,
        begun: &Begun,
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
        pinned(begun, path).ok_or_else(|| {
            let unpinned = || {
                Finding::new("dir/unpinned", format!("nobody has seen what is at `{}`", shown(path)))
                    .at("path")
                    .counter_example(shown(path))
                    .allowed("the same call, judged with what is there")
            };
            vec![write::look(&self.root, path, &self.limits).err().unwrap_or_else(unpinned)]
        })
    }

    fn append(&self, begun: &Begun, path: &Plain, content: &str) -> Completion {
        let pinned = match self.may_change(begun, path, content) {
            Ok(pinned) => pinned,
            Err(problems) => return Completion::Refused(problems),
        };
        let temporary = path::temporary(begun);
        match append::append(&self.root, path, content.as_bytes(), pinned, &temporary, &self.limits) {
            append::Appended::Done(whole) => {
                let (value, provenance) = written(begun, path, &whole);
                Completion::Done { value, provenance }
            }
            append::Appended::Not(why) => not_written(path, why),
        }
    }

    fn write(&self, begun: &Begun, path: &Plain, content: &str) -> Completion {
        let pinned = match self.may_change(begun, path, content) {
            Ok(pinned) => pinned,
            Err(problems) => return Completion::Refused(problems),
        };
        let temporary = path::temporary(begun);
        match write::write(&self.root, path, content.as_bytes(), pinned, &temporary, &self.limits) {
            write::Written::Done => {
                let (value, provenance) = written(begun, path, content.as_bytes());
                Completion::Done { value, provenance }
            }
            why => not_written(path, why),
        }
    }
}

/// What is told of a file that was not written.
fn not_written(path: &Plain, why: write::Written) -> Completion {
    match why {
        write::Written::Failed(finding) => Completion::Failed(finding),
        write::Written::Done | write::Written::Changed => Completion::Refused(vec![
            Finding::new("dir/changed", format!("`{}` has changed since it was shown", shown(path)))
                .at("path")
                .counter_example(shown(path))
                .allowed("the same call once more: it is judged with what is there now"),
        ]),
    }
}

impl Capability for DirCapability {
    fn interface(&self) -> &'static Interface {
        interface()
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        match Call::parse(method, args) {
            Ok(call) => self.facts_of(&call),
            Err(problem) => Facts {
                line: self.line_of_misfit(method, args),
                problems: vec![*problem],
                ..Facts::default()
            },
        }
    }

    fn operand(&self, pin: &Pin) -> Option<Vec<u8>> {
        if pin.kind != FILE {
            return None;
        }
        let path = Plain::check(&pin.name, Purpose::Look).ok()?;
        read::bytes(&self.root, &path, SHOWN)
    }

    fn perform(&self, begun: &Begun) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        match Call::parse(&begun.proposal().method, &begun.proposal().args) {
            Err(finding) => Completion::Refused(vec![*finding]),
            Ok(Call::List { path }) => self.list(path.as_ref()),
            Ok(Call::Read { path }) => self.read(&path),
            Ok(Call::Write { path, content }) => self.write(begun, &path, content),
            Ok(Call::Append { path, content }) => self.append(begun, &path, content),
        }
    }

    fn probe(&self, begun: &Begun) -> Probe {
        let temporary = path::temporary(begun);
        let done = |path: &Plain, whole: &[u8]| {
            let (value, provenance) = written(begun, path, whole);
            Probe::Done { value, provenance }
        };
        match Call::parse(&begun.proposal().method, &begun.proposal().args) {
            Ok(Call::Write { path, content }) => {
                let (pinned, whole) = (pinned(begun, &path).flatten(), content.as_bytes());
                match write::is_done(&self.root, &path, whole, pinned, &temporary, &self.limits) {
                    true => done(&path, whole),
                    false => Probe::NotDone,
                }
            }
            Ok(Call::Append { path, content }) => {
                let (pinned, content) = (pinned(begun, &path).flatten(), content.as_bytes());
                match append::find(&self.root, &path, content, pinned, &temporary, &self.limits) {
                    append::Found::Done(whole) => done(&path, &whole),
                    append::Found::NotDone => Probe::NotDone,
                    append::Found::Unknown => Probe::Unknown,
                }
            }
            _ => Probe::NotDone,
        }
    }
}

/// A call with its arguments taken apart.
enum Call<'a> {
    List { path: Option<Plain> },
    Read { path: Plain },
    Write { path: Plain, content: &'a str },
    Append { path: Plain, content: &'a str },
}

impl<'a> Call<'a> {
    fn parse(method: &str, args: &'a [Value]) -> Result<Call<'a>, Box<Finding>> {
        let text = |at: usize| args.get(at).and_then(Value::as_str);
        match (method, args.len()) {
            ("list", 0) => Ok(Call::List { path: None }),
            ("list", 1) => match text(0) {
                // What people write for "here".
                Some("" | "." | "./") => Ok(Call::List { path: None }),
                Some(path) => Ok(Call::List { path: Some(Plain::check(path, Purpose::Look)?) }),
                None if matches!(args[0], Value::Undefined) => Ok(Call::List { path: None }),
                None => Err(Box::new(mismatch(method))),
            },
            ("read", 1) => {
                let path = text(0).ok_or_else(|| mismatch(method))?;
                Ok(Call::Read { path: Plain::check(path, Purpose::Look)? })
            }
            ("write", 2) => {
                let (path, content) = text(0).zip(text(1)).ok_or_else(|| mismatch(method))?;
                Ok(Call::Write { path: Plain::check(path, Purpose::Make)?, content })
            }
            ("append", 2) => {
                let (path, content) = text(0).zip(text(1)).ok_or_else(|| mismatch(method))?;
                Ok(Call::Append { path: Plain::check(path, Purpose::Make)?, content })
            }
            _ => Err(Box::new(mismatch(method))),
        }
    }
}

fn mismatch(method: &str) -> Finding {
    Finding::new("dir/arguments", format!("these are not the arguments of `{}`", visible_line(method)))
        .at("method")
        .counter_example(visible_line(method))
        .allowed("list(path?), read(path), write(path, content), append(path, content), all of them text")
}

/// What the proposal says was at the path when it was judged; `None` if it says nothing.
fn pinned(begun: &Begun, path: &Plain) -> Option<Option<BlobHash>> {
    let pins = &begun.proposal().pins;
    pins.iter().find(|pin| pin.kind == FILE && pin.name == path.as_str()).map(|pin| pin.digest)
}

/// What a change returns of the whole file, and what that depends on: the words of the call and nothing else.
fn written(begun: &Begun, path: &Plain, whole: &[u8]) -> (Value, Provenance) {
    let value = Value::record_from_map(BTreeMap::from([
        ("path".to_owned(), Value::from(path.as_str())),
        ("bytes".to_owned(), Value::number(whole.len() as f64)),
        ("digest".to_owned(), Value::from(BlobHash::of(whole).to_string())),
    ]));
    (value, begun.proposal().provenance.clone())
}

fn shown(path: &Plain) -> std::borrow::Cow<'_, str> {
    visible_line(path.as_str())
}
