//! Almoner: a daemon in which LLM agents work with exactly the authority that their user has handed them.
//!
//! This crate is the command line: a client of `control.sock`, and the program as which the daemon and its confined
//! processes start. The binary only calls [`main`]. The code is a library so that its tests are linked once, and without
//! the binary.
#![forbid(unsafe_code)]
#![allow(unreachable_pub, reason = "no module is public, and `pub` says what it offers to the others")]
#![allow(
    clippy::disallowed_methods,
    reason = "the program is where clocks, files, processes and the environment are"
)]

mod cli;
mod client;
mod follow;
mod session;
mod ui;
mod verbs;

use std::process::ExitCode;

use cli::{Cli, Scope, Verb};
use config::place::Place;
use control::exit::{Exit, ExitResult};
use daemon::processes::{self, ConfinedProcess};
use session::Session;

/// Reads the command line, runs the command, and returns its exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output and is no failure. An error goes to standard error as a note, because it
            // can quote a file name that somebody else chose.
            if error.use_stderr() {
                ui::output::note(&cli::usage_error::describe(&error));
            } else {
                let _ = error.print();
            }
            return ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { Exit::Ok as u8 });
        }
    };
    let ended = run(&cli);
    ui::output::tell_warning();
    let exit = match ended {
        Ok(exit) => exit,
        Err(failure) => {
            let is_damaged = client::is_store_damaged();
            let failure = if is_damaged { failure.in_damaged_store() } else { failure };
            if !failure.silent {
                ui::output::failure(&failure);
            }
            failure.exit
        }
    };
    ExitCode::from(exit as u8)
}

fn run(cli: &Cli) -> ExitResult {
    match &cli.verb {
        Verb::ModelHost { weights } => return processes::main(ConfinedProcess::Model(weights)),
        Verb::VatHost => return processes::main(ConfinedProcess::Vat),
        Verb::CodeReader => return processes::main(ConfinedProcess::CodeReader),
        Verb::DocumentReader(args) => {
            return processes::main(ConfinedProcess::DocumentReader(args.limits()));
        }
        // A package is built where nobody has a home.
        Verb::Completions(args) => return verbs::reference::completions(args),
        Verb::Man(args) => return verbs::reference::man(args),
        Verb::Help(_) => return verbs::reference::help(),
        Verb::GitHost => return processes::main(ConfinedProcess::Git),
        Verb::Sandbox { words } => return processes::main(ConfinedProcess::Sandbox(words)),
        _ => {}
    }
    let place = Place::from_env()?;
    // A restore that was killed in its last step is completed before anything reads the home.
    daemon::home_backup::finish(&place)?;
    let acting = Session::new(&place, cli.agent.as_deref());
    if cli.verb.scope() == Scope::User {
        acting.expect_host("this command")?;
    }
    ui::waiting_notice::print_notice(&place, &cli.verb);
    match &cli.verb {
        Verb::Agents(verb) => verbs::agents::run(&acting, verb),
        Verb::Run(args) => verbs::run::run(&acting, args),
        Verb::Ask(args) => verbs::ask::ask(&acting, args),
        Verb::Chat(args) => verbs::chat::chat(&acting, args),
        Verb::Test(args) => verbs::cases::test(&place, args),
        Verb::Save(args) => verbs::save::save(&acting, args),
        Verb::Inbox(args) => verbs::inbox::inbox(&acting, args),
        Verb::Approve(args) => verbs::answer::approve(&acting, args),
        Verb::Deny(args) => verbs::answer::deny(&acting, args),
        Verb::Outcome(args) => verbs::answer::confirm_outcome(&acting, args),
        Verb::Runs(args) => verbs::runs::runs(&acting, args),
        Verb::Trace(args) => verbs::trace::trace(&acting, args),
        Verb::Why(args) => verbs::why::why(&acting, args),
        Verb::Diff(args) => verbs::staged_changes::diff(&acting, args),
        Verb::Apply(args) => verbs::staged_changes::apply(&acting, args),
        Verb::Discard(args) => verbs::staged_changes::discard(&acting, args),
        Verb::Undo(args) => verbs::undo::undo(&acting, args),
        Verb::Wait(args) => verbs::wait::wait(&acting, args),
        Verb::Resume(args) => verbs::resume::resume(&acting, args),
        Verb::Stats(args) => verbs::stats::stats(&acting, args),
        Verb::Models(args) => verbs::models::models(&place, args),
        Verb::Check(args) => verbs::check::check(args),
        Verb::New(args) => verbs::worker_file::new(args),
        Verb::Import(args) => verbs::worker_file::import(args),
        Verb::Schema(args) => verbs::worker_file::schema(args),
        Verb::Export(args) => verbs::export::export(&acting, args),
        Verb::Forget(args) => verbs::forget::forget(&acting, args),
        Verb::Gc(args) => verbs::forget::gc(&acting, *args),
        Verb::Logs(args) => verbs::logs::logs(&place, args),
        Verb::Setup(args) => verbs::setup::setup(&place, args),
        Verb::Trust(args) => verbs::trust::trust(&place, args),
        Verb::Policy(args) => verbs::policy::policy(&acting, args),
        Verb::Mcp(args) => verbs::mcp::mcp(&acting, args),
        Verb::Pattern(args) => verbs::check::pattern(&args.verb),
        Verb::Demo(args) => verbs::demo::demo(&place, args),
        Verb::Doctor(args) => verbs::doctor::doctor(&place, args),
        Verb::Open(args) => verbs::open::open(&place, args),
        Verb::Sessions(args) => verbs::sessions::sessions(&acting, args),
        Verb::Status(args) => verbs::daemon::status(&acting, *args),
        Verb::Daemon(args) => verbs::daemon::daemon(&place, args),
        Verb::Audit(args) => verbs::audit::audit(&acting, args),
        Verb::Backup(args) => verbs::backup::backup(&place, args),
        Verb::Restore(args) => verbs::restore::restore(&place, args),
        Verb::Service(verb) => verbs::service::service(&place, verb),
        Verb::Gateway(args) => verbs::gateway::gateway(&acting, *args),
        Verb::Stop => verbs::daemon::stop(&place),
        Verb::Completions(_)
        | Verb::Man(_)
        | Verb::Help(_)
        | Verb::ModelHost { .. }
        | Verb::VatHost
        | Verb::CodeReader
        | Verb::DocumentReader(_)
        | Verb::GitHost
        | Verb::Sandbox { .. } => Ok(Exit::Ok),
        Verb::Secret(args) => verbs::secret::secret(&place, args),
        Verb::Unlock => verbs::secret::unlock(&place),
    }
}
