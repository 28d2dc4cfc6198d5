//! Proves the sandbox on this kernel: `cargo run -p sandbox --example prove`. With `run PROGRAM ARG…`, runs a program.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example is a program"
)]

use std::process::ExitCode;

use sandbox::{Confinement, Helper, Limits, Spec};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["sandbox"] => sandbox::warden().map_err(|e| e.to_string()),
        ["sandbox", "try", name, rest @ ..] => {
            let rest: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
            sandbox::attempt(name, &rest).map(|happened| println!("{happened}"))
        }
        ["run", program, rest @ ..] => run(program, rest),
        _ => prove(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn prove() -> Result<(), String> {
    let place = std::env::temp_dir().join(format!("almoner-prove-{}", std::process::id()));
    std::fs::create_dir(&place).map_err(|e| e.to_string())?;
    let proofs = sandbox::prove(&Helper::own(), &place);
    std::fs::remove_dir_all(&place).map_err(|e| e.to_string())?;
    for proof in proofs.map_err(|e| e.to_string())? {
        println!("{:12} {}: {:?}", proof.name, proof.action, proof.outcome);
    }
    Ok(())
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let here = std::env::current_dir().map_err(|e| e.to_string())?;
    let real = std::fs::canonicalize(program).map_err(|e| e.to_string())?;
    let spec = Spec {
        program: real,
        digest: None,
        interpreters: Default::default(),
        argv: std::iter::once(program).chain(arguments.iter().copied()).map(str::to_owned).collect(),
        directory: here.clone(),
        environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        within: Confinement {
            readable: sandbox::places_of_the_system(false),
            writable: vec![here],
            executable: sandbox::programs_of_the_system(),
            network: false,
            pretends: true,
            limits: Limits::default(),
        },
    };
    let report = sandbox::run(&Helper::own(), &spec, b"").map_err(|e| e.to_string())?;
    print!("{}", String::from_utf8_lossy(&report.stdout.bytes));
    eprint!("{}", String::from_utf8_lossy(&report.stderr.bytes));
    println!("{}", report.end.description());
    Ok(())
}
