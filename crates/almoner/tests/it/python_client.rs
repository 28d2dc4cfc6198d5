//! The Python client against a daemon: its own suite, and its generated part.

use std::path::{Path, PathBuf};
use std::process::Command;

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python")
}

/// Runs Python in the folder of the client.
#[track_caller]
fn python(args: &[&str]) {
    let output = Command::new("python3")
        .args(args)
        .current_dir(client())
        .env("ALMONER", env!("CARGO_BIN_EXE_almoner"))
        .env("ALMONER_KEYRING", "none")
        .env("OLLAMA_HOST", "127.0.0.1:9")
        .env("PYTHONPATH", client().join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap_or_else(|e| panic!("cannot run python3: {e}: `apt-get install python3` installs it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "python3 {args:?}:\n{said}");
}

#[test]
fn python_client_suite_passes_against_the_daemon() {
    python(&["-W", "error", "-m", "unittest", "discover", "-s", "tests", "-v"]);
}

/// With `ALMONER_WRITE_SCHEMA`, writes the generated module instead of comparing it.
#[test]
fn python_client_equals_published_schema() {
    match std::env::var_os("ALMONER_WRITE_SCHEMA") {
        Some(_) => python(&["generate.py"]),
        None => python(&["generate.py", "--check"]),
    }
}

/// Checks that the client sends the same variables of models as the command line.
#[test]
fn python_client_knows_the_variables_of_models() {
    let mut names: Vec<&str> = config::vendor_keys::variables().collect();
    names.sort_unstable();
    names.dedup();
    let expected = format!("{:?}", names).replace('"', "'");
    python(&[
        "-c",
        &format!(
            "from almoner.client import KEY_VARIABLES as found; assert sorted(found) == {expected}, {expected}"
        ),
    ]);
}
