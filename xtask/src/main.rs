//! The project's own commands, run as `cargo xtask NAME`.
//!
//! Each one does all of its own set-up, prints its steps, and ends with an honest exit code: 0 done, 1 something
//! failed, 2 the command line was wrong. Nothing here is linked into `almoner`.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool: it starts compilers, reads the tree and talks to the terminal"
)]

mod bench;
mod demo;
mod deny;
mod dist;
mod examples;
mod fixture_home;
mod fuzz;
mod mutants;
mod process;
mod schema;
mod setup;
mod test;
mod test262;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  test [--quick]       the check for every landing: format, tidy, tools, licences, build and lints, tests, simulation,
                       doc tests, benches build, scripted demo (--quick leaves out tools, licences, benches and demo)
  test --changed [BASE]
                       the same for the crates that differ from BASE, and the crates above them (BASE: where the branch
                       left main); installs nothing
  test --deep [--shard N/M]
                       what takes too long for every landing: the local model, full kill sweeps, 10,000 seeds, timed
                       fuzzing, test262, a release and its second build; or the Nth of M parts of it
  test --mutants [CRATE]
                       the same as `mutants`
  tools                install what the tests need beside Rust (also part of `test`)
  fuzz [SECONDS] [TARGET]
                       every fuzz target for so long, two at a time (12 unless said), or those named like TARGET
  demo [ARGS…]         build almoner for release and run `almoner demo ARGS…`
  tidy                 the rules that the compiler does not know (also part of `cargo test -p xtask`)
  bench WHAT [N]       one table of measurements; WHAT is run, kernel, captp, gates, release, or the name of a crate
                       that has benches
  examples MODEL [FOLDER…]
                       the facts of the examples with a real model, as one table; `local` takes some minutes each
  fixture-home [--binary PATH]
                       a small home as this build writes it, for the test that opens the homes of earlier releases
  mutants [CRATE]      change the code that decides in one place at a time, and see whether a test notices: takes an
                       hour or two, needs cargo-mutants
  test262 [PART]       the language part of the standard's own tests in vats, or those whose paths have PART
  schema               write the schema of the control protocol from the types, and the Python client from the schema
  deny                 licences, advisories and sources (also part of `test`)
  dist [--target T] [--out DIR] [--sign-key FILE] [--try] [--verify-reproducible]
                       the artefacts of a release: tarball, Debian package, image, pages, bill of materials, signed
                       digests (--try installs and runs them in an old Debian; --verify-reproducible builds twice)
";

/// The result of a finished command, for the exit code.
enum CommandStatus {
    /// All of it holds.
    Success,
    /// It ran and found something wrong, which it has printed.
    Failure,
    /// The command line made no sense; the text says why.
    Usage(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(CommandStatus::Success) => ExitCode::SUCCESS,
        Ok(CommandStatus::Failure) => ExitCode::from(1),
        Ok(CommandStatus::Usage(why)) => {
            eprintln!("xtask: {why}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(fault) => {
            eprintln!("xtask: {fault:#}");
            ExitCode::from(1)
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<CommandStatus> {
    let (command, rest) = match arguments.split_first() {
        None => return Ok(CommandStatus::Usage("no command given".to_owned())),
        Some((command, rest)) => (command.as_str(), rest),
    };
    match command {
        "test" => test::main(rest),
        "demo" => demo::main(rest),
        "tools" => setup::main(rest),
        "fuzz" => fuzz::main(rest),
        "tidy" => tidy::main(rest),
        "bench" => bench::main(rest),
        "examples" => examples::main(rest),
        "fixture-home" => fixture_home::main(rest),
        "mutants" => mutants::main(rest),
        "deny" => deny::main(rest),
        "dist" => dist::main(rest),
        "schema" => schema::main(rest),
        "test262" => test262::main(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(CommandStatus::Success)
        }
        other => Ok(CommandStatus::Usage(format!("there is no command `{other}`"))),
    }
}
