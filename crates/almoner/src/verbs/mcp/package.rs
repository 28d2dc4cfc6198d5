//! The packages that `npx`, `uvx` and their kin fetch: read from a command line, to be installed once instead.

/// A registry of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registry {
    /// The registry of npm.
    Npm,
    /// The Python Package Index.
    Pypi,
}

impl Registry {
    /// Returns the name of the registry.
    pub fn as_str(self) -> &'static str {
        match self {
            Registry::Npm => "npm",
            Registry::Pypi => "pypi",
        }
    }
}

/// A package that a command line fetches, and the program in it that the line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageSpec {
    /// The registry.
    pub registry: Registry,
    /// The name of the package, in PyPI with its extras.
    pub name: String,
    /// The version as it is asked for: a version, a range or a tag. `None` means the newest.
    pub version: Option<String>,
    /// The other packages that come along.
    pub extra: Vec<String>,
    /// The program in the package, if the line names one.
    pub program: Option<String>,
    /// The arguments of the program.
    pub arguments: Vec<String>,
}

impl PackageSpec {
    /// Returns the package and its version, as the registry's own tools write them.
    pub fn requirement(&self) -> String {
        match (self.registry, &self.version) {
            (_, None) => self.name.clone(),
            (Registry::Npm, Some(version)) => format!("{}@{version}", self.name),
            (Registry::Pypi, Some(version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("{}=={version}", self.name)
            }
            (Registry::Pypi, Some(range)) => format!("{}{range}", self.name),
        }
    }
}

/// The reading of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program of this machine, and its arguments.
    Program(String, Vec<String>),
    /// A package to install.
    Package(PackageSpec),
    /// A server on the web, which `mcp-remote` would reach: its address, and headers.
    Remote(String, Vec<(String, String)>),
}

/// The programs that run containers.
const CONTAINERS: [&str; 5] = ["docker", "podman", "nerdctl", "docker-compose", "podman-compose"];
/// The options of fetchers that have a value. Options without one, such as `-y`, are passed over.
const NPX_VALUES: [&str; 5] = ["--registry", "--cache", "--userconfig", "--node-options", "--loglevel"];
const UVX_VALUES: [&str; 12] = [
    "--python",
    "-p",
    "--index-url",
    "--default-index",
    "--index",
    "--extra-index-url",
    "--cache-dir",
    "--directory",
    "--project",
    "--env-file",
    "--python-preference",
    "--index-strategy",
];
/// The addresses of the two registries.
pub const USUAL_REGISTRIES: [&str; 2] =
    [concat!("https://registry.npmjs", ".org"), concat!("https://pypi", ".org/simple")];
/// The options that fetch from another registry than the usual one.
const OTHER_REGISTRIES: [&str; 5] =
    ["--registry", "--index-url", "--default-index", "--index", "--extra-index-url"];

/// Reads a command line: finds the package that it fetches, if it fetches one.
///
/// # Errors
/// The reason why the line cannot be followed, with a line to type where there is one.
pub fn read(command: &str, arguments: &[String]) -> Result<CommandLine, String> {
    let mut words: Vec<String> = arguments.to_vec();
    let mut command = command.to_owned();
    // Some people write the whole line into `command`.
    if command.contains(' ')
        && !std::path::Path::new(&command).exists()
        && !command.starts_with(['/', '.', '~'])
        && !is_windows(&command)
    {
        let mut parts = command.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter();
        let first = parts.next().unwrap_or_default();
        words = parts.chain(words).collect();
        command = first;
    }
    // The shell of Windows, around a command that is the same elsewhere.
    let mut short = short_name(&command);
    if short == "cmd" && words.first().is_some_and(|word| word.eq_ignore_ascii_case("/c")) && words.len() > 1
    {
        command = words.remove(1);
        words.remove(0);
        short = short_name(&command);
    }
    let fetches = |verbs: &[&str]| words.first().is_some_and(|word| verbs.contains(&word.as_str()));
    match short.as_str() {
        "npx" | "bunx" | "pnpx" => npm(&words),
        "pnpm" | "yarn" if fetches(&["dlx"]) => npm(&words[1..]),
        "npm" if fetches(&["exec", "x"]) => npm(&words[1..]),
        "bun" if fetches(&["x"]) => npm(&words[1..]),
        "uvx" => pypi(&words, "uvx"),
        "uv" if fetches(&["tool"]) && words.get(1).is_some_and(|word| word == "run") => pypi(&words[2..], "uvx"),
        "pipx" if fetches(&["run"]) => pypi(&words[1..], "pipx run"),
        "uv" | "pipx" => Err(format!(
            "`{short} {}` makes the environment of a project at each start; make it once (`uv sync`), then `almoner mcp add \
             NAME -- PROJECT/.venv/bin/PROGRAM ARGS…`",
            words.first().map(String::as_str).unwrap_or_default()
        )),
        "npm" | "pnpm" | "yarn" | "bun" if !fetches(&["run"]) || short != "bun" || words.get(1).is_some_and(|it| !it.contains('/')) => {
            Err(format!("`{short}` starts what a project's `package.json` says; name that program itself: `almoner mcp add NAME -- node SCRIPT ARGS…`"))
        }
        "go" | "cargo" | "dotnet" | "nix" | "mvn" | "gradle" | "gradlew" if fetches(&["run", "exec"]) || short.starts_with("gradle") || short == "mvn" => {
            Err(format!("`{short}` builds it at each start, which the sandbox does not allow; build it once, then `almoner mcp add NAME -- PROGRAM ARGS…`"))
        }
        "dnx" => Err("`dnx` fetches it at each start; install it once (`dotnet tool install --tool-path DIR PACKAGE`), then `almoner mcp add NAME -- DIR/PROGRAM`".to_owned()),
        "deno" if words.iter().any(|word| word.starts_with("npm:") || word.starts_with("jsr:") || word.starts_with("https://")) => {
            Err("`deno` fetches it at each start; compile it once (`deno compile`), then `almoner mcp add NAME -- PROGRAM`".to_owned())
        }
        "cmd" | "powershell" | "pwsh" | "wsl" => Err("it starts through a shell of Windows".to_owned()),
        name if CONTAINERS.contains(&name) => Err(format!(
            "`{name}` runs it outside of the sandbox, where nothing holds it to what you gave it; install the program itself, or \
             start the container yourself and add its address: `almoner mcp add NAME http://127.0.0.1:PORT/mcp --address 127.0.0.1`"
        )),
        _ if is_windows(&command) => Err(format!("`{command}` is a path of Windows")),
        _ => Ok(CommandLine::Program(command, words)),
    }
}

/// Returns the name of a program without its directory and without the endings of Windows.
fn short_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_ascii_lowercase();
    let ends = [".cmd", ".exe", ".ps1", ".bat"];
    ends.iter().find_map(|end| name.strip_suffix(end)).map_or(name.clone(), str::to_owned)
}

/// Returns whether a path is one of Windows.
pub fn is_windows(path: &str) -> bool {
    let bytes = path.as_bytes();
    matches!(bytes, [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
        || path.starts_with("\\\\")
}

/// The options of a fetcher with their values, and the words from the package on.
type LineParts<'a> = (Vec<(&'a str, &'a str)>, &'a [String]);

/// Reads the options in front of the package. Returns the values of the named options, and the words from the package
/// on.
fn options<'a>(words: &'a [String], values: &[&str], kept: &[&str]) -> Result<LineParts<'a>, String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        if !word.starts_with('-') {
            break;
        }
        let (name, own) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let takes = values.contains(&name) || kept.contains(&name);
        let value = match (own, takes) {
            (Some(value), _) => value,
            (None, true) => {
                at += 1;
                words.get(at).map(String::as_str).unwrap_or_default()
            }
            (None, false) => "",
        };
        let is_usual =
            USUAL_REGISTRIES.iter().any(|usual| value.trim_end_matches('/').eq_ignore_ascii_case(usual));
        if OTHER_REGISTRIES.contains(&name) && !is_usual {
            return Err(format!(
                "it comes from another registry ({value}); install it yourself, then `almoner mcp add NAME -- PROGRAM ARGS…`"
            ));
        }
        if kept.contains(&name) {
            found.push((name, value));
        }
        at += 1;
    }
    Ok((found, words.get(at..).unwrap_or_default()))
}

fn npm(words: &[String]) -> Result<CommandLine, String> {
    let (found, rest) = options(words, &NPX_VALUES, &["-p", "--package", "-c", "--call"])?;
    if found.iter().any(|(name, _)| ["-c", "--call"].contains(name)) {
        return Err("it is a line for a shell (`-c`)".to_owned());
    }
    let packages: Vec<&str> = found.iter().map(|(_, package)| *package).collect();
    let (first, program, arguments) = match (packages.split_first(), rest.split_first()) {
        (Some((first, _)), Some((program, arguments))) => (*first, Some(program.clone()), arguments),
        (Some((first, _)), None) => (*first, None, &[][..]),
        (None, Some((first, arguments))) => (first.as_str(), None, arguments),
        (None, None) => return Err("it names no package".to_owned()),
    };
    let (name, version) = npm_parts(first);
    if name == "mcp-remote" && program.is_none() {
        return remote(arguments);
    }
    let extra = packages.get(1..).unwrap_or_default();
    if let Some(odd) = std::iter::once(first).chain(extra.iter().copied()).find(|package| !is_of_npm(package))
    {
        return Err(from_elsewhere(odd));
    }
    Ok(CommandLine::Package(PackageSpec {
        registry: Registry::Npm,
        name: name.to_owned(),
        version: version.filter(|version| !version.is_empty()).map(str::to_owned),
        extra: extra.iter().map(|&package| package.to_owned()).collect(),
        program,
        arguments: arguments.to_vec(),
    }))
}

/// Reads the arguments of `mcp-remote`, which only passes messages on to an address.
fn remote(arguments: &[String]) -> Result<CommandLine, String> {
    let url = arguments.iter().find(|word| word.starts_with("http://") || word.starts_with("https://"));
    let url = url.ok_or("`mcp-remote` names no address")?;
    let headers = arguments.windows(2).filter(|pair| pair.first().is_some_and(|word| word == "--header"));
    let headers = headers.filter_map(|pair| {
        let (name, value) = pair.get(1)?.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    Ok(CommandLine::Remote(url.clone(), headers.collect()))
}

fn pypi(words: &[String], fetcher: &str) -> Result<CommandLine, String> {
    let (found, rest) =
        options(words, &UVX_VALUES, &["--from", "--spec", "--with", "-w", "--with-editable"])?;
    let from = found.iter().find(|(name, _)| ["--from", "--spec"].contains(name)).map(|(_, value)| *value);
    let extra: Vec<String> = found
        .iter()
        .filter(|(name, _)| ["--with", "-w", "--with-editable"].contains(name))
        .flat_map(|(_, value)| value.split(','))
        .map(str::to_owned)
        .collect();
    let (first, program, arguments) = match (from, rest.split_first()) {
        (Some(from), Some((program, arguments))) => (from, Some(program.clone()), arguments),
        (None, Some((first, arguments))) => (first.as_str(), None, arguments),
        (_, None) => return Err(format!("`{fetcher}` names no package")),
    };
    let spec = requirement(first).ok_or_else(|| from_elsewhere(first))?;
    if let Some(odd) = extra.iter().find(|extra| requirement(extra).is_none()) {
        return Err(from_elsewhere(odd));
    }
    Ok(CommandLine::Package(PackageSpec { extra, program, arguments: arguments.to_vec(), ..spec }))
}

/// Reads a requirement of PyPI: a name with extras, and `@VERSION`, `==VERSION` or a range.
fn requirement(text: &str) -> Option<PackageSpec> {
    let end = text.find(['@', '=', '<', '>', '~', '!', ' ']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let plain = name.split('[').next().unwrap_or_default();
    let is_name = !plain.is_empty()
        && plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && plain.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.[],".contains(&byte))
        && name.contains('[') == name.ends_with(']');
    let version = rest.strip_prefix('@').or(rest.strip_prefix("==")).unwrap_or(rest).trim();
    (is_name && !rest.contains("://") && (version.is_empty() || is_version(version))).then(|| PackageSpec {
        registry: Registry::Pypi,
        name: name.to_owned(),
        version: Some(version).filter(|it| !it.is_empty() && *it != "latest").map(str::to_owned),
        extra: vec![],
        program: None,
        arguments: vec![],
    })
}

fn from_elsewhere(package: &str) -> String {
    format!(
        "`{package}` does not come from the registry; install it yourself, then `almoner mcp add NAME -- PROGRAM ARGS…`"
    )
}

/// Splits a package of npm at its version, if it names one.
pub fn npm_parts(package: &str) -> (&str, Option<&str>) {
    let at = package.get(1..).and_then(|rest| rest.find('@')).map(|at| at + 1);
    match at.and_then(|at| package.split_at_checked(at)) {
        Some((name, version)) => (name, version.strip_prefix('@')),
        None => (package, None),
    }
}

/// Returns whether npm looks a package up in its registry, and not at an address or in a directory.
fn is_of_npm(package: &str) -> bool {
    let (name, version) = npm_parts(package);
    is_npm_name(name) && version.is_none_or(is_version)
}

/// Returns whether a text can be the name of a package of npm.
fn is_npm_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '_', '-'])
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
    };
    match name.strip_prefix('@').map(|scoped| scoped.split_once('/')) {
        Some(Some((scope, name))) => is_part(scope) && is_part(name),
        Some(None) => false,
        None => is_part(name),
    }
}

/// Returns whether a text can be a version, a tag, or a range of versions.
fn is_version(text: &str) -> bool {
    text.len() <= 100
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+^~<>=!|*, ".contains(&byte))
        && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a reading in short: `npm NAME@VERSION/PROGRAM ARGS`, `program …`, `remote …`, or the beginning of the
    /// reason.
    fn short(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(|word| word.replace('␣', " ")).collect();
        match read(&words[0], &words[1..]) {
            Ok(CommandLine::Package(spec)) => {
                let program = spec.program.as_ref().map(|program| format!("/{program}")).unwrap_or_default();
                let extra = spec.extra.iter().map(|extra| format!(" +{extra}")).collect::<String>();
                let arguments = spec.arguments.iter().map(|word| format!(" {word}")).collect::<String>();
                format!("{} {}{program}{extra}{arguments}", spec.registry.as_str(), spec.requirement())
            }
            Ok(CommandLine::Program(command, arguments)) => {
                format!("program {command} {}", arguments.join(" "))
            }
            Ok(CommandLine::Remote(url, headers)) => format!("remote {url} {headers:?}"),
            Err(why) => format!("no: {why}"),
        }
    }

    #[test]
    fn fetched_packages_are_read_from_command_lines() {
        for (line, expected) in [
            ("npx -y @scope/server@1.2.3 --flag v", "npm @scope/server@1.2.3 --flag v"),
            ("npx @scope/server", "npm @scope/server"),
            ("npx --yes --quiet server@latest", "npm server@latest"),
            ("npx -y -p @scope/pkg -- tool a", "npm @scope/pkg/tool a"),
            ("npx --package=a@1 --package b tool -x", "npm a@1/tool +b -x"),
            ("npx --registry https://registry.npmjs.ORG chrome-mcp@0.18.1", "npm chrome-mcp@0.18.1"),
            ("npx -y playwright run-test-mcp-server", "npm playwright run-test-mcp-server"),
            ("/home/me/.nvm/versions/node/v22/bin/npx -y a", "npm a"),
            ("C:\\Program␣Files\\nodejs\\npx.cmd -y a", "npm a"),
            ("cmd /c npx -y a b", "npm a b"),
            ("cmd.exe /C C:\\x\\npx.cmd -y @a/b", "npm @a/b"),
            ("npx␣-y␣a␣--x", "npm a --x"),
            ("bunx a@^1.0", "npm a@^1.0"),
            ("bun x a", "npm a"),
            ("pnpm dlx a", "npm a"),
            ("yarn dlx a", "npm a"),
            ("npm exec -y a -- b", "npm a -- b"),
            ("uvx mcp-server-time --local-timezone=UTC", "pypi mcp-server-time --local-timezone=UTC"),
            ("uvx mcp-server-time@0.6.2", "pypi mcp-server-time==0.6.2"),
            ("uvx mcp-server-time@latest", "pypi mcp-server-time"),
            (
                "uvx --from mcp-server-git==1.0 mcp-server-git -r .",
                "pypi mcp-server-git==1.0/mcp-server-git -r .",
            ),
            ("uvx --python 3.12 --with a,b mcp[cli] x", "pypi mcp[cli] +a +b x"),
            ("uvx --from mcp>=1,<2 mcp", "pypi mcp>=1,<2/mcp"),
            ("uv tool run a b", "pypi a b"),
            ("pipx run --spec a==1 b", "pypi a==1/b"),
            (
                "npx -y mcp-remote https://a.example/sse --header Authorization:␣Bearer␣x",
                "remote https://a.example/sse [(\"Authorization\", \"Bearer x\")]",
            ),
            ("npx mcp-remote@latest https://a.example/mcp 3334", "remote https://a.example/mcp []"),
            ("node dist/index.js", "program node dist/index.js"),
            ("deno run -A ./main.ts", "program deno run -A ./main.ts"),
            ("/opt/my␣tools/server x", "program /opt/my tools/server x"),
        ] {
            assert_eq!(short(line), expected, "{line}");
        }
    }

    #[test]
    fn lines_that_cannot_be_followed_say_why() {
        for (line, why) in [
            ("npx -y github:a/b", "does not come from the registry"),
            ("npx -y git+https://a.example/b", "does not come from the registry"),
            ("npx -y ./local", "does not come from the registry"),
            ("npx -y https://a.example/b.tgz", "does not come from the registry"),
            ("npx -y a@file:../b", "does not come from the registry"),
            ("npx -p a -p x@http://127.0.0.1:1/x.tgz x", "`x@http://127.0.0.1:1/x.tgz` does not come"),
            ("npx -p a --package=git+file:///b b", "does not come from the registry"),
            ("npx -p a -p github:b/c c", "does not come from the registry"),
            ("npx -p a -p ../b b", "does not come from the registry"),
            ("npx -p a -p b@npm:c b", "does not come from the registry"),
            ("bunx -p a -p b@file:../c b", "does not come from the registry"),
            ("npx -y", "names no package"),
            ("npx -c x", "line for a shell"),
            ("npx -y mcp-remote", "names no address"),
            ("npx --registry https://npm.corp.example a", "another registry"),
            ("uvx --from git+https://a.example/b.git b", "does not come from the registry"),
            ("uvx --from . b", "does not come from the registry"),
            ("uvx --with ./x a", "does not come from the registry"),
            ("uvx --index-url https://pypi.corp.example a", "another registry"),
            ("uvx", "names no package"),
            ("uv run --with mcp mcp run main.py", "uv sync"),
            ("npm start", "name that program itself"),
            ("go run ./cmd/x", "build it once"),
            ("cargo run --quiet", "build it once"),
            ("dnx A.B", "dotnet tool install"),
            ("deno run npm:x", "deno compile"),
            ("docker run -i --rm mcp/time", "outside of the sandbox"),
            ("docker compose run --rm x", "outside of the sandbox"),
            ("docker-compose exec -T app php artisan", "outside of the sandbox"),
            ("powershell -File x.ps1", "shell of Windows"),
            ("C:\\tools\\Server.exe", "path of Windows"),
        ] {
            let short = short(line);
            assert!(short.starts_with("no: ") && short.contains(why), "{line}: {short}");
        }
    }
}
