//! Files whose names say that they hold keys, or that some program obeys them.
//!
//! Names are compared part by part, in lower case and by their appearance. So `.ENV` and `．env` count as `.env`, but
//! `tokenizer.rs` is no token.

/// The reason why a file is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectionReason {
    /// Keys or passwords in the file. Both reading and writing it need a question.
    Keys,
    /// A program that obeys the content of the file, now or at the next login. Writing it needs a question.
    Obeyed,
    /// A path whose target only the process that opens it can know.
    Hidden,
}

impl ProtectionReason {
    /// Returns the reason in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            ProtectionReason::Keys => "a file of this name holds keys or passwords",
            ProtectionReason::Obeyed => "a program does what a file of this name says",
            ProtectionReason::Hidden => "where that leads cannot be told beforehand",
        }
    }
}

/// A pattern for one part of a path.
enum Part {
    /// A whole part.
    Is(&'static str),
    /// The end of a part, with more text before it.
    Ends(&'static str),
    /// The beginning of a part.
    Begins(&'static str),
    /// One of the words of a part, which are separated by `.`, `-`, `_` and spaces.
    Word(&'static str),
}

use Part::{Begins, Ends, Is, Word};
use ProtectionReason::{Keys, Obeyed};

/// The protected files. Each row has the last parts of a path, and the reason. If its flag is `true`, the row is a
/// directory, and everything in it counts as well.
const PROTECTED: &[(&[Part], bool, ProtectionReason)] = &[
    (&[Is(".env")], false, Keys),
    (&[Begins(".env.")], false, Keys),
    (&[Begins(".envrc")], false, Keys),
    (&[Ends(".env")], false, Keys),
    (&[Word("credential")], false, Keys),
    (&[Word("credentials")], false, Keys),
    (&[Word("secrets")], false, Keys),
    (&[Word("passwd")], false, Keys),
    (&[Is("shadow")], false, Keys),
    (&[Begins("id_rsa")], false, Keys),
    (&[Begins("id_dsa")], false, Keys),
    (&[Begins("id_ecdsa")], false, Keys),
    (&[Begins("id_ed25519")], false, Keys),
    (&[Ends(".pem")], false, Keys),
    (&[Ends(".key")], false, Keys),
    (&[Ends(".p12")], false, Keys),
    (&[Ends(".pfx")], false, Keys),
    (&[Ends(".jks")], false, Keys),
    (&[Ends(".keystore")], false, Keys),
    (&[Ends(".kdbx")], false, Keys),
    (&[Ends(".gpg")], false, Keys),
    (&[Ends(".ppk")], false, Keys),
    (&[Ends(".age")], false, Keys),
    (&[Begins("secring.")], false, Keys),
    (&[Is("private-keys-v1.d")], true, Keys),
    (&[Is(".gnupg")], true, Keys),
    (&[Is(".ssh")], true, Keys),
    (&[Is(".aws")], true, Keys),
    (&[Is(".kube")], true, Keys),
    (&[Is("kubeconfig")], false, Keys),
    (&[Is(".docker"), Is("config.json")], false, Keys),
    (&[Is(".netrc")], false, Keys),
    (&[Is("_netrc")], false, Keys),
    (&[Is(".pgpass")], false, Keys),
    (&[Is(".my.cnf")], false, Keys),
    (&[Is(".npmrc")], false, Keys),
    (&[Is(".pypirc")], false, Keys),
    (&[Is(".htpasswd")], false, Keys),
    (&[Is(".vault-token")], false, Keys),
    (&[Is(".git-credentials")], false, Keys),
    (&[Is("auth.json")], false, Keys),
    // Git obeys the content of a repository, and finds repositories by the files in a directory. So the target of a
    // file called `.git` counts, and so do directories that look like a repository but have no such file.
    (&[Is(".git")], true, Obeyed),
    (&[Ends(".git")], true, Obeyed),
    (&[Is("head")], false, Obeyed),
    (&[Is("commondir")], false, Obeyed),
    (&[Is("gitdir")], false, Obeyed),
    (&[Is(".hg")], true, Obeyed),
    (&[Is(".gitconfig")], false, Obeyed),
    (&[Is(".gitmodules")], false, Obeyed),
    (&[Is(".gitattributes")], false, Obeyed),
    (&[Is(".husky")], true, Obeyed),
    (&[Is("authorized_keys")], false, Obeyed),
    (&[Is("known_hosts")], false, Obeyed),
    (&[Is(".bashrc")], false, Obeyed),
    (&[Is(".bash_profile")], false, Obeyed),
    (&[Is(".bash_login")], false, Obeyed),
    (&[Is(".bash_logout")], false, Obeyed),
    (&[Is(".profile")], false, Obeyed),
    (&[Begins(".zsh")], false, Obeyed),
    (&[Is(".zprofile")], false, Obeyed),
    (&[Is(".zlogin")], false, Obeyed),
    (&[Is(".cshrc")], false, Obeyed),
    (&[Is(".tcshrc")], false, Obeyed),
    (&[Is("config.fish")], false, Obeyed),
    (&[Is(".xinitrc")], false, Obeyed),
    (&[Is(".xprofile")], false, Obeyed),
    (&[Is(".vimrc")], false, Obeyed),
    (&[Is(".emacs")], false, Obeyed),
    (&[Is(".emacs.d"), Is("init.el")], false, Obeyed),
    (&[Is(".config"), Is("autostart")], true, Obeyed),
    (&[Is("systemd"), Is("user")], true, Obeyed),
    (&[Is(".github"), Is("workflows")], true, Obeyed),
    (&[Is(".gitlab-ci.yml")], false, Obeyed),
    (&[Is(".circleci")], true, Obeyed),
    (&[Is("crontab")], false, Obeyed),
    (&[Is(".vscode"), Is("tasks.json")], false, Obeyed),
    (&[Is(".vscode"), Is("settings.json")], false, Obeyed),
    (&[Is(".cargo"), Is("config.toml")], false, Obeyed),
    (&[Is(".almoner")], true, Obeyed),
    (&[Is("almoner"), Is("config.toml")], false, Obeyed),
    (&[Is("almoner.toml")], false, Obeyed),
    (&[Is("policy.cedar")], false, Obeyed),
    (&[Is(".config"), Is("git"), Is("config")], false, Obeyed),
    (&[Is(".bash_aliases")], false, Obeyed),
    (&[Is(".gdbinit")], false, Obeyed),
    (&[Is(".mcp.json")], false, Obeyed),
    (&[Is(".vscode"), Is("launch.json")], false, Obeyed),
    (&[Is(".devcontainer")], true, Obeyed),
    (&[Is(".devcontainer.json")], false, Obeyed),
];

/// The endings of the names of sample files, which are meant to be read and copied.
const SAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".tmpl"];

/// Returns the reason why the file at a path is protected, or `None` if it is not. The reason that a file holds keys
/// takes precedence.
pub fn protected(path: &str) -> Option<ProtectionReason> {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(plain).collect();
    let last = parts.last()?;
    let is_sample = SAMPLES.iter().any(|end| last.ends_with(end));
    let mut found = None;
    for (row, below, why) in PROTECTED {
        let ends: Vec<usize> = match below {
            false => vec![parts.len()],
            true => (1..=parts.len()).collect(),
        };
        let matches = ends.into_iter().any(|end| {
            end.checked_sub(row.len())
                .is_some_and(|start| parts[start..end].iter().zip(*row).all(|(part, row)| row.fits(part)))
        });
        if matches && (*below || !is_sample) {
            match why {
                Keys => return Some(Keys),
                Obeyed | ProtectionReason::Hidden => found = Some(*why),
            }
        }
    }
    found
}

/// Returns the reason why a file in a directory may be protected, or `None` if none can be. For example, `.config`
/// may hold `.config/autostart`. A call that moves or copies such a directory as a whole names none of the files in
/// it.
pub fn may_hold(path: &str) -> Option<ProtectionReason> {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(plain).collect();
    PROTECTED.iter().find_map(|(row, _, why)| {
        let begins = (1..row.len()).any(|length| {
            let start = parts.len().checked_sub(length);
            start.is_some_and(|start| parts[start..].iter().zip(*row).all(|(part, row)| row.fits(part)))
        });
        begins.then_some(*why)
    })
}

impl Part {
    fn fits(&self, part: &str) -> bool {
        match self {
            Is(text) => part == *text,
            Ends(text) => part.len() > text.len() && part.ends_with(text),
            Begins(text) => {
                // A public key such as `id_rsa.pub` is meant to be given away.
                part.starts_with(text) && !part.ends_with(".pub")
            }
            // Source code about credentials holds no credentials.
            Word(text) => !is_source(part) && part.split(['.', '-', '_', ' ']).any(|word| word == *text),
        }
    }
}

fn is_source(part: &str) -> bool {
    const CODE: [&str; 14] = [
        ".rs", ".py", ".js", ".ts", ".tsx", ".go", ".java", ".c", ".h", ".rb", ".md", ".html", ".css", ".org",
    ];
    CODE.iter().any(|end| part.ends_with(end))
}

/// Returns a part of a path by its appearance: in lower case, with letters of normal width and without invisible
/// characters. Dots and spaces at the end are removed, because some file systems drop them.
fn plain(part: &str) -> String {
    let looks = crate::trace::folded(part).unwrap_or_else(|| part.to_owned());
    looks.to_lowercase().trim_end_matches([' ', '.']).to_owned()
}

#[cfg(test)]
mod tests {
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
            ("token.txt", None),
            ("environment.md", None),
            ("env", None),
            (".environment", None),
            (".env.example", None),
            ("id_rsa.pub", None),
            ("monkey", None),
            (".key", None),
            ("keys.md", None),
            ("credentials.rs", None),
            ("docs/credentials.md", None),
            ("config", None),
            ("git/config", None),
            ("config.toml", None),
            ("launch.json", None),
            ("team.worker", None),
            (".github/README.md", None),
            ("hooks/pre-commit", None),
            ("a.pem/readme.txt", None),
            ("", None),
        ] {
            assert_eq!(protected(path), expected, "{path}");
        }
    }
}
