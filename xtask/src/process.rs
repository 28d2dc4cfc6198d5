//! Starting other programs: with the terminal, or with their output both shown and kept.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

/// The variables that cargo sets for a program that it runs. They must not reach a cargo started by that program:
/// build scripts watch some of these, and would run again for nothing.
const INHERITED: &[&str] =
    &["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_CRATE_NAME", "CARGO_BIN_NAME"];

/// Returns the cargo that runs us, with `arguments`, in `root`.
pub(crate) fn cargo<S: AsRef<OsStr>>(root: &Path, arguments: &[S]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || INHERITED.contains(&text.as_ref()) {
            command.env_remove(&name);
        }
    }
    command
}

/// Returns the command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| {
        let text = argument.to_string_lossy();
        if text.contains(' ') { format!("'{text}'") } else { text.into_owned() }
    }));
    words.join(" ")
}

/// Runs with our terminal and no input. `Ok(false)` when it ran and failed.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    Ok(status.success())
}

/// Runs a command silently and returns its standard output. If it fails, the error holds its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed ({}): {}", shown(command), output.status, said.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed no UTF-8", shown(command)))
}

/// Runs with both outputs shown as they come, and gives back whether it succeeded and all lines in the order in
/// which they were read.
pub(crate) fn tee(command: &mut Command) -> Result<(bool, Vec<String>)> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    let standard = child.stdout.take().context("no standard output")?;
    let diagnostic = child.stderr.take().context("no standard error")?;
    let reader = thread::spawn(move || pass_on(diagnostic, &mut std::io::stderr()));
    let mut lines = pass_on(standard, &mut std::io::stdout());
    lines.extend(reader.join().unwrap_or_default());
    Ok((child.wait()?.success(), lines))
}

/// Copies line by line and keeps each line. A reader that fails ends the copy: the exit code tells the rest.
fn pass_on(from: impl Read, to: &mut impl Write) -> Vec<String> {
    let mut lines = Vec::new();
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    while matches!(from.read_until(b'\n', &mut bytes), Ok(count) if count > 0) {
        // A closed terminal must not stop the tests half way.
        let _ = to.write_all(&bytes).and_then(|()| to.flush());
        lines.push(String::from_utf8_lossy(&bytes).trim_end().to_owned());
        bytes.clear();
    }
    lines
}

/// Returns whether the program can be started and says that all is well.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
