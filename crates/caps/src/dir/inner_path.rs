//! The paths that a caller may mean by one that leads to nothing.
//!
//! Such a path is a look-alike, or the rest behind the name of the slot or behind the directory's own path.

use std::path::Path;

use kernel::proposal::{Finding, Value};
use passable::{quoting, visible_line};

use super::{DirCapability, interface, look_alike, tree};
use crate::path::{Plain, Purpose};

/// The rules of findings about a path that leads to nothing that the holder may know.
const RULES: [&str; 4] = ["file/missing", "file/not-a-directory", "path/absolute", "dir/suffix"];

impl DirCapability {
    /// Returns findings with the paths that the caller may mean.
    pub(super) fn with_hints(&self, findings: Vec<Finding>, method: &str, args: &[Value]) -> Vec<Finding> {
        findings.into_iter().map(|finding| self.with_hint(finding, method, args)).collect()
    }

    /// Returns a finding with the paths that the caller may mean, if it says that a path leads to nothing.
    pub(super) fn with_hint(&self, finding: Finding, method: &str, args: &[Value]) -> Finding {
        let params = interface().method(method).map(|method| &method.params);
        let at = params.and_then(|all| all.iter().position(|param| Some(&param.name) == finding.at.as_ref()));
        let given = at.and_then(|at| args.get(at)).and_then(Value::as_str);
        let Some(given) = given.filter(|_| RULES.contains(&finding.rule.as_str())) else { return finding };
        if finding.rule == "file/missing" || finding.rule == "dir/suffix" {
            let alike = look_alike::suggestions(&self.root, &self.names, given, &self.limits);
            if !alike.is_empty() {
                return look_alike::with_suggestions(finding, &alike);
            }
        }
        let Some(inner) = self.inner_path(given) else { return finding };
        let slot = visible_line(&self.grant.slot).into_owned();
        let inner = look_alike::json_text(&inner);
        finding.allowed(quoting!("{}: paths begin inside of `{}`, without its name", inner, slot))
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
        // The name of a file that the grant does not cover, or that holds keys, stays unknown.
        let is_known = tree::is_nameable(&self.root, &self.names, inner.as_str(), &self.limits);
        is_known.then(|| inner.as_str().to_owned())
    }
}
