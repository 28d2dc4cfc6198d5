//! The installation of a server's package: once, at the versions and digests of a lock, after a yes.
//!
//! The registries' own tools do the work. No code of a package runs before the yes, and none runs during the
//! installation: npm runs no scripts, and pip takes no sources that it would have to build.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kernel::BlobHash;
use passable::visible_line;
use serde_json::{Map, Value as Json, json};

use super::package::{PackageSpec, Registry, USUAL_REGISTRIES, npm_parts};
use config::mcp_file::{InstalledPackage, Server};
use control::exit::{Exit, Failure};

/// The directory of npm's packages.
const NODE_MODULES: &str = "node_modules/";
/// The options of npm under which no code of a package runs, and nothing but errors is printed.
const NPM_OPTIONS: [&str; 5] =
    ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
/// The file with the versions and digests of everything that npm installs.
const NPM_LOCK: &str = "package-lock.json";
/// The same for pip.
const PIP_LOCK: &str = "requirements.lock";
/// The maximum number of characters of a tool's own words in an error.
const MAX_WORDS: usize = 400;

/// An installation that waits for a yes: everything is resolved, and nothing is fetched but the registry's lists.
#[derive(Debug)]
pub struct Installation {
    spec: PackageSpec,
    directory: PathBuf,
    version: String,
    /// The registry's own digest of the package.
    pub integrity: String,
    /// The digest of the lock.
    pub lock: BlobHash,
    /// The number of packages that come with it.
    pub others: usize,
    /// The other packages that are asked for, with their versions.
    extra: Vec<String>,
    /// The package that holds the program.
    holder: String,
    /// The packages whose scripts are not run.
    pub scripts: Vec<String>,
    /// Whether the directory stays.
    is_done: bool,
}

impl Drop for Installation {
    fn drop(&mut self) {
        if !self.is_done {
            // A directory that stays is in nobody's way: the next attempt removes it.
            let _left = std::fs::remove_dir_all(&self.directory);
        }
    }
}

impl Installation {
    /// Resolves a package and everything that it needs, in a new directory.
    ///
    /// # Errors
    /// When the registry does not have it, or the tool for it is missing.
    pub fn resolve(spec: &PackageSpec, directory: &Path) -> Result<Installation, Failure> {
        let fail = |error: std::io::Error| {
            Failure::new(
                Exit::Failure,
                format!("cannot install {}: {}: {error}", spec.name, directory.display()),
            )
            .help("nothing was installed")
        };
        if directory.exists() {
            std::fs::remove_dir_all(directory).map_err(fail)?;
        }
        std::fs::create_dir_all(directory).map_err(fail)?;
        let mut installation = Installation {
            spec: spec.clone(),
            directory: std::fs::canonicalize(directory).map_err(fail)?,
            version: String::new(),
            integrity: String::new(),
            lock: BlobHash::of(b""),
            others: 0,
            extra: vec![],
            holder: spec.name.clone(),
            scripts: vec![],
            is_done: false,
        };
        match spec.registry {
            Registry::Npm => installation.resolve_npm()?,
            Registry::Pypi => installation.resolve_pypi()?,
        }
        Ok(installation)
    }

    /// Describes the installation for the question.
    pub fn describe(&self) -> String {
        let others = match self.others {
            0 => String::new(),
            1 => ", with 1 other package".to_owned(),
            others => format!(", with {others} other packages"),
        };
        let mut text = format!(
            "{} {} from {}{others}\n  its digest: {}\n  the lock: {}\n  into {}\n",
            visible_line(&self.spec.name),
            visible_line(&self.version),
            self.spec.registry.as_str(),
            visible_line(&self.integrity),
            self.lock,
            self.directory.display()
        );
        if !self.extra.is_empty() {
            text += &format!("  it also asks for: {}\n", visible_line(&self.extra.join(", ")));
        }
        if let Some(program) = self.spec.program.as_ref().filter(|_| self.spec.registry == Registry::Npm) {
            let (program, holder) = (visible_line(program), visible_line(&self.holder));
            text += &format!("  it starts: {program}, a program of the package {holder}\n");
        } else if let Some(program) = &self.spec.program {
            text += &format!("  it starts: {}\n", visible_line(program));
        }
        if !self.scripts.is_empty() {
            let names = self.scripts.join(", ");
            text += &format!(
                "  not run: the installation scripts of {}; it may miss them\n",
                visible_line(&names)
            );
        }
        text
    }

    fn wrong(&self, what: impl std::fmt::Display, help: &str) -> Failure {
        let name = visible_line(&self.spec.name).into_owned();
        Failure::new(Exit::Failure, format!("cannot install {name}: {what}")).help(help.to_owned())
    }

    fn foreign_part(&self, part: &str, address: &str) -> Failure {
        let (part, address) = (visible_line(part), visible_line(address));
        let what = format!("{part} does not come from the registry, but from {address}");
        self.wrong(what, "install it yourself, then `almoner mcp add NAME -- PROGRAM ARGS…`")
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        std::fs::write(self.directory.join(name), text)
            .map_err(|error| self.wrong(format!("{name}: {error}"), "nothing was installed"))
    }

    fn read(&self, name: impl AsRef<Path>) -> Result<String, Failure> {
        let name = name.as_ref();
        std::fs::read_to_string(self.directory.join(name))
            .map_err(|error| self.wrong(format!("{}: {error}", name.display()), "nothing was installed"))
    }

    /// Runs a tool in the directory, and returns its output.
    fn run(&self, program: &Path, arguments: &[&str]) -> Result<String, Failure> {
        let shown = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                self.wrong(format!("{shown}: {error}"), "install npm, or Python with venv, then try again")
            })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let said = fault(&said);
        let help = match said.contains("No matching distribution") || said.contains("no-binary") {
            true => {
                "does it exist under this name? Packages that come as sources alone are not built here, because building runs \
                 their code: install it yourself, then `almoner mcp add NAME -- PROGRAM ARGS…`"
            }
            false => "nothing was installed; is the name right, and can the registry be reached?",
        };
        Err(self.wrong(format!("{shown} says: {}", visible_line(&said)), help))
    }

    fn tool(&self, name: &str, help: &str) -> Result<PathBuf, Failure> {
        let found = crate::cli::program_path(Path::new(""), name);
        found
            .map(PathBuf::from)
            .map_err(|_| self.wrong(format!("there is no `{name}` on this machine"), help))
    }

    fn resolve_npm(&mut self) -> Result<(), Failure> {
        let npm = self.tool("npm", "install Node.js with npm, then try again")?;
        let asked = self.spec.version.clone().unwrap_or_else(|| "latest".to_owned());
        let mut needs = Map::from_iter([(self.spec.name.clone(), Json::from(asked))]);
        for extra in &self.spec.extra {
            let (name, version) = npm_parts(extra);
            needs.insert(name.to_owned(), Json::from(version.unwrap_or("latest")));
        }
        self.write("package.json", &json!({ "private": true, "dependencies": needs }).to_string())?;
        // The lock must name where each part comes from, whatever the user's own settings leave out.
        let only_lock = ["install", "--package-lock-only", "--no-omit-lockfile-registry-resolved"];
        self.run(&npm, &[&only_lock[..], &NPM_OPTIONS].concat())?;
        let text = self.read(NPM_LOCK)?;
        let lock: Json = serde_json::from_str(&text).unwrap_or_default();
        let packages = lock["packages"].as_object().cloned().unwrap_or_default();
        let own = packages.get(&format!("{NODE_MODULES}{}", self.spec.name)).cloned().unwrap_or_default();
        let odd = packages.iter().find(|(place, part)| {
            !place.is_empty()
                && part["integrity"].as_str().is_none_or(|it| !it.starts_with("sha512-"))
                && part["inBundle"] != true
        });
        if let Some((place, _)) = odd {
            let what = format!("{} has no digest in the registry", visible_line(place));
            return Err(self.wrong(what, "a part without a digest is not installed"));
        }
        let settings = self.run(&npm, &["config", "list", "--json"])?;
        let settings: Json = serde_json::from_str(&settings).unwrap_or_default();
        if let Some((place, address)) = part_from_elsewhere(&packages, &registries(&settings)) {
            return Err(self.foreign_part(place, address));
        }
        let extra = self.spec.extra.iter().map(|extra| {
            let name = npm_parts(extra).0;
            let version =
                packages.get(&format!("{NODE_MODULES}{name}")).and_then(|part| part["version"].as_str());
            format!("{name} {}", version.unwrap_or("in no version"))
        });
        self.extra = extra.collect();
        self.holder = holder(&self.spec, &packages).to_owned();
        self.version = own["version"].as_str().unwrap_or_default().to_owned();
        self.integrity = own["integrity"].as_str().unwrap_or_default().to_owned();
        if self.version.is_empty() || self.integrity.is_empty() {
            return Err(self.wrong("npm's lock does not have it", "nothing was installed"));
        }
        self.others = packages.len().saturating_sub(2);
        let scripts = packages.iter().filter(|(_, part)| part["hasInstallScript"] == true);
        self.scripts =
            scripts.map(|(place, _)| place.rsplit(NODE_MODULES).next().unwrap_or(place).to_owned()).collect();
        self.lock = BlobHash::of(text.as_bytes());
        Ok(())
    }

    fn resolve_pypi(&mut self) -> Result<(), Failure> {
        let python = self.tool("python3", "install Python with venv and pip, then try again")?;
        let venv = self.directory.join("venv");
        self.run(&python, &["-m", "venv", &venv.to_string_lossy()])?;
        let python = venv.join("bin/python");
        let requirement = self.spec.requirement();
        let fixed = [
            "-m",
            "pip",
            "install",
            "--dry-run",
            "--ignore-installed",
            "--only-binary=:all:",
            "--quiet",
            "--report",
            "-",
            "--disable-pip-version-check",
            "--",
        ];
        let wanted = std::iter::once(requirement.as_str()).chain(self.spec.extra.iter().map(String::as_str));
        let arguments: Vec<&str> = fixed.into_iter().chain(wanted).collect();
        let report = self.run(&python, &arguments)?;
        let report: Json =
            report.find('{').and_then(|at| serde_json::from_str(&report[at..]).ok()).unwrap_or_default();
        let own = plain_name(&self.spec.name);
        let mut lines = Vec::new();
        for part in report["install"].as_array().into_iter().flatten() {
            let name = part["metadata"]["name"].as_str().unwrap_or_default();
            let version = part["metadata"]["version"].as_str().unwrap_or_default();
            let hashes = &part["download_info"]["archive_info"];
            let digest = hashes["hashes"]["sha256"].as_str().or(hashes["hash"].as_str()).unwrap_or_default();
            let digest = digest.trim_start_matches("sha256=");
            if part["is_direct"] == true {
                return Err(
                    self.foreign_part(name, part["download_info"]["url"].as_str().unwrap_or_default())
                );
            }
            if name.is_empty() || version.is_empty() || digest.len() != 64 {
                return Err(self.wrong(
                    format!("{} has no digest in the registry", visible_line(name)),
                    "a part without a digest is not installed",
                ));
            }
            if self.spec.extra.iter().any(|extra| plain_name(extra) == plain_name(name)) {
                self.extra.push(format!("{name} {version}"));
            }
            if plain_name(name) == own {
                self.version = version.to_owned();
                self.integrity = format!("sha256-{digest}");
            }
            lines.push(format!("{name}=={version} --hash=sha256:{digest}"));
        }
        if self.version.is_empty() {
            return Err(self.wrong("pip's report does not have it", "nothing was installed"));
        }
        lines.sort();
        self.others = lines.len() - 1;
        let text = lines.join("\n") + "\n";
        self.write(PIP_LOCK, &text)?;
        self.lock = BlobHash::of(text.as_bytes());
        Ok(())
    }

    /// Installs exactly what the lock says. Returns the server with its program.
    ///
    /// # Errors
    /// When a part cannot be fetched or has another digest, or when the package has no such program.
    pub fn install(mut self, server: Server) -> Result<Server, Failure> {
        let (command, script) = match self.spec.registry {
            Registry::Npm => {
                let npm = self.tool("npm", "install Node.js with npm, then try again")?;
                self.run(&npm, &[&["ci"][..], &NPM_OPTIONS].concat())?;
                self.npm_program()?
            }
            Registry::Pypi => {
                let python = self.directory.join("venv/bin/python");
                self.run(
                    &python,
                    &[
                        "-m",
                        "pip",
                        "install",
                        "--require-hashes",
                        "--no-deps",
                        "--only-binary=:all:",
                        "--quiet",
                        "--disable-pip-version-check",
                        "-r",
                        PIP_LOCK,
                    ],
                )?;
                (python, Some(self.pypi_program()?))
            }
        };
        let tree = caps::tree_digest(&self.directory)
            .ok_or_else(|| self.wrong("its files cannot be read, or are too many", "nothing was recorded"))?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // Python itself lies elsewhere, and so do its libraries.
        let mut reads = super::modules::modules(&command);
        reads.retain(|place| {
            self.spec.registry == Registry::Pypi && !Path::new(place).starts_with(&self.directory)
        });
        reads.push(text(&self.directory));
        let args = script.iter().map(|script| text(script)).chain(server.args.iter().cloned()).collect();
        let package = InstalledPackage {
            registry: self.spec.registry.as_str().to_owned(),
            name: self.spec.name.clone(),
            version: self.version.clone(),
            lock: self.lock.to_string(),
            directory: text(&self.directory),
            tree: tree.to_string(),
        };
        self.is_done = true;
        Ok(Server { command: Some(text(&command)), args, reads, package: Some(package), ..server })
    }

    /// Returns the program of a package of npm, and the script for it.
    fn npm_program(&self) -> Result<(PathBuf, Option<PathBuf>), Failure> {
        let home = Path::new(NODE_MODULES).join(&self.holder);
        let manifest: Json = serde_json::from_str(&self.read(home.join("package.json"))?).unwrap_or_default();
        let short = short_name(&self.holder);
        let wanted = self.spec.program.as_deref();
        let file = program_file(&self.holder, &manifest["bin"], wanted);
        let path = file.and_then(|file| std::fs::canonicalize(self.directory.join(&home).join(file)).ok());
        let Some(path) = path.filter(|path| path.starts_with(&self.directory)) else {
            let names =
                manifest["bin"].as_object().map(|all| all.keys().cloned().collect::<Vec<_>>().join(", "));
            let what = format!("the package has no program `{}`", visible_line(wanted.unwrap_or(short)));
            let help =
                names.filter(|names| !names.is_empty()).map_or("is it a server?".to_owned(), |names| {
                    format!("it has: {}; name one: `npx -p PACKAGE PROGRAM`", visible_line(&names))
                });
            return Err(self.wrong(what, &help));
        };
        let mut begin = [0; 128];
        let read = std::fs::File::open(&path).and_then(|mut file| std::io::Read::read(&mut file, &mut begin));
        let line = String::from_utf8_lossy(&begin[..read.unwrap_or(0)]).into_owned();
        let line = line.lines().next().unwrap_or_default();
        // A program that is none of Node's starts as it is.
        if line.starts_with("#!") && !line.contains("node") || line.starts_with("\u{7f}ELF") {
            return Ok((path, None));
        }
        let node = self.tool("node", "install Node.js, then try again")?;
        let node = std::fs::canonicalize(&node).unwrap_or(node);
        Ok((node, Some(path)))
    }

    /// Returns the script of a package of PyPI.
    fn pypi_program(&self) -> Result<PathBuf, Failure> {
        let bin = self.directory.join("venv/bin");
        let own = self.spec.name.split('[').next().unwrap_or(&self.spec.name);
        let wanted = self.spec.program.as_deref().unwrap_or(own);
        let is_plain = !wanted.contains('/') && !wanted.starts_with('.');
        let there = bin.join(wanted);
        if is_plain && there.is_file() {
            return Ok(there);
        }
        let scripts = self.console_scripts(own);
        match scripts.as_slice() {
            [only] if self.spec.program.is_none() && bin.join(only).is_file() => Ok(bin.join(only)),
            _ => {
                let what = format!("the package has no program `{}`", visible_line(wanted));
                let help = match scripts.is_empty() {
                    true => "is it a server?".to_owned(),
                    false => format!("it has: {}; name one: `uvx --from {own} PROGRAM`", scripts.join(", ")),
                };
                Err(self.wrong(what, &help))
            }
        }
    }

    /// Returns the names of the programs that a package of PyPI declares.
    fn console_scripts(&self, package: &str) -> Vec<String> {
        let found = || -> Option<Vec<String>> {
            let lib = std::fs::read_dir(self.directory.join("venv/lib")).ok()?.flatten().next()?;
            let parts = std::fs::read_dir(lib.path().join("site-packages")).ok()?;
            let own = plain_name(package);
            let info = parts.flatten().find(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                name.ends_with(".dist-info")
                    && name.split('-').next().is_some_and(|name| plain_name(name) == own)
            })?;
            let text = std::fs::read_to_string(info.path().join("entry_points.txt")).ok()?;
            let lines = text.lines().skip_while(|line| line.trim() != "[console_scripts]").skip(1);
            let lines = lines.take_while(|line| !line.starts_with('['));
            Some(lines.filter_map(|line| Some(line.split_once('=')?.0.trim().to_owned())).collect())
        };
        found().unwrap_or_default()
    }
}

/// Returns the name of a package of npm without its scope.
fn short_name(package: &str) -> &str {
    package.rsplit('/').next().unwrap_or(package)
}

/// Returns the file of a program in the `bin` of a package of npm.
fn program_file<'a>(package: &str, bin: &'a Json, wanted: Option<&str>) -> Option<&'a str> {
    let short = short_name(package);
    match bin {
        Json::String(file) if wanted.is_none_or(|wanted| wanted == short) => Some(file),
        Json::Object(programs) => {
            let one = || programs.values().next().filter(|_| programs.len() == 1 && wanted.is_none());
            programs.get(wanted.unwrap_or(short)).or_else(one).and_then(Json::as_str)
        }
        _ => None,
    }
}

/// Returns the package that holds the program, as with `npx -p`. It is the first that is asked for and has the program,
/// else another one of the lock.
fn holder<'a>(spec: &'a PackageSpec, packages: &'a Map<String, Json>) -> &'a str {
    let has = |name: &&str| {
        let part = packages.get(&format!("{NODE_MODULES}{name}"));
        part.is_some_and(|part| program_file(name, &part["bin"], spec.program.as_deref()).is_some())
    };
    let asked = std::iter::once(spec.name.as_str()).chain(spec.extra.iter().map(|extra| npm_parts(extra).0));
    let others = packages.keys().filter_map(|place| place.strip_prefix(NODE_MODULES));
    let others = others.filter(|name| spec.program.is_some() && !name.contains(NODE_MODULES));
    asked.chain(others).find(has).unwrap_or(&spec.name)
}

/// Returns the beginnings of the addresses from which npm may fetch: those of its registries, as the user has set them.
fn registries(settings: &Json) -> Vec<String> {
    let own = settings.as_object().into_iter().flatten();
    let own = own.filter(|(name, _)| *name == "registry" || name.ends_with(":registry"));
    let own = own.filter_map(|(_, value)| value.as_str());
    let hosts = own.chain(USUAL_REGISTRIES).filter_map(|address| {
        let (scheme, rest) = address.split_once("://")?;
        Some(format!("{scheme}://{}/", rest.split('/').next()?).to_ascii_lowercase())
    });
    hosts.collect()
}

/// Returns a part of npm's lock that comes from elsewhere than a registry, with its address.
fn part_from_elsewhere<'a>(
    packages: &'a Map<String, Json>,
    registries: &[String],
) -> Option<(&'a str, &'a str)> {
    packages.iter().filter(|(place, part)| !place.is_empty() && part["inBundle"] != true).find_map(
        |(place, part)| {
            let address = part["resolved"].as_str().unwrap_or("an address that the lock does not name");
            let is_known = registries.iter().any(|registry| {
                address.get(..registry.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(registry))
            });
            (!is_known || part["link"] == true).then_some((place.as_str(), address))
        },
    )
}

/// Returns a name of PyPI without its extras and its version, in the spelling in which names are compared.
fn plain_name(name: &str) -> String {
    name.split(['[', '@', '=', '<', '>', '~', '!', ' '])
        .next()
        .unwrap_or(name)
        .to_ascii_lowercase()
        .replace(['_', '.'], "-")
}

/// Returns the words of a tool that name the fault: the lines that speak of an error, or the last ones.
fn fault(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_fault = |line: &&&str| {
        let line = line.to_ascii_lowercase();
        line.contains("error") && !line.contains("complete log") && !line.contains("error code")
    };
    let mut shown: Vec<&str> = lines.iter().filter(is_fault).copied().collect();
    if shown.is_empty() {
        shown = lines.iter().rev().take(3).rev().copied().collect();
    }
    shown.join(" / ").chars().take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_of_a_tool_is_found_in_its_output() {
        let npm = "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x\nnpm error A complete log of this run can be found in: /x\n";
        assert_eq!(fault(npm), "npm error 404 Not Found - GET https://registry.example/x");
        let pip =
            "WARNING: x\nERROR: Could not find a version\nERROR: No matching distribution found for y\n";
        assert!(fault(pip).contains("No matching distribution"));
        assert_eq!(fault("a\nb\nc\nd\n"), "b / c / d");
        assert_eq!(fault(""), "");
    }

    /// Locks name other hosts for parts that look like packages of the registry (pnpm/pnpm#4361,
    /// lirantal/lockfile-lint#105).
    #[test]
    fn lock_with_a_part_from_elsewhere_is_refused() {
        let settings =
            json!({ "registry": "http://127.0.0.1:5/npm/", "@own:registry": "https://npm.corp.example" });
        let allowed = registries(&settings);
        for (resolved, is_good) in [
            ("http://127.0.0.1:5/npm/x-1.tgz", true),
            ("https://npm.corp.example/x.tgz", true),
            (concat!("https://registry.npmjs", ".org/x/-/x-1.tgz"), true),
            (concat!("http://registry.npmjs", ".org/x/-/x-1.tgz"), false),
            (concat!("https://registry.npmjs", ".org.evil.example/x.tgz"), false),
            (concat!("https://registry.npmjs", ".org@evil.example/x.tgz"), false),
            ("http://127.0.0.1:56/x.tgz", false),
            ("git+ssh://git@host.example/a/b.git#abc", false),
            ("file:../x.tgz", false),
        ] {
            let lock = json!({ "": {}, "node_modules/a": { "resolved": "http://127.0.0.1:5/a.tgz" },
                "node_modules/a/node_modules/x": { "resolved": resolved } });
            let found = part_from_elsewhere(lock.as_object().unwrap(), &allowed);
            let expected = (!is_good).then_some(("node_modules/a/node_modules/x", resolved));
            assert_eq!(found, expected, "{resolved}");
        }
        for part in [json!({}), json!({ "link": true, "resolved": "http://127.0.0.1:5/a" })] {
            let lock = json!({ "node_modules/x": part });
            assert!(part_from_elsewhere(lock.as_object().unwrap(), &allowed).is_some(), "{lock}");
        }
        let bundled = json!({ "node_modules/x": { "inBundle": true } });
        assert_eq!(part_from_elsewhere(bundled.as_object().unwrap(), &allowed), None);
    }

    #[test]
    fn program_belongs_to_the_first_package_that_has_it() {
        let lock = json!({
            "": {},
            "node_modules/own": { "bin": { "own": "a.js" } },
            "node_modules/@s/more": { "bin": { "tool": "b.js" } },
            "node_modules/deep": { "bin": { "tool": "c.js", "other": "d.js" } },
        });
        for (program, expected) in [
            (None, "own"),
            (Some("own"), "own"),
            (Some("tool"), "@s/more"),
            (Some("other"), "deep"),
            (Some("no"), "own"),
        ] {
            let spec = PackageSpec {
                registry: Registry::Npm,
                name: "own".to_owned(),
                version: None,
                extra: vec!["@s/more@1".to_owned()],
                program: program.map(str::to_owned),
                arguments: vec![],
            };
            assert_eq!(holder(&spec, lock.as_object().unwrap()), expected, "{program:?}");
        }
    }

    #[test]
    fn names_of_pypi_are_compared_in_one_spelling() {
        for name in ["mcp-server_Git", "MCP.server.git", "mcp-server-git[x,y]", "mcp-server-git>=1"] {
            assert_eq!(plain_name(name), "mcp-server-git");
        }
    }
}
