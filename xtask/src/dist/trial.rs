//! The trial of a release: each artefact is checked by programs of others, installed, run and removed, as a new user
//! would do it on the oldest system that can be made here.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::debian_root::{self, SystemRoot};
use super::source::Source;
use super::target::Target;
use super::{Names, signature};
use crate::process::output;
use crate::setup;

/// The line of the demo that says that no attack got through.
const DEMO_HELD: &str = "0 of 5 succeeded";

/// The script that checks a document against CycloneDX's own schema.
const CHECK_SBOM: &str = "\
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(fault) if fault else 0)
";

/// Tries the artefacts in a folder, below a scratch folder, and returns a line for each.
///
/// # Errors
/// When one of them does not work.
pub(super) fn run(
    source: &Source,
    target: &Target,
    names: &Names,
    artefacts: &Path,
    scratch: &Path,
    tools: &Path,
) -> Result<Vec<String>> {
    signature::check(artefacts)?;
    let python = setup::dist_python(tools);
    output(Command::new(python).args(["-c", CHECK_SBOM]).arg(artefacts.join(&names.sbom)))
        .context("the bill of materials does not match the schema of CycloneDX")?;
    let (system, release) = debian_root::oldest(scratch)?;
    let trial = Trial { source, target };
    let mut lines = vec![format!("system       Debian {release}")];
    lines.push(format!("tarball      {}", trial.tarball(&system, &artefacts.join(&names.tarball), names)?));
    if let Some(deb) = &names.deb {
        lines.push(format!("deb          {}", trial.deb(&system, &artefacts.join(deb))?));
    }
    if let Some(image) = &names.image {
        lines.push(format!("image        {}", trial.image(&artefacts.join(image), &scratch.join("image"))?));
    }
    Ok(lines)
}

/// The release that is tried.
struct Trial<'a> {
    source: &'a Source,
    target: &'a Target,
}

impl Trial<'_> {
    fn tarball(&self, system: &SystemRoot, file: &Path, names: &Names) -> Result<String> {
        let opt = system.folder.join("opt");
        let unpacked = opt.join(&names.stem);
        remove(&unpacked)?;
        output(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(&opt))?;
        let told = self.try_program(system, &format!("/opt/{}/bin/almoner", names.stem))?;
        remove(&unpacked)?;
        Ok(told)
    }

    fn deb(&self, system: &SystemRoot, file: &Path) -> Result<String> {
        let inside = system.folder.join("almoner.deb");
        fs::copy(file, &inside).with_context(|| format!("cannot copy {}", file.display()))?;
        system.run_as_root(&["dpkg", "--install", "/almoner.deb"])?;
        let told = self.try_program(system, "/usr/bin/almoner")?;
        let completion = "source /usr/share/bash-completion/completions/almoner && complete -p almoner";
        output(&mut system.command(&["bash", "-c", completion]))?;
        system.run_as_root(&["dpkg", "--purge", "almoner"])?;
        for left in ["usr/bin/almoner", "usr/share/doc/almoner", "usr/share/man/man1/almoner.1.gz"] {
            if system.folder.join(left).exists() {
                bail!("the package leaves {left} behind");
            }
        }
        remove(&inside)?;
        Ok(told)
    }

    /// Has skopeo copy the image, which checks every digest, and umoci unpack it.
    fn image(&self, file: &Path, scratch: &Path) -> Result<String> {
        remove(scratch)?;
        fs::create_dir_all(scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
        let layout = scratch.join("layout");
        let from = format!("oci-archive:{}", file.display());
        let to = format!("oci:{}:tried", layout.display());
        output(Command::new("skopeo").args(["copy", "--quiet", "--insecure-policy", &from, &to]))?;
        let inspected = output(Command::new("skopeo").args(["inspect", &to]))?;
        let inspected: serde_json::Value =
            serde_json::from_str(&inspected).context("skopeo printed no JSON")?;
        if inspected["Architecture"].as_str() != self.target.debian {
            bail!("skopeo reads the architecture {} in the image", inspected["Architecture"]);
        }
        let bundle = scratch.join("bundle");
        let image = format!("{}:tried", layout.display());
        output(Command::new("umoci").args(["unpack", "--image", &image]).arg(&bundle))?;
        let config = fs::read_to_string(bundle.join("config.json")).context("umoci wrote no config.json")?;
        let config: serde_json::Value = serde_json::from_str(&config).context("config.json is no JSON")?;
        let process = &config["process"];
        let user = process["user"]["uid"].as_u64().and_then(|user| u32::try_from(user).ok());
        let user = user.filter(|user| *user != 0).context("the image runs as root")?;
        let home = process["cwd"].as_str().context("the image has no working folder")?.to_owned();
        let program = process["args"][0].as_str().context("the image starts nothing")?.to_owned();
        let system = SystemRoot { folder: bundle.join("rootfs"), user, home };
        let told = self.try_program(&system, &program)?;
        remove(scratch)?;
        Ok(told)
    }

    /// Runs the program below a folder, and returns its words about the sandbox.
    fn try_program(&self, system: &SystemRoot, program: &str) -> Result<String> {
        let version = output(&mut system.command(&[program, "--version"]))?;
        for expected in [&self.source.commit, self.target.triple] {
            if !version.contains(expected) {
                bail!("`{program} --version` says `{}`, without {expected}", version.trim());
            }
        }
        let demo = system
            .command(&[program, "demo", "--hijacked"])
            .output()
            .with_context(|| format!("cannot start {program}"))?;
        // The demo tells a person its story on standard error.
        let story = String::from_utf8_lossy(&demo.stderr);
        if !demo.status.success() || !story.contains(DEMO_HELD) {
            bail!("`{program} demo --hijacked` does not end with `{DEMO_HELD}`:\n{story}");
        }
        let examined = system
            .command(&[program, "doctor", "sandbox"])
            .output()
            .with_context(|| format!("cannot start {program}"))?;
        let report = String::from_utf8_lossy(&examined.stdout);
        // A sandbox that does not hold is a fact of the machine. A doctor that is silent about it is a fault of ours.
        match (examined.status.success(), report.contains('✗')) {
            (true, false) => Ok(format!("{}; demo held; sandbox holds", version.trim())),
            (_, true) => Ok(format!("{}; demo held; no sandbox here, as doctor says", version.trim())),
            (false, false) => {
                let said = String::from_utf8_lossy(&examined.stderr);
                bail!("`{program} doctor sandbox` failed without a reason:\n{report}{said}")
            }
        }
    }
}

fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.with_context(|| format!("cannot remove {}", path.display()))
}
