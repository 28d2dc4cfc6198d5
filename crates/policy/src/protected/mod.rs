//! Files whose names say that they hold keys, or that some program obeys them.
//!
//! Names are compared part by part, in lower case and by their appearance. So `.ENV` and `．env` count as `.env`, but
//! `tokenizer.rs` is no token. The lists are the data files beside this one; [`classes`] needs no list.

mod classes;
mod included;
mod lists;

use classes::{is_of_programs, is_source, is_translation, split_name};
pub use included::IncludedFiles;
use lists::{Lists, NameWords, RowKind, lists};

/// The reason why a file is protected.
// From the reason that counts most to the one that counts least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtectionReason {
    /// Keys or passwords in the file. Both reading and writing it need a question.
    Keys,
    /// A program that obeys the content of the file, now or at the next login. Writing it needs a question.
    Obeyed,
    /// A file that a build tool, a test or an installation obeys, once a person starts it. Writing it needs a question.
    Built,
    /// A worker of this store includes the file, so it is a part of a prompt. Writing it needs a question.
    Included,
    /// A name at which programs look, although no list has it: it begins with a dot, or lies in a place of programs.
    /// Writing it needs a question.
    Unlisted,
    /// A path whose target only the process that opens it can know.
    Hidden,
}

impl ProtectionReason {
    /// Returns the reason in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            ProtectionReason::Keys => "a file of this name holds keys or passwords",
            ProtectionReason::Obeyed => "a program does what a file of this name says",
            ProtectionReason::Built => "a build tool or a test does what a file of this name says",
            ProtectionReason::Included => "a worker includes this file, so it is a part of a prompt",
            ProtectionReason::Unlisted => {
                "programs look at such names for what they do, and people rarely see them"
            }
            ProtectionReason::Hidden => "where that leads cannot be told beforehand",
        }
    }
}

use ProtectionReason::{Keys, Unlisted};

/// The endings of the names of sample files, which are meant to be read and copied.
const SAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".tmpl"];

/// A path, prepared for the comparison.
struct Compared {
    /// The parts by their appearance, in lower case.
    lower: Vec<String>,
    /// The last part by its appearance.
    last: String,
    is_absolute: bool,
}

impl Compared {
    /// Returns the parts of a path, or `None` if it has none.
    fn new(path: &str) -> Option<Compared> {
        let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(plain).collect();
        let last = parts.last()?.clone();
        let lower = parts.iter().map(|part| part.to_lowercase()).collect();
        Some(Compared { lower, last, is_absolute: path.starts_with('/') })
    }

    fn path(&self) -> String {
        self.lower.join("/")
    }

    fn last(&self) -> &str {
        self.lower.last().map_or("", String::as_str)
    }

    /// Returns whether a file of this name is meant to be read and copied, or given away.
    fn is_sample(&self) -> bool {
        let last = self.last();
        SAMPLES.iter().any(|end| last.ends_with(end)) || last.ends_with(".pub")
    }

    /// Returns whether the words of the name say that the file holds keys.
    fn says_keys(&self, lists: &Lists) -> bool {
        let parts: Vec<&str> = self.lower.iter().map(String::as_str).collect();
        if is_source(self.last()) || is_translation(&parts) {
            return false;
        }
        let name = self.last.trim_start_matches('.');
        let (all, has_ending) = (split_name(name), name.contains('.'));
        let stem = split_name(name.split('.').next().unwrap_or(name));
        let follow = |row: &Vec<String>| all.windows(row.len()).any(|some| some == row.as_slice());
        let is_some = |row: &Vec<String>| if has_ending { follow(row) } else { all == *row };
        let NameWords { some, bare, last, free } = &lists.words;
        let stem_end = stem.last().filter(|_| !free.contains(&stem));
        let ends = if has_ending { vec![stem_end, all.last()] } else { vec![] };
        some.iter().any(is_some)
            || bare.iter().any(follow)
            || ends.into_iter().flatten().any(|word| last.contains(word))
            || (!has_ending && all.len() == 1 && last.contains(&all[0]))
    }
}

/// Returns the reason why the file at a path is protected, or `None` if it is not. If there are several reasons, the
/// one that counts most is returned.
///
/// A path from the root of the file system is compared with the lists alone, because the names of the directories
/// above the endowed one say nothing about a file.
pub fn protected(path: &str) -> Option<ProtectionReason> {
    let compared = Compared::new(path)?;
    // Without lists, every file counts.
    let Some(lists) = lists() else { return Some(Keys) };
    let (is_sample, is_code) = (compared.is_sample(), is_source(compared.last()));
    let mut is_ordinary = false;
    let rows = lists.rows(&compared.path()).filter(|row| row.is_tree || !is_sample);
    let listed = rows.filter(|row| row.kind != RowKind::Data || !is_code).filter_map(|row| {
        is_ordinary |= row.kind == RowKind::Ordinary;
        row.kind.reason()
    });
    let listed = listed.min();
    if !is_sample && listed != Some(Keys) && compared.says_keys(lists) {
        return Some(Keys);
    }
    let parts: Vec<&str> = compared.lower.iter().map(String::as_str).collect();
    let is_open = is_ordinary || is_sample || compared.is_absolute;
    listed.or_else(|| (!is_open && is_of_programs(&parts)).then_some(Unlisted))
}

/// Returns the reason why a directory is protected with everything in it, or `None` if only some names in it are. The
/// words of a name do not count: a directory called `password` holds code.
pub fn protected_directory(path: &str) -> Option<ProtectionReason> {
    let compared = Compared::new(path)?;
    let Some(lists) = lists() else { return Some(Keys) };
    let rows: Vec<_> = lists.rows(&compared.path()).collect();
    let is_ordinary = rows.iter().any(|row| row.kind == RowKind::Ordinary);
    let whole = rows.iter().filter(|row| row.kind == RowKind::Keys || row.is_tree);
    let parts: Vec<&str> = compared.lower.iter().map(String::as_str).collect();
    whole
        .filter_map(|row| row.kind.reason())
        .min()
        .or_else(|| (!is_ordinary && !compared.is_absolute && is_of_programs(&parts)).then_some(Unlisted))
}

/// Returns the reason why a file in a directory may be protected, or `None` if none can be. For example, `.docker`
/// may hold `.docker/config.json`. A call that moves or copies such a directory as a whole names none of the files in
/// it.
pub fn may_hold(path: &str) -> Option<ProtectionReason> {
    let Some(lists) = lists() else { return Some(Keys) };
    lists.reason_below(&Compared::new(path)?.path())
}

/// Returns a part of a path by its appearance: with letters of normal width and without invisible
/// characters. Dots and spaces at the end are removed, because some file systems drop them.
fn plain(part: &str) -> String {
    let looks = crate::trace::folded(part).unwrap_or_else(|| part.to_owned());
    looks.trim_end_matches([' ', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::ProtectionReason::{Built, Obeyed};
    use super::*;

    #[test]
    fn path_parts_are_compared_by_appearance() {
        for (path, expected) in [
            (".env", Some(Keys)),
            ("app/.env", Some(Keys)),
            (".ENV", Some(Keys)),
            (".Env.local", Some(Keys)),
            (".env.", Some(Keys)),
            ("．env", Some(Keys)),
            (".e\u{200b}nv", Some(Keys)),
            ("prod.env", Some(Keys)),
            ("id_rsa", Some(Keys)),
            ("keys/ID_RSA", Some(Keys)),
            ("id_ed25519.bak", Some(Keys)),
            ("a.pem", Some(Keys)),
            ("server.KEY", Some(Keys)),
            ("aws-credentials.json", Some(Keys)),
            ("credentials", Some(Keys)),
            (".ssh/config", Some(Keys)),
            ("home/.ssh/keys/a", Some(Keys)),
            (".aws/config", Some(Keys)),
            (".netrc", Some(Keys)),
            ("etc/shadow", Some(Keys)),
            (".docker/config.json", Some(Keys)),
            (".git/config", Some(Obeyed)),
            (".git/commondir", Some(Obeyed)),
            (".git/config.worktree", Some(Obeyed)),
            (".git/objects/info/alternates", Some(Obeyed)),
            ("s1/.git", Some(Obeyed)),
            ("bare/HEAD", Some(Obeyed)),
            ("bare/commondir", Some(Obeyed)),
            ("worktrees/w/gitdir", Some(Obeyed)),
            ("mirror.git/config", Some(Obeyed)),
            (".hg/hgrc", Some(Obeyed)),
            ("sub/.git/hooks/pre-commit", Some(Obeyed)),
            (".GIT/Hooks/x", Some(Obeyed)),
            (".bashrc", Some(Obeyed)),
            (".zshenv", Some(Obeyed)),
            ("authorized_keys", Some(Obeyed)),
            (".github/workflows/ci.yml", Some(Obeyed)),
            (".config/almoner/config.toml", Some(Obeyed)),
            ("policy.cedar", Some(Obeyed)),
            ("app/almoner.toml", Some(Obeyed)),
            (".config/git/config", Some(Obeyed)),
            (".bash_aliases", Some(Obeyed)),
            (".gdbinit", Some(Obeyed)),
            (".mcp.json", Some(Obeyed)),
            (".vscode/launch.json", Some(Obeyed)),
            (".devcontainer/a/post.sh", Some(Obeyed)),
            (".devcontainer.json", Some(Obeyed)),
            // Names that only resemble protected ones.
            ("tokenizer.rs", None),
            ("environment.md", None),
            ("env", None),
            (".env.example", None),
            ("id_rsa.pub", None),
            ("monkey", None),
            (".key", Some(Unlisted)),
            ("keys.md", None),
            ("credentials.rs", None),
            ("docs/credentials.md", None),
            ("src/secrets/forms.rs", None),
            ("config", None),
            ("config.toml", None),
            ("launch.json", None),
            (".github/README.md", None),
            ("hooks/pre-commit", None),
            ("a.pem/readme.txt", None),
            ("src/bin/tool.rs", None),
            ("src/id_rsa.rs", None),
            ("data/tokens.json", None),
            ("design/tokens.json", None),
            ("design-tokens.json", None),
            ("model/added_tokens.json", None),
            ("locale/passwords.json", None),
            ("config/locales/passwords.en.yml", None),
            ("i18n/en/password.json", None),
            ("rustfmt.toml", None),
            (".rustfmt.toml", None),
            ("clippy.toml", None),
            ("refresh_tokens.json", Some(Keys)),
            ("my.tokens", Some(Keys)),
            ("token.json", Some(Keys)),
            ("locale/passwords.txt", Some(Keys)),
            ("locale/.env", Some(Keys)),
            ("lang/credentials/a.json", Some(Keys)),
            ("password.json", Some(Keys)),
            ("id_rsa_work", Some(Keys)),
            // Programs run code that these files name.
            ("src/agents/agent.md", Some(Obeyed)),
            ("login.sql", Some(Obeyed)),
            ("app.json", Some(Obeyed)),
            (".prettierrc", Some(Obeyed)),
            ("tsconfig.json", Some(Built)),
            ("config/database.yml", Some(Keys)),
            ("app/reset-password", None),
            ("packages/design-tokens", None),
            ("password", Some(Keys)),
            (".gitignore", None),
            ("/home/me/.cache/notes.md", None),
            ("/tmp/.tmpAbC/bin/tool", None),
            ("", None),
        ] {
            assert_eq!(protected(path), expected, "{path}");
        }
    }

    /// The names are those of a red team's report, and of anthropics/claude-code#9637 (`.env.server`),
    /// anthropics/claude-code#59094 (`*-creds*`), trailofbits/claude-code-config#48 (`sui.keystore`) and
    /// zhayujie/CowAgent#2913 (`/proc/self/environ`).
    #[test]
    fn plain_names_of_keys_count() {
        for path in [
            "passwords.txt",
            "password.txt",
            "secret.yaml",
            "secret.json",
            "api-key.txt",
            "privkey.txt",
            "private.asc",
            "recovery-codes.txt",
            "seed-phrase.txt",
            ".config/gh/hosts.yml",
            ".config/rclone/rclone.conf",
            ".azure/accessTokens.json",
            ".config/gcloud/access_tokens.db",
            "service-account.json",
            "terraform.tfstate",
            ".m2/settings.xml",
            ".s3cfg",
            ".boto",
            ".vault_pass",
            "client.ovpn",
            "krb5.keytab",
            ".kaggle/kaggle.json",
            ".dockercfg",
            "htpasswd",
            ".Xauthority",
            ".local/share/keyrings/login.keyring",
            "logins.json",
            "wallet.dat",
            ".bash_history",
            ".psql_history",
            "prod.env.bak",
            ".env_prod",
            "env.prod",
            ".flaskenv",
            "wp-config.php",
            ".claude.json",
            "passwd.txt",
            "secrets.yaml",
            ".htpasswd",
            ".env.server",
            "aws-creds.txt",
            "kis_creds.json",
            ".sui/sui_config/sui.keystore",
            "/proc/self/environ",
            "token.txt",
            "github_token",
            "accessTokens.json",
            "MyPassword.docx",
            "passphrase",
            "PrivKey",
            "APIKey.txt",
            "apikeys.csv",
            "ssh-key-2026",
            "deploy_key",
            "secrets/prod.json",
            "config/credentials/production.yml.enc",
            "client_secret_123.json",
            ".pgpass",
            "db.sqlite.env",
            "rootkey.csv",
            "id_ed25519",
            "server.p8",
            "release.jks",
            "wg0.conf",
            "home.nmconnection",
            "UTC--2026-01-01--a",
            "cookies.sqlite",
            "Login Data",
            "vault.yml",
            ".terraform.d/credentials.tfrc.json",
            ".codex/auth.json",
            "auth.json",
            ".cargo/credentials.toml",
            ".gem/credentials",
            ".git-credentials",
            ".netrc",
            "backup-codes.pdf.txt",
        ] {
            assert_eq!(protected(path), Some(Keys), "{path}");
        }
    }

    /// The names are those of a red team's report, and of navikt/cplt#339 (`.github/hooks`),
    /// mensfeld/code-on-incus#493 (`.claude`) and fwdai/fletch#564 (`.gitattributes`).
    #[test]
    fn files_of_other_programs_count() {
        for path in [
            "triage.worker",
            "notes.worker.md",
            "NAME.case/case.json",
            "policy.examples",
            ".claude/settings.json",
            ".claude/hooks/a.sh",
            "CLAUDE.md",
            "sub/AGENTS.md",
            ".cursor/mcp.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            "mcp.json",
            ".mcp.json",
            ".vscode/tasks.json",
            ".config/fish/conf.d/a.fish",
            ".config/environment.d/a.conf",
            ".local/bin/ls",
            ".local/share/applications/a.desktop",
            ".config/nvim/init.lua",
            ".pre-commit-config.yaml",
            "sitecustomize.py",
            "a.pth",
            ".lldbinit",
            ".direnvrc",
            ".forward",
            ".procmailrc",
            ".mailcap",
            ".xsessionrc",
            ".pam_environment",
            ".cargo/config",
            "rust-toolchain.toml",
            ".github/hooks/a.json",
            ".gitattributes",
            "GIT~1/config",
            ".windsurfrules",
            ".clinerules",
            ".roo/mcp.json",
            ".aider.conf.yml.bak",
            ".continue/rules/a.md",
            "opencode.json",
            ".github/copilot-instructions.md",
            ".github/workflows/a.yml",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            ".circleci/config.yml",
            "azure-pipelines.yml",
            ".devcontainer/devcontainer.json",
            "app.code-workspace",
            ".idea/workspace.xml",
            ".exrc",
            ".dir-locals.el",
            "my.service",
            "etc/cron.d/a",
            ".config/autostart/a.desktop",
            "node_modules/.bin/tsc",
            ".yarnrc.yml.x",
            "eslint.config.js",
            "skills/a/SKILL.md",
            "codeowners",
            "shell.nix",
        ] {
            assert!(matches!(protected(path), Some(Obeyed | Unlisted)), "{path}: {:?}", protected(path));
        }
        for path in [
            "conftest.py",
            "Makefile",
            "GNUmakefile",
            "justfile",
            "Taskfile.yml",
            "package.json",
            "setup.py",
            "pyproject.toml",
            "build.rs",
            "build.gradle",
            "CMakeLists.txt",
            "Rakefile",
            "Gemfile",
            "tox.ini",
            "noxfile.py",
            "Dockerfile",
            "compose.yaml",
            "docker-compose.dev.yml",
            "Cargo.toml",
            "go.mod",
            "requirements-dev.txt",
            "a/pom.xml",
            "main.tf",
            "App.csproj",
            "vite.config.ts",
            "package-lock.json",
        ] {
            assert_eq!(protected(path), Some(Built), "{path}");
        }
        // Ordinary files of a project.
        for path in [
            "README.md",
            "src/main.rs",
            "src/app.ts",
            "docs/guide.md",
            "data/table.csv",
            "letter.txt",
            "index.html",
            "run.sh",
            "src/lib/tokens.ts",
            "tests/test_password.py",
            "a/b/c.json",
            "notes.org",
            "image.png",
            "report.pdf",
            "main.go",
            "query.sql",
            "settings.json",
            "config.yaml",
            "src/settings.py",
        ] {
            assert_eq!(protected(path), None, "{path}");
        }
    }

    #[test]
    fn directory_of_a_protected_file_is_recognised() {
        for (path, expected) in [
            (".ssh", true),
            ("a/.AWS", true),
            (".ssh/sub", true),
            ("src/secrets", true),
            ("password", false),
            (".env", true),
            ("src", false),
            (".docker", true),
        ] {
            assert_eq!(protected_directory(path) == Some(Keys), expected, "{path}");
        }
        for (path, expected) in [(".cargo", true), ("x/.github", true), ("src", false), ("a.rs", false)] {
            assert_eq!(may_hold(path).is_some(), expected, "{path}");
        }
    }
}
