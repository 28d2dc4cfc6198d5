//! The order of the calls of one reply.
//!
//! A model may make several calls in one reply, such as two edits of one file. Each is judged by the present state. So
//! a call that depends on the effect of an earlier one is judged only after that effect. If a person is asked about both,
//! they are on one card, and the later one is judged again where the earlier one has changed its files. If the later one
//! would be refused or begin at once, it is judged after the answer to the earlier one and its effect.

use kernel::Method;
use kernel::proposal::{Effect, Proposal, Value};
use resource::Kind;

use crate::slot_binding::OpenSlot;

/// The parameters of directory methods that name a path.
const PATH_PARAMETERS: [&str; 3] = ["path", "from", "to"];

/// The files that a call reads or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileScope {
    /// None that the daemon knows of.
    None,
    /// These absolute paths, and all below them.
    Paths(Vec<String>),
    /// Any, such as those of a program.
    Any,
}

/// The files that calls of a reply are about to change.
#[derive(Default)]
pub(super) struct CallOrder {
    /// The files of calls that begin now.
    changed: Vec<FileScope>,
    /// The files of calls that a person is asked about.
    asked: Vec<FileScope>,
}

impl CallOrder {
    /// Returns whether a call must wait until the calls before it are over.
    pub(super) fn must_wait(&self, bound: &OpenSlot, method: &Method, args: &[Value]) -> bool {
        let scope = scope(bound, method, args);
        self.changed.iter().any(|changed| changed.overlaps(&scope))
    }

    /// Returns whether a call depends on files that a person may let an earlier call change. Such a call is judged when
    /// the earlier one is over, unless a person is asked about both at once.
    pub(super) fn awaits_answer(&self, bound: &OpenSlot, method: &Method, args: &[Value]) -> bool {
        let scope = scope(bound, method, args);
        self.asked.iter().any(|asked| asked.overlaps(&scope))
    }

    /// Notes a call that begins now.
    pub(super) fn note(&mut self, bound: &OpenSlot, proposal: &Proposal) {
        self.changed.extend(changed(bound, proposal));
    }

    /// Notes a call that a person is asked about.
    pub(super) fn note_asked(&mut self, bound: &OpenSlot, proposal: &Proposal) {
        self.asked.extend(changed(bound, proposal));
    }
}

/// Returns the files that a call changes, if it changes any.
fn changed(bound: &OpenSlot, proposal: &Proposal) -> Option<FileScope> {
    let method = bound.interface.method(&proposal.method)?;
    (proposal.effect != Effect::Observe).then(|| scope(bound, method, &proposal.args))
}

fn scope(bound: &OpenSlot, method: &Method, args: &[Value]) -> FileScope {
    let subject = &bound.subject;
    if subject.is(Kind::Program) || subject.is(Kind::Git { write: false }) {
        return FileScope::Any;
    }
    if !subject.is(Kind::Dir { write: false }) {
        return FileScope::None;
    }
    // The last name is the path with all links followed.
    let root = subject.names.last().map_or("", String::as_str);
    let named = method.params.iter().map(|param| param.name.as_str()).zip(args);
    let paths = named.filter(|(name, _)| PATH_PARAMETERS.contains(name)).filter_map(|(_, arg)| arg.as_str());
    let paths: Vec<String> = paths.map(|path| absolute(root, path)).collect();
    // A search without a path begins at the root.
    FileScope::Paths(if paths.is_empty() { vec![absolute(root, "")] } else { paths })
}

/// Returns a path in its plain form. Upper case is folded, because some file systems ignore it.
fn absolute(root: &str, path: &str) -> String {
    let parts = root.split('/').chain(path.split(['/', '\\']));
    let mut plain = Vec::new();
    for part in parts.filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(plain.pop()),
            part => plain.push(part.to_lowercase()),
        }
    }
    plain.iter().fold(String::new(), |whole, part| whole + "/" + part)
}

impl FileScope {
    fn overlaps(&self, other: &FileScope) -> bool {
        match (self, other) {
            (FileScope::None, _) | (_, FileScope::None) => false,
            (FileScope::Any, _) | (_, FileScope::Any) => true,
            (FileScope::Paths(some), FileScope::Paths(others)) => some
                .iter()
                .any(|one| others.iter().any(|other| is_within(one, other) || is_within(other, one))),
        }
    }
}

/// Returns whether a path is a directory or lies below it.
fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_overlap_only_if_one_holds_the_other() {
        let scope =
            |paths: &[&str]| FileScope::Paths(paths.iter().map(|path| absolute("/out", path)).collect());
        for (one, other, overlaps) in [
            (scope(&["a.md"]), scope(&["./A.md"]), true),
            (scope(&["a.md"]), scope(&["b.md"]), false),
            (scope(&["a"]), scope(&["a/b/c"]), true),
            (scope(&["a"]), scope(&["ab"]), false),
            (scope(&["a", "b"]), scope(&["c", "b"]), true),
            (scope(&["a"]), scope(&[""]), true),
            (scope(&["x/../a"]), scope(&["a"]), true),
            (scope(&["a"]), FileScope::Any, true),
            (scope(&["a"]), FileScope::None, false),
            (FileScope::Any, FileScope::Any, true),
            (FileScope::Any, FileScope::None, false),
        ] {
            assert_eq!(one.overlaps(&other), overlaps, "{one:?} {other:?}");
            assert_eq!(other.overlaps(&one), overlaps, "{other:?} {one:?}");
        }
    }
}
