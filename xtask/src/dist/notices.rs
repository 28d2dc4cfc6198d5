//! The licences of the packages in a binary, with their notices, as those who pass the binary on must keep them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::dependencies::Dependency;

/// How the names of files with such texts begin.
const NAMES: &[&str] = &["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Returns one text with the packages of others in the binary, and each licence text once.
///
/// # Errors
/// When the files of a package cannot be read.
pub(super) fn text(all: &[Dependency]) -> Result<String> {
    let mut text =
        "Packages of others in this program, each with its licence. Their texts follow.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for dependency in all.iter().filter(|dependency| dependency.is_linked && !dependency.is_ours) {
        let (name, version) = &dependency.id;
        let license = dependency.license.as_deref().unwrap_or("see its text below");
        writeln!(text, "{name} {version}: {license}")?;
        for found in texts_of(&dependency.folder)? {
            texts.entry(found).or_default().push(format!("{name} {version}"));
        }
    }
    for (found, packages) in texts {
        write!(text, "\n{}\n{}\n\n{}\n", "─".repeat(72), packages.join(", "), found.trim_end())?;
    }
    Ok(text)
}

/// Returns the texts in the folder of a package, by the names of their files.
fn texts_of(folder: &Path) -> Result<Vec<String>> {
    let mut texts = BTreeMap::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            let bytes =
                fs::read(entry.path()).with_context(|| format!("cannot read {}", entry.path().display()))?;
            texts.insert(name, String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
        }
    }
    Ok(texts.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::super::dependencies;
    use super::super::target::Target;
    use super::text;

    #[test]
    fn notices_hold_each_linked_package_of_others() {
        let target = Target::named("x86_64-unknown-linux-gnu").unwrap();
        let all = dependencies::read(&dependencies::clone(), target).unwrap();
        let text = text(&all).unwrap();
        for dependency in &all {
            let line = format!("\n{} {}: ", dependency.id.0, dependency.id.1);
            assert_eq!(text.contains(&line), dependency.is_linked && !dependency.is_ours, "{line}");
        }
        assert!(text.contains("THE SOFTWARE IS PROVIDED \"AS IS\""));
    }
}
