//! `almoner policy`.

use std::path::{Path, PathBuf};

use operator::{Call, Policies, PolicyOwner, Problem};
use passable::{Untrusted, visible_line};
use policy::Stance;
use resource::{Endowment, ResourceSpec};

use crate::cli::policy::{PolicyArgs, PolicyVerb};
use crate::client::Client;
use crate::session::Session;
use crate::ui::output;
use config::managed::{self, ADMINISTRATOR};
use config::mcp_file;
use config::policy_file::{self, NAME};
use config::trust;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{ManagedPolicies, PolicyFile, PolicyRow, Request, Response};
use daemon::policy_row as row;

/// Runs `almoner policy`.
///
/// # Errors
/// When the file does not exist or is not valid.
pub fn policy(acting: &Session<'_>, args: &PolicyArgs) -> ExitResult {
    let own = || acting.place.config.join(NAME);
    match &args.verb {
        None => show(acting, false),
        Some(PolicyVerb::Show { schema: true, .. }) => {
            output::listing(policy_file::vocabulary()?.schema())?;
            Ok(Exit::Ok)
        }
        Some(PolicyVerb::Show { json, .. }) => show(acting, json.json),
        Some(PolicyVerb::Check { file, project, managed }) => {
            let whose = match (*project, *managed) {
                (true, _) => PolicyOwner::Project,
                (_, true) => PolicyOwner::Machine,
                _ => PolicyOwner::Operator,
            };
            let usual = || if *managed { managed::policy_path() } else { own() };
            check(acting, &PolicySource::new(file.as_deref(), usual), whose)
        }
        Some(PolicyVerb::Test { call, file }) => test(&PolicySource::new(file.as_deref(), own), call),
    }
}

/// The file whose policies are checked or tried.
struct PolicySource {
    path: PathBuf,
    /// Whether the user has named the file. Otherwise it is the one that is followed.
    is_named: bool,
}

impl PolicySource {
    fn new(named: Option<&Path>, usual: impl FnOnce() -> PathBuf) -> PolicySource {
        PolicySource { path: named.map_or_else(usual, Path::to_owned), is_named: named.is_some() }
    }
}

fn show(acting: &Session<'_>, json: bool) -> ExitResult {
    let report = match acting.ask(Request::Policy)? {
        Response::Policy(report) => *report,
        other => return Err(unexpected(&other)),
    };
    if json {
        output::json(&report)?;
    } else {
        output::listing(&render_report(&report))?;
    }
    let is_managed_well = report.managed.as_ref().is_none_or(|managed| managed.problem.is_none());
    Ok(if report.problems.is_empty() && is_managed_well { Exit::Ok } else { Exit::Invalid })
}

fn render_report(report: &PolicyFile) -> String {
    let path = visible_line(&report.path);
    let managed = report.managed.as_ref().map(render_managed).unwrap_or_default();
    let mut text = managed
        + &match (&report.digest, report.ready) {
            (Some(digest), _) => {
                format!("{path} ({})\n{}", digest.short(), list(&report.policies, report.examples))
            }
            (None, true) => format!("no policies are in force; they would stand in {path}\n"),
            (None, false) => "nothing is judged until this is mended:\n".to_owned(),
        };
    for problem in &report.problems {
        text += &format!("✗ {}\n", problem.visible_line());
    }
    if !report.problems.is_empty() && report.ready {
        text += "  what is listed is from before, and still in force\n";
    }
    for warning in &report.warnings {
        text += &format!("note: {}\n", warning.visible_line());
    }
    text + &exceptions(&report.policies, &report.unbound)
}

/// Returns the policies of the machine's administrator, or the fault of their file.
fn render_managed(managed: &ManagedPolicies) -> String {
    let path = visible_line(&managed.path);
    match (&managed.problem, &managed.digest) {
        (Some(problem), _) => {
            format!("✗ {}\n  nothing is judged, and no run begins\n", problem.visible_line())
        }
        (None, Some(digest)) => format!(
            "{path} ({}), of {ADMINISTRATOR}\n{}",
            digest.short(),
            list(&managed.policies, managed.examples)
        ),
        (None, None) => String::new(),
    }
}

/// Returns a note for each thing that the policies about files do not bind.
fn exceptions(policies: &[PolicyRow], unbound: &[Untrusted]) -> String {
    let names: Vec<String> = policies
        .iter()
        .filter(|policy| policy.is_of_files)
        .map(|policy| format!("`{}`", visible_line(&policy.name)))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let (names, verb) = (names.join(", "), if names.len() == 1 { "does" } else { "do" });
    let note = |one: &Untrusted| format!("note: {names} {verb} not bind {}\n", one.visible_line());
    unbound.iter().map(note).collect()
}

/// Returns the programs and tool servers that work in directories: those of the settings, of the project's file here,
/// and of unfinished runs, if a daemon is running.
///
/// # Errors
/// When a file cannot be read, or the daemon cannot be asked.
fn unbound(acting: &Session<'_>) -> Result<Vec<Untrusted>, Failure> {
    let mut all = Vec::new();
    for (name, server) in mcp_file::usable(&acting.place.config)?.servers {
        if server.command.is_some() && !server.dirs.is_empty() {
            let dirs = server.dirs.join(", ");
            all.push(Untrusted::new(format!("the server `{name}` of mcp.json, which works in {dirs}")));
        }
    }
    if let Some(project) = trust::project_here()? {
        for (worker, given) in project.workers()? {
            all.extend(given.endow.iter().filter_map(|endowment| of_project(&worker, endowment)));
        }
    }
    if let Some(mut client) = Client::connect_if_running(acting.place)?
        && let Response::Policy(report) = client.ask(Request::Policy)?
    {
        all.extend(report.unbound);
    }
    Ok(all)
}

/// Returns the slot of a project's worker that a program or a tool server fills.
fn of_project(worker: &str, endowment: &Endowment) -> Option<Untrusted> {
    let what = match &endowment.fill {
        ResourceSpec::Program(program) if !program.directories.is_empty() => {
            let paths: Vec<&str> = program.directories.iter().map(|(path, _)| path.as_str()).collect();
            format!("a program in {}", paths.join(", "))
        }
        ResourceSpec::Mcp(server) => format!("the server {}", server.server),
        _ => return None,
    };
    let slot = &endowment.slot;
    Some(Untrusted::new(format!("`{slot}` of the worker `{worker}` in {}: {what}", trust::NAME)))
}

fn list(policies: &[PolicyRow], examples: usize) -> String {
    let mut text = String::new();
    for policy in policies {
        let reason =
            policy.reason.as_ref().map(|reason| reason.visible_line().into_owned()).unwrap_or_default();
        text += format!("  {:<8} {:<24} {reason}", policy.verb(), policy.name).trim_end();
        text.push('\n');
    }
    text + &format!("{} as they must be\n", policy_file::counted(policies.len(), examples))
}

fn load(source: &PolicySource, whose: PolicyOwner) -> Result<Policies, Failure> {
    match policy_file::load(&source.path, whose) {
        Ok(Some((policies, _))) => Ok(policies),
        Ok(None) => {
            let shown = output::path(&source.path);
            let help = match source.is_named {
                true => "name a file that is there; without a name, the file in force is read",
                false => "without one, the built-in rules hold: see `docs/policy.md`",
            };
            Err(Failure::new(Exit::NotFound, format!("there is no file {shown}")).help(help))
        }
        Err(problems) => {
            problems.iter().for_each(|problem| output::failure(&problem_failure(problem)));
            Err(Failure::silent(Exit::Invalid))
        }
    }
}

fn problem_failure(problem: &Problem) -> Failure {
    let help = problem.help.as_deref().unwrap_or("docs/policy.md has the words of policies and examples");
    Failure::new(Exit::Invalid, format!("cannot follow {problem}")).help(help)
}

fn check(acting: &Session<'_>, source: &PolicySource, whose: PolicyOwner) -> ExitResult {
    let policies = load(source, whose)?;
    if whose == PolicyOwner::Machine && !source.is_named {
        // The owner and the mode of the file count too, and the rules beside it.
        managed::rules()?;
    }
    for warning in policies.warnings() {
        output::report(&format!("note: {warning}\n"));
    }
    let rows: Vec<_> = policies.policies().into_iter().map(row).collect();
    output::listing(&list(&rows, policies.examples()))?;
    if whose != PolicyOwner::Machine {
        match managed::current() {
            Ok(rules) => rules.policies().into_iter().for_each(|policies| {
                let count = policy_file::counted(policies.policies().len(), policies.examples());
                output::report(&format!(
                    "note: {ADMINISTRATOR} binds this machine too, in {}: {count}\n",
                    policies.file()
                ));
            }),
            Err(fault) => output::report(&format!("note: {}\n", visible_line(&fault.to_string()))),
        }
    }
    if rows.iter().any(|row| row.is_of_files) {
        output::report(&match unbound(acting) {
            Ok(unbound) => exceptions(&rows, &unbound),
            Err(failure) => {
                format!("note: the exceptions cannot be listed: {}\n", failure.message.visible_line())
            }
        });
    }
    Ok(Exit::Ok)
}

fn test(source: &PolicySource, words: &[String]) -> ExitResult {
    let vocabulary = policy_file::vocabulary()?;
    // The shell has removed the quotes, so a value that had quotes needs them again.
    let quoted = words.iter().map(|word| match word.split_once('=') {
        Some((key, value)) if value.contains(char::is_whitespace) || value.starts_with(['"', '\'']) => {
            let quote = if value.contains('"') { '\'' } else { '"' };
            format!("{key}={quote}{value}{quote}")
        }
        _ => word.clone(),
    });
    let call = Call::parse(&vocabulary, &quoted.collect::<Vec<_>>().join(" ")).map_err(|what| {
        Failure::new(Exit::Usage, what).help("`almoner policy show --schema` lists the words")
    })?;
    let said = load(source, PolicyOwner::Operator)?.try_out(&vocabulary, &call);
    let by: Vec<&str> = said.by.iter().map(String::as_str).collect();
    let mut text = match said.stance {
        Stance::Permits => format!("permitted by {}\n", by.join(", ")),
        Stance::Asks => format!("a person is asked, because of {}\n", by.join(", ")),
        Stance::Forbids if by.is_empty() => "refused\n".to_owned(),
        Stance::Forbids => format!("forbidden by {}\n", by.join(", ")),
        Stance::Silent => "no policy speaks of it: the built-in rules hold\n".to_owned(),
    };
    for (name, error) in &said.failed {
        text += &format!("  {name} fails: {}\n", visible_line(error));
    }
    output::listing(&text)?;
    Ok(Exit::Ok)
}
