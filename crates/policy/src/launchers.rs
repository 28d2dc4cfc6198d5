//! Programs whose arguments decide which other programs run: interpreters, launchers, and options that name a
//! program.
//!
//! The arguments decide the effect of such a call, not the program that was endowed. So a person sees each call in
//! full. The lists are long and never complete. That is why they only decide which calls a person is asked about; the
//! sandbox limits the files that a program can reach, under any name.

use passable::{Quoting, quoting, visible_line};

/// A part of a call that decides which other program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The index of the part in the argument vector. Index 0 is the program.
    pub at: usize,
    /// A description of how the part starts another program.
    pub description: Quoting,
}

/// Programs that run the code in their arguments.
const INTERPRETERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bc",
    "busybox",
    "csh",
    "dash",
    "dc",
    "deno",
    "ed",
    "elvish",
    "emacs",
    "emacsclient",
    "ex",
    "expect",
    "fish",
    "gawk",
    "gdb",
    "ghci",
    "guile",
    "irb",
    "jjs",
    "jrunscript",
    "jshell",
    "julia",
    "ksh",
    "lldb",
    "lua",
    "luajit",
    "m4",
    "mawk",
    "mksh",
    "mysql",
    "nano",
    "nawk",
    "nim",
    "node",
    "nodejs",
    "nu",
    "nvim",
    "ocaml",
    "octave",
    "osascript",
    "perl",
    "php",
    "pico",
    "posh",
    "psql",
    "pwsh",
    "pypy",
    "python",
    "r",
    "racket",
    "rbash",
    "rc",
    "red",
    "rscript",
    "ruby",
    "rview",
    "rvim",
    "sbcl",
    "sed",
    "sh",
    "sqlite",
    "tclsh",
    "tcsh",
    "toybox",
    "ts-node",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "wish",
    "yash",
    "zsh",
    "bun",
    "coreutils",
    "original-awk",
    "ld",
];

/// Programs that start other programs, which are named in their arguments or in files that the arguments name.
const LAUNCHERS: &[&str] = &[
    "ansible",
    "ant",
    "apt",
    "apt-get",
    "at",
    "batch",
    "bazel",
    "bundle",
    "bwrap",
    "c++",
    "capsh",
    "cargo",
    "cc",
    "chroot",
    "chrt",
    "clang",
    "cmake",
    "composer",
    "cpulimit",
    "crontab",
    "dbus-run-session",
    "dbus-send",
    "doas",
    "docker",
    "dpkg",
    "entr",
    "env",
    "exec",
    "fakeroot",
    "fd",
    "fdfind",
    "find",
    "firejail",
    "flatpak",
    "flock",
    "ftp",
    "g++",
    "gcc",
    "gdbus",
    "gem",
    "go",
    "gradle",
    "hg",
    "hyperfine",
    "ionice",
    "java",
    "jj",
    "just",
    "kubectl",
    "less",
    "lftp",
    "ltrace",
    "make",
    "gmake",
    "man",
    "meson",
    "more",
    "most",
    "mutt",
    "mvn",
    "nc",
    "ncat",
    "netcat",
    "nice",
    "ninja",
    "nmap",
    "nohup",
    "npm",
    "npx",
    "nsenter",
    "parallel",
    "perf",
    "pip",
    "pipx",
    "pkexec",
    "pnpm",
    "podman",
    "prlimit",
    "proot",
    "pytest",
    "rake",
    "rlwrap",
    "rsh",
    "rsync",
    "runc",
    "runcon",
    "runuser",
    "rustc",
    "scp",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sftp",
    "snap",
    "socat",
    "softlimit",
    "ssh",
    "ssh-agent",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "sudoedit",
    "svn",
    "systemctl",
    "systemd-run",
    "taskset",
    "tclsh",
    "telnet",
    "time",
    "timeout",
    "tmux",
    "tox",
    "unshare",
    "uv",
    "uvx",
    "valgrind",
    "visudo",
    "w3m",
    "watch",
    "watchexec",
    "wine",
    "xargs",
    "xdg-open",
    "xvfb-run",
    "yarn",
    "zathura",
];

/// Programs whose first argument that is no option and no `NAME=value` is a program to start.
const PREFIXES: &[&str] = &[
    "chrt", "doas", "env", "exec", "fakeroot", "flock", "ionice", "ltrace", "nice", "nohup", "parallel",
    "rlwrap", "setarch", "setpriv", "setsid", "stdbuf", "strace", "sudo", "taskset", "time", "timeout",
    "unshare", "valgrind", "watch", "xargs",
];

/// Options that name or run a program, with the programs that have them. A beginning of a long option also counts,
/// because most programs accept it.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (&["find"], &["-exec", "-execdir", "-ok", "-okdir"]),
    (&["fd", "fdfind"], &["-x", "-X", "--exec", "--exec-batch"]),
    (
        &["tar", "bsdtar", "gtar"],
        &[
            "-I",
            "-F",
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["ag", "ack", "bat", "batcat", "delta"], &["--pager"]),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["cpio"], &["--rsh-command"]),
    (&["install"], &["--strip-program"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["ssh", "scp", "sftp"], &["-o", "-S", "-F"]),
    (&["tcpdump"], &["-z"]),
    (&["wget"], &["-e", "--execute", "--use-askpass"]),
    (&["curl"], &["-K", "--config"]),
    (&["diff", "sdiff"], &["--diff-program"]),
    (&["ctags"], &["--options"]),
    (&["openssl"], &["-engine", "-provider"]),
    (
        &["git"],
        &[
            "-c",
            "-O",
            "--config-env",
            "--exec-path",
            "--exec",
            "--upload-pack",
            "--receive-pack",
            "--upload-archive",
            "--ext-diff",
            "--extcmd",
            "--textconv",
            "--open-files-in-pager",
            "--tool",
            "--template",
            "--config",
        ],
    ),
];

/// The commands of `git` that start no hook and no helper of a repository. All other commands might.
const GIT_READS: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "for-each-ref",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "version",
    "whatchanged",
];

/// Returns every part of a call that decides which other program runs. An ordinary program has no such part. Both the
/// name of the program's file and the name in its call count, because some programs act differently under different
/// names.
pub fn launches(path: &str, argv: &[String]) -> Vec<Launch> {
    find_launches(&with_guessed_kinds(names(path, argv)), argv)
}

/// Returns whether a program can only do its work if it may start other programs. This is true for an interpreter, a
/// launcher, or a program with an option that names another one. Only whole names count here. For a name that merely
/// resembles a launcher's, a person is asked, and the program may start nothing.
pub fn must_start_others(path: &str, argv: &[String]) -> bool {
    !find_launches(&names(path, argv), argv).is_empty()
}

/// Returns whether the call runs a program that obeys the settings of a repository.
pub fn obeys_repository(path: &str, argv: &[String]) -> bool {
    with_guessed_kinds(names(path, argv)).iter().any(|name| name == "git")
}

/// Returns the names of a program: the name of its file, and the name in its call.
fn names(path: &str, argv: &[String]) -> Vec<String> {
    let mut names: Vec<String> = vec![plain(path)];
    let called = argv.first().map(|name| plain(name));
    names.extend(called.filter(|called| !names.contains(called)));
    names
}

/// Returns the names, and in addition their first and last parts, as in `bash-static` and `x86_64-linux-gnu-gcc`.
/// Such a part suggests the kind of a program.
fn with_guessed_kinds(mut names: Vec<String>) -> Vec<String> {
    let words: Vec<String> = names
        .iter()
        .flat_map(|name| [name.split('-').next(), name.rsplit('-').next()])
        .flatten()
        .map(str::to_owned)
        .collect();
    names.extend(words);
    names
}

fn find_launches(names: &[String], argv: &[String]) -> Vec<Launch> {
    let is = |list: &[&str]| names.iter().find(|name| list.contains(&name.as_str()));
    let mut found = Vec::new();
    if let Some(name) = is(INTERPRETERS) {
        let what = quoting!("`{}` does what its arguments say", visible_line(name));
        found.push(Launch { at: 0, description: what });
    } else if let Some(name) = is(LAUNCHERS) {
        let what = quoting!("`{}` starts other programs", visible_line(name));
        found.push(Launch { at: 0, description: what });
    }
    if is(PREFIXES).is_some() {
        let is_program = |word: &String| !word.starts_with('-') && !word.contains('=');
        let named = argv.iter().enumerate().skip(1).find(|(_, word)| is_program(word));
        found.extend(named.map(|(at, word)| names_program(at, word)));
    }
    for (programs, options) in OPTIONS {
        let Some(name) = is(programs) else { continue };
        // The first argument of `tar` consists of options, even without a dash.
        let bundled = name.ends_with("tar");
        for (at, word) in argv.iter().enumerate().skip(1) {
            let Some(option) = options.iter().find(|option| is_option(word, option, bundled && at == 1))
            else {
                continue;
            };
            let value = word.split_once('=').map(|(_, value)| value.to_owned());
            let value = value.or_else(|| argv.get(at + 1).cloned()).unwrap_or_default();
            let what = quoting!("`{}` names something to be run: `{}`", option, visible_line(&value));
            found.push(Launch { at, description: what });
        }
    }
    if is(&["git"]).is_some() {
        found.extend(git_launches(argv));
    }
    found
}

/// Returns the name of a program as in the lists: in lower case, without directory, version and ending.
fn plain(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    // A dynamic linker runs any file that it is given.
    if name.starts_with("ld-") || name.starts_with("ld.so") {
        return "ld".to_owned();
    }
    // Examples are `vim.basic`, `python3.11`, `perl5.36.0`, `cmd.exe`, `gcc-12` and `-bash`.
    let name = name.trim_start_matches('-');
    let stem = name.split('.').next().unwrap_or(name);
    let short = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '_');
    if short.is_empty() { stem.to_owned() } else { short.to_owned() }
}

fn names_program(at: usize, word: &str) -> Launch {
    Launch { at, description: quoting!("it is to start `{}`", visible_line(word)) }
}

/// Returns whether an argument is an option, in any of the option's notations.
fn is_option(word: &str, option: &str, bundled: bool) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let Some(given) = word.strip_prefix("--") else { return false };
        let given = given.split('=').next().unwrap_or(given);
        return !given.is_empty() && long.starts_with(given);
    }
    let letters = option.trim_start_matches('-');
    if letters.len() > 1 {
        // An option like `-exec` of `find` is a single word.
        return word == option;
    }
    let cluster = match word.strip_prefix('-') {
        Some(rest) if !rest.starts_with('-') => rest,
        None if bundled => word,
        _ => return false,
    };
    cluster.contains(letters)
}

fn git_launches(argv: &[String]) -> Vec<Launch> {
    // These options come before the command and have a value as the next argument.
    const TAKE: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix"];
    let mut at = 1;
    while let Some(word) = argv.get(at) {
        if !word.starts_with('-') {
            let known = GIT_READS.contains(&word.as_str());
            let what = || quoting!("`git {}` may start hooks and helpers", visible_line(word));
            return if known { vec![] } else { vec![Launch { at, description: what() }] };
        }
        at += if TAKE.contains(&word.as_str()) { 2 } else { 1 };
    }
    vec![]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, line: &str, expected: &[usize]) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found: Vec<usize> = launches(path, &argv).iter().map(|launch| launch.at).collect();
        assert_eq!(found, expected, "{path}: {line}");
    }

    #[test]
    fn interpreters_and_launchers_are_known_by_any_name() {
        for (path, called) in [
            ("/bin/dash", "sh"),
            ("/usr/bin/python3.11", "python3"),
            ("/usr/bin/python3.11", "tool"),
            ("/home/me/tool", "bash"),
            ("/usr/bin/perl5.36.0", "perl"),
            ("/usr/bin/mawk", "awk"),
            ("/usr/bin/vim.basic", "vi"),
            ("/bin/busybox", "ls"),
            ("/usr/bin/coreutils", "ls"),
            ("/usr/bin/NODE", "NODE"),
            ("/lib64/ld-linux-x86-64.so.2", "ld"),
            ("/usr/bin/gcc-12", "cc"),
            ("/usr/bin/sudo", "sudo"),
            ("/usr/bin/ssh", "ssh"),
            ("/usr/bin/scp", "scp"),
            ("/usr/bin/rsync", "rsync"),
            ("/usr/bin/make", "make"),
            ("/usr/bin/find", "find"),
            ("/usr/bin/sqlite3", "sqlite3"),
            ("/opt/zsh-5.9", "zsh-5.9"),
            ("/bin/sh", "-sh"),
            ("/bin/bash-static", "bash-static"),
            ("/usr/bin/x86_64-linux-gnu-gcc-12", "tool"),
        ] {
            check(path, called, &[0]);
        }
        for (path, called) in [
            ("/usr/bin/rg", "rg"),
            ("/usr/bin/grep", "grep"),
            ("/usr/bin/wc", "wc"),
            ("/usr/bin/jq", "jq"),
            ("/usr/bin/pandoc", "pandoc"),
            ("/usr/bin/tar", "tar"),
            ("/usr/bin/git", "git"),
            ("/usr/bin/shasum", "shasum"),
            ("/usr/bin/7z", "7z"),
        ] {
            check(path, called, &[]);
        }
    }

    #[test]
    fn arguments_naming_programs_are_found_at_their_index() {
        for (path, line, expected) in [
            ("/usr/bin/env", "env -i A=b rm -rf x", &[0, 3][..]),
            ("/usr/bin/xargs", "xargs -0 rm", &[0, 2]),
            ("/usr/bin/timeout", "timeout 5 sh", &[0, 1]),
            ("/usr/bin/find", "find . -exec rm {} ;", &[0, 2]),
            ("/usr/bin/find", "find . -okdir rm {} ;", &[0, 2]),
            ("/usr/bin/tar", "tar xf a.tar --to-command=sh", &[3]),
            ("/usr/bin/tar", "tar xf a.tar --to-com sh", &[3]),
            ("/usr/bin/tar", "tar xIf sh a.tar", &[1]),
            ("/usr/bin/tar", "tar -xIf sh a.tar", &[1]),
            ("/usr/bin/tar", "tar -x --checkpoint=1 --checkpoint-action=exec=sh -f a", &[2, 3]),
            ("/usr/bin/tar", "tar tf a.tar", &[]),
            ("/usr/bin/rg", "rg --pre ./x foo", &[1]),
            ("/usr/bin/rg", "rg foo", &[]),
            ("/usr/bin/git", "git -c core.sshCommand=x fetch", &[1, 3]),
            ("/usr/bin/git", "git --config-env=a=B status", &[1]),
            ("/usr/bin/git", "git --exec-path=/tmp status", &[1]),
            ("/usr/bin/git", "git ls-remote --upload-pack=x y", &[2, 1]),
            ("/usr/bin/git", "git grep -Oless x", &[2]),
            ("/usr/bin/git", "git commit -m x", &[1]),
            ("/usr/bin/git", "git -C dir push", &[3]),
            ("/usr/bin/git", "git frobnicate", &[1]),
            ("/usr/bin/git", "git branch -D x", &[1]),
            ("/usr/bin/git", "git tag x", &[1]),
            ("/usr/bin/git", "git reflog expire --all", &[1]),
            ("/usr/bin/git", "git -C dir status", &[]),
            ("/usr/bin/git", "git log --oneline", &[]),
            ("/usr/bin/sort", "sort --compress-prog=sh a", &[1]),
        ] {
            check(path, line, expected);
        }
    }

    #[test]
    fn launcher_like_name_asks_and_starts_nothing() {
        for (path, line, asks, starts) in [
            ("/bin/sh", "sh -c x", true, true),
            ("/usr/bin/python3.11", "python3 a.py", true, true),
            ("/opt/bin/tool", "bash", true, true),
            ("/usr/bin/gcc-12", "cc a.c", true, true),
            ("/usr/bin/rg", "rg --pre x y", true, true),
            ("/usr/bin/git", "git push", true, true),
            ("/usr/bin/git", "git log", false, false),
            ("/opt/bin/time-tracker", "time-tracker", true, false),
            ("/opt/bin/my-sh", "my-sh -c x", true, false),
            ("/opt/bin/ssh-keygen", "ssh-keygen -t rsa", true, false),
            ("/opt/bin/docker-credential-x", "docker-credential-x get", true, false),
            ("/opt/bin/git-lfs", "git-lfs push", true, false),
            ("/opt/bin/my-rg", "my-rg --pre x y", true, false),
            ("/usr/bin/wc", "wc a", false, false),
        ] {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(
                (!launches(path, &argv).is_empty(), must_start_others(path, &argv)),
                (asks, starts),
                "{line}"
            );
        }
    }

    #[test]
    fn launch_names_the_program_to_run() {
        let argv = ["find", ".", "-exec", "rm\u{1b}[2K", ";"].map(str::to_owned);
        let found = launches("/usr/bin/find", &argv);
        assert_eq!(found[1].description.text(), "`-exec` names something to be run: `rm\\u{1B}[2K`");
    }
}
