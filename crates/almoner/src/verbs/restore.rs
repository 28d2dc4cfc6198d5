//! `almoner restore`: a home is made of a backup, after one card.

use std::collections::BTreeMap;

use daemon::home_backup::{PlannedPath, Restore, RestorePlan, RestoreScope};
use passable::visible_line;
use resource::PathUse;

use crate::cli::life::{RestoreArgs, parse_move};
use crate::ui::output;
use crate::ui::prompt::{self, PromptInput};
use config::place::Place;
use control::exit::{Exit, ExitResult, Failure};

/// Runs `almoner restore`.
///
/// # Errors
/// When the home holds something, a daemon uses the store, the file is no whole backup, or no person is here to
/// confirm.
pub fn restore(place: &Place, args: &RestoreArgs) -> ExitResult {
    let moves = args.map.iter().map(|text| parse_move(text)).collect::<Result<Vec<_>, Failure>>()?;
    let scope = if args.store { RestoreScope::Store } else { RestoreScope::Home };
    let file = std::path::absolute(&args.file).unwrap_or_else(|_| args.file.clone());
    let restore = Restore::open(place, &file, scope)?;
    let plan = restore.plan(&moves)?;
    output::listing(&card(place, &restore, &plan, scope))?;
    // Without a person who reads the card, a directory that is mistyped would stay where it was.
    if args.yes
        && let Some(unused) = plan.unused.first()
    {
        return Err(unused_map(unused));
    }
    if !args.yes && !confirm()? {
        output::note("nothing was restored");
        return Ok(Exit::Denied);
    }
    let earlier = restore.commit(&plan)?;
    output::note(match scope {
        RestoreScope::Home => "restored; the next command starts the daemon there",
        RestoreScope::Store => "the store is restored; the rest of the home is as it was",
    });
    if let Some(earlier) = earlier {
        output::note(&format!("the earlier store is kept in {}", visible_line(&earlier.to_string_lossy())));
    }
    Ok(Exit::Ok)
}

/// Returns the failure for a directory of `--map` that nothing in the backup names.
fn unused_map(from: &str) -> Failure {
    let from = visible_line(from);
    Failure::new(
        Exit::Usage,
        format!("cannot restore with `--map {from}=…`: nothing in the backup names {from}"),
    )
    .help("correct OLD to a path that the card shows, or leave the option out")
}

fn confirm() -> Result<bool, Failure> {
    if !output::can_ask() {
        return Err(Failure::new(Exit::NeedsYou, "cannot restore: nobody is at a terminal to say yes")
            .help("look at the card, then add `--yes`"));
    }
    match prompt::line("make this home of the backup? [y/N] ", &[])? {
        PromptInput::Line(line) => Ok(["y", "yes"].contains(&line.to_lowercase().as_str())),
        PromptInput::End => Ok(false),
    }
}

/// Returns the card of a restore: the authority that comes with it, where each directory goes, what is missing, and
/// what stays closed.
fn card(place: &Place, restore: &Restore, plan: &RestorePlan, scope: RestoreScope) -> String {
    let header = restore.header();
    let mut text = format!(
        "── restore ── backup of {}, made by build {} ──\n\n",
        kernel::time::shown(header.made_ms),
        visible_line(&header.build)
    );
    let mut line = |words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    line("the home");
    line(&moved(&header.state, &place.state.to_string_lossy()));
    if scope == RestoreScope::Home {
        line(&moved(&header.config, &place.config.to_string_lossy()));
    } else if place.store().symlink_metadata().is_ok() {
        let present = place.store();
        line(&format!("  {}  is kept, under a name with the time", visible_line(&present.to_string_lossy())));
    }
    let authority = &plan.authority;
    for (title, lines) in [
        ("tool servers that it may start or ask", &authority.tool_servers),
        ("settings that start a program or choose a server", &authority.settings),
        ("policies", &authority.policies),
    ] {
        if !lines.is_empty() {
            line(&format!("\n{title}"));
        }
        lines.iter().for_each(|words| line(&format!("  {}", visible_line(words))));
    }
    for (title, purpose) in [
        ("directories that it works in", PathUse::Directory),
        ("programs that it starts", PathUse::Program),
        ("files that its programs read", PathUse::Read),
    ] {
        let paths: Vec<&PlannedPath> = plan.paths.iter().filter(|path| path.purpose == purpose).collect();
        if !paths.is_empty() {
            line(&format!("\n{title}"));
        }
        for path in paths {
            line(&moved(&path.from, &path.to));
            line(&format!("    {}", state_of(path)));
        }
    }
    if plan.stages > 0 {
        let copies = if plan.stages == 1 {
            "1 staged copy".to_owned()
        } else {
            format!("{} staged copies", plan.stages)
        };
        line(&format!("\n{copies}, inside of the home"));
    }
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for change in &plan.texts {
        let words = format!(
            "    line {}: {}\n      now: {}",
            change.line,
            visible_line(&change.before),
            visible_line(&change.after)
        );
        files.entry(&change.file).or_default().push(words);
    }
    if !files.is_empty() {
        line("\nlines of the configuration that name directories");
    }
    for (file, changes) in files {
        line(&format!("  {}", visible_line(file)));
        changes.iter().for_each(|change| line(change));
    }
    if !plan.trusted.is_empty() {
        line("\nfiles of projects that it trusts without asking");
    }
    plan.trusted.iter().for_each(|(from, to)| line(&moved(from, to)));
    line("\nas soon as its daemon starts");
    line(&format!("  waiting for you: {}", count(plan.waiting, "message")));
    if !plan.continuing.is_empty() {
        let runs: Vec<String> = plan.continuing.iter().map(ToString::to_string).collect();
        line(&format!("  these runs go on: {}", runs.join(", ")));
        line("  if the home of the backup is still in use, stop it first: both would go on");
    }
    let closed = closed(restore, plan, scope);
    if !closed.is_empty() {
        line("\nstays closed");
    }
    closed.iter().for_each(|words| line(&format!("  {words}")));
    line("\nnot in the backup");
    restore.left_out().iter().for_each(|words| line(&format!("  {}", visible_line(words))));
    for unused in &plan.unused {
        line(&format!("\n! nothing in the backup names {}", visible_line(unused)));
    }
    text
}

fn moved(from: &str, to: &str) -> String {
    let (from, to) = (visible_line(from), visible_line(to));
    if from == to { format!("  {from}") } else { format!("  {from}  →  {to}") }
}

fn state_of(path: &PlannedPath) -> String {
    let there = if path.is_there { "is there" } else { "is MISSING: calls are refused until it is there" };
    let slots: Vec<&str> = path.slots.iter().map(String::as_str).collect();
    match slots.is_empty() {
        true => format!("{there}; no grant in force leads to it"),
        false => format!("{there}; {}", slots.join(", ")),
    }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns the things that the restored home cannot use at once.
fn closed(restore: &Restore, plan: &RestorePlan, scope: RestoreScope) -> Vec<String> {
    let mut lines = Vec::new();
    if scope == RestoreScope::Home && restore.has_vault() && !restore.header().has_key {
        lines.push(
            "the vault: its key is not in this backup; put `vault.key` of the old home beside `vault.age`"
                .to_owned(),
        );
    }
    let missing = plan.paths.iter().filter(|path| !path.is_there && !path.slots.is_empty()).count();
    if missing > 0 {
        lines.push(format!("{}: see MISSING above, or `--map OLD=NEW`", count(missing, "path")));
    }
    lines
}
