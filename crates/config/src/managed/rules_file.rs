//! The text of the administrator's files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use network::Egress;
use operator::{Policies, PolicyOwner};
use passable::visible_line;
use serde::Deserialize;

use super::files::{self, POLICY_FILE, Texts};
use super::model_rules::ModelRule;
use super::{Managed, ManagedError};
use crate::mcp_file::Server;
use crate::policy_file;

/// The sections of the file with the rules.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the sections of the file")]
struct RulesFile {
    /// The name of the file with the policies, which then has to be there.
    policy: Option<String>,
    models: Option<ModelsSection>,
    servers: Option<BTreeMap<String, Server>>,
    egress: Option<EgressSection>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section `[models]`")]
struct ModelsSection {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section `[egress]`")]
struct EgressSection {
    allow: Vec<String>,
    #[serde(default)]
    programs: bool,
}

/// Reads the administrator's files.
///
/// # Errors
/// When the files are there, but hold a fault or could have been written by somebody else than root.
pub(super) fn read() -> Result<Managed, ManagedError> {
    let Texts { rules, policies } = files::texts()?;
    let path = files::rules_path();
    let has_rules = rules.is_some();
    let rules = match rules {
        Some(text) => parse(&path, &text)?,
        None => RulesFile::default(),
    };
    let policies = match (policies, rules.policy.is_some()) {
        (Some(text), _) => Some(Arc::new(compile(&files::policy_path(), &text)?)),
        (None, false) => None,
        (None, true) => {
            let advice = format!("put it there, or take `policy` out of {}", path.display());
            return Err(invalid(&files::policy_path(), None, "it is not there".to_owned(), advice));
        }
    };
    let fault = |reason: String, advice: &str| invalid(&path, None, reason, advice.to_owned());
    let models = rules.models.map(|models| models.allow.iter().map(|text| model_rule(&path, text)).collect());
    let egress = rules.egress.as_ref().map(|section| {
        let place = path.display().to_string();
        Egress::parse(&place, section.allow.iter().map(String::as_str)).map_err(|(entry, reason)| {
            let reason = format!("`{}` below `[egress]` names no server: {reason}", visible_line(&entry));
            fault(reason, "write `allow = [\"https://api.example.com\"]`")
        })
    });
    for (name, server) in rules.servers.iter().flatten() {
        if let Some(wrong) = server_fault(server) {
            let reason = format!("the server `{}` {wrong}", visible_line(name));
            return Err(fault(reason, "docs/managed.md has an example"));
        }
    }
    Ok(Managed {
        path: path.display().to_string(),
        has_rules,
        models: models.transpose()?,
        servers: rules.servers,
        egress: egress.transpose()?.map(Arc::new),
        programs: rules.egress.is_some_and(|section| section.programs),
        policies,
    })
}

fn parse(path: &Path, text: &str) -> Result<RulesFile, ManagedError> {
    let rules: RulesFile = toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map(|span| text.as_bytes().iter().take(span.start).filter(|b| **b == b'\n').count() + 1);
        let reason = visible_line(error.message()).into_owned();
        invalid(path, line, reason, "mend it: docs/managed.md has an example".to_owned())
    })?;
    if rules.policy.as_ref().is_some_and(|name| name != POLICY_FILE) {
        let advice = format!("write `policy = \"{POLICY_FILE}\"`, or leave it out");
        let reason = format!("`policy` is `{POLICY_FILE}`, the file beside this one");
        return Err(invalid(path, None, reason, advice));
    }
    Ok(rules)
}

fn model_rule(path: &Path, text: &str) -> Result<ModelRule, ManagedError> {
    ModelRule::parse(text).map_err(|error| {
        let reason = format!("`{}` below `[models]`: {}", visible_line(text), visible_line(&error));
        invalid(path, None, reason, "write models as after `-m`: `openai:*`, `local`".to_owned())
    })
}

/// Returns the fault of a fixed server, if it has one.
fn server_fault(server: &Server) -> Option<&'static str> {
    let is_relative = |path: &str| !Path::new(path).is_absolute();
    match (&server.command, &server.url) {
        (Some(command), None) if is_relative(command) => {
            Some("has a `command` that is no path from the root")
        }
        (Some(_), None) if server.directories().any(|(path, _)| is_relative(path)) => {
            Some("has a directory that is no path from the root")
        }
        // An installed package lies in the home of one user, who can write there.
        _ if server.package.is_some() => Some("names a package, which lies in the home of one user"),
        (Some(_), None) | (None, Some(_)) => None,
        _ => Some("is either a `command` or a `url`"),
    }
}

fn compile(path: &Path, text: &str) -> Result<Policies, ManagedError> {
    policy_file::compile(path, PolicyOwner::Machine, text, None).map_err(|problems| {
        let all: Vec<String> = problems
            .iter()
            .map(|problem| match problem.line {
                Some(line) => format!("line {line}: {}", problem.message),
                None => problem.message.clone(),
            })
            .collect();
        let help = problems.iter().find_map(|problem| problem.help.clone());
        let advice = help.unwrap_or_else(|| "mend it: docs/policy.md has the words".to_owned());
        invalid(path, None, all.join("; "), advice)
    })
}

fn invalid(path: &Path, line: Option<usize>, reason: String, advice: String) -> ManagedError {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    ManagedError::Invalid { place: format!("{}{line}", path.display()), reason, advice }
}
