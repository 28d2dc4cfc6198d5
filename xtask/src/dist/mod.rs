//! `cargo xtask dist`: the artefacts of a release, for one target.
//!
//! Each artefact has a file here. [`binary`] builds, [`package`] gathers the files of an installation, [`trial`] tries
//! the artefacts, and [`second_build`] compares them with those of a second build.

mod archive;
mod binary;
mod checksums;
mod deb;
mod debian_root;
mod dependencies;
mod image;
mod linkage;
mod machine_paths;
mod notices;
mod package;
mod pages;
mod sbom;
mod second_build;
mod signature;
mod source;
mod target;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{CommandStatus, process, setup};

use archive::gzip;
use package::Parts;
use signature::SigningKey;
use source::Source;
use target::Target;

/// The request of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    target: Option<String>,
    out: Option<PathBuf>,
    sign_key: Option<PathBuf>,
    /// Whether each artefact is installed and run in the oldest Debian system.
    has_trial: bool,
    /// Whether a second build must give the same bytes.
    has_second_build: bool,
}

impl Request {
    /// Reads the command line, or says why it makes no sense.
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut request = Request::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().cloned().ok_or_else(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--target" => request.target = Some(value()?),
                "--out" => request.out = Some(PathBuf::from(value()?)),
                "--sign-key" => request.sign_key = Some(PathBuf::from(value()?)),
                "--try" => request.has_trial = true,
                "--verify-reproducible" => request.has_second_build = true,
                other => return Err(format!("`dist` takes no `{other}`")),
            }
        }
        Ok(request)
    }
}

/// The names of the artefacts of one version for one target.
struct Names {
    /// The name of the folder in the tarball.
    stem: String,
    tarball: String,
    deb: Option<String>,
    image: Option<String>,
    sbom: String,
}

impl Names {
    fn of(version: &str, target: &Target) -> Names {
        let stem = format!("almoner-{version}-{}", target.triple);
        Names {
            tarball: format!("{stem}.tar.gz"),
            deb: target.debian.map(|architecture| format!("almoner_{version}_{architecture}.deb")),
            image: target.debian.map(|_| format!("{stem}.oci.tar")),
            sbom: format!("{stem}.cdx.json"),
            stem,
        }
    }
}

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let request = match Request::parse(arguments) {
        Ok(request) => request,
        Err(why) => return Ok(CommandStatus::Usage(why)),
    };
    let workspace = Workspace::read()?;
    let release = Release::prepare(&workspace, &request)?;
    release.make()?;
    release.describe()?;
    if request.has_trial {
        for line in release.try_out()? {
            println!("{line}");
        }
    }
    if request.has_second_build {
        let differences = release.build_again()?;
        for line in &differences {
            println!("differs      {line}");
        }
        if !differences.is_empty() {
            return Ok(CommandStatus::Failure);
        }
        println!("reproduced   a second build in another folder gave the same bytes");
    }
    Ok(CommandStatus::Success)
}

/// Makes a release for this machine, tries each artefact, and returns a line for each.
///
/// # Errors
/// When an artefact cannot be made, or does not work.
pub(crate) fn try_release(workspace: &Workspace) -> Result<Vec<String>> {
    let release = Release::prepare(workspace, &Request { has_trial: true, ..Request::default() })?;
    release.make()?;
    release.try_out()
}

/// Makes a release for this machine, builds it again in another folder, and returns a line for each difference.
///
/// # Errors
/// When one of them cannot be made.
pub(crate) fn reproduce_release(workspace: &Workspace) -> Result<Vec<String>> {
    let release = Release::prepare(workspace, &Request { has_second_build: true, ..Request::default() })?;
    release.make()?;
    release.build_again()
}

/// One release: its source, its target, and the folders in which it is made.
struct Release {
    source: Source,
    target: &'static Target,
    version: String,
    names: Names,
    /// Where cargo builds.
    target_dir: PathBuf,
    /// Where the artefacts go.
    out: PathBuf,
    /// Where parts of them are made.
    scratch: PathBuf,
    tools: PathBuf,
    sign_key: SigningKey,
}

impl Release {
    fn prepare(workspace: &Workspace, request: &Request) -> Result<Release> {
        let host = target::host()?;
        let target = Target::named(request.target.as_deref().unwrap_or(&host))?;
        if request.has_trial && target.triple != host {
            bail!("cannot try a release for {}: this machine is {host}", target.triple);
        }
        if request.has_trial && !setup::is_root() {
            bail!(
                "cannot try a release: only root makes a Debian system; run `sudo -E cargo xtask dist --try`"
            );
        }
        setup::dist_tools(workspace, target.triple, request.has_trial)?;
        let version = workspace.crates.iter().find(|each| each.name == "almoner");
        let version = version.context("the workspace has no crate `almoner`")?.version.clone();
        let sign_key = match &request.sign_key {
            Some(key) => SigningKey::Own(
                fs::canonicalize(key).with_context(|| format!("cannot find the key {}", key.display()))?,
            ),
            None => SigningKey::Made,
        };
        Ok(Release {
            source: Source::read(&workspace.root)?,
            target,
            names: Names::of(&version, target),
            version,
            target_dir: workspace.target.clone(),
            out: request.out.clone().unwrap_or_else(|| workspace.target.join("dist").join(target.triple)),
            scratch: workspace.target.join("dist-scratch").join(target.triple),
            tools: setup::tools_folder(&workspace.target),
            sign_key,
        })
    }

    /// Builds the binary and makes all artefacts.
    fn make(&self) -> Result<()> {
        for folder in [&self.out, &self.scratch] {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let binary = binary::build(&self.source, self.target, &self.target_dir, &self.tools)?;
        let printer = self.page_printer(&binary)?;
        let dependencies = dependencies::read(&self.source, self.target)?;
        let license = fs::read_to_string(self.source.root.join("LICENSE")).context("cannot read LICENSE")?;
        let parts = Parts {
            binary: fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?,
            pages: pages::print(&printer, &self.scratch)?,
            notices: notices::text(&dependencies)?,
            documents: package::documents(&self.source)?,
        };
        self.clear()?;
        let tree = parts.portable(&license).below(&self.names.stem);
        self.write(&self.names.tarball, &gzip(&tree.tar(self.source.epoch)?)?)?;
        self.write(&self.names.sbom, &sbom::document(&self.source, self.target, &dependencies)?)?;
        for (name, page) in &parts.pages.manual {
            self.write(&format!("man/{name}"), page)?;
        }
        for (shell, script) in &parts.pages.completions {
            self.write(&format!("completions/{}", shell.file), script)?;
        }
        if let Some(name) = &self.names.deb {
            let file = self.out.join(name);
            deb::build(&self.source, self.target, &self.version, &parts, &self.scratch, &file)?;
        }
        if let Some(name) = &self.names.image {
            let image =
                image::build(&self.source, self.target, &self.version, &parts, &license, &self.scratch)?;
            self.write(name, &image)?;
        }
        let sums = checksums::text(&self.out, &second_build::listed(&self.out)?)?;
        self.write(checksums::FILE, sums.as_bytes())?;
        signature::sign(&self.out, &self.sign_key)
    }

    /// Returns a program of this source that runs here. It prints the pages of the release.
    fn page_printer(&self, binary: &Path) -> Result<PathBuf> {
        if self.target.triple == target::host()? {
            return Ok(binary.to_owned());
        }
        let arguments = ["build", "--package", "almoner", "--no-default-features"];
        let mut command = process::cargo(&self.source.root, &arguments);
        command.env("CARGO_TARGET_DIR", &self.target_dir);
        if !process::run(&mut command)? {
            bail!("cannot print the pages: almoner did not build for this machine");
        }
        Ok(self.target_dir.join("debug/almoner"))
    }

    /// Removes the artefacts of an earlier build, and no other file.
    fn clear(&self) -> Result<()> {
        let ours = |name: &str| {
            name.starts_with("almoner")
                || name.starts_with("man/")
                || name.starts_with("completions/")
                || name.starts_with(checksums::FILE)
                || name == signature::SIGNERS
        };
        for name in second_build::names(&self.out)?.iter().filter(|name| ours(name)) {
            let file = self.out.join(name);
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
        if let Some(other) = second_build::names(&self.out)?.first() {
            bail!("cannot write into {}: it holds {other}, which is no artefact", self.out.display());
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let file = self.out.join(name);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Prints the artefacts, and the way to check them.
    fn describe(&self) -> Result<()> {
        println!("\nalmoner {} (commit {}, {})", self.version, self.source.commit, self.target.triple);
        println!("in {}:", self.out.display());
        for name in second_build::names(&self.out)? {
            let bytes = fs::metadata(self.out.join(&name))?.len();
            if !name.contains('/') {
                println!("  {:>9} KiB  {name}", bytes.div_ceil(1024));
            }
        }
        println!("  with the folders man and completions");
        println!("check them there: {}", signature::shown_check());
        if matches!(self.sign_key, SigningKey::Made) {
            println!(
                "The signature is by a key that was made for this build and thrown away. It shows that the files \
                 belong together, and nothing about who built them. `--sign-key FILE` signs with yours."
            );
        }
        Ok(())
    }

    fn try_out(&self) -> Result<Vec<String>> {
        trial::run(&self.source, self.target, &self.names, &self.out, &self.scratch, &self.tools)
    }

    /// Makes the release again from a copy of the source, in folders with other names, and compares the artefacts.
    fn build_again(&self) -> Result<Vec<String>> {
        let folder = self.target_dir.join("dist-again");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        let second = Release {
            source: self.source.copy_to(&folder.join("a-copy-of-the-clone"))?,
            target: self.target,
            version: self.version.clone(),
            names: Names::of(&self.version, self.target),
            target_dir: folder.join("build"),
            out: folder.join("out"),
            scratch: folder.join("scratch"),
            tools: self.tools.clone(),
            sign_key: SigningKey::Made,
        };
        second.make()?;
        let differences = second_build::differences(&self.out, &second.out)?;
        if differences.is_empty() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        Ok(differences)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Names, Request, Target};

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_line_becomes_a_request() {
        assert_eq!(parse(""), Ok(Request::default()));
        let request = parse("--target aarch64-unknown-linux-gnu --out here --sign-key key --try").unwrap();
        assert_eq!(request.target.as_deref(), Some("aarch64-unknown-linux-gnu"));
        assert_eq!(
            (request.out, request.sign_key),
            (Some(PathBuf::from("here")), Some(PathBuf::from("key")))
        );
        assert!(request.has_trial && !request.has_second_build);
        for line in ["--out", "--fast", "here"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn artefacts_are_named_by_version_and_target() {
        let linux = Names::of("1.2.3", Target::named("x86_64-unknown-linux-gnu").unwrap());
        assert_eq!(linux.tarball, "almoner-1.2.3-x86_64-unknown-linux-gnu.tar.gz");
        assert_eq!(linux.deb.as_deref(), Some("almoner_1.2.3_amd64.deb"));
        assert_eq!(linux.image.as_deref(), Some("almoner-1.2.3-x86_64-unknown-linux-gnu.oci.tar"));
        let mac = Names::of("1.2.3", Target::named("aarch64-apple-darwin").unwrap());
        assert!(mac.deb.is_none() && mac.image.is_none());
    }
}
