//! Almoner: a daemon in which LLM agents work with exactly the authority that their user has handed them.
//!
//! This crate is the command line, the daemon, and the process that holds a local model. Both ends of
//! `control.sock` are here: `commands` are its clients, `daemon` owns the store. The binary only calls [`main`]. The
//! code is a library so that its tests are linked once, and without the binary.
#![forbid(unsafe_code)]
#![allow(unreachable_pub, reason = "no module is public, and `pub` says what it offers to the others")]
#![allow(
    clippy::disallowed_methods,
    reason = "the program is where clocks, files, processes and the environment are"
)]

mod cli;
mod client;
mod commands;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Verb};
use commands::acting::Acting;
use config::place::Place;
use control::exit::{Ended, Exit};
use daemon::hosts::{self, Host};

/// Reads the command line, does what it says, and returns the exit code that says how it went.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output and is no failure; clap knows which is which. It quotes a wrong argument,
            // and that can be the name of a file that somebody else chose.
            if error.use_stderr() {
                commands::output::note(&error.render().to_string());
            } else {
                let _ = error.print();
            }
            return ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { Exit::Ok as u8 });
        }
    };
    let exit = match run(&cli) {
        Ok(exit) => exit,
        Err(failure) => {
            if !failure.silent {
                commands::output::failure(&failure);
            }
            failure.exit
        }
    };
    ExitCode::from(exit as u8)
}

fn run(cli: &Cli) -> Ended {
    match &cli.verb {
        Verb::ModelHost { weights } => return hosts::main(Host::Model(weights)),
        Verb::VatHost => return hosts::main(Host::Vat),
        Verb::CodeReader => return hosts::main(Host::CodeReader),
        Verb::GitHost => return hosts::main(Host::Git),
        Verb::Sandbox { words } => return hosts::main(Host::Sandbox(words)),
        _ => {}
    }
    let place = Place::from_env()?;
    let acting = Acting::new(&place, cli.agent.as_deref());
    // These commands concern this machine or the whole store, so they act for the user alone.
    if matches!(
        cli.verb,
        Verb::Models(_)
            | Verb::Check(_)
            | Verb::New(_)
            | Verb::Test(_)
            | Verb::Import(_)
            | Verb::Schema(_)
            | Verb::Trust(_)
            | Verb::Gc(_)
            | Verb::Logs(_)
            | Verb::Setup(_)
            | Verb::Pattern(_)
            | Verb::Policy(_)
            | Verb::Mcp(_)
            | Verb::Demo(_)
            | Verb::Doctor(_)
            | Verb::Open(_)
            | Verb::Sessions(_)
            | Verb::Daemon(_)
            | Verb::Backup(_)
            | Verb::Stop
            | Verb::Secret(_)
            | Verb::Unlock
    ) {
        acting.only_host("this command")?;
    }
    commands::waiting::tell(&place, &cli.verb);
    match &cli.verb {
        Verb::Agents(verb) => commands::agents::run(&acting, verb),
        Verb::Run(args) => commands::run::run(&acting, args),
        Verb::Ask(args) => commands::ask::ask(&acting, args),
        Verb::Chat(args) => commands::chat::chat(&acting, args),
        Verb::Test(args) => commands::cases::test(&place, args),
        Verb::Save(args) => commands::save::save(&acting, args),
        Verb::Inbox(args) => commands::inbox::inbox(&acting, args),
        Verb::Approve(args) => commands::answer::approve(&acting, args),
        Verb::Deny(args) => commands::answer::deny(&acting, args),
        Verb::Happened(args) => commands::answer::happened(&acting, args),
        Verb::Runs(args) => commands::runs::runs(&acting, args),
        Verb::Trace(args) => commands::trace::trace(&acting, args),
        Verb::Why(args) => commands::why::why(&acting, args),
        Verb::Diff(args) => commands::stage::diff(&acting, args),
        Verb::Apply(args) => commands::stage::apply(&acting, args),
        Verb::Discard(args) => commands::stage::discard(&acting, args),
        Verb::Undo(args) => commands::undo::undo(&acting, args),
        Verb::Resume(args) => commands::resume::resume(&acting, args),
        Verb::Stats(args) => commands::stats::stats(&acting, args),
        Verb::Models(args) => commands::models::models(&place, args),
        Verb::Check(args) => commands::check::check(args),
        Verb::New(args) => commands::worker_file::new(args),
        Verb::Import(args) => commands::worker_file::import(args),
        Verb::Schema(args) => commands::worker_file::schema(args),
        Verb::Export(args) => commands::export::export(&acting, args),
        Verb::Forget(args) => commands::forget::forget(&acting, args),
        Verb::Gc(args) => commands::forget::gc(&acting, *args),
        Verb::Logs(args) => commands::logs::logs(&place, args),
        Verb::Setup(args) => commands::setup::setup(&place, args),
        Verb::Trust(args) => commands::trust::trust(&place, args),
        Verb::Policy(args) => commands::policy::policy(&acting, args),
        Verb::Mcp(args) => commands::mcp::mcp(&acting, args),
        Verb::Pattern(args) => commands::check::pattern(&args.verb),
        Verb::Demo(args) => commands::demo::demo(&place, args),
        Verb::Doctor(args) => commands::doctor::doctor(&place, args),
        Verb::Open(args) => commands::open::open(&place, args),
        Verb::Sessions(args) => commands::sessions::sessions(&acting, args),
        Verb::Status(args) => commands::daemon::status(&acting, *args),
        Verb::Daemon(args) => commands::daemon::daemon(&place, args),
        Verb::Audit(args) => commands::audit::audit(&acting, args),
        Verb::Backup(args) => commands::backup::backup(&place, args),
        Verb::Gateway(args) => commands::gateway::gateway(&acting, *args),
        Verb::Stop => commands::daemon::stop(&place),
        Verb::ModelHost { .. } | Verb::VatHost | Verb::CodeReader | Verb::GitHost | Verb::Sandbox { .. } => {
            Ok(Exit::Ok)
        }
        Verb::Secret(args) => commands::secret::secret(&place, args),
        Verb::Unlock => commands::secret::unlock(&place),
    }
}
