//! The path that a caller means if it puts the name of the slot, or the directory's own path, before a path inside.

use std::path::Path;

use kernel::proposal::{Finding, Value};
use passable::{quoting, visible_line};

use super::{DirCapability, interface};
use crate::path::{Plain, Purpose};
use crate::walk::{self, Kind};

/// The rules of findings about a path that leads to nothing inside of the directory.
const RULES: [&str; 3] = ["file/missing", "file/not-a-directory", "path/absolute"];

impl DirCapability {
    /// Names the entry that a path would lead to without the name in front, in findings that it leads to nothing.
    pub(super) fn name_inner_paths(&self, problems: &mut [Finding], method: &str, args: &[Value]) {
        let Some(method) = interface().method(method) else { return };
        // A finding that names an exact path already, in quotation marks, stays.
        let has_path = |finding: &Finding| finding.allowed.as_ref().is_some_and(|text| text.starts_with('"'));
        let is_open = |finding: &&mut Finding| RULES.contains(&finding.rule.as_str()) && !has_path(finding);
        for problem in problems.iter_mut().filter(is_open) {
            let at = method.params.iter().position(|param| Some(&param.name) == problem.at.as_ref());
            let given = at.and_then(|at| args.get(at)).and_then(Value::as_str);
            let Some(inner) = given.and_then(|given| self.inner_path(given)) else { continue };
            let slot = visible_line(&self.grant.slot).into_owned();
            let words =
                quoting!("`{}`: paths begin inside of `{}`, without its name", visible_line(&inner), slot);
            *problem = problem.clone().allowed(words);
        }
    }

    /// Returns the path inside of the directory that a path means, if there is such an entry.
    fn inner_path(&self, given: &str) -> Option<String> {
        let below = |name: &str| {
            let rest = given.trim_start_matches("./").strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
        };
        let with_slash = format!("/{}", self.grant.slot);
        let last = self.names.iter().filter_map(|name| Path::new(name).file_name()?.to_str());
        let own = self.names.iter().map(String::as_str);
        let mut names = own.chain([self.grant.slot.as_str(), with_slash.as_str()]).chain(last);
        let inner = names.find_map(below)?;
        if inner.is_empty() {
            return Some(".".to_owned());
        }
        let inner = Plain::check(&inner, Purpose::Look).ok()?;
        let found = walk::look(&self.root, inner.as_str()).ok()?;
        // The name of a file that the grant does not cover stays unknown.
        let is_known = found.kind == Kind::Directory || self.limits.check_name(inner.as_str()).is_ok();
        is_known.then(|| inner.as_str().to_owned())
    }
}
