//! Manual pages and shell completions, printed by the program itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::output;

/// A shell that gets completions.
pub(super) struct Shell {
    /// The name that `almoner completions` takes.
    name: &'static str,
    /// The file by itself.
    pub(super) file: &'static str,
    /// The place below a prefix where the shell looks, if it looks in one.
    pub(super) place: Option<&'static str>,
    /// The place in Debian, where it differs.
    pub(super) debian_place: Option<&'static str>,
}

const SHELLS: [Shell; 5] = [
    Shell {
        name: "bash",
        file: "almoner.bash",
        place: Some("share/bash-completion/completions/almoner"),
        debian_place: None,
    },
    Shell {
        name: "zsh",
        file: "_almoner",
        place: Some("share/zsh/site-functions/_almoner"),
        debian_place: Some("share/zsh/vendor-completions/_almoner"),
    },
    Shell {
        name: "fish",
        file: "almoner.fish",
        place: Some("share/fish/vendor_completions.d/almoner.fish"),
        debian_place: None,
    },
    Shell { name: "elvish", file: "almoner.elv", place: None, debian_place: None },
    Shell { name: "powershell", file: "_almoner.ps1", place: None, debian_place: None },
];

/// The pages and the completions of a program.
pub(super) struct Pages {
    /// The manual pages by the names of their files, `almoner.1` among them.
    pub(super) manual: BTreeMap<String, Vec<u8>>,
    pub(super) completions: Vec<(&'static Shell, Vec<u8>)>,
}

/// Has a program that runs on this machine print them.
///
/// # Errors
/// When the program fails, or prints no page.
pub(super) fn print(program: &Path, scratch: &Path) -> Result<Pages> {
    let folder = scratch.join("man");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    output(Command::new(program).args(["man", "--directory"]).arg(&folder))?;
    let mut manual = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        manual.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
    }
    anyhow::ensure!(manual.contains_key("almoner.1"), "`almoner man` wrote no almoner.1");
    let mut completions = Vec::new();
    for shell in &SHELLS {
        let script = output(Command::new(program).args(["completions", shell.name]))?;
        completions.push((shell, script.into_bytes()));
    }
    Ok(Pages { manual, completions })
}
