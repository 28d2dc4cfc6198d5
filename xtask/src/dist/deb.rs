//! The Debian package, which Debian's own `dpkg-deb` builds.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::archive::{FileTree, NodeKind, gzip};
use super::package::{DOC, Parts};
use super::source::{EPOCH, Source};
use super::target::Target;
use crate::process::output;

/// Builds the package of an architecture into a file.
///
/// # Errors
/// When the folder of its files cannot be made, or `dpkg-deb` refuses it.
pub(super) fn build(
    source: &Source,
    target: &Target,
    version: &str,
    parts: &Parts,
    scratch: &Path,
    file: &Path,
) -> Result<()> {
    let (Some(architecture), Some(glibc)) = (target.debian, target.glibc) else {
        bail!("cannot build a Debian package for {}", target.triple);
    };
    let mut tree = parts.debian()?;
    tree.add(&format!("{DOC}/copyright"), COPYRIGHT);
    tree.add(&format!("{DOC}/changelog.gz"), gzip(changelog(source, version)?.as_bytes())?);
    let tree = tree.below("usr");
    let folder = scratch.join("deb");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    lay_out(&tree, &folder)?;
    let control = folder.join("DEBIAN");
    make_folder(&control)?;
    let bytes: usize = tree.0.values().map(|node| size(&node.kind)).sum();
    let installed_kib = bytes.div_ceil(1024);
    write(
        &control.join("control"),
        control_file(version, architecture, glibc, installed_kib, &source.maintainer).as_bytes(),
        0o644,
    )?;
    let paths: Vec<&String> = tree.0.keys().collect();
    let sums = output(Command::new("md5sum").arg("--").args(paths).current_dir(&folder))?;
    write(&control.join("md5sums"), sums.as_bytes(), 0o644)?;
    // More threads would cut the data in other places on a machine with more cores.
    let options = ["--root-owner-group", "-Zxz", "--threads-max=1", "--build"];
    output(
        Command::new("dpkg-deb").args(options).arg(&folder).arg(file).env(EPOCH, source.epoch.to_string()),
    )?;
    Ok(())
}

fn size(kind: &NodeKind) -> usize {
    match kind {
        NodeKind::File(bytes) => bytes.len(),
        NodeKind::Directory | NodeKind::Link(_) => 0,
    }
}

/// Writes the files of a tree below a folder, with modes that do not depend on the user's mask.
fn lay_out(tree: &FileTree, folder: &Path) -> Result<()> {
    make_folder(folder)?;
    for (path, node) in &tree.0 {
        let file = folder.join(path);
        for parent in Path::new(path).ancestors().skip(1).collect::<Vec<_>>().iter().rev() {
            make_folder(&folder.join(parent))?;
        }
        match &node.kind {
            NodeKind::Directory => make_folder(&file)?,
            NodeKind::File(bytes) => write(&file, bytes, node.mode)?,
            NodeKind::Link(to) => std::os::unix::fs::symlink(to, &file)
                .with_context(|| format!("cannot link {}", file.display()))?,
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| File::open(folder)?.set_permissions(fs::Permissions::from_mode(0o755)))
        .with_context(|| format!("cannot make {}", folder.display()))
}

fn write(file: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let write = || {
        let mut opened = File::create(file)?;
        opened.write_all(bytes)?;
        opened.set_permissions(fs::Permissions::from_mode(mode))
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}

fn control_file(version: &str, architecture: &str, glibc: &str, kib: usize, maintainer: &str) -> String {
    format!(
        "Package: almoner\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {kib}\n\
         Depends: libc6 (>= {glibc})\n\
         Section: utils\n\
         Priority: optional\n\
         Description: runs language models with exactly the authority you hand them\n \
         Almoner is a daemon in which agents made of language models work. An agent\n \
         reaches nothing that its user did not bind. A call that changes something asks,\n \
         unless its user allowed it. A call that sends always asks.\n \
         .\n \
         Each step is durable before it is visible, so that a run goes on after a crash.\n"
    )
}

/// Returns the changes in Debian's form, which `apt changelog` shows.
fn changelog(source: &Source, version: &str) -> Result<String> {
    let seconds = i64::try_from(source.epoch).context("the time of the release is out of range")?;
    let time = jiff::Timestamp::from_second(seconds).context("the time of the release is out of range")?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S +0000").to_string();
    Ok(format!(
        "almoner ({version}) unstable; urgency=medium\n\n  \
         * Built from commit {}.\n  \
         * CHANGELOG.md beside this file has the changes.\n\n \
         -- {}  {time}\n",
        source.commit, source.maintainer
    ))
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Almoner
Comment: THIRD-PARTY.txt.gz beside this file has the licences of the packages in the program. NOTICE names the
 libraries in C.

Files: *
Copyright: 2026 the Almoner contributors
License: Apache-2.0
 On Debian systems, the text of the Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0.
";

#[cfg(test)]
mod tests {
    use super::super::dependencies;
    use super::{changelog, control_file};

    #[test]
    fn package_needs_the_oldest_glibc_alone() {
        let control = control_file("0.1.0", "amd64", "2.28", 1234, "A <a@example.org>");
        assert!(control.contains("\nDepends: libc6 (>= 2.28)\n"), "{control}");
        assert!(control.lines().all(|line| line.len() <= 80 && !line.trim().is_empty()), "{control}");
        assert!(control.contains("\n .\n Each step"), "{control}");
    }

    #[test]
    fn changelog_has_the_form_of_debian() {
        let text = changelog(&dependencies::clone(), "0.1.0").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "almoner (0.1.0) unstable; urgency=medium");
        assert_eq!(lines[5], " -- A Maintainer <a@example.org>  Sat, 29 Nov 2025 00:00:00 +0000");
    }
}
